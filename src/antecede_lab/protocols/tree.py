"""FIFO links along a spanning tree: causal unicast and multicast without any ordering metadata.

Every process talks only to its neighbours in a tree, over FIFO links, and passes on what is meant
for others inside the very step in which it receives it. Between any two processes there is one
path, so whatever happens because of a message follows that message on every link it takes, and
cannot overtake it. A message carries no clock, only what routing needs: its origin and the targets
that lie further on.

Paper: first in Bona et al., HICSS 1996; found again, among others, by S. Blessing, S. Clebsch,
S. Drossopoulou, "Tree Topologies for Causal Message Delivery", AGERE 2017.
Cost: two integers and the remaining targets per packet; state is the list of processes and one
integer per origin seen; O(log n) steps per target in a balanced tree. A message takes as many hops
as the path is long, all traffic between two halves crosses one link, one process gone splits the
tree.
"""

from bisect import bisect_left
from collections.abc import Sequence
from typing import ClassVar, Final, final

from mypy_extensions import i64, mypyc_attr

from antecede.core.checks import PAYLOAD_LIMIT
from antecede.core.effects import Deliver, Effect, Transmit
from antecede.core.errors import LocalError, RemoteError
from antecede.core.packets import Message, MessagePacket, Packet
from antecede_lab.protocols.group_process import GroupProcess
from antecede_lab.protocols.members import Members


@final
@mypyc_attr(acyclic=True)
class TreePacket(MessagePacket):
    """A message (its `sender` is who submitted it) and its targets beyond this link, ascending."""

    __slots__ = ("targets",)

    FIELDS: ClassVar = ("carried", "targets")

    def __init__(self, carried: Message, targets: tuple[int, ...]) -> None:
        super().__init__(carried)
        self.targets: Final = targets

    @property
    def metadata_integers(self) -> int:
        """The origin, the id and the remaining targets."""
        return 2 + len(self.targets)


@final
class SpanningTree:
    """Who is whose parent; by default a balanced binary tree over the sorted process ids.

    A process is known here by its place in the sorted list of ids. Without a table of parents the
    parent of place p is (p - 1) // 2, so the tree costs nothing to keep.
    """

    __slots__ = ("_ids", "_parents")

    def __init__(self, ids: Sequence[int], parents: dict[int, int] | None) -> None:
        self._ids: Final = ids
        self._parents: list[int] | None = None
        if parents is not None:
            self._parents = parent_places(ids, parents)

    def place(self, process: i64) -> i64:
        """Where `process` stands in the sorted list, or -1 if it is not in the tree."""
        place: i64 = bisect_left(self._ids, process)
        if place < len(self._ids) and self._ids[place] == process:
            return place
        return -1

    def next_hop(self, source: i64, target: i64) -> i64:
        """The neighbour of `source` on the way to `target`; both are in the tree, and differ."""
        start = self.place(source)
        below = self.place(target)
        above = self._parent(below)
        while above >= 0:
            if above == start:
                return self._ids[below]
            below = above
            above = self._parent(below)
        return self._ids[self._parent(start)]

    def _parent(self, place: i64) -> i64:
        """The place of the parent, or -1 for the root."""
        if self._parents is not None:
            return self._parents[place]
        return (place - 1) >> 1


@mypyc_attr(allow_interpreted_subclasses=True)
class RoutedProcess(GroupProcess):
    """One process of a tree; `parents` gives every process but the root its parent."""

    OPTIONS: ClassVar[tuple[str, ...]] = ("parents", "payload_limit")

    def __init__(
        self,
        me: int,
        processes: Sequence[int],
        *,
        parents: dict[int, int] | None = None,
        payload_limit: int = PAYLOAD_LIMIT,
    ) -> None:
        super().__init__(me, processes, payload_limit)
        self._parents: Final = parents
        self._tree: Final = SpanningTree(sorted_ids(self._members), parents)
        self._heard: dict[int, int] = {}

    def _hear(self, source: int, origin: int, sequence: int, targets: tuple[int, ...]) -> None:
        """Note what a neighbour passes on; `RemoteError` if a correct tree does not bring it."""
        self._check_route(source, origin, targets)
        if sequence <= self._heard.get(origin, 0):
            raise RemoteError(f"message {sequence} of {origin} came too late")
        self._heard[origin] = sequence

    def _check_route(self, source: int, origin: int, targets: tuple[int, ...]) -> None:
        if not self._is_behind(source, source) or not self._is_behind(source, origin):
            raise RemoteError(f"a message of {origin} does not come here from {source}")
        previous: i64 = -1
        for target in targets:
            if target <= previous or not self._members.knows(target):
                raise RemoteError(f"{targets} is not an ascending list of processes")
            if self._is_behind(source, target):
                raise RemoteError(f"the way to {target} does not lead from {source} through here")
            previous = target
        if previous < 0:
            raise RemoteError(f"a message of {origin} without targets came from {source}")

    def _is_behind(self, neighbour: int, process: int) -> bool:
        """Whether what goes to `process` from here leaves through `neighbour`."""
        me = self._members.me
        if process == me or not self._members.knows(process):
            return False
        return self._tree.next_hop(me, process) == neighbour

    def _parts(self, targets: Sequence[int]) -> dict[int, tuple[int, ...]]:
        """Which of the targets lie behind which neighbour, ascending; those of oneself left out."""
        behind: dict[int, list[int]] = {}
        for target in targets:
            if target != self._members.me:
                neighbour = self._tree.next_hop(self._members.me, target)
                behind.setdefault(neighbour, []).append(target)
        return {neighbour: tuple(sorted(further)) for neighbour, further in behind.items()}


@final
class TreeProcess(RoutedProcess):
    """One process of the tree, which passes on messages."""

    STATE: ClassVar[tuple[str, ...]] = ("_members", "_sequence", "_heard")

    # Compiled, a constructor that is inherited from a class open to interpreted ones runs twice.
    def __init__(
        self,
        me: int,
        processes: Sequence[int],
        *,
        parents: dict[int, int] | None = None,
        payload_limit: int = PAYLOAD_LIMIT,
    ) -> None:
        super().__init__(me, processes, parents=parents, payload_limit=payload_limit)

    def _send(self, message: Message, remote: list[int], now_ns: i64) -> list[Effect]:  # noqa: ARG002 - it has no timer
        return self._pass_on(message, remote)

    def arrive(self, source: int, packet: Packet, now_ns: int) -> list[Effect]:  # noqa: ARG002 - it has no timer
        if not isinstance(packet, TreePacket):
            raise RemoteError(f"a {packet.kind} from {source} has no meaning here")
        message = packet.carried
        self._hear(source, message.sender, message.sequence, packet.targets)
        effects = self._pass_on(message, packet.targets)
        # Forward before delivering: an answer to the delivery must not leave ahead of it.
        if self._members.me in packet.targets:
            effects.append(Deliver(message))
        return effects

    def _pass_on(self, message: Message, targets: Sequence[int]) -> list[Effect]:
        effects: list[Effect] = []
        for neighbour, further in self._parts(targets).items():
            effects.append(Transmit(neighbour, TreePacket(message, further)))
        return effects


def sorted_ids(members: Members) -> Sequence[int]:
    """Everyone's id in ascending order; a range where there are no gaps, which costs nothing."""
    if members.highest - members.lowest + 1 == members.size:
        return range(members.lowest, members.highest + 1)
    return members.ids()


def parent_places(ids: Sequence[int], parents: dict[int, int]) -> list[int]:
    """The place of each one's parent (-1: none), or `LocalError` if the table is not a tree."""
    for child, parent in parents.items():
        if child not in ids or parent not in ids:
            raise LocalError(f"{parent} as the parent of {child}: one of them is no process")
    roots = [process for process in ids if process not in parents]
    if len(roots) != 1:
        raise LocalError(f"a tree has one root, a process without a parent, not {len(roots)}")
    for process in ids:
        if depth(process, parents, len(ids)) >= len(ids):
            raise LocalError(f"the parents of {process} go round in a circle")
    return [bisect_left(ids, parents[process]) if process in parents else -1 for process in ids]


def depth(process: int, parents: dict[int, int], limit: int) -> int:
    """How many parents are above `process`, counted up to `limit`."""
    count = 0
    while process in parents and count < limit:
        process = parents[process]
        count += 1
    return count
