"""Whether a journal is older than what peers have seen: restored, cut off, or running twice.

A node acknowledges and sends nothing that is not on its disk. So a peer that is met again has
delivered no more than had left for it, and who comes back has delivered no less than it had
acknowledged. If one of the two does not hold, a journal has gone back: its ids would be used for
other messages, and what was acknowledged is not sent again. That life has to end.
"""

from typing import Final, final

from mypy_extensions import i64

from antecede.core.process import NodeProcess
from antecede.durability.node_state import MET_SINCE
from antecede.membership.identity import Identity
from antecede.transport.session import Session
from antecede.wire.handshake import FORMER_IS_OVER, HAS_JOURNAL, Greeting

TWICE: Final = "its journal runs twice, from copies"


@final
class Rollbacks:
    """Compares what greetings say with what one node knows."""

    __slots__ = ("_me", "_process")

    def __init__(self, me: Identity, process: NodeProcess) -> None:
        self._me: Final = me
        self._process: Final = process

    def ours(self, session: Session, greeting: Greeting) -> str:
        """Why this node must not go on, by what a peer says it has delivered; empty if it may."""
        if not self._me.has_journal or greeting.met != self._me.incarnation:
            return ""
        sent = self._sent_to(session, greeting.incarnation)
        if greeting.delivered <= sent:
            return ""
        return (
            f"its journal is older than what {greeting.name} has seen: {greeting.name} has its "
            f"messages up to {greeting.delivered}, the journal only up to {sent}"
        )

    def theirs(self, session: Session, greeting: Greeting) -> str:
        """Why a peer that comes back must not go on; empty if it may."""
        if not greeting.flags & HAS_JOURNAL or greeting.incarnation != session.incarnation:
            return ""
        if session.ended or greeting.flags & FORMER_IS_OVER:
            return ""
        if greeting.echo != 0 and greeting.echo in session.replaced_tokens:
            # It was replaced by one that came back, and lives.
            return TWICE
        delivered = self.delivered(greeting)
        acknowledged = self._process.acknowledged(session.id)
        if delivered >= acknowledged:
            return ""
        return f"its journal went back from {acknowledged} to {delivered}"

    def delivered(self, greeting: Greeting) -> i64:
        """The last of our ids that a peer has delivered, by its greeting."""
        return greeting.delivered if greeting.met == self._me.incarnation else 0

    def _sent_to(self, session: Session, incarnation: i64) -> i64:
        """The last of our ids that can have left for that incarnation of a peer."""
        if session.incarnation != incarnation:
            return 0
        if session.sent_before != MET_SINCE:
            return session.sent_before
        return self._process.submitted_to(session.id)
