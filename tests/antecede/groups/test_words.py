"""Words of rooms as bytes: what is written is read again, and nothing else is taken for one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede.core.errors import LocalError, RemoteError
from antecede.groups import (
    Ask,
    Complete,
    Contact,
    Gone,
    Join,
    Leave,
    Mark,
    MemberId,
    Pass,
    Publication,
    Refuse,
    RoomId,
    RoomState,
    Snapshot,
    Word,
    decode_word,
    encode_word,
)
from antecede.groups.names import ADDRESSES_MAX, KEY_BYTES_MAX, cut_reason
from antecede.groups.state import room_state
from antecede.groups.words import DIGEST_BYTES_MAX, named_in

names = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=12)
numbers = st.integers(1, (1 << 62) - 1)
rooms = st.one_of(
    st.builds(RoomId, names), st.builds(RoomId, names, names, st.integers(0, (1 << 62) - 1))
)
members = st.builds(MemberId, names, numbers, st.integers(0, 9))
contacts = st.builds(
    lambda addresses, key: Contact(tuple(addresses), key),
    st.lists(names, max_size=3),
    st.binary(max_size=KEY_BYTES_MAX),
)
counts = st.dictionaries(members, st.integers(0, 99), max_size=4)
known = st.dictionaries(members, contacts, max_size=4)
expelled = st.dictionaries(names, numbers, max_size=3)
payloads = st.binary(max_size=30)


def words_of(sender: MemberId, room: RoomId) -> st.SearchStrategy[Word]:
    """Any word of this sender."""
    said = st.tuples(members, numbers)
    items = st.one_of(
        st.builds(lambda m, n, p: Publication(room, m, n, p), members, numbers, payloads),
        st.builds(lambda m, j, c, a: Join(room, m, j, c, a), members, members, contacts, numbers),
        st.builds(lambda m: Gone(room, m), members),
    )
    return st.one_of(
        st.builds(lambda n, p: Publication(room, sender, n, p), numbers, payloads),
        st.builds(lambda c, a: Ask(room, sender, c, a), contacts, numbers),
        st.builds(lambda t, c: Join(room, sender, t[0], c, t[1]), said, contacts),
        st.builds(
            lambda t, cnt, k, left, e, n, d: Snapshot(
                room, sender, t[0], t[1], cnt, k, left, e, n, d
            ),
            said,
            counts,
            known,
            st.lists(members, max_size=3),
            expelled,
            st.integers(0, 1 << 40),
            st.binary(max_size=DIGEST_BYTES_MAX),
        ),
        st.builds(lambda t, item: Pass(room, sender, t[0], t[1], item), said, items),
        st.builds(lambda t: Mark(room, sender, t[0], t[1]), said),
        st.builds(lambda t: Complete(room, sender, t[0], t[1]), said),
        st.builds(lambda t, why: Refuse(room, sender, t[0], t[1], why), said, names),
        st.just(Leave(room, sender)),
    )


words = st.tuples(members, rooms).flatmap(lambda made: words_of(*made))
states = st.builds(
    RoomState,
    rooms,
    members,
    st.integers(0, 2),
    st.booleans(),
    st.one_of(st.just(""), names),
    st.integers(0, 99),
    known,
    st.lists(members, max_size=3),
    expelled,
    counts,
    counts,
)
changes = st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), min_size=1, max_size=3)


@given(word=words)
def test_what_is_encoded_is_decoded(word: Word) -> None:
    assert decode_word(encode_word(word), word.sender.name) == word


@given(word=words, places=changes, cut=st.integers(0, 3))
def test_mutated_bytes_are_another_word_or_refused(
    word: Word, places: list[tuple[int, int]], cut: int
) -> None:
    data = mutated(encode_word(word), places, cut)
    try:
        other = decode_word(data, word.sender.name)
    except RemoteError:
        return
    assert encode_word(other) == data


@given(data=st.binary(max_size=60))
def test_arbitrary_bytes_are_a_word_or_refused(data: bytes) -> None:
    try:
        word = decode_word(data, "alice")
    except RemoteError:
        return
    assert encode_word(word) == data


@given(state=states, places=changes, cut=st.integers(0, 3))
def test_a_state_survives_as_bytes_and_mutated_ones_are_refused_or_another(
    state: RoomState, places: list[tuple[int, int]], cut: int
) -> None:
    assert room_state(state.to_bytes()) == state
    data = mutated(state.to_bytes(), places, cut)
    try:
        other = room_state(data)
    except RemoteError:
        return
    assert other.to_bytes() == data


def mutated(data: bytes, places: list[tuple[int, int]], cut: int) -> bytes:
    """Some bytes are others, some are missing at the end."""
    changed = bytearray(data)
    for place, value in places:
        changed[place % len(data)] = value
    return bytes(changed[: max(0, len(data) - cut)])


def test_the_limits_of_a_word_are_the_callers_business() -> None:
    room, alice = RoomId("room", "alice", 1), MemberId("alice", 1, 1)
    many = Contact(("h:1",) * (ADDRESSES_MAX + 1))
    long_key = Contact((), b"k" * (KEY_BYTES_MAX + 1))
    digest = b"d" * (DIGEST_BYTES_MAX + 1)
    wrong: list[Word] = [
        Ask(room, alice, many, 1),
        Ask(room, alice, long_key, 1),
        Snapshot(room, alice, alice, 1, {}, {}, [], {}, 0, digest),
        Leave(RoomId("room", "", 3), alice),
        Leave(RoomId("r" * 201, "alice", 3), alice),
    ]
    for word in wrong:
        with pytest.raises(LocalError):
            encode_word(word)


def test_a_reason_of_any_length_and_kind_fits() -> None:
    room, alice = RoomId("room", "alice", 1), MemberId("alice", 1, 1)
    for reason in ("", "x" * 900, "two\nlines\x1b[0m", "ü" * 300, "half \ud800"):
        word = Refuse(room, alice, alice, 1, cut_reason(reason))
        assert decode_word(encode_word(word), "alice") == word


def test_those_whom_a_word_brings_are_named() -> None:
    room, alice, bob = RoomId("room", "alice", 1), MemberId("alice", 1, 1), MemberId("bob", 1, 1)
    carol, at = MemberId("carol", 1, 1), Contact(("h:1",), b"key")
    join = Join(room, alice, bob, at, 1)
    members = {alice: at, bob: at, carol: at}
    snapshot = Snapshot(room, alice, bob, 1, {}, members, [carol], {"bob": 3}, 0, b"")

    assert named_in(join) == named_in(Pass(room, alice, carol, 1, join)) == {bob: at}
    assert named_in(Ask(room, bob, at, 1)) == {bob: at}
    assert named_in(snapshot) == {alice: at}
    assert named_in(Pass(room, alice, carol, 1, Gone(room, bob))) == {}
    assert named_in(Leave(room, alice)) == {}
