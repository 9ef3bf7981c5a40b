"""Whatever happens to the rows of a log, all judges say the same of it: a refusal, or findings."""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from antecede.core.errors import LocalError
from antecede.eventlog import Event
from antecede.eventlog.rules import JUDGED
from antecede.eventlog.schema import ALL_COLUMNS
from antecede_audit.eventlog.reader import read_rows
from antecede_audit.jobs.audit import audit_here
from antecede_audit.judging import Order, check_log
from antecede_audit.judging.summary import TABLES
from antecede_audit.spark import audit as library
from antecede_audit.spark.audit import audit_logs
from antecede_audit.spark.pieces import read_here
from tests.antecede_audit.judging.random_traffic import hectic, in_traces
from tests.antecede_audit.spark.logs_on_disk import Rows, by_run, rows_of, verdicts_of
from tests.seeds import seeds

Row = dict[str, Any]
Mutation = Callable[[list[Row], Random], None]

COLUMNS = ("process", "position", "sender", "sequence", "target", "time_ns")
HUGE = (1 << 31, 1 << 40, 1 << 62, (1 << 63) - 1)


def shift_positions(rows: list[Row], random: Random) -> None:
    """Those of one process, or of all."""
    process, by = random.choice([None, rows[0]["process"]]), random.choice([-5, -1, 3, 1 << 40])
    for row in rows:
        if process is None or row["process"] == process:
            row["position"] = (row["position"] or 0) + by


def negate(rows: list[Row], random: Random) -> None:
    row, name = random.choice(rows), random.choice(COLUMNS)
    row[name] = -1 - (row[name] or 0)


def enlarge(rows: list[Row], random: Random) -> None:
    random.choice(rows)[random.choice(COLUMNS)] = random.choice(HUGE)


def lose_value(rows: list[Row], random: Random) -> None:
    random.choice(rows)[random.choice((*COLUMNS, "kind"))] = None


def rename_kind(rows: list[Row], random: Random) -> None:
    random.choice(rows)["kind"] = random.choice(["sent", "", "Delivered", "arrived"])


def repeat(rows: list[Row], random: Random) -> None:
    rows.append(dict(random.choice(rows)))


def swap(rows: list[Row], random: Random) -> None:
    """Where they stand in the file, which means nothing; or their positions, which do."""
    a, b = random.sample(range(len(rows)), 2)
    rows[a], rows[b] = rows[b], rows[a]
    if random.random() < 0.5 and rows[a]["process"] == rows[b]["process"]:
        rows[a]["position"], rows[b]["position"] = rows[b]["position"], rows[a]["position"]


def collide(rows: list[Row], random: Random) -> None:
    """Two events at one position."""
    row = random.choice(rows)
    others = [other for other in rows if other["process"] == row["process"]]
    row["position"] = random.choice(others)["position"]


def drop(rows: list[Row], random: Random) -> None:
    del rows[random.randrange(len(rows))]


def move(rows: list[Row], random: Random) -> None:
    """To another process, or another time."""
    row = random.choice(rows)
    row[random.choice(("process", "target", "sender"))] = random.randrange(6)
    row["time_ns"] = (row["time_ns"] or 0) + random.choice([0, -1_000_000, 1_000_000])


MUTATIONS: tuple[Mutation, ...] = (
    *(shift_positions, negate, enlarge, lose_value, rename_kind),
    *(repeat, swap, collide, drop, move),
)


def mutated(seed: int) -> list[Row]:
    """A log to which one or two things happened."""
    random = Random(seed)
    events = in_traces(hectic(random), random) if seed % 3 == 0 else hectic(random)
    rows = [asdict(event) for event in events]
    for _ in range(random.choice([1, 1, 2])):
        random.choice(MUTATIONS)(rows, random)
    return rows


def judged_by_oracle(path: Path) -> Rows | str:
    """The findings, or what is wrong."""
    try:
        events = list(read_rows([path]))
    except LocalError as error:
        return column_in(str(error))
    return rows_of(check_log(events, witnesses=False, order=order_of(events)))


def order_of(events: list[Event]) -> Order:
    return "trace" if any(event.trace_id for event in events) else "process"


def is_traced(rows: list[Row]) -> bool:
    return any(row["trace_id"] for row in rows)


def column_in(error: str) -> str:
    """The reason in an error, without the place."""
    return error[error.index("column") :]


def judged_here(path: Path, out: Path) -> Rows | str:
    try:
        audit_here([str(path)], str(out))
    except LocalError as error:
        return column_in(str(error))
    found = by_run({name: pq.read_table(out / name).to_pylist() for name in TABLES})
    return found.get(path.stem, {})


def judged_by_worker(path: Path) -> str | None:
    place = {"source": [0], "run_id": ["run"], "file": [str(path)], "part": [0], "of": [1]}
    try:
        list(read_here(pa.RecordBatch.from_pydict(place)))
    except LocalError as error:
        return column_in(str(error))
    return None


def write(path: Path, rows: list[Row]) -> None:
    """As JSON lines, and as Parquet with the types that Arrow guesses."""
    text = "".join(json.dumps(row) + "\n" for row in rows)
    path.with_suffix(".jsonl").write_text(text)
    pq.write_table(pa.Table.from_pylist(rows), path.with_suffix(".parquet"))


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, tuple[list[Row], Rows | str]]:
    """Logs to which something happened, and what the oracle says of each."""
    folder = tmp_path_factory.mktemp("mutated")
    found: dict[Path, tuple[list[Row], Rows | str]] = {}
    for seed in seeds(200):
        path, rows = folder / f"log{seed}", mutated(seed)
        write(path, rows)
        found[path] = rows, judged_by_oracle(path.with_suffix(".jsonl"))
    return found


def test_readers_of_files_agree_on_logs_that_something_happened_to(
    logs: dict[Path, tuple[list[Row], Rows | str]], tmp_path: Path
) -> None:
    refused = 0
    for path, (_, said) in logs.items():
        for suffix in (".jsonl", ".parquet"):
            file = path.with_suffix(suffix)
            assert judged_by_oracle(file) == said, file.name
            assert judged_here(file, tmp_path / "out") == said, file.name
        worker = judged_by_worker(path.with_suffix(".parquet"))
        assert worker == (said if isinstance(said, str) else None), path.name
        refused += isinstance(said, str)
    assert 20 < refused < len(logs) - 20


def test_spark_agrees_on_those_that_nobody_refuses(
    logs: dict[Path, tuple[list[Row], Rows | str]], spark: SparkSession, tmp_path: Path
) -> None:
    """All of them together: as rows of 64 bits, and some as JSON lines, a folder for each run."""
    right = {path: said for path, (rows, said) in logs.items() if not isinstance(said, str)}
    plain = {path: said for path, said in right.items() if not is_traced(logs[path][0])}
    rows = [row | {"run_id": path.name} for path in plain for row in logs[path][0]]
    frame = spark.createDataFrame(pa.Table.from_pylist(rows).select([*JUDGED, "run_id"]))
    with library.audit(frame) as found:
        assert verdicts_of(found) == {path.name: said for path, said in plain.items() if said}

    few = dict(list(plain.items())[:40])
    for path in few:
        folder = tmp_path / "dataset" / f"run_id={path.name}"
        folder.mkdir(parents=True)
        (folder / "part.jsonl").write_bytes(path.with_suffix(".jsonl").read_bytes())
    audit_logs(spark, [str(tmp_path / "dataset")], str(tmp_path / "out"))
    tables = {name: pq.read_table(tmp_path / "out" / name).to_pylist() for name in TABLES}
    assert by_run(tables) == {path.name: said for path, said in few.items() if said}


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_every_mutation_changes_something(mutation: Mutation) -> None:
    changed = 0
    for seed in range(20):
        rows = [asdict(event) for event in hectic(Random(seed))]
        before = [dict(row) for row in rows]
        mutation(rows, Random(seed))
        assert all(set(row) == set(ALL_COLUMNS) for row in rows)
        changed += rows != before
    assert changed > 5
