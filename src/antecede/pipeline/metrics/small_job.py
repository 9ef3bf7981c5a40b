"""Measures logs that fit the memory of this process, without Spark: the same figures, at once.

Spark takes half a minute to plan what a hundred events take a millisecond for. The stages beside
this file say the same of logs of any size; a test compares the two.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from antecede.pipeline.audit.facts import RunFacts, check_separate
from antecede.pipeline.audit.inputs import find_source
from antecede.pipeline.audit.small_files import files_of
from antecede.pipeline.audit.small_log import read_small
from antecede.pipeline.metrics.figures import MEASURED, PACKET_TOTALS
from antecede.pipeline.metrics.ideal import Copies
from antecede.pipeline.metrics.instants import AT_TARGET
from antecede.pipeline.metrics.measure import SECOND_NS
from antecede.pipeline.metrics.non_causal import lateness
from antecede.pipeline.places import is_plain
from antecede.pipeline.sweep.measured import bucket_rows, delay_figures, gathered
from antecede.trace.events import COLUMNS

Fields: TypeAlias = dict[str, Any]
CopyKey: TypeAlias = tuple[int, int, int]
"""Sender, sequence, target."""

SMALL_EVENTS: Final = 200_000
"""Logs with at most so many events are measured in this process: seconds, and some 100 MB."""


@dataclass(slots=True)
class Instants:
    """When the four things first happened to one copy; None: not, as far as the log says."""

    submitted: int | None = None
    transmitted: int | None = None
    arrived: int | None = None
    delivered: int | None = None

    def note(self, kind: str, time_ns: int) -> None:
        """Something happened to it, perhaps for the first time."""
        known = getattr(self, kind)
        if known is None or time_ns < known:
            setattr(self, kind, time_ns)


@dataclass(slots=True)
class Totals:
    """What was transmitted of one kind of packet."""

    packets: int = 0
    carrying: int = 0
    payload_bytes: int = 0
    metadata_bytes: int = 0


@dataclass(slots=True)
class Tally:
    """Everything that is counted of one run, event by event."""

    copies: dict[CopyKey, Instants] = field(default_factory=dict)
    kinds: dict[str | None, Totals] = field(default_factory=dict)
    first_ns: int | None = None
    last_ns: int | None = None

    def add(self, event: Fields) -> None:
        """One more event."""
        kind, time_ns = event["kind"], event["time_ns"]
        self.last_ns = time_ns if self.last_ns is None else max(self.last_ns, time_ns)
        if kind == "submitted":
            self.first_ns = time_ns if self.first_ns is None else min(self.first_ns, time_ns)
        if kind == "transmitted":
            totals = self.kinds.setdefault(event["packet_kind"], Totals())
            totals.packets += 1
            totals.carrying += event["sender"] is not None
            totals.payload_bytes += event["payload_bytes"]
            totals.metadata_bytes += event["metadata_bytes"]
        if event["sender"] is not None:
            target = event["process"] if kind in AT_TARGET else event["target"]
            key = event["sender"], event["sequence"], target
            self.copies.setdefault(key, Instants()).note(kind, time_ns)

    def submitted(self) -> dict[CopyKey, Instants]:
        """The copies that somebody submitted; a relay has others, too."""
        return {key: one for key, one in self.copies.items() if one.submitted is not None}


def measure_small(
    paths: Sequence[str], *, non_causal: bool = True, events_max: int = SMALL_EVENTS
) -> list[Fields] | None:
    """What `measure_logs` says of these logs if they are files here, of few events; else None."""
    if not all(is_plain(path) for path in paths):
        return None
    sources = [find_source(path) for path in paths]
    files = files_of(sources, events_max)
    if files is None:
        return None
    log = read_small(files, COLUMNS)
    check_separate(log.runs, sources)
    tallies = [Tally() for _ in log.runs]
    for batch in log.table.select([*COLUMNS, "run"]).to_batches():
        for event in batch.to_pylist():
            tallies[event["run"]].add(event)
    named = zip(distinct_names(log.runs), tallies, strict=True)
    rows = [measured(name, tally, non_causal) for name, tally in named if tally.submitted()]
    return sorted(rows, key=lambda row: str(row["run_id"]))


def distinct_names(runs: Sequence[RunFacts]) -> list[str]:
    """What the runs are called; one whose name occurs in several sources is `source:name`."""
    names = Counter(run.run_id for run in runs)
    return [f"{run.source}:{run.run_id}" if names[run.run_id] > 1 else run.run_id for run in runs]


def measured(run_id: str, tally: Tally, non_causal: bool) -> Fields:
    """The row of one run: run_id and the columns of `MEASURED`."""
    submitted = tally.submitted()
    travelling = {key: one for key, one in submitted.items() if key[0] != key[2]}
    durations = delays_of(travelling)
    if non_causal:
        durations["non_causal"] = late(travelling)
    distributions = {name: gathered(values) for name, values in durations.items() if values}
    row = {
        "run_id": run_id,
        **packet_fields(tally),
        **message_fields(tally, submitted),
        **levels(travelling),
        **delay_figures(distributions),
        "buckets": bucket_rows(distributions) or None,
        "non_causal_copies": len(durations.get("non_causal", ())) or None,
    }
    messages = row["messages"]
    for name, of in (
        ("packets_per_message", "packets"),
        ("control_per_message", "control_packets"),
        ("metadata_bytes_per_message", "metadata_bytes"),
    ):
        row[name] = None if row[of] is None else row[of] / messages
    return {"run_id": run_id, **{name: row[name] for name in MEASURED.names}}


def packet_fields(tally: Tally) -> Fields:
    """What was transmitted; nothing is known of that if the log has no packets."""
    kinds = tally.kinds.values()
    rows = [
        dict(
            zip(
                PACKET_TOTALS.names,
                (kind, one.packets, one.carrying, one.payload_bytes, one.metadata_bytes),
                strict=True,
            )
        )
        for kind, one in sorted(tally.kinds.items(), key=lambda entry: str(entry[0] or ""))
    ]
    return {
        "packet_totals": rows or None,
        "packets": sum(one.packets for one in kinds) if kinds else None,
        "control_packets": sum(one.packets - one.carrying for one in kinds) if kinds else None,
        "payload_bytes": sum(one.payload_bytes for one in kinds) if kinds else None,
        "metadata_bytes": sum(one.metadata_bytes for one in kinds) if kinds else None,
    }


def message_fields(tally: Tally, submitted: dict[CopyKey, Instants]) -> Fields:
    """How many messages and copies there were, how long it took, and what was under way."""
    travels = [(key, one) for key, one in submitted.items() if key[0] != key[2]]
    delivered = sum(one.delivered is not None for _, one in travels)
    ends = [one.delivered for one in submitted.values() if one.delivered is not None]
    first_ns, last_ns = tally.first_ns or 0, tally.last_ns or 0
    makespan_ns = max(ends) - first_ns if ends else 0
    spent_ns = 0
    senders: set[int] = set()
    for (sender, _, _), one in travels:
        came = one.delivered if one.arrived is None else one.arrived
        if one.transmitted is not None:
            spent_ns += (last_ns if came is None else came) - one.transmitted
            if came is None or came > one.transmitted:
                senders.add(sender)
    span_ns = last_ns - first_ns
    return {
        "messages": len({key[:2] for key in submitted}),
        "copies": len(travels),
        "delivered": delivered,
        "makespan_ns": makespan_ns,
        "throughput": delivered * SECOND_NS / makespan_ns if makespan_ns > 0 else 0.0,
        "in_transit_mean": (spent_ns / span_ns / len(senders) if senders and span_ns > 0 else 0.0),
    }


def levels(travelling: dict[CopyKey, Instants]) -> Fields:
    """The most copies that ever were at one process, for each place."""
    changes: dict[str, dict[int, Counter[int]]] = {
        place: {} for place in ("sender_buffer", "receiver_buffer", "in_transit")
    }

    def change(place: str, process: int, time_ns: int | None, by: int) -> None:
        if time_ns is not None:
            changes[place].setdefault(process, Counter())[time_ns] += by

    for (sender, _, target), one in travelling.items():
        # A copy of which the log does not say that it left or arrived did so when delivered.
        left = one.delivered if one.transmitted is None else one.transmitted
        came = one.delivered if one.arrived is None else one.arrived
        change("sender_buffer", sender, one.submitted, 1)
        change("sender_buffer", sender, left, -1)
        if one.transmitted is not None:
            change("in_transit", sender, one.transmitted, 1)
            change("in_transit", sender, came, -1)
        if one.arrived is not None:
            change("receiver_buffer", target, one.arrived, 1)
            change("receiver_buffer", target, one.delivered, -1)
    most = {place: max(map(highest, lanes.values()), default=0) for place, lanes in changes.items()}
    return {f"{place}_max": level if travelling else None for place, level in most.items()}


def highest(changes: Counter[int]) -> int:
    """The highest level that these changes lead to; what passes in no time does not count."""
    level = most = 0
    for _, by in sorted(changes.items()):
        level += by
        most = max(most, level)
    return most


def delays_of(travelling: dict[CopyKey, Instants]) -> dict[str, list[int]]:
    """How long each delivered copy took, and where it waited, as far as the log says."""
    there = [one for one in travelling.values() if one.delivered is not None]
    return {
        "sender_wait": differences(
            (one.submitted, one.transmitted) for one in there if one.arrived is not None
        ),
        "channel": differences((one.transmitted, one.arrived) for one in there),
        "receiver_wait": differences((one.arrived, one.delivered) for one in there),
        "latency": differences((one.submitted, one.delivered) for one in there),
    }


def differences(pairs: Iterable[tuple[int | None, int | None]]) -> list[int]:
    """From the first to the second of each pair, where both are known."""
    return [end - start for start, end in pairs if start is not None and end is not None]


def late(travelling: dict[CopyKey, Instants]) -> list[int]:
    """How much later than causal order demands each copy was delivered."""
    there = [(key, one) for key, one in travelling.items() if one.delivered is not None]
    submitted = [one.submitted or 0 for _, one in there]
    delivered = [one.delivered or 0 for _, one in there]
    travel = [
        end - start
        if one.arrived is None or one.transmitted is None
        # A copy that never arrived as such came with what delivered it.
        else one.arrived - one.transmitted
        for (_, one), start, end in zip(there, submitted, delivered, strict=True)
    ]
    copies = Copies(
        sender=[key[0] for key, _ in there],
        sequence=[key[1] for key, _ in there],
        target=[key[2] for key, _ in there],
        submitted_ns=submitted,
        travel_ns=travel,
    )
    return lateness(copies, delivered)
