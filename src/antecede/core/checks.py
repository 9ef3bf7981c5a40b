"""What every protocol checks before it changes anything: targets, payload, room in its buffers.

Arguments come in as `object` because a compiled method would answer a wrong type with its own
`TypeError`, and a caller is owed a `LocalError` that says what to do.
"""

from collections.abc import Collection, Sequence
from typing import Final

from mypy_extensions import i64

from antecede.core.errors import BufferFull, LocalError

PAYLOAD_LIMIT: Final = 1 << 20
"""At most 1 MiB in one message; larger payloads are split above the core."""

ID_LIMIT: Final = 1 << 31
"""Process ids are below this, so that they fit the event log."""


def checked_processes(me: object, processes: object) -> list[int]:
    """The ids of the other processes, in order, or `LocalError` if the list makes no sense."""
    everyone = checked_targets(processes)
    check_distinct(everyone)
    check_ids(min(everyone), max(everyone))
    if me not in everyone:
        raise LocalError(f"process {me!r} is not one of the processes {everyone}")
    return [process for process in everyone if process != me]


def known_processes(me: int, processes: object) -> Collection[int]:
    """The ids of all processes, with a fast membership test, or `LocalError`.

    A range is kept as it is, so that ten thousand processes can share one.
    """
    if isinstance(processes, frozenset) and me in processes:
        return processes
    if isinstance(processes, range) and len(processes) > 0 and me in processes:
        ends = processes[0], processes[-1]
        check_ids(min(ends), max(ends))
        return processes
    return frozenset([me, *checked_processes(me, processes)])


def with_process(process: int, known: Collection[int]) -> Collection[int]:
    """The known processes and one more, or `LocalError` if it cannot join."""
    check_ids(process, process)
    if process in known:
        raise LocalError(f"process {process} is known already")
    return frozenset([process, *known])


def check_ids(low: int, high: int) -> None:
    """`LocalError` if ids from `low` to `high` do not fit the event log."""
    if low < 0 or high >= ID_LIMIT:
        raise LocalError(f"process ids from {low} to {high} are outside 0 <= id < 2**31")


def checked_targets(targets: object) -> list[int]:
    """The targets as a list, or `LocalError` if they are not a sequence of process ids."""
    if isinstance(targets, (str, bytes)) or not isinstance(targets, Sequence):
        raise LocalError(f"expected a sequence of process ids, not {type(targets).__name__}")
    ids: list[int] = []
    for target in targets:
        if not isinstance(target, int) or isinstance(target, bool):
            raise LocalError(f"a process id must be an int, not {target!r}")
        ids.append(target)
    return ids


def check_distinct(targets: list[int]) -> None:
    """`LocalError` if there is no target, or one stands twice."""
    if not targets:
        raise LocalError("no targets: a message needs at least one")
    if len(targets) > 1 and len(set(targets)) != len(targets):
        raise LocalError(f"duplicate targets in {targets}")


def checked_payload(payload: object, limit: i64) -> bytes:
    """The payload, or `LocalError` if it is not bytes or has more than `limit` of them."""
    if not isinstance(payload, bytes):
        raise LocalError(f"the payload must be bytes, not {type(payload).__name__}")
    if len(payload) > limit:
        raise LocalError(f"the payload has {len(payload)} bytes; the limit is {limit}")
    return payload


def split_targets(targets: list[int], me: int, known: Collection[int]) -> tuple[list[int], bool]:
    """The remote targets, in order, and whether `me` is among the targets."""
    check_distinct(targets)
    remote: list[int] = []
    to_self = False
    for target in targets:
        if target == me:
            to_self = True
        elif target in known:
            remote.append(target)
        else:
            raise LocalError(f"unknown target {target}: it is not one of the processes")
    return remote, to_self


def unicast_receiver(targets: Sequence[int], me: int, known: Collection[int]) -> tuple[int, bool]:
    """The one remote target (`me` if there is none), and whether `me` is among the targets."""
    remote, to_self = split_targets(checked_targets(targets), me, known)
    if len(remote) > 1:
        raise LocalError(f"this protocol is unicast only: one remote target, not {remote}")
    return (remote[0] if remote else me), to_self


def check_room(buffered: i64, limit: i64) -> None:
    """`BufferFull` if there are already as many unsent or unacked messages as allowed."""
    if buffered >= limit:
        raise BufferFull(f"{limit} messages are not acknowledged yet; try later")
