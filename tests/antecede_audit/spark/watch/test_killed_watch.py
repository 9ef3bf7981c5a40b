"""`antecede watch` as a process, killed in the midst of its work and started again."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from antecede.eventlog.parquet import event_schema
from antecede_audit.judging import check_log
from tests.antecede_audit.spark.watch.test_watch import cut, traffic, violations_of

PATIENCE_S = 240
PIECES = 3
QUICK = os.environ | {"JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1"}
"""Java runs five times, each time for some seconds: compiling well would take half of them."""


def command(folder: Path, *more: str) -> list[str]:
    log, out = str(folder / "log"), str(folder / "out")
    return [sys.executable, "-m", "antecede", "watch", log, "--out", out, *more]


@pytest.mark.long
def test_a_watch_that_is_killed_again_and_again_finds_everything_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    events = traffic(2)
    (tmp_path / "log").mkdir()
    for number, piece in enumerate(cut(events, PIECES)):
        rows = pa.Table.from_pylist([asdict(event) for event in piece], event_schema())
        pq.write_table(rows, tmp_path / "log" / f"{number}.parquet")
        watching = command(tmp_path, "--order", "process", "--every", "1s")
        running = subprocess.Popen(watching, env=QUICK)
        try:
            # Each time at another moment of the batch: while it starts, judges, or writes.
            states = tmp_path / "out" / "state"
            until = time.monotonic() + PATIENCE_S
            while time.monotonic() < until and not (states / str(number)).exists():
                time.sleep(0.1)
            time.sleep(0.3 * number)
        finally:
            running.kill()
            running.wait()
    for _ in range(2):  # The second time there is nothing left to do.
        last = command(tmp_path, "--order", "process", "--once", "--finish")
        subprocess.run(last, check=True, timeout=PATIENCE_S, env=QUICK)

    expected = {
        (one.process, *one.early, *one.late)
        for one in check_log(events, witnesses=False).violations
    }
    assert violations_of(spark, tmp_path / "out") == {"run": expected}


@pytest.mark.long
def test_a_watch_that_is_interrupted_ends_without_a_word(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    rows = pa.Table.from_pylist([asdict(event) for event in traffic(2)], event_schema())
    pq.write_table(rows, tmp_path / "log" / "0.parquet")
    watching = command(tmp_path, "--every", "1s")
    page = tmp_path / "out" / "index.html"
    with subprocess.Popen(watching, env=QUICK, stderr=subprocess.PIPE, text=True) as running:
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until and not page.exists():
            time.sleep(0.1)
        running.send_signal(signal.SIGINT)
        said = running.communicate(timeout=PATIENCE_S)[1]

    assert page.exists()
    assert running.returncode == 0
    assert "Traceback" not in said
    assert "ERROR" not in said
