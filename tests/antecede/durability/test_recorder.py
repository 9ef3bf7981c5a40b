"""What a node with a journal writes down, and reads again."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from antecede import Message
from antecede.core.records import (
    ChangeLog,
    RecordReader,
    encode_record,
    join_records,
    split_records,
)
from antecede.durability.node_state import UnfinishedPayload
from antecede.durability.recorder import JournalRecorder, Recorder
from antecede.endpoint.inbox import Inbox
from antecede.endpoint.sender import FLUSH_BYTES
from antecede.events import Report, TooLarge
from antecede.transport.session import Session
from antecede.wire.expulsions import ExpulsionRecord
from tests.antecede.durability.crashing_group import CrashingGroup, run

ANN = 1


def read_again(recorder: JournalRecorder) -> JournalRecorder:
    """What another process makes of a snapshot."""
    again = JournalRecorder(recorder.state.name, recorder.state.order, 0)
    assert again.replay(recorder.snapshot(1, 0)) == []
    return again


def test_pieces_of_a_payload_are_not_taken_for_those_of_an_earlier_one() -> None:
    """One payload is not confirmed and half of the next one is there when a new file is begun."""
    recorder = JournalRecorder("bob", "hybrid", 7)
    recorder.deliver(ANN, "ann", b"ann", 1, b"whole", b"whole")
    recorder.on_fragment_received(ANN, b"half of the")
    again = read_again(recorder)
    assert [message.payload for message in again.unconfirmed.pending()] == [b"whole"]
    assert again.state.fragments_of(ANN) == [b"half of the"]


def sessions_inbox(recorder: JournalRecorder, limit: int) -> tuple[Session, Inbox, list[Report]]:
    """A peer, and an inbox whose payloads have this limit, as they are after a restart."""
    reports: list[Report] = []
    session = Session(ANN, "ann", 1_400, 1 << 20, limit, True, None)
    for piece in recorder.state.fragments_of(ANN):
        session.payload_assembler.add(piece, limit)
    return session, Inbox(limit, reports, recorder), reports


def test_a_payload_beyond_the_limit_takes_little_memory_and_is_refused_after_a_crash_too() -> None:
    """Its parts have no end; when the last one comes, after a crash, it does not seem whole."""
    recorder = JournalRecorder("bob", "hybrid", 7)
    session, inbox, _ = sessions_inbox(recorder, 1_000)
    for sequence in range(1, 500):
        session.payload_assembler.note_part(sequence)
        inbox.put(session, sequence, bytes(100))
    assert sum(len(piece) for piece in recorder.state.fragments_of(ANN)) <= 1_100
    again = read_again(recorder)
    session, inbox, reports = sessions_inbox(again, 1_000)
    inbox.put(session, 500, b"the end")
    assert [type(report) for report in reports] == [TooLarge]
    assert again.state.fragments_of(ANN) == []
    assert again.unconfirmed.pending() == []


def test_a_ledger_says_what_single_records_say() -> None:
    ledger = ChangeLog()
    ledger.put_deferrable(encode_record(4, [1, 300]))
    assert not ledger.urgent
    ledger.put_three(3, 1, 1 << 40, 0)
    ledger.put_four(2, 7, 0, 1, 200, b"name", b"payload" * 50)
    assert ledger.urgent
    twin = ledger.clone()
    expected = [
        encode_record(4, [1, 300]),
        encode_record(3, [1, 1 << 40, 0]),
        encode_record(2, [7, 0, 1, 200], b"name" + b"payload" * 50),
    ]
    assert split_records(ledger.take()) == expected
    assert (ledger.take(), ledger.urgent) == (b"", False)
    assert twin.urgent
    assert twin.take() == join_records(expected)
    assert RecordReader(expected[0]).numbers() == [1, 300]


def test_records_that_are_cut_short_are_not_split() -> None:
    body = join_records([b"one", b"three"])
    assert [split_records(body[:size]) is None for size in (0, 3, 6, 7, 9, len(body) - 1)] == [
        False, True, True, False, True, True,
    ]  # fmt: skip
    assert split_records(b"\xff\xff\xff\xff") is None


def test_all_that_a_handler_does_is_one_commit_however_much_it_sends() -> None:
    """Bob answers one message with more than leaves at once; his disk fails at every step."""
    answers = [bytes([number]) * (2 * FLUSH_BYTES // 40) for number in range(40)]

    def begins_with(name: str) -> list[tuple[list[str], bytes]]:
        return [(["bob"], b"ask")] if name == "ann" else []

    def passes_on(name: str, message: Message) -> list[tuple[list[str], bytes]]:
        asked = name == "bob" and message.payload == b"ask"
        return [(["ann"], answer) for answer in answers] if asked else []

    def story(crash_at: int | None) -> int:
        group = CrashingGroup(["ann", "bob"], begins_with=begins_with, passes_on=passes_on)
        group.disks["bob"].crash_at = crash_at

        async def whole() -> None:
            await group.open_all()
            await group.settle()
            assert [entry[2] for entry in group.log("bob")] == ["ask"]
            assert [entry[1] for entry in group.log("ann")] == list(range(1, 1 + len(answers)))

        run(whole())
        return group.disks["bob"].steps

    for crash_at in range(6, story(None) + 1):
        story(crash_at)


NAMES = st.sampled_from(["ann", "cat", "dan"])
IDS = st.integers(1, 6)
CALLS = st.one_of(
    st.tuples(st.just("on_peer"), IDS, NAMES, st.integers(0, 9), st.just(7), st.integers(0, 3)),
    st.tuples(st.just("on_peer_over"), IDS),
    st.tuples(st.just("on_peer_removed"), IDS),
    st.tuples(st.just("on_renumbered"), st.integers(8, 99)),
    st.tuples(
        st.just("on_expelled"),
        IDS,
        st.builds(ExpulsionRecord, NAMES, st.integers(1, 9), st.just("bob"), st.just("silent")),
    ),
    st.tuples(st.just("on_large_payload"), IDS, st.lists(IDS, max_size=3), st.integers(1, 999)),
    st.tuples(st.just("on_numbered"), IDS, IDS, IDS),
    st.tuples(st.just("on_fragment_sent"), IDS),
    st.tuples(
        st.just("on_payload_unfinished"),
        st.builds(UnfinishedPayload, st.lists(IDS), IDS, IDS, st.just(9), st.binary(max_size=9)),
    ),
    st.tuples(st.just("on_payload_withdrawn"), IDS),
    st.tuples(st.just("on_loss"), NAMES, st.lists(IDS, min_size=1, max_size=3)),
    st.tuples(st.just("on_fragment_received"), IDS, st.binary(min_size=1, max_size=9)),
    st.tuples(st.just("on_payload_dropped"), IDS),
    st.tuples(st.just("deliver"), IDS, NAMES, IDS, st.binary(max_size=9)),
    st.tuples(st.just("on_life_ended"), st.just("it has left")),
    st.tuples(st.just("on_turn_ended"), st.integers(0, 9)),
)


def tell(recorder: Recorder, name: str, arguments: list[Any]) -> None:
    """One call; a payload is delivered whole."""
    if name == "deliver":
        sender, sender_name, sequence, last = arguments
        whole = b"".join([*recorder.state.fragments_of(sender), last])
        recorder.deliver(sender, sender_name, sender_name.encode(), sequence, last, whole)
    else:
        getattr(recorder, name)(*arguments)


@given(st.lists(CALLS, max_size=30), st.integers(1, 7))
def test_what_was_written_call_by_call_is_what_a_snapshot_says(
    calls: list[tuple[object, ...]], oldest: int
) -> None:
    """Whoever reads the records of all calls knows what the recorder knows that wrote them."""
    recorder = JournalRecorder("bob", "hybrid", 7)
    written = recorder.snapshot(1, 0)
    for name, *arguments in calls:
        tell(recorder, str(name), arguments)
        written += split_records(recorder.take_changes()) or []
    recorder.on_turn_ended(9)
    written += split_records(recorder.take_changes()) or []
    again = JournalRecorder("bob", "hybrid", 0)
    assert again.replay(written) == []
    assert again.resumed
    assert again.state.ended == recorder.state.ended
    assert again.snapshot(oldest, 9) == recorder.snapshot(oldest, 9)


@given(st.lists(CALLS, max_size=10))
def test_without_a_journal_the_same_calls_keep_nothing(calls: list[tuple[object, ...]]) -> None:
    recorder = Recorder()
    for name, *arguments in calls:
        tell(recorder, str(name), arguments)
    state = recorder.state
    assert (recorder.durable, recorder.resumed) == (False, False)
    assert (recorder.take_changes(), recorder.snapshot(1, 0)) == (b"", [])
    assert not recorder.changes_are_urgent()
    assert (state.peers(), state.expulsions, state.losses.by_number) == ([], {}, {})
