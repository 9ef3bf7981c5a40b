"""What audits found: how much, on which channels, for how long, and the worst of it in words.

The tables of `antecede audit`, or the verdict of the oracle on a short log, become the same value.
Channels and quantiles are worked out here from the violations themselves, so that they say the
same whoever was the judge. However many there are, they stream by, and little of them is kept:
counts, maxima and the worst cases are of all rows, but quantiles need all values at once, so for
those a sample is kept, of very many every second, third and so on.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from antecede.eventlog.layout import PARTITION
from antecede.eventlog.parquet import ArrowTable, load_pyarrow, reading
from antecede.units import counted
from antecede_audit.judging.explain import explain
from antecede_audit.judging.findings import (
    IDENTITY_COLUMNS,
    VIOLATION_COLUMNS,
    OracleVerdict,
    Violation,
)
from antecede_audit.report.charts.scale import time_text
from antecede_audit.report.charts.spec import Axis, LineChart, Look, Series
from antecede_audit.report.page.markup import Markup, element, joined
from antecede_audit.report.page.section import Section, chart_grid, folded, paragraph, table
from antecede_audit.report.sources import SUMMARY_FILE, SourceKind, read_json
from antecede_audit.report.spacetime.diagram import Diagram

VIOLATIONS_FOLDER: Final = "violations"


def holds_audit(folder: Path) -> bool:
    """Whether this folder is the output of an audit."""
    return (folder / VIOLATIONS_FOLDER).is_dir() and (folder / SUMMARY_FILE).is_file()


AUDIT: Final = SourceKind(name="audit", text="an audit", command="audit", is_in=holds_audit)

SAMPLE_MAX: Final = 1_000_000
"""At most this many violations are kept for quantiles: about 50 MB."""

WORST_KEPT: Final = 100
"""The violations of each run that one can jump to: those that came earliest."""

CHANNEL: Final = ("run_id", "process", "early_sender", "late_sender")

HELD_BACK: Final = "held_back_ns"


@dataclass(frozen=True, slots=True, kw_only=True)
class ViolationCounts:
    """What is kept of the violations."""

    rows: int
    channels: ArrowTable
    """`CHANNEL`, kind, count, longest_ns: a row for each channel."""
    sample: ArrowTable
    """`CHANNEL` and held_back_ns, of some violations or of all."""
    worst: ArrowTable
    """All columns: of each run the violations that came far too early, the worst first."""


def gather_violations(folder: Path, sample_max: int = SAMPLE_MAX) -> ViolationCounts:
    """Go through the violations in a folder once."""
    pa = load_pyarrow("pyarrow")
    rows = rows_in(folder)
    stride = max(1, -(-rows // sample_max))
    channels: list[ArrowTable] = []
    worst: list[ArrowTable] = []
    sample: list[ArrowTable] = []
    passed = 0
    for part in tables_in(folder):
        channels = [add_channels([*channels, as_channels(part)])]
        worst = [worst_of([*worst, part])]
        chosen = pa.array(range(-passed % stride, len(part), stride), pa.int64())
        sample.append(part.select([*CHANNEL, HELD_BACK]).take(chosen))
        passed += len(part)
    return ViolationCounts(
        rows=rows,
        channels=channels[0],
        sample=pa.concat_tables(sample),
        worst=worst[0],
    )


def tables_in(folder: Path) -> Iterator[ArrowTable]:
    """The rows of the dataset with their runs, some at a time; at least one table."""
    pa = load_pyarrow("pyarrow")
    ds = load_pyarrow("pyarrow.dataset")
    parted = any(folder.glob(f"{PARTITION}*"))
    by_run = ds.partitioning(pa.schema([("run_id", pa.string())]), flavor="hive")
    with reading(folder):
        dataset = ds.dataset(folder, format="parquet", partitioning=by_run if parted else None)
        names = dataset.schema.names
        if not names:
            yield empty(VIOLATION_COLUMNS)
            return
        optional = [name for name in ("run_id", *IDENTITY_COLUMNS) if name in names]
        columns = [*VIOLATION_COLUMNS, *optional]
        yield named(dataset.schema.empty_table().select(columns))
        for batch in dataset.to_batches(columns=columns):
            yield named(pa.Table.from_batches([batch]))


def named(table: ArrowTable) -> ArrowTable:
    """The same rows with a run, which has no name if nothing says so."""
    if "run_id" in table.column_names:
        return table
    pa = load_pyarrow("pyarrow")
    return table.append_column("run_id", pa.array([""] * len(table), pa.string()))


def empty(columns: Sequence[str]) -> ArrowTable:
    """A table without rows, for a dataset without files."""
    pa = load_pyarrow("pyarrow")
    types = {"kind": pa.string(), "run_id": pa.string()}
    names = ("run_id", *columns)
    return pa.table({name: pa.array([], types.get(name, pa.int64())) for name in names})


def rows_in(folder: Path) -> int:
    """How many rows a dataset has; none if there is no such folder."""
    if not folder.is_dir():
        return 0
    ds = load_pyarrow("pyarrow.dataset")
    with reading(folder):
        return int(ds.dataset(folder, format="parquet", partitioning="hive").count_rows())


def as_channels(table: ArrowTable) -> ArrowTable:
    """Each violation as a channel that has one."""
    pa = load_pyarrow("pyarrow")
    one = pa.array([1] * len(table), pa.int64())
    keys = table.select([*CHANNEL, "kind"])
    return keys.append_column("count", one).append_column("longest_ns", table[HELD_BACK])


def add_channels(parts: Sequence[ArrowTable]) -> ArrowTable:
    """Channels that stand several times in these tables, once each."""
    pa = load_pyarrow("pyarrow")
    keys = [*CHANNEL, "kind"]
    grouped = pa.concat_tables(parts).group_by(keys)
    summed = grouped.aggregate([("count", "sum"), ("longest_ns", "max")])
    return summed.select([*keys, "count_sum", "longest_ns_max"]).rename_columns(
        [*keys, "count", "longest_ns"]
    )


def worst_of(parts: Sequence[ArrowTable]) -> ArrowTable:
    """Of each run the violations in these tables that came far too early, the worst first."""
    pa, pc = load_pyarrow("pyarrow"), load_pyarrow("pyarrow.compute")
    ranked = pa.concat_tables(parts).sort_by([("run_id", "ascending"), (HELD_BACK, "descending")])
    runs = pc.run_end_encode(ranked["run_id"].combine_chunks())
    ends = runs.run_ends.to_pylist() if len(ranked) else []
    starts = [0, *ends][: len(ends)]
    kept = [
        place
        for start, end in zip(starts, ends, strict=True)
        for place in range(start, min(end, start + WORST_KEPT))
    ]
    return ranked.take(pa.array(kept, pa.int64()))


CHANNELS_SHOWN: Final = 12

QUANTILES: Final = tuple(number / 100 for number in range(1, 101))


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """Where effects overtook causes: messages of `early` came before those of `late`."""

    run_id: str
    process: int
    early: int
    late: int
    violations: int
    median_ns: int
    """Of an even number of times the lower of the two in the middle, as the audit has it."""
    longest_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditResults:
    """What was found in one or several logs."""

    title: str
    judge: str
    messages: int | None
    deliveries: int | None
    processes: int | None
    events: int | None
    runs: int | None
    by_kind: dict[str, int]
    """Violations: how many are "fifo", how many "transitive"."""
    duplicates: int
    losses: int
    inventions: int
    """Deliveries where nobody sent the message to."""
    channels: tuple[Channel, ...]
    held_back: tuple[tuple[float, float], ...]
    """Share of violations, and how long causal order would have held those back at most."""
    worst: dict[str, list[Violation]]
    """By run: the violations that came far too early, the worst first."""
    by_run: dict[str, int]
    """How many violations each run has, as far as it is known which runs were judged."""
    order: str = "process"
    """Which events of a process count as ordered: all of them, or those of one trace."""
    by_order: dict[str, int] = field(default_factory=dict)
    """How many violations there are by either order, if both were looked at."""
    sampled: int | None = None
    """On how many violations medians and quantiles rest, if there were too many to keep all."""

    @property
    def violations(self) -> int:
        """How many messages were delivered too early."""
        return sum(self.by_kind.values())


def read_audit(folder: Path, sample_max: int = SAMPLE_MAX) -> AuditResults:
    """The results of `antecede audit` in this folder."""
    place = folder.absolute()
    summary = read_json(folder / SUMMARY_FILE)
    found = gather_violations(folder / VIOLATIONS_FOLDER, sample_max)
    return AuditResults(
        # Called after its folder, or after the one that all of it belongs to.
        title=place.parent.name if place.name == AUDIT.name else place.name,
        judge="antecede audit",
        messages=count_in(summary, "messages"),
        deliveries=count_in(summary, "deliveries"),
        processes=count_in(summary, "processes"),
        events=count_in(summary, "events"),
        runs=count_in(summary, "runs"),
        by_kind=counts_of(found.channels, "kind"),
        duplicates=rows_in(folder / "duplicates"),
        losses=rows_in(folder / "losses"),
        inventions=rows_in(folder / "inventions"),
        channels=channels_of(found),
        held_back=quantiles_of(found),
        worst=worst_by_run(found.worst),
        by_run=counts_of(found.channels, "run_id"),
        order=str(summary.get("order", "process")),
        by_order=by_order_of(summary),
        sampled=len(found.sample) if len(found.sample) < found.rows else None,
    )


def by_order_of(summary: Mapping[str, object]) -> dict[str, int]:
    """How many violations there are by either order, as far as the summary says so."""
    counts = summary.get("violations_by_order")
    if not isinstance(counts, dict):
        return {}
    return {name: count for name, count in counts.items() if isinstance(count, int)}


def count_in(summary: Mapping[str, object], key: str) -> int | None:
    """A number of the summary, or None if it is not there or is something else."""
    value = summary.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def audited(verdicts: Mapping[str, OracleVerdict], title: str) -> AuditResults:
    """The verdicts of the oracle on several runs, taken together."""
    rows = [
        (run_id, *violation.row())
        for run_id, verdict in verdicts.items()
        for violation in verdict.violations
    ]
    channels: dict[tuple[str, int, int, int], list[int]] = {}
    by_kind: dict[str, int] = {}
    for run_id, process, early, _, _, late, _, _, held_back_ns, kind in rows:
        by_kind[kind] = by_kind.get(kind, 0) + 1
        channels.setdefault((run_id, process, early, late), []).append(held_back_ns)
    judged = list(verdicts.values())
    return AuditResults(
        title=title,
        judge="the oracle",
        messages=sum(verdict.messages for verdict in judged),
        deliveries=sum(verdict.deliveries for verdict in judged),
        processes=max((verdict.processes for verdict in judged), default=0),
        events=None,
        runs=len(judged),
        by_kind=by_kind,
        duplicates=sum(len(verdict.duplicates) for verdict in judged),
        losses=sum(len(verdict.losses) for verdict in judged),
        inventions=sum(len(verdict.inventions) for verdict in judged),
        channels=most_affected(
            Channel(
                run_id=run_id,
                process=process,
                early=early,
                late=late,
                violations=len(waits),
                median_ns=sorted(waits)[rank_of(0.5, len(waits))],
                longest_ns=max(waits),
            )
            for (run_id, process, early, late), waits in channels.items()
        ),
        held_back=steps_of([row[8] for row in rows]),
        worst={
            run_id: sorted(verdict.violations, key=lambda one: -one.held_back_ns)[:WORST_KEPT]
            for run_id, verdict in verdicts.items()
        },
        by_run={run_id: len(verdict.violations) for run_id, verdict in verdicts.items()},
    )


def steps_of(values: Sequence[int]) -> tuple[tuple[float, float], ...]:
    """The quantiles of these values, at most a hundred."""
    if not values:
        return ()
    ranked = sorted(values)
    return tuple((share, float(ranked[rank_of(share, len(ranked))])) for share in QUANTILES)


def rank_of(share: float, count: int) -> int:
    """The place, among `count` sorted values, of the least that this share does not exceed."""
    return max(0, -(-round(share * 100) * count // 100) - 1)


def most_affected(channels: Iterable[Channel]) -> tuple[Channel, ...]:
    """Those with most violations first."""
    ranked = sorted(channels, key=lambda channel: (-channel.violations, -channel.longest_ns))
    return tuple(ranked[:CHANNELS_SHOWN])


def counts_of(channels: ArrowTable, column: str) -> dict[str, int]:
    """How many violations have each value, the most frequent first."""
    summed = channels.group_by(column).aggregate([("count", "sum")]).to_pylist()
    ranked = sorted(summed, key=lambda row: -row["count_sum"])
    return {row[column]: row["count_sum"] for row in ranked}


def channels_of(found: ViolationCounts) -> tuple[Channel, ...]:
    """The channels with most violations."""
    ranked = found.channels.sort_by([("count", "descending"), ("longest_ns", "descending")])
    return tuple(
        Channel(
            run_id=row["run_id"],
            process=row["process"],
            early=row["early_sender"],
            late=row["late_sender"],
            violations=row["count"],
            median_ns=median_of(found.sample, row),
            longest_ns=row["longest_ns"],
        )
        for row in ranked.slice(0, CHANNELS_SHOWN).to_pylist()
    )


def median_of(sample: ArrowTable, channel: Mapping[str, Any]) -> int:
    """How long the messages of this channel would have been held back, half of them.

    A channel that the sample has nothing of, of very many, is said to be as its longest.
    """
    pc = load_pyarrow("pyarrow.compute")
    for name in CHANNEL:
        sample = sample.filter(pc.equal(sample[name], channel[name]))
    ordered = sample[HELD_BACK].combine_chunks().sort()
    return int(
        ordered[rank_of(0.5, len(ordered))].as_py() if len(ordered) else channel["longest_ns"]
    )


def quantiles_of(found: ViolationCounts) -> tuple[tuple[float, float], ...]:
    """How long causal order would have held violations back; the longest is that of all."""
    steps = steps_of(found.sample[HELD_BACK].to_pylist())
    longest_ns = load_pyarrow("pyarrow.compute").max(found.channels["longest_ns"]).as_py()
    return (*steps[:-1], (1.0, float(longest_ns))) if steps else ()


def worst_by_run(worst: ArrowTable) -> dict[str, list[Violation]]:
    """By run, the violations that came far too early."""
    by_run: dict[str, list[Violation]] = {}
    for row in worst.to_pylist():
        by_run.setdefault(row["run_id"], []).append(Violation.of_row(row))
    return by_run


EXAMPLES: Final = 5
"""The worst violations of each run that are told in words."""

RUNS_OPEN: Final = 3
"""Runs whose examples are shown at once; those of others are folded away."""

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
"""The worst violations of a run that are led back to their traces."""


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
