"""Logs in pieces: what is counted, cut and packed is what the whole log has. No Spark is needed."""

from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from antecede.core.errors import LocalError
from antecede_audit.columns.arrays import LATEST, stable_order
from antecede_audit.columns.arrow_rows import Integers
from antecede_audit.columns.packed_batch import PACKED, pack_integers, unpack_integers
from antecede_audit.judging.copies import ROW_FIELDS, Rows, gather_copies
from antecede_audit.judging.event_columns import EventColumns
from antecede_audit.judging.finding_tables import Columns, chosen, columns_of, latest_cause_of_each
from antecede_audit.judging.raw_findings import packed_findings, violations_in
from antecede_audit.judging.slice_plan import RunExtent, plan_slices
from antecede_audit.judging.slices import judge_rows
from antecede_audit.judging.summary import QUANTILES
from antecede_audit.judging.violation_figures import VALUES_MAX, ViolationFigures
from antecede_audit.spark.cutting import keyed_by_slice, seen_by
from antecede_audit.spark.pieces import read_here, session_settings
from antecede_audit.spark.session import PLANS_ONLY
from antecede_audit.spark.survey import flights_of, survey_batches
from tests.antecede_audit.judging.random_traffic import hectic, in_traces
from tests.antecede_audit.spark.logs_on_disk import write_runs
from tests.antecede_audit.spark.rows_of_events import joined


def piece_of(path: str, part: int = 0, of: int = 1) -> object:
    """A part of a file, as workers are told of it."""
    return pa.record_batch(
        {"source": [0], "run_id": ["only"], "file": [path], "part": [part], "of": [of]}
    )


def many_rows(path: Path) -> tuple[str, Rows]:
    """A file with several runs, and its rows."""
    random = Random(5)
    runs = {f"run-{number}": in_traces(hectic(random), random) for number in range(40)}
    name = write_runs(path / "log.parquet", runs)
    (table,) = read_here(piece_of(name))
    return name, EventColumns(table).rows()


def in_order(rows: Rows) -> list[tuple[int, ...]]:
    """Rows as tuples, for comparing."""
    return sorted(zip(*(getattr(rows, name).tolist() for name in ROW_FIELDS), strict=True))


def test_parts_of_a_file_are_the_file(tmp_path: Path) -> None:
    name, rows = many_rows(tmp_path)
    (table,) = read_here(piece_of(name))
    numbers = {key: number for number, key in enumerate(EventColumns(table).runs)}
    pq.write_table(pq.read_table(name), name, row_group_size=100)
    parts = [
        EventColumns(table).rows(numbers)
        for part in range(3)
        for table in read_here(piece_of(name, part, 3))
    ]
    assert in_order(joined(parts)) == in_order(rows)


def test_a_file_that_lacks_a_column_is_no_event_log(tmp_path: Path) -> None:
    name, _ = many_rows(tmp_path)
    table = pq.read_table(name)
    pq.write_table(table.drop_columns("position"), name)
    with pytest.raises(LocalError) as refusal:
        list(read_here(piece_of(name)))
    assert str(refusal.value) == f"{name}: column 'position' is missing"


def test_java_optimises_nothing_only_where_workers_read_every_log(tmp_path: Path) -> None:
    log = write_runs(tmp_path / "log.parquet", {"r": hectic(Random(1))})
    lines = tmp_path / "log.jsonl"
    lines.write_text("")
    assert session_settings([log]) == PLANS_ONLY
    assert session_settings([log, str(lines)]) == {}


def test_a_look_sets_aside_what_all_flights_are_found_by(tmp_path: Path) -> None:
    """Of a small piece that is every message."""
    name, rows = many_rows(tmp_path)
    seen = pa.Table.from_batches(list(survey_batches(iter([piece_of(name)]), read_here)))
    aside = Rows.of_packed(content for content in seen["content"] if content.is_valid)
    assert len(np.unique(aside.run)) == len(np.unique(rows.run))
    assert sorted(flights_of(aside).tolist()) == sorted(flights_of(rows).tolist())
    assert sum(filter(None, seen["deliveries"].to_pylist())) == int(rows.delivered.sum())


def test_slices_get_what_their_stretches_have(tmp_path: Path) -> None:
    _, rows = many_rows(tmp_path)
    moved = replace(rows, clock_ns=rows.clock_ns + rows.run)
    extents = {
        run: RunExtent(
            copies=int((moved.run == run).sum()),
            first_ns=int(moved.clock_ns[moved.run == run].min()),
            last_ns=int(moved.clock_ns[moved.run == run].max()),
            sample=flights_of(rows.chosen(rows.run == run))[:, :2] + run,
        )
        for run in np.unique(rows.run).tolist()[1:]
    }
    plan = plan_slices(extents, 10)
    batches = [batch for batch in keyed_by_slice(moved, plan) if batch.schema.names == PACKED.names]
    found: dict[int, list[Rows]] = {}
    for batch in batches:
        for number, content in zip(batch["partition"].to_pylist(), batch["content"], strict=True):
            found.setdefault(number, []).append(Rows.of_packed([content]))
    assert len(plan.slices) > 20
    for number, stretch in plan.slices.items():
        inside = (moved.clock_ns >= stretch.start_ns) & (moved.clock_ns < stretch.end_ns)
        seen = joined(found[number])
        (run,) = np.unique(seen.run)
        assert in_order(seen) == in_order(moved.chosen(inside & (moved.run == run)))


@pytest.mark.parametrize("span", [0, 1, 255, 256, 65535, 65536, 2**32 - 1, 2**32, 2 * LATEST])
@pytest.mark.parametrize("low", [0, -7, -LATEST])
def test_numbers_of_any_width_are_in_a_packed_batch(low: int, span: int) -> None:
    high = min(low + span, LATEST)
    column = np.array([low, high, low + (high - low) // 2], np.int64)
    constant = np.full(3, low, np.int64)
    nothing = np.zeros(0, np.int64)
    packed = [
        pack_integers([column, constant]),
        pack_integers([nothing, nothing]),
        pack_integers([constant, column]),
    ]
    found = unpack_integers(pa.array(packed, pa.binary()), 2)
    assert found[0].tolist() == [*column.tolist(), *constant.tolist()]
    assert found[1].tolist() == [*constant.tolist(), *column.tolist()]


def test_nothing_is_unpacked_from_no_batch() -> None:
    assert unpack_integers([], 4).shape == (4, 0)


@pytest.mark.parametrize("span", [1, 300, 2**16 - 1, 2**16, 2**40, 2 * LATEST])
def test_equal_keys_stay_as_they_stand(span: int) -> None:
    random = np.random.default_rng(span % 1000)
    few: Integers = random.integers(-LATEST, -LATEST + span, 20, endpoint=True)
    keys = random.choice(few, 500)
    assert stable_order(keys).tolist() == np.argsort(keys, kind="stable").tolist()
    assert stable_order(keys[:0]).tolist() == []


def test_a_row_may_be_seen_by_many_slices() -> None:
    index, number = seen_by(np.array([3, 5, 0, 2]), np.array([3, 8, 1, 2]))
    pairs = sorted(zip(index.tolist(), number.tolist(), strict=True))
    assert pairs == [(0, 3), (1, 5), (1, 6), (1, 7), (1, 8), (2, 0), (2, 1), (3, 2)]


def early_in(path: Path) -> tuple[Columns, Columns]:
    """Violations, and the early messages among them."""
    _, rows = many_rows(path)
    findings = judge_rows(rows, 0, ("process",))
    batches = [batch for batch in packed_findings(findings, 3) if batch["content"].null_count == 0]
    assert len(batches) == 3
    assert gather_copies(rows).copies.run.max() > 3
    packed = violations_in([content for batch in batches for content in batch["content"]])
    columns = columns_of(findings)
    which = columns["what"] == 0
    assert len(packed["run"]) == int(which.sum())
    return chosen(columns, which), packed


def test_what_is_packed_in_buckets_is_what_was_found(tmp_path: Path) -> None:
    plain, packed = early_in(tmp_path)
    found, unpacked = (
        latest_cause_of_each(rows, {1: {0: -5}, 2: {1: 7}}) for rows in (plain, packed)
    )
    assert {name: values.tolist() for name, values in found.items()} == {
        name: values.tolist() for name, values in unpacked.items()
    }


def test_figures_of_parts_are_those_of_the_whole(tmp_path: Path) -> None:
    plain, _ = early_in(tmp_path)
    early = latest_cause_of_each(plain, {})
    names = [f"run {number % 7} {number}" for number in range(40)]
    parts = [
        ViolationFigures.of(chosen(early, early["process"] % 3 == part), names) for part in range(3)
    ]
    again = ViolationFigures.joined([ViolationFigures.unpacked(part.packed()) for part in parts])
    whole = ViolationFigures.of(early, names)
    assert again == whole
    assert again.quantiles() == whole.quantiles()
    assert ViolationFigures.joined([]).quantiles() is None


@pytest.mark.parametrize("count", [1, 2, 3, 10, 11, 99, 101])
def test_a_quantile_is_the_least_value_that_so_many_do_not_exceed(count: int) -> None:
    held_back = sorted(Random(count).sample(range(1_000), count))
    found = ViolationFigures(held_back_ns=held_back, weights=[1] * count).quantiles()
    assert found == {
        name: next(value for place, value in enumerate(held_back, 1) if place >= share * count)
        for name, share in QUANTILES.items()
    }


def test_of_very_many_values_some_at_equal_distances_stand_for_all() -> None:
    count = 3 * VALUES_MAX + 1
    columns = ("kind", "grade", "run", "process", "early_sender", "late_sender")
    early = {name: np.zeros(count, np.int64) for name in columns}
    early["held_back_ns"] = np.random.default_rng(1).permutation(count) + 1
    found = ViolationFigures.of(early, ["only"])
    assert sum(found.weights) == found.violations == count
    assert len(found.weights) == VALUES_MAX
    quantiles = found.quantiles() or {}
    assert {
        name: abs(quantiles[name] - share * count) <= 4 for name, share in QUANTILES.items()
    } == dict.fromkeys(QUANTILES, True)
    assert quantiles["max"] == count
