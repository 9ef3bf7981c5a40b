"""News of expulsions on the wire: ids of processes in ascending order, each as the step to it."""

from librt.strings import BytesWriter
from mypy_extensions import i64

from antecede.core.checks import ID_LIMIT
from antecede.core.errors import LocalError, RemoteError
from antecede.core.packets import Expulsion, Noted
from antecede.wire.varint import Reader, write_varint


def write_processes(processes: list[int], writer: BytesWriter) -> None:
    """Append how many, and the ids; `LocalError` unless they ascend and there is one at least."""
    write_varint(writer, len(processes))
    before: i64 = -1
    for process in processes:
        if process <= before or process >= ID_LIMIT:
            raise LocalError(f"expelled processes must ascend and fit 31 bits: {processes}")
        write_varint(writer, process - before)
        before = process
    if before < 0:
        raise LocalError("news of an expulsion must name somebody")


def read_processes(reader: Reader) -> list[int]:
    """What `write_processes` wrote."""
    processes: list[int] = []
    before: i64 = -1
    for _ in range(reader.count()):
        step = reader.positive()
        if step >= ID_LIMIT - before:
            raise RemoteError(f"an expelled process beyond the last id, {ID_LIMIT - 1}")
        before += step
        processes.append(int(before))
    if not processes:
        raise RemoteError("news of an expulsion that name nobody")
    return processes


def write_noted(packet: Noted, writer: BytesWriter) -> None:
    """Append the ids."""
    write_processes(packet.processes, writer)


def read_noted(reader: Reader, source: i64) -> Noted:  # noqa: ARG001 - one signature for all
    """What `write_noted` wrote."""
    return Noted(read_processes(reader))


def write_expulsion(packet: Expulsion, writer: BytesWriter) -> None:
    """Nothing: the kind says it all."""


def read_expulsion(reader: Reader, source: i64) -> Expulsion:  # noqa: ARG001 - one signature for all
    """What `write_expulsion` wrote."""
    return Expulsion()
