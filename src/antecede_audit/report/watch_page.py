"""The page of a watch: how many messages came too early, where, and how far behind the watch is."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from antecede.units import counted, duration_text
from antecede_audit.report.charts.spec import Axis, LineChart, Look, Series
from antecede_audit.report.page.document import Report, page_text
from antecede_audit.report.page.markup import Markup
from antecede_audit.report.page.section import Section, chart_grid, paragraph, table
from antecede_audit.spark.watch.progress import BatchProgress, Channel

BATCHES_SHOWN: Final = 200
TABLE_BATCHES: Final = 20
PER_THOUSAND: Final = 1_000
NS_PER_S: Final = 1_000_000_000
LAG_MAX_NS: Final = 3_600 * NS_PER_S
"""What is further behind is not watched as it happens; then a date says more."""
DATED_NS: Final = 946_684_800 * NS_PER_S
"""The year 2000: times from there on are dates."""


def watch_page(
    progress: Sequence[BatchProgress],
    channels: Sequence[Channel],
    names: Mapping[int, str],
    source: str,
    every_s: float,
) -> str:
    """A whole page, which loads itself again."""
    shown = progress[-BATCHES_SHOWN:]
    sections = [
        Section(
            identity="rate",
            title="Too early",
            lead="Batch by batch: messages that came too early, and how far behind the watch was.",
            body=chart_grid([rate_chart(shown), *lag_charts(shown)]),
        ),
        Section(
            identity="channels",
            title="Worst channels",
            lead="From whom, to whom, and how many came too early.",
            body=channel_table(channels, names),
        ),
        Section(
            identity="batches",
            title="Batches",
            lead="The last ones first.",
            body=batch_table(shown[-TABLE_BATCHES:]),
        ),
    ]
    return page_text(
        Report(
            title="Causal order, watched",
            subtitle=source,
            opening=opening_of(progress),
            sections=sections,
            sources=[("the log", source)],
            refresh_s=max(2, round(every_s)),
        )
    )


def opening_of(progress: Sequence[BatchProgress]) -> Markup:
    """What has been found so far, in a sentence each."""
    found = sum(one.violations for one in progress)
    events = sum(one.events for one in progress)
    return paragraph(
        f"{counted(found, 'message')} came before one that caused "
        f"{'it' if found == 1 else 'them'}, in {counted(events, 'event')}. ",
        f"Judged up to {lag_text(progress)}.",
        class_="lead",
    )


def lag_text(progress: Sequence[BatchProgress]) -> str:
    """Up to when a watch has judged, in words that suit the clock of the log."""
    if not progress:
        return "nothing yet"
    mark_ns = progress[-1].mark_ns
    lag_ns = lag_of(progress[-1])
    if lag_ns is not None:
        return f"{duration_text(lag_ns)} before the last batch"
    if mark_ns >= DATED_NS:
        moment = datetime.fromtimestamp(mark_ns // NS_PER_S, UTC)
        return f"{moment:%Y-%m-%d %H:%M:%S} UTC"
    return f"{duration_text(max(mark_ns, 0))} of the log's own time"


def lag_of(one: BatchProgress) -> int | None:
    """How far behind its clock a batch was judged; None if the log is not of these hours."""
    lag_ns = one.clock_ns - one.mark_ns
    return lag_ns if 0 <= lag_ns < LAG_MAX_NS else None


def rate_chart(progress: Sequence[BatchProgress]) -> LineChart:
    """Violations per thousand events, by batch."""
    return batch_chart(
        "Messages that came too early",
        Axis(title="per thousand events", low=0),
        [(one.batch, PER_THOUSAND * one.violations / one.events) for one in progress if one.events],
    )


def lag_charts(progress: Sequence[BatchProgress]) -> list[LineChart]:
    """How far behind the watch was, by batch; nothing for a log of another time."""
    lags = [(one.batch, float(lag)) for one in progress if (lag := lag_of(one)) is not None]
    behind = Axis(title="judged up to so long before", unit="time", low=0)
    return [batch_chart("How far behind the watch is", behind, lags)] if lags else []


def batch_chart(title: str, y: Axis, points: Sequence[tuple[int, float]]) -> LineChart:
    """A figure of each batch."""
    marks = tuple(float(batch) for batch, _ in points)
    line = tuple((float(batch), value) for batch, value in points)
    return LineChart(
        title=title,
        x=Axis(title="batch", unit="count", marks=marks),
        y=y,
        series=(Series(name=title.lower(), points=line, look=Look(colour=1)),),
        note="" if points else "Nothing has been judged yet.",
    )


def channel_table(channels: Sequence[Channel], names: Mapping[int, str]) -> Markup:
    """The worst channels, the worst first."""
    rows = [
        (
            names.get(one.sender, f"P{one.sender}"),
            names.get(one.process, f"P{one.process}"),
            f"{one.violations:,}",
        )
        for one in channels
    ]
    return table(("from", "to", "too early"), rows, texts=2) if rows else paragraph("None so far.")


def batch_table(progress: Sequence[BatchProgress]) -> Markup:
    """What each batch came to, the last one first."""
    shown = {
        "events": "events",
        "under way": "open_copies",
        "too early": "violations",
        "twice": "duplicates",
        "lost": "losses",
        "came after all": "retracted",
    }
    rows = [
        (str(one.batch), *(f"{getattr(one, name):,}" for name in shown.values()))
        for one in reversed(progress)
    ]
    return table(("batch", *shown), rows)
