"""Why is something waiting? What a node knows about it, as values and in words."""

from collections.abc import Sequence
from dataclasses import dataclass

from antecede.link.endpoint import Endpoint
from antecede.link.notation import duration_text, messages_text
from antecede.link.session import Session

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
