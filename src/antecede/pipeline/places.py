"""Files as Spark sees them: every path that a job reads or writes goes through here.

A path without a scheme means what it means to Spark: this machine's disk, or whatever
`fs.defaultFS` names. What is on this machine's disk is dealt with by Python itself. Everywhere else
Spark lists and reads, and Hadoop, which is below it, renames: so what works for tables works for
all the rest.

Under Spark Connect there is no Hadoop to ask. There results elsewhere are overwritten table by
table, and the summary, written last, says that all of them are there.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from typing import Any, Final, TypeAlias, final
from urllib.parse import unquote, urlsplit
from uuid import uuid4

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # it ships no types
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from antecede.core.errors import LocalError
from antecede.trace.atomic import blaming, replacing_together

Hadoop: TypeAlias = Any
"""An object of Java's."""

DEFAULT: Final = "fs.defaultFS"
THIS_MACHINE: Final = "file"
SETTINGS_ELSEWHERE: Final = ("HADOOP_CONF_DIR", "SPARK_CONF_DIR", "PYSPARK_GATEWAY_PORT")
"""Where these are set, only Spark knows what a path without a scheme means."""

FETCHED_BYTES_MAX: Final = 1 << 30
"""Results of more bytes than this are not copied to this machine."""

NOTES_FETCHED: Final = ("_processes", "events/_processes")
"""What Spark passes over in folders, and readers of logs want nevertheless."""

UNFINISHED: Final = "unfinished"
REPLACED: Final = "replaced"


def scheme_of(path: str) -> str:
    """What stands before `:/` in a path; empty if there is nothing."""
    head, colon, rest = path.partition(":")
    return head if colon and rest.startswith("/") and "/" not in head else ""


def is_plain(path: str) -> bool:
    """Whether a path is one of this machine for certain, before any Spark has started."""
    if scheme_of(path):
        return False
    lent = SparkSession.getActiveSession()
    if lent is not None:
        return Places(lent).local(path) is not None
    return not any(os.environ.get(name) for name in SETTINGS_ELSEWHERE)


def path_here(path: str) -> Path:
    """A path of this machine; `LocalError` if only Spark can read it."""
    scheme = scheme_of(path)
    if scheme and scheme != THIS_MACHINE:
        raise LocalError(f"{path} is not on this machine, and only Spark can read it")
    return Path(unquote(urlsplit(path).path)) if scheme else Path(path).absolute()


@final
class Places(ExitStack):
    """The file systems of one session; as a context it removes the copies that it has made."""

    def __init__(self, session: SparkSession) -> None:
        super().__init__()
        self._session: Final = session
        self._connected: Final = type(session).__module__.startswith("pyspark.sql.connect")

    def local(self, path: str) -> Path | None:
        """The path on this machine's disk; None if it is elsewhere."""
        scheme = scheme_of(path) or urlsplit(self._default()).scheme
        return path_here(path) if scheme == THIS_MACHINE else None

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

    def has_column(self, path: str, name: str) -> bool:
        """Whether the rows of the Parquet files at a path have this column themselves."""
        return (
            name in self._session.read.option("recursiveFileLookup", "true").parquet(path).columns
        )

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
    def sending(self, out: str) -> Iterator[Path]:
        """A folder on this machine whose files are in `out` in the end; `out` itself, if it is."""
        here = self.local(out)
        if here is not None:
            yield here
            return
        folder = self.scratch()
        yield folder
        self.make_folder(out)
        for file in sorted(folder.iterdir()):
            self.write(f"{out.rstrip('/')}/{file.name}", file.read_bytes())

    def write(self, path: str, data: bytes) -> None:
        """Write a small file; elsewhere and under Spark Connect it is a folder with one file."""
        here = self.local(path)
        if here is not None:
            with blaming(here, "write"):
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
            with blaming(here, "write"):
                here.mkdir(parents=True, exist_ok=True)
        elif not self._connected:
            with self._blaming(path):
                system, place = self._hadoop(path)
                if not system.mkdirs(place):
                    raise LocalError(f"cannot write {path}: it is no folder")

    def remove(self, path: str) -> None:
        """Remove a folder and all that is in it, if it is there; not under Spark Connect."""
        here = self.local(path)
        if here is not None:
            rmtree(here, ignore_errors=True)
        elif not self._connected:
            with self._blaming(path):
                system, place = self._hadoop(path)
                system.delete(place, True)

    @contextmanager
    def replacing(self, out: str, names: Sequence[str]) -> Iterator[str]:
        """A folder to write files and folders of these names into; at the end they appear in `out`
        together, and if an exception comes first, what was there before is still there.

        On stores that copy instead of renaming (S3), a crash in the midst of that leaves some new
        ones; the summary, which is exchanged last, then is the old one. Under Spark Connect nothing
        can be renamed: the folder is `out` itself.
        """
        here = self.local(out)
        if here is not None:
            with replacing_together(here, names) as stage:
                yield str(stage)
        elif self._connected:
            yield out.rstrip("/")
        else:
            with self._staged(out.rstrip("/"), names) as place:
                yield place

    @contextmanager
    def _staged(self, out: str, names: Sequence[str]) -> Iterator[str]:
        mark = uuid4().hex[:12]
        stage, old = (f"{out}/.{mark}.{end}" for end in (UNFINISHED, REPLACED))
        self.make_folder(stage)
        self.make_folder(old)
        try:
            yield stage
            self._exchange(out, names, stage, old)
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
            return reader.load(path)
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
