"""What is counted of copies and packets, on tables that can be checked by eye."""

from typing import Any

import numpy as np
import pyarrow as pa

from antecede.eventlog.parquet import ArrowTable, event_schema
from antecede_audit.measure.distributions import (
    bounds,
    bucket_numbers,
    by_run,
    distribution_of,
    gathered,
    merged,
)
from antecede_audit.measure.instants import instants_of
from antecede_audit.measure.non_causal import lateness_of_run, tally_lateness
from antecede_audit.measure.runs import delays_of, event_totals, packets_in, tally_copies
from antecede_lab.simulator import histogram

SUBMITTED, TRANSMITTED, ARRIVED, DELIVERED = "submitted", "transmitted", "arrived", "delivered"


def log(*rows: dict[str, Any]) -> ArrowTable:
    """An event log; what a row does not say is null, or 0, or follows from the rest."""
    positions: dict[tuple[str, int], int] = {}
    filled = []
    for row in rows:
        key = row.get("run_id", "r"), row["process"]
        positions[key] = positions.get(key, -1) + 1
        defaults = {
            "run_id": "r",
            "position": positions[key],
            "sender": None,
            "sequence": None,
            "target": row["process"],
            "packet": None,
            "packet_kind": None,
            "payload_bytes": 0,
            "metadata_bytes": 0,
        }
        filled.append(defaults | row)
    return pa.Table.from_pylist(filled, pa.schema([*event_schema(), ("run_id", pa.string())]))


def event(process: int, kind: str, time_ns: int, **fields: Any) -> dict[str, Any]:  # noqa: ANN401 any column
    return {"process": process, "kind": kind, "time_ns": time_ns} | fields


def first_message(target: int = 1) -> dict[str, Any]:
    return {"sender": 0, "sequence": 1, "target": target}


def test_instants_are_the_first_of_each_kind() -> None:
    """Transmitted twice, arrived twice, delivered once; an ack and a relay are in the log too."""
    events = log(
        event(0, SUBMITTED, 10, **first_message()),
        event(0, TRANSMITTED, 12, **first_message(), packet=0, packet_kind="message"),
        event(0, TRANSMITTED, 13, **first_message(target=2), packet=1, packet_kind="message"),
        event(0, TRANSMITTED, 20, **first_message(), packet=2, packet_kind="message"),
        event(2, ARRIVED, 15, **first_message(target=2), packet=1, packet_kind="message"),
        event(1, ARRIVED, 25, **first_message(), packet=2, packet_kind="message"),
        event(1, ARRIVED, 26, **first_message(), packet=0, packet_kind="message"),
        event(1, DELIVERED, 27, **first_message()),
        event(1, TRANSMITTED, 27, target=0, packet=0, packet_kind="ack"),
    )
    assert instants_of(events).to_pylist() == [
        {
            "run_id": "r",
            **first_message(),
            "submitted_ns": 10,
            "transmitted_ns": 12,
            "arrived_ns": 25,
            "delivered_ns": 27,
        }
    ]


def test_delays_of_a_copy_add_up_to_its_latency() -> None:
    events = log(
        event(0, SUBMITTED, 10, **first_message()),
        event(0, TRANSMITTED, 12, **first_message()),
        event(1, ARRIVED, 25, **first_message()),
        event(1, DELIVERED, 29, **first_message()),
    )
    delays = delays_of(instants_of(events))
    assert {name: found.to_pylist() for name, found in delays.items()} == {
        "sender_wait": [2],
        "channel": [13],
        "receiver_wait": [4],
        "latency": [19],
    }


def ingested() -> ArrowTable:
    """A trace that knows of sending and receiving only: P2 hears the answer before the question."""
    return log(
        event(0, SUBMITTED, 0, **first_message(target=2)),
        event(0, SUBMITTED, 10, sender=0, sequence=2, target=1),
        event(1, DELIVERED, 15, sender=0, sequence=2),
        event(1, SUBMITTED, 20, sender=1, sequence=1, target=2),
        event(2, DELIVERED, 25, sender=1, sequence=1),
        event(2, DELIVERED, 100, sender=0, sequence=1),
    )


def test_what_came_before_its_cause_counts_as_too_early() -> None:
    instants = instants_of(ingested())
    assert sorted(lateness_of_run(instants)) == [-75, 0, 0]
    late = tally_lateness(instants.append_column("first_ns", pa.nulls(3, pa.int64())))
    assert distribution_of(late.to_pylist()) == gathered({-75: 1, 0: 2})


def test_runs_do_not_mix() -> None:
    """The same message in two runs is two messages."""
    events = log(
        *(
            event(process, kind, time_ns, run_id=run, **first_message())
            for run, end_ns in (("a", 5), ("b", 50))
            for process, kind, time_ns in ((0, SUBMITTED, 0), (1, DELIVERED, end_ns))
        ),
    )
    found = by_run(merged(tally_copies(instants_of(events))))
    latencies = {run: distribution_of(tallies["latency"]) for run, tallies in found.items()}
    assert latencies == {"a": gathered({5: 1}), "b": gathered({50: 1})}


def test_packets_are_counted_by_kind() -> None:
    message = first_message() | {"packet_kind": "message", "payload_bytes": 7, "metadata_bytes": 3}
    events = log(
        event(0, SUBMITTED, 0, **first_message(), payload_bytes=7),
        event(0, TRANSMITTED, 1, **message),
        event(0, TRANSMITTED, 2, **message),
        event(1, ARRIVED, 3, **message),
        event(1, TRANSMITTED, 4, target=0, packet_kind="ack", metadata_bytes=2),
    )
    rows = {row["packet_kind"]: row for row in packets_in(event_totals(events).to_pylist())}
    assert rows == {
        "message": {
            "packet_kind": "message",
            "packets": 2,
            "carrying": 2,
            "payload_bytes": 14,
            "metadata_bytes": 6,
        },
        "ack": {
            "packet_kind": "ack",
            "packets": 1,
            "carrying": 0,
            "payload_bytes": 0,
            "metadata_bytes": 2,
        },
    }


EDGES = sorted(
    {0, 1, 5, 127, 128, 129, 191, 192, 255, 256, 257, (1 << 62), (1 << 63) - 1}
    | {(1 << power) + by for power in range(7, 63) for by in (-1, 0, 1)}
    | {7**power for power in range(1, 22)}
)


def test_buckets_are_those_of_the_simulator_and_their_mirror_images() -> None:
    """Powers of two and their neighbours, where a logarithm goes wrong."""
    numbers = [sign * n for n in EDGES for sign in (1, -1)]
    buckets = bucket_numbers(np.array(numbers, np.int64)).tolist()
    found = {n: (bucket, *bounds(bucket)) for n, bucket in zip(numbers, buckets, strict=True)}
    for n in EDGES:
        number = int(histogram.bucket_of(n))
        first, last = int(histogram.bucket_start(number)), found[n][2]
        assert found[n] == (number, first, last)
        assert found[-n] == (-number, -last, -first) or n == 0
        # The last bucket of all has no successor that would fit 64 bits.
        assert last == (histogram.bucket_start(number + 1) - 1 if n < 127 << 56 else (1 << 63) - 1)
