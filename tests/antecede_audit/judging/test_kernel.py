"""The fast kernel: of the oracle's opinion, whatever the order its events are handed in."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from struct import iter_unpack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antecede.eventlog import Event, EventLog
from antecede_audit.judging import ORDERS, MessageId, Order, find_violations
from antecede_audit.judging.definition import causal_order, message_of
from antecede_audit.judging.kernel import CausalPass, graph_order, settle, settled_overtakings
from tests.antecede_audit.judging.kernel_tables import Tables, rows, tables_of
from tests.antecede_audit.judging.random_logs import chaos, runs, traced
from tests.antecede_audit.judging.random_traffic import hectic, in_traces
from tests.antecede_audit.judging.stories import ALICE, BOB, CAROL, DAVE, Story

often = settings(max_examples=5 * settings().max_examples)


def violations(
    events: Sequence[Event], order: Order = "process"
) -> list[tuple[int, MessageId, MessageId]]:
    found = find_violations(events, witnesses=False, order=order)
    return sorted((v.process, v.early, v.late) for v in found)


def by_clock(tables: Tables) -> list[Event]:
    """What a slice does: by time, and in equal times by process, whatever depends on what."""
    return sorted(tables.order, key=lambda e: (e.time_ns, e.process, e.position))


@pytest.mark.parametrize("order", ORDERS)
@often
@given(events=traced(runs()))
def test_kernel_and_oracle_agree_when_the_clock_orders_events(
    order: Order, events: list[Event]
) -> None:
    tables = tables_of(events, order)
    judge = CausalPass(tables.places, tables.watched_table(), len(tables.strands))
    judge.add_messages(tables.messages_table())

    judge.run(tables.passed_table(by_clock(tables)))

    assert judge.stalled() == []
    assert tables.found(judge.take_findings()) == violations(events, order)


@pytest.mark.parametrize("order", ORDERS)
def test_kernel_and_oracle_agree_on_hundreds_of_hectic_runs(order: Order) -> None:
    found = 0
    for seed in range(300):
        events = in_traces(hectic(Random(seed)), Random(seed))
        tables = tables_of(events, order)
        judge = CausalPass(tables.places, tables.watched_table(), len(tables.strands))
        judge.add_messages(tables.messages_table())

        judge.run(tables.passed_table(by_clock(tables)))

        expected = violations(events, order)
        assert tables.found(judge.take_findings()) == expected, f"seed {seed}"
        found += len(expected)
    assert found > 200


@given(log=runs(), data=st.data())
def test_a_log_may_come_in_pieces(log: EventLog, data: st.DataObject) -> None:
    tables = tables_of(list(log))
    order = [event for event in causal_order(tables.history) if event in tables.order]
    cut = data.draw(st.integers(0, len(order)))
    judge = CausalPass(0, tables.watched_table(), 0)
    judge.add_places(tables.places)
    judge.add_strands(len(tables.strands))
    judge.add_messages(tables.messages_table())
    same = [next(event for event in tables.order if event == other) for other in order]

    judge.run(tables.passed_table(same[:cut]))
    found = judge.take_findings()
    judge.run(tables.passed_table(same[cut:]))

    assert tables.found(found + judge.take_findings()) == violations(list(log))


def test_messages_that_are_kept_get_new_numbers() -> None:
    judge = CausalPass(2, rows([(0, 1, 1, 1)]), 2)
    judge.add_messages(rows([(0, 1), (-1, 1)]))
    judge.run(rows([(0, 0, -1, -1, 0), (0, 1, -1, -1, 0)]))

    judge.keep_messages(rows([(1,), (0,)]))
    judge.run(rows([(1, 0, 7, -1, 1), (1, 1, 8, 0, 1)]))

    assert judge.take_findings() == rows([(7, 0)])
    assert judge.take_findings() == b""


def test_who_has_the_same_past_comes_too_early_only_until_what_is_in_it_has_come() -> None:
    """Of two answers with one past, the second comes after the question. Carol still waits for
    something of Dave's, of which neither knows."""
    eve = DAVE + 1
    story = Story()
    question, hint = story.send(ALICE, CAROL), story.send(ALICE, BOB)
    other, rumour = story.send(DAVE, CAROL), story.send(DAVE, eve)
    story.deliver(BOB, hint)
    story.deliver(eve, rumour)
    gossip = story.send(eve, CAROL)
    first, second = story.send(BOB, CAROL), story.send(BOB, CAROL)
    story.deliver(CAROL, gossip, first, question, second, other)
    events = list(story.log)
    tables = replace(tables_of(events), unwatched=frozenset({gossip, first, second}))
    judge = CausalPass(tables.places, tables.watched_table(), len(tables.strands))
    judge.add_messages(tables.messages_table())

    judge.run(tables.passed_table(by_clock(tables)))

    found = tables.found(judge.take_findings())
    assert found == sorted([(CAROL, first, question), (CAROL, gossip, other)])
    assert found == violations(events)


def test_many_bits_drop_out_and_the_rest_is_still_right() -> None:
    """A long conversation that is in order, and one message overtaken at its end."""
    count = 500
    watched = [(number, 1, number, 1) for number in range(count)]
    judge = CausalPass(2, rows(watched), 2)
    judge.add_messages(rows([(number, 1) for number in range(count)] + [(-1, 1)]))
    for number in range(count - 1):
        judge.run(rows([(0, number, -1, -1, 0), (1, number, number, number, 1)]))
    judge.run(rows([(0, count - 1, -1, -1, 0), (0, count, -1, -1, 0)]))
    judge.run(rows([(1, count, count, -1, 1), (1, count - 1, count - 1, count - 1, 1)]))

    assert judge.take_findings() == rows([(count, count - 1)])


def test_events_that_wait_for_each_other_are_named() -> None:
    """Each of two processes delivers the message that the other sends only after that."""
    judge = CausalPass(3, b"", 3)
    judge.add_messages(rows([(-1, 1), (-1, 1), (-1, 1)]))
    waiting = [(0, 1, 0, -1), (1, 0, 1, -1), (0, 0, -1, -1), (1, 1, -1, -1), (2, 2, -1, -1)]

    judge.run(rows([(*row, row[0]) for row in waiting]))

    assert sorted(judge.stalled()) == [0, 1]


@given(log=runs(), data=st.data())
def test_graph_order_repairs_any_order_that_keeps_each_process(
    log: EventLog, data: st.DataObject
) -> None:
    tables = tables_of(list(log))
    mixed = data.draw(st.permutations(tables.order))
    queues = {p: iter([e for e in tables.order if e.process == p]) for p in range(tables.places)}
    kept = [next(queues[event.process]) for event in mixed]

    order, stuck = graph_order(tables.places, len(tables.messages), tables.events_table(kept))

    assert stuck == 0
    found = list(iter_unpack("<4q", order))
    assert sorted(found) == sorted(iter_unpack("<4q", tables.events_table(kept)))
    for process in range(tables.places):
        expected = tables.events_table([e for e in tables.order if e.process == process])
        assert [row for row in found if row[0] == process] == list(iter_unpack("<4q", expected))
    submitted: set[int] = set()
    for _, message, copy, _ in found:
        assert copy == -1 or message in submitted
        submitted.add(message)


@pytest.mark.parametrize("order", ORDERS)
@often
@given(events=traced(chaos()), data=st.data())
def test_settling_agrees_with_the_oracle_even_on_chaos(
    order: Order, events: list[Event], data: st.DataObject
) -> None:
    tables = tables_of(events, order)
    messages = tables.messages
    deliveries = [event for event in tables.order if event.kind == "delivered"]
    sent_here = [tables.history.is_addressed(message_of(e), e.process) for e in deliveries]
    place = {id(event): number for number, event in enumerate(tables.order)}
    table = rows(
        [
            (e.process, messages.index(message_of(e)), place[id(e)], int(sent))
            for e, sent in zip(deliveries, sent_here, strict=True)
        ]
    )
    size = data.draw(st.integers(1, 4))

    latest: dict[int, Event] = {}
    for first in range(0, len(messages), size):
        last = min(first + size, len(messages))
        lined_up = tables.stranded_table(tables.order)
        before = settle(len(tables.strands), len(messages), lined_up, first, last)
        pairs = settled_overtakings(tables.places, table, before, first, last)
        for early, late in zip(pairs[::2], pairs[1::2], strict=True):
            old = latest.setdefault(early, tables.order[late])
            if tables.order[late].position > old.position:
                latest[early] = tables.order[late]

    assert sorted(
        (late.process, message_of(tables.order[early]), message_of(late))
        for early, late in latest.items()
    ) == violations(events, order)


def test_a_message_that_causes_itself_is_seen_to() -> None:
    """It is delivered, and submitted after that."""
    events = rows([(0, 0, 0, -1), (0, 0, -1, -1)])
    assert settle(1, 1, events, 0, 1) == [1]
    _, stuck = graph_order(1, 1, events)
    assert stuck == 2


@pytest.mark.parametrize(
    ("sent_there", "first", "last", "found"),
    [
        (1, 0, 1, [10, 11]),
        (1, 0, 2, [10, 11]),
        (1, 1, 2, []),  # Another part is about the message that comes late.
        (0, 0, 1, []),  # What was never sent to a place cannot be late there.
    ],
)
def test_late_are_copies_of_the_part_that_were_sent_there(
    sent_there: int, first: int, last: int, found: list[int]
) -> None:
    """Message 0 happens before message 1, and its copy 11 comes after the other's copy 10."""
    deliveries = rows([(0, 1, 10, 1), (0, 0, 11, sent_there)])
    before = [0, 1 if first == 0 else 0]
    assert settled_overtakings(1, deliveries, before, first, last) == found
