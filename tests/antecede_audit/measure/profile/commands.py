"""Commands in tests use the one Spark session that there is."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from click.testing import CliRunner, Result
from pyspark.sql import SparkSession

from antecede_cli.main import main


def run_command(monkeypatch: pytest.MonkeyPatch, spark: SparkSession, *arguments: str) -> Result:
    """What the command line does with these arguments, in this session."""

    @contextmanager
    def open_session(*_: object, **__: object) -> Iterator[SparkSession]:
        yield spark

    monkeypatch.setattr("antecede_audit.spark.session.open_session", open_session)
    return CliRunner().invoke(main, arguments)
