"""One Spark session for all tests that want one: starting it takes seconds.

Nothing of Spark is imported before some test asks for it.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT: Final = Path(__file__).parents[1]
"""Where `tests` is, which workers import from."""


@pytest.fixture(scope="session")
def spark() -> Iterator["SparkSession"]:
    """A session on two cores, as the rest of the pipeline opens it."""
    pytest.importorskip("pyspark", reason="Spark comes with the extra `lab`")
    from antecede_audit.spark.session import open_session, package_folder

    settings = {
        # Tables in tests are small: more tasks would only add their start-up.
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
        "spark.driver.memory": "1g",
        # A query runs once, on a few rows: compiling it, by Spark and then by Java, would take
        # longer than running it. Together these more than
        # halve the time of all tests.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        # Nor is there anything to learn from the first stages about how to run the others.
        # Commands that are run as a user would run them keep all of this.
        "spark.sql.adaptive.enabled": "false",
        # With one compiler Java keeps 48 MB for code, which Spark has filled after a minute. With
        # room for its classes from the beginning it need not look whether some have gone.
        "spark.driver.extraJavaOptions": "-XX:+UseParallelGC -XX:TieredStopAtLevel=1"
        " -XX:ReservedCodeCacheSize=256m -XX:MetaspaceSize=300m",
        # Filters that Spark could think up itself would save rows, and there are few.
        "spark.sql.constraintPropagation.enabled": "false",
        # Python workers are forked with their imports, instead of importing for a second each.
        "spark.python.daemon.module": "tests.ready_daemon",
        "spark.executorEnv.PYTHONPATH": os.pathsep.join((str(package_folder().parent), str(ROOT))),
    }
    with open_session("antecede-tests", master="local[2]", settings=settings) as session:
        yield session
