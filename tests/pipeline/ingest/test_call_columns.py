"""Messages of many traces at once are those that are found trace by trace."""

from collections import Counter
from itertools import groupby
from random import Random

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from antecede.pipeline.ingest.arrow_rows import Batch, Row, arrow_schema, rows_of
from antecede.pipeline.ingest.call_columns import Forest, calls_among, messages_of
from antecede.pipeline.ingest.calls import calls_of_trace
from antecede.pipeline.ingest.formats.records import Span
from antecede.pipeline.ingest.layouts import MESSAGES
from antecede.pipeline.ingest.packing import CALLING, MOVED_SPANS
from tests.pipeline.ingest.samples import span

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


def one_by_one(found: list[Span]) -> tuple[list[Row], Counter[str]]:
    """The rows of every trace for itself, and what was counted."""
    tally: Counter[str] = Counter()
    calls = [
        call
        for _, group in groupby(sorted(found, key=lambda one: one.trace), lambda one: one.trace)
        for call in calls_of_trace(list(group), tally)
    ]
    return list(rows_of([messages_of(calls, KEYS)], MESSAGES.names)), tally


def packed(found: list[Span]) -> Batch:
    """Spans as a task has them: in any order, with their places."""
    rows = [(*one[: len(CALLING)], 0, place) for place, one in enumerate(found)]
    columns = zip(*rows, strict=True) if rows else [[]] * len(MOVED_SPANS)
    schema = arrow_schema(MOVED_SPANS)
    arrays = [pa.array(one, field.type) for one, field in zip(columns, schema, strict=True)]
    return pa.record_batch(arrays, schema=schema)


@settings(max_examples=300, deadline=None)
@given(
    found=st.one_of(distinct, st.lists(spans, max_size=12)), order=st.randoms(use_true_random=False)
)
def test_messages_are_those_of_every_trace_for_itself(found: list[Span], order: Random) -> None:
    places = list(range(len(found)))
    order.shuffle(places)
    tally: Counter[str] = Counter()
    spread = packed(found).take(pa.array(places, pa.int64()))
    at_once = rows_of(calls_among(spread, KEYS, tally), MESSAGES.names)
    rows, counted = one_by_one(found)

    assert sorted(at_once, key=repr) == sorted(rows, key=repr)
    assert +tally == +counted


def test_only_odd_traces_are_left_to_others() -> None:
    """Or the test above would compare nothing."""
    found = [
        span("1", trace="t", end=90),
        span("2", "1", trace="t", process="b", start=5),
        span("1", trace="u"),
        span("1", trace="u", process="b"),
        span("1", "2", trace="v"),
        span("2", "1", trace="v"),
    ]
    forest = Forest(packed(found), KEYS)

    assert forest.regular.tolist() == [True, True, False, False, False, False]
    assert [batch.num_rows for batch in forest.calls()] == [1, 1]
