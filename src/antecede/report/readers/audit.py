"""What an audit found: the tables of `antecede audit`, or the verdict of the oracle on a short log.

Both become the same value. Channels and quantiles are worked out here from the violations
themselves, so that they say the same whoever was the judge.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

from antecede.audit.findings import (
    IDENTITY_COLUMNS,
    VIOLATION_COLUMNS,
    MessageId,
    Verdict,
    Violation,
)
from antecede.report.readers.sources import AUDIT, SUMMARY_FILE, VIOLATIONS_FOLDER, read_json
from antecede.trace.datasets import PARTITION
from antecede.trace.parquet import load, reading

ArrowTable: TypeAlias = Any
"""pyarrow has no type stubs; this name says at least what is meant."""

CHANNELS_SHOWN: Final = 12
WORST_KEPT: Final = 100
"""So many violations of each run can be jumped to: those that came far too early."""

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
class Audited:
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

    @property
    def violations(self) -> int:
        """How many messages were delivered too early."""
        return sum(self.by_kind.values())


def read_audit(folder: Path) -> Audited:
    """The results of `antecede audit` in this folder."""
    summary = read_json(folder / SUMMARY_FILE)
    table = read_dataset(folder / VIOLATIONS_FOLDER, VIOLATION_COLUMNS, IDENTITY_COLUMNS)
    return Audited(
        title=title_of(folder.absolute()),
        judge="antecede audit",
        messages=count_in(summary, "messages"),
        deliveries=count_in(summary, "deliveries"),
        processes=count_in(summary, "processes"),
        events=count_in(summary, "events"),
        runs=count_in(summary, "runs"),
        by_kind=counts_of(table, "kind"),
        duplicates=rows_in(folder / "duplicates"),
        losses=rows_in(folder / "losses"),
        inventions=rows_in(folder / "inventions"),
        channels=channels_of(table),
        held_back=quantiles_of(table),
        worst=worst_of(table),
        by_run=counts_of(table, "run_id"),
        order=str(summary.get("order", "process")),
        by_order=by_order_of(summary),
    )


def by_order_of(summary: Mapping[str, object]) -> dict[str, int]:
    """How many violations there are by either order, as far as the summary says so."""
    counts = summary.get("violations_by_order")
    if not isinstance(counts, dict):
        return {}
    return {name: count for name, count in counts.items() if isinstance(count, int)}


def title_of(folder: Path) -> str:
    """What an audit is called: after its folder, or after the one that all of it belongs to."""
    return folder.parent.name if folder.name == AUDIT else folder.name


def count_in(summary: Mapping[str, object], key: str) -> int | None:
    """A number of the summary, or None if it is not there or is something else."""
    value = summary.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def audited(verdicts: Mapping[str, Verdict], title: str) -> Audited:
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
    return Audited(
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


def read_dataset(folder: Path, columns: Sequence[str], optional: Sequence[str] = ()) -> ArrowTable:
    """The rows of a dataset with their runs: these columns, run_id, and optional ones if there."""
    pa = load("pyarrow")
    ds = load("pyarrow.dataset")
    parted = any(folder.glob(f"{PARTITION}*"))
    by_run = ds.partitioning(pa.schema([("run_id", pa.string())]), flavor="hive")
    with reading(folder):
        dataset = ds.dataset(folder, format="parquet", partitioning=by_run if parted else None)
        columns = [*columns, *(name for name in optional if name in dataset.schema.names)]
        if "run_id" in dataset.schema.names:
            return dataset.to_table(columns=["run_id", *columns])
        table = dataset.to_table(columns=list(columns)) if dataset.schema.names else empty(columns)
    return table.append_column("run_id", pa.array([""] * len(table), pa.string()))


def empty(columns: Sequence[str]) -> ArrowTable:
    """A table without rows, for a dataset without files."""
    pa = load("pyarrow")
    types = {"kind": pa.string()}
    return pa.table({name: pa.array([], types.get(name, pa.int64())) for name in columns})


def rows_in(folder: Path) -> int:
    """How many rows a dataset has; none if there is no such folder."""
    if not folder.is_dir():
        return 0
    ds = load("pyarrow.dataset")
    with reading(folder):
        return int(ds.dataset(folder, format="parquet", partitioning="hive").count_rows())


def counts_of(table: ArrowTable, column: str) -> dict[str, int]:
    """How often each value occurs, the most frequent first."""
    counted = table.group_by(column).aggregate([([], "count_all")]).to_pylist()
    ranked = sorted(counted, key=lambda row: -row["count_all"])
    return {row[column]: row["count_all"] for row in ranked}


def channels_of(table: ArrowTable) -> tuple[Channel, ...]:
    """The channels with most violations."""
    keys = ["run_id", "process", "early_sender", "late_sender"]
    held_back = "held_back_ns"
    grouped = table.group_by(keys).aggregate([([], "count_all"), (held_back, "max")])
    ranked = grouped.sort_by([("count_all", "descending"), (f"{held_back}_max", "descending")])
    return tuple(
        Channel(
            run_id=row["run_id"],
            process=row["process"],
            early=row["early_sender"],
            late=row["late_sender"],
            violations=row["count_all"],
            median_ns=median_of(table, {key: row[key] for key in keys}),
            longest_ns=row[f"{held_back}_max"],
        )
        for row in ranked.slice(0, CHANNELS_SHOWN).to_pylist()
    )


def median_of(table: ArrowTable, channel: Mapping[str, object]) -> int:
    """How long the messages of this channel would have been held back, half of them."""
    pc = load("pyarrow.compute")
    for name, value in channel.items():
        table = table.filter(pc.equal(table[name], value))
    ordered = table["held_back_ns"].combine_chunks().sort()
    return int(ordered[rank_of(0.5, len(ordered))].as_py())


def quantiles_of(table: ArrowTable) -> tuple[tuple[float, float], ...]:
    """How long causal order would have held violations back."""
    count = len(table)
    if count == 0:
        return ()
    ranks = [rank_of(share, count) for share in QUANTILES]
    values = table["held_back_ns"].combine_chunks().sort().take(ranks).to_pylist()
    return tuple(zip(QUANTILES, map(float, values), strict=True))


def worst_of(table: ArrowTable) -> dict[str, list[Violation]]:
    """By run, the violations that came far too early."""
    worst: dict[str, list[Violation]] = {}
    for run_id in table["run_id"].unique().to_pylist():
        pc = load("pyarrow.compute")
        rows = table.filter(pc.equal(table["run_id"], run_id))
        ranked = rows.sort_by([("held_back_ns", "descending")]).slice(0, WORST_KEPT)
        worst[run_id] = [violation_of(row) for row in ranked.to_pylist()]
    return worst


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
