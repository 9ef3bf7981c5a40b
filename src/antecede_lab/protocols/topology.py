"""Compression by a known topology: a link carries only the counts that somebody behind it can use.

Who may send to whom is known and never changes. A process counts, as in `rst`, how many messages
went along every link k -> d. The count of k -> d matters only to d, and only if news of it can
reach d by another way than the link itself. So a message from i to j carries it only if that
message may be on such a way: k reaches i past j and d, and j reaches d past i and k. On a tree no
such way exists and one number is left; on a ring n are; on a complete graph nearly all n*n. Both
ends know which counts these are, so they travel as a bare list, without ids.

Paper: S. Meldal, S. Sankar, J. Vera, "Exploiting Locality in Maintaining Potential Causality", PODC
1991, which compresses vector times by the topology so that a process can compare the messages it
gets. Comparing is not enough for delivery, which must know what is missing: here their idea is
applied to the matrix of Raynal, Schiper and Toueg.
Cost: an integer for the id, and one for each link that shares a way round with the link used. State
is a count per link heard of. Latency is optimal. A new link needs a new group.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final, TypeAlias, final

from mypy_extensions import mypyc_attr

from antecede.core.checks import PAYLOAD_LIMIT, checked_targets
from antecede.core.effects import Effect, Transmit
from antecede.core.errors import LocalError, RemoteError
from antecede.core.packets import Message, MessagePacket, Packet
from antecede_lab.protocols.group_process import ReceiverBuffering
from antecede_lab.protocols.members import Members
from antecede_lab.protocols.receive_buffer import RECEIVE_LIMIT

Links: TypeAlias = dict[int, list[int]]
"""By process, whom it may send to, in ascending order."""

SHAPES: Final = ("complete", "ring", "star", "tree")
"""Topologies with a name; a link there goes both ways."""


@final
@mypyc_attr(acyclic=True)
class TopologyPacket(MessagePacket):
    """A message, and the counts that the link it takes has to carry, in the order both ends know.

    The count of the link itself includes this message.
    """

    __slots__ = ("counts",)

    FIELDS: ClassVar = ("carried", "counts")

    def __init__(self, carried: Message, counts: tuple[int, ...]) -> None:
        super().__init__(carried)
        self.counts: Final = counts

    @property
    def metadata_integers(self) -> int:
        """The id and the counts."""
        return 1 + len(self.counts)


@final
class Topology:
    """Who may send to whom, and which counts each link carries; None: everybody to everybody."""

    def __init__(self, ids: list[int], links: Links | None) -> None:
        self._ids: Final = ids
        self._links: Final = links
        self._cache: dict[tuple[int, int], list[tuple[int, list[int]]]] = {}

    def has_link(self, source: int, target: int) -> bool:
        """Whether `source` may send to `target`; both are members, and differ."""
        return self._links is None or target in self._links[source]

    def carried_on(self, source: int, target: int) -> list[tuple[int, list[int]]]:
        """Senders, each with the targets of those of its links whose counts this link carries."""
        links = self._links
        if links is None:
            return [
                (sender, [d for d in self._ids if d not in (sender, source)])
                for sender in self._ids
                if sender != target
            ]
        counts = self._cache.get((source, target))
        if counts is None:
            counts = carried_counts(self._ids, links, source, target)
            self._cache[source, target] = counts
        return counts


@final
class TopologyProcess(ReceiverBuffering[TopologyPacket]):
    """One process's side; messages to it arrive exactly once, in any order.

    `topology` is one of `SHAPES` (ring, star round the lowest id and balanced binary tree are over
    the ids in order), or for each process the list of those whom it sends to.
    """

    PACKET: ClassVar[type[Packet]] = TopologyPacket
    STATE: ClassVar[tuple[str, ...]] = ("_members", "_sequence", "_sent", "_delivered", "_room")
    OPTIONS: ClassVar[tuple[str, ...]] = ("topology", "receive_limit", "payload_limit")

    def __init__(
        self,
        me: int,
        processes: Sequence[int],
        *,
        topology: object = None,
        receive_limit: int = RECEIVE_LIMIT,
        payload_limit: int = PAYLOAD_LIMIT,
    ) -> None:
        super().__init__(me, processes, receive_limit=receive_limit, payload_limit=payload_limit)
        self._topology: Final = checked_topology(self._members, topology)

    def _begin(self) -> None:
        # By sender and target, how many messages took that link, as far as we know.
        self._sent: dict[int, dict[int, int]] = {}
        self._delivered: dict[int, int] = {}

    def _check_targets(self, remote: list[int]) -> None:
        me = self._members.me
        for target in remote:
            if not self._topology.has_link(me, target):
                raise LocalError(f"the topology has no link from {me} to {target}")

    def _copies(self, message: Message, remote: list[int]) -> list[Effect]:
        if not remote:
            return []
        own = self._sent.setdefault(self._members.me, {})
        for target in remote:
            own[target] = own.get(target, 0) + 1
        return [
            Transmit(target, TopologyPacket(message, self._counts_for(target))) for target in remote
        ]

    def _counts_for(self, target: int) -> tuple[int, ...]:
        counts: list[int] = []
        for sender, ends in self._topology.carried_on(self._members.me, target):
            row = self._sent.get(sender)
            if row is None:
                counts.extend([0] * len(ends))
            else:
                for end in ends:
                    counts.append(row.get(end, 0))
        return tuple(counts)

    def _check(self, source: int, packet: TopologyPacket) -> int:
        """Which of the messages on its link it is; `RemoteError` if no correct process sends it."""
        me = self._members.me
        self._members.check_message(source, packet.carried, (me,))
        if not self._topology.has_link(source, me):
            raise RemoteError(f"the topology has no link from {source} to {me}")
        expected = 0
        number = 0
        for sender, ends in self._topology.carried_on(source, me):
            if sender == source and expected + len(ends) <= len(packet.counts):
                number = packet.counts[expected + ends.index(me)]
            expected += len(ends)
        if len(packet.counts) != expected:
            raise RemoteError(f"{source} sent {len(packet.counts)} counts, not {expected}")
        if min(packet.counts) < 0 or number < 1:
            raise RemoteError(f"{source} sent counts that nobody can count: {packet.counts}")
        if number <= self._delivered.get(source, 0):
            raise RemoteError(f"message {packet.carried.sequence} of {source} came again")
        self._room.check_new(source, number)
        return number

    def _missing_before(self, packet: TopologyPacket) -> list[tuple[int, int]]:
        """From whom, and how many in all, must be delivered before `packet`; nothing: deliver."""
        me = self._members.me
        source: int = packet.carried.sender
        missing: list[tuple[int, int]] = []
        place = 0
        for sender, ends in self._topology.carried_on(source, me):
            if me in ends:
                count = packet.counts[place + ends.index(me)]
                needed = count - 1 if sender == source else count
                if self._delivered.get(sender, 0) < needed:
                    missing.append((sender, needed))
            place += len(ends)
        return missing

    def _take_in(self, packet: TopologyPacket) -> None:
        me = self._members.me
        source: int = packet.carried.sender
        place = 0
        for sender, ends in self._topology.carried_on(source, me):
            row = self._sent.get(sender, {})
            for end in ends:
                count = packet.counts[place]
                place += 1
                if count > row.get(end, 0):
                    row[end] = count
            if row:
                self._sent[sender] = row
        delivered = self._delivered.get(source, 0) + 1
        self._delivered[source] = delivered
        self._room.reached(source, delivered)


# Which counts a link carries.


def carried_counts(
    ids: list[int], links: Links, source: int, target: int
) -> list[tuple[int, list[int]]]:
    """Senders and ends of the links whose counts must travel from `source` to `target`.

    Those of which `target` may be told something by `source` that it needs or must pass on: their
    sender reaches `source` past `target` and their end, and `target` reaches their end past both.
    """
    backward: Links = {process: [] for process in ids}
    for process in ids:
        for end in links[process]:
            backward[end].append(process)
    informed: dict[int, dict[int, bool]] = {}
    kept: list[tuple[int, list[int]]] = []
    for sender in ids:
        if sender == target:
            continue
        concerned = reachable(links, target, (source, sender))
        ends: list[int] = []
        for end in links[sender]:
            if end not in concerned:
                continue
            if end not in informed:
                informed[end] = reachable(backward, source, (target, end))
            if sender in informed[end]:
                ends.append(end)
        if ends:
            kept.append((sender, ends))
    return kept


def reachable(links: Links, start: int, avoided: tuple[int, int]) -> dict[int, bool]:
    """All that can be reached from `start`, itself included, past those to be avoided."""
    found = {start: True}
    queue = [start]
    for process in queue:
        for end in links[process]:
            if end not in avoided and end not in found:
                found[end] = True
                queue.append(end)
    return found


# Topologies.


def checked_topology(members: Members, wanted: object) -> Topology:
    """The topology that an option asks for, or `LocalError` if it makes no sense."""
    ids = members.ids()
    if isinstance(wanted, Topology):
        return wanted
    if wanted is None or wanted == "complete":
        return Topology(ids, None)
    if isinstance(wanted, Mapping):
        return Topology(ids, checked_links(members, wanted))
    if isinstance(wanted, str) and wanted in SHAPES:
        return Topology(ids, shaped(ids, wanted))
    raise LocalError(f"a topology is one of {', '.join(SHAPES)}, or lists of links, not {wanted!r}")


def checked_links(members: Members, wanted: Mapping[object, object]) -> Links:
    """The links as a table with a row for everybody."""
    links: Links = {process: [] for process in members.ids()}
    for process, targets in wanted.items():
        if not isinstance(process, int) or not members.knows(process):
            raise LocalError(f"links of {process!r}, which is not one of the processes")
        ends = sorted(checked_targets(targets))
        for place, end in enumerate(ends):
            if not members.knows(end) or end == process or end in ends[:place]:
                raise LocalError(f"the links of {process} cannot lead to {ends}")
        links[process] = ends
    return links


def shaped(ids: list[int], shape: str) -> Links:
    """A ring, a star or a balanced binary tree over the ids in order; links go both ways."""
    links: Links = {process: [] for process in ids}
    for place in range(1, len(ids)):
        before = {"ring": place - 1, "star": 0, "tree": (place - 1) // 2}
        join(links, ids[before[shape]], ids[place])
    if shape == "ring" and len(ids) > 2:
        join(links, ids[0], ids[-1])
    return {process: sorted(ends) for process, ends in links.items()}


def join(links: Links, one: int, other: int) -> None:
    """Link two processes both ways."""
    links[one].append(other)
    links[other].append(one)
