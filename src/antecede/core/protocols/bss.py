"""Birman, Schiper and Stephenson's algorithm (CBCAST): vector clocks, where everyone hears all.

Every message goes to all, so one vector says it all: how many messages of each process its sender
had delivered. A receiver delivers a message when it is the next one of its sender and everything
that its sender had delivered is delivered here too.

Paper: K. Birman, A. Schiper, P. Stephenson, "Lightweight causal and atomic group multicast", ACM
Transactions on Computer Systems 9(3), 1991; this is its causal broadcast in one static group.
Cost: n integers per message and per process, n steps per delivery. Latency is optimal.
"""

from collections.abc import Sequence
from typing import ClassVar, Final, Self, final

from mypy_extensions import i64, mypyc_attr

from antecede.core.checks import PAYLOAD_LIMIT, checked_payload
from antecede.core.effects import Deliver, Effect, Transmit
from antecede.core.errors import LocalError, RemoteError
from antecede.core.members import Members
from antecede.core.process import CausalProcess
from antecede.core.values import Message, Packet
from antecede.core.vectors import Vector
from antecede.core.waiting import RECEIVE_LIMIT, WaitingRoom


@final
@mypyc_attr(acyclic=True)
class BssPacket(Packet):
    """A message to everybody else and its vector time; zeros are left out, `size` is n."""

    __slots__ = ("carried", "size", "time")

    KIND: ClassVar[str] = "message"

    def __init__(self, carried: Message, size: i64, time: Vector) -> None:
        self.carried: Final = carried
        self.size: Final[i64] = size
        self.time: Final = time

    @property
    def message(self) -> Message | None:
        return self.carried

    @property
    def metadata_integers(self) -> int:
        """The vector: n, although zeros are not on the wire."""
        return self.size

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, BssPacket)
            and self.carried == other.carried
            and self.size == other.size
            and self.time == other.time
        )

    def __hash__(self) -> int:
        return hash(self.carried)

    def __repr__(self) -> str:
        return f"BssPacket({self.carried!r}, {self.size}, {self.time})"


@final
class BssProcess(CausalProcess):
    """One process's side; messages to it arrive exactly once, in any order."""

    def __init__(
        self,
        me: int,
        processes: Sequence[int],
        *,
        receive_limit: int = RECEIVE_LIMIT,
        payload_limit: int = PAYLOAD_LIMIT,
    ) -> None:
        self._members: Final = Members(me, processes)
        self._payload_limit: Final[i64] = payload_limit
        # By process, how many of its messages are delivered here; of our own, submitted.
        self._time: dict[int, int] = {}
        self._room: WaitingRoom[BssPacket] = WaitingRoom(receive_limit)

    def submit(self, targets: Sequence[int], payload: object, now_ns: int) -> list[Effect]:  # noqa: ARG002 - no timers
        remote, to_self = self._members.split(targets)
        if len(remote) != self._members.size - 1:
            raise LocalError(f"a broadcast needs all {self._members.size - 1} others as targets")
        content = checked_payload(payload, self._payload_limit)
        me = self._members.me
        sequence = self._time.get(me, 0) + 1
        self._time[me] = sequence
        message = Message(me, sequence, content)
        effects: list[Effect] = []
        if remote:
            packet = BssPacket(message, self._members.size, Vector(dict(self._time)))
            for target in remote:
                effects.append(Transmit(target, packet))
        if to_self:
            effects.append(Deliver(message))
        return effects

    def arrive(self, source: int, packet: Packet, now_ns: int) -> list[Effect]:  # noqa: ARG002 - no timers
        if not isinstance(packet, BssPacket):
            raise RemoteError(f"a {packet.kind} from {source} has no meaning here")
        self._check(source, packet)
        missing = missing_before(packet, self._time)
        if missing:
            self._room.hold(packet, source, packet.carried.sequence, missing)
            return []
        effects: list[Effect] = []
        ready: BssPacket | None = packet
        while ready is not None:
            sender: int = ready.carried.sender
            self._time[sender] = ready.carried.sequence
            self._room.reached(sender, ready.carried.sequence)
            effects.append(Deliver(ready.carried))
            ready = self._room.next_ready()
        return effects

    def _check(self, source: int, packet: BssPacket) -> None:
        """`RemoteError` if no correct process sends this."""
        members = self._members
        sequence: int = packet.carried.sequence
        members.check_message(source, packet.carried, (members.me,))
        if packet.size != members.size or not members.knows_all(packet.time):
            raise RemoteError(f"{source} sent a bad vector: {packet.size} {packet.time}")
        if packet.time.get(source) != sequence:
            raise RemoteError(f"message {sequence} of {source} is dated {packet.time}")
        if packet.time.get(members.me) > self._time.get(members.me, 0):
            raise RemoteError(f"{source} knows a message that {members.me} never sent")
        if sequence <= self._time.get(source, 0):
            raise RemoteError(f"message {sequence} of {source} came again")
        self._room.check_new(source, sequence)

    def clone(self) -> Self:
        twin = BssProcess(
            self._members.me,
            self._members.ids(),
            receive_limit=self._room.limit,
            payload_limit=self._payload_limit,
        )
        twin._time = dict(self._time)
        twin._room = self._room.copy()
        return twin

    def fingerprint(self) -> bytes:
        state = (self._members.me, sorted(self._time.items()))
        return repr((state, self._room.packets())).encode()


def missing_before(packet: BssPacket, delivered: dict[int, int]) -> list[tuple[int, int]]:
    """Of whom how many messages must be delivered before `packet`; nothing: deliver it."""
    missing: list[tuple[int, int]] = []
    for process, count in packet.time.counts.items():
        needed = count - 1 if process == packet.carried.sender else count
        if delivered.get(process, 0) < needed:
            missing.append((process, needed))
    return missing
