"""Who a node is: what it tells its peers about itself."""

from typing import Final, final

from mypy_extensions import i64

from antecede.wire.handshake import KEEPS, Greeting


@final
class Identity:
    """What a node tells its peers about itself."""

    __slots__ = (
        "incarnation",
        "keeps",
        "name",
        "order",
        "payload_limit",
        "process",
        "socket_bytes",
        "window",
    )

    def __init__(
        self,
        name: str,
        *,
        incarnation: int,
        process: int,
        window: int,
        payload_limit: int,
        socket_bytes: int,
        order: str = "",
        keeps: bool = False,
    ) -> None:
        # Whether it has a journal, and may come back as the same incarnation.
        self.keeps: Final = keeps
        self.name: Final = name
        # It may rise until the first peer is met.
        self.incarnation: i64 = incarnation
        self.process: Final[i64] = process
        self.window: Final[i64] = window
        self.payload_limit: Final[i64] = payload_limit
        self.socket_bytes: Final[i64] = socket_bytes
        self.order: Final = order

    def greeting(self, target: str, token: i64, echo: i64, met: i64, delivered: i64) -> Greeting:
        """A hello or welcome to `target`, of which this incarnation was met here."""
        greeting = Greeting(self.name, target, self.incarnation, token)
        greeting.echo = echo
        greeting.process = self.process
        greeting.window = self.window
        greeting.payload_limit = self.payload_limit
        greeting.socket_bytes = self.socket_bytes
        greeting.order = self.order
        greeting.met = met
        greeting.delivered = delivered
        greeting.keeps = KEEPS if self.keeps else 0
        return greeting
