"""The charts of an evaluation: what ordering adds, what is carried, and how latencies spread."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from antecede_audit.report.charts.spec import (
    Axis,
    DotChart,
    LineChart,
    Series,
    distinct_looks,
    look_of,
)
from antecede_audit.report.charts.svg_file import Sheet, write_sheets
from antecede_lab.comparison.measurements import Estimate
from antecede_lab.evaluate.answer import Answer, Group, Setting, bucket_rows, by_setting

SPREAD: Final = ("hybrid", "hybrid-sps", "hybrid-facts", "rst", "mf", "cykas", "none")
"""Protocols whose latencies are drawn; KS delivers when RST does."""

CHARTS_MAX: Final = 9
LEAST_NS: Final = 1_000.0
"""The least that an axis of latencies shows; what is less points beyond its beginning."""

FEW_COPIES: Final = 200
"""The shares of fewer than 200 copies are drawn as steps, which they are."""


def write_evaluation_charts(
    folder: Path, found: Sequence[Answer], groups: Sequence[Group]
) -> list[Path]:
    """Draw everything there is something to draw of, as SVG; the files."""
    sheets = {"metadata": metadata_sheet(found)}
    if any(is_added(one) for one in found):
        sheets["added"] = added_sheet(found)
    for network in dict.fromkeys(one.setting.network for one in found):
        sheet = spread_sheet(groups, network)
        if sheet is not None:
            sheets[f"latency-{network}"] = sheet
    return write_sheets(folder, sheets)


def is_added(one: Answer) -> bool:
    """Whether ordering adds anything, as far as that was measured."""
    return one.added_ns is not None and one.added_ns.mean > 0


def setting_text(setting: Setting) -> str:
    """What a setting is called beside its row."""
    return f"{setting.scenario}\n{setting.network}, n = {setting.processes:,}"


def dot_series(
    figures: Sequence[tuple[str, int, Estimate]], protocols: Iterable[str]
) -> tuple[Series, ...]:
    """For each of the protocols its figures, each in the row of this number."""
    series = []
    for protocol, look in distinct_looks(protocols).items():
        ours = [(row, figure) for name, row, figure in figures if name == protocol]
        if not ours:
            continue
        series.append(
            Series(
                name=protocol,
                points=tuple((figure.mean, float(row)) for row, figure in ours),
                spread=tuple(figure.half_width or 0.0 for _, figure in ours),
                look=look,
            )
        )
    return tuple(series)


def added_sheet(found: Sequence[Answer]) -> Sheet:
    """How much later than necessary messages are delivered, for every setting and protocol."""
    shown = [one for one in found if is_added(one)]
    settings = list(dict.fromkeys(one.setting for one in shown))
    figures = [
        (one.protocol, settings.index(one.setting), one.added_ns)
        for one in shown
        if one.added_ns is not None
    ]
    is_less = any(figure.mean < LEAST_NS for _, _, figure in figures)
    chart = DotChart(
        title="Added latency",
        note="A protocol that adds nothing is not shown in that row."
        + (" Less than 1 µs points to the left." if is_less else ""),
        x=Axis(
            title="added to the mean latency of a copy",
            unit="time",
            log=True,
            low=LEAST_NS if is_less else None,
        ),
        rows=tuple(setting_text(one) for one in settings),
        series=dot_series(figures, [one.protocol for one in found]),
    )
    return Sheet(title="What ordering adds to latency", charts=(chart,))


def metadata_sheet(found: Sequence[Answer]) -> Sheet:
    """What a message carries beside its payload, by the number of processes."""
    sizes = sorted({one.setting.processes for one in found})
    figures = [
        (one.protocol, sizes.index(one.setting.processes), one.metadata_bytes) for one in found
    ]
    chart = DotChart(
        title="Metadata",
        note="Points of one protocol in one row: other workloads and networks of this size.",
        x=Axis(title="bytes of metadata per message", log=True),
        rows=tuple(f"{size:,} processes" for size in sizes),
        series=dot_series(figures, [one.protocol for one in found]),
    )
    return Sheet(title="What a message carries beside its payload", charts=(chart,))


def spread_sheet(groups: Sequence[Group], network: str) -> Sheet | None:
    """The latencies of each scenario over one network, as shares of copies."""
    settings = [one for one in by_setting(groups) if one.network == network][:CHARTS_MAX]
    charts = [
        chart
        for setting in settings
        if (chart := spread_chart([one for one in groups if one.setting == setting])) is not None
    ]
    if not charts:
        return None
    where = f"{network}: {charts[0].title}" if len(charts) == 1 else network
    return Sheet(title=f"Latencies over {where}", charts=tuple(charts), columns=3)


def spread_chart(groups: Sequence[Group]) -> LineChart | None:
    """One line for each protocol: the share of copies delivered within a time."""
    series: list[Series] = []
    few = False
    for number, group in enumerate(groups):
        buckets = [row for row in bucket_rows([group]) if row["delay"] == "latency"]
        total = sum(row["copies"] for row in buckets)
        if group.protocol not in SPREAD or not total:
            continue
        few = few or total < FEW_COPIES
        passed = 0
        # From nothing: copies that all took the same time are a step, not a point.
        points = [(max(LEAST_NS, float(buckets[0]["low_ns"])), 0.0)]
        for row in buckets:
            passed += row["copies"]
            points.append((max(LEAST_NS, float(row["high_ns"])), passed / total))
        look = look_of(group.protocol, number)
        series.append(Series(name=group.protocol, points=tuple(points), look=look, dots=False))
    if not series:
        return None
    setting = groups[0].setting
    return LineChart(
        title=f"{setting.scenario}, n = {setting.processes:,}",
        x=Axis(title="from submission to delivery", unit="time", log=True),
        y=Axis(title="share of copies", unit="share", low=0.0, high=1.0),
        series=tuple(series),
        stairs=few,
    )
