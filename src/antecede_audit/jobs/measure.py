"""Measures logs that fit the memory of this process, without Spark: the same figures, at once.

Spark takes half a minute to plan what a hundred events take a millisecond for. The stages beside
this file say the same of logs of any size; a test compares the two.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from antecede.eventlog.parquet import ArrowTable
from antecede.eventlog.schema import COLUMNS, KINDS
from antecede_audit.jobs.audit_files import files_of, read_small
from antecede_audit.jobs.event_logs import check_separate, distinct_names, find_source
from antecede_audit.measure.distributions import gathered
from antecede_audit.measure.figures import PACKET_TOTALS, Figures, run_row
from antecede_audit.measure.instants import instants_of, open_at_once
from antecede_audit.measure.non_causal import lateness_of_run
from antecede_audit.paths import is_local_path

SMALL_EVENTS: Final = 200_000
"""Logs with at most so many events are measured in this process: seconds, and some 100 MB."""


def measure_here(
    paths: Sequence[str], *, non_causal: bool = True, events_max: int = SMALL_EVENTS
) -> list[Figures] | None:
    """What `measure_logs` says of these logs if they are files here, of few events; else None."""
    if not all(is_local_path(path) for path in paths):
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


def measured(run_id: str, events: ArrowTable, instants: ArrowTable, non_causal: bool) -> Figures:
    """The row of one run: run_id and the columns of `MEASURED`."""
    travelling = instants.filter(pc.not_equal(instants["sender"], instants["target"]))
    durations = delays_of(travelling.filter(pc.is_valid(travelling["delivered_ns"])))
    if non_causal:
        durations["non_causal"] = lateness_of_run(instants)
    delays = {name: gathered(Counter(values)) for name, values in durations.items() if values}
    last_ns = pc.max(events["time_ns"]).as_py()
    found = {**message_fields(last_ns, instants, travelling), **levels(travelling)}
    return run_row(run_id, packets_in(events), found, delays)


def packets_in(events: ArrowTable) -> list[Figures]:
    """What was transmitted of every kind of packet, as rows of `PACKET_TOTALS`."""
    transmitted = events.filter(pc.equal(events["kind"], "transmitted"))
    sums = [("payload_bytes", "sum"), ("metadata_bytes", "sum")]
    kinds = transmitted.group_by("packet_kind").aggregate(
        [([], "count_all"), ("sender", "count"), *sums]
    )
    rows: list[Figures] = kinds.rename_columns(PACKET_TOTALS.names).to_pylist()
    return rows


def message_fields(last_ns: int, instants: ArrowTable, travelling: ArrowTable) -> Figures:
    """How many messages and copies there were, how long it took, and what was under way."""
    sent = travelling.filter(pc.is_valid(travelling["transmitted_ns"]))
    came_ns = pc.coalesce(sent["arrived_ns"], sent["delivered_ns"])
    spent_ns = pc.subtract(pc.fill_null(came_ns, last_ns), sent["transmitted_ns"])
    # What never came is under way to the end.
    lasting = pc.fill_null(pc.greater(came_ns, sent["transmitted_ns"]), fill_value=True)
    return {
        "messages": len(instants.group_by(["sender", "sequence"]).aggregate([])),
        "copies": len(travelling),
        "delivered": len(travelling) - travelling["delivered_ns"].null_count,
        "first_ns": pc.min(instants["submitted_ns"]).as_py(),
        "last_ns": last_ns,
        "delivered_ns": pc.max(instants["delivered_ns"]).as_py(),
        "transit_ns": sum(spent_ns.to_pylist()),
        "senders": len(sent["sender"].filter(lasting).unique()),
    }


def levels(travelling: ArrowTable) -> Figures:
    """The most copies that ever were at one process, for each place."""
    submitted, transmitted, arrived, delivered = instants_in(travelling)
    # A copy of which the log does not say that it left or arrived did so when delivered.
    spans = {
        "sender_buffer": ("sender", submitted, pc.coalesce(transmitted, delivered)),
        "receiver_buffer": ("target", arrived, delivered),
        "in_transit": ("sender", transmitted, pc.coalesce(arrived, delivered)),
    }
    most: Figures = {}
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


def instants_in(copies: ArrowTable) -> list[ArrowTable]:
    """The columns of the four instants."""
    return [copies[f"{kind}_ns"] for kind in KINDS]
