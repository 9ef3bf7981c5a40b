"""Messages of many traces at once are those that are found trace by trace."""

from collections import Counter
from itertools import groupby

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from antecede.pipeline.ingest.arrow_rows import Row, arrow_schema, batches_of, rows_of
from antecede.pipeline.ingest.call_columns import Forest, call_batches
from antecede.pipeline.ingest.calls import calls_of_trace
from antecede.pipeline.ingest.formats.records import Span
from antecede.pipeline.ingest.layouts import CALLS, SPAN
from tests.pipeline.ingest.samples import span

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


def one_by_one(found: list[Span]) -> list[Row]:
    """The rows of every trace for itself, and what was counted."""
    tally: Counter[str] = Counter()
    rows: list[Row] = []
    for _, group in groupby(found, key=lambda one: one.trace):
        rows += [(*call, None, None) for call in calls_of_trace(list(group), tally)]
    nothing = [None] * (len(CALLS.names) - 2)
    return rows + [(*nothing, name, count) for name, count in tally.items() if count]


def at_once(found: list[Span], rows_of_a_batch: int) -> list[Row]:
    """The same, in batches of so many rows."""
    table = pa.Table.from_batches(batches_of(found, SPAN), arrow_schema(SPAN))
    batches = table.to_batches(max_chunksize=rows_of_a_batch)
    rows = rows_of(call_batches(batches), CALLS.names)
    return [row for row in rows if row[-1] != 0]


@settings(max_examples=300, deadline=None)
@given(found=st.one_of(distinct, st.lists(spans, max_size=12)), size=st.integers(1, 13))
def test_messages_are_those_of_every_trace_for_itself(found: list[Span], size: int) -> None:
    ordered = sorted(found, key=lambda one: one.trace)

    assert sorted(at_once(ordered, size), key=repr) == sorted(one_by_one(ordered), key=repr)


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
    forest = Forest(pa.Table.from_batches(batches_of(found, SPAN), arrow_schema(SPAN)))

    assert forest.regular.tolist() == [True, True, False, False, False, False]
    assert [batch.num_rows for batch in forest.calls()] == [1, 1]
