"""Raynal, Schiper and Toueg's algorithm: everybody knows how much was ever sent to whom.

A process keeps a matrix: how many messages every process has sent to every other, as far as it
knows. A message carries the matrix of its sender from before it was sent. Its receiver delivers it
when it has delivered as many messages from each process as that matrix says were sent to it.

Paper: M. Raynal, A. Schiper, S. Toueg, "The causal ordering abstraction and a simple way to
implement it", Information Processing Letters 39(6), 1991, for unicast. A multicast carries its
targets too, and is counted for all of them at once; a loop of unicasts would not be causal.
Cost: n*n integers per message and per process, n*n steps per delivery. Latency is optimal.

The paper counts a message to oneself in the matrix and then waits for more than it has delivered;
here such a message is delivered inside `submit` and never counted. Rows are immutable and shared:
a send copies one row and n references, a delivery looks only into rows that differ.
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
from antecede_lab.protocols.vectors import EMPTY, Vector, counts_of, maximum


@final
@mypyc_attr(acyclic=True)
class RstPacket(MessagePacket):
    """A message, its targets, and its sender's matrix from before it was sent.

    Rows of zeros are left out of `sent`; `size` is n. `counted` is the sender's row with this
    message counted for all its targets: it follows from the rest, and is given to share it.
    """

    __slots__ = ("counted", "sent", "size", "targets")

    FIELDS: ClassVar = ("carried", "targets", "size", "sent")

    def __init__(
        self,
        carried: Message,
        targets: tuple[int, ...],
        size: i64,
        sent: dict[int, Vector],
        counted: Vector | None = None,
    ) -> None:
        super().__init__(carried)
        self.targets: Final = targets
        self.size: Final[i64] = size
        self.sent: Final = sent
        if counted is None:
            counted = sent.get(carried.sender, EMPTY).plus(targets)
        self.counted: Final = counted

    @property
    def metadata_integers(self) -> int:
        """The matrix: n*n, although zeros are not on the wire. The targets are not counted."""
        return self.size * self.size


@final
class RstProcess(ReceiverBuffering[RstPacket]):
    """One process's side; messages to it arrive exactly once, in any order."""

    PACKET: ClassVar[type[Packet]] = RstPacket
    STATE: ClassVar[tuple[str, ...]] = ("_members", "_sequence", "_sent", "_delivered", "_room")

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
        self._line = object()
        self._sent: dict[int, Vector] = {}
        self._delivered: dict[int, int] = {}

    def _copies(self, message: Message, remote: list[int]) -> list[Effect]:
        if not remote:
            return []
        me = self._members.me
        counted = self._sent.get(me, EMPTY).plus(remote, self._line)
        listed = tuple(sorted(remote))
        packet = RstPacket(message, listed, self._members.size, dict(self._sent), counted)
        self._sent[me] = counted
        return to_each(remote, packet)

    def _check(self, source: int, packet: RstPacket) -> int:
        """How many messages it says came before it here; `RemoteError` if it makes no sense."""
        members = self._members
        members.check_message(source, packet.carried, packet.targets)
        if packet.size != members.size:
            raise RemoteError(f"{source} counts {packet.size} processes, not {members.size}")
        for process, row in packet.sent.items():
            if not members.knows(process) or not members.knows_all(row) or not row.counts:
                raise RemoteError(f"a bad row from {source}: {process} sent {row}")
            if process in row.counts:
                raise RemoteError(f"{source} counts messages of {process} to itself")
        mine = self._sent.get(members.me, EMPTY)
        if maximum(mine, packet.sent.get(members.me, EMPTY)) is not mine:
            raise RemoteError(f"{source} counts messages that {members.me} never sent")
        number = packet.sent.get(source, EMPTY).get(members.me)
        if number < self._delivered.get(source, 0):
            raise RemoteError(f"message {packet.carried.sequence} of {source} came again")
        self._room.check_new(source, number)
        return number

    def _missing_before(self, packet: RstPacket) -> list[tuple[int, int]]:
        return missing_before(packet, self._delivered, self._members.me)

    def _take_in(self, packet: RstPacket) -> None:
        source: int = packet.carried.sender
        count = self._delivered.get(source, 0) + 1
        self._delivered[source] = count
        sent = self._sent
        for process, row in packet.sent.items():
            sent[process] = maximum(sent.get(process, EMPTY), row)
        sent[source] = maximum(sent.get(source, EMPTY), packet.counted)
        self._room.reached(source, count)


def missing_before(packet: RstPacket, delivered: dict[int, int], me: int) -> list[tuple[int, int]]:
    """From whom, and how many in all, `me` must deliver before `packet`; nothing: deliver it."""
    missing: list[tuple[int, int]] = []
    for process, count in counts_of(packet.sent, me):
        if delivered.get(process, 0) < count:
            missing.append((process, count))
    return missing
