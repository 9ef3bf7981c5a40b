"""What a node counts and measures, as plain values to print, compare and export.

Counters only grow, from the opening of the node on; everything else is how things stand now.
Reading them costs time with the number of peers, and nothing per message.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from antecede.core.expulsion import EXPELLED_LIMIT
from antecede.endpoint.endpoint import Endpoint
from antecede.endpoint.receive_queue import FairReceiveQueue
from antecede.events import NodeFenced
from antecede.membership.contact import STATES, Contact
from antecede.runtime.backpressure import Backpressure
from antecede.runtime.callbacks import Callbacks
from antecede.runtime.carriers.carrier import Carrier
from antecede.runtime.committer import NO_JOURNAL, Committer, JournalStats
from antecede.runtime.config.settings import Settings
from antecede.runtime.deliveries import Deliveries
from antecede.runtime.errors import fenced_sentence
from antecede.runtime.listeners import Listeners
from antecede.runtime.notifier import yield_to_loop
from antecede.runtime.observe.chains import Chain, own_chains
from antecede.runtime.observe.durations import Durations
from antecede.runtime.observe.explain import unread_text
from antecede.units import listing, messages_text

PEERS_PER_TURN: Final = 32
"""Peers that are looked at before the loop gets a turn."""

CROWDED = 0.9
"""A send buffer that is fuller than this is worth a word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerStats:
    """How things stand with one peer."""

    name: str
    met: bool
    """Whether it has answered our greeting."""
    state: str
    """One of new (waited for), here, silent and away (messages leave it out)."""
    silent: bool
    """Whether it has been reported as silent, and has not been heard since."""
    left: bool
    """Whether it has said bye, has stopped, or is expelled."""
    refusal: str
    """Why it will not talk to this node, or this node not to it; empty if nothing is known."""
    undelivered: int
    """Messages for it that it has not acknowledged as delivered."""
    sends_waiting: int
    """Calls of `send` to it that wait for room: for its share of the buffer, or in all."""
    datagrams_sent: int
    datagrams_received: int
    duplicates: int
    """Datagrams of its that came more than once."""
    retransmitted: int
    """Copies of messages that were transmitted to it again."""
    lost: int
    """Datagrams to it that were declared lost."""
    spurious: int
    """Of those, how many it acknowledged after all."""
    round_trip_ns: int
    """The smoothed time to it and back."""
    round_trip_least_ns: int
    window: int
    """The congestion window: bytes that may be on the way to it."""
    in_flight: int
    """Bytes on the way to it, not yet acknowledged."""
    datagram_size: int
    """The largest datagram it is sent, in bytes."""
    held_back: int = 0
    """Messages that are held back because of it: it owes a permit, or whoever owes one waits for
    it."""
    held_back_ns: int = 0
    """How long ago the oldest of them was sent, to about a second."""
    narrow: bool = False
    """Whether datagrams of 1,200 bytes, which hellos have, were found not to reach it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """How things stand with a node."""

    name: str
    messages_sent: int
    """Messages the application has sent; one to several peers counts once."""
    copies_sent: int
    """The same, counted once for each target; parts of a large payload count each."""
    messages_received: int
    """Messages delivered to this node, in their order."""
    undeliverable: int
    """Copies given up because their target is gone."""
    too_large: int
    """Payloads of peers that were beyond the limit, and were not handed over."""
    malformed: int
    """Datagrams that no correct peer sends."""
    last_malformed: str
    """What was wrong with the last of those."""
    stale: int
    """Datagrams of, or for, an incarnation that is no more."""
    refused: int
    """Greetings of nodes that may not, or cannot, take part."""
    unsendable: int
    """Datagrams that the operating system would not send."""
    crowded_out: int
    """Datagrams dropped unread: their sender sent more than its share while others spoke too."""
    buffered: int
    """Messages accepted and not yet acknowledged by all targets."""
    buffered_parts: int
    """The same, but a large message counts as the parts of it that are not yet acknowledged."""
    buffered_bytes: int
    buffer_limit: int
    """How many parts may be buffered before `send` waits; a message that is not large is one."""
    buffer_limit_bytes: int
    inbox: int
    """Messages delivered and not yet read by the application."""
    handler_failures: int
    """How often the message handler has raised."""
    callback_failures: int
    """How often other application code has: event listeners, an expulsion policy, a source of
    peers, what is to be called when something is on disk."""
    peers: tuple[PeerStats, ...]
    journal: JournalStats = NO_JOURNAL
    held_back: int = 0
    """Messages that are held back because a permit is missing; `explain()` says whose."""
    held_back_ns: int = 0
    """How long ago the oldest of them was sent, to about a second."""
    left_out: int = 0
    """Copies of messages that were not sent, as their targets were away."""
    expulsions: int = 0
    """Peers that were expelled, by whomever."""

    @property
    def datagrams_sent(self) -> int:
        """Datagrams sent to the present incarnations of all peers."""
        return sum(peer.datagrams_sent for peer in self.peers)

    @property
    def datagrams_received(self) -> int:
        """Datagrams that came from the present incarnations of all peers."""
        return sum(peer.datagrams_received for peer in self.peers)

    @property
    def retransmitted(self) -> int:
        """Copies of messages that were transmitted again."""
        return sum(peer.retransmitted for peer in self.peers)

    @property
    def lost(self) -> int:
        """Datagrams that were declared lost."""
        return sum(peer.lost for peer in self.peers)

    @property
    def peers_met(self) -> int:
        """How many peers have answered."""
        return sum(peer.met for peer in self.peers)

    @property
    def peers_by_state(self) -> dict[str, int]:
        """How many peers are new, here, silent and away."""
        counts = dict.fromkeys(STATES, 0)
        for peer in self.peers:
            counts[peer.state] += 1
        return counts

    @property
    def silent_peers(self) -> tuple[str, ...]:
        """Who has not been heard for longer than allowed."""
        return tuple(peer.name for peer in self.peers if peer.silent)

    @property
    def is_crowded(self) -> bool:
        """Whether `send` waits for room, or will soon."""
        return (
            self.buffered_parts >= CROWDED * self.buffer_limit
            or self.buffered_bytes >= CROWDED * self.buffer_limit_bytes
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """Whether a node can do its work; true or false, with reasons."""

    problems: tuple[str, ...] = ()
    """Why it cannot: somebody has to do something here."""
    blocked: tuple[str, ...] = ()
    """What waits for somebody who is silent or gone, and how to go on without: a restart of this
    node would not help, so it still counts as well."""
    warnings: tuple[str, ...] = ()
    """What may pass by itself, such as a peer that is silent."""

    def __bool__(self) -> bool:
        return not self.problems

    @property
    def is_ready(self) -> bool:
        """Whether it can do its work now: nothing fails, and nothing waits for who is silent."""
        return not self.problems and not self.blocked

    @property
    def status(self) -> str:
        """One word: ok, degraded (there are warnings), blocked or failing."""
        if self.problems:
            return "failing"
        if self.blocked:
            return "blocked"
        return "degraded" if self.warnings else "ok"

    def __str__(self) -> str:
        return "; ".join([self.status, *self.problems, *self.blocked, *self.warnings])


class StatsReader:
    """Reads the figures of one node from whoever counts them."""

    def __init__(
        self,
        settings: Settings,
        endpoint: Endpoint,
        deliveries: Deliveries,
        backpressure: Backpressure,
        listeners: Listeners,
        callbacks: Callbacks,
        carrier: Carrier,
        queue: FairReceiveQueue,
        committer: Committer,
        durations: Durations,
        now: Callable[[], int],
    ) -> None:
        self._durations: Final = durations
        self._now: Final = now
        self._committer: Final = committer
        self._intake: Final = queue
        self._settings: Final = settings
        self._endpoint: Final = endpoint
        self._deliveries: Final = deliveries
        self._backpressure: Final = backpressure
        self._listeners: Final = listeners
        self._callbacks: Final = callbacks
        self._carrier: Final = carrier

    def stats(self) -> Stats:
        """How things stand, all at one moment."""
        contacts = self._endpoint.directory.by_name.values()
        held = self._held_back()
        return self._with(
            [peer_stats(self._endpoint, self._backpressure, one, held) for one in contacts]
        )

    async def stats_in_turns(self) -> Stats:
        """The same, but the loop gets a turn after some peers, so that nothing is held up."""
        peers: list[PeerStats] = []
        held = self._held_back()
        contacts = list(self._endpoint.directory.by_name.values())
        for start in range(0, len(contacts), PEERS_PER_TURN):
            chunk = contacts[start : start + PEERS_PER_TURN]
            peers += [
                peer_stats(self._endpoint, self._backpressure, contact, held) for contact in chunk
            ]
            await yield_to_loop()
        return self._with(peers)

    def _held_back(self) -> dict[str, Chain]:
        """What is held back for whom in the end, or for who owes the permit if that is no peer."""
        found: dict[str, Chain] = {}
        known = self._endpoint.directory.by_name
        for chain in own_chains(self._endpoint, self._now(), self._durations):
            name = chain.last if chain.last in known else chain.names[0]
            if name not in found or found[name].messages < chain.messages:
                found[name] = chain
        return found

    def _with(self, peers: list[PeerStats]) -> Stats:
        endpoint = self._endpoint
        sending = endpoint.sending
        return Stats(
            name=self._settings.name,
            messages_sent=int(sending.sent),
            copies_sent=int(sending.copies),
            messages_received=int(endpoint.inbox.delivered),
            undeliverable=sum(self._listeners.undeliverable.values()),
            too_large=int(endpoint.inbox.too_large),
            malformed=int(endpoint.malformed),
            last_malformed=endpoint.last_malformed,
            stale=int(endpoint.directory.stale),
            refused=int(endpoint.directory.denials.count),
            unsendable=self._carrier.unsendable,
            crowded_out=int(self._intake.dropped),
            buffered=sending.messages_buffered(),
            buffered_parts=endpoint.buffered(),
            buffered_bytes=int(sending.bytes_held),
            buffer_limit=self._settings.send_limit,
            buffer_limit_bytes=self._settings.send_bytes,
            inbox=self._deliveries.unread(),
            handler_failures=self._deliveries.failures,
            callback_failures=self._callbacks.failures,
            peers=tuple(peers),
            journal=self._committer.figures(),
            held_back=max((peer.held_back for peer in peers), default=0),
            held_back_ns=max((peer.held_back_ns for peer in peers), default=0),
            left_out=sum(self._listeners.left_out.values()),
            expulsions=self._listeners.expulsions,
        )


def peer_stats(
    endpoint: Endpoint, backpressure: Backpressure, contact: Contact, held_back: dict[str, Chain]
) -> PeerStats:
    """The figures of one peer."""
    chain = held_back.get(contact.name)
    session = contact.session
    path = session.path
    return PeerStats(
        name=session.name,
        met=session.met,
        state=STATES[contact.state()],
        silent=session.standing.silent,
        left=contact.expelled or session.is_gone(),
        refusal=contact.refusal or contact.objection,
        undelivered=endpoint.sending.messages_owed(session),
        sends_waiting=backpressure.sends_waiting(contact.name),
        datagrams_sent=int(session.datagrams_out),
        datagrams_received=int(session.receipts.datagrams),
        duplicates=int(session.receipts.duplicates),
        retransmitted=int(session.repeated),
        lost=int(path.flight.lost_count),
        spurious=int(path.flight.spurious),
        round_trip_ns=int(path.round_trip.smoothed_ns),
        round_trip_least_ns=int(path.round_trip.least_ns),
        window=int(path.congestion.window),
        in_flight=int(path.flight.size),
        datagram_size=int(session.datagram_size),
        held_back=0 if chain is None else chain.messages,
        held_back_ns=0 if chain is None else chain.oldest_ns,
        narrow=path.sizes.is_narrow,
    )


TAKES_NO_NEWS: Final = (
    f"{EXPELLED_LIMIT:,} incarnations are expelled: peers that have news of more are not listened "
    "to. Restart this node: another life begins with none"
)


NARROW: Final = (
    "datagrams of 1,200 bytes are lost on it: messages go in small pieces, if at all, and after a "
    "restart nobody could be met. Look for a tunnel or an interface with a small MTU"
)

SPLIT: Final = "each side has expelled the other, and both live. Restart one of the two"


def health_of(
    stats: Stats,
    *,
    closed: bool,
    trace_failure: str | None,
    journal_failure: str | None = None,
    takes_no_news: bool = False,
    fenced: NodeFenced | None = None,
    policy_failure: str = "",
    blocked: Sequence[str] = (),
    held_up: Sequence[str] = (),
    splits: Sequence[str] = (),
) -> Health:
    """Whether the node with these figures, and this in its way, can do its work."""
    problems: list[str] = []
    warnings: list[str] = []
    if fenced is not None:
        problems.append(fenced_sentence(stats.name, fenced))
    elif closed:
        problems.append("the node is closed")
    if journal_failure is not None:
        problems.append(journal_failure)
    if takes_no_news:
        problems.append(TAKES_NO_NEWS)
    if trace_failure is not None:
        problems.append(f"the event log stopped: {trace_failure}")
    if policy_failure:
        warnings.append(f"nobody is expelled, as the expulsion policy fails: {policy_failure}")
    if stats.silent_peers:
        warnings.append(f"silent: {listing(list(stats.silent_peers))}")
    narrow = [peer.name for peer in stats.peers if peer.narrow and not peer.left]
    if narrow:
        warnings.append(f"the way to {listing(narrow)} is too narrow: {NARROW}")
    if splits:
        warnings.append(f"split from {listing(list(splits))}: {SPLIT}")
    strangers = [p.name for p in stats.peers if not (p.met or p.left)]
    if strangers:
        warnings.append(f"not met yet: {listing(strangers)}")
    warnings += [f"no talk with {p.name}: {p.refusal}" for p in stats.peers if p.refusal]
    if held_up:
        warnings.append(unread_text(stats.inbox, held_up))
    if stats.is_crowded:
        held = messages_text(stats.buffered)
        are = "is" if stats.buffered == 1 else "are"
        warnings.append(f"{held} {are} not delivered yet: send() waits for room")
    elif crowded := [peer.name for peer in stats.peers if peer.sends_waiting]:
        whom = listing(crowded)
        warnings.append(f"send() waits for room to {whom}: the share of one peer is full")
    return Health(problems=tuple(problems), blocked=tuple(blocked), warnings=tuple(warnings))
