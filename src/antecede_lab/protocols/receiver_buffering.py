"""What `rst`, `ses`, `bss`, `prs`, `ks` and `topology` share: a message waits where it arrives.

A message carries what its sender knew. Its receiver works out from that which messages must be
delivered first, and keeps it in a room until they are; then it learns what the message carried. A
protocol says what is carried, what is missing, and how to learn. Nothing is acknowledged: messages
arrive exactly once, in any order.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Final, Generic, cast

from mypy_extensions import i64, mypyc_attr

from antecede.core.checks import PAYLOAD_LIMIT
from antecede.core.effects import Deliver, Effect, Transmit
from antecede.core.errors import RemoteError
from antecede.core.packets import Message, Packet
from antecede_lab.protocols.group_process import GroupProcess
from antecede_lab.protocols.receive_buffer import RECEIVE_LIMIT, Held, ReceiveBuffer


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
