"""Who takes part, for protocols whose state speaks of every process.

Membership is fixed when a process is made. Where ids follow one another without gaps, as in the
lab, it is kept as an interval: a thousand processes that each know a thousand others then cost
nothing. What a peer claims is checked here against it, before anything changes.
"""

from collections.abc import Sequence
from typing import Final, final

from antecede.core.checks import check_distinct, checked_processes, checked_targets
from antecede.core.errors import LocalError, RemoteError
from antecede.core.packets import Message, Packet
from antecede_lab.protocols.vectors import Vector


@final
class Members:
    """The processes of a group, `me` among them; never changes."""

    __slots__ = ("_known", "highest", "lowest", "me", "size")

    def __init__(self, me: int, processes: Sequence[int]) -> None:
        others = checked_processes(me, processes)
        everyone = [me, *others]
        self.me: Final = me
        self.size: Final = len(everyone)
        self.lowest: Final = min(everyone)
        self.highest: Final = max(everyone)
        gapless = self.highest - self.lowest + 1 == self.size
        self._known: Final = None if gapless else dict.fromkeys(sorted(everyone), True)

    def __repr__(self) -> str:
        return f"Members({self.me})"

    def ids(self) -> list[int]:
        """Everyone's id, in ascending order."""
        if self._known is None:
            return list(range(self.lowest, self.highest + 1))
        return list(self._known)

    def knows(self, process: int) -> bool:
        """Whether `process` is one of the group."""
        if self._known is None:
            return self.lowest <= process <= self.highest
        return process in self._known

    def knows_all(self, vector: Vector) -> bool:
        """Whether `vector` counts messages of members only, at least one of each it mentions."""
        if not vector.counts:
            return True
        if vector.least < 1:
            return False
        if self._known is None:
            return self.lowest <= vector.lowest and vector.highest <= self.highest
        return vector.counts.keys() <= self._known.keys()

    def knows_each(self, ids: frozenset[int]) -> bool:
        """Whether all of `ids` are of the group."""
        if not ids:
            return True
        if self._known is None:
            return self.lowest <= min(ids) and max(ids) <= self.highest
        return ids <= self._known.keys()

    def split(self, targets: object) -> tuple[list[int], bool]:
        """The targets but oneself, in order, and whether oneself is one; else `LocalError`."""
        ids = checked_targets(targets)
        check_distinct(ids)
        for target in ids:
            if not self.knows(target):
                raise LocalError(f"unknown target {target}: it is not one of the processes")
        return [target for target in ids if target != self.me], self.me in ids

    def check_one(self, remote: list[int]) -> None:
        """`LocalError` if there is more than one target besides oneself."""
        if len(remote) > 1:
            raise LocalError(f"this protocol is unicast only: one remote target, not {remote}")

    def check_all(self, remote: list[int]) -> None:
        """`LocalError` if these are not all of the others."""
        if len(remote) < self.size - 1:
            needed = f"all {self.size - 1} others"
            raise LocalError(f"this protocol only broadcasts: to {needed}, not to {remote}")

    def check_source(self, source: int, packet: Packet) -> None:
        """`RemoteError` unless `source` is one of the others."""
        if source == self.me or not self.knows(source):
            raise RemoteError(f"{packet.kind} from {source}, which is not one of the others")

    def check_message(self, source: int, message: Message, targets: tuple[int, ...]) -> None:
        """`RemoteError` unless `source` may have sent `message` to `targets`, of whom I am one.

        In a packet, targets are in ascending order.
        """
        if source == self.me or not self.knows(source):
            raise RemoteError(f"a message from {source}, which is not one of the others")
        if message.sender != source or message.sequence < 1:
            raise RemoteError(f"{source} sent message {message.sequence} of {message.sender}")
        if self.me not in targets or source in targets:
            raise RemoteError(f"{source} sent a message for {targets} to {self.me}")
        before = -1
        for target in targets:
            if not self.knows(target) or target <= before:
                raise RemoteError(f"{source} sent a message to {targets}: unknown or out of order")
            before = target
