"""Whether effects overtook causes: asked of Spark, or of the built-in oracle where there is none.

Both say the same, message by message; Spark also does for logs that are larger than memory.
"""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, final

from antecede.audit.oracle import check_log
from antecede.cli.demonstration.plan import RUNS, Places
from antecede.core.errors import LocalError
from antecede.pipeline.java import find_java
from antecede.trace.files import read_events

if TYPE_CHECKING:
    from antecede.pipeline.session import SparkSession

SPARK: Final = "Spark"
ORACLE: Final = "the built-in oracle"

THE_STEP: Final = "pip install 'antecede[lab]'"
"""Brings Spark, and a Java to run it."""

SHORT_JOB: Final = {
    # The log is small: more tasks would only add their start-up.
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.driver.memory": "1g",
    # Java compiles quickly instead of well: in a job of seconds that halves its processor time.
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
}

Tell = Callable[[str], None]
Watch = Callable[["SparkSession"], None]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What was found in one run."""

    deliveries: int
    early: int
    """Messages delivered before one that caused them."""
    losses: int
    duplicates: int


def why_no_spark() -> str | None:
    """Why Spark cannot be used here, and the one step that helps; None if it probably can."""
    forced = os.environ.get("ANTECEDE_JAVA", "") == "none"
    if find_spec("pyspark") is None or find_spec("pyarrow") is None:
        return f"Spark is not installed; to have it: {THE_STEP}"
    try:
        find_java()
    except LocalError:
        unset = " and leave ANTECEDE_JAVA unset" if forced else ""
        because = " (ANTECEDE_JAVA=none)" if forced else ""
        return f"There is no Java for Spark{because}; to have one: {THE_STEP}{unset}"
    return None


def judged_by_spark(places: Places, tell: Tell, watch: Watch) -> dict[str, Judgement]:
    """By run; the tables go where the report looks for them."""
    from antecede.pipeline.audit.job import audit
    from antecede.pipeline.evaluate.job import count_rows
    from antecede.pipeline.session import SPARK_ERRORS, first_line, open_session
    from antecede.report.readers.sources import VIOLATIONS_FOLDER

    try:
        with open_session("antecede demo", master="local[2]", settings=SHORT_JOB) as session:
            watch(session)
            audit(session, [str(places.events)], str(places.audit), tell=tell)
    except SPARK_ERRORS as error:
        raise LocalError(f"Spark gave up: {first_line(error)}") from error
    counts: dict[str, dict[str, int]] = {}
    for table in (VIOLATIONS_FOLDER, "losses", "duplicates"):
        rows = count_rows(places.audit / table).rows
        counts[table] = {
            run: sum(count for (of, _), count in rows.items() if of == run) for run in RUNS
        }
    return {
        run: Judgement(
            deliveries=sum(e.kind == "delivered" for e in read_events(places.events, run)),
            early=counts[VIOLATIONS_FOLDER][run],
            losses=counts["losses"][run],
            duplicates=counts["duplicates"][run],
        )
        for run in RUNS
    }


def judged_by_oracle(places: Places, tell: Tell) -> dict[str, Judgement]:
    """By run, straight from the definition."""
    shutil.rmtree(places.audit, ignore_errors=True)  # Spark may have begun something.
    found: dict[str, Judgement] = {}
    for run in RUNS:
        tell(f"judging {run}")
        verdict = check_log(read_events(places.events, run), witnesses=False)
        found[run] = Judgement(
            deliveries=verdict.deliveries,
            early=len(verdict.violations),
            losses=len(verdict.losses),
            duplicates=len(verdict.duplicates),
        )
    return found
