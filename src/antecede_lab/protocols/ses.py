"""Schiper, Eggli and Sandoz's algorithm: tell each target how late its last message was.

Every process has a vector clock, and remembers for every target the vector time of the latest
message to it in its past. A message carries its own vector time and those memories. Its receiver
delivers it when its clock has reached the memory that is about itself.

Paper: A. Schiper, J. Eggli, A. Sandoz, "A new algorithm to implement causal ordering", 3rd
International Workshop on Distributed Algorithms, LNCS 392, 1989.
Cost: a vector of n integers, and one more for every process that was ever sent to: n*n at worst,
per message and per process; n*n steps per delivery. Latency is optimal.
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
from antecede_lab.protocols.vectors import EMPTY, Vector, maximum


@final
@mypyc_attr(acyclic=True)
class SesPacket(MessagePacket):
    """A message, its targets, its vector time, and that of the latest message to each process.

    Zeros are left out of vectors; `size` is n.
    """

    __slots__ = ("latest", "size", "targets", "time")

    FIELDS: ClassVar = ("carried", "targets", "size", "time", "latest")

    def __init__(
        self,
        carried: Message,
        targets: tuple[int, ...],
        size: i64,
        time: Vector,
        latest: dict[int, Vector],
    ) -> None:
        super().__init__(carried)
        self.targets: Final = targets
        self.size: Final[i64] = size
        self.time: Final = time
        self.latest: Final = latest

    @property
    def metadata_integers(self) -> int:
        """Its targets, its time (n), and 1 + n for each process that it remembers a time of."""
        return len(self.targets) + self.size + len(self.latest) * (1 + self.size)


@final
class SesProcess(ReceiverBuffering[SesPacket]):
    """One process's side; messages to it arrive exactly once, in any order.

    Its own component of its clock is the sequence of its latest message.
    """

    PACKET: ClassVar[type[Packet]] = SesPacket
    STATE: ClassVar[tuple[str, ...]] = ("_members", "_time", "_latest", "_room")
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
        self._time: Vector = EMPTY
        self._latest: dict[int, Vector] = {}

    def _copies(self, message: Message, remote: list[int]) -> list[Effect]:
        self._time = self._time.plus((self._members.me,))
        listed = tuple(sorted(remote))
        packet = SesPacket(message, listed, self._members.size, self._time, dict(self._latest))
        for target in remote:
            self._latest[target] = self._time
        return to_each(remote, packet)

    def _check(self, source: int, packet: SesPacket) -> int:
        members = self._members
        sequence: int = packet.carried.sequence
        members.check_message(source, packet.carried, packet.targets)
        if packet.size != members.size:
            raise RemoteError(f"{source} counts {packet.size} processes, not {members.size}")
        if packet.time.get(source) != sequence:
            raise RemoteError(f"message {sequence} of {source} is dated {packet.time}")
        if sequence <= self._time.get(source):
            raise RemoteError(f"message {sequence} of {source} came again")
        self._room.check_new(source, sequence)
        self._check_vector(source, packet.time)
        for process, vector in packet.latest.items():
            if not members.knows(process):
                raise RemoteError(f"{source} knows of messages to {process}, which is nobody")
            self._check_vector(source, vector)
            if vector.get(source) >= sequence:
                raise RemoteError(f"message {sequence} of {source} cannot follow itself")
        return sequence

    def _check_vector(self, source: int, vector: Vector) -> None:
        members = self._members
        if not members.knows_all(vector) or not vector.counts:
            raise RemoteError(f"{source} sent a bad vector: {vector}")
        if vector.get(members.me) > self._time.get(members.me):
            raise RemoteError(f"{source} knows a message that {members.me} never sent")

    def _missing_before(self, packet: SesPacket) -> list[tuple[int, int]]:
        return missing_before(packet, self._time, self._members.me)

    def _take_in(self, packet: SesPacket) -> None:
        for process, vector in packet.latest.items():
            if process not in packet.targets:
                self._remember(process, vector)
        for target in packet.targets:
            self._remember(target, packet.time)
        before = self._time
        self._time = maximum(before, packet.time)
        for process, count in packet.time.counts.items():
            if count > before.get(process):
                self._room.reached(process, count)

    def _remember(self, process: int, vector: Vector) -> None:
        if process != self._members.me:
            self._latest[process] = maximum(self._latest.get(process, EMPTY), vector)


def missing_before(packet: SesPacket, time: Vector, me: int) -> list[tuple[int, int]]:
    """Which components of the clock of `me` must reach what before `packet`; nothing: deliver."""
    missing: list[tuple[int, int]] = []
    for process, count in packet.latest.get(me, EMPTY).counts.items():
        if time.get(process) < count:
            missing.append((process, count))
    return missing
