"""Messages of many traces at once are those that are found trace by trace."""

from collections import Counter
from itertools import groupby
from random import Random

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from antecede_audit.columns.arrow_rows import Batch, Row, batch_of_rows, rows_of
from antecede_audit.spans.formats.records import SpanRecord
from antecede_audit.spans.messages import call_messages
from antecede_audit.spans.partitioning import CALL_SPANS, CALLING
from antecede_audit.spans.schemas import MESSAGES
from tests.antecede_audit.spans.call_oracle import calls_of_trace, messages_of
from tests.antecede_audit.spans.samples import span

KEYS = pa.array(["a", "b", "c"])

spans = st.builds(
    span,
    st.sampled_from(["1", "2", "3", "4", "5", "6"]),
    st.sampled_from([None, "1", "2", "3", "4", "9"]),
    process=st.sampled_from(["a", "b", "c"]),
    start=st.integers(0, 5),
    end=st.sampled_from([None, 6, 9]),
    kind=st.sampled_from(["", "client", "server", "producer", "consumer", "internal"]),
    trace=st.sampled_from(["t", "u", "v"]),
    follows=st.booleans(),
)
distinct = st.lists(spans, max_size=12, unique_by=lambda one: (one.trace, one.span))


def one_by_one(found: list[SpanRecord]) -> tuple[list[Row], Counter[str]]:
    """The rows of every trace for itself, and what was counted."""
    tally: Counter[str] = Counter()
    calls = [
        call
        for _, group in groupby(sorted(found, key=lambda one: one.trace), lambda one: one.trace)
        for call in calls_of_trace(list(group), tally)
    ]
    return list(rows_of([messages_of(calls, KEYS)], MESSAGES.names)), tally


def packed(found: list[SpanRecord]) -> Batch:
    """Spans as a task has them, with their places."""
    rows = [(*one[: len(CALLING)], 0, place) for place, one in enumerate(found)]
    return batch_of_rows(rows, CALL_SPANS)


def check_columns(found: list[SpanRecord], places: list[int] | None = None) -> None:
    """That messages in columns, of spans in any order, are those that are found one by one."""
    tally: Counter[str] = Counter()
    spread = packed(found)
    if places is not None:
        spread = spread.take(pa.array(places, pa.int64()))
    at_once = rows_of(call_messages(spread, KEYS, tally), MESSAGES.names)
    rows, counted = one_by_one(found)

    assert sorted(at_once, key=repr) == sorted(rows, key=repr)
    assert +tally == +counted


@settings(max_examples=400, deadline=None)
@given(
    found=st.one_of(distinct, st.lists(spans, max_size=12)), order=st.randoms(use_true_random=False)
)
def test_messages_are_those_of_every_trace_for_itself(
    found: list[SpanRecord], order: Random
) -> None:
    places = list(range(len(found)))
    order.shuffle(places)
    check_columns(found, places)


def test_spans_in_a_circle_have_the_handler_that_is_met_again_first() -> None:
    """Whatever the order in which a task has them."""
    circle = [span("1", "2"), span("2", "3"), span("3", "2"), span("4", "3")]
    asked = [span(f"{place}b", one.span, process="b") for place, one in enumerate(circle)]
    found = circle + asked

    check_columns(found)
    check_columns(found, [6, 2, 0, 7, 4, 1, 3, 5])
    check_columns(found[::-1])
