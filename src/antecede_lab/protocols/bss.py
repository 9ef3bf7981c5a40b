"""Birman, Schiper and Stephenson's algorithm (CBCAST): vector clocks, where everyone hears all.

Every message goes to all, so one vector says it all: how many messages of each process its sender
had delivered. A receiver delivers a message when it is the next one of its sender and everything
that its sender had delivered is delivered here too.

Paper: K. Birman, A. Schiper, P. Stephenson, "Lightweight causal and atomic group multicast", ACM
Transactions on Computer Systems 9(3), 1991; this is its causal broadcast in one static group.
Cost: n integers per message and per process, n steps per delivery. Latency is optimal.
"""

from collections.abc import Sequence
from typing import ClassVar, Final, final

from mypy_extensions import i64, mypyc_attr

from antecede.core.checks import PAYLOAD_LIMIT
from antecede.core.effects import Effect
from antecede.core.errors import RemoteError
from antecede.core.packets import Message, MessagePacket, Packet
from antecede_lab.protocols.group_process import ReceiverBuffering, to_each
from antecede_lab.protocols.receive_buffer import RECEIVE_LIMIT
from antecede_lab.protocols.vectors import Vector


@final
@mypyc_attr(acyclic=True)
class BssPacket(MessagePacket):
    """A message to everybody else and its vector time; zeros are left out, `size` is n."""

    __slots__ = ("size", "time")

    FIELDS: ClassVar = ("carried", "size", "time")

    def __init__(self, carried: Message, size: i64, time: Vector) -> None:
        super().__init__(carried)
        self.size: Final[i64] = size
        self.time: Final = time

    @property
    def metadata_integers(self) -> int:
        """The vector: n, although zeros are not on the wire."""
        return self.size


@final
class BssProcess(ReceiverBuffering[BssPacket]):
    """One process's side; messages to it arrive exactly once, in any order."""

    PACKET: ClassVar[type[Packet]] = BssPacket
    STATE: ClassVar[tuple[str, ...]] = ("_members", "_time", "_room")
    ASIDE: ClassVar[tuple[str, ...]] = ("_sequence",)

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
        # By process, how many of its messages are delivered here; of our own, submitted.
        self._time: dict[int, int] = {}

    def _check_targets(self, remote: list[int]) -> None:
        self._members.check_all(remote)

    def _copies(self, message: Message, remote: list[int]) -> list[Effect]:
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
