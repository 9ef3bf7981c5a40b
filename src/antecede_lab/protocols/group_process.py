"""What the protocols share whose processes know from the start who takes part.

Every submission is checked and numbered in the same way, and what is to oneself is delivered inside
it, after what leaves for the others. A protocol says what leaves.

In `rst`, `ses`, `bss`, `prs`, `ks` and `topology` a message waits where it arrives. It carries what
its sender knew. Its receiver works out from that which messages must be delivered first, and keeps
it until they are; then it learns what the message carried. Nothing is acknowledged: messages arrive
exactly once, in any order.
"""

from abc import abstractmethod
from collections.abc import Collection, Sequence
from typing import ClassVar, Final, Generic, cast

from mypy_extensions import i64, mypyc_attr

from antecede.core.checks import PAYLOAD_LIMIT, checked_payload
from antecede.core.effects import Deliver, Effect, Transmit
from antecede.core.errors import RemoteError
from antecede.core.packets import Message, Packet
from antecede.core.process import CausalProcess
from antecede_lab.protocols.members import Members
from antecede_lab.protocols.receive_buffer import RECEIVE_LIMIT, Held, ReceiveBuffer


@mypyc_attr(allow_interpreted_subclasses=True)
class GroupProcess(CausalProcess):
    """One member of a group that never changes."""

    OPTIONS: ClassVar[tuple[str, ...]] = ("payload_limit",)

    def __init__(
        self, me: int, processes: Sequence[int], payload_limit: int = PAYLOAD_LIMIT
    ) -> None:
        self._members: Final = Members(me, processes)
        self._payload_limit: Final[i64] = payload_limit
        # The sequence of our latest message.
        self._sequence: i64 = 0

    @abstractmethod
    def _send(self, message: Message, remote: list[int], now_ns: i64) -> list[Effect]:
        """What leaves for the others, who may be none, and what we remember of it."""

    def _check_targets(self, remote: list[int]) -> None:
        """`LocalError` if a message cannot go to these, or cannot go now."""

    def submit(self, targets: Sequence[int], payload: object, now_ns: int) -> list[Effect]:
        remote, to_self = self._members.split(targets)
        content = checked_payload(payload, self._payload_limit)
        self._check_targets(remote)
        self._sequence += 1
        message = Message(self._members.me, self._sequence, content)
        effects = self._send(message, remote, now_ns)
        if to_self:
            effects.append(Deliver(message))
        return effects

    def _constructor_arguments(self) -> tuple[int, Collection[int]]:
        return self._members.me, self._members.ids()


@mypyc_attr(allow_interpreted_subclasses=True)
class ReceiverBuffering(GroupProcess, Generic[Held]):
    """One process's side; messages to it arrive exactly once, in any order."""

    PACKET: ClassVar[type[Packet]] = Packet
    OPTIONS: ClassVar[tuple[str, ...]] = ("receive_limit", "payload_limit")

    def __init__(
        self,
        me: int,
        processes: Sequence[int],
        *,
        receive_limit: int = RECEIVE_LIMIT,
        payload_limit: int = PAYLOAD_LIMIT,
    ) -> None:
        super().__init__(me, processes, payload_limit)
        self._receive_limit: Final[i64] = receive_limit
        self._room: ReceiveBuffer[Held] = ReceiveBuffer(receive_limit)
        self._begin()

    # What a protocol says.

    @abstractmethod
    def _begin(self) -> None:
        """What a process knows when nothing has happened."""

    @abstractmethod
    def _copies(self, message: Message, remote: list[int]) -> list[Effect]:
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

    # The steps.

    def _send(self, message: Message, remote: list[int], now_ns: i64) -> list[Effect]:  # noqa: ARG002 - no timers
        return self._copies(message, remote)

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


def to_each(targets: list[int], packet: Packet) -> list[Effect]:
    """The same packet to all."""
    return [Transmit(target, packet) for target in targets]
