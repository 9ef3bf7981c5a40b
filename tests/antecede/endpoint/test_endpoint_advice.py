"""Peers tell each other whom they wait for: a chain reaches its beginning, and decides nothing."""

import pytest
from librt.strings import BytesWriter

from antecede.core import RemoteError
from antecede.endpoint.endpoint import Endpoint
from antecede.transport.advice import FRESH_NS
from antecede.transport.session import Session
from antecede.wire.advice import SILENT_MS_MAX, Advice, read_waiting, write_waiting
from antecede.wire.frames import WAITING
from antecede.wire.handshake import NAME_LIMIT
from antecede.wire.varint import WireReader, write_varint
from tests.antecede.endpoint.endpoints import ANN, BOB, CAT, DAN, EVE, SECOND, Group, session_of

FRAME_MOST = 256


def written(name: str, silent_ns: int) -> bytes:
    writer = BytesWriter()
    write_waiting(writer, Advice(name, silent_ns))
    return writer.getvalue()


def told(node: Endpoint, by: str, now_ns: int) -> tuple[str, int] | None:
    """Whom a peer has said that it waits for, and for how many seconds that one was silent."""
    taken = node.waiting_for.advice_of(session_of(node, by), now_ns)
    if taken is None:
        return None
    silent_ns = taken.silence_ns(now_ns, node.waiting_for.silent_ns)
    return taken.advice.name, round(silent_ns / SECOND)


def chained(group: Group) -> None:
    """Ann multicasts to Bob and Cat; Cat is gone; Bob, who has read it, writes to Dan."""
    group.run_for(SECOND)
    group.kill(CAT)
    group.send(ANN, [BOB, CAT], b"x")
    group.run_until(lambda: group.payloads(BOB) == [b"x"])
    group.send(BOB, [DAN], b"y")


def test_who_asks_in_vain_is_told_for_whom_the_other_waits() -> None:
    group = Group([ANN, BOB, CAT, DAN])
    chained(group)
    bob = group.nodes[BOB]
    group.run_for(8 * SECOND)
    name, seconds = told(bob, ANN, group.now_ns) or ("", 0)
    assert name == CAT
    assert seconds >= 8
    assert group.payloads(DAN) == []
    assert session_of(group.nodes[ANN], BOB).waits.asked == 1
    assert told(group.nodes[ANN], BOB, group.now_ns) is None, "nobody asks Bob for anything"


def test_of_several_who_do_not_answer_the_one_is_named_that_has_been_silent_for_longest() -> None:
    group = Group([ANN, BOB, CAT, DAN, EVE])
    group.run_for(SECOND)
    group.kill(EVE)
    group.run_for(4 * SECOND)
    group.kill(CAT)
    group.send(ANN, [BOB, CAT, EVE], b"x")
    group.run_until(lambda: group.payloads(BOB) == [b"x"])
    group.send(BOB, [DAN], b"y")
    group.run_for(8 * SECOND)
    assert (told(group.nodes[BOB], ANN, group.now_ns) or ("", 0))[0] == EVE


def test_a_node_that_is_said_to_be_waited_for_waits_for_nobody() -> None:
    """A peer that names us tells us nothing: we know best what we wait for."""
    group = Group([ANN, BOB])
    group.run_for(SECOND)
    bob = group.nodes[BOB]
    bob.waiting_for.take(session_of(bob, ANN), Advice(BOB, 9 * SECOND), group.now_ns)
    assert told(bob, ANN, group.now_ns) is None


def test_advice_rides_with_the_acknowledgement_and_is_not_acknowledged_itself() -> None:
    """It costs no datagram: as many leave as to a peer of an older version."""
    sent = []
    for version in (2, 3):
        group = Group([ANN, BOB, CAT, DAN])
        group.run_for(SECOND)
        session_of(group.nodes[ANN], BOB).version = version
        chained(group)
        group.run_for(20 * SECOND)
        sent.append(group.datagrams_sent())
    assert sent[0] == sent[1]


def test_a_peer_of_an_older_version_is_told_nothing() -> None:
    group = Group([ANN, BOB, CAT, DAN])
    group.run_for(SECOND)
    session_of(group.nodes[ANN], BOB).version = 2
    chained(group)
    group.run_for(8 * SECOND)
    assert session_of(group.nodes[ANN], BOB).waits.asked == 1
    assert session_of(group.nodes[ANN], BOB).waits.due is None
    assert told(group.nodes[BOB], ANN, group.now_ns) is None


def test_advice_is_forgotten_and_who_was_heard_lately_is_not_called_silent() -> None:
    group = Group([ANN, BOB])
    group.run_for(SECOND)
    bob = group.nodes[BOB]
    ann = session_of(bob, ANN)
    bob.waiting_for.take(ann, Advice(CAT, SECOND), 0)
    assert told(bob, ANN, 30 * SECOND) == (CAT, 1), "Cat may have been heard since"
    bob.waiting_for.take(ann, Advice(CAT, 4 * SECOND), 0)
    assert told(bob, ANN, 30 * SECOND) == (CAT, 34)
    assert told(bob, ANN, FRESH_NS) is None


def test_since_when_the_same_one_was_named() -> None:
    group = Group([ANN, BOB])
    bob = group.nodes[BOB]
    ann = session_of(bob, ANN)

    def since(name: str, now_ns: int) -> int:
        bob.waiting_for.take(ann, Advice(name, 0), now_ns)
        assert ann.waits.taken is not None
        return int(ann.waits.taken.since_ns)

    assert since(CAT, 1) == 1
    assert since(CAT, 5) == 1
    assert since(DAN, 7) == 7
    assert since(CAT, 9) == 9
    assert since(CAT, 9 + FRESH_NS) == 9 + FRESH_NS


def test_nobody_waits_for_what_was_never_sent_to_him() -> None:
    """A peer that asks for the permit of a message it cannot know is not counted as waiting."""
    group = Group([ANN, BOB])
    group.run_for(SECOND)
    ann = group.nodes[ANN]
    bob: Session = session_of(ann, BOB)
    ann.waiting_for.asked(bob, 1 << 50, group.now_ns)
    assert bob.waits.asked == 0
    assert not ann.waiting_for.is_asking(bob)


def test_a_permit_that_was_given_is_not_waited_for() -> None:
    group = Group([ANN, BOB, CAT, DAN])
    chained(group)
    group.run_for(8 * SECOND)
    ann = group.nodes[ANN]
    bob = session_of(ann, BOB)
    assert ann.waiting_for.is_asking(bob)
    ann.expel(CAT, "gone", group.now_ns)
    group.run_until(lambda: group.payloads(DAN) == [b"y"])
    assert not ann.waiting_for.is_asking(bob)


@pytest.mark.parametrize("name", ["c", "n" * NAME_LIMIT, "ü" * (NAME_LIMIT // 2)])
@pytest.mark.parametrize("silent_ns", [0, 1_500_000_000, (1 << 62) - 1])
def test_what_was_written_is_read(name: str, silent_ns: int) -> None:
    data = written(name, silent_ns)
    assert data[0] == WAITING
    assert len(data) <= FRAME_MOST
    advice = read_waiting(WireReader(data, 1))
    assert advice.name == name
    assert advice.silent_ns == min(silent_ns // 1_000_000, SILENT_MS_MAX) * 1_000_000


def hostile(silent_ms: int, name: bytes, size: int | None = None) -> bytes:
    writer = BytesWriter()
    write_varint(writer, len(name) if size is None else size)
    writer.write(name)
    write_varint(writer, silent_ms)
    return writer.getvalue()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (hostile(SILENT_MS_MAX + 1, b"cat"), "a silence of"),
        (hostile(0, b""), "nobody"),
        (hostile(0, b"n" * (NAME_LIMIT + 1)), "201 bytes"),
        (hostile(0, b"\xff"), "not UTF-8"),
        (hostile(0, b"\x1b[2J"), "no terminal"),
        (hostile(0, b"cat", 9), "9 bytes were announced"),
        (hostile(0, b"cat")[:-1], "ends too early"),
        (b"", "ends too early"),
    ],
)
def test_advice_that_makes_no_sense_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(RemoteError, match=reason):
        read_waiting(WireReader(data))
