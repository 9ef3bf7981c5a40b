"""The fast judge of one slice of a log: near linear, and of the same opinion as the oracle.

Of the copies of a slice only those are *watched* that something overtook of which they may be a
cause; only they can be the late side of a violation. A watched message is a bit. Each strand
(events of a process that are ordered: all of them, or those of one trace) has the set of watched
messages in its past; a submission takes it along, and a delivery adds it to the past of the
receiver. A delivery comes too early if a watched copy in its past is still on its way to the same
place (a process of some run).

Bits are numbered in the order in which messages are delivered for the last time. So the bits below
the first that is still under way are of no further interest and drop out at the low end, sets stay
as narrow as the traffic in flight, and of many bits the highest one was delivered last.

Where a message is under way for long, all have heard of it for most of that time. So equal sets are
to be one object, which is looked at, and shortened, once for all who have it.

Tables come packed: rows of little-endian 64-bit integers. Which order events have to come in, says
`CausalPass.run`; where no clock gives such an order, `graph_order` finds one, and where there is
none at all, because the log contradicts itself, `settle` does what it can.
"""

from typing import Final, final

from librt.strings import BytesWriter, read_i64_le, write_i64_le
from mypy_extensions import i64, mypyc_attr

WORD_BYTES: Final = 8
EVENT_BYTES: Final = 32
PASSED_BYTES: Final = 40
"""A row that `CausalPass` goes through has one column more: the strand."""
WATCHED_BYTES: Final = 32
NONE: Final = -1
"""No bit, no copy, no watched copy."""

DROPPED_BITS: Final = 32
"""At least 32 bits drop out at a time: one is not worth the work."""


@final
@mypyc_attr(acyclic=True)
class InFlightSet:
    """What some have in their past, as a set of bits. No bit is ever added to it."""

    __slots__ = ("base", "bits", "number")

    def __init__(self, bits: int, base: i64, number: i64) -> None:
        self.bits: int = bits
        self.base: i64 = base
        """Bit 0 of the set stands for the message of this number."""
        self.number: Final[i64] = number
        """Of equal ones everybody takes the first, so that soon there is no other."""


@final
@mypyc_attr(acyclic=True)
class ProcessState:
    """A process of a run: what is on its way to it, as a set of bits."""

    __slots__ = ("base", "number", "overtaken", "pending", "seen", "stalled")

    def __init__(self, number: i64) -> None:
        self.number: Final[i64] = number
        self.base: i64 = 0
        self.pending: int = 0
        self.seen: InFlightSet | None = None
        """The past that came last, if what is on its way has not changed since."""
        self.overtaken: i64 = NONE
        """The row in `watched` of the last one of that past to be delivered here."""
        self.stalled: bool = False
        """Whether its next event waits for a submission elsewhere."""


@final
@mypyc_attr(acyclic=True)
class CopyInFlight:
    """A message in flight: what was in the past of its submission."""

    __slots__ = ("bit", "left", "past")

    def __init__(self, bit: i64, left: i64) -> None:
        self.bit: Final[i64] = bit
        self.left: i64 = left
        """Deliveries still to come."""
        self.past: InFlightSet | None = None
        """None until it is submitted."""


@final
class CausalPass:
    """One pass over the events of a slice, in one piece or in several.

    `watched` has a row for each watched copy, sorted by bit and then place: bit, place, position of
    the delivery there, and 1 if it is the last delivery among those of the bit, else 0.
    """

    __slots__ = (
        "_base",
        "_done",
        "_first",
        "_flights",
        "_found",
        "_left",
        "_nothing",
        "_pasts",
        "_places",
        "_queues",
        "_strands",
        "_waiting",
        "_watched",
    )

    def __init__(self, places: int, watched: bytes, strands: int) -> None:
        self._watched: Final = watched
        self._places: Final[list[ProcessState]] = []
        self._nothing: Final = InFlightSet(0, 0, 0)
        self._pasts: i64 = 0
        self._strands: list[InFlightSet] = []
        """Events of a place that are ordered: what is in their past."""
        self._flights: list[CopyInFlight | None] = []
        self._base: i64 = 0
        self._done: i64 = 0
        """All bits below this one have been delivered everywhere."""
        self._first: Final[list[int]] = []
        """The first row of each bit in `watched`, and the number of rows at the end."""
        self._left: Final[list[int]] = []
        """How many watched copies of each bit are not delivered yet."""
        self._found: BytesWriter = BytesWriter()
        self._queues: dict[int, list[int]] = {}
        """The events of each stalled place, in order, by where their rows begin."""
        self._waiting: dict[int, list[int]] = {}
        """The places that are stalled by each message."""
        self.add_places(places)
        self.add_strands(strands)
        self._index_bits()

    def _index_bits(self) -> None:
        first, left = self._first, self._left
        rows: i64 = len(self._watched) // WATCHED_BYTES
        row: i64
        for row in range(rows):
            bit = read_i64_le(self._watched, row * WATCHED_BYTES)
            while len(first) <= bit:
                first.append(row)
                left.append(0)
            left[bit] += 1
        first.append(rows)

    def add_places(self, count: int) -> None:
        """Number more places, after those there are."""
        for number in range(len(self._places), len(self._places) + count):
            self._places.append(ProcessState(number))

    def add_strands(self, count: int) -> None:
        """Number more strands, after those there are."""
        for _ in range(count):
            self._strands.append(self._nothing)

    def strand_count(self) -> int:
        """How many strands there are numbers for."""
        return len(self._strands)

    def keep_telling_strands(self) -> list[int]:
        """Forget the strands that have nothing watched in their past, and renumber the others.

        The numbers that those which are left had before, in the order of the new ones.
        """
        kept: list[int] = []
        strands: list[InFlightSet] = []
        for number, past in enumerate(self._strands):
            self._align_past(past)
            if past.bits:
                kept.append(number)
                strands.append(past)
        self._strands = strands
        return kept

    def add_messages(self, messages: bytes) -> None:
        """Number more messages, after those there are: bit or `NONE`, and how many deliveries."""
        start: i64
        for start in range(0, len(messages), 2 * WORD_BYTES):
            bit = read_i64_le(messages, start)
            left = read_i64_le(messages, start + WORD_BYTES)
            self._flights.append(CopyInFlight(bit, left))

    def keep_messages(self, kept: bytes) -> None:
        """Forget all messages but these, which are renumbered from 0."""
        flights: list[CopyInFlight | None] = []
        start: i64
        for start in range(0, len(kept), WORD_BYTES):
            flights.append(self._flights[read_i64_le(kept, start)])
        self._flights = flights

    def take_findings(self) -> bytes:
        """Rows: the copy delivered early, the row in `watched` of the late one."""
        found = self._found.getvalue()
        self._found = BytesWriter()
        return found

    def stalled(self) -> list[int]:
        """The places with events that wait for each other in a circle; their runs are unjudged."""
        return list(self._queues)

    def force(self, events: bytes) -> None:
        """Perform what waits for itself in a circle, without what it waits for.

        The events are those of the last `run`; no later one could make sense of their rows.
        """
        queues, self._queues, self._waiting = self._queues, {}, {}
        for number, queue in queues.items():
            place = self._places[number]
            place.stalled = False
            for start in queue:
                self._step(place, events, start)

    def run(self, events: bytes) -> None:
        """Go through events: place, message, copy, row in `watched`, strand.

        A submission has no copy.

        The events of a place come in its order, and a delivery and its submission, if they stand
        the wrong way round, in the same call.
        """
        start: i64
        for start in range(0, len(events), PASSED_BYTES):
            place = self._places[read_i64_le(events, start)]
            if place.stalled:
                self._queues[place.number].append(start)
            elif not self._step(place, events, start):
                self._stall(place, events, start)
            elif self._waiting and read_i64_le(events, start + 16) == NONE:
                self._resume(events, read_i64_le(events, start + 8))

    def _step(self, place: ProcessState, events: bytes, start: i64) -> bool:
        """Perform one event, unless it is a delivery whose submission has not come yet."""
        message = read_i64_le(events, start + 8)
        copy = read_i64_le(events, start + 16)
        flight = self._flights[message]
        assert flight is not None, "a message is forgotten when all its copies are delivered"
        strand = read_i64_le(events, start + 32)
        if copy == NONE:
            self._submit(strand, flight)
            return True
        past = flight.past
        if past is None:
            return False
        self._deliver(place, strand, flight.bit, past, copy, read_i64_le(events, start + 24))
        flight.left -= 1
        if flight.left == 0:
            self._flights[message] = None
        return True

    def _submit(self, strand: i64, flight: CopyInFlight) -> None:
        past = self._strands[strand]
        flight.past = past
        bit = flight.bit
        if bit == NONE:
            return
        self._align_past(past)
        mask = 1 << int(bit - self._base)
        self._strands[strand] = self._new_past(past.bits | mask)
        row: i64
        for row in range(self._first[bit], self._first[bit + 1]):
            target = self._places[read_i64_le(self._watched, row * WATCHED_BYTES + 8)]
            self._align(target)
            target.pending |= mask
            target.seen = None

    def _deliver(
        self, place: ProcessState, strand: i64, bit: i64, past: InFlightSet, copy: i64, watched: i64
    ) -> None:
        self._align_past(past)
        if past.bits and place.pending:
            if place.seen is not past:
                self._align(place)
                place.overtaken = self._latest(past.bits & place.pending, place.number)
                place.seen = past
            if place.overtaken != NONE:
                write_i64_le(self._found, copy)
                write_i64_le(self._found, place.overtaken)
        mask = 0
        if bit >= self._base:
            mask = 1 << int(bit - self._base)
            if watched != NONE:
                self._align(place)
                place.pending ^= mask
                place.seen = None
        known = self._strands[strand]
        if mask or (past.bits and past is not known):
            self._strands[strand] = self._joined(known, past, mask)
        if watched != NONE:
            self._left[bit] -= 1
            if bit == self._done:
                self._drop_bits()

    def _joined(self, known: InFlightSet, heard: InFlightSet, mask: int) -> InFlightSet:
        """What is in one of two pasts, or in this mask; a past that is there already, if it can."""
        self._align_past(known)
        if not known.bits and not mask:
            return heard
        bits = known.bits | heard.bits
        if mask:
            bits |= mask
        if bits == known.bits:
            return heard if heard.number < known.number and bits == heard.bits else known
        return heard if bits == heard.bits else self._new_past(bits)

    def _new_past(self, bits: int) -> InFlightSet:
        self._pasts += 1
        return InFlightSet(bits, self._base, self._pasts)

    def _drop_bits(self) -> None:
        """Let the bits drop out that are delivered everywhere, if there are enough of them."""
        left = self._left
        done = self._done
        while done < len(left) and left[done] == 0:
            done += 1
        self._done = done
        if done - self._base >= DROPPED_BITS:
            self._base = done

    def _align(self, place: ProcessState) -> None:
        """Let the set of a place begin where all sets begin now."""
        shift = self._base - place.base
        if shift:
            if place.pending:
                place.pending >>= int(shift)
            place.base = self._base

    def _align_past(self, past: InFlightSet) -> None:
        """Let a past begin where all sets begin now."""
        shift = self._base - past.base
        if shift:
            if past.bits:
                past.bits >>= int(shift)
            past.base = self._base

    def _latest(self, overtaken: int, place: i64) -> i64:
        """The row in `watched` of the bit among these that is delivered last at this place."""
        best: i64 = NONE
        best_position: i64 = NONE
        while overtaken:
            high = overtaken.bit_length() - 1
            row = self._watched_at(self._base + high, place)
            position = read_i64_le(self._watched, row * WATCHED_BYTES + 16)
            if position > best_position:
                best, best_position = row, position
            if read_i64_le(self._watched, row * WATCHED_BYTES + 24):
                break  # All lower bits are through everywhere before this delivery.
            overtaken ^= 1 << high
        return best

    def _watched_at(self, bit: i64, place: i64) -> i64:
        """The row in `watched` of this bit at this place."""
        low: i64 = self._first[bit]
        high: i64 = self._first[bit + 1] - 1
        while low < high:
            middle = (low + high) // 2
            if read_i64_le(self._watched, middle * WATCHED_BYTES + 8) < place:
                low = middle + 1
            else:
                high = middle
        return low

    def _stall(self, place: ProcessState, events: bytes, start: i64) -> None:
        place.stalled = True
        self._queues[place.number] = [start]
        self._waiting.setdefault(read_i64_le(events, start + 8), []).append(place.number)

    def _resume(self, events: bytes, message: i64) -> None:
        """Perform what waited for the submission of this message, and what follows from that."""
        submitted = [int(message)]
        while submitted:
            for number in self._waiting.pop(submitted.pop(), []):
                place = self._places[number]
                place.stalled = False
                queue = self._queues.pop(number)
                for index, start in enumerate(queue):
                    if not self._step(place, events, start):
                        self._stall(place, events, start)
                        self._queues[number] = queue[index:]
                        break
                    if read_i64_le(events, start + 16) == NONE:
                        submitted.append(int(read_i64_le(events, start + 8)))


def graph_order(places: int, messages: int, events: bytes) -> tuple[bytes, int]:
    """The same events with every delivery after its submission, and how many could not be so.

    Those that wait for each other in a circle, and those that wait for them, come last. Events
    stay as near to where they stood as that allows, those of a place in their order.
    """
    order = BytesWriter()
    submitted = [False] * messages
    queues = [Queue() for _ in range(places)]
    waiting: dict[int, list[int]] = {}
    start: i64
    for start in range(0, len(events), EVENT_BYTES):
        place = read_i64_le(events, start)
        queue = queues[place]
        queue.events.append(start)
        if queue.head + 1 < len(queue.events):
            continue
        ready = [int(place)]
        while ready:
            number = ready.pop()
            ready += advance(events, number, queues[number], submitted, waiting, order)
    stuck = [event for queue in queues for event in queue.events[queue.head :]]
    for event in stuck:
        order.write(events[event : event + EVENT_BYTES])
    return order.getvalue(), len(stuck)


@final
class Queue:
    """The events of a place, by where their rows begin; those before `head` are in order."""

    __slots__ = ("events", "head")

    def __init__(self) -> None:
        self.events: Final[list[int]] = []
        self.head = 0


def advance(
    events: bytes,
    place: int,
    queue: Queue,
    submitted: list[bool],
    waiting: dict[int, list[int]],
    order: BytesWriter,
) -> list[int]:
    """Put the events of a place in order, up to one that must wait; which places that sets free."""
    free: list[int] = []
    while queue.head < len(queue.events):
        start = queue.events[queue.head]
        message = int(read_i64_le(events, start + 8))
        if read_i64_le(events, start + 16) == NONE:
            submitted[message] = True
            free += waiting.pop(message, [])
        elif not submitted[message]:
            waiting.setdefault(message, []).append(place)
            break
        order.write(events[start : start + EVENT_BYTES])
        queue.head += 1
    return free


def settle(strands: int, messages: int, events: bytes, first: int, last: int) -> list[int]:
    """For each message the set of those from `first` up to `last` that happen before it.

    Rows have the strand in the first column. The events of a strand come in its order; where the
    log contradicts itself, no order of all events is right, so they are gone through until nothing
    is news. Bit 0 stands for `first`.
    """
    before = [0] * messages
    news = True
    while news:
        news = False
        known = [0] * strands
        start: i64
        for start in range(0, len(events), EVENT_BYTES):
            strand = read_i64_le(events, start)
            message = read_i64_le(events, start + 8)
            past = before[message]
            if read_i64_le(events, start + 16) == NONE and past | known[strand] != past:
                past |= known[strand]
                before[message] = past
                news = True
            if first <= message < last:
                past |= 1 << int(message - first)
            known[strand] |= past
    return before


def settled_overtakings(
    places: int, deliveries: bytes, before: list[int], first: int, last: int
) -> list[int]:
    """Pairs, flattened: the copy delivered early, and the copy delivered late, as `settle` has it.

    Deliveries come in the order of their places: place, message, copy, and 1 if the message was
    sent to that place. Late copies are those of the messages from `first` up to `last`.
    """
    found: list[int] = []
    later = [0] * places
    copies: list[list[int]] = [[] for _ in range(places)]
    start: i64
    for start in range(len(deliveries) - EVENT_BYTES, -1, -EVENT_BYTES):
        place = read_i64_le(deliveries, start)
        message = read_i64_le(deliveries, start + 8)
        overtaken = before[message] & later[place]
        if overtaken:
            found.append(read_i64_le(deliveries, start + 16))
            found.append(first_among(copies[place], deliveries, overtaken, first))
        if first <= message < last and read_i64_le(deliveries, start + 24):
            later[place] |= 1 << int(message - first)
            copies[place].append(start)
    return found


def first_among(starts: list[int], deliveries: bytes, messages: int, first: int) -> int:
    """The copy of the first delivery, of those that begin at `starts`, of one of the messages."""
    for start in starts:
        message = int(read_i64_le(deliveries, start + 8))
        if messages >> (message - first) & 1:
            return int(read_i64_le(deliveries, start + 16))
    raise AssertionError("what is overtaken is delivered later")
