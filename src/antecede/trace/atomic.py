"""Files that appear under their name when they are complete, or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from antecede.core.errors import LocalError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path to write to, which becomes `path` at the end unless an exception comes first.

    Its name begins with a dot, so that readers of a dataset pass over it.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        yield partial
        with blaming(path, "write"):
            os.replace(partial, path)
    finally:
        with suppress(OSError):
            partial.unlink()


@contextmanager
def blaming(path: Path, verb: str) -> Iterator[None]:
    """Turn what the operating system says into a `LocalError` that names the file."""
    try:
        yield
    except OSError as error:
        raise LocalError(f"cannot {verb} {path}: {error.strerror or error}") from error
