"""How it stands with a peer: whatever its life, the state changes only as the table allows.

A life is random: the peer is met, falls silent, is heard again, leaves, is over, restarts, is
expelled, comes back, and this node itself crashes and finds the peer in its journal. The model
below says in one line per event what the state is then.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede.durability.node_state import EXPELLED, PeerRecord
from antecede.membership.contact import NEXT, STATES, Contact, ContactState
from antecede.transport.session import Session

NEW, HERE, SILENT, AWAY = ContactState
BOB = "bob"


def session_of(local_id: int, incarnation: int) -> Session:
    """A session with an incarnation; 0: with one that nobody has met."""
    session = Session(local_id, BOB, 1_400, 1 << 20, 1 << 20, True, None)
    if incarnation > 0:
        session.restore(incarnation)
    return session


class Life:
    """A peer that things happen to, and what should be known of it."""

    def __init__(self) -> None:
        self.ids = 1
        self.incarnation = 0
        self.contact = Contact(BOB, "there", 1, 1_400, session_of(1, 0), False)
        self.state, self.expelled = NEW, False
        self.past: list[int] = []

    def met(self) -> None:
        if self.contact.session.incarnation == 0:
            self.incarnation += 1
            self.contact.session.restore(self.incarnation)
        self.contact.on_met()
        self.state, self.expelled = HERE, False

    def silent(self) -> None:
        self.contact.on_silent()
        self.state = SILENT if self.state == HERE else self.state

    def heard(self) -> None:
        self.contact.on_heard()
        self.state = HERE if self.state == SILENT else self.state

    def not_met_in_time(self) -> None:
        self.contact.on_not_met()
        self.state = AWAY if self.state == NEW else self.state

    def left(self) -> None:
        self.contact.on_left()
        self.state = AWAY

    def replaced(self) -> None:
        self._over(expelled=False)

    def expelled_for_good(self) -> None:
        self._over(expelled=True)

    def _over(self, expelled: bool) -> None:
        if self.contact.session.incarnation > 0:
            self.past.append(int(self.contact.session.incarnation))
        self.ids += 1
        self.contact.await_successor(session_of(self.ids, 0), expelled)
        self.state, self.expelled = AWAY, expelled

    def restarted(self) -> None:
        """Another incarnation comes, and takes the place of the one before in the same step."""
        self.replaced()
        self.met()

    def this_node_crashes(self) -> None:
        """Its journal knows who is expelled, who was met and who is over, and nothing else."""
        incarnation = int(self.contact.session.incarnation)
        known = PeerRecord(self.ids, BOB, incarnation, 1, EXPELLED if self.expelled else 0)
        over = self.state == AWAY and incarnation > 0
        if over:
            known.end()
        session = session_of(self.ids, incarnation)
        self.contact = Contact(BOB, "there", 1, 1_400, session, False)
        self.contact.restore(known)
        self.past = []
        if over or self.expelled:
            self.state = AWAY
        else:
            self.state = HERE if incarnation > 0 else NEW


EVENTS = [
    Life.met,
    Life.silent,
    Life.heard,
    Life.not_met_in_time,
    Life.left,
    Life.replaced,
    Life.expelled_for_good,
    Life.restarted,
    Life.this_node_crashes,
]


@given(st.lists(st.sampled_from(EVENTS), max_size=40))
def test_whatever_happens_to_a_peer_its_state_follows_the_rules(events: list[object]) -> None:
    life = Life()
    for event in events:
        assert callable(event)
        before, contact = life.contact.state, life.contact
        event(life)
        if life.contact is contact and event is not Life.restarted:
            assert life.contact.state in (before, *NEXT[before])
        assert life.contact.state == life.state
        assert life.contact.is_here == (life.state in (HERE, SILENT))
        assert life.contact.expelled == life.expelled
        assert not (life.contact.expelled and life.contact.is_here)
        assert life.contact.past_incarnations == life.past[-64:]
        assert life.contact.targets == [life.contact.session.id]


@pytest.mark.parametrize("state", ContactState)
def test_any_other_change_is_an_error_of_ours(state: ContactState) -> None:
    """Nobody becomes new again, and who is not here does not fall silent."""
    for following in ContactState:
        contact = Contact(BOB, None, 1, 1_400, session_of(1, 1), False)
        for step in {NEW: (), HERE: (HERE,), SILENT: (HERE, SILENT), AWAY: (AWAY,)}[state]:
            contact._enter(step)
        if following == state or following in NEXT[state]:
            contact._enter(following)
            assert contact.state == following
        else:
            with pytest.raises(AssertionError, match="from"):
                contact._enter(following)


def test_every_state_has_a_word() -> None:
    words = [state.name.lower() for state in ContactState]
    assert [STATES[state] for state in ContactState] == words
