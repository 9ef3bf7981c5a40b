"""The audit as a job: reads logs, has them judged, writes the tables and the summary."""

import json
from collections.abc import Sequence
from contextlib import ExitStack

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 the name that all of Spark's documents use

from antecede_audit.jobs.audit import build_result
from antecede_audit.jobs.event_logs import (
    LogSource,
    check_separate,
    cut_off,
    moved_clocks,
    names_of,
)
from antecede_audit.judging.definition import Order
from antecede_audit.judging.findings import Violation
from antecede_audit.judging.slice_plan import SLICE_COPIES
from antecede_audit.judging.summary import (
    REPLACED,
    SUMMARY,
    TABLES,
    AuditResult,
    AuditSummary,
    Found,
)
from antecede_audit.spark.audit_judge import Tell, settings_for
from antecede_audit.spark.audit_library import AuditTables, audit_log
from antecede_audit.spark.event_logs import find_source_anywhere, narrowed, read_logs, read_spans
from antecede_audit.spark.job_names import named_jobs, silent
from antecede_audit.spark.pieces import of_files, of_rows
from antecede_audit.spark.settings import private_session, spark_conf
from antecede_audit.spark.storage import Storage
from antecede_audit.spark.survey import survey_log
from antecede_audit.spark.table_formats import PARQUET, check_format
from antecede_audit.spark.witnesses import with_witnesses
from antecede_audit.spark.written_rows import blaming_spark, check_rows


def audit(
    session: SparkSession,
    paths: Sequence[str],
    out: str,
    *,
    order: Order | None = None,
    explain: int = 0,
    tables: Sequence[str] = (),
    format_name: str = PARQUET,
    slice_copies: int = SLICE_COPIES,
    tell: Tell = silent,
) -> AuditResult:
    """Audit the event logs at these paths, and in these tables of a catalogue.

    The tables in the folder `out` are replaced; they are written in the format `format_name`.
    """
    session = private_session(session)
    check_format(session, format_name)
    with ExitStack() as stack:
        tell = stack.enter_context(named_jobs(session, "audit", tell))
        stack.enter_context(spark_conf(session, settings_for(session)))
        places = stack.enter_context(Storage(session))
        places.check_replaceable(out, REPLACED)
        sources = [find_source_anywhere(path, places) for path in paths]
        sources += [LogSource(path=name, run_id=None, is_table=True) for name in tables]
        tell("runs of the log")
        written = read_logs(session, sources)
        pieces = of_files(session, sources) or of_rows(written)
        looked = survey_log(pieces, stack)
        log = narrowed(written)
        runs = looked.runs
        check_separate(runs, sources)
        places.make_folder(out)
        names = names_of(runs, sources)
        by_name = dict(zip(names, runs, strict=True))
        spans = read_spans(session, sources, by_name)
        cut, moved = cut_off(sources, by_name), moved_clocks(sources, by_name)
        with audit_log(
            log, pieces, looked, names, order, spans, slice_copies, tell, cut, moved
        ) as found:
            tell("writing findings")
            write_tables(found, out, places, format_name)
            summary = found.summary
            worst: list[Found] = []
            if explain and not summary.causal:
                tell("explaining violations")
                worst = explained(found, explain)
        return build_result(summary, worst, names, runs, sources)


def write_tables(found: AuditTables, out: str, places: Storage, format_name: str) -> None:
    """Replace the tables and the summary: all of them, or, if something goes wrong, none.

    `Storage.replacing` says what is promised where.
    """
    text = json.dumps(found.summary.as_object(), indent=2) + "\n"
    with places.replacing(out, REPLACED) as stage:
        for name in TABLES:
            with blaming_spark(name):
                write_table(found, name, stage, places, format_name)
        places.write(f"{stage}/{SUMMARY}", text.encode())


def write_table(
    found: AuditTables, name: str, stage: str, places: Storage, format_name: str
) -> None:
    """Write one of the tables; `LocalError` if not all of its rows are there then."""
    table: DataFrame = getattr(found, name)
    place, count = f"{stage}/{name}", rows_of(found.summary, name)
    if not count:
        # Known to be empty: Spark need not plan how to find that out.
        table.limit(0).write.format(format_name).mode("overwrite").save(place)
        return
    here = places.local(place) if name == "violations" and format_name == PARQUET else None
    if here is None or not found.write_violations(here):
        table.write.format(format_name).mode("overwrite").save(place)
    check_rows(places, place, count, format_name)


def rows_of(summary: AuditSummary, table: str) -> int:
    """How many rows a table of findings has."""
    if table == "violations":
        return summary.violation_count
    count: int = getattr(summary, table)
    return count


def explained(found: AuditTables, count: int) -> list[Found]:
    """The worst violations with their witnesses."""
    ranked = found.violations.orderBy(
        F.desc("held_back_ns"), "run_id", "process", "early_sender", "early_sequence"
    )
    worst = [
        (row["run_id"], Violation.of_row(row.asDict())) for row in ranked.limit(count).collect()
    ]
    summary = found.summary
    return with_witnesses(found.counted, worst, list(summary.method.sequential), summary.order)
