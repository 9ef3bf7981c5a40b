"""One peer, as long as neither side restarts: everything there is between it and this node.

A session joins what owns the state: `channel` (all that begins anew when the two meet again),
`address` (where the peer is), `lifecycle` (meeting and leaving), `notices` (expulsions) and what
puts payloads and frames together. Of its own it has who the peer is, and when it is looked at.
"""

from typing import Final, final

from mypy_extensions import i64

from antecede.core.process import NEVER_NS
from antecede.transport.advice import Waits
from antecede.transport.channel import CarriedOver, Channel, ChannelLimits
from antecede.transport.event_rows import SessionRows
from antecede.transport.frame_fragments import FrameAssemblers
from antecede.transport.message_fragments import PayloadAssembler
from antecede.transport.notices import Notices
from antecede.transport.peer_address import UNLIMITED, PeerAddress
from antecede.transport.peer_lifecycle import (
    LET_GO,
    MET,
    OVER,
    RESUMING,
    STAYING,
    UNMET,
    PeerLifecycle,
)
from antecede.transport.rate_limiter import RateLimiter
from antecede.transport.recovery.ack_ranges import AckRanges
from antecede.transport.recovery.in_flight import SentDatagram
from antecede.transport.seals import SessionKeys
from antecede.wire.frames import FRAME_OVERHEAD_MAX
from antecede.wire.handshake import HAS_JOURNAL, VERSION, Greeting

ME: Final = 0
"""This node's id in its own core; the sessions with its peers are 1, 2, 3, …"""

TOKENS_MAX: Final = 16
"""16 tokens are remembered because their session was reset. A process that still has one of them
lives beside the one that has come back."""

UNMET_SOCKET_DATAGRAMS: Final = 16
"""Until a peer has said what its socket holds, that counts as 16 datagrams."""

MOVES_NS: Final = 1_000_000_000
"""That a peer has moved is told at most once per second."""

TOO_LARGE_AT_ONCE: Final = 8
TOO_LARGE_NS: Final = 1_000_000_000
"""That payloads of a peer are beyond our limit is told 8 times at once, then once per second; all
are counted."""

CREDIT_SENT: Final = 1
BYE_SENT: Final = 2
RELEASE_SENT: Final = 4
NOTICES_SENT: Final = 8
RESPONSE_SENT: Final = 32
"""Control of the transport in a datagram that left, as bits; what is lost of it is sent again."""


@final
class Session:
    """What there is between this node and one incarnation of a peer."""

    __slots__ = (
        "_limits",
        "_moved_ns",
        "_timer_ns",
        "_too_large",
        "address",
        "channel",
        "datagrams_out",
        "frame_assemblers",
        "has_journal",
        "http",
        "id",
        "incarnation",
        "last_sent_ns",
        "lifecycle",
        "marked",
        "name",
        "notices",
        "payload_assembler",
        "payload_limit",
        "repeated",
        "replaced_tokens",
        "rows",
        "sent_before",
        "token_in",
        "token_out",
        "told_of_expulsion",
        "version",
        "waits",
        "written_name",
    )

    def __init__(
        self,
        local_id: i64,
        name: str,
        datagram_size: i64,
        window: i64,
        payload_limit: i64,
        cumulative: bool,
        rows: SessionRows | None,
    ) -> None:
        self.id: Final[i64] = local_id
        self.name: Final = name
        self.written_name: Final = name.encode()
        self._limits: ChannelLimits = ChannelLimits(datagram_size, window, cumulative)
        self.channel: Channel = unmet_channel(self._limits, CarriedOver())
        self.lifecycle: PeerLifecycle = PeerLifecycle()
        self.address: PeerAddress = PeerAddress(None, False)
        self.payload_assembler: Final = PayloadAssembler()
        self.frame_assemblers: Final = FrameAssemblers()
        self.notices: Final = Notices()
        self.waits: Final = Waits()
        self.rows: Final = rows
        # Who it is: known when it is met.
        self.incarnation: i64 = 0
        # Whether it has a journal, and until it is met, how far our ids had got before a crash.
        self.has_journal = False
        # Where it serves HTTP, as it says; empty if it does not.
        self.http = ""
        self.sent_before: i64 = 0
        # The newest version of datagrams that both sides speak.
        self.version: i64 = 0
        self.token_in: i64 = 0
        self.token_out: i64 = 0
        self.replaced_tokens: list[int] = []
        # The largest payload that both sides allow.
        self.payload_limit: i64 = payload_limit
        self._moved_ns: i64 = -MOVES_NS
        self._too_large: Final = RateLimiter(TOO_LARGE_AT_ONCE, TOO_LARGE_NS)
        self.told_of_expulsion = False
        # Whether to write to it, and when it is looked at.
        self.marked = False
        self._timer_ns: i64 = NEVER_NS
        self.last_sent_ns: i64 = 0
        self.datagrams_out: i64 = 0
        self.repeated: i64 = 0

    @property
    def met(self) -> bool:
        """Whether the peer has ever shown that it is there."""
        return self.lifecycle.phase != UNMET

    @property
    def ended(self) -> bool:
        """Whether this incarnation of the peer is over."""
        return self.lifecycle.phase == OVER

    @property
    def left(self) -> bool:
        """Whether the peer has said bye and wants nothing more."""
        return self.lifecycle.theirs == LET_GO

    @property
    def datagram_size(self) -> i64:
        """The largest datagram that is sent to it now."""
        return self.channel.path.mtu.size

    @property
    def payload_max(self) -> i64:
        """The largest payload that goes to it in one message."""
        room = self.channel.path.mtu.size - FRAME_OVERHEAD_MAX
        return room if room < self.payload_limit else self.payload_limit

    def is_here(self) -> bool:
        """Whether it was met and is not over: messages may be submitted to it."""
        phase = self.lifecycle.phase
        return phase in (MET, RESUMING) and self.lifecycle.theirs != LET_GO

    def is_gone(self) -> bool:
        """Whether nothing can be sent to the peer any more."""
        return self.lifecycle.phase == OVER or self.lifecycle.theirs == LET_GO

    def seems_gone(self, now_ns: i64) -> bool:
        """Whether the peer has said bye and answers no more; one with a journal may come back."""
        if self.has_journal and not self.left:
            return False
        return self.lifecycle.seems_gone(self.channel.path.probes, now_ns)

    # Meeting.

    def establish(
        self,
        greeting: Greeting,
        token_in: i64,
        address: object,
        fixed_address: bool,
        keys: SessionKeys | None,
        now_ns: i64,
    ) -> None:
        """The peer is known, or known again, by this greeting: now datagrams can leave.

        The same incarnation is met again after one of the two has crashed. What is ordered and
        delivered goes on; the core is asked for the messages of the former channel again.
        """
        carried = self.channel.carried_over(self.met)
        if self.met:
            self._replace_token()
            self.notices.reset()
            self.lifecycle = PeerLifecycle()
        self.channel = Channel(self._limits, greeting.window, greeting.socket_bytes, keys, carried)
        self.address = PeerAddress(address, fixed_address)
        self.incarnation = greeting.incarnation
        self.has_journal = greeting.flags & HAS_JOURNAL != 0
        self.http = greeting.http
        self.version = min(greeting.newest, VERSION)
        if greeting.payload_limit < self.payload_limit:
            self.payload_limit = greeting.payload_limit
        self.token_in = token_in
        self.token_out = greeting.token
        self.lifecycle.meet(now_ns)
        self.last_sent_ns = now_ns

    def resize(self, datagram_size: i64) -> None:
        """Datagrams to where the peer is may have this size; nothing has been sent to it yet."""
        limits = ChannelLimits(datagram_size, self._limits.window, self._limits.cumulative)
        self._limits = limits
        self.channel = unmet_channel(limits, self.channel.carried_over(False))

    def restore(self, incarnation: i64) -> None:
        """This incarnation was met before a crash of ours, and is the only one that may go on."""
        self.incarnation = incarnation
        self.lifecycle.set_resuming()

    def set_sent_before(self, last: i64) -> None:
        """How far our ids had got before a crash of ours, until the peer is met."""
        self.sent_before = last

    def _replace_token(self) -> None:
        """Who still has the token of the former channel lives beside the one that is met now."""
        if self.token_in != 0:
            self.replaced_tokens.append(int(self.token_in))
            del self.replaced_tokens[:-TOKENS_MAX]

    # Where it is.

    def try_migrate(self, address: object, number: i64) -> bool:
        """Datagram `number` came from an address; whether the peer is found there from now on.

        Only its newest datagram tells where it is: others may be late, or repeated elsewhere.
        """
        if self.address.current == address or number <= self.channel.acks.numbers.largest:
            return False
        return self.address.try_migrate(address)

    def challenge_with(self, number: i64) -> None:
        """The peer is to repeat this number, if it receives where it seems to be."""
        self.address.challenge_with(number)
        self.channel.request_ping()

    def try_report_move(self, now_ns: i64) -> bool:
        """Whether it is worth telling that the peer has moved: one that does it all the time is
        told of now and then."""
        if now_ns - self._moved_ns < MOVES_NS:
            return False
        self._moved_ns = now_ns
        return True

    def try_report_too_large(self) -> bool:
        """Whether it is worth telling that a payload of its is beyond our limit."""
        return self._too_large.try_acquire(self.lifecycle.heard_ns)

    # What comes, and time.

    def on_ack(self, acked: AckRanges, delay_ns: i64, now_ns: i64) -> list[SentDatagram] | None:
        """The peer says which datagrams have come: what is lost by that, None if nothing.

        Control of those is sent again; the caller sees to their messages.
        """
        path = self.channel.path
        lost = path.on_ack(acked, delay_ns, now_ns)
        if path.in_flight.settled_controls & BYE_SENT:
            self.lifecycle.on_bye_acked()
        if lost is not None:
            self._repeat_lost_control(lost)
        return lost

    def expire(self, now_ns: i64) -> list[SentDatagram] | None:
        """Let the path do what is due: what is lost by now, None if nothing, as with `on_ack`."""
        lost = self.channel.path.expire(now_ns, self.lifecycle.heard_ns)
        if lost is not None:
            self._repeat_lost_control(lost)
        return lost

    def take_probe(self) -> SentDatagram | None:
        """If a probe is wanted: the datagram whose messages it repeats, if there is one."""
        channel = self.channel
        if not channel.path.take_probe():
            return None
        channel.begin_probe()
        self.lifecycle.repeat_bye()
        return channel.path.in_flight.take_oldest_with_messages()

    def heartbeat(self, now_ns: i64, heartbeat_ns: i64) -> None:
        """Say something if nothing has been said for `heartbeat_ns`."""
        if now_ns - self.last_sent_ns >= heartbeat_ns and not self.left:
            self.channel.request_ping()

    def release(self) -> None:
        """Let the peer go: nothing here is for it."""
        self.lifecycle.release()
        self.channel.path.set_closing()

    def end(self) -> None:
        """This incarnation is over: nothing leaves, and nothing that comes is taken."""
        self.lifecycle.end()
        self.channel.send_queue.clear()

    # Expulsions.

    def set_told_of_expulsion(self) -> None:
        """The peer was told that it is expelled itself."""
        self.told_of_expulsion = True

    # What leaves.

    def wants_to_write(self, now_ns: i64) -> bool:
        """Whether anything waits that may leave now."""
        channel, life = self.channel, self.lifecycle
        if life.phase != MET or self.address.allowance <= 0:
            return False
        if channel.path.is_clogged():
            return channel.ping_due
        if channel.ping_due or channel.flow_control.due or life.bye_due or life.release_due:
            return True
        if self.notices.due or self.address.response_due:
            return True
        if channel.acks.ack_at_ns <= now_ns or channel.send_queue.has_control():
            return True
        return channel.may_send_messages(self.address.allowance, now_ns)

    def mtu_probe_size(self, now_ns: i64) -> i64:
        """The size of a datagram that should find out whether it comes through, or 0."""
        if self.lifecycle.phase != MET or self.address.is_unproven():
            return 0
        return self.channel.path.mtu.next_probe_size(now_ns)

    def on_sent(self, sent: SentDatagram, now_ns: i64) -> None:
        """A datagram has left."""
        channel = self.channel
        channel.path.on_sent(sent, now_ns)
        if channel.probing:
            channel.on_probe_sent(sent)
        if self.address.allowance != UNLIMITED:
            self.address.spend(sent.size)
        self.last_sent_ns = now_ns
        self.datagrams_out += 1
        if sent.again is not None:
            self.repeated += len(sent.again)

    def on_written(self, now_ns: i64) -> None:
        """Everything that may leave now has left."""
        allowance: i64 = self.address.allowance if self.lifecycle.phase == MET else 0
        self.channel.on_written(allowance, now_ns)

    def request_write(self) -> bool:
        """It has to be written to; False if that was known."""
        if self.marked:
            return False
        self.marked = True
        return True

    def unmark(self) -> None:
        """It is being written to."""
        self.marked = False

    # Its timer.

    def next_timer_ns(self, heartbeat_ns: i64, now_ns: i64) -> i64:
        """When a timer must be set for this session; `NEVER_NS` if one is set that is enough."""
        wake_ns = self.channel.wake_ns()
        if self.lifecycle.phase == MET and not self.left:
            beat_ns = self.last_sent_ns + heartbeat_ns
            if beat_ns < wake_ns:
                wake_ns = beat_ns
        if wake_ns <= now_ns:
            wake_ns = now_ns + 1
        if wake_ns >= self._timer_ns or wake_ns >= NEVER_NS:
            return NEVER_NS
        self._timer_ns = wake_ns
        return wake_ns

    def on_timer(self, due_ns: i64) -> bool:
        """A timer has rung; whether it is the one that counts."""
        if self._timer_ns != due_ns:
            return False
        self._timer_ns = NEVER_NS
        return self.lifecycle.phase == MET

    def is_leaving(self) -> bool:
        """Whether we have said bye, and nobody may be here soon to repeat it."""
        return self.lifecycle.ours != STAYING

    def _repeat_lost_control(self, lost: list[SentDatagram]) -> None:
        queue = self.channel.send_queue
        for sent in lost:
            if sent.delivered > 0 or sent.permit > 0:
                queue.repeat_control()
            if sent.packets is not None:
                for packet in sent.packets:
                    queue.put(packet)
            if sent.controls & CREDIT_SENT:
                self.channel.flow_control.repeat_grant()
            if sent.controls & NOTICES_SENT:
                self.notices.repeat()
            if sent.controls & RESPONSE_SENT:
                self.address.repeat_response()
            if sent.controls & RELEASE_SENT:
                self.lifecycle.repeat_release()
            if sent.controls & BYE_SENT:
                self.lifecycle.repeat_bye()


def unmet_channel(limits: ChannelLimits, carried: CarriedOver) -> Channel:
    """The channel of a peer that has said nothing yet: nothing leaves in it."""
    return Channel(limits, 0, UNMET_SOCKET_DATAGRAMS * limits.datagram_size, None, carried)
