"""Costs against the number of processes, and throughput against distance: lines of a comparison."""

from collections.abc import Iterator, Sequence
from typing import Final

from antecede_audit.report.charts.spec import Axis, LineChart, Series, Unit, look_of
from antecede_audit.report.page.markup import Markup, element, joined
from antecede_audit.report.page.section import Section, chart_grid, protocols_legend
from antecede_audit.report.parts import ReportContents
from antecede_audit.report.recordings_page import latency_section
from antecede_lab.comparison import measurements as measured
from antecede_lab.comparison.long_runs import SERVICES, STREAM
from antecede_lab.comparison.measurements import Quantity
from antecede_lab.comparison.traffic import BROADCASTS, NEIGHBOURS, UNIFORM
from antecede_lab.report.comparison_page import (
    COMPARISON,
    KS,
    Comparison,
    KsPoint,
    read_comparison,
    read_ks,
)
from antecede_lab.report.sweep_page import SWEEP, SweepResults, read_sweep

SITUATIONS: Final = {
    UNIFORM: "everybody talks to everybody",
    NEIGHBOURS: "everybody has four neighbours",
    BROADCASTS: "everything goes to everybody",
    STREAM: "one sender, one receiver",
    SERVICES: "calls among services",
    "": "",
}
"""What the runs behind a line had in common."""

PLACES: Final[dict[str, tuple[str, Unit]]] = {
    measured.PROCESSES: ("processes (n)", "number"),
    measured.DISTANCE: ("round-trip time", "time"),
}
"""What quantities are measured against, and its unit; distances become round trips."""

COSTS: Final = (
    (measured.INTEGERS, "Metadata in a message", "integers"),
    (measured.BYTES, "Metadata in a message, encoded", "bytes"),
    (measured.STATE, "State of a process", "integers"),
    (measured.SENDER, "Work at the sender", "steps per copy"),
    (measured.RECEIVER, "Work at the receiver", "steps per copy"),
)

LOADED: Final = (
    (measured.LATENCY, "Mean latency", "one-way delays"),
    (measured.LATE, "Mean latency beyond what causal order asks", "round trips"),
    (measured.REPORTED, "Longest wait, two talk and report", "round trips"),
)

FLOWS: Final = (
    (measured.RATE, "Throughput", "deliveries/s"),
    (measured.FLYING, "Under way at once, of one sender", "messages"),
)
"""Quantity, title, and unit of a chart."""


def growth_sections(contents: ReportContents) -> Iterator[Section | None]:
    """What comparisons and sweeps say about larger runs, higher loads, and longer distances."""
    comparisons = list(contents.results.of(COMPARISON, read_comparison).values())
    sweeps = list(contents.results.of(SWEEP, read_sweep).values())
    points = [point for some in contents.results.of(KS, read_ks).values() for point in some]
    yield latency_section([loaded_latencies(comparison) for comparison in comparisons])
    yield growth_section(comparisons, sweeps)
    yield ks_section(points)
    yield throughput_section(comparisons)


def loaded_latencies(comparison: Comparison) -> Markup:
    """Latency against load, and how much of it causal order does not ask for."""
    charts = charts_of_all([comparison], LOADED)
    if not charts:
        return Markup()
    return joined(
        [
            element("h3", "Latency against load"),
            protocols_legend(comparison.protocols, charts),
            chart_grid(charts),
        ]
    )


def growth_section(
    comparisons: Sequence[Comparison], sweeps: Sequence[SweepResults]
) -> Section | None:
    """Metadata and cost against n, on logarithmic axes."""
    charts = charts_of_all(comparisons, COSTS)
    names = [name for comparison in comparisons for name in comparison.protocols]
    for sweep in sweeps:
        charts += sweep_charts(sweep)
        names += sweep.protocols()
    lead = (
        "Both axes are logarithmic: a flat line does not grow with n, and the steeper a line, "
        "the higher the power of n."
    )
    return charted("growth", "Metadata and cost against n", lead, names, charts)


def throughput_section(comparisons: Sequence[Comparison]) -> Section | None:
    """Throughput and messages under way against the round-trip time."""
    charts = charts_of_all(comparisons, FLOWS)
    names = [name for comparison in comparisons for name in comparison.protocols]
    lead = (
        "A protocol that lets one message be under way at a time, or one for each receiver, "
        "pays a round trip for every message. What does not wait does not care how far it is."
    )
    return charted("throughput", "Throughput against distance", lead, names, charts)


def charted(
    identity: str, title: str, lead: str, names: Sequence[str], charts: Sequence[LineChart]
) -> Section | None:
    """A section of charts, with a legend of the lines of these names; None if there are none."""
    if not charts:
        return None
    body = joined([protocols_legend(names, charts), chart_grid(charts)])
    return Section(identity=identity, title=title, lead=lead, body=body)


def charts_of_all(
    comparisons: Sequence[Comparison], quantities: Sequence[tuple[Quantity, str, str]]
) -> list[LineChart]:
    """The charts of these quantities in all comparisons."""
    return [
        chart
        for comparison in comparisons
        for quantity, title, unit in quantities
        for chart in quantity_charts(comparison, quantity, title, unit)
    ]


def quantity_charts(
    comparison: Comparison, quantity: Quantity, title: str, unit: str
) -> list[LineChart]:
    """One chart for every kind of traffic in which a quantity was measured at several places."""
    charts: list[LineChart] = []
    for situation, meaning in SITUATIONS.items():
        series = [
            line
            for number, protocol in enumerate(comparison.protocols)
            if (line := line_of(comparison, protocol, quantity, situation, number)) is not None
        ]
        charts += growth_charts(title, meaning, quantity.against, unit, series)
    return charts


def growth_charts(
    title: str, note: str, against: str, unit: str, series: Sequence[Series]
) -> list[LineChart]:
    """A chart of these lines, with marks where anything was measured; none if that is one place."""
    if not any(len(line.points) > 1 for line in series):
        return []
    marks = tuple(sorted({place for line in series for place, _ in line.points}))
    place, scale = PLACES.get(against, (against, "number"))
    return [
        LineChart(
            title=title,
            note=note,
            x=Axis(title=place, unit=scale, log=True, marks=marks),
            y=Axis(title=unit, log=True),
            series=tuple(series),
            named=True,
        )
    ]


def line_of(
    comparison: Comparison, protocol: str, quantity: Quantity, situation: str, number: int
) -> Series | None:
    """The figures of one protocol, with their intervals; None if there are none."""
    rows = sorted(
        [
            row
            for row in comparison.readings.rows
            if row.protocol == protocol
            and row.quantity.name == quantity.name
            and row.situation == situation
        ],
        key=lambda row: row.at,
    )
    if not rows:
        return None
    # A one-way delay in milliseconds is half of a round trip.
    scale = 2e6 if quantity.against == measured.DISTANCE else 1.0
    return Series(
        name=protocol,
        points=tuple((row.at * scale, row.figure.mean) for row in rows),
        spread=tuple(row.figure.half_width or 0.0 for row in rows),
        look=look_of(protocol, number),
    )


def sweep_charts(sweep: SweepResults) -> list[LineChart]:
    """Metadata and control packets against n, for scenarios that were run with several n."""
    charts: list[LineChart] = []
    places = sorted({setting[:2] for setting in sweep.settings()})
    for scenario, network in places:
        for figure, title, unit in (
            ("metadata_bytes_per_message", "Metadata for one message, all packets", "bytes"),
            ("control_per_message", "Control packets for one message", "packets"),
        ):
            lines = sweep_lines(sweep, scenario, network, figure)
            note = f"{scenario}, {network}"
            charts += growth_charts(title, note, measured.PROCESSES, unit, lines)
    return charts


def sweep_lines(sweep: SweepResults, scenario: str, network: str, figure: str) -> list[Series]:
    """A line for each protocol, against the number of processes."""
    lines: list[Series] = []
    for number, protocol in enumerate(sweep.protocols()):
        points: list[tuple[float, float]] = []
        spread: list[float] = []
        for group in sweep.groups:
            found = group.figure(figure)
            here = group.setting[:2] == (scenario, network)
            if group.protocol == protocol and here and found is not None:
                points.append((float(group.setting.processes), found.mean))
                spread.append(found.half_width or 0.0)
        if points:
            look = look_of(protocol, number)
            lines.append(
                Series(name=protocol, points=tuple(points), spread=tuple(spread), look=look)
            )
    return lines


def ks_section(points: Sequence[KsPoint]) -> Section | None:
    """How much of n² integers KS carries."""
    shares = sorted({point.share for point in points})
    rates = sorted({point.rate for point in points})
    charts = [
        LineChart(
            title=f"Metadata of KS, MTT/MIMT = {rate:g}",
            note="in percent of n² integers; each line is a share of multicasts",
            x=Axis(title="processes (n)"),
            y=Axis(title="%", low=0.0),
            series=tuple(
                Series(
                    name=f"{share:.0%} multicasts",
                    points=tuple((float(p.processes), p.percent) for p in chosen),
                    spread=tuple(p.half_width or 0.0 for p in chosen),
                    look=look_of("", number),
                )
                for number, share in enumerate(shares)
                if (chosen := [p for p in points if (p.rate, p.share) == (rate, share)])
            ),
        )
        for rate in rates
    ]
    names = [line.name for chart in charts for line in chart.series]
    lead = (
        "The algorithm of Kshemkalyani and Singhal carries what is not known to be redundant: "
        "at worst n² integers, in these runs a part of that."
    )
    return charted("ks", "How much does KS carry?", lead, names, charts)
