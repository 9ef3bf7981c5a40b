"""Depths, times, conversations and errands: the arrays against plain Python."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given

from antecede_audit.eventlog.workload import WorkloadRow
from antecede_audit.measure import structure
from antecede_audit.measure.structure import NEVER, TIME_NS_MAX, CallTrees, MessageTable
from antecede_audit.measure.structure import errands as find_errands
from tests.antecede_audit.measure.profile import slowly
from tests.antecede_audit.measure.profile.workloads import REVIEW, damaged_workloads, row, workloads


def arrays(rows: list[WorkloadRow]) -> MessageTable:
    ordered = sorted(rows, key=lambda row: row.message_id)
    return MessageTable(
        ids=np.array([row.message_id for row in ordered], np.int64),
        senders=np.array([row.sender for row in ordered], np.int64),
        target_counts=np.array([len(row.targets) for row in ordered], np.int64),
        targets=np.array([target for row in ordered for target in row.targets], np.int64),
        cause_counts=np.array([len(row.causes) for row in ordered], np.int64),
        causes=np.array([cause for row in ordered for cause in row.causes], np.int64),
        delays_ns=np.array([row.delay_ns for row in ordered], np.int64),
    )


def errands(messages: MessageTable) -> CallTrees:
    links = structure.linked(messages)
    ranks = structure.ranks(messages, structure.chains(messages, links))
    return find_errands(messages, links, ranks)


def depths_and_times(rows: list[WorkloadRow]) -> dict[int, tuple[int, int]]:
    messages = arrays(rows)
    standing = structure.chains(messages, structure.linked(messages))
    found = zip(
        messages.ids.tolist(), standing.depths.tolist(), standing.ready_ns.tolist(), strict=True
    )
    return {message: (depth, time_ns) for message, depth, time_ns in found if depth != NEVER}


@pytest.mark.parametrize("few", [0, 1000], ids=["as arrays", "one by one"])
@given(rows=damaged_workloads())
def test_depths_and_times_are_those_of_the_longest_chains(
    few: int, rows: list[WorkloadRow]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(structure, "FEW", few)
        assert depths_and_times(rows) == slowly.depths_and_times(rows)


@given(rows=damaged_workloads())
def test_conversations_are_what_causes_connect(rows: list[WorkloadRow]) -> None:
    messages = arrays(rows)
    first = structure.conversations(messages, structure.linked(messages))
    found = defaultdict(set)
    for message, label in zip(messages.ids.tolist(), first.tolist(), strict=True):
        found[label].add(message)
    assert {frozenset(group) for group in found.values()} == slowly.conversations(rows)
    assert all(messages.ids[label] == min(group) for label, group in found.items())


@given(rows=damaged_workloads())
def test_errands_are_what_causes_and_answers_connect_at_one_process(
    rows: list[WorkloadRow],
) -> None:
    messages = arrays(rows)
    labels = errands(messages)
    found: dict[int, set[object]] = defaultdict(set)
    for message, label in zip(messages.ids.tolist(), labels.sent.tolist(), strict=True):
        found[label].add(("sent", message))
    copies = zip(messages.ids[messages.sources].tolist(), messages.targets.tolist(), strict=True)
    for copy, label in zip(copies, labels.received.tolist(), strict=True):
        found[label].add(("copy", *copy))
    expected, answers = slowly.errands_and_answers(rows)
    assert {frozenset(group) for group in found.values()} == expected
    copies = zip(messages.ids[messages.sources].tolist(), messages.targets.tolist(), strict=True)
    assert {
        copy: int(messages.ids[asked])
        for copy, asked in zip(copies, labels.answered.tolist(), strict=True)
        if asked >= 0
    } == answers


@given(rows=workloads())
def test_an_errand_stays_at_one_process(rows: list[WorkloadRow]) -> None:
    messages = arrays(rows)
    labels = errands(messages)
    processes = defaultdict(set)
    for label, sender in zip(labels.sent.tolist(), messages.senders.tolist(), strict=True):
        processes[label].add(sender)
    for label, target in zip(labels.received.tolist(), messages.targets.tolist(), strict=True):
        processes[label].add(target)
    assert {len(places) for places in processes.values()} == {1}


@given(rows=workloads())
def test_ranks_put_causes_first_and_then_follow_the_clock(rows: list[WorkloadRow]) -> None:
    messages = arrays(rows)
    standing = structure.chains(messages, structure.linked(messages))
    ranks = structure.ranks(messages, standing)
    place = dict(zip(messages.ids.tolist(), ranks.tolist(), strict=True))

    assert sorted(place.values()) == list(range(len(rows)))
    for message in rows:
        assert all(place[cause] < place[message.message_id] for cause in message.causes)
    times = standing.ready_ns[np.argsort(ranks)]
    assert np.all(np.diff(times) >= 0)


def test_the_review_is_one_conversation_of_a_join_and_answers() -> None:
    messages = arrays(REVIEW)
    links = structure.linked(messages)
    labels = errands(messages)

    assert structure.conversations(messages, links).tolist() == [0] * len(REVIEW)
    assert structure.chains(messages, links).depths.tolist() == [0] * 3 + [1] * 3 + [
        2,
        2,
        3,
        3,
        4,
    ]
    joining = {labels.sent[place] for place in (6, 7, 10)}
    assert len(joining) == 1, "process 4 joins, stores and reports in one errand"
    answers = messages.ids[messages.sources[labels.answered >= 0]].tolist()
    assert answers == [30, 31], "4 reports to 0, which had not asked it for anything"


def test_times_stop_before_they_overflow() -> None:
    rows = [row(0, 0, [0], delay_ns=TIME_NS_MAX - 1)]
    rows += [row(n, 0, [0], [n - 1], TIME_NS_MAX - 1) for n in range(1, 5)]
    assert depths_and_times(rows)[4] == (4, TIME_NS_MAX)


def test_long_chains_and_wide_levels_need_no_recursion() -> None:
    chain = [row(0, 0, [0])] + [row(n, 0, [0], [n - 1], 1) for n in range(1, 3000)]
    star = [row(5000 + n, 0, [0], [2999], 2) for n in range(500)]
    found = depths_and_times(chain + star)
    assert found[2999] == (2999, 2999)
    assert {found[5000 + n] for n in range(500)} == {(3000, 3001)}


def test_replies_that_wait_for_replies_are_answers_too() -> None:
    """0 asks 1, which asks 2, which asks 3; every reply has one cause, the reply before it."""
    rows = [row(n, n, [n + 1], [n - 1] if n else [], 1) for n in range(3)]
    rows += [row(3 + n, 3 - n, [2 - n], [2 + n], 1) for n in range(3)]
    messages = arrays(rows)
    labels = errands(messages)
    assert labels.answered.tolist() == [-1, -1, -1, 2, 1, 0]
    assert labels.sent[0] == labels.received[5], "the last reply ends what the first call began"
    assert len(set(labels.sent.tolist())) == 4, "one errand at each process"


def test_a_second_call_is_no_answer_to_the_first_reply() -> None:
    """0 asks 1, gets a reply, asks again: two errands at 1, one at 0."""
    rows = [row(n, n % 2, [1 - n % 2], [n - 1] if n else [], 1) for n in range(6)]
    labels = errands(arrays(rows))
    assert labels.answered.tolist() == [-1, 0, -1, 2, -1, 4]
    assert len(set(labels.sent[::2].tolist())) == 1
    assert len(set(labels.sent[1::2].tolist())) == 3
