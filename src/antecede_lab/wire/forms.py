"""How the fields of packets look on the wire: integers, ids, vectors, matrices, logs.

A `Form` writes and reads one field; the layouts in `wire.codec` are made of them. Ids (of targets)
are their number, then each as its distance from the one before. A vector is its runs of
neighbouring ids that all count something: a full vector costs about a byte for each process, a
sparse one about two for each entry, and zeros cost nothing. A matrix is its rows that are not
empty, each after the distance of its id from the one before. So matrices here are smaller than n*n
integers as long as many pairs of processes have never talked.

Vectors and sends keep their bytes once they are made: many packets share them.
"""

from collections.abc import Callable
from typing import Any, Final, TypeAlias, TypeVar, cast, final

from librt.strings import BytesWriter

from antecede.core.checks import ID_LIMIT
from antecede.core.errors import LocalError, RemoteError
from antecede.core.packets import Message
from antecede.wire.packets import read_expelled, read_positive, write_expelled
from antecede.wire.varint import VARINT_LIMIT, WireReader, write_varint
from antecede_lab.protocols.ks_log import Log, Sends
from antecede_lab.protocols.piggyback import Predecessor
from antecede_lab.protocols.vectors import Vector

LARGEST: Final = (1 << 62) - 1
"""The largest integer on the wire: the highest that compiled code has a constant for."""

COUNTER_BITS: Final = 16
COUNTERS_LIMIT: Final = 1 << 20
"""A packet has at most 1,048,576 counters, of 16 bits, where they are counted modulo k."""

Field = TypeVar("Field")
Ids: TypeAlias = tuple[tuple[int, int], ...]


@final
class Form:
    """How one field is written and read: `LocalError` and `RemoteError` for what has no form."""

    def __init__(
        self, write: Callable[[BytesWriter, Field], None], read: Callable[[WireReader], Field]
    ) -> None:
        # Only ever called with what is in such a field.
        self.write: Final = cast(Callable[[BytesWriter, Any], None], write)
        self.read: Final = read


# Integers.


def write_number(writer: BytesWriter, value: int) -> None:
    """Append an integer of any size; `LocalError` if it does not fit the wire."""
    if value < 0 or value > LARGEST:
        raise LocalError(f"{value} cannot be encoded: it is outside 0 <= value < 2**62")
    write_varint(writer, value)


def write_positive(writer: BytesWriter, value: int) -> None:
    """Append an integer that is at least 1; `LocalError` if it is not."""
    if value < 1:
        raise LocalError(f"{value} cannot be encoded here: it must be at least 1")
    write_number(writer, value)


def write_later(writer: BytesWriter, value: int, before: int) -> None:
    """Append an integer that is greater than the one `before`; the first one follows -1."""
    if value <= before:
        raise LocalError(f"{value} cannot be encoded after {before}: order is ascending")
    write_number(writer, value - before - 1)


def read_number(reader: WireReader) -> int:
    """What `write_number` wrote."""
    return int(reader.varint())


def read_later(reader: WireReader, before: int, limit: int) -> int:
    """The next integer of an ascending list, below `limit`."""
    distance: int = reader.varint()
    value = before + 1 + distance
    if value >= limit:
        raise RemoteError(f"{value} is not below {limit}")
    return value


def write_numbers(writer: BytesWriter, numbers: tuple[int, ...]) -> None:
    """Append integers, and before them how many there are."""
    write_varint(writer, len(numbers))
    for number in numbers:
        write_number(writer, number)


def read_numbers(reader: WireReader) -> tuple[int, ...]:
    """What `write_numbers` wrote."""
    return tuple([read_number(reader) for _ in range(reader.count())])


def write_counters(writer: BytesWriter, counters: tuple[int, ...]) -> None:
    """Append small integers, each in as few bits as the largest needs, and how many, how wide."""
    width = max(counters, default=0).bit_length()
    if min(counters, default=0) < 0 or width > COUNTER_BITS:
        raise LocalError(f"{counters} cannot be encoded: not of at most {COUNTER_BITS} bits each")
    write_varint(writer, len(counters))
    write_varint(writer, width)
    bits = 0
    for place, counter in enumerate(counters):
        bits |= counter << (place * width)
    writer.write(bits.to_bytes((len(counters) * width + 7) // 8, "little"))


def read_counters(reader: WireReader) -> tuple[int, ...]:
    """What `write_counters` wrote."""
    count: int = reader.varint()
    width: int = reader.varint()
    if width > COUNTER_BITS or count > COUNTERS_LIMIT:
        raise RemoteError(f"{count} counters of {width} bits")
    bits = int.from_bytes(reader.take((count * width + 7) // 8), "little")
    counters = tuple([(bits >> (place * width)) & ((1 << width) - 1) for place in range(count)])
    if bits >> (count * width) or max(counters, default=0).bit_length() != width:
        raise RemoteError(f"counters of {width} bits that are written otherwise")
    return counters


# Ids.


def write_process(writer: BytesWriter, process: int) -> None:
    """Append a process id on its own."""
    if process < 0 or process >= ID_LIMIT:
        raise LocalError(f"process id {process} cannot be encoded: it is outside 0 <= id < 2**31")
    write_varint(writer, process)


def read_process(reader: WireReader) -> int:
    """What `write_process` wrote."""
    return read_later(reader, -1, ID_LIMIT)


def write_targets(writer: BytesWriter, targets: tuple[int, ...]) -> None:
    """Append the targets of a message, of which there is at least one."""
    if not targets:
        raise LocalError("a packet for nobody cannot be encoded")
    write_ids(writer, targets)


def read_targets(reader: WireReader) -> tuple[int, ...]:
    """What `write_targets` wrote."""
    targets = read_ids(reader)
    if not targets:
        raise RemoteError("a packet for nobody")
    return tuple(targets)


def write_ids(writer: BytesWriter, ids: tuple[int, ...]) -> None:
    """Append ids in ascending order."""
    write_varint(writer, len(ids))
    before = -1
    for process in ids:
        if process <= before or process >= ID_LIMIT:
            raise LocalError(f"{ids} cannot be encoded: they are not ascending ids")
        write_varint(writer, process - before - 1)
        before = process


def read_ids(reader: WireReader) -> list[int]:
    """What `write_ids` wrote."""
    ids: list[int] = []
    before = -1
    for _ in range(reader.count()):
        before = read_later(reader, before, ID_LIMIT)
        ids.append(before)
    return ids


def write_id(writer: BytesWriter, process: int, before: int) -> None:
    """Append a process id that is greater than the one before."""
    if process >= ID_LIMIT:
        raise LocalError(f"process id {process} cannot be encoded: it is not below 2**31")
    write_later(writer, process, before)


def write_ids_of(writer: BytesWriter, ids: Ids) -> None:
    """Append an id of a message for each of some processes, in ascending order of these."""
    write_varint(writer, len(ids))
    before = -1
    for process, sequence in ids:
        write_id(writer, process, before)
        write_positive(writer, sequence)
        before = process


def read_ids_of(reader: WireReader) -> Ids:
    """What `write_ids_of` wrote."""
    ids: list[tuple[int, int]] = []
    before = -1
    for _ in range(reader.count()):
        before = read_later(reader, before, ID_LIMIT)
        ids.append((before, read_positive(reader)))
    return tuple(ids)


# Vectors and matrices.


def write_matrix(writer: BytesWriter, rows: dict[int, Vector]) -> None:
    """Append rows by ascending id; none may be empty."""
    write_varint(writer, len(rows))
    before = -1
    for process in sorted(rows):
        write_id(writer, process, before)
        write_vector(writer, rows[process])
        before = process


def read_matrix(reader: WireReader) -> dict[int, Vector]:
    """What `write_matrix` wrote."""
    rows: dict[int, Vector] = {}
    before = -1
    for _ in range(reader.count()):
        before = read_later(reader, before, ID_LIMIT)
        rows[before] = read_vector(reader)
    return rows


def write_vector(writer: BytesWriter, vector: Vector) -> None:
    """Append a vector that counts something."""
    encoded = vector.encoded
    if encoded is None:
        encoded = encoded_vector(vector)
        vector.remember_encoded(encoded)
    writer.write(encoded)


def encoded_vector(vector: Vector) -> bytes:
    """The number of runs; of each its distance from the one before, its length, its counts."""
    runs = runs_of(vector)
    writer = BytesWriter()
    write_positive(writer, len(runs))
    end = 0
    for run in runs:
        first = run[0]
        if first < 0 or run[-1] >= ID_LIMIT:
            raise LocalError(f"process id {first} or {run[-1]} is outside 0 <= id < 2**31")
        # The lowest bit says whether a length follows; two runs cannot touch.
        several = len(run) > 1
        write_varint(writer, ((first - end) << 1) | several)
        if several:
            write_varint(writer, len(run) - 2)
        for process in run:
            write_positive(writer, vector.get(process))
        end = run[-1] + 2
    return writer.getvalue()


def runs_of(vector: Vector) -> list[list[int]]:
    """The ids that count something, as lists of neighbours."""
    runs: list[list[int]] = []
    for process in sorted(vector.counts):
        if runs and runs[-1][-1] == process - 1:
            runs[-1].append(process)
        else:
            runs.append([process])
    return runs


def read_vector(reader: WireReader) -> Vector:
    """What `write_vector` wrote."""
    counts: dict[int, int] = {}
    runs = reader.count()
    if runs == 0:
        raise RemoteError("a vector that counts nothing")
    next_id: int = 0
    for _ in range(runs):
        tag: int = reader.varint()
        next_id += tag >> 1
        length = 1
        if tag & 1:
            length = reader.count() + 2
        if next_id + length > ID_LIMIT:
            raise RemoteError(f"a vector counts process {next_id}, not below 2**31")
        for _ in range(length):
            counts[next_id] = reader.positive()
            next_id += 1
        next_id += 1
    return Vector(counts)


# Logs.


def write_log(writer: BytesWriter, log: Log) -> None:
    """Append the senders by ascending id, and of each its sends by ascending time."""
    write_varint(writer, len(log))
    before = -1
    for sender in sorted(log):
        write_id(writer, sender, before)
        write_sends(writer, log[sender])
        before = sender


def write_sends(writer: BytesWriter, sends: Sends) -> None:
    """Append one sender's sends."""
    encoded = sends.encoded
    if encoded is None:
        encoded = encoded_sends(sends)
        sends.remember_encoded(encoded)
    writer.write(encoded)


def encoded_sends(sends: Sends) -> bytes:
    """The number of sends; of each its distance in time from the one before and its targets."""
    writer = BytesWriter()
    write_positive(writer, len(sends.entries))
    before = 0
    for time, targets in sends.entries.items():
        write_later(writer, time, before)
        write_ids(writer, tuple(sorted(targets)))
        before = time
    return writer.getvalue()


def read_log(reader: WireReader) -> Log:
    """What `write_log` wrote."""
    log: Log = {}
    before = -1
    for _ in range(reader.count()):
        before = read_later(reader, before, ID_LIMIT)
        log[before] = read_sends(reader)
    return log


def read_sends(reader: WireReader) -> Sends:
    """What `write_sends` wrote."""
    entries: dict[int, frozenset[int]] = {}
    count = reader.count()
    if count == 0:
        raise RemoteError("a sender without sends in a log")
    before = 0
    for _ in range(count):
        before = read_later(reader, before, VARINT_LIMIT)
        entries[before] = frozenset(read_ids(reader))
    return Sends(entries)


# Messages inside others.


def write_predecessors(writer: BytesWriter, before: tuple[Predecessor, ...]) -> None:
    """Append messages that are brought along: sender, id, targets and payload of each."""
    write_varint(writer, len(before))
    for predecessor in before:
        message = predecessor.message
        write_process(writer, message.sender)
        write_positive(writer, message.sequence)
        write_targets(writer, predecessor.targets)
        write_varint(writer, len(message.payload))
        writer.write(message.payload)


def read_predecessors(reader: WireReader) -> tuple[Predecessor, ...]:
    """What `write_predecessors` wrote."""
    before: list[Predecessor] = []
    for _ in range(reader.count()):
        sender = read_process(reader)
        sequence = reader.positive()
        targets = read_targets(reader)
        payload = reader.take(reader.varint())
        before.append(Predecessor(Message(sender, sequence, payload), targets))
    return tuple(before)


NUMBER: Final = Form(write_number, read_number)
POSITIVE: Final = Form(write_positive, read_positive)
NUMBERS: Final = Form(write_numbers, read_numbers)
PROCESS: Final = Form(write_process, read_process)
COUNTERS: Final = Form(write_counters, read_counters)
TARGETS: Final = Form(write_targets, read_targets)
IDS_OF: Final = Form(write_ids_of, read_ids_of)
EXPELLED: Final = Form(write_expelled, read_expelled)
VECTOR: Final = Form(write_vector, read_vector)
MATRIX: Final = Form(write_matrix, read_matrix)
LOG: Final = Form(write_log, read_log)
PREDECESSORS: Final = Form(write_predecessors, read_predecessors)
