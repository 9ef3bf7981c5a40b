"""What stands on a screen, and what is missing there."""

import pytest

from antecede.core.errors import RemoteError
from antecede_cli.messaging.chat_session import ChatRoom, Line

ALL = ["alice", "bob", "carol"]


def others(name: str) -> list[str]:
    return [other for other in ALL if other != name]


def test_an_answer_that_comes_first_is_marked() -> None:
    alice, bob, carol = (ChatRoom(name) for name in ALL)
    question = alice.write("Where is she?", others("alice"))
    alice.said("Where is she?", 1, others("alice"))
    bob.heard("alice", 1, question)
    answer = bob.write("Here.", others("bob"))

    assert carol.heard("bob", 1, answer) == Line(
        sender="bob", sequence=1, text="Here.", missing=("alice", 1)
    )
    assert carol.heard("alice", 1, question) == Line(
        sender="alice", sequence=1, text="Where is she?"
    )


def test_an_answer_in_its_place_is_not_marked() -> None:
    alice, bob, carol = (ChatRoom(name) for name in ALL)
    question = alice.write("Where is she?", others("alice"))
    for reader in (bob, carol):
        assert reader.heard("alice", 1, question).missing is None
    answer = bob.write("Here.", others("bob"))
    bob.said("Here.", 1, others("bob"))

    for reader in (alice, carol):
        assert reader.heard("bob", 1, answer).missing is None


def test_what_was_not_meant_for_somebody_cannot_be_missing_there() -> None:
    """Carol came later: what was said before was not for her."""
    bob, carol = ChatRoom("bob"), ChatRoom("carol")
    bob.heard("alice", 5, ChatRoom("alice").write("Only us two.", ["bob"]))

    assert carol.heard("bob", 1, bob.write("Hello carol.", others("bob"))).missing is None


def test_the_second_line_of_one_person_follows_the_first() -> None:
    bob, carol = ChatRoom("bob"), ChatRoom("carol")
    bob.write("One.", ["carol"])
    assert bob.said("One.", 1, ["carol"]) == Line(sender="bob", sequence=1, text="One.")

    assert carol.heard("bob", 2, bob.write("Two.", ["carol"])).missing == ("bob", 1)


@pytest.mark.parametrize(
    "payload",
    [
        b"\xff",
        b"[]",
        b"7",
        b"{}",
        b'{"text": 3, "to": []}',
        b'{"text": "x", "to": [1]}',
        b'{"text": "x", "to": [], "after": 7}',
        b'{"text": "x", "to": [], "after": ["a", "b", []]}',
        b"[" * 100_000,
    ],
)
def test_what_is_not_a_message_of_a_chat_is_refused(payload: bytes) -> None:
    with pytest.raises(RemoteError, match="not a message of a chat"):
        ChatRoom("carol").heard("bob", 1, payload)
