"""Slices, judged without Spark: together they say what the oracle says of the whole."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings

from antecede.audit import check_log, find_violations
from antecede.pipeline.audit import findings as f
from antecede.pipeline.audit import judging
from antecede.pipeline.audit.copies import NEVER, Copies, Flags, Integers
from antecede.pipeline.audit.sequential import RunJudge
from antecede.pipeline.audit.slices import Slice, SliceJudge
from antecede.trace import Event
from tests.audit.random_logs import chaos
from tests.audit.random_traffic import hectic, planted, skewed
from tests.audit.stories import ALICE, BOB, CAROL, Story
from tests.pipeline.audit.copies_of_events import copies_of

Row = dict[str, int]
Found = tuple[int, ...]


def test_a_run_in_one_piece() -> None:
    seen = 0
    for seed in range(200):
        events = hectic(Random(seed))
        rows = SliceJudge(with_overtaken(copies_of(events)), 0, None).findings().to_pylist()

        assert disorder(rows) == []
        assert violations(rows) == expected(events), f"seed {seed}"
        check_counts(rows, events)
        seen += len(violations(rows))
    assert seen > 500


@pytest.mark.parametrize("make", [hectic, planted])
def test_a_run_in_tiny_slices_and_its_long_flights_apart(
    make: Callable[[Random], list[Event]],
) -> None:
    long_flights = slices = 0
    for seed in range(120):
        random = Random(seed)
        events = make(random)
        copies = with_overtaken(copies_of(events))
        rows: list[Row] = []
        for number, stretch in enumerate(cut(events, random)):
            part = copies.chosen(is_seen(copies, stretch))
            if len(part):
                judge = SliceJudge(with_overtaken(part), number, stretch)
                rows += judge.findings().to_pylist()
                slices += 1

        assert disorder(rows) == []
        check_counts(rows, events)
        long = {copy_of(row) for row in rows if row["what"] == f.LONG}
        rows += judged_apart(copies, long)
        assert violations(rows) == expected(events), f"seed {seed}"
        long_flights += len(long)
    assert long_flights > 200
    assert slices > 1_000


def test_sets_too_wide_for_memory_are_judged_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    passes: list[tuple[int, int]] = []
    batches = judging.batches_of_bits

    def counted(events: judging.Events, bit: Integers, _: int) -> list[tuple[int, int]]:
        parts = batches(events, bit, 3)
        passes.extend(parts)
        return parts

    monkeypatch.setattr(judging, "batches_of_bits", counted)
    for seed in range(100):
        events = hectic(Random(seed))
        rows = SliceJudge(with_overtaken(copies_of(events)), 0, None).findings().to_pylist()

        assert violations(rows) == expected(events), f"seed {seed}"
    assert len(passes) > 200


def test_runs_in_one_slice_do_not_disturb_each_other() -> None:
    logs = [hectic(Random(seed)) for seed in range(50)]
    copies = Copies.joined([copies_of(log, run) for run, log in enumerate(logs)])
    rows = SliceJudge(with_overtaken(copies), 0, None).findings().to_pylist()

    for run, log in enumerate(logs):
        assert violations([row for row in rows if row["run"] == run]) == expected(log)


def test_a_run_without_a_clock() -> None:
    seen = 0
    for seed in range(200):
        events = skewed(Random(seed))
        rows = RunJudge(copies_of(events)).findings().to_pylist()

        assert violations(rows) == expected(events), f"seed {seed}"
        check_counts(rows, events)
        seen += len(violations(rows))
    assert seen > 300


@settings(max_examples=10 * settings().max_examples)
@given(events=chaos())
def test_chaos_is_judged_as_the_oracle_does_or_sent_on(events: list[Event]) -> None:
    copies = copies_of(events)
    verdict = check_log(events, witnesses=False)
    rows = RunJudge(copies).findings().to_pylist()

    assert violations(rows) == expected(events)
    check_counts(rows, events)
    caused = sum(row["number"] for row in rows if row["what"] == f.CAUSED)
    assert caused == len(verdict.self_causes)
    rows = SliceJudge(with_overtaken(copies), 0, None).findings().to_pylist()
    assert disorder(rows) or violations(rows) == expected(events)


def test_only_the_run_whose_clock_is_wrong_is_sent_on() -> None:
    good, bad = Story(), Story()
    for story, late in ((good, 5), (bad, 1)):
        story.deliver(BOB, story.send(ALICE, BOB, at=3), at=late)
    copies = Copies.joined([copies_of(good.log, 7), copies_of(bad.log, 8)])

    assert disorder(SliceJudge(copies, 0, None).findings().to_pylist()) == [
        (8, f.BEFORE_SUBMISSION)
    ]


def test_a_clock_that_goes_back_is_noticed() -> None:
    story = Story()
    first, second = story.send(ALICE, BOB, at=1), story.send(CAROL, BOB, at=1)
    story.deliver(BOB, first, at=9)
    story.deliver(BOB, second, at=8)

    rows = SliceJudge(copies_of(story.log), 0, None).findings().to_pylist()
    assert disorder(rows) == [(0, f.BACKWARDS)]


def test_a_circle_of_equal_times_is_noticed() -> None:
    """Each answers what the other sent only after that answer."""
    positions = {ALICE: 0, BOB: 0}
    events = []
    for process, kind, sender in (
        (ALICE, "delivered", BOB),
        (BOB, "delivered", ALICE),
        (ALICE, "submitted", ALICE),
        (BOB, "submitted", BOB),
    ):
        target = BOB if sender == ALICE else ALICE
        events.append(
            Event(
                process=process,
                position=positions[process],
                kind=kind,
                sender=sender,
                sequence=1,
                target=target,
                time_ns=5,
            )
        )
        positions[process] += 1

    rows = SliceJudge(copies_of(events), 0, None).findings().to_pylist()
    assert disorder(rows) == [(0, f.CIRCLE)]


def test_a_submission_at_several_times_is_noticed() -> None:
    story = Story()
    message = story.send(ALICE, BOB, at=1)
    story.deliver(BOB, message, at=2)
    events = list(story.log)
    events.append(replace(events[0], position=1, target=CAROL, time_ns=3_000))

    rows = SliceJudge(copies_of(events), 0, None).findings().to_pylist()
    assert disorder(rows) == [(0, f.SCATTERED)]


def test_a_delivery_before_the_submission_is_noticed_although_the_message_is_for_another() -> None:
    story = Story()
    message = story.send(ALICE, BOB, at=5)
    story.deliver(BOB, message, at=6)
    story.deliver(CAROL, message, at=4)

    rows = SliceJudge(copies_of(story.log), 0, None).findings().to_pylist()
    assert disorder(rows) == [(0, f.BEFORE_SUBMISSION)]


def test_a_slice_says_which_positions_and_sequences_it_has() -> None:
    story = Story()
    first, second = story.send(ALICE, BOB, at=1), story.send(ALICE, BOB, at=4)
    story.deliver(BOB, first, at=2)
    story.deliver(BOB, second, at=9)
    stretch = Slice(start_ns=0, next_ns=5_000, end_ns=6_000)

    rows = SliceJudge(copies_of(story.log), 3, stretch).findings().to_pylist()
    spans = [
        (row["process"], row["position"], row["other_position"], row["number"])
        for row in rows
        if row["what"] == f.SPAN
    ]
    assert spans == [(ALICE, 0, 1, 3), (BOB, 0, 0, 3)]
    sequences = [(row["sequence"], row["other_sequence"]) for row in rows if row["what"] == f.SPAN]
    assert sequences[0] == (1, 2)
    assert sequences[1][0] > sequences[1][1]


def cut(events: Sequence[Event], random: Random) -> list[Slice]:
    """Slices of random length and overlap over the whole time of a run."""
    length, overlap = random.randint(1, 40), random.randint(0, 20)
    times_ns = [event.time_ns for event in events] or [0]
    return [
        Slice(start_ns=start, next_ns=start + length, end_ns=start + length + overlap)
        for start in range(min(times_ns), max(times_ns) + 1, length)
    ]


def is_seen(copies: Copies, stretch: Slice) -> Flags:
    seen = np.zeros(len(copies), np.bool_)
    for position, time_ns in (
        (copies.submitted_position, copies.submitted_ns),
        (copies.delivered_position, copies.delivered_ns),
    ):
        seen |= (position != NEVER) & (time_ns >= stretch.start_ns) & (time_ns < stretch.end_ns)
    return seen


def with_overtaken(copies: Copies) -> Copies:
    """What the window function does, step by step."""
    overtaken = np.zeros(len(copies), np.int64)
    latest: dict[tuple[int, int], int] = {}
    for copy in np.argsort(copies.delivered_position):
        if copies.delivered_position[copy] == NEVER:
            continue
        place = int(copies.run[copy]), int(copies.process[copy])
        sent_ns = int(copies.submitted_ns[copy])
        if copies.submitted_position[copy] == NEVER:
            sent_ns = 1 << 62
        overtaken[copy] = latest.get(place, -1) >= sent_ns
        latest[place] = max(latest.get(place, -1), sent_ns)
    return replace(copies, overtaken=overtaken)


def judged_apart(copies: Copies, long: set[tuple[int, int, int]]) -> list[Row]:
    """The violations with one of these copies as the late one, in the whole run."""
    keys = zip(copies.sender, copies.sequence, copies.process, strict=True)
    watched = np.array([key in long for key in keys], np.int64)
    judge = SliceJudge(replace(copies, overtaken=watched * copies.overtaken), 0, None)
    return [row for row in judge.findings().to_pylist() if row["what"] == f.VIOLATION]


def violations(rows: Sequence[Row]) -> list[Found]:
    """For each early message the latest of the late ones, in the order of violation tables."""
    latest: dict[Found, Found] = {}
    for row in rows:
        if row["what"] == f.VIOLATION:
            early = row["process"], row["sender"], row["sequence"], row["time_ns"]
            late = (
                row["other_position"],
                row["other_sender"],
                row["other_sequence"],
                row["other_ns"],
            )
            latest[early] = max(latest.get(early, late), late)
    return sorted((*early, *late[1:]) for early, late in latest.items())


def expected(events: Sequence[Event]) -> list[Found]:
    return sorted(v.row()[:7] for v in find_violations(events, witnesses=False))


def disorder(rows: Sequence[Row]) -> list[tuple[int, int]]:
    return sorted({(row["run"], row["number"]) for row in rows if row["what"] == f.DISORDER})


def copy_of(row: Row) -> tuple[int, int, int]:
    return row["sender"], row["sequence"], row["process"]


def check_counts(rows: Sequence[Row], events: Sequence[Event]) -> None:
    """Each loss, duplicate, invention and message is reported once, by whoever owns it."""
    verdict = check_log(events, witnesses=False)
    found = {
        what: len([row for row in rows if row["what"] == what])
        for what in (f.LOSS, f.DUPLICATE, f.INVENTION)
    }
    assert found == {
        f.LOSS: len(verdict.losses),
        f.DUPLICATE: len(verdict.duplicates),
        f.INVENTION: len(verdict.inventions),
    }
    counted = sum(row["number"] for row in rows if row["what"] == f.MESSAGES)
    assert counted == verdict.messages
