"""Files that appear under their name when they are complete, or not at all."""

import os
import shutil
from collections.abc import Iterator, Sequence
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


def write_whole(path: Path, data: bytes) -> None:
    """Write a file that appears when it is complete, and the folders above it."""
    with blaming(path, "write"):
        path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as partial, blaming(path, "write"):
        partial.write_bytes(data)


@contextmanager
def replacing_together(folder: Path, names: Sequence[str]) -> Iterator[Path]:
    """A folder to write files and folders of these names into, which appear together at the end.

    If an exception comes first, what was there of these names before is still there.
    """
    stage, old = (folder / f".{os.getpid()}.{end}" for end in ("unfinished", "replaced"))
    try:
        with blaming(folder, "write"):
            for place in (stage, old):
                shutil.rmtree(place, ignore_errors=True)
                place.mkdir(parents=True)
        yield stage
        with blaming(folder, "write"):
            exchange(folder, names, stage, old)
    finally:
        for place in (stage, old):
            shutil.rmtree(place, ignore_errors=True)


def exchange(folder: Path, names: Sequence[str], stage: Path, old: Path) -> None:
    """Put what is in `stage` into the folder, and what was there into `old`; or neither."""
    moved: list[tuple[Path, Path]] = []
    try:
        for name in names:
            for source, target in ((folder / name, old / name), (stage / name, folder / name)):
                if source.exists():
                    os.replace(source, target)
                    moved.append((source, target))
    except OSError:
        for source, target in reversed(moved):
            os.replace(target, source)
        raise


@contextmanager
def blaming(path: Path, verb: str) -> Iterator[None]:
    """Turn what the operating system says into a `LocalError` that names the file."""
    try:
        yield
    except OSError as error:
        raise LocalError(f"cannot {verb} {path}: {error.strerror or error}") from error
