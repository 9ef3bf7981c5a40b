"""Cykas ("Can you keep a secret?"): causal unicast by asking receivers to keep quiet for a while.

A process may send *eagerly*, while earlier messages of its own are still unacknowledged; the
receiver delivers at once, but counts the secrets it keeps (its MODE) and sends nothing of its own
while it keeps any. When all earlier messages and the eager one itself are acknowledged, the sender
tells the receiver "you can tell" (YCT), and MODE goes down by one. To each process at most one
message is unacknowledged, which keeps pairs in FIFO order without a receive buffer.

"And the eager one itself" is ours: the rules say only "all messages sent before", and then the YCT
may overtake its message, so that MODE goes down before it goes up and another sender's secret gets
out. `literal_rule_7=True` builds that version, and `skip=True` lets messages overtake each other in
the send buffer, which deadlocks. Both are wrong on purpose, to show why; use them for nothing else.

Paper: Y. Tong, N. Liittschwager, L. Kuper, "Can you keep a secret? A new protocol for sender-side
enforcement of causal message delivery", arXiv:2603.14690.
Cost: one integer and a flag per message, one per acknowledgement, none per YCT; state is the
messages buffered or unacknowledged and one record per peer; amortised constant time. One message in
transit per receiver. MODE counts everyone's secrets alike, so a process can be kept from sending
for ever.
"""

from collections.abc import Sequence
from typing import ClassVar, Final, final

from mypy_extensions import i64, mypyc_attr

from antecede.core.checks import PAYLOAD_LIMIT, check_room
from antecede.core.effects import Deliver, Effect, Transmit
from antecede.core.errors import RemoteError
from antecede.core.packets import IdPacket, Message, MessagePacket, Packet
from antecede.core.sliding import SlidingArray
from antecede_lab.protocols.group_process import GroupProcess

SEND_LIMIT: Final = 1 << 20
"""Messages that may be buffered or unacknowledged at once; beyond it `submit` raises BufferFull."""


@final
@mypyc_attr(acyclic=True)
class CykasMessage(MessagePacket):
    """A message, and whether its receiver must keep it secret until a YCT comes."""

    __slots__ = ("eager",)

    FIELDS: ClassVar = ("carried", "eager")

    def __init__(self, carried: Message, eager: bool) -> None:
        super().__init__(carried)
        self.eager: Final = eager


@final
@mypyc_attr(acyclic=True)
class CykasAck(IdPacket):
    """The message with this id has been delivered."""

    __slots__ = ()

    KIND: ClassVar[str] = "ack"

    # Compiled, a constructor that is inherited from a class open to interpreted ones runs twice.
    def __init__(self, sequence: i64) -> None:
        super().__init__(sequence)


@final
@mypyc_attr(acyclic=True)
class YouCanTell(Packet):
    """One of the sender's eager messages is no secret any more; it does not say which."""

    __slots__ = ()

    KIND: ClassVar[str] = "yct"
    FIELDS: ClassVar = ()


@final
class CykasEntry:
    """A message of our own, until it and everything before it are acknowledged."""

    MADE_OF: ClassVar = ("message", "target")

    __slots__ = ("acked", "eager", "message", "sent", "target", "yct_sent")

    def __init__(self, message: Message, target: i64) -> None:
        self.message: Final = message
        self.target: Final[i64] = target
        self.sent = False
        self.eager = False
        self.acked = False
        self.yct_sent = False

    def state(self) -> tuple[Message, int, bool, bool, bool, bool]:
        """Everything, as a value."""
        return self.message, self.target, self.sent, self.eager, self.acked, self.yct_sent


@final
class CykasPeer:
    """Everything about one other process: what is in flight to it, and what it has sent."""

    MADE_OF: ClassVar = ()

    __slots__ = ("delivered", "in_flight", "secrets")

    def __init__(self) -> None:
        self.in_flight: CykasEntry | None = None
        self.delivered: i64 = 0
        self.secrets: i64 = 0


@final
class CykasProcess(GroupProcess):
    """One process; `mode` counts the secrets it keeps."""

    STATE: ClassVar[tuple[str, ...]] = ("_sequence", "_mode", "_window", "_unsent_at", "_peers")
    OPTIONS: ClassVar[tuple[str, ...]] = ("literal_rule_7", "skip", "send_limit", "payload_limit")

    def __init__(
        self,
        me: int,
        processes: Sequence[int],
        *,
        literal_rule_7: bool = False,
        skip: bool = False,
        send_limit: int = SEND_LIMIT,
        payload_limit: int = PAYLOAD_LIMIT,
    ) -> None:
        super().__init__(me, processes, payload_limit)
        self._literal_rule_7: Final = literal_rule_7
        self._skip: Final = skip
        self._send_limit: Final[i64] = send_limit
        self._peers: dict[int, CykasPeer] = {}
        self._mode: i64 = 0
        # From the oldest message that is not acknowledged, in the order of submission.
        self._window: SlidingArray[CykasEntry] = SlidingArray()
        self._unsent_at: i64 = 1

    @property
    def mode(self) -> int:
        """How many secrets this process keeps; above zero nothing of its own leaves."""
        return self._mode

    def buffered(self) -> int:
        """How many of our messages are unsent, unacknowledged, or later than one that is."""
        return self._window.size

    def _check_targets(self, remote: list[int]) -> None:
        self._members.check_one(remote)
        check_room(self._window.size, self._send_limit)

    def _send(self, message: Message, remote: list[int], now_ns: i64) -> list[Effect]:  # noqa: ARG002 - it has no timer
        effects: list[Effect] = []
        if remote:
            self._window.add(CykasEntry(message, remote[0]))
            self._release(effects)
        return effects

    def arrive(self, source: int, packet: Packet, now_ns: int) -> list[Effect]:  # noqa: ARG002 - it has no timer
        self._members.check_source(source, packet)
        effects: list[Effect] = []
        if isinstance(packet, CykasMessage):
            self._on_message(source, packet, effects)
        elif isinstance(packet, CykasAck):
            self._on_ack(source, packet.sequence, effects)
        elif isinstance(packet, YouCanTell):
            self._on_yct(source, effects)
        else:
            raise RemoteError(f"a {packet.kind} from {source} has no meaning here")
        return effects

    def _peer(self, process: int) -> CykasPeer:
        peer = self._peers.get(process)
        if peer is None:
            peer = self._peers[process] = CykasPeer()
        return peer

    def _on_message(self, source: int, packet: CykasMessage, effects: list[Effect]) -> None:
        self._members.check_message(source, packet.carried, (self._members.me,))
        peer = self._peer(source)
        sequence = packet.carried.sequence
        if sequence <= peer.delivered:
            raise RemoteError(f"message {sequence} of {source} came after {peer.delivered}")
        peer.delivered = sequence
        if packet.eager:
            peer.secrets += 1
            self._mode += 1
        effects.append(Deliver(packet.carried))
        effects.append(Transmit(source, CykasAck(sequence)))

    def _on_ack(self, source: int, sequence: i64, effects: list[Effect]) -> None:
        peer = self._peer(source)
        outgoing = peer.in_flight
        if outgoing is None or outgoing.message.sequence != sequence:
            raise RemoteError(f"{source} acknowledges {sequence}, which is not in flight to it")
        outgoing.acked = True
        peer.in_flight = None
        self._forget_front(effects)
        self._release(effects)

    def _on_yct(self, source: int, effects: list[Effect]) -> None:
        peer = self._peer(source)
        if peer.secrets <= 0 and not self._literal_rule_7:
            raise RemoteError(f"{source} sends a YCT, but has no secret here")
        peer.secrets -= 1
        self._mode -= 1
        self._release(effects)

    def _forget_front(self, effects: list[Effect]) -> None:
        """Forget what is acknowledged together with everything before it, and send the YCTs due."""
        window = self._window
        while window.size > 0:
            head = window.peek()
            if self._literal_rule_7 or head.acked:
                tell(head, effects)
            if not head.acked:
                break
            window.remove()

    def _release(self, effects: list[Effect]) -> None:
        """Transmit what may leave: in the order of submission, unless messages may skip."""
        window = self._window
        index = window.first if self._skip else self._unsent_at
        while index < window.next:
            outgoing = window.at(index)
            if not outgoing.sent:
                peer = self._peer(outgoing.target)
                if may_leave(self._mode, peer.in_flight):
                    self._transmit(outgoing, peer, index > window.first, effects)
                elif not self._skip:
                    break
            index += 1
        self._unsent_at = index

    def _transmit(
        self, outgoing: CykasEntry, peer: CykasPeer, eager: bool, effects: list[Effect]
    ) -> None:
        outgoing.sent = True
        outgoing.eager = eager
        peer.in_flight = outgoing
        effects.append(Transmit(outgoing.target, CykasMessage(outgoing.message, eager)))

    def fingerprint(self) -> bytes:
        window = [outgoing.state() for outgoing in self._window]
        peers = [
            (process, self._peers[process].delivered, self._peers[process].secrets)
            for process in sorted(self._peers)
            if self._peers[process].delivered > 0 or self._peers[process].secrets != 0
        ]
        me = self._members.me
        return repr((me, self._sequence, self._mode, window, peers)).encode()


def may_leave(mode: i64, in_flight: CykasEntry | None) -> bool:
    """Whether a message may be transmitted: no secret is kept, none is in flight to its target."""
    return mode <= 0 and in_flight is None


def tell(outgoing: CykasEntry, effects: list[Effect]) -> None:
    """Send the YCT of an eager message, once."""
    if outgoing.eager and not outgoing.yct_sent:
        outgoing.yct_sent = True
        effects.append(Transmit(outgoing.target, YouCanTell()))
