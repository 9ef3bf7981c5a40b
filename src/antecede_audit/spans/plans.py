"""What messages wait for, for many processes and traces at once, column by column.

It finds what `causes` explains, and finds the same. There, what is still to be waited for is a list
of deliveries that grows at its end and is cut at its beginning. So it is a stretch of all
deliveries, in their order, and where it begins never goes back: a maximum of all cuts so far. The
same is true of the deliveries that one handler had, among themselves. Groups in which anything is
named or there twice are left to `causes`, which takes them one by one.
"""

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from antecede_audit.columns.arrow_rows import Batch, Column, Flags, Integers, are_valid
from antecede_audit.spans.order import SENDING

ODD: Final = np.uint64(0x9E3779B97F4A7C15)
OTHER: Final = np.uint64(0xC2B2AE3D27D4EB4F)
UNKNOWN: Final = -1


class CauseColumns:
    """The events of some groups, in order, and what their messages wait for.

    In: `causes.GROUPED`; of messages that were waited for once, so many are waited for again; and
    groups with so many deliveries are left alone.
    """

    def __init__(self, events: Batch, recalled: int, deliveries_max: int) -> None:
        self._events: Final = events
        self._recalled: Final = recalled
        self._group: Final[Integers] = events["group"].to_numpy()
        self._sent: Final[Flags] = events["phase"].to_numpy() == SENDING
        is_reply = self._sent & self._valid("answers") & self._valid("handler")
        self._reply: Final = np.flatnonzero(is_reply)
        self._ask: Final = np.flatnonzero(self._sent & ~is_reply)
        self._delivery: Final = np.flatnonzero(~self._sent)
        self._heard: Final = np.cumsum(~self._sent)
        """How many deliveries there are up to an event."""
        odd = self._odd_groups(deliveries_max)
        self.regular: Final[Flags] = ~odd[self._group]
        """Whether an event is dealt with here."""
        self._asked: Final = self._cuts()

    def columns(self, first_ns: int) -> list[Column]:
        """For every message: number, sender, targets, causes, delay and size."""
        asking, answering = self._since_asked(), self._of_handler()
        sent = np.append(self._ask, self._reply)
        start, end, ids, times = (
            np.concatenate(one) for one in zip(asking, answering, strict=True)
        )
        start[len(self._ask) :] += len(asking[2])
        end[len(self._ask) :] += len(asking[2])
        regular = self.regular[sent]
        sent, start, end = sent[regular], start[regular], end[regular]
        since = np.where(end > start, times[np.maximum(end - 1, 0)] if len(times) else 0, first_ns)
        row = self._events.take(pa.array(sent))
        each = np.arange(len(sent))
        return [
            row["message_id"],
            row["process"],
            lists_of(row["target"], each, each + 1),
            lists_of(pa.array(ids), start, end),
            pa.array(row["time_ns"].to_numpy() - since),
            row["payload_bytes"],
        ]

    def _since_asked(self) -> tuple[Integers, Integers, Integers, Integers]:
        """For messages that are no replies a stretch of deliveries, and all of these."""
        cuts = np.maximum(self._group_starts(), self._asked)
        after = self._ask[self._ask + 1 < len(cuts)]
        cuts[after + 1] = np.maximum(cuts[after + 1], self._heard[after] - self._recalled)
        return (
            np.maximum.accumulate(cuts)[self._ask],
            self._heard[self._ask],
            *self._told(self._delivery),
        )

    def _of_handler(self) -> tuple[Integers, Integers, Integers, Integers]:
        """For replies a stretch of what their handlers were delivered, and all of that."""
        handled = np.flatnonzero(self._valid("handler") & self._is_delivery_or_reply())
        handler = pc.fill_null(self._events["handler"], 0).to_numpy()
        keys = stirred(self._group[handled], handler[handled])
        order = handled[np.argsort(keys, kind="stable")]
        changes = np.ones(len(order), np.bool_)
        changes[1:] = (np.diff(handler[order]) != 0) | (np.diff(self._group[order]) != 0)
        own = np.cumsum(changes) * (len(self._sent) + 1)
        is_delivery = ~self._sent[order]
        heard: Integers = np.cumsum(is_delivery, dtype=np.int64)
        cuts = np.where(changes, heard - is_delivery, 0)
        # A cut among all deliveries, as one among those of this handler.
        places = own[is_delivery] + self._heard[order[is_delivery]] - 1
        cut = np.flatnonzero(is_delivery & (self._asked[order] != UNKNOWN))
        asked = np.searchsorted(places, own[cut] + self._asked[order[cut]])
        cuts[cut] = np.maximum(cuts[cut], asked)
        replied = np.flatnonzero(~is_delivery)
        after = replied[replied + 1 < len(order)]
        cuts[after + 1] = np.maximum(cuts[after + 1], heard[after])
        at = np.zeros(len(self._sent), np.int64)
        at[order] = np.arange(len(order))
        at = at[self._reply]
        return np.maximum.accumulate(cuts)[at], heard[at], *self._told(order[is_delivery])

    def _cuts(self) -> Integers:
        """For deliveries that answer a request here: how many deliveries came before that."""
        answers, message = (
            pc.fill_null(self._events[name], 0).to_numpy() for name in ("answers", "message")
        )
        asked = self._ask[self._valid("scope")[self._ask]]
        told = self._delivery[self._valid("answers")[self._delivery]]
        cuts = np.full(len(self._sent), UNKNOWN)
        if not len(asked):
            return cuts
        keys = stirred(self._group[asked], message[asked])
        order = np.argsort(keys)
        wanted = stirred(self._group[told], answers[told])
        place = np.minimum(np.searchsorted(keys, wanted, sorter=order), len(keys) - 1)
        found = asked[order[place]]
        same = (message[found] == answers[told]) & (self._group[found] == self._group[told])
        same &= found < told
        cuts[told[same]] = self._heard[found[same]]
        return cuts

    def _group_starts(self) -> Integers:
        """At the first event of every group, how many deliveries came before it."""
        starts = np.flatnonzero(np.diff(self._group, prepend=-1))
        found = np.zeros(len(self._group), np.int64)
        found[starts] = self._heard[starts] - ~self._sent[starts]
        return found

    def _odd_groups(self, deliveries_max: int) -> Flags:
        """Which groups have something that is named, or there twice, or too much of it."""
        count = int(self._group[-1]) + 1 if len(self._group) else 0
        odd = np.bincount(self._group[self._delivery], minlength=count) >= deliveries_max
        odd[self._group[self._valid("causes")]] = True
        answered = self._delivery[self._valid("answers")[self._delivery]]
        for name, places in (
            ("message_id", np.flatnonzero(self._sent)),
            ("message_id", self._delivery),
            ("message", self._ask),
            ("answers", answered),
        ):
            keys = stirred(
                self._group[places], self._events[name].take(pa.array(places)).to_numpy()
            )
            order = np.argsort(keys)
            again = order[1:][np.diff(keys[order]) == 0]
            odd[self._group[places[again]]] = True
        return odd

    def _told(self, deliveries: Integers) -> tuple[Integers, Integers]:
        """The messages of deliveries, and their times."""
        ids, times = (self._events[name].to_numpy() for name in ("message_id", "time_ns"))
        return ids[deliveries], times[deliveries]

    def _is_delivery_or_reply(self) -> Flags:
        found = ~self._sent
        found[self._reply] = True
        return found

    def _valid(self, name: str) -> Flags:
        return are_valid(self._events[name])


def stirred(group: Integers, value: Integers) -> npt.NDArray[np.uint64]:
    """One number for two; equal pairs have equal ones, and others hardly ever."""
    mixed = value.astype(np.uint64) * OTHER
    found: npt.NDArray[np.uint64] = (mixed ^ (mixed >> np.uint64(32))) * ODD
    return found ^ (group.astype(np.uint64) * OTHER)


def lists_of(values: Column, start: Integers, end: Integers) -> Column:
    """For every pair of places the values between them."""
    sizes = end - start
    ends = np.cumsum(sizes)
    places = np.arange(ends[-1] if len(ends) else 0) + np.repeat(start - ends + sizes, sizes)
    bounds = pa.array(np.append(0, ends).astype(np.int32))
    return pa.ListArray.from_arrays(bounds, values.take(pa.array(places)))
