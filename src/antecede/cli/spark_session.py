"""A Spark session for one command, and what goes wrong in it as one sentence."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click

from antecede.core.errors import LocalError
from antecede.trace.atomic import blaming

if TYPE_CHECKING:
    from antecede.pipeline.session import SparkSession


def need_spark() -> None:
    """Look for Spark first, so that one who lacks it is told so, and not of something smaller."""
    import_module("antecede.pipeline.session")


def check_readable(*paths: str | Path) -> None:
    """A path of this machine that is not there need not wait for Spark to start."""
    for path in paths:
        if is_local(path) and not Path(path).exists():
            raise LocalError(f"{path} does not exist")


def check_writable(*folders: str | Path | None) -> None:
    """Nor need one that nothing can be written to."""
    for folder in folders:
        if folder is not None and is_local(folder):
            with blaming(Path(folder), "write"):
                Path(folder).mkdir(parents=True, exist_ok=True)
            if not os.access(folder, os.W_OK | os.X_OK):
                raise LocalError(f"cannot write {folder}: {os.strerror(errno.EACCES)}")


def is_local(path: str | Path) -> bool:
    """Whether a path is one of this machine for certain; wildcards are Spark's."""
    if set(str(path)) & set("*?[{"):
        return False
    from antecede.pipeline.places import is_plain

    return is_plain(str(path))


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
