"""Judges events that no clock, or nothing at all, puts in order."""

from dataclasses import replace
from typing import Final

import numpy as np

from antecede_audit.judging.copies import Flags, Integers
from antecede_audit.judging.definition import Order
from antecede_audit.judging.kernel import NONE, graph_order, settle, settled_overtakings
from antecede_audit.judging.kernel_input import (
    NOTHING,
    KernelEvents,
    Overtakings,
    packed,
    strands_of,
)

EVENT_COLUMNS: Final = 4
SETTLED_MESSAGES: Final = 4096
"""So many messages are followed through a contradictory log at a time."""


def judge_cycle(
    events: KernelEvents, places: int, order: Order, may_be_late: Flags, counted: Flags
) -> tuple[Overtakings, int]:
    """What came too early, and how many of the counted messages happen before themselves.

    Every message's past is settled by going through the events until nothing is news. In: events
    by place and position; only copies that are flagged can be late.
    """
    deliveries = events.chosen(events.copy != NONE)
    sent_here = may_be_late[deliveries.copy].astype(np.int64)
    rows = packed(deliveries.place, deliveries.message, deliveries.copy, sent_here)
    strand, strands = strands_of(events, order)
    lined_up = packed(strand, events.message, events.copy, events.copy)
    messages = len(counted)
    found: list[int] = []
    caused = 0
    for first in range(0, messages, SETTLED_MESSAGES):
        last = min(first + SETTLED_MESSAGES, messages)
        before = settle(strands, messages, lined_up, first, last)
        found += settled_overtakings(places, rows, before, first, last)
        caused += sum(
            before[message] >> (message - first) & 1
            for message in range(first, last)
            if counted[message]
        )
    pairs = np.array(found, np.int64).reshape(-1, 2)
    return Overtakings(early=pairs[:, 0], late=pairs[:, 1], stalled=NOTHING), caused


def in_causal_order(events: KernelEvents, places: int, messages: int) -> tuple[KernelEvents, int]:
    """The same events with their place in a causal order as time, and how many have none.

    In: events by place and position.
    """
    # The clock is a hint: the nearer to it the order, the fewer messages are in flight at once.
    hint_ns = events.clock_ns.copy()
    starts = np.flatnonzero(np.diff(events.place, prepend=NONE))
    for place_ns in np.split(hint_ns, starts[1:]):
        np.maximum.accumulate(place_ns, out=place_ns)
    hinted = events.chosen(np.argsort(hint_ns, kind="stable"))
    numbers = np.arange(len(hint_ns))
    rows, stuck = graph_order(
        places, messages, packed(hinted.place, hinted.message, hinted.copy, numbers)
    )
    order: Integers = np.frombuffer(rows, "<i8").reshape(-1, EVENT_COLUMNS)[:, -1]
    return replace(hinted.chosen(order), clock_ns=numbers), stuck
