"""The reliable link on the wire: a number before each packet, and acknowledgements in ranges.

The packet inside a `LinkData` follows its number in its ordinary form, kind and body; `wire.codec`
writes it, since only that knows all kinds. A range is written as the numbers missing before it and
its own length, each less what it has at least.
"""

from typing import Final

from librt.strings import BytesWriter
from mypy_extensions import i64

from antecede.core.errors import LocalError, RemoteError
from antecede.wire.varint import VARINT_LIMIT, WireReader, write_varint
from antecede_lab.protocols.link_packets import RANGES_LIMIT, LinkAck, LinkData

LINK_DATA: Final = 48
LINK_ACK: Final = 49


def write_link_number(packet: LinkData, writer: BytesWriter) -> None:
    """Append the number; `LocalError` if it, or a packet of a link inside, makes no sense."""
    if packet.number < 1 or isinstance(packet.inner, (LinkData, LinkAck)):
        raise LocalError(f"{packet} cannot be encoded: no link sends it")
    write_varint(writer, packet.number)


def check_inside(kind: i64) -> None:
    """`RemoteError` if a packet of this kind cannot travel inside a `LinkData`."""
    if kind in (LINK_DATA, LINK_ACK):
        raise RemoteError("a packet of a link inside a packet of a link")


def write_link_ack(packet: LinkAck, writer: BytesWriter) -> None:
    """Append the number up to which nothing is missing, how many ranges follow, and the ranges."""
    if not packet.is_sound():
        raise LocalError(f"{packet} cannot be encoded: its ranges are not in order")
    write_varint(writer, packet.through)
    write_varint(writer, len(packet.ranges))
    end = packet.through
    for first, last in packet.ranges:
        if last >= VARINT_LIMIT:
            raise LocalError(f"{last} cannot be encoded: it is not below 2**62")
        write_varint(writer, first - end - 2)
        write_varint(writer, last - first)
        end = last


def read_link_ack(reader: WireReader, source: i64) -> LinkAck:  # noqa: ARG001 - one signature for all
    """What `write_link_ack` wrote."""
    through = reader.varint()
    count = reader.count()
    if count > RANGES_LIMIT:
        raise RemoteError(f"{count} ranges in one acknowledgement; the limit is {RANGES_LIMIT}")
    ranges: list[tuple[int, int]] = []
    end = through
    while len(ranges) < count:
        first = below_limit(end + 2, reader.varint())
        end = below_limit(first, reader.varint())
        ranges.append((first, end))
    return LinkAck(through, tuple(ranges))


def below_limit(start: i64, distance: i64) -> i64:
    """Their sum, or `RemoteError` if no integer on the wire is that large."""
    if distance >= VARINT_LIMIT - start:
        raise RemoteError(f"{distance} after {start} is not below 2**62")
    return start + distance
