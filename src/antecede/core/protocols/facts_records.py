"""Packets that have come to a process of `hybrid-facts`, as records: numbers in a row, no payload.

They are most of what its journal holds. News of expulsions is rare, and written as the snapshot is.
"""

from typing import Final

from librt.strings import BytesWriter
from mypy_extensions import i64, u8

from antecede.core.fact_packets import (
    Fact,
    FactsAck,
    FactsAsk,
    FactsMessage,
    FactsPermit,
    Mark,
    Report,
    Watermark,
)
from antecede.core.records import RecordReader, append_number
from antecede.core.values import Message, Packet

CAME_MESSAGE: Final = 11
CAME_ACK: Final = 12
CAME_PERMIT: Final = 13
CAME_ASK: Final = 14
"""Kinds of records: such a packet has come."""

HALF: Final = 32
HALF_MASK: Final = 0xFFFF_FFFF


def arrival_record(source: i64, packet: Packet, now_ns: i64) -> bytes | None:
    """That `packet` has come; None if it is none of these."""
    writer = BytesWriter()
    if isinstance(packet, FactsMessage):
        begin(writer, CAME_MESSAGE, source, now_ns)
        put_message(writer, packet)
        put_watermarks(writer, packet.watermarks)
    elif isinstance(packet, FactsAck):
        begin(writer, CAME_ACK, source, now_ns)
        append_number(writer, packet.sequence)
        put_watermarks(writer, packet.watermarks)
    elif isinstance(packet, FactsPermit):
        begin(writer, CAME_PERMIT, source, now_ns)
        append_number(writer, packet.sequence)
        put_ids(writer, packet.exceptions)
        put_watermarks(writer, packet.watermarks)
    elif isinstance(packet, FactsAsk):
        begin(writer, CAME_ASK, source, now_ns)
        append_number(writer, packet.delivered)
        append_number(writer, packet.lowest)
        append_number(writer, packet.lowest_except)
        put_watermarks(writer, packet.watermarks)
    else:
        return None
    return writer.getvalue()


def begin(writer: BytesWriter, kind: i64, source: i64, now_ns: i64) -> None:
    """First the time, as in all records of this protocol, and who has sent the packet."""
    writer.append(u8(kind))
    append_number(writer, now_ns)
    append_number(writer, source)


def put_message(writer: BytesWriter, packet: FactsMessage) -> None:
    """A message, without its payload and its watermarks."""
    append_number(writer, packet.carried.sender)
    append_number(writer, packet.carried.sequence)
    append_number(writer, packet.previous)
    append_number(writer, len(packet.must))
    for mark in packet.must:
        append_number(writer, mark.sender)
        append_number(writer, mark.sequence)
    report = packet.report
    if report is None:
        append_number(writer, 0)
        return
    append_number(writer, 1)
    append_number(writer, report.hops)
    append_number(writer, report.filter & HALF_MASK)
    append_number(writer, report.filter >> HALF & HALF_MASK)
    put_ids(writer, report.exceptions)
    append_number(writer, len(report.facts))
    for fact in report.facts:
        append_number(writer, fact.sender)
        append_number(writer, fact.target)
        append_number(writer, fact.sequence)


def put_watermarks(writer: BytesWriter, watermarks: list[Watermark]) -> None:
    """Watermarks; the process of one may be -1, the sender itself."""
    append_number(writer, len(watermarks))
    for watermark in watermarks:
        append_number(writer, watermark.process + 1)
        append_number(writer, watermark.low)
        append_number(writer, watermark.low_except)
        put_ids(writer, watermark.exceptions)


def put_ids(writer: BytesWriter, ids: tuple[int, ...]) -> None:
    """A few ids."""
    append_number(writer, len(ids))
    for id_ in ids:
        append_number(writer, id_)


def read_arrival(reader: RecordReader) -> Packet:
    """The packet of a record of one of these kinds, after the time and who has sent it."""
    kind = reader.kind
    if kind == CAME_MESSAGE:
        carried = Message(reader.number(), reader.number(), b"")
        previous = reader.number()
        must = [Mark(reader.number(), reader.number()) for _ in range(reader.number())]
        report = read_report(reader)
        return FactsMessage(carried, previous, must, report, read_watermarks(reader))
    if kind == CAME_ACK:
        return FactsAck(reader.number(), read_watermarks(reader))
    if kind == CAME_PERMIT:
        sequence = reader.number()
        return FactsPermit(sequence, read_ids(reader), read_watermarks(reader))
    delivered, lowest, lowest_except = reader.number(), reader.number(), reader.number()
    return FactsAsk(delivered, lowest, lowest_except, read_watermarks(reader))


def read_report(reader: RecordReader) -> Report | None:
    """What is said of the past, if anything is."""
    if reader.number() == 0:
        return None
    hops, low, high = reader.number(), reader.number(), reader.number()
    # The highest bit is the sign.
    if high >= 1 << (HALF - 1):
        high -= 1 << HALF
    exceptions = read_ids(reader)
    facts = [
        Fact(reader.number(), reader.number(), reader.number()) for _ in range(reader.number())
    ]
    return Report((high << HALF) + low, exceptions, facts, hops)


def read_watermarks(reader: RecordReader) -> list[Watermark]:
    """What `put_watermarks` wrote."""
    found: list[Watermark] = []
    for _ in range(reader.number()):
        process, low, low_except = reader.number() - 1, reader.number(), reader.number()
        found.append(Watermark(process, low, low_except, read_ids(reader)))
    return found


def read_ids(reader: RecordReader) -> tuple[int, ...]:
    """What `put_ids` wrote."""
    return tuple([reader.number() for _ in range(reader.number())])
