"""What leaves a node: bytes, and where they go."""

from typing import Final, final

from mypy_extensions import mypyc_attr


@final
@mypyc_attr(acyclic=True)
class Datagram:
    """Bytes to be sent to an address."""

    __slots__ = ("address", "data")

    def __init__(self, address: object, data: bytes) -> None:
        self.address: Final = address
        self.data: Final = data
