"""A Spark session for one command, and what goes wrong in it as one sentence."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING

import click

from antecede.core.errors import LocalError

if TYPE_CHECKING:
    from antecede.pipeline.session import SparkSession


def need_spark() -> None:
    """Look for Spark first, so that one who lacks it is told so, and not of something smaller."""
    import_module("antecede.pipeline.session")


@contextmanager
def spark_session(context: click.Context, master: str | None) -> Iterator["SparkSession"]:
    """Spark for as long as the command needs it; with -v it says all that it has to say."""
    from antecede.pipeline.session import SPARK_ERRORS, first_line, open_session

    verbose = context.find_root().params.get("verbose", 0) > 0
    name = f"antecede {context.info_name}"
    with open_session(name, master=master, verbose=verbose) as session:
        try:
            yield session
        except SPARK_ERRORS as error:
            if verbose:
                raise
            raise LocalError(f"Spark gave up: {first_line(error)} (-v says more)") from error
