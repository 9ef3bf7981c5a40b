"""Judges whole runs whose clocks cannot be trusted, by the graph of events alone.

Positions and messages give an order of all events, or say that there is none. Where there is one,
the place in it serves as a clock, and everything goes on as in a slice. Where messages happen
before themselves, every message's past is settled by going through the log until nothing is news.
A run is held in memory as a whole, about 400 bytes a copy.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import numpy as np
import pyarrow as pa

from antecede.audit.kernel import NONE, graph_order, settle, settled_overtakings
from antecede.pipeline.audit import findings as f
from antecede.pipeline.audit.copies import ArrowBatch, Copies, Flags, Integers
from antecede.pipeline.audit.findings import ArrowTable
from antecede.pipeline.audit.judging import (
    LATEST,
    NOTHING,
    Events,
    Overtakings,
    find_overtakings,
    packed,
    relevant_events,
)
from antecede.pipeline.audit.slices import SliceJudge, grouped, violations_table

EVENT_COLUMNS: Final = 4
SETTLED_MESSAGES: Final = 4096
"""So many messages are followed through a contradictory log at a time."""


def judge_runs(batches: Iterator[ArrowBatch]) -> Iterator[ArrowBatch]:
    """The findings of each run.

    In: the columns of `Copies`, sorted by `run`.
    """
    for _, parts in grouped(batches, "run"):
        yield from RunJudge(Copies.of_batches(parts)).findings().to_batches()


class RunJudge(SliceJudge):
    """Judges one run, looking at no clock."""

    def __init__(self, copies: Copies) -> None:
        super().__init__(copies, 0, None)

    def findings(self) -> ArrowTable:
        self._report_copies()
        self._report_messages()
        events = self._events.chosen((self._messages.position != LATEST)[self._events.message])
        events, stuck = in_causal_order(events, len(self._places), len(self._messages.place))
        if stuck:
            self._settle(events)
        else:
            events = relevant_events(events, self._messages)
            watched = self._overtaken(events)
            found = find_overtakings(self._copies, events, watched, len(self._places))
            self._tables.append(violations_table(self._copies, found))
        return pa.concat_tables(self._tables)

    def _overtaken(self, events: Events) -> Flags:
        """Which copies were sent here and delivered after something submitted later."""
        submitted_at = np.zeros(len(self._messages.place), np.int64)
        submissions = events.chosen(events.copy == NONE)
        submitted_at[submissions.message] = submissions.time_ns
        deliveries = events.chosen(events.copy != NONE)
        deliveries = deliveries.chosen(np.lexsort((deliveries.position, deliveries.place)))
        # Later places get larger numbers, so that a running maximum starts anew at each.
        rank = deliveries.place * (int(events.time_ns.max(initial=0)) + 1)
        rank += submitted_at[deliveries.message]
        overtaken = np.zeros(len(self._copies), np.bool_)
        overtaken[deliveries.copy[1:]] = np.maximum.accumulate(rank)[:-1] > rank[1:]
        sent_here: Flags = overtaken & self._was_submitted
        return sent_here

    def _settle(self, events: Events) -> None:
        """Judge a log that contradicts itself."""
        places, messages = len(self._places), len(self._messages.place)
        deliveries = events.chosen(events.copy != NONE)
        deliveries = deliveries.chosen(np.lexsort((deliveries.position, deliveries.place)))
        sent_here = self._was_submitted[deliveries.copy].astype(np.int64)
        rows = packed(deliveries.place, deliveries.message, deliveries.copy, sent_here)
        order = packed_events(events, events.time_ns)
        found: list[int] = []
        caused = 0
        for first in range(0, messages, SETTLED_MESSAGES):
            last = min(first + SETTLED_MESSAGES, messages)
            before = settle(places, messages, order, first, last)
            found += settled_overtakings(places, rows, before, first, last)
            caused += sum(
                before[message] >> (message - first) & 1 for message in range(first, last)
            )
        pairs = np.array(found, np.int64).reshape(-1, 2)
        self._tables += [
            violations_table(
                self._copies,
                Overtakings(early=pairs[:, 0], late=pairs[:, 1], stalled=NOTHING),
            ),
            f.findings_table(f.CAUSED, run=self._copies.run[:1], number=caused),
        ]


def in_causal_order(events: Events, places: int, messages: int) -> tuple[Events, int]:
    """The same events with their place in a causal order as time, and how many have none.

    In: events by place and position.
    """
    # The clock is a hint: the nearer to it the order, the fewer messages are in flight at once.
    hint_ns = events.time_ns.copy()
    starts = np.flatnonzero(np.diff(events.place, prepend=NONE))
    for place_ns in np.split(hint_ns, starts[1:]):
        np.maximum.accumulate(place_ns, out=place_ns)
    hinted = events.chosen(np.argsort(hint_ns, kind="stable"))
    numbers = np.arange(len(hint_ns))
    rows, stuck = graph_order(places, messages, packed_events(hinted, numbers))
    order = np.frombuffer(rows, "<i8").reshape(-1, EVENT_COLUMNS)[:, -1]
    return replace(hinted.chosen(order), time_ns=numbers), stuck


def packed_events(events: Events, last: Integers) -> bytes:
    """Events as the kernel takes them; the last column is handed through."""
    return packed(events.place, events.message, events.copy, last)
