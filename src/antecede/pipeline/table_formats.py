"""In which formats tables are written, and what to say where Spark lacks one."""

from typing import Final

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession

from antecede.core.errors import LocalError

PARQUET: Final = "parquet"
FORMATS: Final = (PARQUET, "orc", "delta", "iceberg")
"""The first two come with Spark, the others with packages of their own."""

PACKAGES: Final = {
    "delta": "io.delta:delta-spark_2.13",
    "iceberg": "org.apache.iceberg:iceberg-spark",
}
BUILT_IN: Final = frozenset((PARQUET, "orc"))


def check_format(session: SparkSession, form: str) -> None:
    """`LocalError` if this Spark cannot write the format, before hours have been spent."""
    if form in BUILT_IN:
        return
    try:
        session.read.format(form).load("/antecede/nothing")
    except AnalysisException as error:
        if error.getCondition() == "DATA_SOURCE_NOT_FOUND":
            raise LocalError(missing(form)) from error
    except Exception as error:  # What Java throws for a class that is not there differs by version.
        if "ClassNotFound" in str(error) or "NoClassDefFound" in str(error):
            raise LocalError(missing(form)) from error


def missing(form: str) -> str:
    """What to do where Spark does not know a format."""
    package = PACKAGES.get(form, form)
    return (
        f"this Spark does not know the format {form}: it needs a package such as {package} "
        "(spark.jars.packages in spark-defaults.conf, or spark-submit --packages)"
    )


def first_line(error: PySparkException) -> str:
    """What Spark said, without the rest."""
    return (error.getMessage() or str(error)).strip().partition("\n")[0]


def append_run(rows: DataFrame, name: str, run_id: str, form: str) -> None:
    """Add a run to a table of runs, which is made if it is not there.

    `LocalError` if the table has a run of that name, or cannot be written.
    """
    session = rows.sparkSession
    try:
        if session.catalog.tableExists(name):
            known = session.table(name).where(f"run_id = '{run_id.replace(chr(39), chr(39) * 2)}'")
            if known.limit(1).count():
                raise LocalError(f"{name} has a run {run_id!r} already: give another --run-id")
        writer = rows.write.format(form).mode("append").partitionBy("run_id")
        writer.saveAsTable(name)
    except PySparkException as error:
        raise LocalError(f"cannot write the table {name}: {first_line(error)}") from error
