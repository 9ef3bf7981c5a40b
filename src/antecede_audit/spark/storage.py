"""Files as Spark sees them: every path that a job reads or writes goes through here.

A path without a scheme means what it means to Spark: this machine's disk, or whatever
`fs.defaultFS` names. What is on this machine's disk is dealt with by Python itself. Everywhere else
Spark lists and reads, and Hadoop, which is below it, renames: so what works for tables works for
all the rest.

Under Spark Connect there is no Hadoop to ask. There results elsewhere are overwritten table by
table, and the summary, written last, says that all of them are there.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from typing import Any, Final, TypeAlias, final
from urllib.parse import urlsplit
from uuid import uuid4

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # it ships no types
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from antecede.core.errors import LocalError
from antecede.eventlog.atomic_files import (
    check_replaceable,
    claim,
    os_errors_as_local,
    replace_folder_atomically,
)
from antecede.eventlog.ownership import NOTE, Note, check_owned, note_in
from antecede_audit import paths
from antecede_audit.paths import THIS_MACHINE, local_path, scheme_of

Hadoop: TypeAlias = Any
"""An object of Java's."""

DEFAULT: Final = "fs.defaultFS"
FETCHED_BYTES_MAX: Final = 1 << 30
"""Results of more bytes than this are not copied to this machine."""

NOTES_FETCHED: Final = ("_processes", "events/_processes")
"""What Spark passes over in folders, and readers of logs want nevertheless."""

PATTERN: Final = re.compile(r"[\\*?\[\]{}]")
"""What means something in a path that is read; a path that is written is taken as it is."""

UNFINISHED: Final = "unfinished"
REPLACED: Final = "replaced"


def is_local_path(path: str) -> bool:
    """Whether a path is one of this machine for certain, also where a session is lent."""
    lent = SparkSession.getActiveSession()
    if lent is None or scheme_of(path):
        return paths.is_local_path(path)
    return Storage(lent).local(path) is not None


def literal(path: str) -> str:
    """The path as Spark's readers take it: what would be a pattern to them stands for itself."""
    return PATTERN.sub(r"\\\g<0>", path)


@final
class Storage(ExitStack):
    """The file systems of one session; as a context it removes the copies that it has made."""

    def __init__(self, session: SparkSession) -> None:
        super().__init__()
        self._session: Final = session
        self._connected: Final = type(session).__module__.startswith("pyspark.sql.connect")

    def local(self, path: str) -> Path | None:
        """The path on this machine's disk; None if it is elsewhere."""
        scheme = scheme_of(path) or urlsplit(self._default()).scheme
        return local_path(path) if scheme == THIS_MACHINE else None

    def address(self, path: str) -> str:
        """The path as Spark is to be told it: whole, and without a slash at its end."""
        here = self.local(path)
        return path.rstrip("/") if here is None else str(here)

    def files(self, path: str) -> list[tuple[str, int]]:
        """The files at a path elsewhere, and below it, with their sizes; none if there is nothing.

        As everywhere in Spark, what begins with a dot or an underscore is passed over.
        """
        found = self._binary(path)
        rows = [] if found is None else found.select("path", "length").collect()
        return sorted((row["path"], row["length"]) for row in rows)

    def exists(self, path: str) -> bool:
        """Whether there is anything at a path elsewhere."""
        if self._connected:
            return bool(self.files(path))
        system, place = self._hadoop(path)
        return bool(system.exists(place))

    def contents(self, path: str) -> dict[str, bytes]:
        """The files at a path elsewhere, which are known to be few and small, by their paths."""
        found = self._binary(path)
        rows = [] if found is None else found.select("path", "content").collect()
        return {row["path"]: bytes(row["content"]) for row in rows}

    def count(self, path: str, format_name: str) -> int:
        """How many rows a table has; none if there is nothing at its place."""
        try:
            return self._session.read.format(format_name).load(literal(path)).count()
        except AnalysisException:  # It is not there, or has no file that says what columns it has.
            return 0

    def has_column(self, path: str, name: str) -> bool:
        """Whether the rows of the Parquet files at a path have this column themselves."""
        reader = self._session.read.option("recursiveFileLookup", "true")
        return name in reader.parquet(literal(path)).columns

    def scratch(self) -> Path:
        """A new folder on this machine that goes when the context is left."""
        return Path(self.enter_context(TemporaryDirectory(prefix="antecede-")))

    def fetched(self, path: str) -> Path:
        """What is at a path, on this machine: itself, or a copy that goes with the context.

        `LocalError` if there is nothing, or too much of it.
        """
        here = self.local(path)
        if here is not None:
            return here
        top = path.rstrip("/")
        if sum(size for _, size in self.files(top)) > FETCHED_BYTES_MAX:
            raise LocalError(f"{path} has more than {FETCHED_BYTES_MAX >> 20} MiB to be fetched")
        copy = self.scratch() / (top.rpartition("/")[2] or "fetched")
        inner = urlsplit(top).path
        notes = [f"{top}/{name}" for name in NOTES_FETCHED if self.exists(f"{top}/{name}")]
        for place in (top, *notes):
            for name, data in self.contents(place).items():
                file = Path(f"{copy}{urlsplit(name).path.partition(inner)[2]}")
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(data)
        if not copy.exists():
            raise LocalError(f"cannot read {path}: there is no such file or directory")
        return copy

    @contextmanager
    def sending(self, out: str, names: Sequence[str]) -> Iterator[Path]:
        """A folder on this machine whose files are in `out` in the end; `out` itself, if it is.

        `LocalError` if `out` has a file of one of these names that somebody else wrote.
        """
        self.claim(out, names)
        here = self.local(out)
        if here is not None:
            yield here
            return
        folder = self.scratch()
        yield folder
        for file in sorted(folder.iterdir()):
            self.write(f"{out.rstrip('/')}/{file.name}", file.read_bytes())

    def write(self, path: str, data: bytes) -> None:
        """Write a small file; elsewhere and under Spark Connect it is a folder with one file."""
        here = self.local(path)
        if here is not None:
            with os_errors_as_local(here, "write"):
                here.write_bytes(data)
            return
        if self._connected:
            rows = self._session.createDataFrame([(data.decode(),)], "value string").coalesce(1)
            rows.write.mode("overwrite").text(path)
            return
        with self._blaming(path):
            system, place = self._hadoop(path)
            stream = system.create(place, True)
            stream.write(bytearray(data))
            stream.close()

    def make_folder(self, path: str) -> None:
        """Make a folder; `LocalError` if that cannot be."""
        here = self.local(path)
        if here is not None:
            with os_errors_as_local(here, "write"):
                here.mkdir(parents=True, exist_ok=True)
        elif not self._connected:
            with self._blaming(path):
                system, place = self._hadoop(path)
                if not system.mkdirs(place):
                    raise LocalError(f"cannot write {path}: it is no folder")

    def names(self, path: str) -> list[str]:
        """What there is in a folder; nothing if it is not there."""
        here = self.local(path)
        if here is not None:
            return sorted(one.name for one in here.iterdir()) if here.is_dir() else []
        if self._connected:
            below = f"{urlsplit(path).path.rstrip('/')}/"
            found = (one.partition(below)[2] for one, _ in self.files(path))
            return sorted({one.partition("/")[0] for one in found})
        system, place = self._hadoop(path)
        if not system.exists(place):
            return []
        return sorted(one.getPath().getName() for one in system.listStatus(place))

    def removes(self, path: str) -> bool:
        """Whether `remove` can do anything about this path."""
        return not self._connected or self.local(path) is not None

    def remove(self, path: str) -> None:
        """Remove a folder and all that is in it, if it is there; not under Spark Connect."""
        here = self.local(path)
        if here is not None:
            rmtree(here, ignore_errors=True)
        elif not self._connected:
            with self._blaming(path):
                system, place = self._hadoop(path)
                system.delete(place, True)

    def check_replaceable(self, out: str, names: Sequence[str], *, known: bool = False) -> None:
        """`LocalError` if a file under these names in `out` was written by somebody else.

        `known`: the folder is antecede's for certain, and only older than notes are.
        """
        here = self.local(out)
        if here is not None:
            check_replaceable(here, names, known=known)
        else:
            top = out.rstrip("/")
            check_owned(out, self._note(top), self._files_below(top, names), known=known)

    def claim(self, out: str, names: Sequence[str], *, known: bool = False) -> None:
        """Note that whatever will be under these names in `out` is antecede's, as
        `antecede.eventlog.atomic_files.claim` does; makes the folder."""
        here = self.local(out)
        if here is not None:
            claim(here, names, known=known)
            return
        top = out.rstrip("/")
        note = self._note(top)
        if not (known and note.is_empty):
            check_owned(out, note, self._files_below(top, names))
        self.make_folder(top)
        if not note.folders.issuperset(names):
            self._write_note(top, note.without(names).added(folders=names))

    def _note(self, top: str) -> Note:
        """What antecede wrote into a folder elsewhere."""
        if not self._connected:
            return note_in(top, self._text(f"{top}/{NOTE}"))
        found = self.contents(f"{top}/{NOTE}")
        return note_in(top, b"".join(found.values()).decode() if found else None)

    def _write_note(self, top: str, note: Note) -> None:
        self.write(f"{top}/{NOTE}", note.text().encode())

    def _text(self, path: str) -> str | None:
        """A small file elsewhere, read by Hadoop; None if it is not there."""
        with self._blaming(path):
            system, place = self._hadoop(path)
            if not system.exists(place):
                return None
            java: Hadoop = self._session._jvm
            stream = system.open(place)
            try:
                return str(java.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
            finally:
                stream.close()

    def _files_below(self, top: str, names: Sequence[str]) -> list[str]:
        """The files under these names in a folder elsewhere, as paths below it.

        Spark Connect does not show those whose names begin with a dot or an underscore.
        """
        if self._connected:
            below = f"{urlsplit(top).path}/"
            places = [path for name in names for path, _ in self.files(f"{top}/{name}")]
            return [path.partition(below)[2] for path in places]
        system, place = self._hadoop(top)
        whole = f"{system.makeQualified(place).toString()}/"
        paths: list[str] = []
        for name in names:
            branch = self._hadoop(f"{top}/{name}")[1]
            if system.exists(branch):
                found = system.listFiles(branch, True)
                while found.hasNext():
                    paths.append(found.next().getPath().toString().removeprefix(whole))
        return paths

    @contextmanager
    def replacing(self, out: str, names: Sequence[str], *, known: bool = False) -> Iterator[str]:
        """A folder to write files and folders of these names into; at the end they appear in `out`
        together, and if an exception comes first, what was there before is still there.

        `LocalError` if somebody else wrote some of that, as `check_replaceable` has it.

        On stores that copy instead of renaming (S3), a crash in the midst of that leaves some new
        ones; the summary, which is exchanged last, then is the old one. Under Spark Connect nothing
        can be renamed: the folder is `out` itself.
        """
        here = self.local(out)
        top = out.rstrip("/")
        if here is not None:
            with replace_folder_atomically(here, names, known=known) as stage:
                yield str(stage)
            return
        self.check_replaceable(out, names, known=known)
        if self._connected:
            self._write_note(top, self._note(top).without(names).added(folders=names))
            yield top
        else:
            with self._staged(top, names, known) as place:
                yield place

    @contextmanager
    def _staged(self, out: str, names: Sequence[str], known: bool) -> Iterator[str]:
        mark = uuid4().hex[:12]
        stage, old = (f"{out}/.{mark}.{end}" for end in (UNFINISHED, REPLACED))
        self.make_folder(stage)
        self.make_folder(old)
        try:
            yield stage
            self.check_replaceable(out, names, known=known)  # That may have taken hours.
            note, written = self._note(out), self._files_below(stage, names)
            # Whoever is killed in the midst of this finds all of it listed.
            there = [*self._files_below(out, names), *written]
            self._write_note(out, note.added(files=there))
            self._exchange(out, names, stage, old)
            self._write_note(out, note.without(names).added(files=written))
        finally:
            for place in (stage, old):
                with suppress(Py4JJavaError):
                    system, folder = self._hadoop(place)
                    system.delete(folder, True)

    def _exchange(self, out: str, names: Sequence[str], stage: str, old: str) -> None:
        """Put what is in `stage` into `out`, and what was there into `old`; or neither."""
        moved: list[tuple[str, str]] = []
        try:
            for name in names:
                steps = ((f"{out}/{name}", f"{old}/{name}"), (f"{stage}/{name}", f"{out}/{name}"))
                for source, target in steps:
                    if self.exists(source):
                        self._rename(source, target)
                        moved.append((source, target))
        except (LocalError, Py4JJavaError):
            for source, target in reversed(moved):
                self._rename(target, source)
            raise

    def _rename(self, source: str, target: str) -> None:
        with self._blaming(target):
            system, place = self._hadoop(source)
            if not system.rename(place, self._hadoop(target)[1]):
                raise LocalError(f"cannot write {target}: {source} cannot be renamed to it")

    def _binary(self, path: str) -> DataFrame | None:
        """The files at a path, as Spark reads them whole; None if there is nothing."""
        reader = self._session.read.format("binaryFile").option("recursiveFileLookup", "true")
        try:
            return reader.load(literal(path))
        except AnalysisException as error:
            if error.getCondition() == "PATH_NOT_FOUND":
                return None
            raise LocalError(f"cannot read {path}: {error.getMessage()}") from error

    def _default(self) -> str:
        if self._connected:
            with suppress(Exception):
                return str(self._session.conf.get(f"spark.hadoop.{DEFAULT}", "file:///"))
            return "file:///"
        return str(self._configuration().get(DEFAULT))

    def _configuration(self) -> Hadoop:
        return self._session._jsc.hadoopConfiguration()

    def _hadoop(self, path: str) -> tuple[Hadoop, Hadoop]:
        """The file system that a path is on, and the path as Java's object."""
        java: Hadoop = self._session._jvm
        place = java.org.apache.hadoop.fs.Path(path)
        return place.getFileSystem(self._configuration()), place

    @contextmanager
    def _blaming(self, path: str) -> Iterator[None]:
        """Turn what Hadoop says into a `LocalError` that names the file."""
        try:
            yield
        except Py4JJavaError as error:
            said = error.java_exception.getMessage() or error.java_exception.toString()
            raise LocalError(f"cannot write {path}: {said}") from error
