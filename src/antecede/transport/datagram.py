"""Datagrams, and batches of them that leave in one call: to one address, and of one size."""

from typing import Final, final

from mypy_extensions import i64, mypyc_attr

SEGMENTS_MAX: Final = 64
BATCH_BYTES: Final = 64_000
"""A kernel takes 64 datagrams, and 64,000 bytes, in one call."""


@final
@mypyc_attr(acyclic=True, free_list_len=1)
class Datagram:
    """What leaves a node: bytes, and where they go."""

    __slots__ = ("address", "answerable", "data")

    def __init__(self, address: object, data: bytes, answerable: bool = False) -> None:
        self.address: Final = address
        self.data: Final = data
        # Whether an application may answer it: it has a message in it, or lets one go.
        self.answerable: Final = answerable


@final
@mypyc_attr(acyclic=True, free_list_len=1)
class Batch:
    """Datagrams to one address; all have one size, but perhaps the last, which may be smaller."""

    __slots__ = ("_bytes", "_ended", "address", "contents", "size")

    def __init__(self, first: Datagram) -> None:
        self.address: Final = first.address
        self.contents: Final[list[bytes]] = [first.data]
        self.size: Final[i64] = len(first.data)
        self._bytes: i64 = len(first.data)
        # Whether a smaller one has come, after which there can be no other.
        self._ended = False

    def try_add(self, datagram: Datagram) -> bool:
        """Take one more; False if it has to leave in another call."""
        length: i64 = len(datagram.data)
        if (
            self._ended
            or length > self.size
            or self._bytes + length > BATCH_BYTES
            or len(self.contents) >= SEGMENTS_MAX
            or not (datagram.address is self.address or datagram.address == self.address)
        ):
            return False
        self.contents.append(datagram.data)
        self._bytes += length
        self._ended = length < self.size
        return True


def batches(datagrams: list[Datagram]) -> list[Batch]:
    """All of them in order, in as few calls as that allows."""
    found: list[Batch] = []
    batch: Batch | None = None
    for datagram in datagrams:
        if batch is None or not batch.try_add(datagram):
            batch = Batch(datagram)
            found.append(batch)
    return found
