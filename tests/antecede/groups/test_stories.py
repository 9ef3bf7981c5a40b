"""The runs that simpler rules of rooms fail: C1 to C6, N1 to N12, the split."""

import pytest

from antecede.core.errors import LocalError
from antecede.groups import (
    Ask,
    AskLater,
    Complete,
    Completed,
    Contact,
    Dropped,
    FetchSnapshot,
    Gone,
    Join,
    Leave,
    Mark,
    MemberId,
    Pass,
    Publication,
    Refuse,
    Refused,
    Room,
    RoomId,
    Send,
    Show,
    Snapshot,
    SplitSeen,
    answer_outside,
)
from antecede.groups.attempt import HELD_BYTES_MAX
from antecede.groups.effects import Effect
from antecede.groups.room import ABOUT_TO_LEAVE, ANOTHER_ROOM, HAS_LEFT, NO_SUCH_ROOM, TOO_MUCH
from antecede.groups.state import room_state
from tests.antecede.groups.judge import is_split, judge
from tests.antecede.groups.mutants import mutant
from tests.antecede.groups.stories import STORIES, Story
from tests.antecede.groups.world import Driver

FAILING = {
    "C1": ["what was held stays good"],
    "C2": ["what was held stays good", "publications are taken whatever their number"],
    "C3": [
        "only leaves are passed on, not expulsions",
        "what is held of those that are gone stays",
    ],
    "C4": ["what is held of those that are out stays"],
    "C5": ["an expulsion is no mark", "a hole is no matter"],
    "C6": ["only the first join of somebody is marked"],
    "N1": ["what is passed on or held is dropped if its publisher has left", "nothing is held"],
    "N2": ["what is passed on or held is dropped if its publisher has left"],
    "N3": ["reports of expulsions overtake the queue"],
    "N5": ["the view is read before the publication is submitted"],
    "N6": ["restarted members tell nobody"],
    "N7": ["what is known is not on disk when the mark leaves"],
    "N8": ["the backlog is lost in a restart"],
    "N9": ["the queue is lost in a restart"],
    "N11": ["the attempt is not on disk when the ask leaves"],
    "N12": ["publishing goes on while the state is copied"],
    "rejoin": ["who joins again is the same member"],
    "refusals": ["joiners do not mark", "who cannot sponsor says nothing"],
}
"""What the simpler rules are that a story is about."""


@pytest.mark.parametrize("name", STORIES)
def test_all_is_well_in_the_end(name: str) -> None:
    assert STORIES[name](Driver(has_bytes=True)) == []


@pytest.mark.parametrize(
    ("name", "wrong"), [(name, wrong) for name, all_wrong in FAILING.items() for wrong in all_wrong]
)
def test_a_simpler_rule_fails(name: str, wrong: str) -> None:
    assert STORIES[name](mutant(wrong)) != []


def test_every_story_is_about_a_rule() -> None:
    assert FAILING.keys() == STORIES.keys()


def test_a_split_leaves_two_groups_each_right_for_itself() -> None:
    """a and b expel each other; each has a joiner, who follows; then a and b are told, and stop."""
    story = Story(2, 2, Driver())
    story.expels("b", "a")
    story.takes("b")
    story.joins("d", "b")
    story.hears("d", "b", Ask)
    story.hears("b", "d", Join, Snapshot, Complete)
    story.do("bytes", "d")
    story.joins("c", "a")
    story.hears("c", "a", Ask)
    story.hears("a", "c", Join, Snapshot)
    story.do("bytes", "c")
    story.expels("c", "b")
    story.do("notice", "a", story.node("c").index)
    story.takes("a")
    story.hears("a", "c", Pass, Complete)
    story.do("answer", "b", story.node("c").index)
    story.do("answer", "a", story.node("d").index)
    story.says("c", "d")
    story.rests()

    assert [one.status for one in story.world.nodes] == ["told", "told", "up", "up"]
    assert is_split(story.world)
    assert judge(story.world) == []
    assert (story.members("c"), story.members("d")) == ("c", "d")
    assert (len(story.log("c")), len(story.log("d"))) == (1, 1)


# One room, without a world.

ROOM = RoomId("room", "alice", 1)
ALICE, BOB, CAROL, DAVE = (MemberId(name, 1, 1) for name in ("alice", "bob", "carol", "dave"))
HERE = Contact()


def said(member: MemberId, number: int, payload: bytes = b"") -> Publication:
    return Publication(ROOM, member, number, payload)


def joiner(*, room: RoomId = ROOM) -> Room:
    """Carol, who has asked Bob, and knows Alice."""
    made = Room(room, CAROL, HERE, {})
    assert made.ask("bob") == [Send(Ask(room, CAROL, HERE, 1), ("bob",))]
    made.on_word(Join(ROOM, BOB, CAROL, HERE, 1))
    return made


def snapshot(
    *, left: list[MemberId] | None = None, expelled: dict[str, int] | None = None
) -> Snapshot:
    known = dict.fromkeys([BOB, ALICE, DAVE, CAROL], HERE)
    return Snapshot(ROOM, BOB, CAROL, 1, {}, known, left or [], expelled or {}, 0, b"")


def shown(room: Room, effects: list[Effect]) -> list[tuple[str, int]]:
    """What the application is shown, one after the other."""
    found: list[tuple[str, int]] = []
    while effects and isinstance(effects[-1], Show):
        publication = effects[-1].publication
        found.append((publication.sender.name, int(publication.number)))
        effects = room.finished()
    return found


@pytest.mark.parametrize("gone", ["left", "expelled", "passed on"])
def test_what_comes_of_somebody_who_is_out_for_the_sponsor_is_not_held(gone: str) -> None:
    """N4: X gets out = {Alice} before it fences Alice, then gets Alice's d. Dave had d when he said
    f, which is passed on: d after it would be an effect before its cause."""
    room = joiner()
    left = [ALICE] if gone == "left" else []
    expelled = {"alice": 1} if gone == "expelled" else {}
    room.on_word(snapshot(left=left, expelled=expelled))
    if gone == "passed on":
        room.on_word(Pass(ROOM, BOB, CAROL, 1, Gone(ROOM, ALICE)))
    room.on_word(said(ALICE, 1))
    room.on_word(Pass(ROOM, BOB, CAROL, 1, said(DAVE, 1)))
    room.on_word(Complete(ROOM, BOB, CAROL, 1))

    assert shown(room, room.snapshot_fetched(1)) == [("dave", 1)]


def test_nothing_is_shown_before_the_bytes_are_there() -> None:
    room = joiner()
    assert room.on_word(snapshot()) == [FetchSnapshot(BOB, 1, 0, b"")]
    room.on_word(said(ALICE, 1))
    assert room.on_word(Complete(ROOM, BOB, CAROL, 1)) == []
    assert not room.is_complete
    with pytest.raises(LocalError):
        room.publish(b"too early")

    assert shown(room, room.snapshot_fetched(1)) == [("alice", 1)]
    assert room.is_complete


def test_bytes_that_cannot_be_had_end_the_attempt() -> None:
    room = joiner()
    room.on_word(snapshot())
    assert room.snapshot_lost(1, "no bytes") == [Refused("bob", "no bytes"), AskLater(1)]
    assert room.snapshot_fetched(1) == []
    assert room.on_word(Complete(ROOM, BOB, CAROL, 1)) == []

    (again,) = room.ask()
    assert isinstance(again, Send)
    assert (again.to, again.word) == (("alice",), Ask(ROOM, CAROL, HERE, 2))


def test_a_state_that_cannot_be_given_is_refused() -> None:
    room = Room.found(ROOM, ALICE, HERE, {})
    room.on_word(Ask(RoomId("room"), BOB, HERE, 1))
    with pytest.raises(LocalError):
        room.publish(b"while the state is copied")
    refuse = Refuse(RoomId("room"), ALICE, BOB, 1, "out of disk")

    assert room.snapshot_failed("out of disk") == [Send(refuse, ("bob",))]
    assert room.view() == ()
    assert room.publish(b"") == []


def test_another_room_of_the_same_name_is_a_split() -> None:
    """Rule 7: an ask is refused, and whoever takes us for a member is told that we are none."""
    room = Room.found(ROOM, ALICE, HERE, {})
    other = RoomId("room", "bob", 1)
    ask = Ask(other, CAROL, HERE, 1)
    refuse = Refuse(other, ALICE, CAROL, 1, ANOTHER_ROOM)

    assert room.on_word(ask) == [SplitSeen("carol", other), Send(refuse, ("carol",))]
    leave = Send(Leave(other, ALICE), ("bob",))
    assert room.on_word(Publication(other, BOB, 1, b"")) == [leave]
    assert room.on_word(Join(other, BOB, DAVE, HERE, 1)) == [leave]
    assert room.on_word(Leave(other, BOB)) == []
    assert room.members() == (ALICE,)


def test_a_joiner_that_knows_the_name_alone_takes_the_room_that_takes_it() -> None:
    room = joiner(room=RoomId("room"))
    assert room.room == ROOM
    other = RoomId("room", "dave", 9)
    room.ask("dave")

    effects = room.on_word(Join(other, DAVE, CAROL, HERE, 2))
    assert effects == [
        SplitSeen("dave", other),
        Send(Leave(other, CAROL), ("dave",)),
        Refused("dave", ANOTHER_ROOM),
        AskLater(1),
    ]


def test_who_is_not_in_a_room_says_so() -> None:
    ask, join = Ask(ROOM, BOB, HERE, 1), Join(ROOM, BOB, DAVE, HERE, 1)
    refuse = Refuse(ROOM, ALICE, BOB, 1, NO_SUCH_ROOM)

    assert answer_outside(ask, ALICE) == [Send(refuse, ("bob",))]
    assert answer_outside(join, ALICE) == [Send(Leave(ROOM, ALICE), ("bob",))]
    assert answer_outside(Leave(ROOM, BOB), ALICE) == []


def test_who_forgot_its_joiner_in_a_restart_refuses_when_the_mark_comes() -> None:
    refuse = Refuse(ROOM, ALICE, CAROL, 2, NO_SUCH_ROOM)

    assert answer_outside(Mark(ROOM, BOB, CAROL, 2), ALICE) == [Send(refuse, ("carol",))]


def test_a_sponsor_that_has_joined_again_has_left_before() -> None:
    """Bob restarted, was in no room any more, and joined again: Carol asks another."""
    again = MemberId("bob", 1, 2)
    room = joiner()
    room.on_word(snapshot())
    effects = room.on_word(Join(ROOM, ALICE, again, HERE, 1))

    assert effects == [
        Send(Ask(ROOM, CAROL, HERE, 2), ("dave",)),
        Send(Mark(ROOM, CAROL, again, 1), ("alice",)),
    ]
    room = joiner()
    later = Snapshot(ROOM, again, CAROL, 1, {}, {again: HERE}, [], {}, 0, b"")
    assert room.on_word(later) == [FetchSnapshot(again, 1, 0, b"")]
    assert room.on_word(Leave(ROOM, BOB)) == []


def test_what_was_meant_for_a_former_life_is_not_heeded() -> None:
    """Attempts of every incarnation begin at 1, and words are sent to names."""
    again = MemberId("carol", 2, 1)
    room = Room(ROOM, again, HERE, {})
    room.ask("bob")
    known = dict.fromkeys([BOB, CAROL], HERE)

    assert room.on_word(Snapshot(ROOM, BOB, CAROL, 1, {}, known, [], {}, 0, b"")) == []
    assert room.on_word(Complete(ROOM, BOB, CAROL, 1)) == []
    assert room.on_word(Refuse(ROOM, BOB, CAROL, 1, "")) == []
    assert room.snapshot_fetched(1) == []
    assert not room.is_complete
    assert room.attempt == 1


def test_who_comes_and_goes_for_ever_is_kept_once() -> None:
    """A room remembers one entry per name, whatever happened to it."""
    room = Room.found(ROOM, ALICE, HERE, {})
    for life in range(1, 4):
        for joins in range(1, 30):
            room.on_word(Ask(ROOM, MemberId("bob", life, joins), HERE, joins))
            room.snapshot_made(0, b"")
            room.on_word(said(MemberId("bob", life, joins), 1))
            room.finished()
            if joins % 2:
                room.on_word(Leave(ROOM, MemberId("bob", life, joins)))
        room.on_expelled("bob", life)

    state = room.state()
    assert (list(state.known), state.left, state.expelled) == ([ALICE], [], {"bob": 3})
    assert (state.att, state.cnt) == ({}, {})
    assert room.members() == (ALICE,)


def test_somebody_who_joined_again_is_not_let_in_as_before() -> None:
    before, again = MemberId("bob", 1, 1), MemberId("bob", 1, 2)
    room = Room.found(ROOM, ALICE, HERE, {})
    room.on_word(Ask(ROOM, again, HERE, 1))
    room.snapshot_made(0, b"")

    assert room.on_word(Ask(ROOM, before, HERE, 9)) == []
    assert room.on_word(said(before, 1)) == [Dropped(before)]
    assert room.on_word(said(before, 2)) == []
    assert room.members() == (ALICE, again)


def test_a_room_survives_as_its_state() -> None:
    """Bob sponsors nobody after a restart, and says so; his backlog comes again, once."""
    room = joiner()
    room.on_word(snapshot())
    room.on_word(said(ALICE, 1))
    room.on_word(said(DAVE, 1))
    room.on_word(Complete(ROOM, BOB, CAROL, 1))
    completed = next(one for one in room.snapshot_fetched(1) if isinstance(one, Completed))
    room.finished()

    again = Room.restored(room_state(room.state().to_bytes()), completed.backlog)
    assert again.restarted() == [Show(said(DAVE, 1))]
    assert again.finished() == []
    once_more = Room.restored(room_state(again.state().to_bytes()), completed.backlog)
    assert once_more.restarted() == []
    assert once_more.members() == room.members()


def test_who_has_to_keep_too_much_begins_again() -> None:
    room = joiner()
    room.on_word(snapshot())
    payload = bytes(HELD_BYTES_MAX // 2)
    assert room.on_word(said(ALICE, 1, payload)) == []
    effects = room.on_word(Pass(ROOM, BOB, CAROL, 1, said(DAVE, 1, payload)))

    assert effects == [Refused("bob", TOO_MUCH), AskLater(1)]
    assert room.on_word(Complete(ROOM, BOB, CAROL, 1)) == []
    assert not room.is_complete


@pytest.mark.parametrize("why", [HAS_LEFT, NO_SUCH_ROOM])
def test_who_refuses_because_it_has_left_is_not_asked_again(why: str) -> None:
    """Its leave went to those whom it knew: Carol was not among them."""
    room = joiner()
    room.on_word(snapshot())
    room.ask("alice")
    refused, ask = room.on_word(Refuse(ROOM, ALICE, CAROL, 2, why))

    assert refused == Refused("alice", why)
    assert isinstance(ask, Send)
    assert ask.word == Ask(ROOM, CAROL, HERE, 3)
    assert ask.to in (("bob",), ("dave",))
    assert room.names() == ("bob", "dave")


def test_who_refuses_for_another_reason_may_be_asked_again() -> None:
    room = joiner()
    room.on_word(snapshot())
    room.ask("alice")

    assert room.on_word(Refuse(ROOM, ALICE, CAROL, 2, ABOUT_TO_LEAVE)) == [
        Refused("alice", ABOUT_TO_LEAVE),
        AskLater(1),
    ]
    assert room.names() == ("bob", "alice", "dave")
