"""What an audit found: the tables of `antecede audit`, or the verdict of the oracle on a short log.

Both become the same value. Channels and quantiles are worked out here from the violations
themselves, so that they say the same whoever was the judge. However many there are, they stream by,
and little of them is kept: counts, maxima and the worst cases are of all rows, but quantiles need
all values at once, so for those a sample is kept, of very many every second, third and so on.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from antecede.eventlog.layout import PARTITION
from antecede.eventlog.parquet import ArrowTable, load_pyarrow, reading
from antecede_audit.judging.findings import (
    IDENTITY_COLUMNS,
    VIOLATION_COLUMNS,
    MessageId,
    OracleVerdict,
    Violation,
)
from antecede_audit.report.sources import SUMMARY_FILE, SourceKind, read_json

VIOLATIONS_FOLDER: Final = "violations"


def holds_audit(folder: Path) -> bool:
    """Whether this folder is the output of an audit."""
    return (folder / VIOLATIONS_FOLDER).is_dir() and (folder / SUMMARY_FILE).is_file()


AUDIT: Final = SourceKind(name="audit", text="an audit", command="audit", is_in=holds_audit)

SAMPLE_MAX: Final = 1_000_000
"""So many violations are kept for quantiles: some 50 MB."""

WORST_KEPT: Final = 100
"""So many violations of each run can be jumped to: those that came far too early."""

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
    for table in tables_in(folder):
        channels = [counted([*channels, as_channels(table)])]
        worst = [worst_of([*worst, table])]
        chosen = pa.array(range(-passed % stride, len(table), stride), pa.int64())
        sample.append(table.select([*CHANNEL, HELD_BACK]).take(chosen))
        passed += len(table)
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


def counted(parts: Sequence[ArrowTable]) -> ArrowTable:
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
    """The place of the smallest of so many values that this share of them does not exceed."""
    return max(0, -(-round(share * 100) * count // 100) - 1)


def most_affected(channels: Iterable[Channel]) -> tuple[Channel, ...]:
    """Those with most violations first."""
    ranked = sorted(channels, key=lambda channel: (-channel.violations, -channel.longest_ns))
    return tuple(ranked[:CHANNELS_SHOWN])


# Tables.


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
        by_run.setdefault(row["run_id"], []).append(violation_of(row))
    return by_run


def violation_of(row: Mapping[str, Any]) -> Violation:
    """A row of the violations table; nobody has looked for its witness yet."""
    return Violation(
        process=row["process"],
        early=MessageId(row["early_sender"], row["early_sequence"]),
        early_delivered_ns=row["early_delivered_ns"],
        late=MessageId(row["late_sender"], row["late_sequence"]),
        late_delivered_ns=row["late_delivered_ns"],
        witness=(),
        **{name: row.get(name) for name in IDENTITY_COLUMNS},
    )
