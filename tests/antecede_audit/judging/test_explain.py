"""Findings in words, compared whole."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede_audit.judging import (
    Duplicate,
    Invention,
    Loss,
    MessageId,
    SelfCause,
    check_log,
    explain,
    explain_verdict,
    find_violations,
)
from antecede_audit.judging.explain import time_text
from tests.antecede_audit.judging.stories import ALICE, BOB, CAROL, DAVE, NAMES, Story


def triangle() -> Story:
    """Bob has spoken once before; then his answer to Alice overtakes what caused it."""
    story = Story()
    story.deliver(DAVE, story.send(BOB, DAVE, at=0), at=1)
    slow = story.send(ALICE, CAROL, at=1000)
    relay = story.send(ALICE, BOB, at=2000)
    story.deliver(BOB, relay, at=2100)
    answer = story.send(BOB, CAROL, at=2100)
    story.deliver(CAROL, answer, at=3000)
    story.deliver(CAROL, slow, at=9000)
    return story


def test_a_violation_over_a_third_process_is_told_as_a_story() -> None:
    (violation,) = find_violations(triangle().log)

    assert explain(violation, NAMES) == (
        "Carol delivered message 2 of Bob at 3 ms, but message 1 of Alice, which caused it, "
        "only at 9 ms: Alice sent 1 to Carol; then Alice sent 2 to Bob; "
        "Bob delivered it at 2.1 ms and then sent 2 to Carol."
    )


def test_processes_without_names_go_by_their_numbers() -> None:
    (violation,) = find_violations(triangle().log)

    assert explain(violation) == (
        "P2 delivered message 2 of P1 at 3 ms, but message 1 of P0, which caused it, "
        "only at 9 ms: P0 sent 1 to P2; then P0 sent 2 to P1; "
        "P1 delivered it at 2.1 ms and then sent 2 to P2."
    )


def test_without_a_witness_only_the_violation_is_told() -> None:
    (violation,) = find_violations(triangle().log, witnesses=False)

    assert explain(violation, NAMES) == (
        "Carol delivered message 2 of Bob at 3 ms, but message 1 of Alice, which caused it, "
        "only at 9 ms."
    )


def test_a_fifo_violation_says_that_one_was_sent_before_the_other() -> None:
    story = Story()
    first, second = story.send(ALICE, BOB, at=1), story.send(ALICE, BOB, at=2)
    story.deliver(BOB, second, at=3)
    story.deliver(BOB, first, at=4)

    (violation,) = find_violations(story.log)

    assert explain(violation, NAMES) == (
        "Bob delivered message 2 of Alice at 3 µs, but message 1 of Alice, sent before it, "
        "only at 4 µs: Alice sent 1 to Bob; then Alice sent 2 to Bob."
    )


def test_a_multicast_cause_is_told_with_both_who_relayed_it_and_who_missed_it() -> None:
    story = Story()
    cause = story.send(ALICE, BOB, CAROL, at=0)
    story.deliver(BOB, cause, at=1000)
    effect = story.send(BOB, DAVE, CAROL, at=1000)
    story.deliver(CAROL, effect, at=2000)
    story.deliver(CAROL, cause, at=2500)

    (violation,) = find_violations(story.log)

    assert explain(violation, NAMES) == (
        "Carol delivered message 1 of Bob at 2 ms, but message 1 of Alice, which caused it, "
        "only at 2.5 ms: Alice sent 1 to Bob and Carol; "
        "Bob delivered it at 1 ms and then sent 1 to Carol."
    )


def test_a_message_to_oneself_is_called_that() -> None:
    story = Story()
    to_self = story.send(ALICE, ALICE, at=0)
    request = story.send(ALICE, BOB, at=0)
    story.deliver(BOB, request, at=1000)
    answer = story.send(BOB, ALICE, at=1000)
    story.deliver(ALICE, answer, to_self, at=2000)

    (violation,) = find_violations(story.log)

    assert explain(violation, NAMES) == (
        "Alice delivered message 1 of Bob at 2 ms, but message 1 of Alice, which caused it, "
        "only at 2 ms: Alice sent 1 to itself; then Alice sent 2 to Bob; "
        "Bob delivered it at 1 ms and then sent 1 to Alice."
    )


def test_the_other_findings_take_a_line_each() -> None:
    message = MessageId(ALICE, 7)
    twice = Duplicate(
        process=BOB,
        message=message,
        deliveries=2,
        first_delivered_ns=1_000_000,
        last_delivered_ns=2_500_000,
    )
    often = Duplicate(
        process=BOB,
        message=message,
        deliveries=3,
        first_delivered_ns=0,
        last_delivered_ns=1,
    )
    assert [
        explain(finding, NAMES)
        for finding in (
            twice,
            often,
            Loss(target=CAROL, message=message, submitted_ns=4_000_000),
            Invention(process=DAVE, message=message, delivered_ns=5_000_000),
            SelfCause(message=message),
        )
    ] == [
        "Bob delivered message 7 of Alice twice, first at 1 ms and last at 2.5 ms.",
        "Bob delivered message 7 of Alice 3 times, first at 0 ms and last at 1 ns.",
        "Carol never delivered message 7 of Alice, sent to it at 4 ms.",
        "Dave delivered message 7 of Alice at 5 ms, but nobody had sent it there.",
        "According to the log message 7 of Alice caused itself: "
        "its order of events cannot be right.",
    ]


def test_a_verdict_is_a_summary_and_the_first_findings() -> None:
    story = Story()
    for _ in range(4):
        story.send(ALICE, BOB, at=1000)
    story.deliver(BOB, MessageId(CAROL, 1), at=2000)

    assert explain_verdict(check_log(story.log), NAMES, shown=2) == (
        "4 messages between 2 processes, 1 delivery: 4 lost, 1 invented\n"
        "Bob never delivered message 1 of Alice, sent to it at 1 ms.\n"
        "Bob never delivered message 2 of Alice, sent to it at 1 ms.\n"
        "… and 3 more"
    )


def test_a_good_verdict_says_so() -> None:
    story = Story()
    story.deliver(BOB, story.send(ALICE, BOB))

    assert explain_verdict(check_log(story.log)) == (
        "1 message between 2 processes, 1 delivery: each exactly once and in causal order"
    )


def test_a_log_without_messages_is_not_praised() -> None:
    assert explain_verdict(check_log(Story().log)) == (
        "0 messages between 0 processes, 0 deliveries: nothing to judge"
    )


@pytest.mark.parametrize(
    ("time_ns", "text"),
    [
        (0, "0 ms"),
        (1, "1 ns"),
        (999, "999 ns"),
        (999_999, "1 ms"),
        (2_100_000, "2.1 ms"),
        (-1_500_000, "-1.5 ms"),
        (595_635_253, "596 ms"),
        (12_345_678_901, "12.3 s"),
        (5_400 * 10**9 + 1, "5400 s"),
        (10**17 - 1, "100000000 s"),
        (10**18 + 1, "2001-09-09 01:46:40.000 UTC"),
        (1674988026_762499999, "2023-01-29 10:27:06.762 UTC"),
        (10**19, "10000000000 s"),
    ],
)
def test_a_time_has_three_digits(time_ns: int, text: str) -> None:
    assert time_text(time_ns) == text


@given(st.sets(st.integers(-(10**20), 10**20) | st.integers(10**18, 10**18 + 10), max_size=5))
def test_times_that_are_told_together_are_told_apart(times_ns: set[int]) -> None:
    assert len({time_text(one, times_ns) for one in times_ns}) == len(times_ns)


def test_times_that_are_told_together_have_as_many_digits_as_that_takes() -> None:
    together = [595_635_253, 595_635_900, 12_000_000]
    assert [time_text(one, together) for one in together] == ["595.635 ms", "595.636 ms", "12 ms"]
