"""The algorithms that buffer at the receiver, on the wire: what they must say, as short as it goes.

Three forms are shared. Ids (of targets) are their number, then each as its distance from the one
before. A vector is its runs of neighbouring ids that all count something: a full vector costs about
a byte for each process, a sparse one about two for each entry, and zeros cost nothing. A matrix is
its rows that are not empty, each after the distance of its id from the one before. So matrices here
are smaller than n*n integers as long as many pairs of processes have never talked.

Vectors and sends keep their bytes once they are made: many packets share them.
"""

from librt.strings import BytesWriter
from mypy_extensions import i64

from antecede.core.checks import ID_LIMIT
from antecede.core.errors import LocalError, RemoteError
from antecede.core.protocols.bss import BssPacket
from antecede.core.protocols.ks import KsPacket
from antecede.core.protocols.ks_log import Log, Sends
from antecede.core.protocols.prs import PrsPacket
from antecede.core.protocols.rst import RstPacket
from antecede.core.protocols.ses import SesPacket
from antecede.core.values import Message
from antecede.core.vectors import Vector
from antecede.wire.varint import VARINT_LIMIT, Reader, write_varint


def write_rst(packet: RstPacket, writer: BytesWriter) -> None:
    """Append id, n, targets, matrix, payload."""
    write_positive(writer, packet.carried.sequence)
    write_positive(writer, packet.size)
    write_targets(writer, packet.targets)
    write_matrix(writer, packet.sent)
    writer.write(packet.carried.payload)


def read_rst(reader: Reader, source: i64) -> RstPacket:
    """What `write_rst` wrote."""
    sequence = reader.positive()
    size = reader.positive()
    targets = read_targets(reader)
    sent = read_matrix(reader)
    return RstPacket(Message(source, sequence, reader.rest()), targets, size, sent)


def write_ks(packet: KsPacket, writer: BytesWriter) -> None:
    """Append id, targets, log, payload."""
    write_positive(writer, packet.carried.sequence)
    write_targets(writer, packet.targets)
    write_log(writer, packet.log)
    writer.write(packet.carried.payload)


def read_ks(reader: Reader, source: i64) -> KsPacket:
    """What `write_ks` wrote."""
    sequence = reader.positive()
    targets = read_targets(reader)
    log = read_log(reader)
    return KsPacket(Message(source, sequence, reader.rest()), targets, log)


def write_prs(packet: PrsPacket, writer: BytesWriter) -> None:
    """Append id, targets, barriers, payload."""
    write_positive(writer, packet.carried.sequence)
    write_targets(writer, packet.targets)
    write_matrix(writer, packet.barriers)
    writer.write(packet.carried.payload)


def read_prs(reader: Reader, source: i64) -> PrsPacket:
    """What `write_prs` wrote."""
    sequence = reader.positive()
    targets = read_targets(reader)
    barriers = read_matrix(reader)
    return PrsPacket(Message(source, sequence, reader.rest()), targets, barriers)


def write_ses(packet: SesPacket, writer: BytesWriter) -> None:
    """Append n, targets, vector time (the id is in it), latest times, payload."""
    check_dated(packet.carried, packet.time)
    write_positive(writer, packet.size)
    write_targets(writer, packet.targets)
    write_vector(writer, packet.time)
    write_matrix(writer, packet.latest)
    writer.write(packet.carried.payload)


def read_ses(reader: Reader, source: i64) -> SesPacket:
    """What `write_ses` wrote."""
    size = reader.positive()
    targets = read_targets(reader)
    time = read_vector(reader)
    latest = read_matrix(reader)
    return SesPacket(read_dated(reader, source, time), targets, size, time, latest)


def write_bss(packet: BssPacket, writer: BytesWriter) -> None:
    """Append n, vector time (the id is in it), payload."""
    check_dated(packet.carried, packet.time)
    write_positive(writer, packet.size)
    write_vector(writer, packet.time)
    writer.write(packet.carried.payload)


def read_bss(reader: Reader, source: i64) -> BssPacket:
    """What `write_bss` wrote."""
    size = reader.positive()
    time = read_vector(reader)
    return BssPacket(read_dated(reader, source, time), size, time)


def check_dated(message: Message, time: Vector) -> None:
    """`LocalError` unless the vector time of `message` counts it as its sender's latest."""
    if time.get(message.sender) != message.sequence or message.sequence < 1:
        raise LocalError(f"message {message.sequence} of {message.sender} is dated {time}")


def read_dated(reader: Reader, source: i64, time: Vector) -> Message:
    """The message whose id is in its vector time, and whose payload is the rest."""
    sequence = time.get(source)
    if sequence < 1:
        raise RemoteError(f"a message of {source} that its own vector does not count")
    return Message(source, sequence, reader.rest())


# Integers.


def write_number(writer: BytesWriter, value: int) -> None:
    """Append an integer of any size; `LocalError` if it does not fit the wire."""
    if not 0 <= value < VARINT_LIMIT:
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


def read_later(reader: Reader, before: int, limit: int) -> int:
    """The next integer of an ascending list, below `limit`."""
    distance: int = reader.varint()
    value = before + 1 + distance
    if value >= limit:
        raise RemoteError(f"{value} is not below {limit}")
    return value


# Ids.


def write_targets(writer: BytesWriter, targets: tuple[int, ...]) -> None:
    """Append the targets of a message, of which there is at least one."""
    if not targets:
        raise LocalError("a packet for nobody cannot be encoded")
    write_ids(writer, list(targets))


def read_targets(reader: Reader) -> tuple[int, ...]:
    """What `write_targets` wrote."""
    targets = read_ids(reader)
    if not targets:
        raise RemoteError("a packet for nobody")
    return tuple(targets)


def write_ids(writer: BytesWriter, ids: list[int]) -> None:
    """Append ids in ascending order."""
    write_varint(writer, len(ids))
    before = -1
    for process in ids:
        write_id(writer, process, before)
        before = process


def read_ids(reader: Reader) -> list[int]:
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


# Vectors and matrices.


def write_matrix(writer: BytesWriter, rows: dict[int, Vector]) -> None:
    """Append rows by ascending id; none may be empty."""
    write_varint(writer, len(rows))
    before = -1
    for process in sorted(rows):
        write_id(writer, process, before)
        write_vector(writer, rows[process])
        before = process


def read_matrix(reader: Reader) -> dict[int, Vector]:
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
        vector.encoded = encoded
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


def read_vector(reader: Reader) -> Vector:
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
        sends.encoded = encoded
    writer.write(encoded)


def encoded_sends(sends: Sends) -> bytes:
    """The number of sends; of each its distance in time from the one before and its targets."""
    writer = BytesWriter()
    write_positive(writer, len(sends.entries))
    before = 0
    for time, targets in sends.entries.items():
        write_later(writer, time, before)
        write_ids(writer, sorted(targets))
        before = time
    return writer.getvalue()


def read_log(reader: Reader) -> Log:
    """What `write_log` wrote."""
    log: Log = {}
    before = -1
    for _ in range(reader.count()):
        before = read_later(reader, before, ID_LIMIT)
        log[before] = read_sends(reader)
    return log


def read_sends(reader: Reader) -> Sends:
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
