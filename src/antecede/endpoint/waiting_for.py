"""Who waits for whom, beyond what this node sees itself: advice that is given and taken.

A peer that asks for a permit it cannot have yet is told whom that waits for: somebody who has not
acknowledged an older message of ours. Chains are no longer than that, because an acknowledgement
waits for nobody: it is given when a message is delivered, which needs no permit. It is advice: it
decides nothing, and if it is lost the next ask brings another.
"""

from typing import Final, final

from mypy_extensions import i64

from antecede.core.process import NodeProcess
from antecede.membership.sessions import SessionTable
from antecede.transport.advice import TakenAdvice
from antecede.transport.session import Session
from antecede.wire.advice import Advice
from antecede.wire.handshake import ADVICE_VERSION


@final
class WaitingFor:
    """What one node tells its peers, and what they have told it."""

    __slots__ = ("_me", "_process", "_sessions", "silent_ns")

    def __init__(
        self, me: str, process: NodeProcess, sessions: SessionTable, silent_ns: i64
    ) -> None:
        self._me: Final = me
        self._process: Final = process
        self._sessions: Final = sessions
        # After how long without a word a peer is silent.
        self.silent_ns: Final[i64] = silent_ns

    # What waits here.

    def oldest(self) -> int:
        """The id of our oldest message that somebody has not delivered yet, or of the next one."""
        return int(self._process.oldest_unacked())

    def owes(self, session: Session) -> bool:
        """Whether a peer owes an acknowledgement of a message, or a permit that is missed."""
        process = self._process
        return process.unacked_by(session.id) > 0 or process.misses(session.id)

    def acknowledged(self, session: Session) -> int:
        """The last of our ids that a peer has acknowledged."""
        return self._process.acknowledged(session.id)

    def unacknowledged(self) -> list[Session]:
        """The peers that owe an acknowledgement of a message that has left for them."""
        process = self._process
        held = {int(one.target): one.first for one in process.waiting()}
        found: list[Session] = []
        for session in self._sessions.by_id.values():
            if session.is_here() and process.unacked_by(session.id) > 0:
                first = held.get(int(session.id))
                if first is None or process.oldest_owed(session.id) < first:
                    found.append(session)
        return found

    # What is told, and what is taken.

    def asked(self, session: Session, lowest: i64, now_ns: i64) -> None:
        """A peer has asked for the permit of our message `lowest`: if it has to wait, say why."""
        session.waits.on_asked(0)
        process = self._process
        if process.frontier(session.id) >= lowest or process.submitted_to(session.id) < lowest:
            return
        session.waits.on_asked(lowest)
        if session.version >= ADVICE_VERSION:
            session.waits.tell(self.hindering(session, now_ns))

    def is_asking(self, session: Session) -> bool:
        """Whether a peer has asked for a permit and is still without it."""
        return session.waits.asked > 0 and self._process.frontier(session.id) < session.waits.asked

    def hindering(self, session: Session, now_ns: i64) -> Advice | None:
        """Whom the permit that a peer has asked for waits for; of several the longest quiet."""
        found: Advice | None = None
        for process in self._process.hindered_by(session.id, session.waits.asked):
            other = self._sessions.by_id.get(process)
            if other is None or other.name == session.name:
                continue
            silent_ns = now_ns - other.lifecycle.heard_ns
            if found is None or silent_ns > found.silent_ns:
                found = Advice(other.name, silent_ns)
        return found

    def take(self, session: Session, advice: Advice, now_ns: i64) -> None:
        """A peer says whom it waits for."""
        session.waits.take(advice, now_ns)

    def advice_of(self, session: Session | None, now_ns: i64) -> TakenAdvice | None:
        """What a peer has lately said; None if it has not, or waits for this node itself."""
        taken = None if session is None else session.waits.taken
        if taken is None or not taken.is_fresh(now_ns) or taken.advice.name == self._me:
            return None
        return taken
