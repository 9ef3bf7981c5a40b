"""A path joins its parts: what has left, how long that took, and how much more may leave.

Whoever drives it (a session) writes the datagrams. It calls `sendable_bytes` before, `on_sent`
after each one, `on_ack` for each acknowledgement, and `expire` at `wake_ns`; the last two answer
with what has to be sent again. What comes from the peer is in `AckTracker`.
"""

from typing import Final, final

from mypy_extensions import i64

from antecede.core.errors import RemoteError
from antecede.core.process import NEVER_NS
from antecede.transport.recovery.ack_ranges import AckRanges
from antecede.transport.recovery.cubic import Cubic
from antecede.transport.recovery.in_flight import InFlight, SentDatagram
from antecede.transport.recovery.pacer import UNPACED_NS, Pacer
from antecede.transport.recovery.path_mtu import PathMtu
from antecede.transport.recovery.round_trip import RttEstimator

PROBE_DOUBLINGS_MAX: Final = 6
"""Intervals between probes without any answer double at most 6 times."""

PROBE_NS_MAX: Final = 2_000_000_000
"""They never exceed 2 s, so that a network that heals is noticed."""

PARTING_PROBE_NS: Final = 300_000_000
"""A peer that is about to go, or has gone, is probed every 300 ms at least, however far it is."""

DATAGRAMS_MAX: Final = 1 << 18
"""262,144 datagrams are remembered while the oldest of them is not settled. A peer that goes on
talking and acknowledges nothing gets only pings from then on."""

COLLAPSE_PROBES: Final = 3
"""After 3 probes in vain the window collapses."""

SOCKET_MAX: Final = 1 << 40
"""No peer's socket holds more than this, whatever it says."""


@final
class Path:
    """The way to one peer and back."""

    __slots__ = (
        "_datagram",
        "_held_ns",
        "_pacer",
        "_parting",
        "_probe_from_ns",
        "_probe_wanted",
        "_window_cap",
        "answered_ns",
        "congestion",
        "in_flight",
        "mtu",
        "probes",
        "round_trip",
    )

    def __init__(self, datagram_size: i64, window_cap: i64) -> None:
        self._datagram: i64 = datagram_size
        self.in_flight: Final = InFlight()
        self.round_trip: Final = RttEstimator()
        self.congestion: Final = Cubic(datagram_size, window_cap)
        # What the peer's socket holds, as far as that is believed.
        self._window_cap: i64 = window_cap if window_cap < SOCKET_MAX else SOCKET_MAX
        self._pacer: Final = Pacer()
        self.mtu: Final = PathMtu(datagram_size)
        # Until when no messages leave, because all that left before were lost.
        self._held_ns: i64 = 0
        self._probe_from_ns: i64 = 0
        self.probes: i64 = 0
        # When the newest datagram had left that the peer has acknowledged: it lived after that.
        self.answered_ns: i64 = -1
        self._probe_wanted = False
        # Whether nothing but good-byes is left to be said.
        self._parting = False

    def next_number(self) -> i64:
        """The number of the next datagram."""
        return self.in_flight.records.next

    def oldest_number(self) -> i64:
        """The oldest number that is still waited for; below it everything is settled."""
        return self.in_flight.records.first

    def is_clogged(self) -> bool:
        """Whether as many datagrams are remembered as may be."""
        records = self.in_flight.records
        return records.next - records.first >= DATAGRAMS_MAX

    def sendable_bytes(self, now_ns: i64) -> i64:
        """How many bytes may leave now."""
        room = self.congestion.window - self.in_flight.size
        if room <= 0:
            return 0
        paced = self._pacer.room(
            self.congestion.window, self.round_trip.smoothed_ns, self._datagram, now_ns
        )
        return paced if paced < room else room

    def is_held(self, now_ns: i64) -> bool:
        """Whether no messages may leave now, because all that left before were lost."""
        return now_ns < self._held_ns

    def paced_until_ns(self, now_ns: i64) -> i64:
        """When more may leave, if it is the pace that holds it back; `NEVER_NS` if not."""
        if now_ns < self._held_ns:
            return self._held_ns
        if (
            self.in_flight.size + self._datagram > self.congestion.window
            and self.in_flight.size > 0
        ):
            return NEVER_NS
        wait_ns = self._pacer.wait_ns(
            self._datagram, self.congestion.window, self.round_trip.smoothed_ns
        )
        return now_ns + wait_ns

    def on_sent(self, sent: SentDatagram, now_ns: i64) -> None:
        """A datagram has left."""
        if sent.eliciting and self.in_flight.eliciting == 0:
            self._probe_from_ns = now_ns
        self.in_flight.add(sent)
        self._pacer.spent(sent.size)

    def on_ack(self, acked: AckRanges, ack_delay_ns: i64, now_ns: i64) -> list[SentDatagram] | None:
        """The peer says what has come: what is lost by that, None if nothing.

        `RemoteError` if it was never sent.
        """
        flight = self.in_flight
        if not flight.is_plausible(acked):
            raise RemoteError("an acknowledgement of a datagram that was never sent")
        spurious = flight.spurious
        busy = 2 * flight.size >= self.congestion.window
        if not flight.acknowledge(acked):
            return None
        if flight.spurious > spurious:
            self.congestion.undo_spurious_loss()
        sent_ns = flight.acked_sent_ns
        if sent_ns > self.answered_ns:
            self.answered_ns = sent_ns
        if sent_ns >= 0 and flight.acked_eliciting:
            self.round_trip.on_sample(now_ns - sent_ns, ack_delay_ns)
        if busy and flight.acked_size > 0 and sent_ns >= 0:
            rtt_ns = self.round_trip.smoothed_ns
            self._follow_distance()
            self.congestion.on_acked(flight.acked_size, sent_ns, now_ns, rtt_ns)
        self.probes = 0
        self._probe_from_ns = now_ns
        self.mtu.on_acked(flight.acked_largest, flight.acked_trial, sent_ns, now_ns)
        return self._look_for_lost(now_ns)

    def wake_ns(self) -> i64:
        """When to call `expire`."""
        if self.in_flight.eliciting == 0:
            return NEVER_NS
        probe_ns = self._probe_from_ns + self._probe_patience_ns()
        check_ns = self.in_flight.loss_check_ns
        return probe_ns if probe_ns < check_ns else check_ns

    def expire(self, now_ns: i64, heard_ns: i64 = -1) -> list[SentDatagram] | None:
        """Do what is due: answer with what is taken for lost, or want a probe.

        The peer was last heard at `heard_ns`.
        """
        if self.in_flight.eliciting == 0:
            self.in_flight.forget_loss_check()
            return None
        if self.in_flight.loss_check_ns <= now_ns:
            return self._look_for_lost(now_ns)
        if self._probe_from_ns + self._probe_patience_ns() <= now_ns:
            self.probes += 1
            self._probe_from_ns = now_ns
            self._probe_wanted = True
            oldest_ns = self.in_flight.records.peek().sent_ns
            heard = heard_ns > oldest_ns + self.round_trip.smoothed_ns
            self.mtu.on_probe_timeout(
                self.probes, self.in_flight.largest_of_oldest(), heard, now_ns
            )
            if self.probes == COLLAPSE_PROBES:
                self.congestion.on_persistent_congestion()
        return None

    def set_closing(self) -> None:
        """From now on only good-byes are left to be said."""
        self._parting = True

    def take_probe(self) -> bool:
        """Whether a probe is wanted, which is then sent."""
        wanted = self._probe_wanted
        self._probe_wanted = False
        return wanted

    def _follow_distance(self) -> None:
        """Let the window grow beyond the peer's socket on a way so long that pace spreads it out.

        The socket has to hold what comes at once. That is the window where there is no pace, and
        otherwise what the pace lets go in `UNPACED_NS`; the rest is under way.
        """
        spread = self.round_trip.least_ns // UNPACED_NS
        self.congestion.set_window_max(
            self._window_cap * spread if spread > 1 else self._window_cap
        )

    def _probe_patience_ns(self) -> i64:
        if self._parting and self.round_trip.probe_timeout_ns() > PARTING_PROBE_NS:
            return PARTING_PROBE_NS
        return self._backed_off_ns(self.probes)

    def _backed_off_ns(self, doublings: i64) -> i64:
        """How long to wait after that many attempts in vain."""
        if doublings > PROBE_DOUBLINGS_MAX:
            doublings = PROBE_DOUBLINGS_MAX
        patience_ns = self.round_trip.probe_timeout_ns() << doublings
        longest = 2 * self.round_trip.smoothed_ns + PROBE_NS_MAX
        return patience_ns if patience_ns < longest else longest

    def _look_for_lost(self, now_ns: i64) -> list[SentDatagram] | None:
        trip = self.round_trip
        lost = self.in_flight.find_lost(now_ns, trip.loss_delay_ns(), 3 * trip.probe_timeout_ns())
        if lost is not None:
            trials = 0
            for sent in lost:
                self.mtu.on_lost(sent.size, sent.trial, sent.sent_ns, now_ns)
                trials += sent.trial
            if self.mtu.vain > 0:
                self._held_ns = now_ns + self._backed_off_ns(self.mtu.vain)
            if trials < len(lost):  # A trial that fails says nothing about congestion.
                self.congestion.on_loss(lost[-1].sent_ns, now_ns)
        return lost
