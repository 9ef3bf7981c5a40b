"""Slices, judged without Spark: together they say what the oracle says of the whole."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings

from antecede.eventlog import Event
from antecede_audit.columns.arrays import dense_ranks
from antecede_audit.columns.arrow_rows import Flags, Integers
from antecede_audit.judging import ORDERS, Order, check_log, find_violations
from antecede_audit.judging import kernel_input as judging
from antecede_audit.judging.copies import Rows
from antecede_audit.judging.raw_findings import (
    BACKWARDS,
    BEFORE_SUBMISSION,
    CAUSED,
    CIRCLE,
    DISORDER,
    DUPLICATE,
    INVENTION,
    LOSS,
    MESSAGES,
    OPEN,
    SCATTERED,
    SPAN,
    VIOLATION,
)
from antecede_audit.judging.slices import (
    ClocklessJudge,
    Slice,
    SliceJudge,
    UntrustedTimes,
    judge_rows,
    with_untrusted_times,
)
from tests.antecede_audit.judging.random_logs import chaos, traced
from tests.antecede_audit.judging.random_traffic import hectic, in_traces, planted, skewed
from tests.antecede_audit.judging.stories import ALICE, BOB, CAROL, Story
from tests.antecede_audit.spark.rows_of_events import joined, rows_of
from tests.seeds import seeds

Row = dict[str, int]
Found = tuple[int, ...]
Copy = tuple[int, int, int]


def findings(rows: Rows, number: int = 0, stretch: Slice | None = None) -> list[Row]:
    """What a slice has to say."""
    found: list[Row] = SliceJudge(rows, number, stretch, ORDERS).findings().to_pylist()
    return found


@pytest.mark.parametrize("order", ORDERS)
def test_a_run_in_one_piece(order: Order) -> None:
    seen = 0
    tried = seeds(150)
    for seed in tried:
        events = in_traces(hectic(Random(seed)), Random(seed))
        rows = findings(rows_of(events))

        assert disorder(rows) == []
        assert violations(rows, order) == expected(events, order), f"seed {seed}"
        check_counts(rows, events)
        seen += len(violations(rows, order))
    assert seen > len(tried) * 2 // 3


@pytest.mark.parametrize("make", [hectic, planted])
def test_a_run_in_tiny_slices_and_its_long_flights_apart(
    make: Callable[[Random], list[Event]],
) -> None:
    long_flights = slices = 0
    tried = seeds(120)
    for seed in tried:
        random = Random(seed)
        events = in_traces(make(random), random)
        whole = rows_of(events)
        rows: list[Row] = []
        for number, stretch in enumerate(cut(events, random)):
            part = whole.chosen(is_seen(whole, stretch))
            if len(part):
                rows += findings(part, number, stretch)
                slices += 1

        assert disorder(rows) == []
        long = long_flights_of(rows, events)
        rows += judged_apart(events, long)
        for order in ORDERS:
            assert violations(rows, order) == expected(events, order), f"seed {seed}"
        long_flights += len(long)
    assert long_flights > len(tried) * 5 // 3
    assert slices > len(tried) * 25 // 3


def test_sets_too_wide_for_memory_are_judged_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    passes: list[tuple[int, int]] = []
    batches = judging.batches_of_bits

    def counted(events: judging.KernelEvents, bit: Integers, _: int) -> list[tuple[int, int]]:
        parts = batches(events, bit, 3)
        passes.extend(parts)
        return parts

    monkeypatch.setattr(judging, "batches_of_bits", counted)
    tried = seeds(100)
    for seed in tried:
        events = hectic(Random(seed))
        assert violations(findings(rows_of(events))) == expected(events), f"seed {seed}"
    assert len(passes) > len(tried) * 2


def test_runs_in_one_slice_do_not_disturb_each_other() -> None:
    logs = [hectic(Random(seed)) for seed in range(50)]
    rows = findings(joined([rows_of(log, run) for run, log in enumerate(logs)]))

    for run, log in enumerate(logs):
        assert violations([row for row in rows if row["run"] == run]) == expected(log)


def test_a_run_without_a_clock() -> None:
    seen = 0
    tried = seeds(200)
    for seed in tried:
        events = in_traces(skewed(Random(seed)), Random(seed))
        rows = ClocklessJudge(rows_of(events), 0, None, ORDERS).findings().to_pylist()

        for order in ORDERS:
            assert violations(rows, order) == expected(events, order), f"seed {seed}"
        check_counts(rows, events)
        seen += len(violations(rows))
    assert seen > len(tried) * 3 // 2


@settings(max_examples=10 * settings().max_examples)
@given(events=traced(chaos()))
def test_chaos_is_judged_as_the_oracle_does(events: list[Event]) -> None:
    rows = judge_rows(rows_of(events), 0, ORDERS).to_pylist()
    alone = ClocklessJudge(rows_of(events), 0, None, ORDERS).findings().to_pylist()

    check_counts(rows, events)
    for code, order in enumerate(ORDERS):
        assert violations(rows, order) == expected(events, order)
        assert violations(alone, order) == expected(events, order)
        verdict = check_log(events, witnesses=False, order=order)
        caused = [row["number"] for row in alone if (row["what"], row["order"]) == (CAUSED, code)]
        assert sum(caused) == len(verdict.self_causes)


@settings(max_examples=5 * settings().max_examples)
@given(events=traced(chaos()))
def test_chaos_within_a_stretch_of_a_large_run_is_judged_there(events: list[Event]) -> None:
    """All of it counts as one time, in a slice that could be one of many."""
    rows = rows_of(events)
    blurs = UntrustedTimes(start_ns=np.array([0]), end_ns=np.array([6]))
    stretch = Slice(start_ns=0, next_ns=6, end_ns=6)
    found = findings(with_untrusted_times(rows, {0: blurs}), 0, stretch)

    assert disorder(found) == []
    for order in ORDERS:
        assert violations(found, order) == expected(events, order)


def test_only_a_stretch_in_which_the_clock_is_wrong_counts_as_one_time() -> None:
    blurs = UntrustedTimes(start_ns=np.array([10, 50]), end_ns=np.array([20, 60]))
    times_ns = np.array([9, 10, 19, 20, 49, 55, 60])

    assert blurs.blurred(times_ns).tolist() == [9, 10, 10, 20, 49, 50, 60]
    assert blurs.latest(times_ns).tolist() == [9, 19, 19, 20, 49, 59, 60]


def test_only_the_run_whose_clock_is_wrong_is_named() -> None:
    good, bad = Story(), Story()
    for story, late in ((good, 5), (bad, 1)):
        story.deliver(BOB, story.send(ALICE, BOB, at=3), at=late)
    rows = joined([rows_of(good.log, 7), rows_of(bad.log, 8)])

    assert disorder(findings(rows)) == [(8, BEFORE_SUBMISSION)]


def test_a_clock_that_goes_back_is_noticed() -> None:
    story = Story()
    first, second = story.send(ALICE, BOB, at=1), story.send(CAROL, BOB, at=1)
    story.deliver(BOB, first, at=9)
    story.deliver(BOB, second, at=8)

    rows = findings(rows_of(story.log))
    assert disorder(rows) == [(0, BACKWARDS)]


def test_a_circle_of_equal_times_is_noticed() -> None:
    """Each answers what the other sent only after that answer; and one message overtakes."""
    positions = {ALICE: 0, BOB: 0}
    events = []
    for process, kind, sender, sequence in (
        (ALICE, "delivered", BOB, 1),
        (BOB, "delivered", ALICE, 1),
        (ALICE, "submitted", ALICE, 1),
        (BOB, "submitted", BOB, 1),
        (ALICE, "submitted", ALICE, 2),
        (ALICE, "submitted", ALICE, 3),
        (BOB, "delivered", ALICE, 3),
        (BOB, "delivered", ALICE, 2),
    ):
        target = BOB if sender == ALICE else ALICE
        events.append(
            Event(
                process=process,
                position=positions[process],
                kind=kind,
                sender=sender,
                sequence=sequence,
                target=target,
                time_ns=5,
            )
        )
        positions[process] += 1

    rows = findings(rows_of(events))
    assert disorder(rows) == [(0, CIRCLE)]


def test_a_submission_at_several_times_is_noticed() -> None:
    story = Story()
    message = story.send(ALICE, BOB, at=1)
    story.deliver(BOB, message, at=2)
    events = list(story.log)
    events.append(replace(events[0], position=1, target=CAROL, time_ns=3_000))

    rows = findings(rows_of(events))
    assert disorder(rows) == [(0, SCATTERED)]


def test_a_delivery_before_the_submission_is_noticed_although_the_message_is_for_another() -> None:
    story = Story()
    message = story.send(ALICE, BOB, at=5)
    story.deliver(BOB, message, at=6)
    story.deliver(CAROL, message, at=4)

    rows = findings(rows_of(story.log))
    assert disorder(rows) == [(0, BEFORE_SUBMISSION)]


def test_a_slice_says_which_positions_and_sequences_it_has() -> None:
    story = Story()
    first, second = story.send(ALICE, BOB, at=1), story.send(ALICE, BOB, at=4)
    story.deliver(BOB, first, at=2)
    story.deliver(BOB, second, at=9)
    stretch = Slice(start_ns=0, next_ns=5_000, end_ns=6_000)

    rows = findings(seen(story.log, stretch), 3, stretch)
    spans = [
        (row["process"], row["position"], row["other_position"], row["number"])
        for row in rows
        if row["what"] == SPAN
    ]
    assert spans == [(ALICE, 0, 1, 3), (BOB, 0, 0, 3)]
    sequences = [(row["sequence"], row["other_sequence"]) for row in rows if row["what"] == SPAN]
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


def is_seen(rows: Rows, stretch: Slice) -> Flags:
    seen: Flags = (rows.clock_ns >= stretch.start_ns) & (rows.clock_ns < stretch.end_ns)
    return seen


def seen(events: Iterable[Event], stretch: Slice) -> Rows:
    rows = rows_of(events)
    return rows.chosen(is_seen(rows, stretch))


def long_flights_of(rows: Sequence[Row], events: Sequence[Event]) -> set[Copy]:
    """The copies that no slice saw both ends of; what is open is otherwise as it should be."""
    opened: dict[Copy, list[Row]] = {}
    for row in rows:
        if row["what"] == OPEN:
            opened.setdefault((row["sender"], row["sequence"], row["process"]), []).append(row)
    verdict = check_log(events, witnesses=False)
    begun = {copy: [row for row in found if row["position"] >= 0] for copy, found in opened.items()}
    deliveries = {copy: sum(row["number"] for row in found) for copy, found in opened.items()}
    lost = {(*loss.message, loss.target) for loss in verdict.losses}
    twice = {(*twin.message, twin.process) for twin in verdict.duplicates}
    invented = {(*one.message, one.process) for one in verdict.inventions}
    assert lost == {copy for copy in opened if begun[copy] and not deliveries[copy]}
    unsent = {copy for copy in opened if not begun[copy]}
    assert invented <= unsent <= invented | twice
    assert {copy for copy in twice if begun.get(copy)} == {
        copy for copy in opened if begun[copy] and deliveries[copy] > 1
    }
    return {
        copy
        for copy in opened
        if begun[copy] and deliveries[copy] and begun[copy][0]["other_position"] < 0
    }


class Watching(SliceJudge):
    """Judges a whole run; only these copies can be late."""

    def __init__(self, rows: Rows, copies: set[Copy]) -> None:
        super().__init__(rows, 0, None, ORDERS)
        own = self._copies
        keys = zip(own.sender.tolist(), own.sequence.tolist(), own.process.tolist(), strict=True)
        self._own &= np.array([key in copies for key in keys], np.bool_)


def judged_apart(events: Sequence[Event], long: set[Copy]) -> list[Row]:
    """The violations with one of these copies as the late one, in the whole run."""
    rows = Watching(rows_of(events), long).findings().to_pylist()
    return [row for row in rows if row["what"] == VIOLATION]


def violations(rows: Sequence[Row], order: Order = "process") -> list[Found]:
    """For each early message the latest of the late ones, in the order of violation tables."""
    latest: dict[Found, Found] = {}
    for row in rows:
        if row["what"] == VIOLATION and row["order"] == ORDERS.index(order):
            early = row["process"], row["sender"], row["sequence"], row["time_ns"]
            late = (
                row["other_position"],
                row["other_sender"],
                row["other_sequence"],
                row["other_ns"],
            )
            latest[early] = max(latest.get(early, late), late)
    return sorted((*early, *late[1:]) for early, late in latest.items())


def expected(events: Sequence[Event], order: Order = "process") -> list[Found]:
    found = find_violations(events, witnesses=False, order=order)
    return sorted(v.row()[:7] for v in found)


def disorder(rows: Sequence[Row]) -> list[tuple[int, int]]:
    return sorted({(row["run"], row["number"]) for row in rows if row["what"] == DISORDER})


def check_counts(rows: Sequence[Row], events: Sequence[Event]) -> None:
    """Each loss, duplicate, invention and message is reported once, by whoever owns it."""
    verdict = check_log(events, witnesses=False)
    found = {
        what: len([row for row in rows if row["what"] == what])
        for what in (LOSS, DUPLICATE, INVENTION)
    }
    assert found == {
        LOSS: len(verdict.losses),
        DUPLICATE: len(verdict.duplicates),
        INVENTION: len(verdict.inventions),
    }
    counted = sum(row["number"] for row in rows if row["what"] == MESSAGES)
    assert counted == verdict.messages


@pytest.mark.parametrize("ends", [(-(1 << 62), 1 << 62), (-(1 << 63), (1 << 63) - 1), (-5, 1)])
def test_keys_as_far_apart_as_numbers_can_be_are_numbered(ends: tuple[int, int]) -> None:
    """Traces are known by hashes: the difference of two may be more than a number holds."""
    low, high = ends
    numbers, count = dense_ranks(np.array([high, low, 0, high], np.int64))
    assert (numbers.tolist(), count) == ([2, 0, 1, 2], 3)
