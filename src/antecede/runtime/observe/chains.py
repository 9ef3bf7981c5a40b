"""Who waits for whom, from messages that are held back to the one that does not answer."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from antecede.core.process import PermitsOwed
from antecede.endpoint.endpoint import Endpoint
from antecede.runtime.observe.durations import UNREAD_NS, Durations
from antecede.transport.advice import TakenAdvice
from antecede.transport.session import Session
from antecede.units import NS_OF_UNIT, messages_text

ASKERS_MAX: Final = 20
"""Peers that wait for a permit from here, of which it is looked up whom that waits for; of the rest
only the number is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """Somebody whose messages are held back, for whom they wait, and for whom that one waits."""

    waiting: str
    """Whose messages are held back: this node's, or those of a peer that has asked for a permit."""
    names: tuple[str, ...]
    """For whom they wait, and for whom that one waits in turn, as far as this node knows."""
    silent_ns: int = 0
    """For how long the last one has been silent; 0 if it is heard, or if that is not known."""
    gone: bool = False
    """Whether the last one has ended: nobody can give its permits any more."""
    reads_nothing: bool = False
    """Whether the last one is heard and has acknowledged nothing for ten seconds: its application
    does not read."""
    messages: int = 0
    """How many messages of this node are held back; 0 if they are those of a peer."""
    oldest_ns: int = 0
    """How long ago the oldest of them was sent, to about a second; 0 if that is not known."""

    @property
    def last(self) -> str:
        """Who all of them wait for in the end."""
        return self.names[-1]

    @property
    def is_blocked(self) -> bool:
        """Whether it will not pass by itself, as it seems."""
        return self.silent_ns > 0 or self.gone or self.reads_nothing

    @property
    def remedy(self) -> str:
        """What somebody can do about it; empty if it will pass by itself."""
        if self.reads_nothing:
            return f"let it read, or go on without it: await node.expel({self.last!r})"
        return remedy(self.last) if self.is_blocked else ""

    def __str__(self) -> str:
        said = f"{self.waiting} waits for {', who waits for '.join(self.names)}"
        if self.silent_ns:
            return f"{said}, silent for {seconds_text(self.silent_ns)}"
        if self.gone:
            return f"{said}, which has ended"
        return f"{said}: {reads_nothing_text(self.last)}" if self.reads_nothing else said

    def held_back(self) -> str:
        """The chain, with what it holds back."""
        if not self.messages:
            return str(self)
        are = "is" if self.messages == 1 else "are"
        age = f" for {seconds_text(self.oldest_ns)}" if self.oldest_ns else ""
        return f"{messages_text(self.messages)} {are} held back{age}: {self}"


def remedy(name: str) -> str:
    """How to go on without a peer."""
    return f"if it is gone for good: await node.expel({name!r})"


def reads_nothing_text(name: str) -> str:
    """Of a peer that is heard and acknowledges nothing."""
    return f"{name} lives, its application does not read"


def seconds_text(duration_ns: int) -> str:
    """A duration in whole seconds."""
    return f"{duration_ns // NS_OF_UNIT['s']:,} s"


def chains(endpoint: Endpoint, now_ns: int, durations: Durations | None = None) -> list[Chain]:
    """For whom messages are held back: those of this node, then those of peers that ask here."""
    return [
        *own_chains(endpoint, now_ns, durations),
        *chains_of_peers(endpoint, now_ns, durations),
    ]


def own_chains(endpoint: Endpoint, now_ns: int, durations: Durations | None) -> list[Chain]:
    """One for each peer that owes permits for which our messages wait, the longest awaited first.

    Of two incarnations of a peer it is that of whichever holds up more.
    """
    found: dict[str, Chain] = {}
    for permits in endpoint.owed_permits():
        chain = own_chain(endpoint, permits, now_ns, durations)
        known = found.get(chain.names[0])
        if known is None or known.messages < chain.messages:
            found[chain.names[0]] = chain
    return list(found.values())


def own_chain(
    endpoint: Endpoint, permits: PermitsOwed, now_ns: int, durations: Durations | None
) -> Chain:
    """Why a peer owes these permits."""
    owner = endpoint.session_by_id(permits.owner)
    name = endpoint.name_of(permits.owner)
    silent_ns = 0 if owner is None else silence_ns(owner, now_ns)
    unread = False
    taken = None if silent_ns else endpoint.waiting_for.advice_of(owner, now_ns)
    if taken is not None:
        silent_ns = told_silence_ns(endpoint, taken, now_ns)
        unread = silent_ns == 0 and has_named_for_long(permits, taken, now_ns, durations)
    return Chain(
        waiting=endpoint.name,
        names=(name,) if taken is None else (name, taken.advice.name),
        silent_ns=silent_ns,
        gone=owner is None,
        reads_nothing=unread,
        messages=endpoint.sending.messages_since(permits.since, permits.holds),
        oldest_ns=0 if durations is None else durations.age_ns(int(permits.since), now_ns),
    )


def told_silence_ns(endpoint: Endpoint, taken: TakenAdvice, now_ns: int) -> int:
    """For how long whom a peer waits for has been silent; 0 if it is heard."""
    least_ns = int(endpoint.waiting_for.silent_ns)
    silent_ns = int(taken.silence_ns(now_ns, least_ns))
    return silent_ns if silent_ns >= least_ns else 0


def has_named_for_long(
    permits: PermitsOwed, taken: TakenAdvice, now_ns: int, durations: Durations | None
) -> bool:
    """Whether a peer has waited for the same one, and owed the same permit, for long."""
    if durations is None or now_ns - int(taken.since_ns) < UNREAD_NS:
        return False
    owner, first = int(permits.owner), int(permits.first)
    return durations.same_permit_ns(owner, first, now_ns) >= UNREAD_NS


def chains_of_peers(
    endpoint: Endpoint, now_ns: int, durations: Durations | None
) -> Iterator[Chain]:
    """One for each peer that has asked here for a permit and cannot have it yet."""
    waiting_for = endpoint.waiting_for
    asking = [one for one in endpoint.sessions() if waiting_for.is_asking(one)]
    for session in asking[:ASKERS_MAX]:
        advice = waiting_for.hindering(session, now_ns)
        last = None if advice is None else endpoint.session_of(advice.name)
        if last is not None:
            yield Chain(
                waiting=session.name,
                names=(endpoint.name, last.name),
                silent_ns=silence_ns(last, now_ns),
                reads_nothing=reads_nothing(last, now_ns, durations),
            )


def silence_ns(session: Session, now_ns: int) -> int:
    """For how long a peer has been silent; 0 if it is heard."""
    lifecycle = session.lifecycle
    return int(now_ns - lifecycle.heard_ns) if lifecycle.silent else 0


def reads_nothing(session: Session, now_ns: int, durations: Durations | None) -> bool:
    """Whether a peer is heard and has acknowledged nothing for long, though it has what to."""
    if durations is None or session.lifecycle.silent:
        return False
    return durations.no_ack_ns(session, now_ns) >= UNREAD_NS
