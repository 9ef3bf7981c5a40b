"""Makes event logs of any size quickly: the traffic of a system that orders nothing.

Each of `processes` processes sends at random times to one of its sixteen neighbours, now and then
to three of them. A copy takes 5 ms in the middle (lognormal), one in a thousand 200 ms longer, as
if it had been transmitted again, and is delivered when it arrives; a share `long` takes 20 s
longer. What is under way when the log ends is lost. A share `hot` of all messages goes to one
process, and clocks may be up to `skew_ns` apart. Everything follows from the seed.

Only submissions and deliveries are recorded, since an audit looks at nothing else; with
`all_kinds` transmissions and arrivals are, too.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from antecede.eventlog.log import ARRIVED, DELIVERED, SUBMITTED, TRANSMITTED
from antecede.eventlog.parquet import event_schema
from antecede.eventlog.schema import KINDS

Table = NDArray[np.int64]
"""A row each for time, process, kind, sender, sequence and target; a column for each event."""

TIME, PROCESS, KIND, SENDER, SEQUENCE, TARGET = range(6)

CHUNK_MESSAGES = 250_000
NEIGHBOURS = 16
FAN_OUT = 3
MULTICAST = 0.05
RATE = 100.0
"""Messages a second, of each process."""
MEDIAN_NS = 5e6
SIGMA = 0.5
AGAIN = 1e-3
AGAIN_NS = 200_000_000
LONG_NS = 20_000_000_000
HOT = 0
"""The process that has most to do, if there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """What kind of log."""

    events: int
    processes: int = 1000
    long: float = 0.0
    hot: float = 0.0
    skew_ns: int = 0
    all_kinds: bool = False
    seed: int = 1


class Maker:
    """Makes a log chunk by chunk; holds what is under way between them."""

    def __init__(self, traffic: Traffic) -> None:
        self._traffic = traffic
        self._random = np.random.default_rng(traffic.seed)
        count = traffic.processes
        self._positions = np.zeros(count, np.int64)
        self._sequences = np.zeros(count, np.int64)
        steps = np.stack(
            [self._random.permutation(count - 1)[:NEIGHBOURS] + 1 for _ in range(count)]
        )
        self._neighbours = (np.arange(count)[:, None] + steps) % count
        clocks = np.random.default_rng(traffic.seed + 1)
        self.offsets_ns = clocks.integers(0, traffic.skew_ns + 1, count)
        self._now_ns = 0
        self._under_way = np.zeros((6, 0), np.int64)

    def chunk(self) -> Table:
        """The next events, in the order of time."""
        submitted, delivered = self._messages()
        end_ns = self._now_ns
        later = np.concatenate([self._under_way, delivered], axis=1)
        self._under_way = later[:, later[TIME] >= end_ns]
        events = np.concatenate([submitted, later[:, later[TIME] < end_ns]], axis=1)
        return events[:, np.argsort(events[TIME], kind="stable")]

    def _messages(self) -> tuple[Table, Table]:
        """New messages: the events of their submission, and those that follow."""
        random, traffic = self._random, self._traffic
        gaps_ns = random.exponential(1e9 / (RATE * traffic.processes), CHUNK_MESSAGES)
        time_ns = self._now_ns + np.cumsum(gaps_ns).astype(np.int64)
        self._now_ns = int(time_ns[-1]) + 1
        sender = random.integers(0, traffic.processes, CHUNK_MESSAGES)
        sequence = self._sequences[sender] + rank_within(sender) + 1
        self._sequences += np.bincount(sender, minlength=traffic.processes)
        copies = np.where(random.random(CHUNK_MESSAGES) < MULTICAST, FAN_OUT, 1)
        message = np.repeat(np.arange(CHUNK_MESSAGES), copies)
        first = random.integers(0, NEIGHBOURS, CHUNK_MESSAGES)[message]
        target = self._neighbours[sender[message], (first + rank_within(message)) % NEIGHBOURS]
        if traffic.hot:
            alone = (copies[message] == 1) & (sender[message] != HOT)
            target[alone & (random.random(len(message)) < traffic.hot)] = HOT
        named = (sender[message], sequence[message], target)
        submitted = events_of(time_ns[message], sender[message], SUBMITTED, *named)
        arrival_ns = time_ns[message] + self._delays_ns(len(message))
        parts = [events_of(arrival_ns, target, DELIVERED, *named)]
        if traffic.all_kinds:
            sent = events_of(time_ns[message], sender[message], TRANSMITTED, *named)
            submitted = np.concatenate([submitted, sent], axis=1)
            parts.insert(0, events_of(arrival_ns, target, ARRIVED, *named))
        return submitted, np.concatenate(parts, axis=1)

    def _delays_ns(self, count: int) -> NDArray[np.int64]:
        """How long so many copies take."""
        random = self._random
        delays_ns = (random.lognormal(0.0, SIGMA, count) * MEDIAN_NS).astype(np.int64)
        delays_ns += np.where(random.random(count) < AGAIN, AGAIN_NS, 0)
        delays_ns += np.where(random.random(count) < self._traffic.long, LONG_NS, 0)
        return delays_ns

    def positions(self, process: NDArray[np.int64]) -> NDArray[np.int64]:
        """The next positions of these processes, in this order."""
        positions: NDArray[np.int64] = self._positions[process] + rank_within(process)
        self._positions += np.bincount(process, minlength=len(self._positions))
        return positions


def events_of(
    time_ns: NDArray[np.int64],
    process: NDArray[np.int64],
    kind: int,
    sender: NDArray[np.int64],
    sequence: NDArray[np.int64],
    target: NDArray[np.int64],
) -> Table:
    """Events of one kind."""
    return np.stack([time_ns, process, np.full(len(time_ns), kind), sender, sequence, target])


def rank_within(groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many equal values come before each."""
    order = np.argsort(groups, kind="stable")
    ranked = groups[order]
    starts = np.flatnonzero(np.diff(ranked, prepend=ranked[:1] - 1))
    lengths = np.diff(np.append(starts, len(ranked)))
    ranks = np.empty(len(groups), np.int64)
    ranks[order] = np.arange(len(groups)) - np.repeat(starts, lengths)
    return ranks


def write_log(folder: Path, traffic: Traffic) -> int:
    """Write a dataset of one run, a file for each chunk; how many events it has."""
    maker = Maker(traffic)
    run = folder / "run_id=synthetic"
    run.mkdir(parents=True)
    written = part = 0
    while written < traffic.events:
        chunk = maker.chunk()[:, : traffic.events - written]
        pq.write_table(table_of(maker, chunk), run / f"part-{part:05d}.parquet", compression="zstd")
        written += chunk.shape[1]
        part += 1
    return written


def table_of(maker: Maker, events: Table) -> Any:  # noqa: ANN401 - an Arrow table, untyped
    """Events as the table of the event log."""
    schema = event_schema()
    count = events.shape[1]
    columns = {
        "process": events[PROCESS],
        "position": maker.positions(events[PROCESS]),
        "kind": pa.array(KINDS).take(pa.array(events[KIND])),
        "sender": events[SENDER],
        "sequence": events[SEQUENCE],
        "target": events[TARGET],
        "packet": pa.nulls(count, pa.int64()),
        "packet_kind": pa.nulls(count, pa.string()),
        "time_ns": events[TIME] + maker.offsets_ns[events[PROCESS]],
        "payload_bytes": np.full(count, 64),
        "metadata_bytes": np.full(count, 0),
        "trace_id": pa.nulls(count, pa.string()),
        "span_id": pa.nulls(count, pa.string()),
    }
    return pa.table([pa.array(columns[f.name]).cast(f.type) for f in schema], schema=schema)
