"""A session that is lent keeps its settings, its views and its place while it is used, too."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import pytest
from pyspark.sql import DataFrame, SparkSession

from antecede_audit import audit, spans_to_events
from antecede_audit.spark.audit import audit_logs
from antecede_audit.spark.ingest import ingest
from antecede_audit.spark.measure import measure_logs, profile
from antecede_audit.spark.settings import private_session
from tests.antecede_audit.spans.samples import as_lines
from tests.antecede_audit.spark.test_job_names import SEVEN, SPAN

VIEW = "what_the_user_looks_at"
OWN = {"spark.sql.shuffle.partitions": "3", "spark.sql.execution.arrow.maxRecordsPerBatch": "777"}
"""What the user of the session has chosen while it was open."""


@pytest.fixture
def lent(spark: SparkSession) -> Iterator[SparkSession]:
    """A session with settings and a view of its own."""
    session = spark.newSession()
    for name, value in OWN.items():
        session.conf.set(name, value)
    session.range(3).createOrReplaceTempView(VIEW)
    yield session
    session.catalog.dropTempView(VIEW)


@contextmanager
def unchanged(session: SparkSession) -> Iterator[None]:
    """Another thread looks at all settings all the time, and finds what was there before."""
    before, active = dict(session.conf.getAll), SparkSession.getActiveSession()
    over, seen = Event(), [before]

    def poll() -> None:
        while not over.is_set():
            found = dict(session.conf.getAll)
            if found != seen[-1]:
                seen.append(found)

    poller = Thread(target=poll)
    poller.start()
    try:
        yield
    finally:
        over.set()
        poller.join()
    assert seen == [before]
    assert dict(session.conf.getAll) == before
    assert session.table(VIEW).count() == 3
    assert active is not None
    assert SparkSession.getActiveSession() in (active, session), "none that is not the user's"


def logged(spark: SparkSession, folder: Path) -> str:
    """A folder with what an ingest of three messages leaves."""
    (folder / "a.csv").write_bytes(as_lines("a,b,1", "b,c,2", "c,a,3"))
    ingest(spark, [str(folder / "a.csv")], str(folder / "in"))
    return str(folder / "in")


def test_a_poller_would_notice_a_change(lent: SparkSession) -> None:
    def change() -> None:
        with unchanged(lent):
            lent.conf.set("spark.sql.shuffle.partitions", "5")
            lent.range(9).groupBy("id").count().collect()

    with pytest.raises(AssertionError):
        change()


def test_functions_of_tables_change_no_setting(lent: SparkSession) -> None:
    spans = lent.createDataFrame(SEVEN, SPAN)
    with unchanged(lent), spans_to_events(spans) as traffic, audit(traffic.events) as found:
        assert found.violations.count() == 1
        assert traffic.processes.count() == 3


def test_what_is_found_belongs_to_the_session_that_was_lent(lent: SparkSession) -> None:
    spans = lent.createDataFrame(SEVEN, SPAN)
    with spans_to_events(spans) as traffic, audit(traffic.events) as found:
        tables: list[DataFrame] = [
            traffic.events,
            traffic.processes,
            found.violations,
            found.duplicates,
            found.losses,
            found.inventions,
        ]
        assert all(table.sparkSession is lent for table in tables)
        assert traffic.events.storageLevel.useDisk, "kept, also as a table of this session"
        assert "InMemoryRelation" in found.violations._jdf.queryExecution().toString()
        found.violations.createOrReplaceTempView("found_violations")
        query = f"SELECT count(*) AS n FROM found_violations CROSS JOIN {VIEW}"
        assert lent.sql(query).collect()[0]["n"] == 3
        lent.catalog.dropTempView("found_violations")
    assert not traffic.events.storageLevel.useDisk


@pytest.mark.parametrize("work", ["ingest", "audit", "measure", "profile"])
def test_jobs_change_no_setting(work: str, lent: SparkSession, tmp_path: Path) -> None:
    source, out = logged(lent, tmp_path), str(tmp_path / "out")
    jobs: dict[str, Callable[[], object]] = {
        "ingest": lambda: ingest(lent, [str(tmp_path / "a.csv")], out),
        "audit": lambda: audit_logs(lent, [f"{source}/events"], out),
        "measure": lambda: measure_logs(lent, [f"{source}/events"]),
        "profile": lambda: profile(lent, source, out),
    }
    with unchanged(lent):
        jobs[work]()


def test_a_private_session_has_what_the_lent_one_has(lent: SparkSession) -> None:
    private = private_session(lent)
    assert dict(private.conf.getAll) == dict(lent.conf.getAll)
    assert private.table(VIEW).count() == 3
    private.conf.set("spark.sql.shuffle.partitions", "11")
    assert lent.conf.get("spark.sql.shuffle.partitions") == "3"


def test_a_table_that_the_lent_session_has_read_shows_the_new_run(
    lent: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_bytes(as_lines("a,b,1", "b,c,2", "c,a,3"))
    asked = [str(tmp_path / "a.csv")]
    try:
        for number in (1, 2):
            ingest(lent, asked, str(tmp_path / f"{number}"), run_id=f"{number}", table_name="seen")
            assert lent.table("seen").count() == 6 * number
    finally:
        lent.sql("DROP TABLE IF EXISTS seen")
