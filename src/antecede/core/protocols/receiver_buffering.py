"""What `rst`, `ses`, `bss`, `prs`, `ks` and `topology` share: a message waits where it arrives.

A message carries what its sender knew. Its receiver works out from that which messages must be
delivered first, and keeps it in a room until they are; then it learns what the message carried. A
protocol says what is carried, what is missing, and how to learn. Nothing is acknowledged: messages
arrive exactly once, in any order.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Final, Generic, Self, cast

from mypy_extensions import i64, mypyc_attr

from antecede.core.checks import PAYLOAD_LIMIT, checked_payload
from antecede.core.effects import Deliver, Effect, Transmit
from antecede.core.errors import RemoteError
from antecede.core.members import Members
from antecede.core.process import CausalProcess
from antecede.core.values import Message, Packet
from antecede.core.waiting import RECEIVE_LIMIT, Held, WaitingRoom


@mypyc_attr(allow_interpreted_subclasses=True)
class ReceiverBuffering(CausalProcess, Generic[Held]):
    """One process's side; messages to it arrive exactly once, in any order."""

    PACKET: ClassVar[type[Packet]] = Packet

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
        # The sequence of our latest message.
        self._sequence: i64 = 0
        self._room: WaitingRoom[Held] = WaitingRoom(receive_limit)
        self._begin()

    # What a protocol says.

    @abstractmethod
    def _begin(self) -> None:
        """What a process knows when nothing has happened."""

    @abstractmethod
    def _copies(self, message: Message, remote: list[int]) -> list[Transmit]:
        """What leaves for the others, which may be none, and what we remember of it."""

    @abstractmethod
    def _check(self, source: int, packet: Held) -> int:
        """The number by which `source` and we know it; `RemoteError` if it makes no sense."""

    @abstractmethod
    def _missing_before(self, packet: Held) -> list[tuple[int, int]]:
        """Of whom which message must be delivered before `packet`; nothing: deliver it."""

    @abstractmethod
    def _take_in(self, packet: Held) -> None:
        """It is delivered: learn what it carries, and tell the room how far we are."""

    def _check_targets(self, remote: list[int]) -> None:
        """`LocalError` if a message cannot go to these."""

    # The steps.

    def submit(self, targets: Sequence[int], payload: object, now_ns: int) -> list[Effect]:  # noqa: ARG002 - no timers
        remote, to_self = self._members.split(targets)
        self._check_targets(remote)
        content = checked_payload(payload, self._payload_limit)
        self._sequence += 1
        message = Message(self._members.me, self._sequence, content)
        effects: list[Effect] = []
        effects.extend(self._copies(message, remote))
        if to_self:
            effects.append(Deliver(message))
        return effects

    def arrive(self, source: int, packet: Packet, now_ns: int) -> list[Effect]:  # noqa: ARG002 - no timers
        if not isinstance(packet, self.PACKET):
            raise RemoteError(f"a {packet.kind} from {source} has no meaning here")
        held = cast(Held, packet)
        number = self._check(source, held)
        missing = self._missing_before(held)
        if missing:
            self._room.hold(held, source, number, missing)
            return []
        effects: list[Effect] = []
        ready: Held | None = held
        while ready is not None:
            self._take_in(ready)
            message = ready.message
            assert message is not None, "only messages wait"
            effects.append(Deliver(message))
            ready = self._room.next_ready()
        return effects

    def anew(self) -> Self:
        return type(self)(
            self._members.me,
            self._members.ids(),
            receive_limit=self._room.limit,
            payload_limit=self._payload_limit,
        )


def to_each(targets: list[int], packet: Packet) -> list[Transmit]:
    """The same packet to all."""
    return [Transmit(target, packet) for target in targets]
