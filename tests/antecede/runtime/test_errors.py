"""Errors of the live runtime: what they say, and what a program can read from them."""

import pickle

import pytest

from antecede.core.errors import AntecedeError, BufferFull, LocalError
from antecede.runtime import errors
from antecede.runtime.errors import (
    BadConfiguration,
    BadPayload,
    CannotBind,
    JoinFailed,
    KeyNeeded,
    MissingExtra,
    NodeClosed,
    NotInRoom,
    PayloadTooLarge,
    PeerAway,
    PeerGone,
    RequestFailed,
    Stranded,
    TimedOut,
    TraceFailed,
    Undelivered,
    UnknownPeer,
    WouldDeadlock,
    WrongProcess,
    WrongThread,
)

SAMPLES: list[tuple[AntecedeError, str]] = [
    (BadConfiguration("setting 'mtu': 3 is out of range"), "setting 'mtu': 3 is out of range"),
    (
        UnknownPeer("bbo", ["alice", "bob"]),
        "no peer is called 'bbo' (did you mean 'bob'?); this node knows 'alice', 'bob'. "
        "Introduce a peer with peers={...} or add_peer()",
    ),
    (UnknownPeer("x"), "no peer is called 'x'; this node knows nobody yet. Introduce"),
    (PeerAway("bob"), "'bob' is away: it has left, was expelled or was never met, and nobody else"),
    (
        PayloadTooLarge(70_000_000, 64 << 20),
        "a payload of 70,000,000 bytes is larger than payload_limit, 64MiB; send it in parts",
    ),
    (NotInRoom("lobby"), "not in the room 'lobby': join it with"),
    (JoinFailed("lobby", "alice: it has left"), "the room 'lobby' could not be joined: alice: it"),
    (NodeClosed("alice"), "node 'alice' is closed: it sends and delivers nothing more; open"),
    (WrongThread("alice"), "node 'alice' belongs to the thread that opened it: call it there"),
    (WrongProcess("alice"), "this one was forked from that: open a node of another name here"),
    (WouldDeadlock("alice"), "return first and send from a task, use try_send()"),
    (
        CannotBind("h:1", "in use"),
        "cannot listen at h:1: in use; choose another address, or port 0",
    ),
    (
        MissingExtra("nats"),
        "this needs the client of a NATS broker (nats is missing); install it",
    ),
    (
        KeyNeeded("it listens at 0.0.0.0:9000"),
        "it listens at 0.0.0.0:9000, and beyond this machine a node needs a key. Make one",
    ),
    (
        BadPayload("bob", 7, "not JSON"),
        "message 7 of 'bob' cannot be decoded: not JSON; all nodes must use the same codec.",
    ),
    (
        RequestFailed("bob", "refused", "not today"),
        "no reply from 'bob', which refuses: not today",
    ),
    (
        RequestFailed("bob", "timed out", "perhaps it will still be handled", 2),
        "no reply from 'bob' within 2.00 s: perhaps it will still be handled",
    ),
    (
        TimedOut("flush()", 0.25, "'bob' (3 messages)"),
        "flush() did not finish within 250 ms: 'bob' (3 messages). Call it again",
    ),
    (TimedOut("receive()", 2), "receive() did not finish within 2.00 s. Call it again"),
    (
        Stranded(["bob", "carol"], 10),
        "left without a bye from 'bob', 'carol' within 10.0 s: what they had not yet got is lost",
    ),
    (
        Stranded(["bob"], 1, ["bob refuses: this is bobby, not bob"]),
        "within 1.00 s (bob refuses: this is bobby, not bob): what they had not yet got is lost",
    ),
    (
        Undelivered({"bob": 1200, "carol": 1}),
        "messages can no longer be delivered: 1,200 to 'bob', 1 to 'carol'. Their targets",
    ),
    (Undelivered({"bob": 1}, {"bob": "too large"}), "delivered: 1 to 'bob' (too large). The event"),
    (TraceFailed("disk full", 5), "the event log stopped: disk full; 5 events were not written."),
]


@pytest.mark.parametrize(("error", "words"), SAMPLES)
def test_an_error_says_what_happened_and_what_to_do(error: AntecedeError, words: str) -> None:
    assert words in str(error)


def test_every_error_has_a_sample_here() -> None:
    kinds = {type(error) for error, _ in SAMPLES}
    exported = [getattr(errors, name) for name in errors.__all__]
    own = {thing for thing in exported if thing.__module__ == errors.__name__}

    assert kinds == own


@pytest.mark.parametrize(("error", "words"), SAMPLES)
def test_an_error_survives_the_way_to_another_process(error: AntecedeError, words: str) -> None:
    copy = pickle.loads(pickle.dumps(error))

    assert (type(copy), copy.args, str(copy)) == (type(error), error.args, str(error))
    assert words in str(copy)


def test_names_and_numbers_are_there_for_programs() -> None:
    assert UnknownPeer("x", ["y"]).known == ("y",)
    assert (PayloadTooLarge(5, 4).size, PayloadTooLarge(5, 4).limit) == (5, 4)
    assert Stranded(["bob"], 1.5).names == ("bob",)
    assert Undelivered({"bob": 2}).counts == {"bob": 2}
    assert TimedOut("flush()", 1.0, "bob").waiting_for == "bob"


def test_what_the_caller_can_mend_is_a_local_error() -> None:
    mendable = {type(error) for error, _ in SAMPLES if isinstance(error, LocalError)}

    assert mendable == {
        BadConfiguration,
        UnknownPeer,
        PeerAway,
        PayloadTooLarge,
        NodeClosed,
        NotInRoom,
        WouldDeadlock,
        CannotBind,
        MissingExtra,
        KeyNeeded,
        WrongProcess,
        WrongThread,
    }


def test_errors_fit_the_handlers_people_write() -> None:
    assert issubclass(PeerAway, PeerGone), "the former name"
    assert issubclass(WouldDeadlock, BufferFull)
    assert issubclass(TimedOut, TimeoutError)
