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
    """How many of its messages wait here for one that is missing before them."""
    after: int
    """The last of its messages that was delivered here."""
    out_of_credit: bool
    """Whether it does not take more because its own application is slow."""
    refusal: str
    """Why it, or we, will not talk; empty if nobody refuses."""

    def reasons(self) -> list[str]:
        """What is to be said about it."""
        said: list[str] = []
        if self.refusal:
            said.append(f"{self.name} refuses: {self.refusal}")
        if not self.met and self.gone:
            return said  # It is expelled, and not back.
        if not self.met:
            waits = "waits" if self.undelivered == 1 else "wait"
            waiting = (
                f"; {messages_text(self.undelivered)} {waits} for it" if self.undelivered else ""
            )
            why = "has left and is not back" if self.away else "has not been met yet"
            how = f"; {remedy(self.name)}" if self.away and self.undelivered else ""
            said.append(f"{self.name} {why}{waiting}{how}")
            return said
        if self.silent_ns:
            silence = duration_text(self.silent_ns)
            said.append(f"{self.name} has been silent for {silence}; {remedy(self.name)}")
        if self.undelivered:
            said.append(f"{self.name} has not acknowledged {messages_text(self.undelivered)}")
        if self.early:
            said.append(
                f"{self.early} messages of {self.name} wait here for the one after {self.after}"
            )
        if self.out_of_credit:
            said.append(f"{self.name} takes no more: its application is slow to receive")
        return said


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Everything that waits in a node, and for what."""

    buffered: int
    buffered_bytes: int
    held: tuple[Held, ...]
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
    held: list[Held] = []
    dead: list[str] = []
    for item in endpoint.held_back():
        missing = tuple(
            (endpoint.name_of(owner), endpoint.number_of(owner, owed))
            for owner, owed in item.missing
        )
        target = endpoint.name_of(item.target)
        number = int(endpoint.sending.number_of(item.sequence))
        held.append(Held(sequence=number, target=target, missing=missing))
        for owner, _ in item.missing:
            name = endpoint.name_of(owner)
            if endpoint.is_over(owner) and name not in dead:
                dead.append(name)
    return Explanation(
        buffered=endpoint.buffered(),
        buffered_bytes=int(endpoint.sending.bytes_held),
        held=tuple(held),
        peers=tuple(peer_state(endpoint, session, now_ns) for session in endpoint.sessions()),
        dead_owing=tuple(dead),
    )


def remedy(name: str) -> str:
    """How to go on without a peer."""
    return f"if it is gone for good: await node.expel({name!r})"


def blocked_by(endpoint: Endpoint) -> list[str]:
    """What waits for peers that are silent or gone, and how to go on without them."""
    waiting: dict[str, int] = {}
    for item in endpoint.held_back():
        owners = {owner for owner, _ in item.missing}
        for owner in owners:
            if endpoint.is_over(owner) or endpoint.is_silent(owner):
                name = endpoint.name_of(owner)
                waiting[name] = waiting.get(name, 0) + 1
    said = [
        f"{messages_text(count)} {'waits' if count == 1 else 'wait'} for permits that {name} "
        "owes, which is silent or gone; "
        f"{remedy(name)}"
        for name, count in waiting.items()
    ]
    if not endpoint.sending.has_room():
        for contact in endpoint.directory.by_name.values():
            session = contact.session
            count = endpoint.owes(session)
            if count and (contact.away or session.standing.silent) and contact.name not in waiting:
                said.append(
                    f"the buffer is full, and {count:,} messages in it wait for {contact.name}, "
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
        undelivered=endpoint.owes(session),
        early=early,
        after=int(session.assembly.number_of(after)),
        out_of_credit=session.met and session.outgoing.waits_for_credit(),
        refusal="" if contact is None else contact.refusal,
    )
