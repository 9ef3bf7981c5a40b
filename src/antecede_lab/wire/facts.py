"""`hybrid-facts` on the wire: ids as distances, and facts about one message said once.

A message is a byte of flags, its id and the distance back to its predecessor, then what the flags
announce: how far the report reaches, filter and exceptions, what the receiver must deliver first,
facts, watermarks; the payload is the rest of the packet. Facts stand by sender, then by message,
the latest first, each with the set of its destinations; the latest of the sender's own messages is
its distance back from this one. The first watermark is the sender's own and names no process.
"""

from typing import Final

from librt.strings import BytesWriter
from mypy_extensions import i64, u8

from antecede.core.checks import ID_LIMIT
from antecede.core.errors import LocalError, RemoteError
from antecede.core.packets import Message
from antecede.wire.varint import WireReader, write_varint
from antecede_lab.protocols.facts.packets import (
    NO_WATERMARKS,
    SENDER_ITSELF,
    Fact,
    FactsAck,
    FactsAsk,
    FactsMessage,
    FactsPermit,
    Mark,
    PastReportField,
    Watermark,
)

HAS_REPORT: Final = 1
HAS_SHAPE: Final = 2
HAS_FACTS: Final = 4
HAS_MUST: Final = 8
HAS_WATERMARKS: Final = 16
HOPS_SHIFT: Final = 5
HOPS_LONG: Final = 7
"""Up to this many hops stand in the flags; more follow as an integer."""

SEQUENCE_LIMIT: Final = 1 << 61
"""Message ids on the wire are below this, as in the rest of the family."""

EXCEPTIONS_MAX: Final = 15
"""Exceptions that a packet can carry: their number shares a byte with the filter's size."""

FILTER_BYTES_MAX: Final = 8

NOWHERE: Final = -1
"""Where messages of others are counted down from: the latest of them stands as it is."""


# Messages.


def write_facts_message(packet: FactsMessage, writer: BytesWriter) -> None:
    """Append flags, id, distance, and what the flags announce; then the payload."""
    sequence = packet.carried.sequence
    if packet.previous < 0 or packet.previous >= sequence or sequence >= SEQUENCE_LIMIT:
        raise LocalError(f"message {sequence} cannot follow {packet.previous}")
    report = packet.report
    writer.append(u8(flags_of(packet)))
    write_varint(writer, sequence)
    write_varint(writer, sequence - packet.previous)
    if report is not None:
        if report.hops > HOPS_LONG:
            write_varint(writer, report.hops - HOPS_LONG - 1)
        if report.filter != 0 or report.exceptions:
            write_shape(report, writer)
        if report.facts:
            write_facts(report.facts, packet.carried.sender, sequence, writer)
    if packet.must:
        write_marks(packet.must, writer)
    if packet.watermarks:
        write_watermarks(packet.watermarks, sequence, writer)
    writer.write(packet.carried.payload)


def flags_of(packet: FactsMessage) -> i64:
    """What follows, and a small number of hops; `LocalError` if there are no hops."""
    flags: i64 = 0
    report = packet.report
    if report is not None:
        if report.hops < 1:
            raise LocalError(f"a report of {report.hops} hops cannot be encoded")
        flags |= HAS_REPORT
        if report.filter != 0 or report.exceptions:
            flags |= HAS_SHAPE
        if report.facts:
            flags |= HAS_FACTS
        flags |= (report.hops if report.hops <= HOPS_LONG else 0) << HOPS_SHIFT
    if packet.must:
        flags |= HAS_MUST
    if packet.watermarks:
        flags |= HAS_WATERMARKS
    return flags


def read_facts_message(reader: WireReader, source: i64) -> FactsMessage:
    """What `write_facts_message` wrote."""
    flags = reader.byte()
    sequence = reader.positive()
    back = reader.positive()
    if back > sequence or sequence >= SEQUENCE_LIMIT:
        raise RemoteError(f"message {sequence} cannot follow the one {back} before it")
    report = read_report(flags, reader, source, sequence)
    must = read_marks(reader) if flags & HAS_MUST else []
    watermarks = NO_WATERMARKS
    if flags & HAS_WATERMARKS:
        watermarks = read_watermarks(reader, sequence)
        if not watermarks:
            raise RemoteError("watermarks were announced, and none follow")
    message = Message(source, sequence, reader.rest())
    return FactsMessage(message, sequence - back, must, report, watermarks)


def read_report(
    flags: i64, reader: WireReader, source: i64, sequence: i64
) -> PastReportField | None:
    """The report that the flags announce."""
    if flags & HAS_REPORT == 0:
        if flags & (HAS_SHAPE | HAS_FACTS) != 0 or flags >> HOPS_SHIFT != 0:
            raise RemoteError("parts of a report without a report")
        return None
    hops = flags >> HOPS_SHIFT
    if hops == 0:
        hops = reader.varint()
        if hops >= SEQUENCE_LIMIT:
            raise RemoteError(f"a report of {hops} hops")
        hops += HOPS_LONG + 1
    mask: i64 = 0
    exceptions: tuple[int, ...] = ()
    if flags & HAS_SHAPE:
        shape = reader.byte()
        if shape == 0 or shape & 15 > FILTER_BYTES_MAX:
            raise RemoteError(f"a filter of {shape & 15} bytes")
        mask = read_mask(reader, shape & 15)
        exceptions = read_ids(reader, shape >> 4)
    facts = read_facts(reader, source, sequence) if flags & HAS_FACTS else []
    return PastReportField(mask, exceptions, facts, hops)


# Filter and exceptions.


def write_shape(report: PastReportField, writer: BytesWriter) -> None:
    """Append the sizes of filter and exceptions in one byte, then both."""
    if len(report.exceptions) > EXCEPTIONS_MAX:
        raise LocalError(f"{len(report.exceptions)} exceptions cannot be encoded")
    size: i64 = FILTER_BYTES_MAX
    while size > 0 and (report.filter >> (8 * (size - 1))) & 255 == 0:
        size -= 1
    writer.append(u8(size | (len(report.exceptions) << 4)))
    for place in range(size):
        writer.append(u8((report.filter >> (8 * place)) & 255))
    write_ids(report.exceptions, writer)


def read_mask(reader: WireReader, size: i64) -> i64:
    """A filter of `size` bytes, of which the last is not zero."""
    mask: i64 = 0
    for place in range(size):
        byte = reader.byte()
        if byte == 0 and place == size - 1:
            raise RemoteError("a filter padded with zeros")
        # The highest bit of all is the sign.
        if place == FILTER_BYTES_MAX - 1 and byte > 127:
            byte -= 256
        mask |= byte << (8 * place)
    return mask


def write_ids(ids: tuple[int, ...], writer: BytesWriter) -> None:
    """Append ascending ids as distances; `LocalError` if they are no ascending ids."""
    before: i64 = -1
    for number in ids:
        if number <= before or number >= ID_LIMIT:
            raise LocalError(f"{ids} cannot be encoded: they are not ascending ids")
        write_varint(writer, number - before - 1)
        before = number


def read_ids(reader: WireReader, count: i64) -> tuple[int, ...]:
    """What `write_ids` wrote."""
    found: list[int] = []
    before: i64 = -1
    for _ in range(count):
        before = read_id(reader, before)
        found.append(before)
    return tuple(found)


def read_id(reader: WireReader, before: i64) -> i64:
    """An id, written as its distance from a lower one."""
    distance = reader.varint()
    if distance >= ID_LIMIT or before + 1 + distance >= ID_LIMIT:
        raise RemoteError("a number that is no process id")
    return before + 1 + distance


# What must be delivered first, and facts.


def write_marks(must: list[Mark], writer: BytesWriter) -> None:
    """Append their number, and each as sender and id."""
    write_varint(writer, len(must))
    before: i64 = -1
    for mark in must:
        if mark.sender <= before or mark.sender >= ID_LIMIT or mark.sequence < 1:
            raise LocalError(f"{must} cannot be encoded: ids must ascend")
        write_varint(writer, mark.sender - before - 1)
        write_varint(writer, mark.sequence)
        before = mark.sender


def read_marks(reader: WireReader) -> list[Mark]:
    """What `write_marks` wrote."""
    count = reader.count()
    if count == 0:
        raise RemoteError("marks were announced, and none follow")
    must: list[Mark] = []
    before: i64 = -1
    for _ in range(count):
        before = read_id(reader, before)
        must.append(Mark(before, reader.positive()))
    return must


def write_facts(facts: list[Fact], source: i64, sequence: i64, writer: BytesWriter) -> None:
    """Append the number of senders, and for each its messages, each with its destinations."""
    senders = by_sender(facts)
    write_varint(writer, len(senders))
    before: i64 = -1
    for sender in sorted(senders):
        messages = senders[sender]
        write_tagged(writer, sender - before - 1, len(messages))
        before = sender
        # Counted down from this message, or, where it is another's, the latest of them as it is.
        earlier: i64 = sequence if sender == source else NOWHERE
        for number in sorted(messages, reverse=True):
            targets = messages[number]
            if NOWHERE < earlier < number:
                raise LocalError(f"message {sequence} cannot follow {number} of its sender")
            write_tagged(writer, number if earlier == NOWHERE else earlier - number, len(targets))
            write_ids(tuple(targets), writer)
            earlier = number - 1


def by_sender(facts: list[Fact]) -> dict[int, dict[int, list[int]]]:
    """The destinations of each message, by sender and id; `LocalError` if facts do not ascend."""
    senders: dict[int, dict[int, list[int]]] = {}
    target: i64 = -1
    sender: i64 = -1
    for fact in facts:
        if fact.target < target or (fact.target == target and fact.sender <= sender):
            raise LocalError(f"{fact} cannot be encoded: facts must ascend")
        if fact.sender < 0 or fact.sender >= ID_LIMIT or fact.target >= ID_LIMIT:
            raise LocalError(f"{fact} cannot be encoded: it is about nobody")
        if fact.sequence < 1 or fact.sequence >= SEQUENCE_LIMIT:
            raise LocalError(f"{fact} cannot be encoded: ids are below 2**61")
        target, sender = fact.target, fact.sender
        senders.setdefault(sender, {}).setdefault(fact.sequence, []).append(target)
    return senders


def write_tagged(writer: BytesWriter, value: i64, count: i64) -> None:
    """Append a value, doubled; odd if more than one of something follows, and how many then."""
    write_varint(writer, (value << 1) | (1 if count > 1 else 0))
    if count > 1:
        write_varint(writer, count - 2)


def read_facts(reader: WireReader, source: i64, sequence: i64) -> list[Fact]:
    """What `write_facts` wrote."""
    count = reader.count()
    if count == 0:
        raise RemoteError("facts were announced, and none follow")
    facts: list[Fact] = []
    sender: i64 = -1
    for _ in range(count):
        tagged = reader.varint()
        distance = tagged >> 1
        if distance >= ID_LIMIT or sender + 1 + distance >= ID_LIMIT:
            raise RemoteError("a number that is no process id")
        sender += 1 + distance
        read_messages(reader, sender, sequence if sender == source else NOWHERE, tagged & 1, facts)
    facts.sort(key=place_of)
    for place in range(1, len(facts)):
        if place_of(facts[place - 1]) == place_of(facts[place]):
            raise RemoteError(f"two facts of one sender about one destination: {facts[place]}")
    return facts


def read_messages(
    reader: WireReader, sender: i64, earlier: i64, several: i64, facts: list[Fact]
) -> None:
    """The messages of one sender; `earlier` is the id they are counted down from, if from any."""
    for _ in range(read_count(reader, several)):
        tagged = reader.varint()
        number = tagged >> 1
        if earlier != NOWHERE:
            number = earlier - number
        if number < 1 or number >= SEQUENCE_LIMIT:
            raise RemoteError(f"a fact about message {number} of {sender}")
        for target in read_ids(reader, read_count(reader, tagged & 1)):
            facts.append(Fact(sender, target, number))
        earlier = number - 1


def read_count(reader: WireReader, several: i64) -> i64:
    """How many follow: one, or what `write_tagged` wrote after an odd value."""
    return 1 if several == 0 else reader.count() + 2


def place_of(fact: Fact) -> tuple[int, int]:
    """Facts stand by destination, then by sender."""
    return int(fact.target), int(fact.sender)


# Watermarks.


def write_watermarks(watermarks: list[Watermark], above: i64, writer: BytesWriter) -> None:
    """Append their number, the sender's own, which is below `above` unless that is 0, the rest."""
    write_varint(writer, len(watermarks))
    for place in range(len(watermarks)):
        watermark = watermarks[place]
        low = watermark.low
        if place == 0:
            if watermark.process != SENDER_ITSELF or (above > 0 and low >= above):
                raise LocalError(f"{watermark} cannot be encoded: the sender's own comes first")
            if above > 0:
                low = above - low - 1
        elif watermark.process < 0 or watermark.process >= ID_LIMIT:
            raise LocalError(f"{watermark} cannot be encoded: it is nobody's")
        else:
            write_varint(writer, watermark.process)
        write_levels(watermark, low, writer)


def write_levels(watermark: Watermark, low: i64, writer: BytesWriter) -> None:
    """Append a level, doubled; odd if a higher one with exceptions follows."""
    if watermark.low < 0 or watermark.low >= SEQUENCE_LIMIT:
        raise LocalError(f"{watermark} cannot be encoded: ids are below 2**61")
    if watermark.low_except == 0 and not watermark.exceptions:
        write_varint(writer, low << 1)
        return
    if watermark.low_except <= watermark.low or watermark.low_except >= SEQUENCE_LIMIT:
        raise LocalError(f"{watermark} cannot be encoded: exceptions below its level")
    write_varint(writer, (low << 1) | 1)
    write_varint(writer, watermark.low_except - watermark.low - 1)
    write_varint(writer, len(watermark.exceptions))
    write_ids(watermark.exceptions, writer)


def read_watermarks(reader: WireReader, above: i64) -> list[Watermark]:
    """What `write_watermarks` wrote; none, if their number is 0."""
    watermarks: list[Watermark] = []
    for place in range(reader.count()):
        process: i64 = SENDER_ITSELF
        if place > 0:
            process = read_id(reader, -1)
        level = reader.varint()
        low = level >> 1
        if place == 0 and above > 0:
            low = above - low - 1
            if low < 0:
                raise RemoteError("a watermark below 0")
        if level & 1 == 0:
            watermarks.append(Watermark(process, low))
            continue
        low_except = read_sequence(reader) + low + 1
        if low_except >= SEQUENCE_LIMIT:
            raise RemoteError(f"a watermark of {low_except}")
        watermarks.append(Watermark(process, low, low_except, read_ids(reader, reader.count())))
    return watermarks


def read_sequence(reader: WireReader) -> i64:
    """An integer below the highest message id."""
    value = reader.varint()
    if value >= SEQUENCE_LIMIT:
        raise RemoteError(f"{value} is no message id")
    return value


# Control packets.


def write_facts_ack(packet: FactsAck, writer: BytesWriter) -> None:
    """Append the id, watermarks."""
    write_varint(writer, packet.sequence)
    write_watermarks(packet.watermarks, 0, writer)


def read_facts_ack(reader: WireReader, source: i64) -> FactsAck:  # noqa: ARG001 - one signature for all
    """What `write_facts_ack` wrote."""
    sequence = reader.varint()
    return FactsAck(sequence, read_watermarks(reader, 0))


def write_facts_permit(packet: FactsPermit, writer: BytesWriter) -> None:
    """Append the id, exceptions, watermarks."""
    write_varint(writer, packet.sequence)
    write_varint(writer, len(packet.exceptions))
    write_ids(packet.exceptions, writer)
    write_watermarks(packet.watermarks, 0, writer)


def read_facts_permit(reader: WireReader, source: i64) -> FactsPermit:  # noqa: ARG001 - one signature
    """What `write_facts_permit` wrote."""
    sequence = reader.varint()
    exceptions = read_ids(reader, reader.count())
    return FactsPermit(sequence, exceptions, read_watermarks(reader, 0))


def write_facts_ask(packet: FactsAsk, writer: BytesWriter) -> None:
    """Append the three ids, watermarks."""
    write_varint(writer, packet.delivered)
    write_varint(writer, packet.lowest)
    write_varint(writer, packet.lowest_except)
    write_watermarks(packet.watermarks, 0, writer)


def read_facts_ask(reader: WireReader, source: i64) -> FactsAsk:  # noqa: ARG001 - one signature for all
    """What `write_facts_ask` wrote."""
    delivered = reader.varint()
    lowest = reader.varint()
    lowest_except = reader.varint()
    return FactsAsk(delivered, lowest, lowest_except, read_watermarks(reader, 0))
