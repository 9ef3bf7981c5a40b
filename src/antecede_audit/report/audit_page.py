"""What audits found: how much, on which channels, for how long, and the worst of it in words."""

from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import quote

from antecede.units import counted
from antecede_audit.judging.explain import explain
from antecede_audit.report.audit_results import AuditResults, Channel
from antecede_audit.report.charts.scale import time_text
from antecede_audit.report.charts.spec import Axis, LineChart, Look, Series
from antecede_audit.report.page.markup import Markup, element, joined
from antecede_audit.report.page.section import Section, chart_grid, folded, paragraph, table
from antecede_audit.report.parts import ReportContents
from antecede_audit.report.spacetime.diagram import Diagram

EXAMPLES: Final = 5
"""So many of the worst violations of each run are told in words."""

RUNS_OPEN: Final = 3
"""Of so many runs examples are shown at once."""

FEW: Final = {
    0: "No message was delivered before anything that caused it.",
    1: "1 message was delivered before something that caused it.",
}

Names = Mapping[str, Mapping[int, str]]
"""By run: what its processes are called."""

ORDERS: Final = {
    "trace": (
        "By trace",
        "only what the same request did before at a process counts as a cause",
    ),
    "process": (
        "By process",
        "all that a process did before counts as a cause, which is what causal messaging enforces",
    ),
}

LINKED: Final = 20
"""So many of the worst violations of a run are led back to their traces."""


def audit_sections(contents: ReportContents) -> list[Section]:
    """What audits found in the runs, if anything was judged."""
    if not contents.audits:
        return []
    people = {one.run.name: one.run.people for one in contents.recordings}
    return [audit_section(contents.audits, people, contents.diagrams, contents.trace_url)]


def audit_section(
    audits: Sequence[AuditResults],
    names: Names,
    diagrams: Sequence[Diagram],
    trace_url: str | None = None,
) -> Section:
    """All audits, one after the other; `trace_url` leads to a trace, with {trace_id} in it."""
    told = {diagram.run.name: (number, diagram) for number, diagram in enumerate(diagrams)}
    total = sum(one.violations for one in audits)
    many = f"{total:,} messages were delivered before something that caused them."
    return Section(
        identity="audit",
        title="Audit",
        lead=FEW.get(total, many),
        body=joined([audit_markup(one, names, told, len(audits) > 1, trace_url) for one in audits]),
    )


def audit_markup(
    one: AuditResults,
    names: Names,
    told: Mapping[str, tuple[int, Diagram]],
    titled: bool,
    trace_url: str | None,
) -> Markup:
    """One audit: counts, channels, how long, examples; with a title if there are others."""
    pieces: list[Markup] = [
        *([element("h3", one.title)] if titled else []),
        paragraph(f"Judged by {one.judge}: {looked_at(one)}.", class_="quiet"),
        element("div", *cards(one), class_="cards"),
    ]
    if one.order == "trace":
        pieces.append(orders_table(one))
    if one.violations:
        pieces.append(channels_table(one, names))
        if one.sampled is not None:
            pieces.append(paragraph(sample_text(one), class_="quiet"))
        pieces.append(chart_grid([held_back_chart(one)]))
        pieces.append(all_examples(one, names, told))
        pieces += [traces_table(one, run_id, names, trace_url) for run_id in one.worst]
    return joined(pieces)


def orders_table(one: AuditResults) -> Markup:
    """How many messages came too early by either order, and what that means."""
    rows = [
        [title, f"{one.by_order[order]:,}", meaning]
        for order, (title, meaning) in ORDERS.items()
        if order in one.by_order
    ]
    return table(["order", "too early", "what it means"], rows, texts=1)


def traces_table(one: AuditResults, run_id: str, names: Names, trace_url: str | None) -> Markup:
    """Where the worst violations of a run lead back to, if that is known."""
    worst = [v for v in one.worst[run_id] if v.early_trace_id or v.late_trace_id][:LINKED]
    if not worst:
        return Markup()
    people = names.get(run_id, {})
    rows = [
        [
            people.get(found.process, f"P{found.process}"),
            found.early_operation or found.early_span_id,
            trace_link(found.early_trace_id, trace_url),
            found.late_operation or found.late_span_id,
            trace_link(found.late_trace_id, trace_url),
            time_text(found.held_back_ns),
        ]
        for found in worst
    ]
    head = ["at", "came early", "in trace", "before", "in trace", "by"]
    where = f" of {run_id}" if run_id and len(one.worst) > 1 else ""
    return joined([element("h4", f"The worst{where}, in their traces"), table(head, rows, texts=5)])


def trace_link(trace_id: str | None, trace_url: str | None) -> str | Markup:
    """A trace, as a link to whatever shows it if somebody has said where."""
    if not trace_id or trace_url is None:
        return trace_id or ""
    return element("a", trace_id, href=trace_url.replace("{trace_id}", quote(trace_id, safe="")))


def looked_at(one: AuditResults) -> str:
    """How much there was to look at."""
    counts = [
        (one.runs if one.runs != 1 else None, "run", "runs"),
        (one.events, "event", "events"),
        (one.messages, "message", "messages"),
        (one.deliveries, "delivery", "deliveries"),
        (one.processes, "process", "processes"),
    ]
    known = [counted(count, *nouns) for count, *nouns in counts if count is not None]
    return ", ".join(known) or "a log"


def cards(one: AuditResults) -> list[Markup]:
    """Figures in large letters, what they count in small ones, and whether that is good."""
    found = [
        ("delivered too early", one.violations),
        ("lost", one.losses),
        ("delivered twice", one.duplicates),
    ]
    if one.inventions:
        found.append(("delivered where nobody sent them", one.inventions))
    shown = [(what, count, "card bad" if count else "card good") for what, count in found]
    for kind, words in (
        ("fifo", "of one sender, out of order"),
        ("transitive", "effects before causes of others"),
    ):
        if one.by_kind.get(kind):
            shown.append((words, one.by_kind[kind], "card"))
    return [
        element("div", element("b", f"{count:,}"), element("span", what), class_=class_)
        for what, count, class_ in shown
    ]


def channels_table(one: AuditResults, names: Names) -> Markup:
    """Where it happened most."""
    several = len({channel.run_id for channel in one.channels}) > 1
    head = ["run"] if several else []
    head += ["at", "messages of", "overtook those of"]
    head += ["how often", "too early by (median)", "at most"]
    rows = [channel_row(channel, names, several) for channel in one.channels]
    return joined(
        [element("h4", "Channels most affected"), table(head, rows, texts=3 + int(several))]
    )


def sample_text(one: AuditResults) -> str:
    """What rests on a sample, and what does not."""
    return (
        f"Medians and the curve below are estimated from a sample of {one.sampled:,} of "
        f"{counted(one.violations, 'violation')}; counts, maxima and the worst cases are of all."
    )


def channel_row(channel: Channel, names: Names, several: bool) -> list[str]:
    """One channel."""
    people = names.get(channel.run_id, {})
    who = [people.get(process, f"P{process}") for process in (channel.process, channel.early)]
    late = (
        "itself" if channel.late == channel.early else people.get(channel.late, f"P{channel.late}")
    )
    cells = [channel.run_id] if several else []
    return [
        *cells,
        *who,
        late,
        f"{channel.violations:,}",
        time_text(channel.median_ns),
        time_text(channel.longest_ns),
    ]


def held_back_chart(one: AuditResults) -> LineChart:
    """How long causal order would have held the early messages back."""
    points = tuple((held_ns, share) for share, held_ns in one.held_back if held_ns > 0)
    return LineChart(
        title="How much too early",
        note="share of violations that causal order would have held back for at most so long",
        x=Axis(title="held back for", unit="time", log=True),
        y=Axis(title="share of violations", unit="share", low=0.0, high=1.0),
        series=(Series(name="violations", points=points, look=Look(colour=2), dots=False),),
    )


def all_examples(
    one: AuditResults, names: Names, told: Mapping[str, tuple[int, Diagram]]
) -> Markup:
    """Examples of every run: of those with diagrams, and of some others, at once."""
    runs = sorted(one.worst, key=lambda run_id: (run_id not in told, -one.by_run.get(run_id, 0)))
    shown = [examples(one, run_id, names, told) for run_id in runs]
    rest = shown[RUNS_OPEN:]
    more = folded(f"{len(rest)} more runs", *rest) if rest else None
    return joined([*shown[:RUNS_OPEN], more])


def examples(
    one: AuditResults, run_id: str, names: Names, told: Mapping[str, tuple[int, Diagram]]
) -> Markup:
    """The worst violations of a run in words; those that a diagram has can be jumped to."""
    items: list[Markup] = []
    if run_id in told:
        number, diagram = told[run_id]
        for place, shown in enumerate(diagram.violations[:EXAMPLES]):
            jump = element("button", "Show", type="button", data_run=number, data_violation=place)
            items.append(element("li", shown.text, " ", jump))
    else:
        worst = one.worst[run_id][:EXAMPLES]
        items = [element("li", explain(violation, names.get(run_id))) for violation in worst]
    if not items:
        return Markup()
    where = f" in {run_id}" if run_id else ""
    return joined(
        [element("h4", f"The worst{where}, in words"), element("ol", *items, class_="stories")]
    )
