"""Who is suspected to be dead, and how many others have answered a ping since then.

A peer is suspected when it is here and nothing has come from it for longer than the policy allows.
What was heard of the others before says little: when a network splits, silences end one by one. So
everybody who is here is pinged, and only answers to that ping count. Nor do answers come at once
when a split network heals: as long as new ones come nobody is judged, and whoever has not answered
is pinged again. What is made of all this is up to a policy.
"""

from typing import Final, final

from mypy_extensions import i64

from antecede.core.process import NEVER_NS, NodeProcess
from antecede.membership.contact import HELLO_NS, Contact
from antecede.membership.directory import Directory
from antecede.membership.sessions import SessionTable
from antecede.transport.peer_lifecycle import MET, RESUMING
from antecede.transport.session import Session

LOOKS_PER_SILENCE: Final = 8
"""Peers are looked at 8 times while one is silent for as long as the policy allows."""

LOOKS_PER_ROUND: Final = 50
ROUND_NS: Final = 5_000_000_000
"""A round of pings lasts 5 s, or half of the silence if that is less; then the next one begins.
During a round peers are looked at 50 times."""

ROUNDS_SETTLE: Final = 5
"""Nobody is judged for a fifth of a round after the last answer: the network may be healing."""

IDLE_NS: Final = 30_000_000_000
IDLE_FACTOR: Final = 3
"""A peer that is silent for 30 s, or for three silences if that is less, counts as owing."""

FEWER_FACTOR: Final = 2
"""A node for which fewer are here than for the suspect waits two silences: it may be the one
that is cut off."""


@final
class Suspect:
    """A peer that has been silent for too long, as a policy sees it."""

    __slots__ = ("answered", "its_members", "members", "name", "owes", "silent_ns")

    def __init__(
        self,
        name: str,
        silent_ns: i64,
        owes: bool,
        answered: i64,
        members: i64,
        its_members: i64,
    ) -> None:
        self.name: Final = name
        self.silent_ns: Final[i64] = silent_ns
        # Whether it owes an acknowledgement of a message, or a permit that is missed.
        self.owes: Final = owes
        # How many members have answered since everybody was pinged, and how many there are; this
        # node is one of both.
        self.answered: Final[i64] = answered
        self.members: Final[i64] = members
        # How many members there were for the suspect when it was heard last; 0 if it never said.
        self.its_members: Final[i64] = its_members

    def may_be_dead(self, silence_ns: i64) -> bool:
        """Whether its silence counts for a node that asks a majority.

        An idle peer keeps nobody waiting, and one that sees more of the others is likely the one
        that is connected: both are given more time.
        """
        needed_ns = silence_ns
        if self.members < self.its_members:
            needed_ns = FEWER_FACTOR * silence_ns
        if not self.owes:
            idle_ns = IDLE_FACTOR * silence_ns
            idle_ns = idle_ns if idle_ns < IDLE_NS else IDLE_NS
            needed_ns = needed_ns if needed_ns > idle_ns else idle_ns
        return self.silent_ns >= needed_ns

    def is_outvoted(self) -> bool:
        """Whether more than half of the members have answered meanwhile."""
        return 2 * self.answered > self.members


@final
class FailureDetector:
    """Watches the peers of one node for a policy that expels who is silent."""

    __slots__ = (
        "_answered_by",
        "_changed_ns",
        "_departed",
        "_directory",
        "_expected",
        "_here",
        "_look_at_ns",
        "_looked_ns",
        "_process",
        "_round_ns",
        "_round_took_ns",
        "_sessions",
        "_silence_ns",
        "members",
        "undecided",
    )

    def __init__(self, directory: Directory, sessions: SessionTable, process: NodeProcess) -> None:
        self._directory: Final = directory
        self._sessions: Final = sessions
        self._process: Final = process
        # What the policy allows; 0: nobody is watched.
        self._silence_ns: i64 = 0
        self._look_at_ns: i64 = NEVER_NS
        self._looked_ns: i64 = 0
        # The ids of those that were here at the last look, and how many have gone since the first.
        self._here: dict[int, bool] = {}
        self._departed: i64 = 0
        # When everybody was pinged; 0: nobody is suspected.
        self._round_ns: i64 = 0
        # How long a round lasts.
        self._round_took_ns: i64 = ROUND_NS
        # How many members have answered in this round, and when the last of them was counted.
        self._answered_by: i64 = 1
        self._changed_ns: i64 = 0
        # Of whom somebody else waits for an answer that the core knows nothing of.
        self._expected: dict[str, bool] = {}
        # How many members there are for this node, itself included; 0 before it has looked.
        self.members: i64 = 0
        # How many of them had answered when a round ended without a decision; 0 if none has.
        self.undecided: i64 = 0

    def watch(self, silence_ns: i64, now_ns: i64) -> None:
        """From now on peers that are silent for `silence_ns` are suspected."""
        self._silence_ns = silence_ns
        self._look_at_ns = now_ns + silence_ns // LOOKS_PER_SILENCE
        half = silence_ns >> 1
        self._round_took_ns = half if half < ROUND_NS else ROUND_NS

    def expect(self, names: list[str]) -> None:
        """These owe an answer, whatever they have acknowledged."""
        self._expected = dict.fromkeys(names, True)

    def wake_ns(self) -> i64:
        """When to look again."""
        return self._look_at_ns

    def begin_again(self, now_ns: i64) -> None:
        """This node has slept: what waits to be read comes first, and everybody gets one ping."""
        if self._silence_ns > 0:
            self._round_ns = 0
            self._look_at_ns = now_ns + self._round_took_ns // LOOKS_PER_ROUND

    def suspects(self, now_ns: i64) -> list[Suspect]:
        """Who is suspected now; nobody if it is too early to look again."""
        if now_ns < self._look_at_ns:
            return []
        self._look_at_ns = now_ns + self._silence_ns // LOOKS_PER_SILENCE
        silent: list[Session] = []
        others: list[Session] = []
        for contact in self._directory.by_name.values():
            session = contact.session
            if not contact.is_here:
                continue
            if not contact.stranger:
                others.append(session)
            if self._is_silent(session, now_ns):
                silent.append(session)
        self._count(others, now_ns)
        if not silent:
            self._round_ns = 0
            self.undecided = 0
            return []
        self._look_at_ns = now_ns + self._round_took_ns // LOOKS_PER_ROUND
        answered = self._answered(others)
        if self._round_ns == 0 or now_ns - self._round_ns > self._round_took_ns:
            if self._round_ns > 0:
                self.undecided = answered
            self._ping_all(now_ns)
            return []
        if answered != self._answered_by:
            self._answered_by = answered
            self._changed_ns = now_ns
        if now_ns - self._changed_ns < self._round_took_ns // ROUNDS_SETTLE:
            if 2 * answered > self.members:
                self._ask_again(silent, now_ns)
            return []
        return [
            Suspect(
                session.name,
                now_ns - session.lifecycle.heard_ns,
                self._owes(session),
                answered,
                self.members,
                self._its_members(session),
            )
            for session in silent
        ]

    def _count(self, others: list[Session], now_ns: i64) -> None:
        """Count the members, and those that have gone since others said how many they see."""
        here: dict[int, bool] = {}
        for session in others:
            here[session.id] = True
        for known in self._here:
            if known not in here:
                self._departed += 1
        self._here = here
        self.members = 1 + len(others)
        for session in others:
            session.lifecycle.count_members(self.members, self._departed, self._looked_ns)
        self._looked_ns = now_ns

    def _its_members(self, session: Session) -> i64:
        """How many a peer would see now: those that have gone since it was heard are gone for it.

        Otherwise whoever dies after another would be given twice the time.
        """
        lifecycle = session.lifecycle
        if lifecycle.its_members == 0:
            return 0
        left = lifecycle.its_members - (self._departed - lifecycle.departed_then)
        return left if left > 1 else 1

    def _is_silent(self, session: Session, now_ns: i64) -> bool:
        """Whether a peer has not been heard for too long, though it had something to answer."""
        lifecycle = session.lifecycle
        if now_ns - lifecycle.heard_ns < self._silence_ns:
            return False
        return lifecycle.phase == RESUMING or session.channel.path.in_flight.eliciting > 0

    def _owes(self, session: Session) -> bool:
        if session.name in self._expected:
            return True
        return self._process.unacked_by(session.id) > 0 or self._process.misses(session.id)

    def _answered(self, others: list[Session]) -> i64:
        """How many members have answered since everybody was pinged, this node included."""
        answered: i64 = 1
        for session in others:
            if session.channel.path.answered_ns >= self._round_ns:
                answered += 1
        return answered

    def _ping_all(self, now_ns: i64) -> None:
        self._round_ns = self._changed_ns = now_ns
        self._answered_by = 1
        for contact in self._directory.by_name.values():
            if is_reached(contact):
                contact.session.channel.request_ping()
                self._sessions.request_write(contact.session)

    def _ask_again(self, silent: list[Session], now_ns: i64) -> None:
        """Others have just answered: the silent ones get every chance to do so as well.

        What the path does by itself may take seconds after heavy loss.
        """
        for session in silent:
            contact = self._directory.by_name[session.name]
            if is_reached(contact):
                session.channel.request_ping()
                self._sessions.request_write(session)
            elif contact.address is not None and contact.hello_at_ns > now_ns + HELLO_NS:
                contact.schedule_hello(now_ns)
                self._directory.plan_hello(contact)


def is_reached(contact: Contact) -> bool:
    """Whether datagrams can leave for a peer."""
    return contact.session.lifecycle.phase == MET
