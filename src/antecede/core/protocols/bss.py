"""Birman, Schiper and Stephenson's algorithm (CBCAST): vector clocks, where everyone hears all.

Every message goes to all, so one vector says it all: how many messages of each process its sender
had delivered. A receiver delivers a message when it is the next one of its sender and everything
that its sender had delivered is delivered here too.

Paper: K. Birman, A. Schiper, P. Stephenson, "Lightweight causal and atomic group multicast", ACM
Transactions on Computer Systems 9(3), 1991; this is its causal broadcast in one static group.
Cost: n integers per message and per process, n steps per delivery. Latency is optimal.
"""

from typing import ClassVar, Final, final

from mypy_extensions import i64, mypyc_attr

from antecede.core.effects import Transmit
from antecede.core.errors import LocalError, RemoteError
from antecede.core.protocols.receiver_buffering import ReceiverBuffering, to_each
from antecede.core.values import Message, Packet
from antecede.core.vectors import Vector


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

    def fields(self) -> tuple[object, ...]:
        return (self.carried, self.size, self.time)


@final
class BssProcess(ReceiverBuffering[BssPacket]):
    """One process's side; messages to it arrive exactly once, in any order."""

    PACKET: ClassVar[type[Packet]] = BssPacket
    STATE: ClassVar[tuple[str, ...]] = ("_members", "_time", "_room")
    ASIDE: ClassVar[tuple[str, ...]] = ("_sequence",)

    def _begin(self) -> None:
        # By process, how many of its messages are delivered here; of our own, submitted.
        self._time: dict[int, int] = {}

    def _check_targets(self, remote: list[int]) -> None:
        if len(remote) != self._members.size - 1:
            raise LocalError(f"a broadcast needs all {self._members.size - 1} others as targets")

    def _copies(self, message: Message, remote: list[int]) -> list[Transmit]:
        self._time[self._members.me] = message.sequence
        packet = BssPacket(message, self._members.size, Vector(dict(self._time)))
        return to_each(remote, packet)

    def _missing_before(self, packet: BssPacket) -> list[tuple[int, int]]:
        return missing_before(packet, self._time)

    def _take_in(self, packet: BssPacket) -> None:
        sender: int = packet.carried.sender
        self._time[sender] = packet.carried.sequence
        self._room.reached(sender, packet.carried.sequence)

    def _check(self, source: int, packet: BssPacket) -> int:
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
        return sequence


def missing_before(packet: BssPacket, delivered: dict[int, int]) -> list[tuple[int, int]]:
    """Of whom how many messages must be delivered before `packet`; nothing: deliver it."""
    missing: list[tuple[int, int]] = []
    for process, count in packet.time.counts.items():
        needed = count - 1 if process == packet.carried.sender else count
        if delivered.get(process, 0) < needed:
            missing.append((process, needed))
    return missing
