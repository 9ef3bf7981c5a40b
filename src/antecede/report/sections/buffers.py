"""How full buffers were while a run lasted."""

from collections.abc import Sequence

from antecede.report.charts.spec import Axis, LineChart, Look, Series
from antecede.report.page.markup import joined
from antecede.report.readers.recordings import Recording
from antecede.report.sections.section import Section, chart_grid, legend
from antecede.report.spacetime.times import levels_of

LOOKS = {
    "send buffers": Look(colour=5),
    "on the way": Look(colour=8, dash=2),
    "receive buffers": Look(colour=2, dash=1),
}


def buffers_section(recordings: Sequence[Recording]) -> Section | None:
    """A chart for each run in which anything was ever buffered or under way."""
    longest_ns = max((recording.run.span_ns for recording in recordings), default=1)
    charts = [
        chart for recording in recordings if (chart := chart_of(recording, longest_ns)) is not None
    ]
    if not charts:
        return None
    return Section(
        identity="buffers",
        title="Buffers over time",
        lead="Copies in all send buffers, on the way, and in all receive buffers: the most in each "
        "stretch of time.",
        body=joined([legend(LOOKS.items()), chart_grid(charts)]),
    )


def chart_of(recording: Recording, longest_ns: int) -> LineChart | None:
    """The levels of one run, on an axis that all runs share; None if its log knows no buffers."""
    levels = levels_of(recording.run)
    columns = (levels.sending, levels.travelling, levels.receiving)
    if not any(map(any, columns)):
        return None
    series = tuple(
        Series(
            name=name,
            points=tuple(zip(levels.times_ns, map(float, column), strict=True)),
            look=look,
            dots=False,
        )
        for (name, look), column in zip(LOOKS.items(), columns, strict=True)
    )
    return LineChart(
        title=recording.run.name,
        x=Axis(title="time since the start", unit="time", low=0.0, high=float(longest_ns)),
        y=Axis(title="copies", low=0.0),
        series=series,
        stairs=True,
    )
