"""The runs of a sweep as a table, and the answers of an evaluation: means over seeds."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from antecede_audit.report.charts.scale import percent_text, plain, time_text
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
from antecede_audit.report.latency_page import LATENCY_AXIS, SHARE_AXIS, latency_section
from antecede_audit.report.page.markup import Markup, element, joined
from antecede_audit.report.page.section import (
    Place,
    Section,
    chart_grid,
    code,
    folded,
    paragraph,
    table,
    waits_legend,
)
from antecede_audit.report.parts import ReportContents, Results
from antecede_lab.comparison.measurements import Estimate
from antecede_lab.report.comparison_results import (
    EVALUATION,
    EvaluationResults,
    ReplayedTrace,
    read_evaluation,
)
from antecede_lab.report.growth_page import protocols_legend
from antecede_lab.report.sweep_results import (
    SWEEP,
    SeedGroup,
    Setting,
    SweepResults,
    read_sweep,
    thinned,
)

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


# Evaluations.

HEADROOM: Final = 1.15
"""Room for the name of the highest point."""

LEAST_NS: Final = 1e6
"""An axis of latencies that are nothing still shows a millisecond."""

ANSWER_COLUMNS: Final[tuple[tuple[str, str, Callable[[float], str]], ...]] = (
    ("latency", "latency_ns", time_text),
    ("p99", "latency_p99_ns", time_text),
    ("added by ordering", "added_ns", time_text),
    ("share", "added_share", percent_text),
    ("p99 added", "added_p99_ns", time_text),
    ("metadata, bytes", "metadata_bytes", plain),
    ("times hybrid", "metadata_times", plain),
    ("control packets", "control_packets", plain),
    ("request", "request_ns", time_text),
    ("longer than unordered", "request_share", percent_text),
)
"""Heading, figure, and how it is written."""


def evaluation_sections(contents: ReportContents) -> Iterator[Section]:
    """All evaluations."""
    evaluations = contents.results.of(EVALUATION, read_evaluation).values()
    for number, evaluation in enumerate(evaluations, start=1):
        yield evaluation_section(evaluation, number)


def evaluation_section(evaluation: EvaluationResults, number: int) -> Section:
    """Latency against metadata in every setting, in charts and in figures."""
    charts = [
        chart
        for setting in evaluation.settings()
        if (chart := trade_chart(evaluation, setting)) is not None
    ]
    names = [answer.protocol for answer in evaluation.answers]
    shown: list[Markup] = [protocols_legend(names, charts), chart_grid(charts[:SETTINGS_OPEN])]
    if len(charts) > SETTINGS_OPEN:
        rest = charts[SETTINGS_OPEN:]
        shown.append(folded(f"{len(rest)} more settings", chart_grid(rest)))
    return Section(
        identity=f"evaluation-{number}",
        title=evaluation.title,
        lead="What ordering adds to the mean latency of a message, beyond what causal order itself "
        "demands, against the metadata that a message costs. The nearer to the corner, the better.",
        place=Place.FIRST,
        body=joined(
            [
                *shown,
                folded(
                    "All figures",
                    paragraph(
                        "Means over seeds, ± half of a 95 % interval. Metadata and control "
                        "packets: for one message.",
                        class_="quiet",
                    ),
                    table(
                        [
                            "scenario",
                            "network",
                            "n",
                            "protocol",
                            *(one[0] for one in ANSWER_COLUMNS),
                        ],
                        answer_rows(evaluation),
                        texts=4,
                    ),
                ),
                traces_table(evaluation.traces),
                paragraph(code(evaluation.command)) if evaluation.command else Markup(),
            ]
        ),
    )


def trade_chart(evaluation: EvaluationResults, setting: Setting) -> LineChart | None:
    """A point for each protocol: bytes of metadata, and what ordering adds to latency."""
    points: list[Series] = []
    for number, answer in enumerate(evaluation.of_setting(setting)):
        added, metadata = answer.figures.get("added_ns"), answer.figures.get("metadata_bytes")
        if added is None or metadata is None or metadata.mean <= 0:
            continue
        points.append(
            Series(
                name=answer.protocol,
                points=((metadata.mean, max(added.mean, 0.0)),),
                spread=(added.half_width or 0.0,),
                look=look_of(answer.protocol, number),
                label=answer.protocol,
            )
        )
    if not points:
        return None
    highest = max(height + line.spread[0] for line in points for _, height in line.points)
    return LineChart(
        title=f"{setting.scenario}, {setting.network}, n = {setting.processes:,}",
        x=Axis(title="metadata for one message, bytes", log=True),
        y=Axis(
            title="added to the mean latency",
            unit="time",
            low=0.0,
            high=max(highest * HEADROOM, LEAST_NS),
        ),
        series=tuple(points),
    )


def answer_rows(evaluation: EvaluationResults) -> Iterator[list[str]]:
    """A row for each protocol in each setting; what is the same as above is left out."""
    for setting in evaluation.settings():
        where = [setting.scenario, setting.network, f"{setting.processes:,}"]
        for answer in evaluation.of_setting(setting):
            name = answer.protocol if answer.finished else f"{answer.protocol} (unfinished)"
            figures = [
                figure_text(answer.figures.get(key), write) for _, key, write in ANSWER_COLUMNS
            ]
            yield [*where, name, *figures]
            where = ["", "", ""]


def traces_table(traces: list[ReplayedTrace]) -> Markup:
    """What was replayed, and what of it is real."""
    if not traces:
        return Markup()
    head = ["trace", "from", "what is real", "what is grown"]
    head += ["processes", "messages", "copies", "lasted"]
    rows = [
        [
            one.name,
            one.origin,
            "; ".join(one.real),
            "; ".join(one.grown) or "nothing",
            f"{one.processes:,}",
            f"{one.messages:,}",
            f"{one.copies:,}",
            time_text(one.span_ns),
        ]
        for one in traces
    ]
    return joined([element("h3", "What was replayed"), table(head, rows, texts=4)])
