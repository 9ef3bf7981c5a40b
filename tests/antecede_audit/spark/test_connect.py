"""The audit under Spark Connect: a real server, and a client that cannot reach into its Java."""

import json
import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from antecede_audit.spark.java import find_java
from tests.antecede_audit.judging.random_traffic import hectic, in_traces, skewed
from tests.antecede_audit.spark.logs_on_disk import oracle_of, write_runs

for needed in ("grpc", "grpc_status", "google.rpc", "zstandard"):
    pytest.importorskip(needed, reason="pyspark[connect] brings it")

CLIENT = """
import json, sys
from pyspark.sql import SparkSession
from antecede_audit import audit

session = SparkSession.builder.remote("local[2]").getOrCreate()
session.conf.set("spark.sql.shuffle.partitions", "4")  # Not 200 tasks for each few rows.
before = {name: session.conf.get(name) for name in ("spark.sql.shuffle.partitions",
          "spark.sql.execution.arrow.maxRecordsPerBatch", "spark.sql.files.maxPartitionBytes",
          "spark.sql.execution.arrow.maxBytesPerBatch", "spark.sql.adaptive.enabled")}
events = session.read.parquet(sys.argv[1])
with audit(events, order="trace", slice_copies=int(sys.argv[2])) as found:
    columns = ["run_id", "process", "early_sender", "early_sequence", "late_sender",
               "late_sequence", "early_trace_id"]
    rows = [list(row) for row in found.violations.select(*columns).collect()]
    losses = found.losses.count()
after = {name: session.conf.get(name) for name in before}
assert before == after, (before, after)
print(json.dumps({"client": type(session).__module__, "rows": rows, "losses": losses}))
session.stop()
"""


@pytest.mark.long
@pytest.mark.parametrize("slice_copies", [1_000, 4])
def test_a_connect_server_says_what_the_oracle_says(slice_copies: int, tmp_path: Path) -> None:
    runs = {
        f"{maker.__name__}-{number}": in_traces(maker(Random(number)), Random(number))
        for number in range(6)
        for maker in (hectic, skewed)
    }
    path = write_runs(tmp_path / "logs.parquet", runs)
    script = tmp_path / "client.py"
    script.write_text(CLIENT)
    environment = os.environ | {
        "JAVA_HOME": str(find_java().home),
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "SPARK_LOCAL_IP": "127.0.0.1",
        # The server runs once and for a short time: compiling well would take half of it.
        "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1",
    }

    result = subprocess.run(
        [sys.executable, str(script), path, str(slice_copies)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )

    assert result.returncode == 0, result.stderr[-3_000:]
    said = json.loads(result.stdout.splitlines()[-1])
    expected = oracle_of(runs, "trace")
    rows = [
        [run, row[0], row[1], row[2], row[4], row[5], row[9]]
        for run, tables in expected.items()
        for row in tables.get("violations", [])
    ]
    assert said["client"].startswith("pyspark.sql.connect")
    assert sorted(map(str, said["rows"])) == sorted(map(str, rows))
    assert said["losses"] == sum(len(tables.get("losses", [])) for tables in expected.values())
