"""Why is something waiting? What a node knows about it, as values and in words."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final

from antecede.core.process import OWNERS_NAMED, PermitsOwed
from antecede.endpoint.endpoint import Endpoint
from antecede.membership.contact import STATES, Contact, ContactState
from antecede.runtime.observe.chains import (
    Chain,
    chains,
    reads_nothing,
    reads_nothing_text,
    remedy,
    seconds_text,
)
from antecede.runtime.observe.durations import UNREAD_NS, Durations
from antecede.transport.session import Session
from antecede.units import duration_text, listing, messages_text

SHOWN: Final = 20
"""At most 20 targets of messages that are held back are named; of the rest only the number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Owed:
    """The permits that a peer owes, for which messages of ours wait."""

    name: str
    first: int
    """The first of its messages whose permit is missing."""
    last: int
    waiting: int
    """How many of our messages wait for it, or for one that does; never more than there are."""
    silent: bool
    gone: bool
    """Whether its incarnation has ended: nobody can give these permits any more."""

    def __str__(self) -> str:
        return f"{self.name} for its {range_text(self.first, self.last)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldMessage:
    """Messages that may not leave yet for one of their targets."""

    target: str
    first: int
    last: int
    count: int
    """How many there are: not every message from the first to the last need be for this target."""
    missing: tuple[Owed, ...]
    """Who owes the permits that they wait for, the longest awaited first; at most eight."""

    def __str__(self) -> str:
        one_permit = len(self.missing) == 1 and self.missing[0].first == self.missing[0].last
        owed = ", ".join(str(permits) for permits in self.missing)
        others = " and perhaps others" if len(self.missing) == OWNERS_NAMED else ""
        what = f"message {self.first:,} to {self.target} waits"
        if self.count > 1:
            what = (
                f"{self.count:,} messages to {self.target}, {self.first:,} to {self.last:,}, wait"
            )
        return f"{what} for {'a permit' if one_permit else 'permits'} of {owed}{others}"


def range_text(first: int, last: int) -> str:
    """Messages by their numbers."""
    return f"message {first:,}" if first == last else f"messages {first:,} to {last:,}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerExplanation:
    """What may be wrong with one peer."""

    name: str
    met: bool
    state: str
    """One of new, here, silent and away."""
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
    """Why it will not talk to us; empty if it does not refuse."""
    objection: str
    """Why we do not talk to it, such as another key than the one we know; empty if nothing is."""
    early_in_parts: bool = False
    """Whether there are such among those that wait here."""
    reads_nothing: bool = False
    """Whether it is heard and has acknowledged nothing for ten seconds, though it has what to."""

    def reasons(self) -> list[str]:
        """What is to be said about it."""
        said: list[str] = []
        if self.refusal:
            said.append(f"{self.name} refuses: {self.refusal}")
        elif self.objection:
            said.append(f"no talk with {self.name}: {self.objection}")
        if not self.met and self.gone:
            return said  # It is expelled, and not back.
        if not self.met:
            waits = "waits" if self.undelivered == 1 else "wait"
            owed = messages_text(self.undelivered)
            waiting = f"; {owed} {waits} for it" if self.undelivered else ""
            is_new = self.state == STATES[ContactState.NEW]
            why = "has not been met yet" if is_new else "has never been met"
            said.append(f"{self.name} {why}{waiting}")
            return said
        if self.silent_ns:
            silence = duration_text(self.silent_ns)
            said.append(f"{self.name} has been silent for {silence}; {remedy(self.name)}")
        if self.undelivered:
            owed = messages_text(self.undelivered)
            why = f": {reads_nothing_text(self.name)}" if self.reads_nothing else ""
            said.append(f"{self.name} has not acknowledged {owed}{why}")
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

    name: str
    """Whose explanation it is."""
    buffered: int
    """Our messages that somebody has not delivered yet."""
    buffered_bytes: int
    held: tuple[HeldMessage, ...]
    """Messages that wait for permits, by target."""
    owed: tuple[Owed, ...]
    """The permits that they wait for, by who owes them."""
    peers: tuple[PeerExplanation, ...]
    unread: int
    """Messages that were delivered here, and that the application has not read."""
    held_up: tuple[str, ...]
    """Peers that may have to wait until it does."""
    chains: tuple[Chain, ...] = ()
    """For whom messages are held back, and for whom those wait in turn."""
    undecided: tuple[str, ...] = ()
    """Why nobody is expelled, though somebody is silent and others wait for that."""
    rooms: tuple[str, ...] = ()
    """What somebody who joins a room waits for, here or elsewhere."""

    @property
    def dead_owing(self) -> tuple[str, ...]:
        """Peers whose last incarnation ended owing permits that nobody can give any more."""
        return tuple(dict.fromkeys(owed.name for owed in self.owed if owed.gone))

    def is_worth_telling(self, chain: Chain) -> bool:
        """Whether it says more than the messages that are held back say themselves."""
        return chain.is_blocked or len(chain.names) > 1

    def as_dict(self) -> dict[str, object]:
        """All of it in values that JSON has, and in words: the lines of `text`."""
        found = asdict(self)
        found["chains"] = [{**asdict(chain), "text": str(chain)} for chain in self.chains]
        found["text"] = str(self).splitlines()
        return found

    def __str__(self) -> str:
        lines: list[str] = []
        if self.buffered:
            are = "is" if self.buffered == 1 else "are"
            held = f"{messages_text(self.buffered)} ({self.buffered_bytes:,} bytes)"
            lines.append(f"{held} {are} not delivered yet")
        if self.unread:
            lines.append(unread_text(self.unread, self.held_up))
        lines += [reason for peer in self.peers for reason in peer.reasons()]
        lines += [str(held) for held in self.held[:SHOWN]]
        if len(self.held) > SHOWN:
            lines.append(f"and messages to {len(self.held) - SHOWN:,} more peers are held back")
        lines += [chain.held_back() for chain in self.chains if self.is_worth_telling(chain)]
        lines += [undecided_text(why) for why in self.undecided]
        lines += self.rooms
        lines += [f"{name} ended owing permits; {remedy(name)}" for name in self.dead_owing]
        return "\n".join(lines) or "nothing is waiting"


def unread_text(unread: int, held_up: Sequence[str]) -> str:
    """That the application has not read what is here for it, and whom that holds up."""
    said = f"the application has not read {messages_text(unread)}"
    return f"{said}: {waits_text(held_up)}" if held_up else said


def waits_text(held_up: Sequence[str]) -> str:
    """Whom an application that does not read holds up."""
    return f"held up until it does: {listing(list(held_up))}"


def explain(
    endpoint: Endpoint,
    now_ns: int,
    unread: int | None = None,
    durations: Durations | None = None,
    rooms: Sequence[str] = (),
) -> Explanation:
    """What waits at `endpoint` now; `unread` if messages were taken from its inbox and not read."""
    return Explanation(
        name=endpoint.name,
        buffered=endpoint.sending.messages_buffered(),
        buffered_bytes=int(endpoint.sending.bytes_held),
        held=held_messages(endpoint),
        owed=owed_permits(endpoint),
        peers=tuple(peer_state(endpoint, one, now_ns, durations) for one in endpoint.sessions()),
        unread=len(endpoint.inbox.messages) if unread is None else unread,
        held_up=tuple(endpoint.inbox.held_up()),
        chains=tuple(chains(endpoint, now_ns, durations)),
        undecided=tuple(no_majority(endpoint)),
        rooms=tuple(rooms),
    )


def owed_permits(endpoint: Endpoint) -> tuple[Owed, ...]:
    """The permits that messages wait for, by who owes them."""
    return tuple(owed_by(endpoint, permits) for permits in endpoint.owed_permits())


def owed_by(endpoint: Endpoint, permits: PermitsOwed) -> Owed:
    """What the core says of one peer, in names and numbers."""
    session = endpoint.session_by_id(permits.owner)
    numbers = None if session is None else session.payload_assembler
    return Owed(
        name=endpoint.name_of(permits.owner),
        first=int(permits.first if numbers is None else numbers.number_of(permits.first)),
        last=int(permits.last if numbers is None else numbers.number_of(permits.last)),
        waiting=endpoint.sending.messages_since(permits.since, permits.holds),
        silent=session is not None and session.lifecycle.silent,
        gone=session is None,
    )


def held_messages(endpoint: Endpoint) -> tuple[HeldMessage, ...]:
    """Messages that wait for permits, by target."""
    sending = endpoint.sending
    return tuple(
        HeldMessage(
            target=endpoint.name_of(item.target),
            first=int(sending.number_of(item.first)),
            last=int(sending.number_of(item.last)),
            count=sending.messages_to(item.target, item.first, item.count),
            missing=tuple(owed_by(endpoint, permits) for permits in item.missing),
        )
        for item in endpoint.held_back()
        if item.missing  # Otherwise nothing holds it back but that its target has not been met.
    )


def blocked_by(
    endpoint: Endpoint,
    now_ns: int,
    durations: Durations | None = None,
    undecided: Sequence[str] = (),
) -> list[str]:
    """What waits for somebody who does not answer or does not read, and how to go on without.

    `undecided` says why nobody is expelled for it: that there is no majority for instance.
    """
    waiting = [chain for chain in chains(endpoint, now_ns, durations) if chain.is_blocked]
    said = [f"{chain.held_back()}; {chain.remedy}" for chain in waiting]
    named = {chain.last for chain in waiting}
    for contact in endpoint.directory.by_name.values():
        if contact.name not in named and (
            reason := fills_the_buffer(endpoint, contact)
            or owes_to_application(endpoint, contact.session, now_ns, durations)
        ):
            said.append(reason)
    if durations is not None and durations.unread_ns(now_ns) >= UNREAD_NS:
        held_up = endpoint.inbox.held_up()
        if held_up:
            long = seconds_text(durations.unread_ns(now_ns))
            said.append(f"the application has read nothing for {long}: {waits_text(held_up)}")
    return said + [undecided_text(why) for why in undecided]


def undecided_text(why: str) -> str:
    """That a policy has not decided, and what helps."""
    return f"{why}: nobody is expelled; if you know who is gone for good: await node.expel(NAME)"


def no_majority(endpoint: Endpoint) -> list[str]:
    """That a peer which does not answer is not expelled, as too few others answer; or nothing."""
    detector = endpoint.detector
    answered, members = int(detector.undecided), int(detector.members)
    if answered == 0 or 2 * answered > members:
        return []
    owing = any(
        session.lifecycle.silent and endpoint.waiting_for.owes(session)
        for session in endpoint.sessions()
    )
    return [f"no majority ({answered} of {members})"] if owing else []


def owes_to_application(
    endpoint: Endpoint, session: Session, now_ns: int, durations: Durations | None
) -> str:
    """That a peer takes what is sent to it, and its application does not read; else nothing."""
    if not session.is_here() or not reads_nothing(session, now_ns, durations):
        return ""
    count = endpoint.sending.messages_owed(session)
    waits = "waits" if count == 1 else "wait"
    name = session.name
    return (
        f"{reads_nothing_text(name)}: {messages_text(count)} {waits} for that; let it read, or go "
        f"on without it: await node.expel({name!r})"
    )


def fills_the_buffer(endpoint: Endpoint, contact: Contact) -> str:
    """That what is for a peer who does not answer fills the buffer, or its share; else nothing."""
    sending, session = endpoint.sending, contact.session
    count = sending.messages_owed(session)
    if not count or not session.lifecycle.silent:
        return ""
    if sending.has_room() and sending.has_share(session):
        return ""
    held, waits = messages_text(count), "waits" if count == 1 else "wait"
    full = "the share of the buffer that is for one peer" if sending.has_room() else "the buffer"
    return (
        f"{full} is full, and {held} in it {waits} for {contact.name}, "
        f"which is silent; {remedy(contact.name)}"
    )


def reasons_unmet(endpoint: Endpoint, names: Sequence[str]) -> list[str]:
    """Why peers of these names are not talked to: who refuses, and who was never met."""
    found: list[str] = []
    wanted = set(names)
    for session in endpoint.sessions():
        contact = endpoint.directory.by_name.get(session.name)
        if session.name not in wanted or session.ended or (contact and contact.expelled):
            continue
        if contact is not None and contact.refusal:
            found.append(f"{session.name} refuses: {contact.refusal}")
        elif contact is not None and contact.objection:
            found.append(f"no talk with {session.name}: {contact.objection}")
        elif not session.met:
            found.append(f"{session.name} has never been met")
    return found


def peer_state(
    endpoint: Endpoint, session: Session, now_ns: int, durations: Durations | None = None
) -> PeerExplanation:
    """What may be wrong with the peer of this session."""
    after, early = endpoint.expected(session)
    lifecycle = session.lifecycle
    waiting = session.met and session.channel.path.in_flight.eliciting > 0
    contact = endpoint.directory.by_name.get(session.name)
    return PeerExplanation(
        name=session.name,
        met=session.met,
        state=STATES[ContactState.AWAY if contact is None else contact.state],
        gone=session.ended or (contact is not None and contact.expelled),
        silent_ns=int(now_ns - lifecycle.heard_ns) if waiting and lifecycle.silent else 0,
        undelivered=endpoint.sending.messages_owed(session),
        early=early,
        after=int(session.payload_assembler.number_of(after)),
        out_of_credit=session.met and session.channel.send_queue.waits_for_credit(),
        refusal="" if contact is None else contact.refusal,
        objection="" if contact is None else contact.objection,
        early_in_parts=session.payload_assembler.in_parts(),
        reads_nothing=session.is_here() and reads_nothing(session, now_ns, durations),
    )
