"""What `antecede lab sweep` leaves: a table of runs, each with its figures and its histograms.

Runs that differ only in their seed are taken together: histograms are added, figures become means
with intervals.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from antecede.eventlog.parquet import load_pyarrow, reading
from antecede_audit.report.sources import SPARK_PART, SourceKind, has_columns
from antecede_lab.comparison.measurements import Estimate, estimate

RUNS_FOLDER: Final = "runs"

COLUMNS: Final = ("run_id", "protocol", "scenario", "status", "buckets")
"""The table of a sweep's runs is recognised by these."""


def run_files(folder: Path) -> list[Path]:
    """The files of the table of runs, if this is the folder of a sweep."""
    return sorted((folder / RUNS_FOLDER).glob(f"{SPARK_PART}*.parquet"))


def holds_sweep(folder: Path) -> bool:
    """Whether there is a sweep in this folder."""
    files = run_files(folder)
    return bool(files) and has_columns(files[0], COLUMNS)


SWEEP: Final = SourceKind(
    name="sweep", text="the runs of a sweep", command="lab sweep", is_in=holds_sweep
)

FIGURES: Final = (
    "messages",
    "latency_mean_ns",
    "latency_p50_ns",
    "latency_p99_ns",
    "sender_wait_mean_ns",
    "channel_mean_ns",
    "receiver_wait_mean_ns",
    "non_causal_mean_ns",
    "non_causal_p99_ns",
    "metadata_bytes_per_message",
    "control_per_message",
    "throughput",
    "sender_buffer_max",
    "receiver_buffer_max",
    "in_transit_max",
)
"""The figures of a run that a report shows."""

MEASURED: Final = ("finished", "unfinished")
"""Runs that ended like this took place, and have figures."""


class Setting(NamedTuple):
    """What runs have in common that can be compared: all but the protocol and the seed."""

    scenario: str
    network: str
    processes: int


class SweptRun(NamedTuple):
    """One run of a sweep: which it is."""

    run_id: str
    protocol: str
    setting: Setting
    seed: int


@dataclass(slots=True)
class SeedGroup:
    """The runs of one protocol in one setting, over all seeds."""

    protocol: str
    setting: Setting
    seeds: int = 0
    samples: dict[str, list[float]] = field(default_factory=dict)
    histograms: dict[str, dict[int, int]] = field(default_factory=dict)
    """By delay: how many copies had at most so many nanoseconds, bucket by bucket."""

    def figure(self, name: str) -> Estimate | None:
        """The mean over seeds, with its interval; None if no run has this figure."""
        samples = self.samples.get(name)
        return estimate(samples) if samples else None

    def cdf(self, delay: str) -> list[tuple[float, float]]:
        """The share of copies that took at most so long, from the shortest to the longest."""
        buckets = sorted(self.histograms.get(delay, {}).items())
        total = sum(count for _, count in buckets)
        passed = 0
        points: list[tuple[float, float]] = []
        for high_ns, count in buckets:
            passed += count
            points.append((float(high_ns), passed / total))
        return points

    def add(self, row: Mapping[str, Any]) -> None:
        """Count one more run."""
        self.seeds += 1
        for name in FIGURES:
            value = row.get(name)
            if value is not None:
                self.samples.setdefault(name, []).append(float(value))
        for bucket in row.get("buckets") or ():
            counts = self.histograms.setdefault(bucket["delay"], {})
            counts[bucket["high_ns"]] = counts.get(bucket["high_ns"], 0) + bucket["copies"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepResults:
    """All runs of a sweep."""

    groups: list[SeedGroup]
    by_status: dict[str, int]
    reasons: list[tuple[str, str, int]]
    """Why runs did not finish: status, reason, how many."""
    runs: list[SweptRun]
    """The runs that took place."""

    def settings(self) -> list[Setting]:
        """The settings, in order."""
        return sorted({group.setting for group in self.groups})

    def of_setting(self, setting: Setting) -> list[SeedGroup]:
        """The protocols that were run in a setting, in the order of the table."""
        return [group for group in self.groups if group.setting == setting]

    def protocols(self) -> list[str]:
        """All protocols, in the order of the table."""
        return list(dict.fromkeys(group.protocol for group in self.groups))

    def series(self) -> list[list[str]]:
        """Ids of runs that differ in their protocol only, in the order of the table."""
        found: dict[tuple[object, ...], list[SweptRun]] = {}
        for run in self.runs:
            found.setdefault((*run.setting, run.seed), []).append(run)
        return [
            [run.run_id for run in sorted(runs, key=lambda run: rank(run.protocol))]
            for runs in found.values()
        ]


def read_sweep(folder: Path) -> SweepResults:
    """The sweep in this folder; of its rows one file is held at a time."""
    return sweep_of(rows_in(run_files(folder)))


def rows_in(files: Sequence[Path]) -> Iterator[Mapping[str, Any]]:
    """The rows that count in these files, of the columns that a report needs."""
    pq = load_pyarrow("pyarrow.parquet")
    columns = ["digest", "run_id", "protocol", "scenario", "network", "processes", "seed"]
    columns += ["status", "reason"]
    last = last_attempts(files)
    for number, file in enumerate(files):
        with reading(file):
            schema = pq.read_schema(file).names
            wanted = [name for name in (*columns, *FIGURES, "buckets") if name in schema]
            table = pq.read_table(file, columns=wanted, partitioning=None)
        for place, row in enumerate(table.to_pylist()):
            if last[row["digest"]] == (number, place):
                yield row


def last_attempts(files: Sequence[Path]) -> dict[str, tuple[int, int]]:
    """By run: in which file and row it stands last; of one that was run again, that counts."""
    pq = load_pyarrow("pyarrow.parquet")
    last: dict[str, tuple[int, int]] = {}
    for number, file in enumerate(files):
        with reading(file):
            digests = pq.read_table(file, columns=["digest"], partitioning=None)["digest"]
        for place, digest in enumerate(digests.to_pylist()):
            last[digest] = (number, place)
    return last


def sweep_of(rows: Iterable[Mapping[str, Any]]) -> SweepResults:
    """The sweep that these rows make up."""
    groups: dict[tuple[str, Setting], SeedGroup] = {}
    by_status: Counter[str] = Counter()
    reasons: Counter[tuple[str, str]] = Counter()
    runs: list[SweptRun] = []
    for row in rows:
        status, protocol = row["status"], row["protocol"]
        by_status[status] += 1
        if status != MEASURED[0]:
            reasons[status, row["reason"] or ""] += 1
        if status in MEASURED:
            setting = Setting(row["scenario"], row["network"], row["processes"])
            group = groups.setdefault(
                (protocol, setting), SeedGroup(protocol=protocol, setting=setting)
            )
            group.add(row)
            runs.append(SweptRun(row["run_id"], protocol, setting, row["seed"]))
    return SweepResults(
        groups=sorted(groups.values(), key=lambda one: (one.setting, rank(one.protocol))),
        by_status=by_status,
        reasons=[(status, why, count) for (status, why), count in reasons.items()],
        runs=runs,
    )


ORDER: Final = (
    "hybrid", "hybrid-facts", "hybrid-sps", "hybrid-csps", "paper-basic", "paper-sps",
    "paper-multicast", "mf", "blocking", "cykas", "newtop", "tree", "bss", "ks", "rst", "prs",
    "ses", "topology", "separators", "piggyback", "psync", "fifo", "none",
)  # fmt: skip
"""Protocols by family, the product's own first."""


def rank(protocol: str) -> tuple[int, str]:
    """Where a protocol stands in tables."""
    place = ORDER.index(protocol) if protocol in ORDER else len(ORDER)
    return place, protocol


def thinned(points: Iterable[tuple[float, float]], most: int = 120) -> list[tuple[float, float]]:
    """A curve with at most about so many points, the first and the last among them."""
    every = list(points)
    if len(every) <= most:
        return every
    stride = (len(every) - 1) / (most - 1)
    return [every[round(number * stride)] for number in range(most)]
