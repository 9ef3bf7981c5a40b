"""One peer, as long as neither side restarts: everything there is between it and this node.

A session joins what owns the state: `path` (the way there: numbers, loss, congestion, pace),
`receipts` (what has come, and its acknowledgement), `outgoing` (what waits to leave), `credit`
(flow control), `standing` (meeting and leaving) and `assembly` (payloads in parts). Of its own it
has who and where the peer is, and when it wants to be looked at.
"""

from typing import Final, final

from mypy_extensions import i64

from antecede.core.process import NEVER_NS
from antecede.transport.advice import Waits
from antecede.transport.event_rows import SessionRows
from antecede.transport.flow_control import FlowControl
from antecede.transport.frame_fragments import FrameAssemblers
from antecede.transport.message_fragments import PayloadAssembler
from antecede.transport.notices import Notices
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
from antecede.transport.recovery.ack_ranges import AckRanges, AckTracker
from antecede.transport.recovery.in_flight import SentDatagram
from antecede.transport.recovery.path import Path
from antecede.transport.seals import SessionKeys
from antecede.transport.send_queue import SendQueue
from antecede.wire.expulsions import ExpulsionRecord
from antecede.wire.frames import FRAME_OVERHEAD_MAX

ME: Final = 0
"""This node's id in its own core; the sessions with its peers are 1, 2, 3, …"""

UNLIMITED: Final = 1 << 62
AMPLIFICATION_FACTOR: Final = 3
"""An address where a peer has not answered yet gets at most 3 times the bytes that came from it."""

TOKENS_MAX: Final = 16
"""16 tokens are remembered because their session was reset. A process that still has one of them
lives beside the one that has come back."""

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
        "_allowance",
        "_fixed_address",
        "_most",
        "_moved_ns",
        "_probing",
        "_response",
        "_timer_ns",
        "_too_large",
        "address",
        "assembly",
        "challenge",
        "credit",
        "datagrams_out",
        "id",
        "incarnation",
        "keeps",
        "last_sent_ns",
        "marked",
        "name",
        "notices",
        "outgoing",
        "paced_ns",
        "path",
        "payload_limit",
        "pieces",
        "ping_due",
        "proven_address",
        "receipts",
        "receiving_seal",
        "repeated",
        "replaced_tokens",
        "response_due",
        "rows",
        "seal",
        "sent_before",
        "standing",
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
        self.path = Path(datagram_size, 16 * datagram_size)
        self.receipts = AckTracker()
        self.credit = FlowControl(window)
        self.outgoing = SendQueue(cumulative, self.credit)
        self.standing = PeerLifecycle()
        self.assembly: Final = PayloadAssembler()
        self.pieces: Final = FrameAssemblers()
        self.rows: Final = rows
        # Who and where it is: known when it is met.
        self.incarnation: i64 = 0
        # Whether it has a journal, and until it is met, how far our ids had got before a crash.
        self.keeps = False
        # The newest version of datagrams that both sides speak.
        self.version: i64 = 0
        self.sent_before: i64 = 0
        self.token_in: i64 = 0
        self.token_out: i64 = 0
        self.replaced_tokens: list[int] = []
        self.address: object = None
        self._fixed_address = False
        self._moved_ns: i64 = -MOVES_NS
        self._too_large: Final = RateLimiter(TOO_LARGE_AT_ONCE, TOO_LARGE_NS)
        # Where the peer has answered from. To another address this many bytes may go until it has
        # repeated the challenge that went there; UNLIMITED: it is there.
        self.proven_address: object = None
        self._allowance: i64 = UNLIMITED
        self.challenge: i64 = 0
        # The last challenge of the peer, and whether the response to it is to leave.
        self._response: i64 = 0
        self.response_due = False
        # What its datagrams are sealed with, and, where both sides had said hello at once, what
        # the peer seals with instead. None: nothing is sealed.
        self.seal: SessionKeys | None = None
        self.receiving_seal: SessionKeys | None = None
        self._most: i64 = datagram_size
        # The largest payload that both sides allow.
        self.payload_limit: i64 = payload_limit
        self.ping_due = False
        self._probing = False
        # Whether to write to it, when the pace allows more, and when it is looked at.
        self.marked = False
        self.paced_ns: i64 = NEVER_NS
        self._timer_ns: i64 = NEVER_NS
        self.last_sent_ns: i64 = 0
        self.notices: Final = Notices()
        self.told_of_expulsion = False
        self.waits: Final = Waits()
        self.datagrams_out: i64 = 0
        self.repeated: i64 = 0

    @property
    def met(self) -> bool:
        """Whether the peer has ever shown that it is there."""
        return self.standing.phase != UNMET

    @property
    def ended(self) -> bool:
        """Whether this incarnation of the peer is over."""
        return self.standing.phase == OVER

    @property
    def left(self) -> bool:
        """Whether the peer has said bye and wants nothing more."""
        return self.standing.theirs == LET_GO

    @property
    def datagram_size(self) -> i64:
        """The largest datagram that is sent to it now."""
        return self.path.sizes.size

    @property
    def payload_max(self) -> i64:
        """The largest payload that goes to it in one message."""
        room = self.path.sizes.size - FRAME_OVERHEAD_MAX
        return room if room < self.payload_limit else self.payload_limit

    def is_here(self) -> bool:
        """Whether it was met and is not over: messages may be submitted to it."""
        phase = self.standing.phase
        return phase in (MET, RESUMING) and self.standing.theirs != LET_GO

    def is_gone(self) -> bool:
        """Whether nothing can be sent to the peer any more."""
        return self.standing.phase == OVER or self.standing.theirs == LET_GO

    def seems_gone(self, now_ns: i64) -> bool:
        """Whether the peer has said bye and answers no more; one with a journal may come back."""
        if self.keeps and not self.left:
            return False
        return self.standing.seems_gone(self.path.probes, now_ns)

    # Meeting.

    def establish(
        self,
        incarnation: i64,
        token_in: i64,
        token_out: i64,
        address: object,
        fixed_address: bool,
        seal: SessionKeys | None,
        now_ns: i64,
    ) -> None:
        """The peer is known: from now on datagrams can leave."""
        self.seal = seal
        self.incarnation = incarnation
        self.token_in = token_in
        self.token_out = token_out
        self.address = address
        self.proven_address = address
        self._fixed_address = fixed_address
        self.standing.meet(now_ns)
        self.last_sent_ns = now_ns
        self.ping_due = True

    def resize(self, datagram_size: i64) -> None:
        """Datagrams to where the peer is may have this size; nothing has been sent to it yet."""
        self._most = datagram_size
        self.path = Path(datagram_size, 16 * datagram_size)

    def restore(self, incarnation: i64) -> None:
        """This incarnation was met before a crash of ours, and is the only one that may go on."""
        self.incarnation = incarnation
        self.standing.set_resuming()

    def reset_channel(self) -> None:
        """One of the two has crashed and come back as the same incarnation: meet again.

        Numbers, acknowledgements, credit and keys begin anew; what is ordered and delivered goes
        on.
        """
        if self.token_in != 0:
            self.replaced_tokens.append(int(self.token_in))
            del self.replaced_tokens[:-TOKENS_MAX]
        self.receipts = AckTracker()
        self.credit = self.credit.carried_over()
        self.outgoing = self.outgoing.successor(self.credit)
        self.standing = self.standing.carried_over()
        self.receiving_seal = None
        self._allowance = UNLIMITED
        self.challenge = 0
        self.response_due = False
        self._probing = False
        self.paced_ns = NEVER_NS
        self.notices.reset()

    def apply_peer_limits(self, window: i64, payload_limit: i64, socket_bytes: i64) -> None:
        """Take in the limits of the peer, before anything leaves."""
        self.credit.extend(window)
        self.path = Path(self._most, socket_bytes)
        if payload_limit < self.payload_limit:
            self.payload_limit = payload_limit

    def try_migrate(self, address: object, number: i64) -> bool:
        """Datagram `number` came from an address; whether the peer is found there from now on.

        Only its newest datagram tells where it is: others may be late, or repeated elsewhere. A
        configured address stays.
        """
        if self.address == address or self._fixed_address:
            return False
        if number <= self.receipts.numbers.largest:
            return False
        self.address = address
        self.challenge = 0
        self._allowance = UNLIMITED if address == self.proven_address else 0
        return True

    def is_unproven(self) -> bool:
        """Whether the peer seems to be where it has not answered from."""
        return self._allowance != UNLIMITED

    def challenge_with(self, number: i64) -> None:
        """Only who receives at the peer's address can repeat this number, which nobody knows.

        Acknowledgements are no proof: numbers of datagrams can be guessed.
        """
        self.challenge = number
        self.ping_due = True

    def is_challenged(self, number: i64) -> None:
        """The peer wants this number repeated, to know that we are where we seem to be."""
        self._response = number
        self.response_due = True

    def responds(self, number: i64) -> None:
        """The peer repeats a number: it is where it seems to be, if that is the right one."""
        if number == self.challenge != 0:
            self.challenge = 0
            self._allowance = UNLIMITED
            self.proven_address = self.address

    def take_response(self) -> i64:
        """The response is written."""
        self.response_due = False
        return self._response

    def try_report_move(self, now_ns: i64) -> bool:
        """Whether it is worth telling that the peer has moved: one that does it all the time is
        told of now and then."""
        if now_ns - self._moved_ns < MOVES_NS:
            return False
        self._moved_ns = now_ns
        return True

    def try_report_too_large(self) -> bool:
        """Whether it is worth telling that a payload of its is beyond our limit."""
        return self._too_large.try_acquire(self.standing.heard_ns)

    def extend_amplification_limit(self, address: object, size: i64) -> None:
        """A datagram has come: more may go to where the peer says it is now."""
        if self._allowance != UNLIMITED and address == self.address:
            self._allowance += AMPLIFICATION_FACTOR * size

    # What comes, and time.

    def on_ack(self, acked: AckRanges, delay_ns: i64, now_ns: i64) -> None:
        """The peer says which datagrams have come; `path.lost` then holds what has not."""
        path = self.path
        path.on_ack(acked, delay_ns, now_ns)
        if path.flight.settled_controls & BYE_SENT:
            self.standing.on_bye_acked()
        self._repeat_lost_control()

    def expire(self, now_ns: i64) -> SentDatagram | None:
        """Let the path do what is due; `path.lost` then holds what was lost.

        If a probe is wanted: the datagram whose messages it should repeat, if there is one.
        """
        self.path.expire(now_ns, self.standing.heard_ns)
        self._repeat_lost_control()
        if not self.path.take_probe():
            return None
        self._probing = True
        self.ping_due = True
        self.outgoing.repeat_control()
        self.standing.repeat_bye()
        return self.path.flight.take_oldest_with_messages()

    def heartbeat(self, now_ns: i64, heartbeat_ns: i64) -> None:
        """Say something if nothing has been said for `heartbeat_ns`."""
        if now_ns - self.last_sent_ns >= heartbeat_ns and not self.left:
            self.ping_due = True

    def release(self) -> None:
        """Let the peer go: nothing here is for it."""
        self.standing.release()
        self.path.set_closing()

    def end(self) -> None:
        """This incarnation is over: nothing leaves, and nothing that comes is taken."""
        self.standing.end()
        self.outgoing.clear()

    # Expulsions.

    def owe_notices(self, records: dict[int, ExpulsionRecord]) -> None:
        """The peer is to be told of these; until it has noted them no message or permit leaves."""
        self.notices.owe(records)
        self.outgoing.block(True)

    def noted(self, processes: list[int]) -> None:
        """The peer has noted these."""
        self.notices.on_acked(processes)
        self.outgoing.block(len(self.notices.unacked) > 0)

    # What leaves.

    def wants_to_write(self, now_ns: i64) -> bool:
        """Whether anything waits that may leave now."""
        standing = self.standing
        if standing.phase != MET or self._allowance <= 0:
            return False
        if self.path.is_clogged():
            return self.ping_due
        if self.ping_due or self.credit.due or standing.bye_due or standing.release_due:
            return True
        if self.notices.due or self.response_due:
            return True
        if self.receipts.ack_at_ns <= now_ns or self.outgoing.has_control():
            return True
        return self.may_send_messages(now_ns)

    def may_send_messages(self, now_ns: i64) -> bool:
        """Whether messages wait, and window, pace and credit let them leave."""
        if self._allowance < self.datagram_size or not self.outgoing.has_messages():
            return False
        if self._probing:
            return True
        if self.path.is_held(now_ns):
            return False
        if self.path.flight.size == 0:
            return True
        return self.path.sendable_bytes(now_ns) >= self.datagram_size

    def mtu_probe_size(self, now_ns: i64) -> i64:
        """The size of a datagram that should find out whether it comes through, or 0."""
        if self.standing.phase != MET or self._allowance != UNLIMITED:
            return 0
        return self.path.sizes.next_probe_size(now_ns)

    def take_ping(self) -> bool:
        """Whether a ping is to be written."""
        due = self.ping_due
        self.ping_due = False
        return due

    def on_sent(self, sent: SentDatagram, now_ns: i64) -> None:
        """A datagram has left."""
        self.path.on_sent(sent, now_ns)
        if self._allowance != UNLIMITED:
            self._allowance -= sent.size
        self.last_sent_ns = now_ns
        self.datagrams_out += 1
        if sent.again is not None:
            self.repeated += len(sent.again)
        if sent.has_messages():
            self._probing = False

    def on_written(self, now_ns: i64) -> None:
        """Everything that may leave now has left."""
        self._probing = False
        self.paced_ns = NEVER_NS
        if self.standing.phase != MET or not self.outgoing.has_messages():
            return
        # If it is not the pace that holds messages back, time alone does not let them go.
        if self._allowance >= self.datagram_size and not self.path.is_clogged():
            self.paced_ns = self.path.paced_until_ns(now_ns)

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
        wake_ns = self.path.wake_ns()
        if self.receipts.ack_at_ns < wake_ns:
            wake_ns = self.receipts.ack_at_ns
        if self.paced_ns < wake_ns:
            wake_ns = self.paced_ns
        if self.standing.phase == MET and not self.left:
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
        return self.standing.phase == MET

    def is_leaving(self) -> bool:
        """Whether we have said bye, and nobody may be here soon to repeat it."""
        return self.standing.ours != STAYING

    def _repeat_lost_control(self) -> None:
        for sent in self.path.lost:
            if sent.delivered > 0 or sent.permit > 0:
                self.outgoing.repeat_control()
            if sent.packets is not None:
                for packet in sent.packets:
                    self.outgoing.put(packet)
            if sent.controls & CREDIT_SENT:
                self.credit.repeat_grant()
            if sent.controls & NOTICES_SENT:
                self.notices.repeat()
            if sent.controls & RESPONSE_SENT:
                self.response_due = True
            if sent.controls & RELEASE_SENT:
                self.standing.repeat_release()
            if sent.controls & BYE_SENT:
                self.standing.repeat_bye()
