"""In which formats tables are written, and what to say where Spark lacks one."""

from typing import Final

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 what everybody calls it

from antecede.core.errors import LocalError
from antecede_audit.jobs.worker_files import SHARED
from antecede_audit.spark.session import first_line
from antecede_audit.spark.settings import spark_conf

PARQUET: Final = "parquet"
PACKAGES: Final = {
    "delta": "io.delta:delta-spark_2.13",
    "iceberg": "org.apache.iceberg:iceberg-spark",
}
OVERWRITING: Final = {"spark.sql.sources.partitionOverwriteMode": "dynamic"}
"""What is overwritten are those runs that are written, not the whole table."""

BUILT_IN: Final = frozenset((PARQUET, "orc"))


def check_format(session: SparkSession, format_name: str) -> None:
    """`LocalError` if this Spark cannot write the format, before hours have been spent."""
    if format_name in BUILT_IN:
        return
    try:
        session.read.format(format_name).load("/antecede/nothing")
    except AnalysisException as error:
        if error.getCondition() == "DATA_SOURCE_NOT_FOUND":
            raise LocalError(missing(format_name)) from error
    except Exception as error:  # What Java throws for a class that is not there differs by version.
        if "ClassNotFound" in str(error) or "NoClassDefFound" in str(error):
            raise LocalError(missing(format_name)) from error


def missing(format_name: str) -> str:
    """What to do where Spark does not know a format."""
    package = PACKAGES.get(format_name, format_name)
    return (
        f"this Spark does not know the format {format_name}: it needs a package such as {package} "
        "(spark.jars.packages in spark-defaults.conf, or spark-submit --packages)"
    )


def has_run(session: SparkSession, name: str, run_id: str) -> bool:
    """Whether there is a table of this name that has a run of this name."""
    try:
        if not session.catalog.tableExists(name):
            return False
        return bool(session.table(name).where(F.col("run_id") == run_id).limit(1).count())
    except PySparkException as error:
        raise LocalError(f"cannot read the table {name}: {first_line(error)}") from error


def check_new_run(session: SparkSession, name: str, run_id: str) -> None:
    """`LocalError` if the table has a run of that name."""
    if has_run(session, name, run_id):
        raise LocalError(f"{name} has a run {run_id!r} already: give another --run-id")


def check_run(session: SparkSession, name: str, run_id: str, count: int) -> None:
    """`LocalError` if the run in a table has another number of rows."""
    try:
        found = session.table(name).where(F.col("run_id") == run_id).count()
    except PySparkException as error:
        raise LocalError(f"cannot read the table {name}: {first_line(error)}") from error
    if found != count:
        raise LocalError(
            f"{count:,} rows were written into the table {name}, and {found:,} are there: "
            f"its folder {SHARED}"
        )


def write_run(rows: DataFrame, name: str, run_id: str, format_name: str) -> None:
    """Put a run into a table of runs, in the place of one of the same name, if there is one.

    The table is made if it is not there. `LocalError` if it cannot be written.
    """
    session = rows.sparkSession
    again = has_run(session, name, run_id)
    try:
        if again:
            with spark_conf(session, OVERWRITING, required=True):
                rows.select(*session.table(name).columns).write.insertInto(name, overwrite=True)
        else:
            writer = rows.write.format(format_name).mode("append").partitionBy("run_id")
            writer.saveAsTable(name)
    except PySparkException as error:
        raise LocalError(f"cannot write the table {name}: {first_line(error)}") from error
