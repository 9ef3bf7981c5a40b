"""Many datagrams in one call: UDP segmentation on the way out (GSO), and its inverse (GRO).

The kernel takes one large buffer and cuts it into datagrams of equal size, or joins such datagrams
again before they are received. Most of what a small datagram costs is paid per call, so this is
worth as much as large datagrams are, where those would not get through. Only as a pair: a receiver
that does not join is overrun. Linux has both; elsewhere datagrams go one by one.
"""

import socket
import struct
from collections.abc import Iterator
from typing import Final

from antecede.link.writer import Datagram

SOL_UDP: Final = 17
UDP_SEGMENT: Final = 103
UDP_GRO: Final = 104

SEGMENTS_MOST: Final = 64
BATCH_BYTES: Final = 64_000
"""What the kernel takes in one call."""

LARGE_DATAGRAM: Final = 16_000
"""Datagrams this large do not gain from being joined."""

CONTROL_BYTES: Final = 64
"""Room for what the kernel says about a received buffer."""


def enable(sock: socket.socket) -> bool:
    """Let the kernel join what is received; False if it can do neither half of this."""
    try:
        sock.setsockopt(SOL_UDP, UDP_SEGMENT, 0)
        sock.setsockopt(SOL_UDP, UDP_GRO, 1)
    except OSError:
        return False
    return True


def batches(datagrams: list[Datagram]) -> Iterator[list[Datagram]]:
    """Datagrams in order, those that can leave in one call together.

    A batch has one address and one size; only its last datagram may be smaller.
    """
    batch: list[Datagram] = []
    size = total = 0
    for datagram in datagrams:
        length = len(datagram.data)
        fits = (
            batch
            and batch[0].address == datagram.address
            and len(batch[-1].data) == size
            and length <= size
            and len(batch) < SEGMENTS_MOST
            and total + length <= BATCH_BYTES
        )
        if not fits:
            if batch:
                yield batch
            batch = []
            size = length
            total = 0
        batch.append(datagram)
        total += length
    if batch:
        yield batch


def send_batch(sock: socket.socket, batch: list[Datagram]) -> None:
    """Send a batch in one call; raises what `sendmsg` raises."""
    first = batch[0]
    if len(batch) == 1:
        sock.sendto(first.data, first.address)  # type: ignore[call-overload] # it was resolved
        return
    size = struct.pack("=H", len(first.data))
    control = [(SOL_UDP, UDP_SEGMENT, size)]
    sock.sendmsg([datagram.data for datagram in batch], control, 0, first.address)  # type: ignore[arg-type] # it was resolved


def segment_size(control: list[tuple[int, int, bytes]]) -> int:
    """The size of the datagrams that were joined, or 0 if none were."""
    for level, kind, value in control:
        if level == SOL_UDP and kind == UDP_GRO:
            return int.from_bytes(value[:4], "little" if struct.pack("=H", 1)[0] else "big")
    return 0
