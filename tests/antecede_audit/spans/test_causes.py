"""What messages wait for: chains, joins, replies, and tables that name causes."""

from collections.abc import Callable
from itertools import count
from random import Random

import pyarrow as pa
import pytest

from antecede_audit.columns.arrow_rows import rows_of
from antecede_audit.spans.causes import (
    CAUSES_MAX,
    GROUPED,
    PLANNED,
    RECALLED,
    CauseColumns,
    LocalEvent,
    planned_batches,
    planned_messages,
)
from antecede_audit.spans.order import MUTUAL, ORDINARY, SENDING


class Diary:
    """The events of process 0, a nanosecond apart, with names for messages."""

    def __init__(self, scope: int | None = None) -> None:
        self.events: list[LocalEvent] = []
        self._scope = scope
        self._ids = count()
        self._numbers: dict[str, int] = {}

    def gets(self, name: str, *, answers: str | None = None, by: str | None = None) -> None:
        self._add(ORDINARY, name, answers, by)

    def sends(self, name: str, *, answers: str | None = None, by: str | None = None) -> None:
        self._add(SENDING, name, answers, by)

    def _add(self, phase: int, name: str, answers: str | None, by: str | None) -> None:
        number = self._numbers.setdefault(name, next(self._ids))
        time_ns = 100 + len(self.events)
        keys = [None if key is None else hash(key) for key in (by, name, answers)]
        event = (0, self._scope, phase, number, time_ns, 1, 7, *keys, None, None)
        self.events.append(LocalEvent._make(event))

    def causes(self) -> dict[str, list[str]]:
        """By message sent: what it waits for."""
        names = {number: name for name, number in self._numbers.items()}
        return {
            names[row[0]]: [names[cause] for cause in row[3]]
            for row in planned_messages(self.events, first_ns=40)
        }


def test_without_traces_a_send_waits_for_what_its_process_delivered_before() -> None:
    diary = Diary()
    diary.sends("first")
    diary.gets("x")
    diary.gets("y")
    diary.sends("second")
    diary.gets("z")
    diary.sends("third")

    assert diary.causes() == {"first": [], "second": ["x", "y"], "third": ["x", "y", "z"]}


def test_what_earlier_sends_waited_for_is_recalled_to_a_limit() -> None:
    diary = Diary()
    for number in range(100):
        diary.gets(f"x{number}")
    diary.sends("first")
    diary.gets("y")
    diary.sends("second")
    causes = diary.causes()

    assert len(causes["first"]) == 100
    assert causes["second"] == [*[f"x{number}" for number in range(100 - RECALLED, 100)], "y"]


def test_delays_count_from_the_last_cause_or_from_the_start() -> None:
    diary = Diary()
    diary.sends("first")
    diary.gets("x")
    diary.gets("y")
    diary.sends("second")
    rows = list(planned_messages(diary.events, first_ns=40))

    assert [row[4] for row in rows] == [60, 1]


def test_a_chain_of_calls_has_one_cause_each() -> None:
    diary = Diary(77)
    diary.gets("request", by="h")
    diary.sends("ask 1", by="h")
    diary.gets("told 1", answers="ask 1", by="h")
    diary.sends("ask 2", by="h")
    diary.gets("told 2", answers="ask 2", by="h")
    diary.sends("reply", answers="request", by="h")

    assert diary.causes() == {
        "ask 1": ["request"],
        "ask 2": ["told 1"],
        "reply": ["told 2"],
    }


def test_parallel_calls_are_joined_by_the_reply() -> None:
    diary = Diary(77)
    diary.gets("request", by="h")
    for name in "abc":
        diary.sends(f"ask {name}", by="h")
    for name in "cab":
        diary.gets(f"told {name}", answers=f"ask {name}", by="h")
    diary.sends("reply", answers="request", by="h")
    causes = diary.causes()

    assert causes["ask c"] == ["request"]
    assert causes["reply"] == ["told c", "told a", "told b"]


def test_the_last_of_five_uploads_triggers_a_send_that_waits_for_all_of_them() -> None:
    """Compose-review: five handlers of one trace; one of them stores when all have come."""
    diary = Diary(77)
    for name in "12345":
        diary.gets(f"upload {name}", by=name)
    diary.sends("done 4", answers="upload 4", by="4")
    diary.sends("store", by="2")
    diary.gets("stored", answers="store", by="2")
    diary.sends("done 2", answers="upload 2", by="2")
    diary.sends("done 5", answers="upload 5", by="5")

    assert diary.causes() == {
        "done 4": ["upload 4"],
        "store": [f"upload {name}" for name in "12345"],
        "done 2": ["stored"],
        "done 5": ["upload 5"],
    }


def test_a_reply_waits_for_its_own_calls_whatever_other_handlers_do_meanwhile() -> None:
    diary = Diary(77)
    diary.gets("one", by="1")
    diary.gets("two", by="2")
    diary.sends("ask 2", by="2")
    diary.gets("told 2", answers="ask 2", by="2")
    diary.sends("ask 1", by="1")
    diary.gets("told 1", answers="ask 1", by="1")
    diary.sends("done 2", answers="two", by="2")

    assert diary.causes()["done 2"] == ["told 2"]


def test_copies_of_one_message_are_one_row() -> None:
    copies = [
        LocalEvent(3, None, SENDING, 9, 50, target, size, None, 1, None, None, None)
        for target, size in ((4, 1), (5, 2), (4, 1))
    ]

    assert list(planned_messages(copies, first_ns=0)) == [(9, 3, [4, 5], [], 50, 2, 0, 0)]


def test_named_causes_are_those_and_no_others() -> None:
    def event(phase: int, number: int, label: str, causes: list[str]) -> LocalEvent:
        return LocalEvent(0, None, phase, number, number, 1, 0, None, number, None, label, causes)

    events = [
        event(ORDINARY, 1, "x", []),
        event(ORDINARY, 2, "y", []),
        event(SENDING, 3, "z", ["x", "never came"]),
        event(SENDING, 4, "w", []),
    ]
    rows = list(planned_messages(events, first_ns=0))

    assert [(row[3], row[4], row[6]) for row in rows] == [([1], 2, 1), ([], 4, 0)]


def test_no_message_waits_for_too_many() -> None:
    diary = Diary()
    for number in range(CAUSES_MAX + 5):
        diary.gets(f"x{number}")
    diary.sends("late")
    [row] = planned_messages(diary.events, first_ns=0)

    assert len(row[3]) == CAUSES_MAX
    assert row[7] == 5


GROUPED_TYPES = [
    *(pa.int64(), pa.int32(), pa.int64(), pa.int32(), pa.int64(), pa.int64(), pa.int32()),
    *(pa.int32(), pa.int64(), pa.int64(), pa.int64(), pa.string(), pa.list_(pa.string())),
]


def some_work(chance: Random, process: int, scope: int | None) -> list[LocalEvent]:
    """What a process does in a trace: often it answers one request, sometimes it does others."""
    events = []
    for place in range(chance.choice([1, 2, 2, 2, 3, 6])):
        phase = chance.choice([ORDINARY, MUTUAL]) if place % 2 == 0 else SENDING
        if chance.random() < 0.1:
            phase = SENDING - phase if phase != MUTUAL else SENDING
        number = chance.randrange(1000)
        handler, answers = (chance.choice([7, 7, 7, 8, None]) for _ in range(2))
        causes = ["x"] if chance.random() < 0.1 else None
        event = (process, scope, phase, number, 10 * place, 1, 5, handler, number, answers)
        events.append(LocalEvent(*event, "x", causes))
    return events


def some_calls(chance: Random, process: int, scope: int | None) -> list[LocalEvent]:
    """What a process does in a trace if all messages have one copy: it asks, is asked, answers."""
    events: list[LocalEvent] = []
    asked: list[int] = []
    answered: set[int] = set()
    for place in range(chance.randint(1, 40)):
        number = 1000 * process + place
        handler = chance.choice([7, 8, 9, None])
        phase, answers = chance.choice([ORDINARY, SENDING]), None
        if phase == SENDING:
            answers = chance.choice([None, None, 5 * number])
            if (answers is None or handler is None) and number not in answered:
                asked.append(number)
        elif asked and chance.random() < 0.6:
            answers = asked.pop(chance.randrange(len(asked)))
        elif chance.random() < 0.1:
            # By the clocks it comes before what it answers, if that is a request at all.
            answers = number + 1
            answered.add(answers)
        event = (process, scope, phase, number, 10 * place, 1, 5, handler, number, answers)
        events.append(LocalEvent(*event, None, None))
    return events


@pytest.mark.parametrize("some", [some_work, some_calls])
@pytest.mark.parametrize("seed", range(20))
def test_in_columns_all_wait_for_what_they_do_one_by_one(
    seed: int, some: Callable[[Random, int, int | None], list[LocalEvent]]
) -> None:
    chance = Random(seed)
    works = [some(chance, trace % 3, trace if trace % 7 else None) for trace in range(60)]
    one_by_one = [row for work in works for row in planned_messages(work, first_ns=0)]
    rows = [(trace, *event) for trace, work in enumerate(works) for event in work]
    columns = [
        pa.array(values, kind)
        for values, kind in zip(zip(*rows, strict=True), GROUPED_TYPES, strict=True)
    ]
    events = pa.record_batch(columns, names=list(GROUPED))
    found = list(rows_of(planned_batches(events, first_ns=0), PLANNED.names))
    regular = CauseColumns(events, RECALLED, CAUSES_MAX).regular

    assert sorted(found) == sorted(one_by_one)
    assert regular.all() if some is some_calls else regular.any()
