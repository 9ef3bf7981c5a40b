"""Messages are numbered 1, 2, 3, … per sender; that a payload takes several parts shows nowhere."""

from random import Random

import pytest

from antecede.core.errors import RemoteError
from antecede.endpoint.limits import Limits
from antecede.events import Undeliverable
from antecede.network_model.faults import Faults
from antecede.network_model.latency import Uniform
from antecede.transport.message_fragments import HISTORY, MessageNumbers
from antecede.transport.session import Session
from antecede.wire.frames import SEQUENCE_OFFSET
from antecede.wire.varint import WireReader
from tests.antecede.endpoint.endpoints import (
    ANN,
    BOB,
    CAT,
    MS,
    SECOND,
    Group,
    Post,
    address_of,
    introduce,
    make_endpoint,
    submit,
)
from tests.antecede.transport.test_frames import (
    Recorder,
    frame,
    make_session,
    message,
    reading,
    written,
)
from tests.seeds import seeds

LARGE = bytes(range(256)) * 40
"""Nine parts in datagrams of 1,400 bytes."""


def numbers(group: Group, name: str) -> list[tuple[str, int, int]]:
    """What an application has got: the sender, the number and the size of each message."""
    return [(m.sender, int(m.sequence), len(m.payload)) for m in group.got[name]]


@pytest.mark.parametrize("order", ["hybrid", "fifo"])
@pytest.mark.parametrize("seed", range(5))
def test_a_payload_in_parts_is_one_message_for_everybody(seed: int, order: str) -> None:
    """Cat gets none of the parts, and sees the same numbers as those who do."""
    faults = Faults(loss=0.2, duplication=0.1, latency=Uniform(MS, 20 * MS))
    group = Group([ANN, BOB, CAT], faults, seed=seed, order=order)
    sent = [
        group.send(ANN, [BOB], LARGE),
        group.send(ANN, [CAT], b"two"),
        group.send(ANN, [BOB, CAT, ANN], LARGE),
        group.send(ANN, [CAT], b"four"),
        group.send(ANN, [BOB], b"five"),
        group.send(ANN, [ANN], LARGE),
        group.send(ANN, [BOB, CAT], b"seven"),
    ]
    group.run_until(group.drained)
    group.run_for(SECOND)

    assert sent == [1, 2, 3, 4, 5, 6, 7]
    whole = len(LARGE)
    assert numbers(group, BOB) == [(ANN, 1, whole), (ANN, 3, whole), (ANN, 5, 4), (ANN, 7, 5)]
    assert numbers(group, CAT) == [(ANN, 2, 3), (ANN, 3, whole), (ANN, 4, 4), (ANN, 7, 5)]
    assert numbers(group, ANN) == [(ANN, 3, whole), (ANN, 6, whole)]
    group.assert_all_is_well()


@pytest.mark.parametrize("order", ["hybrid", "fifo"])
def test_what_peers_have_not_acknowledged_adds_up_to_what_is_buffered(order: str) -> None:
    """In ids as the core counts, and in numbers as applications do."""
    faults = Faults(loss=0.2, duplication=0.1, latency=Uniform(MS, 20 * MS))
    group = Group([ANN, BOB, CAT], faults, order=order)
    group.send(ANN, [BOB], LARGE)
    group.send(ANN, [BOB, CAT], b"two")
    group.send(ANN, [CAT], LARGE)
    ann = group.nodes[ANN]
    seen: set[tuple[int, ...]] = set()
    while not group.drained():
        owed = [ann.sending.messages_owed(session) for session in ann.sessions()]
        buffered = ann.sending.messages_buffered()
        assert max(owed) <= buffered <= sum(owed)
        assert buffered <= ann.buffered()
        assert (buffered == 0) == (ann.buffered() == 0)
        seen.add((buffered, *owed))
        group.run_for(MS)
    assert (3, 2, 2) in seen
    assert len(seen) > 1, "they do not all go at once"


@pytest.mark.parametrize("order", ["hybrid", "fifo"])
def test_large_messages_count_once_whoever_has_acknowledged_what(order: str) -> None:
    """Who is cut off misses what was sent since, and whoever sends counts the same."""
    for seed in seeds(20):
        random = Random(seed)
        post = Post()
        nodes = {name: post.add(name, make_endpoint(name, order=order)) for name in (ANN, BOB, CAT)}
        for name, node in nodes.items():
            for other in nodes:
                if other != name:
                    introduce(node, other, post.now_ns)
        post.pass_time(SECOND)
        ann = nodes[ANN]
        away = random.choice([[BOB], [CAT], [BOB, CAT]])
        cut_off = {address_of(name) for name in away}
        owed = {BOB: 0, CAT: 0}
        buffered = 0
        for _ in range(random.randint(1, 12)):
            targets = random.choice([[BOB], [CAT], [BOB, CAT], [BOB, CAT, ANN], [ANN]])
            submit(ann, targets, random.choice([LARGE, b"small"]), post.now_ns)
            missed = [name for name in targets if name in away]
            for name in missed:
                owed[name] += 1
            buffered += bool(missed)
            post.pass_time(
                random.choice([MS, SECOND]),
                lose=lambda letter: letter.source in cut_off or letter.target in cut_off,  # noqa: B023 - used at once
            )
            told = {session.name: ann.sending.messages_owed(session) for session in ann.sessions()}
            assert (told, ann.sending.messages_buffered()) == (owed, buffered), seed
        post.pass_time(60 * SECOND)
        assert ann.sending.messages_buffered() == 0
        assert [ann.sending.messages_owed(session) for session in ann.sessions()] == [0, 0]


def test_the_event_log_keeps_the_ids_of_the_core() -> None:
    """There each part is a message, with times and a size of its own."""
    group = Group([ANN, BOB])
    assert group.send(ANN, [BOB], LARGE) == 1
    assert group.send(ANN, [BOB], b"after") == 2
    group.run_until(group.drained)
    assert group.log is not None
    logged = [event.sequence for event in group.log if event.kind == "delivered"]
    assert logged == list(range(1, 11))


def test_numbers_come_through_in_pieces_too() -> None:
    """What was sent before the way proved narrow leaves in pieces of frames."""
    group = Group([ANN, BOB, CAT], Faults(loss=0.1), mtu=9_000)
    group.run_for(SECOND)
    group.network.largest = 1_250
    sent = [
        group.send(ANN, [CAT], LARGE * 3),
        group.send(ANN, [BOB], bytes(8_000)),
        group.send(ANN, [BOB], LARGE * 2),
        group.send(ANN, [BOB], bytes(7_000)),
    ]
    group.run_until(group.drained)
    assert sent == [1, 2, 3, 4]
    assert [number for _, number, _ in numbers(group, BOB)] == [2, 3, 4]


def test_a_payload_that_is_given_up_half_way_has_used_one_number() -> None:
    group = Group([ANN, BOB, CAT], limits=Limits(send_limit=5), log=False)
    group.run_for(SECOND)
    group.kill(BOB)
    assert group.send(ANN, [BOB], LARGE * 2) == 1
    assert not group.nodes[ANN].sending.large_is_done(), "the parts do not fit at once"
    bob = make_endpoint(BOB, incarnation=2)
    introduce(bob, ANN, group.now_ns)
    group.add(BOB, bob)
    group.run_for(5 * SECOND)

    assert group.reports(ANN)[-1] == Undeliverable(name=BOB, sequences=(1,))
    assert group.send(ANN, [BOB, CAT], b"small") == 2
    assert group.send(ANN, [BOB], LARGE) == 3
    group.run_until(group.drained)
    assert numbers(group, BOB) == [(ANN, 2, 5), (ANN, 3, len(LARGE))]
    assert numbers(group, CAT) == [(ANN, 2, 5)]


def test_reports_of_what_is_undeliverable_name_messages() -> None:
    group = Group([ANN, BOB], log=False)
    group.run_for(SECOND)
    group.kill(BOB)
    for payload in (b"one", LARGE, b"three", LARGE):
        group.send(ANN, [BOB], payload)
    bob = make_endpoint(BOB, incarnation=2)
    introduce(bob, ANN, group.now_ns)
    group.add(BOB, bob)
    group.run_for(5 * SECOND)
    assert group.reports(ANN)[-1] == Undeliverable(name=BOB, sequences=(1, 2, 3, 4))


# Numbers on their own.


def test_the_numbers_of_ids() -> None:
    numbering = MessageNumbers()
    assert [numbering.of(sequence) for sequence in (1, 5)] == [1, 5]
    assert numbering.payload(3, 6) == 3
    assert [numbering.of(sequence) for sequence in range(1, 9)] == [1, 2, 3, 3, 3, 3, 4, 5]
    assert numbering.payload(9, 10) == 6
    assert [numbering.of(sequence) for sequence in (8, 9, 10, 11)] == [5, 6, 6, 7]
    numbering.ends_with(9)
    assert [numbering.of(sequence) for sequence in (9, 10, 11)] == [6, 7, 8]


def test_numbers_are_noted_in_any_order() -> None:
    """The same whichever message comes first, for every id that was noted."""
    truth = MessageNumbers()
    for first, last in ((2, 4), (6, 9), (11, 12)):
        truth.payload(first, last)
    for start in range(13):
        noted = MessageNumbers()
        for step in range(13):
            sequence = 1 + (start + 5 * step) % 13
            noted.note(sequence, truth.of(sequence))
        assert [noted.of(s) for s in range(1, 14)] == [truth.of(s) for s in range(1, 14)]


def test_old_numbers_are_forgotten() -> None:
    numbering = MessageNumbers()
    for payload in range(10 * HISTORY):
        numbering.payload(3 * payload + 1, 3 * payload + 3)
        numbering.forget_below(3 * payload + 1)
    assert len(numbering) <= HISTORY + 1
    assert numbering.of(30 * HISTORY + 1) == 10 * HISTORY + 1


def test_a_number_holds_for_the_rest_of_its_datagram() -> None:
    session = make_session()
    data = (
        frame(SEQUENCE_OFFSET, 3)
        + written([message(5, 4), message(6, 5)])
        + frame(SEQUENCE_OFFSET, 0)
    )
    read(data + written([message(2, 1)]), session)
    read(written([message(7, 6)]), session)
    assert [session.payload_assembler.number_of(sequence) for sequence in (2, 5, 6)] == [2, 2, 3]


def read(data: bytes, session: Session) -> None:
    reading(Recorder()).read(session, WireReader(data), 1, 0)


def test_a_message_cannot_be_numbered_below_the_first() -> None:
    with pytest.raises(RemoteError, match="message 5 is said to be number 0"):
        read(frame(SEQUENCE_OFFSET, 5) + written([message(5, 4)]), make_session())
