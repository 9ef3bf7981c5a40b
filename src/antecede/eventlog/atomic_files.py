"""Atomic files: they appear under their name when they are complete, or not at all."""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from antecede.core.errors import LocalError
from antecede.eventlog.ownership import NOTE, Note, check_owned, files_below, note_in


@contextmanager
def write_atomically(path: Path) -> Iterator[Path]:
    """A path to write to, which becomes `path` at the end unless an exception comes first.

    Its name begins with a dot, so that readers of a dataset ignore it.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        yield partial
        with os_errors_as_local(path, "write"):
            os.replace(partial, path)
    finally:
        with suppress(OSError):
            partial.unlink()


def write_whole(path: Path, data: bytes) -> None:
    """Write a file that appears when it is complete, and the folders above it."""
    with os_errors_as_local(path, "write"):
        path.parent.mkdir(parents=True, exist_ok=True)
    with write_atomically(path) as partial, os_errors_as_local(path, "write"):
        partial.write_bytes(data)


def read_note(folder: Path) -> Note:
    """Which files antecede wrote into a folder, by the note (a manifest) in it."""
    with os_errors_as_local(folder / NOTE, "read"):
        try:
            text = (folder / NOTE).read_text(encoding="utf-8", errors="replace")
        except (FileNotFoundError, NotADirectoryError):
            text = None
    return note_in(str(folder), text)


def write_note(folder: Path, note: Note) -> None:
    """Write the note that lists what antecede wrote into a folder."""
    write_whole(folder / NOTE, note.text().encode())


def check_replaceable(folder: Path, names: Sequence[str], *, known: bool = False) -> None:
    """`LocalError` if a file under these names in a folder was written by somebody else.

    `known`: the folder is antecede's for certain, and only older than notes are.
    """
    check_owned(str(folder), read_note(folder), files_below(folder, names), known=known)


def claim(folder: Path, names: Sequence[str], *, known: bool = False) -> None:
    """List these names in the note: everything under them will be antecede's.

    For work that goes on in place. `LocalError` if somebody else has a file there; not if the
    folder is `known` to be antecede's, and only older than notes are.
    """
    note = read_note(folder)
    if not (known and note.is_empty):
        check_owned(str(folder), note, files_below(folder, names))
    if not note.folders.issuperset(names):
        write_note(folder, note.without(names).added(folders=names))


def settle(folder: Path, names: Sequence[str]) -> None:
    """List the files under names that were claimed: files that come later are not antecede's."""
    note = read_note(folder).without(names)
    write_note(folder, note.added(files=files_below(folder, names)))


@contextmanager
def replace_folder_atomically(
    folder: Path, names: Sequence[str], *, known: bool = False
) -> Iterator[Path]:
    """A folder to write files and folders of these names into, which appear together at the end.

    If an exception comes first, what was there of these names before is still there. `LocalError`
    if somebody else wrote some of that, as `check_replaceable` has it.
    """
    check_replaceable(folder, names, known=known)
    stage, old = (folder / f".{os.getpid()}.{end}" for end in ("unfinished", "replaced"))
    try:
        with os_errors_as_local(folder, "write"):
            for place in (stage, old):
                shutil.rmtree(place, ignore_errors=True)
                place.mkdir(parents=True)
        yield stage
        check_replaceable(folder, names, known=known)  # That may have taken hours.
        note, written = read_note(folder), list(files_below(stage, names))
        # The note is written first: after a kill in the middle of this it lists everything.
        there = [*files_below(folder, names), *written]
        write_note(folder, note.added(files=there))
        with os_errors_as_local(folder, "write"):
            exchange(folder, names, stage, old)
        write_note(folder, note.without(names).added(files=written))
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
def os_errors_as_local(path: Path, verb: str) -> Iterator[None]:
    """Turn an `OSError` into a `LocalError` that names the file."""
    try:
        yield
    except OSError as error:
        raise LocalError(f"cannot {verb} {path}: {error.strerror or error}") from error
