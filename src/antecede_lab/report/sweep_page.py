"""Sweeps: latencies in charts, all figures in a table.

Runs that differ only in their seed are taken together: histograms are added, figures become means
with intervals.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from antecede.eventlog.parquet import load_pyarrow, reading
from antecede_audit.report.charts.scale import plain, time_text
from antecede_audit.report.charts.spec import (
    WAIT_CLASSES,
    WAITS,
    Axis,
    Bar,
    BarChart,
    Chart,
    LineChart,
    Series,
    look_of,
)
from antecede_audit.report.page.markup import Markup, element, joined
from antecede_audit.report.page.section import (
    Place,
    Section,
    chart_grid,
    folded,
    paragraph,
    protocols_legend,
    table,
    waits_legend,
)
from antecede_audit.report.parts import ReportContents, Results
from antecede_audit.report.recordings_page import LATENCY_AXIS, SHARE_AXIS, latency_section
from antecede_audit.report.sources import SPARK_PART, SourceKind, has_columns
from antecede_lab.comparison.measurements import Estimate, estimate

RUNS_FOLDER: Final = "runs"

KNOWN_BY: Final = ("run_id", "protocol", "scenario", "status", "buckets")
"""The table of a sweep's runs is recognised by these."""


def run_files(folder: Path) -> list[Path]:
    """The files of the table of runs, if this is the folder of a sweep."""
    return sorted((folder / RUNS_FOLDER).glob(f"{SPARK_PART}*.parquet"))


def holds_sweep(folder: Path) -> bool:
    """Whether there is a sweep in this folder."""
    files = run_files(folder)
    return bool(files) and has_columns(files[0], KNOWN_BY)


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
    """By delay: the copies in each bucket, by the bucket's upper bound in nanoseconds."""

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
    "paper-multicast", "mf", "blocking", "baldoni", "cykas", "newtop", "tree", "saturn", "bss",
    "ks", "rst", "prs", "ses", "topology", "separators", "piggyback", "psync", "fifo", "none",
)  # fmt: skip
"""Protocols by family, the product's own first."""


def rank(protocol: str) -> tuple[int, str]:
    """Where a protocol stands in tables."""
    place = ORDER.index(protocol) if protocol in ORDER else len(ORDER)
    return place, protocol


def thinned(points: Iterable[tuple[float, float]], most: int = 120) -> list[tuple[float, float]]:
    """A curve with at most about `most` points, the first and the last among them."""
    every = list(points)
    if len(every) <= most:
        return every
    stride = (len(every) - 1) / (most - 1)
    return [every[round(number * stride)] for number in range(most)]


SETTINGS_OPEN: Final = 6
"""Of more settings the rest are folded away."""

ROWS_OPEN: Final = 60
"""Longer tables are folded away."""

COLUMNS: Final[tuple[tuple[str, str, Callable[[float], str]], ...]] = (
    ("latency", "latency_mean_ns", time_text),
    ("p99", "latency_p99_ns", time_text),
    ("added", "non_causal_mean_ns", time_text),
    ("metadata, bytes", "metadata_bytes_per_message", plain),
    ("control packets", "control_per_message", plain),
    ("send buffer", "sender_buffer_max", plain),
    ("receive buffer", "receiver_buffer_max", plain),
    ("deliveries/s", "throughput", plain),
)
"""Heading, figure, and how it is written."""


def sweep_sections(contents: ReportContents) -> Iterator[Section | None]:
    """All sweeps: latencies in charts, figures in tables."""
    sweeps = contents.results.of(SWEEP, read_sweep)
    yield latency_section([swept_latencies(sweep) for sweep in sweeps.values() if sweep.groups])
    for number, (path, sweep) in enumerate(sweeps.items(), start=1):
        yield sweep_section(sweep, path.name, number)


def swept_series(results: Results) -> list[Sequence[str]]:
    """Runs of one workload, network and seed under several protocols."""
    return [
        run_ids for sweep in results.of(SWEEP, read_sweep).values() for run_ids in sweep.series()
    ]


def sweep_section(sweep: SweepResults, name: str, number: int) -> Section:
    """All settings and protocols of a sweep."""
    counts = ", ".join(f"{count} {status}" for status, count in sweep.by_status.items())
    head = ["scenario", "network", "n", "protocol", "seeds", *(column[0] for column in COLUMNS)]
    figures = table(head, rows_of(sweep), texts=4)
    if len(sweep.groups) > ROWS_OPEN:
        figures = folded(f"{len(sweep.groups)} rows", figures)
    return Section(
        identity=f"sweep-{number}",
        title=f"Runs of {name}",
        lead=f"{counts}. Means over seeds, ± half of a 95 % interval where there are several. "
        "Added: how much later than causal order demands; metadata and control packets: for one "
        "message; buffers: the most copies at one process.",
        body=joined([figures, unfinished(sweep)]),
        place=Place.LAST,
    )


def rows_of(sweep: SweepResults) -> Iterator[list[str | int]]:
    """A row for each protocol in each setting; what is the same as above is left out."""
    for setting in sweep.settings():
        where: list[str | int] = list(setting)
        for group in sweep.of_setting(setting):
            figures = [figure_text(group.figure(name), write) for _, name, write in COLUMNS]
            yield [*where, group.protocol, group.seeds, *figures]
            where = ["", "", ""]


def figure_text(figure: Estimate | None, write: Callable[[float], str]) -> str:
    """A mean with its interval; a dash if nothing was measured."""
    if figure is None:
        return "-"
    if not figure.half_width:
        return write(figure.mean)
    return f"{write(figure.mean)} ± {write(figure.half_width)}"


def unfinished(sweep: SweepResults) -> Markup:
    """Which runs did not finish, and why."""
    if not sweep.reasons:
        return Markup()
    rows = [[status, reason, str(count)] for status, reason, count in sweep.reasons]
    return folded(
        "Runs that did not finish",
        paragraph("What could not be run, or did not come to an end, and why.", class_="quiet"),
        table(["", "why", "runs"], rows, texts=2),
    )


QUICKEST: Final = 0.001
"""This share of messages may lie left of a logarithmic axis."""

PARTS: Final = ("sender_wait_mean_ns", "channel_mean_ns", "receiver_wait_mean_ns")


def swept_latencies(sweep: SweepResults) -> Markup:
    """For each setting the distributions of all protocols, and the means in their parts."""
    settings = [setting for setting in sweep.settings() if sweep.of_setting(setting)]
    shown = [setting_charts(sweep, setting) for setting in settings]
    first = [chart for charts in shown[:SETTINGS_OPEN] for chart in charts]
    rest = [chart for charts in shown[SETTINGS_OPEN:] for chart in charts]
    lines = [chart for charts in shown for chart in charts if isinstance(chart, LineChart)]
    pieces = [
        element("h3", "Protocols and scenarios"),
        protocols_legend(sweep.protocols(), lines),
        waits_legend(),
        chart_grid(first),
    ]
    if rest:
        count = len(settings) - SETTINGS_OPEN
        pieces.append(folded(f"{count} more settings", chart_grid(rest)))
    return joined(pieces)


def setting_charts(sweep: SweepResults, setting: Setting) -> list[Chart]:
    """Two charts about one setting: distributions, and means in their parts."""
    groups = sweep.of_setting(setting)
    title = f"{setting.scenario}, {setting.network}, n = {setting.processes:,}"
    lines = tuple(
        Series(
            name=group.protocol,
            points=tuple(thinned(visible(group.cdf("latency")))),
            look=look_of(group.protocol, number),
            dots=False,
        )
        for number, group in enumerate(groups)
        if group.cdf("latency")
    )
    charts: list[Chart] = []
    if lines:
        note = "share of messages delivered after at most so long"
        charts.append(LineChart(title=title, note=note, x=LATENCY_AXIS, y=SHARE_AXIS, series=lines))
    bars = tuple(bar for group in groups if (bar := bar_of(group)) is not None)
    if bars:
        note = "mean latency, and where it is spent"
        axis = Axis(title="mean latency", unit="time")
        charts.append(
            BarChart(title=title, note=note, x=axis, parts=WAITS, classes=WAIT_CLASSES, bars=bars)
        )
    return charts


def visible(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Without the very quickest, which would need a logarithmic axis of their own."""
    return [point for point in points if point[1] >= QUICKEST and point[0] > 0]


def bar_of(group: SeedGroup) -> Bar | None:
    """The mean latency of a protocol in its parts, which add up to it."""
    parts = [group.figure(name) for name in PARTS]
    latency = group.figure("latency_mean_ns")
    if latency is None:
        return None
    means = tuple(0.0 if part is None else part.mean for part in parts)
    return Bar(name=group.protocol, parts=means, text=time_text(latency.mean))
