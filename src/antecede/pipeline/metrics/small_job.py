"""Measures logs that fit the memory of this process, without Spark: the same figures, at once.

Spark takes half a minute to plan what a hundred events take a millisecond for. The stages beside
this file say the same of logs of any size; a test compares the two.
"""

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from antecede.pipeline.audit.facts import check_separate
from antecede.pipeline.audit.inputs import find_source
from antecede.pipeline.audit.small_files import files_of, read_small
from antecede.pipeline.metrics.figures import MEASURED, PACKET_TOTALS
from antecede.pipeline.metrics.job import distinct_names
from antecede.pipeline.metrics.measure import SECOND_NS
from antecede.pipeline.metrics.non_causal import lateness_in
from antecede.pipeline.metrics.small_stages import instants_of, open_at_once
from antecede.pipeline.places import is_plain
from antecede.pipeline.sweep.measured import bucket_rows, delay_figures, gathered
from antecede.trace.events import COLUMNS, KINDS
from antecede.trace.parquet import ArrowTable

Fields: TypeAlias = dict[str, Any]

SMALL_EVENTS: Final = 200_000
"""Logs with at most so many events are measured in this process: seconds, and some 100 MB."""


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
    rows = []
    for number, name in enumerate(distinct_names(log.runs)):
        events = log.table.filter(pc.equal(log.table["run"], number))
        instants = instants_of(events)
        if len(instants):
            rows.append(measured(name, events, instants, non_causal))
    return sorted(rows, key=lambda row: str(row["run_id"]))


def measured(run_id: str, events: ArrowTable, instants: ArrowTable, non_causal: bool) -> Fields:
    """The row of one run: run_id and the columns of `MEASURED`."""
    travelling = instants.filter(pc.not_equal(instants["sender"], instants["target"]))
    delivered = travelling.filter(pc.is_valid(travelling["delivered_ns"]))
    durations = delays_of(delivered)
    if non_causal:
        durations["non_causal"] = late(delivered)
    distributions = {name: gathered(values) for name, values in durations.items() if values}
    row = {
        **packet_fields(events),
        **message_fields(pc.max(events["time_ns"]).as_py(), instants, travelling),
        **levels(travelling),
        **delay_figures(distributions),
        "buckets": bucket_rows(distributions) or None,
        "non_causal_copies": len(durations.get("non_causal", ())) or None,
    }
    for name, of in (
        ("packets_per_message", "packets"),
        ("control_per_message", "control_packets"),
        ("metadata_bytes_per_message", "metadata_bytes"),
    ):
        row[name] = None if row[of] is None else row[of] / row["messages"]
    return {"run_id": run_id, **{name: row[name] for name in MEASURED.names}}


def packet_fields(events: ArrowTable) -> Fields:
    """What was transmitted; nothing is known of that if the log has no packets."""
    transmitted = events.filter(pc.equal(events["kind"], "transmitted"))
    sums = [("payload_bytes", "sum"), ("metadata_bytes", "sum")]
    kinds = transmitted.group_by("packet_kind").aggregate(
        [([], "count_all"), ("sender", "count"), *sums]
    )
    rows = kinds.rename_columns(PACKET_TOTALS.names).to_pylist()
    totals = {name: sum(row[name] for row in rows) for name in PACKET_TOTALS.names[1:]}
    totals["control_packets"] = totals["packets"] - totals["carrying"]
    return {
        "packet_totals": sorted(rows, key=lambda row: row["packet_kind"] or "") or None,
        **{name: total if rows else None for name, total in totals.items()},
    }


def message_fields(last_ns: int, instants: ArrowTable, travelling: ArrowTable) -> Fields:
    """How many messages and copies there were, how long it took, and what was under way."""
    delivered = len(travelling) - travelling["delivered_ns"].null_count
    first_ns = pc.min(instants["submitted_ns"]).as_py()
    end_ns = pc.max(instants["delivered_ns"]).as_py()
    makespan_ns = 0 if end_ns is None else end_ns - first_ns
    sent = travelling.filter(pc.is_valid(travelling["transmitted_ns"]))
    came_ns = pc.coalesce(sent["arrived_ns"], sent["delivered_ns"])
    spent_ns = pc.subtract(pc.fill_null(came_ns, last_ns), sent["transmitted_ns"])
    # What never came is under way to the end.
    lasting = pc.fill_null(pc.greater(came_ns, sent["transmitted_ns"]), fill_value=True)
    senders = len(sent["sender"].filter(lasting).unique())
    span_ns = last_ns - first_ns
    under_way = sum(spent_ns.to_pylist()) / span_ns / senders if senders and span_ns > 0 else 0.0
    return {
        "messages": len(instants.group_by(["sender", "sequence"]).aggregate([])),
        "copies": len(travelling),
        "delivered": delivered,
        "makespan_ns": makespan_ns,
        "throughput": delivered * SECOND_NS / makespan_ns if makespan_ns > 0 else 0.0,
        "in_transit_mean": under_way,
    }


def levels(travelling: ArrowTable) -> Fields:
    """The most copies that ever were at one process, for each place."""
    submitted, transmitted, arrived, delivered = instants_in(travelling)
    # A copy of which the log does not say that it left or arrived did so when delivered.
    spans = {
        "sender_buffer": ("sender", submitted, pc.coalesce(transmitted, delivered)),
        "receiver_buffer": ("target", arrived, delivered),
        "in_transit": ("sender", transmitted, pc.coalesce(arrived, delivered)),
    }
    most: Fields = {}
    for place, (process, opened, closed) in spans.items():
        table = pa.table({"lane": travelling[process], "opened": opened, "closed": closed})
        known = table.filter(pc.is_valid(table["opened"]))
        found = open_at_once(known["lane"], known["opened"], known["closed"])
        highest = max(0, pc.max(found["level"]).as_py() or 0)
        most[f"{place}_max"] = highest if len(travelling) else None
    return most


def delays_of(delivered: ArrowTable) -> dict[str, list[int]]:
    """How long each delivered copy took, and where it waited, as far as the log says."""
    submitted, transmitted, arrived, there = instants_in(delivered)
    left = pc.if_else(pc.is_valid(arrived), transmitted, None)
    delays = {
        "sender_wait": pc.subtract(left, submitted),
        "channel": pc.subtract(arrived, transmitted),
        "receiver_wait": pc.subtract(there, arrived),
        "latency": pc.subtract(there, submitted),
    }
    return {name: pc.drop_null(column).to_pylist() for name, column in delays.items()}


def late(delivered: ArrowTable) -> list[int]:
    """How much later than causal order demands each copy was delivered."""
    submitted, transmitted, arrived, there = instants_in(delivered)
    # A copy that never arrived as such came with what delivered it.
    travel = pc.coalesce(pc.subtract(arrived, transmitted), pc.subtract(there, submitted))
    return lateness_in(delivered.append_column("travel_ns", travel))


def instants_in(copies: ArrowTable) -> list[ArrowTable]:
    """The columns of the four instants."""
    return [copies[f"{kind}_ns"] for kind in KINDS]
