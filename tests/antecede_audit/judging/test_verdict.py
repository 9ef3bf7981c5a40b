"""`judge`: a table of events in, findings out, as the oracle has them; or a refusal."""

from collections.abc import Sequence
from dataclasses import asdict, fields, replace
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede.core.errors import LocalError
from antecede.eventlog import Event
from antecede.eventlog.parquet import event_schema
from antecede.eventlog.rules import JUDGED, check_row
from antecede_audit import judge
from antecede_audit.judging import Order, check_log
from antecede_audit.judging.finding_tables import DUPLICATES, INVENTIONS, LOSSES, VIOLATIONS
from antecede_audit.judging.summary import TABLES
from antecede_audit.judging.verdict import Findings
from antecede_audit.spark.audit import AuditTables
from tests.antecede.eventlog.sample_logs import small_log, small_rows
from tests.antecede_audit.judging.random_logs import chaos, runs, traced
from tests.antecede_audit.judging.random_traffic import hectic, in_traces
from tests.antecede_audit.spark.logs_on_disk import Rows, by_run, oracle_of
from tests.seeds import seeds


def table_of(events: Sequence[Event], run_id: str | None = None) -> pa.Table:
    table = pa.Table.from_pylist([asdict(event) for event in events], event_schema())
    if run_id is None:
        return table
    return table.append_column("run_id", pa.array([run_id] * len(table), pa.string()))


def is_allowed(event: Event) -> bool:
    """Whether an event log may have this row."""
    try:
        check_row(asdict(event))
    except LocalError:
        return False
    return True


def found_in(found: Findings) -> dict[str, Rows]:
    """The findings by run."""
    return by_run({name: getattr(found, name).to_pylist() for name in TABLES})


@given(events=st.one_of(runs().map(list), chaos(), traced(st.one_of(runs(), chaos()))))
def test_the_judge_agrees_with_the_oracle(events: list[Event]) -> None:
    events = list(filter(is_allowed, events))
    orders: tuple[Order, ...] = ("process", "trace")
    for order in orders:
        found = judge(table_of(events), order)
        assert found_in(found) == oracle_of({"run": events}, order)
        assert found.causal == (len(found.violations) == 0)


def test_several_runs_in_one_table_are_judged_apart() -> None:
    logs = {}
    for seed in seeds(40):
        random = Random(seed)
        logs[f"run {seed}"] = in_traces(hectic(random), random)
    table = pa.concat_tables([table_of(log, name) for name, log in logs.items()])
    found = judge(table)
    assert found_in(found) == oracle_of(logs, "trace")
    assert found.summary.order == "trace"
    by_name = {run.run_id: run for run in found.runs}
    assert {name: len(log) for name, log in logs.items() if log} == {
        name: run.events for name, run in by_name.items()
    }
    assert found.summary.violation_count == len(found.violations)
    assert found.summary.runs == len(found.runs)


def test_tables_have_the_columns_that_an_audit_writes() -> None:
    found = judge(table_of([]))
    schemas = dict(zip(TABLES, (VIOLATIONS, DUPLICATES, LOSSES, INVENTIONS), strict=True))
    for name, schema in schemas.items():
        assert getattr(found, name).schema.names == schema.names
        assert getattr(found, name).schema.types == schema.types
    assert found.runs == ()
    assert found.causal


def test_the_result_on_spark_has_the_same_fields() -> None:
    assert {one.name for one in fields(Findings)} <= {one.name for one in fields(AuditTables)}


def test_without_traces_every_event_of_a_process_counts() -> None:
    events = hectic(Random(1))
    assert judge(table_of(events)).summary.order == "process"
    asked = judge(table_of(events), "trace")
    assert asked.violations == judge(table_of(events)).violations
    assert asked.summary.order == "trace"


def test_only_the_columns_that_say_what_caused_what_are_needed() -> None:
    events = hectic(Random(3))
    bare = judge(table_of(events).select(JUDGED))
    assert bare.violations == judge(table_of(events)).violations
    extra = table_of(events).append_column("source", pa.array(["mine"] * len(events)))
    assert judge(extra).violations == bare.violations


@pytest.mark.parametrize("name", JUDGED)
def test_a_table_without_one_of_them_is_refused(name: str) -> None:
    with pytest.raises(LocalError, match=f"^column '{name}' is missing$"):
        judge(table_of(hectic(Random(3))).drop(name))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"process": -1}, "row 4: column 'process' is -1, outside 0 to 2147483647"),
        ({"position": 1 << 62}, "row 4: column 'position' is 4611686018427387904, outside 0 to"),
        ({"kind": "sent"}, "row 4: column 'kind' is 'sent', not one of submitted, transmitted"),
        ({"payload_bytes": -5}, "row 4: column 'payload_bytes' is -5, outside 0 to 2147483647"),
        ({"target": None}, "row 4: column 'target' is null in a delivered row"),
        ({"time_ns": None}, "row 4: column 'time_ns' must be an integer, not None"),
        ({"sequence": 0.5}, "row 4: column 'sequence' must be an integer, not 0.5"),
    ],
)
def test_what_no_event_log_may_say_is_refused(change: dict[str, object], said: str) -> None:
    rows = small_rows()
    rows[3] |= change
    with pytest.raises(LocalError) as caught:
        judge(pa.Table.from_pylist(rows))
    assert str(caught.value).startswith(said)


def test_an_order_that_nobody_knows_is_refused() -> None:
    events = pa.Table.from_pylist(small_rows(), event_schema())
    wrong: Order = "traces"  # type: ignore[assignment] # that is what is refused
    with pytest.raises(LocalError, match="process, trace, not 'traces'"):
        judge(events, wrong)
    with pytest.raises(LocalError, match="process, trace, not 'traces'"):
        check_log(small_log(), order=wrong)


def test_where_events_contradict_the_clock_the_summary_says_so() -> None:
    events = hectic(Random(5))
    last = max(event.time_ns for event in events)
    backwards = [replace(event, time_ns=last - event.time_ns) for event in events]
    found = judge(table_of(backwards))
    assert found_in(found) == oracle_of({"run": backwards})
    assert list(found.summary.method.sequential) == ["run"]
