"""`python -m bench audit`: how fast a log is audited, end to end, and how much memory it takes.

The log is made first (`bench.synthetic_log` says what it is like), Spark is started and has audited
a small log, so that the clock measures neither. Memory is that of this process and all its
children together, sampled twice a second: Java, its heap and all else, and the Python workers.
"""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from statistics import median
from threading import Event, Thread
from typing import Any

from pyspark.sql import SparkSession

from antecede import compiled
from antecede_audit.eventlog import read_events
from antecede_audit.jobs.audit import audit_here
from antecede_audit.judging.oracle import check_log
from antecede_audit.spark.audit import audit_logs
from antecede_audit.spark.session import PLANS_ONLY, is_embedded, open_session
from bench.synthetic_log import Traffic, write_log

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
TICKS = os.sysconf("SC_CLK_TCK")
WARM_EVENTS = 20_000
ORACLE_EVENTS = 100_000
ROUNDS = 3

SHAPES: dict[str, dict[str, Any]] = {
    "even": {},
    "hot": {"hot": 0.95},
    "long": {"long": 0.01},
    "skewed": {"skew_ns": 5_000_000},
}
"""Logs that are hard on something: nearly half of all events at one process, one copy in a hundred
20 s under way, clocks up to 5 ms apart."""


class Usage:
    """Memory and processor time of this process and its descendants, while the context is open."""

    def __init__(self) -> None:
        self.peak_bytes = 0
        self._ticks: dict[int, int] = {}
        self._over = Event()

    @property
    def cpu_s(self) -> float:
        """Processor time of all processes seen, whether they still live or not."""
        return sum(self._ticks.values()) / TICKS

    @contextmanager
    def measured(self) -> Iterator["Usage"]:
        """Watch while the context is open."""
        watcher = Thread(target=self._watch)
        self._look()
        before = dict(self._ticks)
        watcher.start()
        try:
            yield self
        finally:
            self._over.set()
            watcher.join()
            self._look()
            for process, ticks in before.items():
                self._ticks[process] -= ticks

    def _watch(self) -> None:
        while not self._over.wait(0.5):
            self._look()

    def _look(self) -> None:
        rows = dict(process_rows())
        family: set[int] = set()
        children = {os.getpid()}
        while children:
            family |= children
            children = {process for process, row in rows.items() if row[0] in children}
        self.peak_bytes = max(
            self.peak_bytes, sum(rows[process][2] for process in family if process in rows)
        )
        for process in family & rows.keys():
            self._ticks[process] = rows[process][1]


def process_rows() -> Iterator[tuple[int, tuple[int, int, int]]]:
    """Each process: its parent, its processor time in ticks, the bytes it has in memory."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                shared = int((folder / "statm").read_text().split()[2])
            except OSError:
                continue
            own_pages = int(fields[21]) - shared
            yield (
                int(folder.name),
                (int(fields[1]), int(fields[11]) + int(fields[12]), own_pages * PAGE_BYTES),
            )


def measure(session: SparkSession, traffic: Traffic) -> dict[str, Any]:
    """Make a log, audit it, and say how long that took."""
    with tempfile.TemporaryDirectory(prefix="antecede-bench-") as folder:
        events = write_log(Path(folder) / "log", traffic)
        usage = Usage()
        with usage.measured():
            start = time.perf_counter()
            found = audit_logs(session, [f"{folder}/log"], f"{folder}/out")
            seconds = time.perf_counter() - start
        summary = found.summary
    return {
        "events": events,
        "seconds": round(seconds, 1),
        "events_per_s": round(events / seconds),
        "cpu_s": round(usage.cpu_s, 1),
        "cpu_us_per_event": round(usage.cpu_s / events * 1e6, 2),
        "peak_mb": round(usage.peak_bytes / 1e6),
        "messages": summary.messages,
        "violations": summary.violation_count,
        "slices": summary.method.slices,
        "long_flights": summary.method.long_flights,
    }


def against_oracle(session: SparkSession) -> dict[str, Any]:
    """The oracle, the audit as `antecede audit` does it, and the audit on Spark, on the same log.

    All must say the same, or there are no figures.
    """
    traffic = Traffic(events=ORACLE_EVENTS, processes=100)
    with tempfile.TemporaryDirectory(prefix="antecede-bench-") as folder:
        write_log(Path(folder) / "log", traffic)
        log = read_events(Path(folder) / "log")
        start = time.perf_counter()
        verdict = check_log(log, witnesses=False)
        oracle_s = time.perf_counter() - start
        seconds: dict[str, list[float]] = {"audit_s": [], "spark_s": []}
        for _ in range(ROUNDS):
            for name, rounds in seconds.items():
                paths, out = [f"{folder}/log"], f"{folder}/out"
                start = time.perf_counter()
                found = (
                    audit_here(paths, out) if name == "audit_s" else audit_logs(session, paths, out)
                )
                rounds.append(time.perf_counter() - start)
                assert found is not None, "a log of this size is small"
                assert found.summary.violation_count == len(verdict.violations)
    medians = {name: median(rounds) for name, rounds in seconds.items()}
    return {
        "events": ORACLE_EVENTS,
        "violations": len(verdict.violations),
        "oracle_s": round(oracle_s, 2),
        **{name: round(value, 2) for name, value in medians.items()},
        "ratio": round(oracle_s / medians["audit_s"], 1),
    }


def main() -> None:
    """Measure logs of the sizes asked for, and print the figures as JSON."""
    parser = argparse.ArgumentParser(prog="python -m bench audit", description=__doc__)
    parser.add_argument("millions", nargs="*", type=float, default=[10, 20])
    parser.add_argument("--all-kinds", action="store_true", help="transmissions and arrivals, too")
    parser.add_argument("--long", type=float, default=0.0, help="share of copies that take 20 s")
    parser.add_argument("--shape", choices=list(SHAPES), nargs="+", default=["even"])
    parser.add_argument("--processes", type=int, default=1000)
    parser.add_argument("--oracle", action="store_true", help="compare with the oracle, too")
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--memory", default=None, help="Java's heap instead of the usual one")
    chosen = parser.parse_args()
    # As `antecede audit` starts it for Parquet files here.
    settings = dict(PLANS_ONLY) if is_embedded(chosen.master) else {}
    if chosen.memory is not None:
        settings["spark.driver.memory"] = chosen.memory
    results: dict[str, Any] = {"compiled": compiled(), "master": chosen.master}
    with open_session("bench", master=chosen.master, settings=settings) as session:
        measure(session, Traffic(events=WARM_EVENTS))
        for millions, shape in product(chosen.millions, chosen.shape):
            traffic = Traffic(
                events=int(millions * 1e6),
                processes=chosen.processes,
                all_kinds=chosen.all_kinds,
                **({"long": chosen.long} | SHAPES[shape]),
            )
            name = f"{millions:g} M" if shape == "even" else f"{millions:g} M {shape}"
            results[name] = {"shape": shape} | measure(session, traffic)
            print(json.dumps(results[name]), flush=True)
        if chosen.oracle:
            results["oracle"] = against_oracle(session)
    print(json.dumps(results))


if __name__ == "__main__":
    main()
