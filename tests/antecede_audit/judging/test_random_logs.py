"""The oracle against brute force on random logs, and against faults planted in good ones."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from antecede.eventlog import Event, EventLog
from antecede_audit.judging import (
    Duplicate,
    Loss,
    MessageId,
    Order,
    Violation,
    check_log,
    explain_verdict,
    find_violations,
)
from tests.antecede_audit.judging.brute_force import BruteForce
from tests.antecede_audit.judging.random_logs import causal_runs, chaos, runs, traced

often = settings(max_examples=5 * settings().max_examples)


@often
@given(log=runs())
def test_the_oracle_agrees_with_brute_force_on_runs_that_go_wrong(log: EventLog) -> None:
    check_agreement(list(log))


@often
@given(events=chaos())
def test_the_oracle_agrees_with_brute_force_on_chaos(events: list[Event]) -> None:
    check_agreement(events)


@often
@given(events=traced(st.one_of(runs(), chaos())))
def test_the_oracle_agrees_with_brute_force_if_only_events_of_one_trace_are_ordered(
    events: list[Event],
) -> None:
    check_agreement(events, "trace")
    check_agreement(events, "process")


@given(log=runs())
def test_without_trace_ids_both_orders_are_the_same(log: EventLog) -> None:
    assert check_log(log, order="trace") == check_log(log, order="process")


@given(events=traced(runs()))
def test_whatever_is_too_early_within_a_trace_is_so_within_the_process(events: list[Event]) -> None:
    early = {(v.process, v.early) for v in find_violations(events, order="trace")}
    assert early <= {(v.process, v.early) for v in find_violations(events, order="process")}


@given(log=runs(), data=st.data())
def test_neither_the_order_of_rows_nor_the_clock_decides(
    log: EventLog, data: st.DataObject
) -> None:
    events = list(log)
    shuffled = data.draw(st.permutations(events))
    timeless = [replace(event, time_ns=0) for event in shuffled]

    assert check_log(shuffled) == check_log(events)
    assert [(v.process, v.early, v.late) for v in find_violations(timeless)] == [
        (v.process, v.early, v.late) for v in find_violations(events)
    ]


@given(events=causal_runs())
def test_nothing_is_found_in_a_causal_run(events: list[Event]) -> None:
    verdict = check_log(events)

    assert verdict.ok, explain_verdict(verdict)
    assert verdict.deliveries == len([event for event in events if event.kind == "delivered"])


@given(events=causal_runs(), data=st.data())
def test_one_planted_overtaking_is_the_one_violation_found(
    events: list[Event], data: st.DataObject
) -> None:
    pairs = [pair for pair in neighbours(events) if happens_before(events, *pair)]
    assume(pairs)
    first, second = data.draw(st.sampled_from(pairs))
    spoilt = [event for event in events if event not in (first, second)]
    late = replace(first, position=second.position, time_ns=second.time_ns)
    early = replace(second, position=first.position, time_ns=first.time_ns)

    violations = find_violations([*spoilt, late, early])

    assert [(v.process, v.early, v.late, v.held_back_ns) for v in violations] == [
        (first.process, message(early), message(late), late.time_ns - early.time_ns)
    ]
    assert not check_log([*spoilt, late, early]).ok


@given(events=causal_runs(), data=st.data())
def test_one_delivery_left_out_is_the_one_loss_found(
    events: list[Event], data: st.DataObject
) -> None:
    missing = data.draw(st.sampled_from([e for e in events if e.kind == "delivered"]))
    submitted = next(
        e
        for e in events
        if (e.kind, message(e), e.target) == ("submitted", message(missing), missing.process)
    )

    verdict = check_log([event for event in events if event != missing])

    assert verdict.findings == [
        Loss(target=missing.process, message=message(missing), submitted_ns=submitted.time_ns)
    ]


@given(events=causal_runs(), data=st.data())
def test_one_delivery_repeated_is_the_one_duplicate_found(
    events: list[Event], data: st.DataObject
) -> None:
    once = data.draw(st.sampled_from([e for e in events if e.kind == "delivered"]))
    again = replace(once, position=len(events), time_ns=99)

    verdict = check_log([*events, again])

    assert verdict.findings == [
        Duplicate(
            process=once.process,
            message=message(once),
            deliveries=2,
            first_delivered_ns=once.time_ns,
            last_delivered_ns=99,
        )
    ]


def check_agreement(events: Sequence[Event], order: Order = "process") -> None:
    """The oracle says what brute force says, and every witness is a shortest real path."""
    brute = BruteForce(events, order)
    verdict = check_log(events, order=order)
    assert sorted(violation.row() for violation in verdict.violations) == brute.violations()
    assert sorted(violation.row() for violation in verdict.fifo_breaks) == brute.fifo_breaks()
    assert sorted((d.process, d.message, d.deliveries) for d in verdict.duplicates) == (
        brute.duplicates()
    )
    assert sorted((loss.target, loss.message) for loss in verdict.losses) == brute.losses()
    assert sorted((i.process, i.message) for i in verdict.inventions) == brute.inventions()
    assert [found.message for found in verdict.self_causes] == brute.self_causes()
    bare = check_log(events, witnesses=False, order=order)
    assert [v.row() for v in bare.violations] == [v.row() for v in verdict.violations]
    assert [v.witness for v in bare.violations + bare.fifo_breaks if v.witness] == []
    for violation in [*verdict.violations, *verdict.fifo_breaks]:
        check_witness(events, brute, violation)


def check_witness(events: Sequence[Event], brute: BruteForce, violation: Violation) -> None:
    """The path leads from late to early along things that really happened, without detours."""
    path = violation.witness
    assert all(event in events for event in path)
    assert (path[0].kind, message(path[0])) == ("submitted", violation.late)
    assert (path[-1].kind, message(path[-1])) == ("submitted", violation.early)
    for cause, effect in pairwise(path):
        if effect.kind == "delivered":
            assert (cause.kind, message(cause)) == ("submitted", message(effect))
        else:
            assert cause.process == effect.process
            assert brute.ordered(cause.process, instant(brute, cause), instant(brute, effect))
    submissions = [event for event in path if event.kind == "submitted"]
    assert len(submissions) - 1 == brute.distance(violation.late, violation.early)


def instant(brute: BruteForce, event: Event) -> int:
    """When it took place: a message to many is submitted with its first row."""
    if event.kind == "delivered":
        return event.position
    position = brute.submitted_at(message(event))
    assert position is not None
    return position


def neighbours(events: list[Event]) -> list[tuple[Event, Event]]:
    """The pairs of deliveries that follow directly on each other at a process."""
    delivered = {(e.process, e.position): e for e in events if e.kind == "delivered"}
    return [
        (event, delivered[process, position + 1])
        for (process, position), event in delivered.items()
        if (process, position + 1) in delivered
    ]


def happens_before(events: list[Event], first: Event, second: Event) -> bool:
    return BruteForce(events).before[message(first), message(second)]


def message(event: Event) -> MessageId:
    assert event.sender is not None
    assert event.sequence is not None
    return MessageId(event.sender, event.sequence)
