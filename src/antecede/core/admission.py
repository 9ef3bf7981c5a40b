"""What a message has to pass before it enters the buffers of a protocol."""

from collections.abc import Collection, Sequence

from mypy_extensions import i64

from antecede.core.checks import checked_targets, split_targets
from antecede.core.errors import BufferFull, LocalError


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
