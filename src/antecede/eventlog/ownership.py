"""Which files of a folder antecede wrote: a note in the folder lists them, and only they may go.

A folder that is given to `--out` may have files of others in it. Whatever replaces files there
looks at the note first, and refuses to begin if a file would be lost that the note does not list.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

from antecede.core.errors import LocalError

NOTE: Final = ".antecede.json"
TITLE: Final = "what antecede wrote into this folder, and may replace"

CHECKSUM: Final = re.compile(r"(^|/)\.([^/]+)\.crc$")
"""Hadoop keeps the checksum of a file beside it; some of its file systems list it, some do not."""

WRITTEN_BY_SPARK: Final = re.compile(r"(.*/)?(part-[^/]+\.(parquet|orc)|_SUCCESS)")
"""The names of the files of a table."""


@final
@dataclass(frozen=True, slots=True)
class Note:
    """What antecede wrote into a folder: paths below it, with slashes."""

    files: frozenset[str] = frozenset()
    folders: frozenset[str] = frozenset()
    """Folders in which every file is antecede's: they are written in place."""

    @property
    def is_empty(self) -> bool:
        """Whether there is none, or one that lists nothing."""
        return not self.files and not self.folders

    def owns(self, path: str) -> bool:
        """Whether antecede wrote this file."""
        plain = CHECKSUM.sub(r"\1\2", path)
        return path.partition("/")[0] in self.folders or not {path, plain}.isdisjoint(self.files)

    def added(self, files: Iterable[str] = (), folders: Iterable[str] = ()) -> "Note":
        """The note that lists these as well."""
        return Note(self.files.union(files), self.folders.union(folders))

    def without(self, names: Sequence[str]) -> "Note":
        """The note that lists nothing under these names."""
        files = (path for path in self.files if path.partition("/")[0] not in names)
        return Note(frozenset(files), self.folders.difference(names))

    def text(self) -> str:
        """What the file of the note contains."""
        content = {
            "about": TITLE,
            "files": sorted(self.files),
            "folders": sorted(self.folders),
        }
        return json.dumps(content, indent=1) + "\n"


def note_in(folder: str, text: str | None) -> Note:
    """The note that a folder has, by the content of its file; an empty one if it has none.

    `LocalError` if somebody else wrote that file.
    """
    if text is None:
        return Note()
    try:
        content = json.loads(text)
        if content["about"] != TITLE:
            raise ValueError(content["about"])
        return Note(frozenset(content["files"]), frozenset(content["folders"]))
    except (ValueError, KeyError, TypeError) as error:
        raise LocalError(
            f"cannot write into {folder}: {NOTE} there is damaged, so nobody knows which files "
            "antecede may replace; choose another folder"
        ) from error


def check_owned(folder: str, note: Note, found: Iterable[str], *, known: bool = False) -> None:
    """`LocalError` if there are files, of those that would be replaced, that somebody else wrote.

    If the folder is `known` to be antecede's by other means, it may lack the note: then it is
    enough that files are called as files of tables are.
    """
    known = known and note.is_empty
    foreign = sorted(
        path
        for path in found
        if not note.owns(path) and not (known and is_result(CHECKSUM.sub(r"\1\2", path)))
    )
    if not foreign:
        return
    more = f" and {len(foreign) - 1:,} more" if len(foreign) > 1 else ""
    older = " (results of versions without such a note, too)" if note.is_empty else ""
    raise LocalError(
        f"cannot write into {folder}: {foreign[0]}{more} would be lost, and {NOTE} does not list "
        f"it as written by antecede. Choose another folder, or move it away{older}"
    )


def is_result(path: str) -> bool:
    """Whether a file has the name of a table's file, or of the summary beside one."""
    return path == "summary.json" or WRITTEN_BY_SPARK.fullmatch(path) is not None


def files_below(folder: Path, names: Iterable[str]) -> Iterator[str]:
    """The files under these names in a folder, as paths below it; links are not followed."""
    for name in names:
        top = folder / name
        if top.is_symlink() or top.is_file():
            yield name
            continue
        for place, folders, files in os.walk(top):
            links = [one for one in folders if os.path.islink(os.path.join(place, one))]
            for file in (*files, *links):
                yield Path(place, file).relative_to(folder).as_posix()
