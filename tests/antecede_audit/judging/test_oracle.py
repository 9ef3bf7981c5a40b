"""Every anomaly by hand, and what looks like one and is none."""

from antecede.eventlog import NULL, SUBMITTED, Event, EventLog
from antecede_audit.judging import (
    VIOLATION_COLUMNS,
    Duplicate,
    Invention,
    Loss,
    MessageId,
    SelfCause,
    Violation,
    check_log,
    find_duplicates,
    find_fifo_breaks,
    find_inventions,
    find_losses,
    find_self_causes,
    find_violations,
)
from tests.antecede_audit.judging.stories import ALICE, BOB, CAROL, DAVE, Story


def rows(log: EventLog) -> list[tuple[object, ...]]:
    return [violation.row() for violation in find_violations(log)]


def path(violation: Violation) -> list[tuple[int, str, int | None, int | None]]:
    """The witness, as place, kind and message."""
    return [(e.process, e.kind, e.sender, e.sequence) for e in violation.witness]


def triangle() -> Story:
    """Alice writes to Carol, then to Bob; Bob's answer overtakes at Carol."""
    story = Story()
    slow = story.send(ALICE, CAROL, at=1)
    relay = story.send(ALICE, BOB, at=2)
    story.deliver(BOB, relay, at=3)
    answer = story.send(BOB, CAROL, at=4)
    story.deliver(CAROL, answer, at=5)
    story.deliver(CAROL, slow, at=9)
    return story


def test_an_empty_log_is_in_order() -> None:
    verdict = check_log(EventLog())

    assert verdict.ok
    assert (verdict.processes, verdict.messages, verdict.deliveries) == (0, 0, 0)


def test_a_good_run_is_in_order_and_counted() -> None:
    story = Story()
    slow = story.send(ALICE, CAROL)
    relay = story.send(ALICE, BOB)
    story.deliver(BOB, relay)
    answer = story.send(BOB, CAROL, ALICE)
    story.deliver(CAROL, slow, answer)
    story.deliver(ALICE, answer)

    verdict = check_log(story.log)

    assert verdict.ok
    assert (verdict.processes, verdict.messages, verdict.deliveries) == (3, 3, 4)


def test_an_effect_that_overtakes_its_cause_is_a_transitive_violation() -> None:
    (violation,) = find_violations(triangle().log)

    assert violation.row() == (CAROL, BOB, 1, 5000, ALICE, 1, 9000, 4000, "transitive")
    assert path(violation) == [
        (ALICE, "submitted", ALICE, 1),
        (ALICE, "submitted", ALICE, 2),
        (BOB, "delivered", ALICE, 2),
        (BOB, "submitted", BOB, 1),
    ]
    assert len(violation.row()) == len(VIOLATION_COLUMNS)


def test_a_message_that_overtakes_one_of_its_sender_is_a_fifo_violation() -> None:
    story = Story()
    first, second = story.send(ALICE, BOB, at=1), story.send(ALICE, BOB, at=2)
    story.deliver(BOB, second, at=3)
    story.deliver(BOB, first, at=7)

    (violation,) = find_violations(story.log)

    assert violation.row() == (BOB, ALICE, 2, 3000, ALICE, 1, 7000, 4000, "fifo")
    assert path(violation) == [(ALICE, "submitted", ALICE, 1), (ALICE, "submitted", ALICE, 2)]
    assert find_fifo_breaks(story.log) == [violation]


def test_concurrent_messages_may_be_delivered_in_any_order() -> None:
    story = Story()
    one, other = story.send(ALICE, BOB, CAROL), story.send(DAVE, BOB, CAROL)
    story.deliver(BOB, one, other)
    story.deliver(CAROL, other, one)

    assert check_log(story.log).ok


def test_messages_to_different_processes_do_not_wait_for_each_other() -> None:
    story = Story()
    slow = story.send(ALICE, BOB)
    fast = story.send(ALICE, CAROL)
    story.deliver(CAROL, fast)
    story.deliver(BOB, slow)

    assert check_log(story.log).ok


def test_what_was_submitted_before_the_delivery_did_not_depend_on_it() -> None:
    story = Story()
    slow = story.send(ALICE, CAROL)
    relay = story.send(ALICE, BOB)
    answer = story.send(BOB, CAROL)
    story.deliver(BOB, relay)
    story.deliver(CAROL, answer, slow)

    assert check_log(story.log).ok


def test_arrivals_and_transmissions_order_nothing() -> None:
    story = Story()
    slow = story.send(ALICE, CAROL)
    relay = story.send(ALICE, BOB)
    message = story.log.intern("message")
    story.log.append(BOB, 2, relay.sender, relay.sequence, BOB, 1, message, 0, 0, 0)
    answer = story.send(BOB, CAROL)
    story.log.append(BOB, 1, answer.sender, answer.sequence, CAROL, 1, message, 0, 0, 0)
    story.deliver(BOB, relay)
    story.deliver(CAROL, answer, slow)

    assert check_log(story.log).ok


def test_a_chain_over_several_hops_is_followed_to_its_end() -> None:
    story = Story()
    cause = story.send(ALICE, DAVE)
    message = story.send(ALICE, BOB)
    for hop, following in [(BOB, CAROL), (CAROL, BOB), (BOB, CAROL)]:
        story.deliver(hop, message)
        message = story.send(hop, following)
    story.deliver(CAROL, message)
    effect = story.send(CAROL, DAVE)
    story.deliver(DAVE, effect, cause)

    (violation,) = find_violations(story.log)

    assert (violation.early, violation.late) == (effect, cause)
    assert path(violation) == [
        (ALICE, "submitted", ALICE, 1),
        (ALICE, "submitted", ALICE, 2),
        (BOB, "delivered", ALICE, 2),
        (BOB, "submitted", BOB, 1),
        (CAROL, "delivered", BOB, 1),
        (CAROL, "submitted", CAROL, 2),
    ]


def test_of_several_late_causes_the_one_delivered_last_is_named() -> None:
    story = Story()
    first, second = story.send(ALICE, BOB), story.send(ALICE, BOB)
    third = story.send(ALICE, BOB)
    story.deliver(BOB, third, at=10)
    story.deliver(BOB, second, at=20)
    story.deliver(BOB, first, at=30)

    assert rows(story.log) == [
        (BOB, ALICE, 3, 10_000, ALICE, 1, 30_000, 20_000, "fifo"),
        (BOB, ALICE, 2, 20_000, ALICE, 1, 30_000, 10_000, "fifo"),
    ]


def test_last_means_last_by_position_even_at_equal_times() -> None:
    story = Story()
    first, second = story.send(ALICE, BOB, at=0), story.send(ALICE, BOB, at=0)
    third = story.send(ALICE, BOB, at=0)
    story.deliver(BOB, third, first, second, at=0)

    assert rows(story.log) == [(BOB, ALICE, 3, 0, ALICE, 2, 0, 0, "fifo")]


def test_equal_times_hide_no_violation() -> None:
    story = Story()
    slow = story.send(ALICE, CAROL, at=0)
    relay = story.send(ALICE, BOB, at=0)
    story.deliver(BOB, relay, at=0)
    answer = story.send(BOB, CAROL, at=0)
    story.deliver(CAROL, answer, slow, at=0)

    assert rows(story.log) == [(CAROL, BOB, 1, 0, ALICE, 1, 0, 0, "transitive")]


def test_a_clock_that_runs_behind_is_not_believed() -> None:
    story = Story()
    slow = story.send(ALICE, CAROL, at=500)
    relay = story.send(ALICE, BOB, at=500)
    story.deliver(BOB, relay, at=3)
    answer = story.send(BOB, CAROL, at=4)
    story.deliver(CAROL, answer, at=50)
    story.deliver(CAROL, slow, at=51)

    assert rows(story.log) == [(CAROL, BOB, 1, 50_000, ALICE, 1, 51_000, 1000, "transitive")]


def test_a_fifo_break_is_found_where_the_last_late_cause_is_another_senders() -> None:
    story = Story()
    foreign = story.send(ALICE, CAROL)
    relay = story.send(ALICE, BOB)
    story.deliver(BOB, relay)
    first, second = story.send(BOB, CAROL), story.send(BOB, CAROL)
    story.deliver(CAROL, second, first, foreign)

    violations, breaks = find_violations(story.log), find_fifo_breaks(story.log)

    assert [(v.early, v.late, v.kind) for v in violations] == [
        (second, foreign, "transitive"),
        (first, foreign, "transitive"),
    ]
    assert [(b.early, b.late, b.kind) for b in breaks] == [(second, first, "fifo")]


def test_a_multicast_can_be_early_at_one_process_and_in_order_at_another() -> None:
    story = Story()
    cause = story.send(ALICE, BOB, CAROL, DAVE)
    story.deliver(BOB, cause)
    effect = story.send(BOB, CAROL, DAVE)
    story.deliver(CAROL, cause, effect)
    story.deliver(DAVE, effect, cause)

    (violation,) = find_violations(story.log)

    assert (violation.process, violation.early, violation.late) == (DAVE, effect, cause)
    assert path(violation) == [
        (ALICE, "submitted", ALICE, 1),
        (BOB, "delivered", ALICE, 1),
        (BOB, "submitted", BOB, 1),
    ]
    assert [event.target for event in violation.witness] == [BOB, BOB, DAVE]


def test_the_rows_of_a_multicast_are_one_submission() -> None:
    """Alice's second message leaves after all rows of the first, not between them."""
    story = Story()
    both = story.send(ALICE, BOB, CAROL)
    after = story.send(ALICE, CAROL)
    story.deliver(CAROL, after, both)
    story.deliver(BOB, both)

    verdict = check_log(story.log)

    assert verdict.messages == 2
    assert [(v.process, v.early, v.late) for v in verdict.violations] == [(CAROL, after, both)]


def test_a_message_to_oneself_takes_part_like_any_other() -> None:
    story = Story()
    to_self = story.send(ALICE, ALICE)
    request = story.send(ALICE, BOB)
    story.deliver(BOB, request)
    answer = story.send(BOB, ALICE)
    story.deliver(ALICE, answer, to_self)

    (violation,) = find_violations(story.log)

    assert (violation.process, violation.early, violation.late) == (ALICE, answer, to_self)


def test_a_message_to_oneself_delivered_at_once_is_in_order() -> None:
    story = Story()
    to_self = story.send(ALICE, ALICE, BOB)
    story.deliver(ALICE, to_self)
    story.deliver(BOB, to_self)

    assert check_log(story.log).ok


def test_a_repeated_delivery_is_a_duplicate_and_only_the_first_counts() -> None:
    story = Story()
    first, second = story.send(ALICE, BOB), story.send(ALICE, BOB)
    story.deliver(BOB, first, at=10)
    story.deliver(BOB, second, at=20)
    story.deliver(BOB, first, at=30)
    story.deliver(BOB, first, at=40)

    assert check_log(story.log).findings == [
        Duplicate(
            process=BOB,
            message=first,
            deliveries=3,
            first_delivered_ns=10_000,
            last_delivered_ns=40_000,
        )
    ]
    assert len(find_duplicates(story.log)) == 1


def test_a_copy_that_never_comes_is_a_loss_and_nobody_waits_for_it() -> None:
    story = Story()
    lost = story.send(ALICE, BOB, CAROL, at=1)
    after = story.send(ALICE, BOB)
    story.deliver(CAROL, lost)
    story.deliver(BOB, after)

    assert check_log(story.log).findings == [Loss(target=BOB, message=lost, submitted_ns=1000)]
    assert len(find_losses(story.log)) == 1


def test_a_loss_dates_from_the_first_row_that_names_its_target() -> None:
    story = Story()
    for time_ns in [10, 20]:
        story.log.append(ALICE, SUBMITTED, ALICE, 1, BOB, NULL, NULL, time_ns, 0, 0)

    assert find_losses(story.log) == [
        Loss(target=BOB, message=MessageId(ALICE, 1), submitted_ns=10)
    ]


def test_a_message_nobody_sent_is_an_invention() -> None:
    story = Story()
    story.deliver(BOB, MessageId(ALICE, 7), at=5)

    invention = Invention(process=BOB, message=MessageId(ALICE, 7), delivered_ns=5000)

    assert check_log(story.log).findings == [invention]
    assert find_inventions(story.log) == [invention]


def test_a_message_delivered_at_the_wrong_process_is_an_invention_there() -> None:
    story = Story()
    message = story.send(ALICE, BOB)
    story.deliver(BOB, message)
    story.deliver(CAROL, message, at=5)

    assert check_log(story.log).findings == [
        Invention(process=CAROL, message=message, delivered_ns=5000)
    ]


def test_a_misdirected_message_carries_its_causes_along() -> None:
    """Bob was not meant to see the relay, but he did, and what he sends depends on it."""
    story = Story()
    slow = story.send(ALICE, CAROL)
    relay = story.send(ALICE, DAVE)
    story.deliver(BOB, relay)
    answer = story.send(BOB, CAROL)
    story.deliver(CAROL, answer, slow)

    (violation,) = find_violations(story.log)

    assert (violation.process, violation.early, violation.late) == (CAROL, answer, slow)


def test_nobody_waits_for_a_message_that_was_meant_for_others() -> None:
    story = Story()
    foreign = story.send(ALICE, BOB)
    mine = story.send(ALICE, CAROL)
    story.deliver(CAROL, mine, foreign)
    story.deliver(BOB, foreign)

    assert find_violations(story.log) == []
    assert find_fifo_breaks(story.log) == []


def test_a_log_in_which_causes_run_in_a_circle_is_reported_not_refused() -> None:
    story = Story()
    egg, hen = MessageId(ALICE, 1), MessageId(BOB, 1)
    story.deliver(ALICE, hen)
    story.send(ALICE, BOB)
    story.deliver(BOB, egg)
    story.send(BOB, ALICE)

    assert find_self_causes(story.log) == [SelfCause(message=egg), SelfCause(message=hen)]
    assert check_log(story.log).violations == []
    assert not check_log(story.log).ok


def test_rows_that_name_no_message_or_pretend_to_be_anothers_are_passed_over() -> None:
    strange = [
        Event(
            process=BOB,
            position=0,
            kind="submitted",
            sender=ALICE,
            sequence=1,
            target=CAROL,
            time_ns=0,
        ),
        Event(process=BOB, position=1, kind="delivered", target=BOB, time_ns=0),
        Event(process=BOB, position=2, kind="submitted", sender=BOB, sequence=1, time_ns=0),
        Event(process=CAROL, position=0, kind="nonsense", sender=BOB, sequence=1, time_ns=0),
    ]

    verdict = check_log(strange)

    assert verdict.ok
    assert (verdict.processes, verdict.messages, verdict.deliveries) == (2, 1, 0)


def test_violations_come_by_process_and_then_in_the_order_of_delivery() -> None:
    story = Story()
    first, second = story.send(DAVE, BOB, ALICE), story.send(DAVE, BOB, ALICE)
    third = story.send(DAVE, BOB, ALICE)
    story.deliver(BOB, third, second, first)
    story.deliver(ALICE, second, third, first)

    assert [(v.process, v.early) for v in find_violations(story.log)] == [
        (ALICE, second),
        (ALICE, third),
        (BOB, third),
        (BOB, second),
    ]


def test_a_long_exchange_is_judged_without_deep_recursion() -> None:
    story = Story()
    cause = story.send(ALICE, CAROL)
    message = story.send(ALICE, BOB)
    for hop in range(1500):
        here, there = (BOB, ALICE) if hop % 2 == 0 else (ALICE, BOB)
        story.deliver(here, message)
        message = story.send(here, there)
    story.deliver(BOB, message)
    effect = story.send(BOB, CAROL)
    story.deliver(CAROL, effect, cause)

    assert [(v.early, v.late) for v in find_violations(story.log)] == [(effect, cause)]


def test_unrelated_requests_that_cross_are_not_blamed_within_their_traces() -> None:
    """A gateway forwards two requests to orders; the second arrives first."""
    gateway, orders = 0, 1
    events = [
        row(gateway, 0, "submitted", 1, orders, 10, "one"),
        row(gateway, 1, "submitted", 2, orders, 20, "other"),
        row(orders, 0, "delivered", 2, orders, 30, "other"),
        row(orders, 1, "delivered", 1, orders, 40, "one"),
    ]

    assert find_violations(events, order="trace") == []
    assert [(v.early, v.late) for v in find_violations(events)] == [((0, 2), (0, 1))]


def row(
    process: int, position: int, kind: str, sequence: int, target: int, time_ns: int, trace: str
) -> Event:
    return Event(
        process=process,
        position=position,
        kind=kind,
        sender=0,
        sequence=sequence,
        target=target,
        time_ns=time_ns,
        trace_id=trace,
    )
