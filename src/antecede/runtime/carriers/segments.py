"""Many datagrams in one call: UDP segmentation on the way out (GSO), and its inverse (GRO).

The kernel takes one large buffer and cuts it into datagrams of equal size, or joins such datagrams
again before they are received. Most of what a small datagram costs is paid per call, so this is
worth as much as large datagrams are, where those would not get through. Only as a pair: a receiver
that does not join is overrun. Linux has both; elsewhere datagrams go one by one.
"""

import socket
import struct
from typing import Final

from antecede.transport.datagram import Batch

SOL_UDP: Final = 17
UDP_SEGMENT: Final = 103
UDP_GRO: Final = 104

LARGE_DATAGRAM: Final = 16_000
"""From this size on, joining datagrams does not pay."""

CONTROL_BYTES: Final = 64
"""Room for the control data of a received buffer."""


def enable(sock: socket.socket) -> bool:
    """Let the kernel join what is received; False if it can do neither half of this."""
    try:
        sock.setsockopt(SOL_UDP, UDP_SEGMENT, 0)
        sock.setsockopt(SOL_UDP, UDP_GRO, 1)
    except OSError:
        return False
    return True


def send_batch(sock: socket.socket, batch: Batch) -> None:
    """Send a batch in one call; raises what `sendmsg` raises."""
    if len(batch.contents) == 1:
        sock.sendto(batch.contents[0], batch.address)  # type: ignore[call-overload] # it was resolved
        return
    control = [(SOL_UDP, UDP_SEGMENT, struct.pack("=H", batch.size))]
    sock.sendmsg(batch.contents, control, 0, batch.address)  # type: ignore[arg-type] # it was resolved


def segment_size(control: list[tuple[int, int, bytes]]) -> int:
    """The size of the datagrams that were joined, or 0 if none were."""
    for level, kind, value in control:
        if level == SOL_UDP and kind == UDP_GRO:
            return int.from_bytes(value[:4], "little" if struct.pack("=H", 1)[0] else "big")
    return 0
