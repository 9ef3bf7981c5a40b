"""The page of a watch: how many messages came too early, where, and how far behind the watch is."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from antecede.audit.progress import Channel, Progress
from antecede.link.notation import duration_text
from antecede.report.charts.draw import draw
from antecede.report.charts.spec import Axis, LineChart, Look, Series
from antecede.report.page.document import Report, page_text
from antecede.report.page.markup import Markup, element
from antecede.report.sections.section import Section

BATCHES_SHOWN: Final = 200
PER_THOUSAND: Final = 1_000
NS_PER_S: Final = 1_000_000_000
LAG_MAX_NS: Final = 3_600 * NS_PER_S
"""What is further behind is not watched as it happens; then a date says more."""
DATED_NS: Final = 946_684_800 * NS_PER_S
"""The year 2000: times from there on are dates."""


def watch_page(
    progress: Sequence[Progress],
    channels: Sequence[Channel],
    names: Mapping[int, str],
    source: str,
    every_s: float,
) -> str:
    """A whole page, which loads itself again."""
    shown = progress[-BATCHES_SHOWN:]
    found = sum(one.violations for one in progress)
    events = sum(one.events for one in progress)
    opening = element(
        "p",
        f"{found:,} messages came before one that caused them, in {events:,} events. ",
        f"Judged up to {lag_text(progress)}.",
        class_="lead",
    )
    sections = [
        Section(
            identity="rate",
            title="Too early",
            lead="Messages that came too early, per thousand events, batch by batch.",
            body=draw(rate_chart(shown)),
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
            body=batch_table(shown[-20:]),
        ),
    ]
    return page_text(
        Report(
            title="Causal order, watched",
            subtitle=source,
            opening=opening,
            sections=sections,
            sources=[("the log", source)],
            refresh_s=max(2, round(every_s)),
        )
    )


def lag_text(progress: Sequence[Progress]) -> str:
    """Up to when a watch has judged, in words that suit the clock of the log."""
    if not progress:
        return "nothing yet"
    mark_ns = progress[-1].mark_ns
    lag_ns = progress[-1].clock_ns - mark_ns
    if 0 <= lag_ns < LAG_MAX_NS:
        return f"{duration_text(lag_ns)} before the last batch"
    if mark_ns >= DATED_NS:
        moment = datetime.fromtimestamp(mark_ns // NS_PER_S, UTC)
        return f"{moment:%Y-%m-%d %H:%M:%S} UTC"
    return f"{duration_text(max(mark_ns, 0))} of the log's own time"


def rate_chart(progress: Sequence[Progress]) -> LineChart:
    """Violations per thousand events, by batch."""
    points = tuple(
        (float(one.batch), PER_THOUSAND * one.violations / one.events)
        for one in progress
        if one.events
    )
    return LineChart(
        title="Messages that came too early",
        x=Axis(title="batch"),
        y=Axis(title="per thousand events", low=0),
        series=(Series(name="too early", points=points, look=Look(colour=1)),),
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
    return table(("from", "to", "too early"), rows) if rows else element("p", "None so far.")


def batch_table(progress: Sequence[Progress]) -> Markup:
    """What each batch came to, the last one first."""
    headings = ("batch", "events", "under way", "too early", "twice", "lost", "came after all")
    rows = [
        (
            str(one.batch),
            f"{one.events:,}",
            f"{one.open_copies:,}",
            f"{one.violations:,}",
            f"{one.duplicates:,}",
            f"{one.losses:,}",
            f"{one.retracted:,}",
        )
        for one in reversed(progress)
    ]
    return table(headings, rows)


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Markup:
    """A plain table."""
    head = element("tr", *[element("th", text) for text in headings])
    body = [element("tr", *[element("td", text) for text in row]) for row in rows]
    return element("table", element("thead", head), element("tbody", *body))
