"""Spark's web page says what is being done, and a few rows are a few tasks."""

import ast
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # it ships no types
from pyspark.sql import SparkSession

import antecede_audit
from antecede_audit import audit, spans_to_events
from antecede_audit.shuffle import PARTITION_ROWS, PARTITION_ROWS_MIN, partitions_by_size
from antecede_audit.spark.audit import audit_logs
from antecede_audit.spark.ingest import ingest
from antecede_audit.spark.job_names import DESCRIPTION, named
from antecede_audit.spark.measure import measure_logs, profile
from antecede_audit.spark.settings import spark_conf
from antecede_audit.spark.watch.state import WatchSettings
from antecede_audit.spark.watch.watch import finish, watch
from antecede_lab.sweep.sweep import run_sweep
from tests.antecede_audit.spans.samples import as_lines
from tests.antecede_lab.sweep.grids import grid_of

PLAIN = {"spark.sql.shuffle.partitions": "200", "spark.sql.adaptive.enabled": "true"}
"""What a session has in which nobody has set anything."""

SPAN = (
    "trace_id string, span_id string, parent_id string, process string, kind string, "
    "start_ns long, end_ns long"
)
SEVEN = [
    ("a1", "order", None, "shop", "server", 1_000, 61_000),
    ("a1", "announce", "order", "shop", "producer", 2_000, 2_500),
    ("a1", "note", "announce", "stock", "consumer", 51_000, 52_000),
    ("a1", "tell", "order", "shop", "client", 3_000, 41_000),
    ("a1", "told", "tell", "mail", "server", 6_000, 39_000),
    ("a1", "ask", "told", "mail", "client", 7_000, 21_000),
    ("a1", "answer", "ask", "stock", "server", 10_000, 18_000),
]
"""The guide's: mail asks stock about an order that stock has not heard of."""


def descriptions(spark: SparkSession, since: int) -> list[str]:
    """What all jobs from a number on are called, and their stages; nothing if they have no name."""
    assert spark.sparkContext._jsc is not None
    store = spark.sparkContext._jsc.sc().statusStore()
    found = [one for one in all_of(store.jobsList(None)) if one.jobId() >= since]
    numbers = {number for job in found for number in all_of(job.stageIds())}
    stages = [one for number in sorted(numbers) for one in known_stage(store, number)]
    run = [one for one in stages if one.status().toString() != "SKIPPED"]
    assert run or not found
    return [
        one.description().get() if one.description().isDefined() else "" for one in (*found, *run)
    ]


def known_stage(store: Any, number: int) -> list[Any]:  # noqa: ANN401 one of Spark's
    """The stage of that number; none if it never ran, as another job had made its result."""
    try:
        return [store.lastStageAttempt(number)]
    except Py4JJavaError as error:
        if "NoSuchElementException" not in str(error.java_exception):
            raise
        return []


def all_of(sequence: Any) -> list[Any]:  # noqa: ANN401 one of Scala's
    """What there is in a sequence."""
    return [sequence.apply(place) for place in range(sequence.size())]


def next_job(spark: SparkSession) -> int:
    """The number of the next job."""
    spark.range(1).collect()
    assert spark.sparkContext._jsc is not None
    jobs = spark.sparkContext._jsc.sc().statusStore().jobsList(None)
    return 1 + max(int(jobs.apply(place).jobId()) for place in range(jobs.size()))


def stages_of(spark: SparkSession, group: str) -> list[int]:
    """How many tasks each stage of a group of jobs has."""
    tracker = spark.sparkContext.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
    stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
    return [stage.numTasks for stage in stages if stage is not None]


RUN_FUNCTIONS = ("mapInArrow", "applyInArrow", "mapInPandas")


def calls_with_functions() -> Iterator[tuple[str, ast.Call]]:
    """Every place where Spark is given a Python function to run."""
    for file in sorted(Path(antecede_audit.__file__).parents[1].glob("antecede_*/**/*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            called = node.func if isinstance(node, ast.Call) else None
            if isinstance(called, ast.Attribute) and called.attr in RUN_FUNCTIONS:
                assert isinstance(node, ast.Call), "it has arguments"
                yield f"{file.name}:{node.lineno}", node


def test_every_function_that_spark_is_given_has_its_name() -> None:
    calls = list(calls_with_functions())

    assert len(calls) > 10
    for place, call in calls:
        said = ast.unparse(call.args[0])
        assert said.startswith("named("), f"{place}: {said} may be called partial in Spark's plans"


def test_a_stage_is_called_after_the_innermost_function() -> None:
    def doing(batches: int, more: int) -> int:
        return batches + more

    def around(batches: int, stage: partial[int]) -> int:
        return stage(batches)

    stage = named(partial(around, stage=partial(doing, more=2)))
    assert (stage.__name__, stage(1)) == ("doing", 3)
    assert named(doing) is doing


def test_tasks_go_by_size() -> None:
    wanted = 200

    assert partitions_by_size(wanted, 7) == 1
    assert partitions_by_size(wanted, 10 * PARTITION_ROWS_MIN) == 10
    assert partitions_by_size(wanted, 500 * PARTITION_ROWS_MIN) == wanted
    assert partitions_by_size(wanted, 300 * PARTITION_ROWS) == 300


def test_seven_spans_in_a_plain_session_are_a_few_tasks_with_names(spark: SparkSession) -> None:
    context = spark.sparkContext
    first = next_job(spark)
    spans = spark.createDataFrame(SEVEN, SPAN)
    with spark_conf(spark, PLAIN):
        context.setJobGroup("seven spans", "somebody's own words")
        try:
            with spans_to_events(spans) as traffic, audit(traffic.events) as found:
                assert context.getLocalProperty(DESCRIPTION) == "somebody's own words"
                assert spark.conf.get("spark.sql.shuffle.partitions") == "200"
                made = stages_of(spark, "seven spans")
                called = descriptions(spark, first)
                assert traffic.events.count() == 10
                assert found.violations.count() == 1
                plan = traffic.events._jdf.queryExecution().toString()
        finally:
            context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]
            context.setLocalProperty(DESCRIPTION, None)  # type: ignore[arg-type]

    assert made
    assert max(made) <= 2, "the partitions that the rows came in, and no more than one bucket"
    assert {one.partition(":")[0] for one in called} == {
        "antecede spans_to_events",
        "antecede audit",
    }
    assert "MapInArrow event_batches" in plan
    assert "partial" not in plan


def ingested(spark: SparkSession, folder: Path, out: str) -> None:
    """Ingest a file into a folder and a table, and then another."""
    table = "of_named_jobs"
    (folder / "b.csv").write_bytes(as_lines("b,a,7"))
    try:
        ingest(spark, [str(folder / "a.csv")], out, table_name=table)
        ingest(spark, [str(folder / "b.csv")], out, table_name=table, append=True)
    finally:
        spark.sql(f"DROP TABLE IF EXISTS {table}")


def watched(spark: SparkSession, log: str, out: Path) -> None:
    """Judge a log in batches, and then what is left of it."""
    settings = WatchSettings(order="process", patience_ns=1, lost_after_ns=1, horizon_ns=1 << 40)
    watch(spark, log, str(out), settings, once=True).awaitTermination()
    finish(spark, str(out), settings)


def test_every_job_of_the_pipeline_says_what_it_does(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(as_lines("a,b,1", "b,c,2", "c,a,3"))
    out = str(tmp_path / "out")
    grid = grid_of(
        tmp_path, 'protocols = ["fifo"]\nnetworks = ["reliable"]\n[scenario.chatter]\nmessages = 5'
    )
    jobs: dict[str, Callable[[], object]] = {
        "ingest": lambda: ingested(spark, tmp_path, out),
        "audit": lambda: audit_logs(spark, [f"{out}/events"], str(tmp_path / "found")),
        "measure": lambda: measure_logs(spark, [f"{out}/events"]),
        "watch": lambda: watched(spark, f"{out}/events", tmp_path / "watched"),
        "profile": lambda: profile(spark, out, str(tmp_path / "profile")),
        "sweep": lambda: run_sweep(spark, grid, tmp_path / "sweep"),
    }
    for work, job in jobs.items():
        first = next_job(spark)
        job()
        called = descriptions(spark, first)
        assert called, work
        assert {one.partition(":")[0] for one in called} == {f"antecede {work}"}, called
        assert spark.sparkContext.getLocalProperty(DESCRIPTION) is None
