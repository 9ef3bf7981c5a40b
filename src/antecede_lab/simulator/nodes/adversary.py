"""Somebody on the simulated network who is no node: what leaves a node passes through its hands."""

from typing import Final, final

from mypy_extensions import i64, mypyc_attr


@final
class InterceptedPacket:
    """A datagram under way."""

    __slots__ = ("data", "source", "target")

    def __init__(self, source: i64, target: i64, data: bytes) -> None:
        self.source: Final[i64] = source
        self.target: Final[i64] = target
        self.data: Final = data


@mypyc_attr(allow_interpreted_subclasses=True)
class Adversary:
    """Decides what travels in place of a datagram. By itself it lets everything pass.

    Sources can be forged: a node takes what it gets for what the address says.
    """

    def passes(self, flight: InterceptedPacket, now_ns: int) -> list[InterceptedPacket]:  # noqa: ARG002 for others
        """What goes on in its place, in this order."""
        return [flight]
