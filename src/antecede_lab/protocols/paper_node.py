"""What the paper's algorithms share besides their lines: options, who is there, timers, arrivals.

Lines of the listings and the errata (E1 to E14) stand where they are carried out; what the listings
declare in the same words is declared here: ls (last sent ids), ld and rb (`FifoReceiver`), and, by
erratum E8, the highest permit of each sender.
"""

from abc import abstractmethod
from collections.abc import Collection
from typing import ClassVar, Final

from mypy_extensions import i64, mypyc_attr

from antecede.core.checks import ID_LIMIT, PAYLOAD_LIMIT, known_processes
from antecede.core.effects import Effect, Transmit
from antecede.core.errors import RemoteError
from antecede.core.hybrid.rule import RECEIVE_LIMIT, SEND_LIMIT
from antecede.core.in_order import FifoReceiver
from antecede.core.outstanding import Outstanding
from antecede.core.packets import Ack, DataPacket, Packet, Permit
from antecede.core.process import NEVER_NS, CausalProcess
from antecede.core.retransmission import PATIENCE_NS

ANYBODY: Final = range(ID_LIMIT)
"""In place of a list of processes: whoever has an id takes part, as soon as it speaks or is spoken
to. The paper assumes nothing about the number or the identities of processes; what a process keeps
is about those it has met."""


@mypyc_attr(allow_interpreted_subclasses=True)
class PaperNode(CausalProcess):
    """One process; a subclass has the lines of its listing."""

    ASIDE: ClassVar[tuple[str, ...]] = ("_unacked", "_unpermitted")
    OPTIONS: ClassVar[tuple[str, ...]] = (
        "send_limit",
        "receive_limit",
        "payload_limit",
        "patience_ns",
    )

    def __init__(
        self,
        me: int,
        processes: Collection[int],
        *,
        send_limit: int = SEND_LIMIT,
        receive_limit: int = RECEIVE_LIMIT,
        payload_limit: int = PAYLOAD_LIMIT,
        patience_ns: int = PATIENCE_NS,
    ) -> None:
        self._known: Final = known_processes(me, processes)
        self._me: Final[i64] = me
        self._send_limit: Final[i64] = send_limit
        self._receive_limit: Final[i64] = receive_limit
        self._payload_limit: Final[i64] = payload_limit
        self._patience_ns: Final[i64] = patience_ns
        self._ls: dict[int, int] = {}
        self._received = FifoReceiver(receive_limit)
        self._pw: dict[int, int] = {}
        # What is sent again: messages by receiver, and by sender acks of what misses its permit.
        self._unacked = Outstanding(patience_ns)
        self._unpermitted = Outstanding(patience_ns)
        self._begin()

    @abstractmethod
    def _begin(self) -> None:
        """The state that the listing begins with."""

    @abstractmethod
    def _packet_to(self, j: i64, n: i64) -> DataPacket:
        """Message n, which j has not acked."""

    @abstractmethod
    def _on_message(self, j: i64, m: DataPacket, now_ns: i64, effects: list[Effect]) -> None: ...

    @abstractmethod
    def _on_ack(self, j: i64, n: i64, now_ns: i64, effects: list[Effect]) -> None: ...

    @abstractmethod
    def _on_permit(self, j: i64, n: i64, now_ns: i64, effects: list[Effect]) -> None: ...

    def arrive(self, source: int, packet: Packet, now_ns: int) -> list[Effect]:
        effects: list[Effect] = []
        if source not in self._known or source == self._me:
            raise RemoteError(f"{packet.kind} from {source}, which is not one of the others")
        if isinstance(packet, DataPacket):
            self._on_message(source, packet, now_ns, effects)
        elif isinstance(packet, Ack):
            self._on_ack(source, packet.sequence, now_ns, effects)
        elif isinstance(packet, Permit):
            self._on_permit(source, packet.sequence, now_ns, effects)
        else:
            raise RemoteError(f"a {packet.kind} from {source} has no meaning here")
        return effects

    def deadline_ns(self) -> int | None:
        wake_ns = min(self._unacked.next_ns(), self._unpermitted.next_ns())
        return None if wake_ns == NEVER_NS else wake_ns

    def expire(self, now_ns: int) -> list[Effect]:
        """Periodically: lines 74-79 of Algorithm 1, 19-24 of 2, 40-45 of 3."""
        effects: list[Effect] = []
        for due in self._unacked.due(now_ns):
            for n in due.ids:
                effects.append(Transmit(due.peer, self._packet_to(due.peer, n)))
        for due in self._unpermitted.due(now_ns):
            for n in due.ids:
                effects.append(Transmit(due.peer, Ack(n)))
        return effects

    def _constructor_arguments(self) -> tuple[int, Collection[int]]:
        return self._me, self._known
