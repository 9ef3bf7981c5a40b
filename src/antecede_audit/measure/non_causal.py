"""How much later than causal order demands: the delays that a protocol adds of its own.

The yardstick is the earliest moment at which each copy could have been delivered in causal order. A
latency-optimal protocol (RST, KS) transmits at once and delivers as soon as everything that must
come first has been delivered. `IdealOrder` does the same with the knowledge of an onlooker: the
submissions of a run that has taken place, each copy under way for exactly as long as it was in that
run. So the yardstick meets the very same network, needs no n x n matrices, and fits any number of
processes. On a network that loses nothing its times are RST's to the nanosecond, as the tests show.

It has to see a run as a whole, in the order of time, so a run goes to one task, which needs some
500 bytes for each of its copies. Of a run with more copies than a task takes, some stretches of
time are looked at instead, spread evenly over its messages. A stretch begins in the middle of
things, so what is submitted in its first half only makes up the past of the rest.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from antecede.eventlog.parquet import ArrowTable
from antecede_audit.measure.distributions import tally
from antecede_audit.measure.instants import travelling

COPIES_MAX: Final = 4_000_000
"""At most 4 million copies of one run are looked at, in one task or in all stretches: 2 GB."""

STRETCHES: Final = 16
"""Of a run that is too large 16 stretches are looked at."""

PAST_SHARE: Final = 0.5
"""The first half of a stretch is only there to be the past of the rest."""

ACCURACY_MAX: Final = 200_000
"""Where stretches begin and end is known to one part in 200,000 of all copies."""

Column: TypeAlias = Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeSample:
    """A part of a run that is looked at for the whole, by times of submission."""

    run_id: str
    number: int
    past_ns: int
    """Where it begins."""
    first_ns: int
    """From here on its copies count."""
    last_ns: int


def edges_of(share: float) -> list[tuple[float, float, float]]:
    """Which shares of all copies are submitted when each stretch begins, counts, and ends."""
    width = share / STRETCHES
    lows = [(number + 0.5) / STRETCHES - width / 2 for number in range(STRETCHES)]
    return [(low, low + PAST_SHARE * width, low + width) for low in lows]


def lateness_of_stretch(copies: ArrowTable) -> ArrowTable:
    """The rows of one run or stretch, as Arrow: its copies in, how late each that counts was."""
    late = pa.array(lateness(copies), pa.int64())
    table = pa.table({"run_id": copies["run_id"], "non_causal_ns": late})
    counts = pc.greater_equal(copies["submitted_ns"], copies["first_ns"])
    return table.filter(pc.fill_null(counts, fill_value=True))


def tally_lateness(instants: ArrowTable) -> ArrowTable:
    """How late the copies of one run or stretch were, as `TALLIES`.

    In: `INSTANTS`, and first_ns: from when on copies count (null: all of them do).
    """
    late = lateness_of_stretch(with_travel(instants))
    return tally(late["run_id"], "non_causal", late["non_causal_ns"])


def lateness_of_run(instants: ArrowTable) -> list[int]:
    """How late all copies of a run were that were delivered, and not to oneself.

    In: what `instants_of` gives.
    """
    return lateness(with_travel(instants))


def with_travel(instants: ArrowTable) -> ArrowTable:
    """The copies that were delivered, and not to oneself, and travel_ns."""
    copies = travelling(instants)
    copies = copies.filter(pc.is_valid(copies["delivered_ns"]))
    # A copy that never arrived as such came with what delivered it.
    travel_ns = pc.coalesce(
        pc.subtract(copies["arrived_ns"], copies["transmitted_ns"]),
        pc.subtract(copies["delivered_ns"], copies["submitted_ns"]),
    )
    return copies.append_column("travel_ns", travel_ns)


def lateness(copies: ArrowTable) -> list[int]:
    """For each copy, its delivery minus the earliest that causal order allows.

    In: the columns of `RunCopies` and delivered_ns.
    """
    columns = {name: copies[name].to_pylist() for name in RunCopies.__dataclass_fields__}
    ideal_ns = ideal_deliveries(RunCopies(**columns))
    actual_ns = copies["delivered_ns"].to_pylist()
    return [actual - ideal for actual, ideal in zip(actual_ns, ideal_ns, strict=True)]


# The yardstick.


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCopies:
    """Copies that were delivered, a column each; those of one message have one submission time.

    `travel_ns` is how long a copy was under way, its waits in buffers left out.
    """

    sender: Column
    sequence: Column
    target: Column
    submitted_ns: Column
    travel_ns: Column


class CausalClock:
    """A set of copies; `base` is the number of the copy that bit 0 stands for."""

    __slots__ = ("base", "bits")

    def __init__(self) -> None:
        self.base = 0
        self.bits = 0

    def since(self, base: int) -> int:
        """The members from copy `base` on; the others are forgotten."""
        if base > self.base:
            self.bits >>= base - self.base
            self.base = base
        return self.bits


class SentCopy:
    """A message: what its sender knew to be under way before it, and the copies of itself."""

    __slots__ = ("base", "before", "copies")

    def __init__(self, base: int, before: int) -> None:
        self.base: Final = base
        self.before: Final = before
        self.copies = 0


class IdealOrder:
    """Takes submissions and arrivals in the order of time; `delivered_ns` has what came of them.

    Per process it keeps the set of copies in its causal past that are still under way, as the bits
    of one integer; bit k stands for the k-th copy since the oldest that is under way.
    """

    def __init__(self, copies: int) -> None:
        self.delivered_ns: Final = [0] * copies
        self._base = 0
        self._next = 0
        self._live = 0
        self._pasts: Final[dict[int, CausalClock]] = {}
        self._awaited: Final[dict[int, CausalClock]] = {}
        # By the number of a copy that is to be delivered first: the copies that wait for it.
        self._waiting: Final[dict[int, list[int]]] = {}
        self._sent: Final[list[SentCopy | None]] = [None] * copies
        self._numbers: Final = [0] * copies

    def submit(self, sender: int, copies: Sequence[int], targets: Column) -> None:
        """A message leaves: these copies, to `targets[copy]` each."""
        past = self._past(sender)
        before = past.since(self._base) & self._live
        sent = SentCopy(self._base, before)
        for copy in copies:
            bit = 1 << (self._next - self._base)
            self._numbers[copy] = self._next
            self._next += 1
            self._sent[copy] = sent
            sent.copies |= bit
            awaited = self._awaited.setdefault(targets[copy], CausalClock())
            awaited.bits = awaited.since(self._base) | bit
        self._live |= sent.copies
        past.bits = before | sent.copies

    def arrive(self, copy: int, target: int, now_ns: int) -> None:
        """A copy has come; it and those that waited for it are delivered as soon as may be."""
        ready = [copy]
        while ready:
            candidate = ready.pop()
            missing = self._missing(candidate, target)
            if missing:
                # Any one will do: when that is delivered, this is looked at again.
                first = self._base + missing.bit_length() - 1
                self._waiting.setdefault(first, []).append(candidate)
            else:
                ready += self._waiting.pop(self._numbers[candidate], [])
                self._deliver(candidate, target, now_ns)

    def _missing(self, copy: int, target: int) -> int:
        """Those copies to the same target that have to be delivered before this one."""
        sent = self._sent[copy]
        assert sent is not None, "a copy arrives after it was submitted"
        before = sent.before >> (self._base - sent.base)
        return before & self._awaited[target].since(self._base)

    def _deliver(self, copy: int, target: int, now_ns: int) -> None:
        self.delivered_ns[copy] = now_ns
        sent = self._sent[copy]
        assert sent is not None, "it was submitted"
        bit = 1 << (self._numbers[copy] - self._base)
        self._live ^= bit
        self._awaited[target].bits ^= bit
        past = self._past(target)
        known = (sent.before | sent.copies) >> (self._base - sent.base)
        past.bits = (past.since(self._base) | known) & self._live
        self._sent[copy] = None
        if not self._live & 1:
            self._move_base()

    def _move_base(self) -> None:
        """Bit 0 is always the oldest copy under way."""
        if self._live == 0:
            self._base = self._next
            return
        gone = (self._live & -self._live).bit_length() - 1
        self._live >>= gone
        self._base += gone

    def _past(self, process: int) -> CausalClock:
        past = self._pasts.get(process)
        if past is None:
            past = self._pasts[process] = CausalClock()
            past.base = self._base
        return past


def ideal_deliveries(copies: RunCopies) -> list[int]:
    """When each of these copies would have been delivered, in the order in which they are given.

    Copies to oneself must not be among them. What arrives counts before what is submitted at the
    same time, unless it took no time itself.
    """
    count = len(copies.sender)
    order = IdealOrder(count)
    messages: dict[tuple[int, int], list[int]] = {}
    for copy in range(count):
        key = copies.sender[copy], copies.sequence[copy]
        messages.setdefault(key, []).append(copy)
    events = [
        (copies.submitted_ns[group[0]], 1, sender, sequence, group)
        for (sender, sequence), group in messages.items()
    ]
    nothing: list[int] = []
    for copy in range(count):
        arrival_ns = copies.submitted_ns[copy] + copies.travel_ns[copy]
        events.append((arrival_ns, 0 if copies.travel_ns[copy] else 2, copy, 0, nothing))
    events.sort()
    for now_ns, phase, first, _, group in events:
        if phase == 1:
            order.submit(first, group, copies.target)
        else:
            order.arrive(first, copies.target[first], now_ns)
    return order.delivered_ns
