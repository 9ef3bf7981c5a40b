"""What earlier batches left in a folder that Spark reads."""

from functools import partial

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from antecede.core.errors import LocalError
from antecede_audit.jobs.append import (
    FINGERPRINTS,
    STORED,
    PreviousIngest,
    as_records,
    check_stored,
    earlier_of,
    fingerprints_of_files,
    no_records,
    of_known_sizes,
    read_previous,
)
from antecede_audit.judging.summary import SUMMARY
from antecede_audit.spans import schemas
from antecede_audit.spans.trace_files import TASKS_WANTED, TraceFiles
from antecede_audit.spark.job_names import named
from antecede_audit.spark.storage import Storage, literal


def without_known_anywhere(
    spark: SparkSession, found: TraceFiles, earlier: PreviousIngest | None
) -> TraceFiles:
    """The files of this machine that no earlier batch had, looked at in tasks of Spark's."""
    paths = [] if earlier is None else of_known_sizes(found, earlier)
    if earlier is None or not paths:
        return found
    rows = spark.createDataFrame([(path,) for path in paths], "path string")
    spread = rows.repartition(min(len(paths), TASKS_WANTED))
    schema = from_arrow_schema(FINGERPRINTS)
    prints = spread.mapInArrow(named(fingerprints_of_files), schema).collect()
    known = {row["path"] for row in prints if row["fingerprint"] in earlier.fingerprints}
    return found.without(known)


def earlier_anywhere(spark: SparkSession, storage: Storage, folder: str) -> PreviousIngest | None:
    """What is in a folder wherever Spark can read; None if there is no ingest in it."""
    here = storage.local(folder)
    if here is not None:
        return read_previous(here)
    found = storage.contents(f"{folder}/{SUMMARY}")
    if not found:
        return None
    if not storage.exists(f"{folder}/files"):
        raise LocalError(no_records(folder))
    schema = from_arrow_schema(schemas.FILES)
    files = spark.read.schema(schema).parquet(literal(f"{folder}/files")).collect()
    text = b"".join(found.values()).decode()
    earlier = earlier_of(folder, text, [row.asDict() for row in files])
    check_stored(earlier, partial(storage.count, format_name="parquet"))
    return earlier


def records_anywhere(
    spark: SparkSession, storage: Storage, earlier: PreviousIngest
) -> list[DataFrame]:
    """The records of all earlier batches, read by Spark: tables of `RECORDS`."""
    tables = []
    for sort, (_, columns, _) in STORED.items():
        place = earlier.place_of(sort)
        here = storage.local(place)
        if storage.exists(place) if here is None else here.is_dir():
            stored = spark.read.schema(from_arrow_schema(columns)).parquet(literal(place))
            stage = partial(as_records, sort=sort)
            tables.append(stored.mapInArrow(named(stage), from_arrow_schema(schemas.RECORDS)))
    return tables
