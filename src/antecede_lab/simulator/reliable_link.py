"""A reliable link for protocols that need one: any of them can then run on a lossy network.

`ReliableProcess` wraps a process and is one itself. It numbers the packets of the inner process per
ordered pair of processes, acknowledges every arrival (all numbers up to one, and ranges beyond it),
transmits again what is not acknowledged in time, and hands each packet to the inner process exactly
once; a FIFO link keeps what comes early until its turn, another one hands it over at once. At most
`WINDOW` numbers of a pair are under way, so what a receiver keeps is bounded, and the next in order
always has a place.

If the inner process refuses a packet (`RemoteError`), the link behaves as if it had not arrived: it
changes nothing, does not acknowledge, and lets the error through. The packet will come again, so a
refusal for want of room is only a delay; one that is malformed is refused every time, loudly, and
on a FIFO link it keeps back everything behind it. That harms nobody but the pair whose sender is at
fault. A packet that is refused when its turn comes, after it arrived early, stays where it is; the
sender repeats the oldest packet that is not acknowledged in order, even one known to have arrived,
and that repetition gets in or raises.
"""

from collections.abc import Collection, Sequence
from typing import ClassVar, Final, Self, final

from mypy_extensions import i64

from antecede.core.catalogue import ProtocolInfo
from antecede.core.checks import PAYLOAD_LIMIT, checked_payload, known_processes
from antecede.core.effects import Effect, Transmit
from antecede.core.errors import BufferFull, RemoteError
from antecede.core.packets import Packet
from antecede.core.process import NEVER_NS, CausalProcess
from antecede.core.retransmission import PATIENCE_NS, RetransmissionTimers
from antecede_lab.protocols.link_packets import LinkAck, LinkData
from antecede_lab.simulator.reliable_channel import ReliableLinkState, UnackedPacket
from antecede_lab.wire.link_codec import LinkCodec

SEND_LIMIT: Final = 1 << 20
"""Packets that may be unacknowledged when `submit` is called; beyond it that raises BufferFull.

What the inner process sends in answer to an arrival is never refused.
"""

WINDOW: Final = 1 << 10
"""Numbers of one pair that may be under way, from the oldest unacknowledged one on."""

RESEND_BATCH: Final = 64
"""Packets transmitted again to one peer when its alarm rings, oldest first."""


@final
class ReliableProcess(CausalProcess):
    """`inner` over a lossy network; its packets travel as `LinkData`."""

    STATE: ClassVar[tuple[str, ...]] = ("_channels", "_outstanding", "_alarms")

    def __init__(
        self,
        inner: CausalProcess,
        me: int,
        processes: Collection[int],
        fifo: bool,
        *,
        patience_ns: int = PATIENCE_NS,
        send_limit: int = SEND_LIMIT,
        window: int = WINDOW,
    ) -> None:
        self.inner: Final = inner
        self._me: Final[i64] = me
        self._fifo: Final = fifo
        self._send_limit: Final[i64] = send_limit
        self._window: Final[i64] = window
        self._known: Final = known_processes(me, processes)
        self._channels: dict[int, ReliableLinkState] = {}
        self._outstanding: i64 = 0
        self._alarms = RetransmissionTimers(patience_ns)

    def submit(self, targets: Sequence[int], payload: object, now_ns: int) -> list[Effect]:
        content = checked_payload(payload, PAYLOAD_LIMIT)
        if self._outstanding >= self._send_limit:
            raise BufferFull(f"{self._send_limit} packets are not acknowledged yet; try later")
        effects: list[Effect] = []
        self._carry_out(self.inner.submit(targets, content, now_ns), now_ns, effects)
        return effects

    def arrive(self, source: int, packet: Packet, now_ns: int) -> list[Effect]:
        if source == self._me or source not in self._known:
            raise RemoteError(f"{packet.kind} from {source}, which is not one of the others")
        effects: list[Effect] = []
        if isinstance(packet, LinkData):
            self._on_data(self._channel(source), packet, now_ns, effects)
        elif isinstance(packet, LinkAck):
            self._on_ack(self._channel(source), packet, now_ns, effects)
        else:
            raise RemoteError(f"a {packet.kind} from {source} came without a number")
        return effects

    def deadline_ns(self) -> int | None:
        link_ns = self._alarms.next_ns()
        inner_ns = self.inner.wake_ns()
        wake_ns = link_ns if link_ns < inner_ns else inner_ns
        return None if wake_ns == NEVER_NS else wake_ns

    def expire(self, now_ns: int) -> list[Effect]:
        effects: list[Effect] = []
        if self.inner.wake_ns() <= now_ns:
            self._carry_out(self.inner.expire(now_ns), now_ns, effects)
        for alarm in self._alarms.expired(now_ns):
            self._transmit_again(self._channels[alarm.owner], effects)
            self._alarms.restart_with_backoff(alarm, now_ns)
        return effects

    def outstanding(self) -> int:
        """How many packets are not acknowledged in order."""
        return self._outstanding

    def _channel(self, process: int) -> ReliableLinkState:
        channel = self._channels.get(process)
        if channel is None:
            channel = ReliableLinkState(process)
            self._channels[process] = channel
        return channel

    # Sending.

    def _carry_out(self, inner: list[Effect], now_ns: i64, effects: list[Effect]) -> None:
        """What the inner process wants done, with its packets numbered."""
        for effect in inner:
            if isinstance(effect, Transmit):
                channel = self._channel(effect.target)
                channel.queue.add(UnackedPacket(LinkData(channel.queue.next, effect.packet)))
                self._outstanding += 1
                self._fill_window(channel, now_ns, effects)
            else:
                effects.append(effect)

    def _fill_window(self, channel: ReliableLinkState, now_ns: i64, effects: list[Effect]) -> None:
        queue = channel.queue
        stop = queue.first + self._window
        if stop > queue.next:
            stop = queue.next
        while channel.unsent_at < stop:
            effects.append(Transmit(channel.id, queue.at(channel.unsent_at).packet))
            channel.on_sent()
            self._alarms.start(channel.alarm, now_ns)

    def _transmit_again(self, channel: ReliableLinkState, effects: list[Effect]) -> None:
        """What the peer is not known to have; if it has everything, the oldest, to make it move."""
        queue = channel.queue
        count: i64 = 0
        index = queue.first
        while index < channel.unsent_at and count < RESEND_BATCH:
            sent = queue.at(index)
            if not sent.held:
                effects.append(Transmit(channel.id, sent.packet))
                count += 1
            index += 1
        if count == 0:
            effects.append(Transmit(channel.id, queue.peek().packet))

    def _on_ack(
        self, channel: ReliableLinkState, packet: LinkAck, now_ns: i64, effects: list[Effect]
    ) -> None:
        if not packet.is_sound() or packet.highest() >= channel.unsent_at:
            raise RemoteError(f"{packet} from {channel.id} acknowledges what was never sent")
        queue = channel.queue
        news = queue.first <= packet.through
        while queue.first <= packet.through:
            queue.remove()
            self._outstanding -= 1
        for first, last in packet.ranges:
            if channel.mark_held(first, last):
                news = True
        if news:
            channel.alarm.progress(now_ns)
        self._fill_window(channel, now_ns, effects)
        if queue.first == channel.unsent_at:
            channel.alarm.stop()

    # Receiving.

    def _on_data(
        self, channel: ReliableLinkState, packet: LinkData, now_ns: i64, effects: list[Effect]
    ) -> None:
        number = packet.number
        if number < 1 or isinstance(packet.inner, (LinkData, LinkAck)):
            raise RemoteError(f"{channel.id} sent what no link sends: {packet}")
        if number == channel.expected:
            self._hand_over(channel, packet.inner, now_ns, effects)
            channel.early.pop(number, None)
            channel.on_taken_in()
            self._catch_up(channel, now_ns, effects)
        elif channel.is_early(number, self._window):
            if not self._fifo:
                self._hand_over(channel, packet.inner, now_ns, effects)
            channel.early[number] = packet.inner if self._fifo else None
        effects.append(Transmit(channel.id, channel.answer()))

    def _hand_over(
        self, channel: ReliableLinkState, inner: Packet, now_ns: i64, effects: list[Effect]
    ) -> None:
        self._carry_out(self.inner.arrive(channel.id, inner, now_ns), now_ns, effects)

    def _catch_up(self, channel: ReliableLinkState, now_ns: i64, effects: list[Effect]) -> None:
        """Take in what has arrived early and whose turn has come."""
        while channel.expected in channel.early:
            inner = channel.early[channel.expected]
            if inner is not None:
                try:
                    self._hand_over(channel, inner, now_ns, effects)
                except RemoteError:
                    return  # It stays; its repetition gets in, or raises.
            del channel.early[channel.expected]
            channel.on_taken_in()

    # For the model checker.

    def anew(self) -> Self:
        # What is inside is a clone at once: a protocol of a user may know no other way.
        return ReliableProcess(
            self.inner.clone(),
            self._me,
            self._known,
            self._fifo,
            patience_ns=self._alarms.patience_ns,
            send_limit=self._send_limit,
            window=self._window,
        )

    def fingerprint(self) -> bytes:
        states = [self._channels[process].state() for process in sorted(self._channels)]
        channels = [state for state in states if state]
        return self.inner.fingerprint() + repr(channels).encode()


@final
class OverLink:
    """Makes processes of a protocol, each wrapped in a reliable link."""

    def __init__(self, info: ProtocolInfo) -> None:
        self._info: Final = info

    def create(
        self,
        me: int,
        processes: Sequence[int],
        *,
        link_patience_ns: int = PATIENCE_NS,
        link_send_limit: int = SEND_LIMIT,
        link_window: int = WINDOW,
        **options: object,
    ) -> CausalProcess:
        """A process whose inner one gets the `options`."""
        return ReliableProcess(
            self._info.create(me, processes, **options),
            me,
            processes,
            self._info.network == "fifo",
            patience_ns=link_patience_ns,
            send_limit=link_send_limit,
            window=link_window,
        )


def over_lossy(info: ProtocolInfo) -> ProtocolInfo:
    """The protocol as it runs on a lossy network: itself if it can, else over a reliable link."""
    if info.network == "lossy":
        return info
    return ProtocolInfo(
        f"{info.name}+link",
        OverLink(info).create,
        ordering=info.ordering,
        multicast=info.multicast,
        broadcast_only=info.broadcast_only,
        network="lossy",
        needs_membership=info.needs_membership,
        paper=info.paper,
        codec=None if info.codec is None else LinkCodec(info.codec),
    )
