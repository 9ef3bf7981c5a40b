"""What a node counts and measures, as plain values to print, compare and export; and what waits.

Counters only grow, from the opening of the node on; everything else is how things stand now.
Reading them costs time with the number of peers, and nothing per message. Why something is waiting
is told as values and in words.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from antecede.core.fence import EXPELLED_LIMIT
from antecede.link.contacts import Contact
from antecede.link.endpoint import Endpoint
from antecede.link.intake import Intake
from antecede.link.notation import duration_text, messages_text
from antecede.link.session import Session
from antecede.live.deliveries import Deliveries
from antecede.live.keeping import JournalStats, Keeper
from antecede.live.listeners import Listeners
from antecede.live.settings import Settings
from antecede.live.transport import Transport
from antecede.live.waiting import one_turn
from antecede.trace.datasets import listing

SHOWN = 20
"""Held-back messages told one by one; of the rest only the number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A message that may not leave yet for one of its targets."""

    sequence: int
    target: str
    missing: tuple[tuple[str, int], ...]
    """The permits it waits for: who owes each, and for which of that peer's messages."""

    def __str__(self) -> str:
        owed = ", ".join(f"{name} for its message {sequence}" for name, sequence in self.missing)
        return f"message {self.sequence} to {self.target} waits for a permit of {owed}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerState:
    """What may be wrong with one peer."""

    name: str
    met: bool
    away: bool
    """Whether it has left, and the next node of its name is waited for."""
    gone: bool
    """Whether its incarnation has ended, or was expelled."""
    silent_ns: int
    """How long it has been silent although an answer is due; 0 if none is due."""
    undelivered: int
    """How many of our messages it has not acknowledged."""
    early: int
    """How many of its messages, or parts of them, wait here for one that is missing before them."""
    after: int
    """The last of its messages that was delivered here."""
    out_of_credit: bool
    """Whether it does not take more because its own application is slow."""
    refusal: str
    """Why it, or we, will not talk; empty if nobody refuses."""
    early_in_parts: bool = False
    """Whether there are such among those that wait here."""

    def reasons(self) -> list[str]:
        """What is to be said about it."""
        said: list[str] = []
        if self.refusal:
            said.append(f"{self.name} refuses: {self.refusal}")
        if not self.met and self.gone:
            return said  # It is expelled, and not back.
        if not self.met:
            waits = "waits" if self.undelivered == 1 else "wait"
            owed = messages_text(self.undelivered)
            waiting = f"; {owed} {waits} for it" if self.undelivered else ""
            why = "has left and is not back" if self.away else "has not been met yet"
            how = f"; {remedy(self.name)}" if self.away and self.undelivered else ""
            said.append(f"{self.name} {why}{waiting}{how}")
            return said
        if self.silent_ns:
            silence = duration_text(self.silent_ns)
            said.append(f"{self.name} has been silent for {silence}; {remedy(self.name)}")
        if self.undelivered:
            owed = messages_text(self.undelivered)
            said.append(f"{self.name} has not acknowledged {owed}")
        if self.early:
            early = messages_text(self.early, self.early_in_parts)
            wait = "waits" if self.early == 1 else "wait"
            said.append(f"{early} of {self.name} {wait} here for what follows {self.after}")
        if self.out_of_credit:
            said.append(f"{self.name} takes no more: its application is slow to receive")
        return said


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Everything that waits in a node, and for what."""

    buffered: int
    """Our messages that somebody has not delivered yet."""
    buffered_bytes: int
    held: tuple[Held, ...]
    """Messages that wait for permits, each once for every target."""
    peers: tuple[PeerState, ...]
    dead_owing: tuple[str, ...]
    """Peers whose last incarnation ended owing permits that nobody can give any more."""

    def __str__(self) -> str:
        if not self.buffered and not any(peer.reasons() for peer in self.peers):
            return "nothing is waiting"
        are = "is" if self.buffered == 1 else "are"
        held = f"{messages_text(self.buffered)} ({self.buffered_bytes:,} bytes)"
        lines = [f"{held} {are} not delivered yet"]
        lines += [reason for peer in self.peers for reason in peer.reasons()]
        lines += [str(held) for held in self.held[:SHOWN]]
        if len(self.held) > SHOWN:
            lines.append(f"and {len(self.held) - SHOWN} more messages are held back")
        lines += [f"{name} ended owing permits; {remedy(name)}" for name in self.dead_owing]
        return "\n".join(lines)


def explain(endpoint: Endpoint, now_ns: int) -> Explanation:
    """What waits at `endpoint` now."""
    dead: list[str] = []
    for item in endpoint.held_back():
        for owner, _ in item.missing:
            name = endpoint.name_of(owner)
            if endpoint.is_over(owner) and name not in dead:
                dead.append(name)
    return Explanation(
        buffered=messages_buffered(endpoint),
        buffered_bytes=int(endpoint.sending.bytes_held),
        held=held_messages(endpoint),
        peers=tuple(peer_state(endpoint, session, now_ns) for session in endpoint.sessions()),
        dead_owing=tuple(dead),
    )


def messages_buffered(endpoint: Endpoint) -> int:
    """How many of our messages somebody has not acknowledged.

    The core counts the parts of a large one, and so does the limit of the buffer; an application
    counts it once.
    """
    if not endpoint.sending.in_parts():
        return endpoint.buffered()
    numbers: set[int] = set()
    for session in endpoint.sessions():
        numbers.update(endpoint.sending.numbers_owed(session))
    return len(numbers)


def messages_owed(endpoint: Endpoint, session: Session) -> int:
    """How many of them a peer has not acknowledged."""
    sending = endpoint.sending
    return len(sending.numbers_owed(session)) if sending.in_parts() else endpoint.owes(session)


def held_messages(endpoint: Endpoint) -> tuple[Held, ...]:
    """Messages that wait for permits; of a large one, its parts together."""
    missing: dict[tuple[int, str], dict[tuple[str, int], None]] = {}
    for item in endpoint.held_back():
        if not item.missing:
            continue  # Nothing holds it back but that its target has not been met.
        number = int(endpoint.sending.number_of(item.sequence))
        owed = missing.setdefault((number, endpoint.name_of(item.target)), {})
        for owner, sequence in item.missing:
            owed[endpoint.name_of(owner), endpoint.number_of(owner, sequence)] = None
    return tuple(
        Held(sequence=number, target=target, missing=tuple(owed))
        for (number, target), owed in missing.items()
    )


def remedy(name: str) -> str:
    """How to go on without a peer."""
    return f"if it is gone for good: await node.expel({name!r})"


def blocked_by(endpoint: Endpoint) -> list[str]:
    """What waits for peers that are silent or gone, and how to go on without them."""
    waiting: dict[str, set[tuple[int, int]]] = {}
    for item in endpoint.held_back():
        for owner, _ in item.missing:
            if endpoint.is_over(owner) or endpoint.is_silent(owner):
                message = int(endpoint.sending.number_of(item.sequence)), item.target
                waiting.setdefault(endpoint.name_of(owner), set()).add(message)
    said = [
        f"{messages_text(len(held))} {'waits' if len(held) == 1 else 'wait'} for permits that "
        f"{name} owes, which is silent or gone; {remedy(name)}"
        for name, held in waiting.items()
    ]
    if not endpoint.sending.has_room():
        for contact in endpoint.directory.by_name.values():
            session = contact.session
            count = messages_owed(endpoint, session)
            if count and (contact.away or session.standing.silent) and contact.name not in waiting:
                owed, waits = messages_text(count), "waits" if count == 1 else "wait"
                said.append(
                    f"the buffer is full, and {owed} in it {waits} for {contact.name}, "
                    f"which {'has left' if contact.away else 'is silent'}; {remedy(contact.name)}"
                )
    return said


def obstacles(endpoint: Endpoint, names: Sequence[str]) -> list[str]:
    """Why peers of these names are not talked to: who refuses, and who was never met."""
    found: list[str] = []
    for session in endpoint.sessions():
        contact = endpoint.directory.by_name.get(session.name)
        if session.name not in names or session.ended or (contact and contact.expelled):
            continue
        if contact is not None and contact.refusal:
            found.append(f"{session.name} refuses: {contact.refusal}")
        elif not session.met:
            away = contact is not None and contact.away
            state = "has left, and is not back" if away else "has never been met"
            found.append(f"{session.name} {state}")
    return found


def peer_state(endpoint: Endpoint, session: Session, now_ns: int) -> PeerState:
    """What may be wrong with the peer of this session."""
    after, early = endpoint.expected(session)
    standing = session.standing
    waiting = session.met and session.path.flight.eliciting > 0
    contact = endpoint.directory.by_name.get(session.name)
    return PeerState(
        name=session.name,
        met=session.met,
        away=contact is not None and contact.away,
        gone=session.ended or (contact is not None and contact.expelled),
        silent_ns=int(now_ns - standing.heard_ns) if waiting and standing.silent else 0,
        undelivered=messages_owed(endpoint, session),
        early=early,
        after=int(session.assembly.number_of(after)),
        out_of_credit=session.met and session.outgoing.waits_for_credit(),
        refusal="" if contact is None else contact.refusal,
        early_in_parts=session.assembly.in_parts(),
    )


NO_JOURNAL: Final = JournalStats()
"""Of a node without one."""

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
    away: bool
    """Whether it has left, and messages wait for the next node of its name."""
    silent: bool
    """Whether it has been reported as silent, and has not been heard since."""
    left: bool
    """Whether it has said bye, has stopped, or is expelled."""
    undelivered: int
    """Messages, large ones by parts, for it that it has not acknowledged as delivered."""
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
    peers: tuple[PeerStats, ...]
    journal: JournalStats = NO_JOURNAL

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
    def status(self) -> str:
        """One word: ok, degraded (there are warnings), blocked or failing."""
        if self.problems:
            return "failing"
        if self.blocked:
            return "blocked"
        return "degraded" if self.warnings else "ok"

    def __str__(self) -> str:
        return "; ".join([self.status, *self.problems, *self.blocked, *self.warnings])


class Figures:
    """Reads the figures of one node from whoever counts them."""

    def __init__(
        self,
        settings: Settings,
        endpoint: Endpoint,
        deliveries: Deliveries,
        listeners: Listeners,
        transport: Transport,
        intake: Intake,
        keeper: Keeper | None,
    ) -> None:
        self._keeper: Final = keeper
        self._intake: Final = intake
        self._settings: Final = settings
        self._endpoint: Final = endpoint
        self._deliveries: Final = deliveries
        self._listeners: Final = listeners
        self._transport: Final = transport

    def stats(self) -> Stats:
        """How things stand, all at one moment."""
        contacts = self._endpoint.directory.by_name.values()
        return self._with([peer_stats(self._endpoint, contact) for contact in contacts])

    async def stats_in_turns(self) -> Stats:
        """The same, but the loop gets a turn after some peers, so that nothing is held up."""
        peers: list[PeerStats] = []
        contacts = list(self._endpoint.directory.by_name.values())
        for start in range(0, len(contacts), PEERS_PER_TURN):
            chunk = contacts[start : start + PEERS_PER_TURN]
            peers += [peer_stats(self._endpoint, contact) for contact in chunk]
            await one_turn()
        return self._with(peers)

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
            refused=int(endpoint.directory.refusals),
            unsendable=self._transport.unsendable,
            crowded_out=int(self._intake.dropped),
            buffered=messages_buffered(endpoint),
            buffered_parts=endpoint.buffered(),
            buffered_bytes=int(sending.bytes_held),
            buffer_limit=self._settings.send_limit,
            buffer_limit_bytes=self._settings.send_bytes,
            inbox=self._deliveries.unread(),
            handler_failures=self._deliveries.failures,
            peers=tuple(peers),
            journal=NO_JOURNAL if self._keeper is None else self._keeper.figures(),
        )


def peer_stats(endpoint: Endpoint, contact: Contact) -> PeerStats:
    """The figures of one peer."""
    session = contact.session
    path = session.path
    return PeerStats(
        name=session.name,
        met=session.met,
        away=contact.away,
        silent=session.standing.silent,
        left=contact.expelled or session.is_gone(),
        undelivered=messages_owed(endpoint, session),
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
    )


TAKES_NO_NEWS: Final = (
    f"{EXPELLED_LIMIT:,} incarnations are expelled: peers that have news of more are not listened "
    "to. Restart this node: another life begins with none"
)


def health_of(
    stats: Stats,
    *,
    closed: bool,
    trace_failure: str | None,
    journal_failure: str | None = None,
    takes_no_news: bool = False,
    blocked: Sequence[str] = (),
) -> Health:
    """Whether the node with these figures, and this in its way, can do its work."""
    problems: list[str] = []
    warnings: list[str] = []
    if closed:
        problems.append("the node is closed")
    if journal_failure is not None:
        problems.append(journal_failure)
    if takes_no_news:
        problems.append(TAKES_NO_NEWS)
    if trace_failure is not None:
        problems.append(f"the event log stopped: {trace_failure}")
    if stats.silent_peers:
        warnings.append(f"silent: {listing(list(stats.silent_peers))}")
    away = [peer.name for peer in stats.peers if peer.away]
    if away:
        warnings.append(f"left and not back, though messages wait: {listing(away)}")
    strangers = [p.name for p in stats.peers if not (p.met or p.left or p.away)]
    if strangers:
        warnings.append(f"not met yet: {listing(strangers)}")
    if stats.is_crowded:
        held = messages_text(stats.buffered)
        are = "is" if stats.buffered == 1 else "are"
        warnings.append(f"{held} {are} not delivered yet: send() waits for room")
    return Health(problems=tuple(problems), blocked=tuple(blocked), warnings=tuple(warnings))
