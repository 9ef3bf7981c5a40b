"""Prakash, Raynal and Singhal's algorithm: carry the direct predecessors of what may come next.

For every process d a process keeps a causal barrier: the latest messages to d in its past, those
that the next message to d must follow directly. A message carries the barriers of its sender. Its
receiver delivers it when it has delivered the messages in the barrier that is its own.

Paper: R. Prakash, M. Raynal, M. Singhal, "An adaptive causal ordering algorithm suited to mobile
computing environments", Journal of Parallel and Distributed Computing 41(2), 1997.
Cost: two integers for every message in a barrier, n*n barriers' entries at worst; it adapts to who
talks with whom. Steps in proportion to what is carried and kept. Latency is optimal.

A process drops from its barriers what it knows to be delivered. What is in its own barrier it has
delivered itself, so it never tells others, and of the paper's matrix of deliveries only one row is
ever filled when all keep to the rules.
"""

from collections.abc import Sequence
from typing import ClassVar, Final, final

from mypy_extensions import mypyc_attr

from antecede.core.checks import PAYLOAD_LIMIT
from antecede.core.effects import Effect
from antecede.core.errors import RemoteError
from antecede.core.packets import Message, MessagePacket, Packet
from antecede_lab.protocols.group_process import ReceiverBuffering, to_each
from antecede_lab.protocols.receive_buffer import RECEIVE_LIMIT
from antecede_lab.protocols.vectors import EMPTY, Vector, maximum


@final
@mypyc_attr(acyclic=True)
class PrsPacket(MessagePacket):
    """A message, its targets, and its sender's barriers from before it was sent.

    A barrier is a `Vector`: of each sender that is in it, the sequence of one message.
    """

    __slots__ = ("barriers", "targets")

    FIELDS: ClassVar = ("carried", "targets", "barriers")

    def __init__(
        self, carried: Message, targets: tuple[int, ...], barriers: dict[int, Vector]
    ) -> None:
        super().__init__(carried)
        self.targets: Final = targets
        self.barriers: Final = barriers

    @property
    def metadata_integers(self) -> int:
        """Its sequence and targets; of every barrier its process and two for each message in it."""
        integers = 1 + len(self.targets)
        for barrier in self.barriers.values():
            integers += 1 + 2 * len(barrier.counts)
        return integers


@final
class PrsProcess(ReceiverBuffering[PrsPacket]):
    """One process's side; messages to it arrive exactly once, in any order."""

    PACKET: ClassVar[type[Packet]] = PrsPacket
    STATE: ClassVar[tuple[str, ...]] = ("_members", "_sequence", "_delivered", "_barriers", "_room")

    # Compiled, a constructor that is inherited from a class open to interpreted ones runs twice.
    def __init__(
        self,
        me: int,
        processes: Sequence[int],
        *,
        receive_limit: int = RECEIVE_LIMIT,
        payload_limit: int = PAYLOAD_LIMIT,
    ) -> None:
        super().__init__(me, processes, receive_limit=receive_limit, payload_limit=payload_limit)

    def _begin(self) -> None:
        # What each process has delivered, as far as known here: by sender, its latest sequence.
        self._delivered: dict[int, Vector] = {}
        self._barriers: dict[int, Vector] = {}

    def _copies(self, message: Message, remote: list[int]) -> list[Effect]:
        packet = PrsPacket(message, tuple(sorted(remote)), dict(self._barriers))
        barrier = Vector({self._members.me: int(message.sequence)})
        for target in remote:
            self._barriers[target] = barrier
        return to_each(remote, packet)

    def _delivered_by(self, process: int) -> Vector:
        return self._delivered.get(process, EMPTY)

    def _check(self, source: int, packet: PrsPacket) -> int:
        members = self._members
        sequence: int = packet.carried.sequence
        members.check_message(source, packet.carried, packet.targets)
        if sequence <= self._delivered_by(members.me).get(source):
            raise RemoteError(f"message {sequence} of {source} came again")
        self._room.check_new(source, sequence)
        for process, barrier in packet.barriers.items():
            if not members.knows(process) or not members.knows_all(barrier) or not barrier.counts:
                raise RemoteError(f"a bad barrier from {source}: {process} follows {barrier}")
            if process in barrier.counts:
                raise RemoteError(f"{source} holds {process} up for a message to itself")
            if barrier.get(source) >= sequence:
                raise RemoteError(f"message {sequence} of {source} cannot follow itself")
            if barrier.get(members.me) > self._sequence:
                raise RemoteError(f"{source} knows a message that {members.me} never sent")
        return sequence

    def _missing_before(self, packet: PrsPacket) -> list[tuple[int, int]]:
        me = self._members.me
        return missing_before(packet, self._delivered_by(me), me)

    def _take_in(self, packet: PrsPacket) -> None:
        me = self._members.me
        source: int = packet.carried.sender
        latest = Vector({source: int(packet.carried.sequence)})
        self._delivered[me] = maximum(self._delivered_by(me), latest)
        told = packet.barriers.get(source, EMPTY)
        if told.counts:
            self._delivered[source] = maximum(self._delivered_by(source), told)
        for target in packet.targets:
            passed = packet.barriers.get(target, EMPTY)
            kept = beyond(self._barriers.get(target, EMPTY), passed)
            self._put_barrier(target, maximum(kept, latest))
        for process, barrier in packet.barriers.items():
            if process not in packet.targets:
                known = self._barriers.get(process, EMPTY)
                self._put_barrier(process, maximum(known, barrier))
        self._room.reached(source, packet.carried.sequence)

    def _put_barrier(self, process: int, barrier: Vector) -> None:
        """Let the next message to `process` follow `barrier`, but for what is delivered there."""
        needed = beyond(barrier, self._delivered_by(process))
        if needed.counts:
            self._barriers[process] = needed
        else:
            self._barriers.pop(process, None)


def missing_before(packet: PrsPacket, delivered: Vector, me: int) -> list[tuple[int, int]]:
    """Whose message, and which, `me` must deliver before `packet`; nothing: deliver it."""
    return sorted(beyond(packet.barriers.get(me, EMPTY), delivered).counts.items())


def beyond(barrier: Vector, passed: Vector) -> Vector:
    """The messages in `barrier` that are later than those of the same sender in `passed`."""
    if not passed.counts:
        return barrier
    kept: dict[int, int] = {}
    for sender, sequence in barrier.counts.items():
        if sequence > passed.get(sender):
            kept[sender] = sequence
    return barrier if len(kept) == len(barrier.counts) else Vector(kept)
