"""Opens Spark: embedded and sized for a laptop, or whatever cluster a master URL names.

Spark and Java have much to say when they start and while they run. It goes into a file that is
shown if the start fails and thrown away otherwise; with `verbose` it goes to standard error.
"""

import os
import re
import shutil
import signal
import sys
import tempfile
import threading
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # it ships no types
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from antecede import version
from antecede.core.errors import LocalError
from antecede_audit.spark.java import find_java
from antecede_audit.spark.settings import BATCH_BY_ROWS
from antecede_audit.spark.stopped import why_stopped

__all__ = ["SPARK_ERRORS", "PySparkException", "SparkSession", "first_line", "open_session"]

SPARK_ERRORS: Final = (PySparkException, Py4JError, ConnectionError)
"""What Spark raises when a job fails: its own errors, what the bridge to Java hands through, and
what the bridge says where Java is gone.
"""

PACKAGES: Final = ("antecede", "antecede_audit", "antecede_lab")
"""What the Python workers of a cluster import, as far as it is installed here."""

LIBRARY: Final = "antecede__mypyc"
"""How the shared library of the compiled build is called."""

EMBEDDED: Final = "local[*]"
CONNECT: Final = "sc://"
HERE: Final = ("local-cluster[", "spark://127.", "spark://localhost:", "spark://[::1]:")
"""How masters begin whose executors are processes of their own, on this machine."""

EVERYWHERE: Final = {
    **BATCH_BY_ROWS,
    # Run ids are strings even if all of them look like numbers or dates.
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    # Times are integers; should one ever be shown as a date, it means the same everywhere.
    "spark.sql.session.timeZone": "UTC",
    # toPandas and createDataFrame move columns instead of pickled rows.
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # What the rest of the project writes; half the size of the default.
    "spark.sql.parquet.compression.codec": "zstd",
    # Python workers take and leave megabytes all the time. Kept, and not given back to the system
    # in between, that costs a third less processor.
    "spark.executorEnv.ARROW_DEFAULT_MEMORY_POOL": "system",
    "spark.executorEnv.MALLOC_MMAP_THRESHOLD_": str(1 << 30),
    "spark.executorEnv.MALLOC_TRIM_THRESHOLD_": str(1 << 30),
    "spark.executorEnv.MALLOC_TOP_PAD_": str(64 << 20),
    # Jobs have their own progress bar.
    "spark.ui.showConsoleProgress": "false",
    # Where in our code a column was named does not help who reads an error. To note it, Spark asks
    # Java several times for every column, and imports IPython where there is one.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
}

THIS_MACHINE: Final = {
    # Nothing outside this machine needs to reach the driver, and its host name may not resolve.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # A web server is for clusters; it costs a second of the start.
    "spark.ui.enabled": "false",
    # The driver does all the work. Python workers come on top of this, one for each core.
    "spark.driver.memory": "2g",
    # The default of 200 is for clusters: small jobs would spend their time on empty tasks.
    "spark.sql.shuffle.partitions": "8",
    # What Python workers are given does not go through TCP, and costs a twentieth less.
    "spark.python.unix.domain.socket.enabled": "true",
    # Give memory back between jobs: Python workers need it more than an idle heap. And optimise
    # only what runs twenty times as often as Java usually asks for: loops over rows. Most of what
    # Java does here is planning, and to optimise that took longer than to do it.
    "spark.driver.extraJavaOptions": (
        "-XX:+UseParallelGC"
        " -XX:Tier4InvocationThreshold=100000 -XX:Tier4MinInvocationThreshold=12000"
        " -XX:Tier4CompileThreshold=300000 -XX:Tier4BackEdgeThreshold=800000"
    ),
}

PLANS_ONLY: Final = {
    "spark.driver.extraJavaOptions": "-XX:+UseParallelGC -XX:TieredStopAtLevel=1",
}
"""For a job on this machine in which Java plans, moves what it does not look into, and hardly ever
goes through rows: it is quicker if it optimises nothing at all."""

EXCEPTION: Final = "Exception:"
TRACEBACK: Final = "Traceback (most recent call last):"
MISSING: Final = "ModuleNotFoundError: "
CODES: Final = re.compile(r"^\[[A-Z0-9_.]+\] |\s*SQLSTATE: \w+;?$")
"""What Spark's messages begin and end with, for programs."""

LOG: Final = "java.log"
"""Where what Java says goes, unless somebody wants to see it."""

SHOWN_LINES: Final = 15
"""How much of what Java said is shown when it does not start."""


@contextmanager
def open_session(
    name: str,
    *,
    master: str | None = None,
    verbose: bool = False,
    settings: Mapping[str, str] | None = None,
) -> Iterator[SparkSession]:
    """A Spark session for one job, stopped at the end; without `master`, on this machine alone.

    `settings` are Spark's own and win over ours. Under spark-submit its master and Java are used. A
    session that is open in this process already, in a notebook say, is used as it is and left open.
    """
    settings = {} if settings is None else settings
    if master is not None and master.startswith(CONNECT):
        with connected(name, master, settings) as session:
            yield session
        return
    if SparkContext._active_spark_context is not None:
        yield lent_session(master)
        return
    with ExitStack() as stack:
        scratch = Path(tempfile.mkdtemp(prefix="antecede-spark-"))
        stack.callback(shutil.rmtree, scratch, ignore_errors=True)
        conf = configuration(name, master, scratch, settings)
        context = start_context(conf, scratch, verbose)
        stack.callback(stop_context, context)
        master_url = context.master or ""
        session = start_session(master_url, scratch / LOG)
        if not is_embedded(master_url):
            ship_package(context, scratch)
        try:
            yield session
        except SPARK_ERRORS as error:
            reason = why_stopped(scratch / LOG)
            if reason is None:
                raise
            raise LocalError(f"Spark has stopped on {master_url}: {reason}") from error


def stop_context(context: SparkContext) -> None:
    """Stop Spark; if Java is gone, forget it, so that the next session starts another."""
    try:
        context.stop()
    except SPARK_ERRORS:
        context.stop()  # The first call has let go of Java, the second does what is left.
        SparkContext._gateway = SparkContext._jvm = None


def lent_session(master: str | None) -> SparkSession:
    """The session that is open in this process; `LocalError` if it is not on `master`."""
    session = SparkSession.builder.getOrCreate()
    actual = session.sparkContext.master
    if master not in (None, actual):
        raise LocalError(f"Spark runs in this process already, on {actual} and not on {master}")
    return session


@contextmanager
def connected(name: str, url: str, settings: Mapping[str, str]) -> Iterator[SparkSession]:
    """A session on a Spark Connect server, whose Python must have antecede installed."""
    builder = SparkSession.builder.remote(url).appName(name)
    try:
        session = builder.getOrCreate()
    except PySparkException as error:
        raise LocalError(f"cannot connect to Spark at {url}: {error}") from error
    try:
        chosen = {**EVERYWHERE, **settings}
        for key, value in chosen.items():
            # Jobs set nothing under Connect: packed batches would be handed over in gigabytes.
            is_safe = key not in BATCH_BY_ROWS or key in settings
            if is_safe and session.conf.isModifiable(key):
                session.conf.set(key, value)
        yield session
    finally:
        session.stop()


def configuration(
    name: str, master: str | None, scratch: Path, settings: Mapping[str, str]
) -> SparkConf:
    """What Spark is told at its start."""
    conf = SparkConf(loadDefaults=False)
    conf.setAppName(name)
    url = master
    if url is None and "PYSPARK_GATEWAY_PORT" not in os.environ:
        url = EMBEDDED
    if url is not None:
        conf.setMaster(url)
    chosen = dict(EVERYWHERE)
    chosen["spark.sql.warehouse.dir"] = str(scratch / "warehouse")
    if url is not None and is_on_this_machine(url):
        chosen.update(THIS_MACHINE)
    if url is not None and is_embedded(url):
        # Workers import the package that runs here, not another that may be installed.
        chosen["spark.executorEnv.PYTHONPATH"] = str(package_folder().parent)
    for key, value in {**chosen, **settings}.items():
        conf.set(key, value)
    return conf


def is_embedded(master: str) -> bool:
    """Whether tasks run inside the driver, next to this process."""
    return master == "local" or master.startswith("local[")


def is_on_this_machine(master: str) -> bool:
    """Whether executors have this machine's Python: embedded ones, and those of tests."""
    return is_embedded(master) or master.startswith(HERE)


def start_context(conf: SparkConf, scratch: Path, verbose: bool) -> SparkContext:
    """Start Java if it does not run yet, and Spark in it."""
    master = conf.get("spark.master", "") or ""
    if is_on_this_machine(master):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if SparkContext._gateway is None and "PYSPARK_GATEWAY_PORT" not in os.environ:
        start_java(conf, scratch, verbose)
    try:
        return SparkContext(conf=conf)
    except Exception as error:
        raise LocalError(f"Spark does not start on {master}: {first_line(error)}") from error


def start_session(master: str, log: Path) -> SparkSession:
    """A session of the context that has just started; `LocalError` if it has stopped again.

    Spark starts before it has found its master and its executors, and stops when there are none.
    """
    try:
        return SparkSession.builder.getOrCreate()
    except SPARK_ERRORS as error:
        reason = why_stopped(log) or "it has stopped at once (-v says more)"
        raise LocalError(f"Spark does not start on {master}: {reason}") from error


def start_java(conf: SparkConf, scratch: Path, verbose: bool) -> None:
    """Start the Java process that all sessions of this Python process share."""
    java = find_java()
    log = scratch / LOG
    with (
        interrupts_deferred(),
        log.open("wb") as noise,
        in_environment(JAVA_HOME=str(java.home)),
    ):
        outlets = {} if verbose else {"stdout": noise, "stderr": noise}
        try:
            gateway = launch_gateway(conf, outlets)  # type: ignore[no-untyped-call]
        except PySparkException as error:
            raise LocalError(why_not_started(conf, log.read_text(errors="replace"))) from error
        SparkContext._ensure_initialized(gateway=gateway)


@contextmanager
def interrupts_deferred() -> Iterator[None]:
    """Let the first Ctrl-C wait for the end of this; the second does not.

    Java that is left alone while it starts never ends: it waits for a Python that does not come.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    pressed = threading.Event()

    def press(*_: object) -> None:
        if pressed.is_set():
            raise KeyboardInterrupt
        pressed.set()

    signal.signal(signal.SIGINT, press)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed.is_set():
        raise KeyboardInterrupt


def why_not_started(conf: SparkConf, said: str) -> str:
    """What Java had to say before it ended: the reason if it gave one, else its last words."""
    lines = said.splitlines()
    if any(EXCEPTION in line for line in lines):
        return f"Spark does not start on {conf.get('spark.master')}: {reason_in(said)}"
    return "\n".join(["Java does not start:", *lines[-SHOWN_LINES:]])


@contextmanager
def in_environment(**variables: str) -> Iterator[None]:
    """Set environment variables for a while; child processes started meanwhile inherit them."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def first_line(error: Exception) -> str:
    """What went wrong, without the stack of the Java side."""
    return reason_in(str(error)) or type(error).__name__


def reason_in(said: str) -> str:
    """The first reason in what Java said, without the names of its class and of its code."""
    if TRACEBACK in said:
        return reason_of_worker(said.partition(TRACEBACK)[2])
    lines = said.strip().splitlines()
    reasons = [line for line in lines if EXCEPTION in line] or lines[:1]
    reason = "".join(reasons[:1]).rpartition(EXCEPTION)[2].strip()
    return CODES.sub("", reason)


def reason_of_worker(trace: str) -> str:
    """What went wrong in a Python worker: the line below the stack of its traceback."""
    lines = [line for line in trace.splitlines() if line and not line[0].isspace()]
    reason = "".join(lines[:1])
    if reason.startswith(MISSING):
        missing = reason.removeprefix(MISSING)
        return f"the Python of a worker says: {missing}; PYSPARK_PYTHON names the one to run"
    return reason


# Executors that do not share the files of the driver.


def package_folder() -> Path:
    """Where the running package is."""
    return Path(version.__file__).parent


def ship_package(context: SparkContext, scratch: Path) -> None:
    """Put the running packages onto the path of every Python worker of this application.

    A zip on the path of Python would do for sources, but extension modules cannot be imported from
    one. So every package travels as an archive that Spark unpacks, and the shared library of the
    compiled build, which is a module beside the packages, as a file: Spark puts all of it into the
    one folder that every worker has on its path. A worker whose Python the library does not fit
    finds the sources.
    """
    beside = package_folder().parent
    for library in sorted(beside.glob(f"{LIBRARY}*.so")):
        context.addFile(str(library))
    for folder in (beside / name for name in PACKAGES):
        if folder.is_dir():
            context.addArchive(f"{packed_package(folder, scratch)}#{folder.name}")


def packed_package(folder: Path, scratch: Path) -> Path:
    """A zip of the package's own files, those that compiling left behind not included."""
    with tempfile.NamedTemporaryFile(
        dir=scratch, prefix=f"{folder.name}-", suffix=".zip", delete=False
    ) as file:
        archive = Path(file.name)
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for source in sorted(folder.rglob("*")):
            if source.is_file() and "__pycache__" not in source.parts:
                packed.write(source, source.relative_to(folder))
    return archive


# How far Spark is.


@dataclass(frozen=True, slots=True, kw_only=True)
class TasksDone:
    """Tasks of the stages that run now."""

    done: int
    total: int


def tasks_done(session: SparkSession) -> TasksDone | None:
    """How many tasks are done, of how many; None if nothing runs, or Spark does not say.

    A session on a Spark Connect server does not say. May be called from any thread.
    """
    try:
        tracker = session.sparkContext.statusTracker()
    except Exception:
        return None
    stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    running = [stage for stage in stages if stage is not None]
    if not running:
        return None
    return TasksDone(
        done=sum(stage.numCompletedTasks for stage in running),
        total=sum(stage.numTasks for stage in running),
    )
