"""The states of a small program as a whole, and what may happen next in each of them.

A state is what each process is in, what is in flight, what the judge remembers, and how many faults
are still to come. The network may hand over any packet next; if it is FIFO, any oldest packet of an
ordered pair. States are values: a step makes a new one that shares what has not changed.
"""

from array import array
from hashlib import blake2b
from typing import Final, final

from mypy_extensions import i64, mypyc_attr

from antecede.core.catalogue import ProtocolInfo
from antecede.core.errors import LocalError
from antecede_lab.checker.moves import LocalState, Move, Moves, PacketInFlight
from antecede_lab.checker.programs import (
    Program,
    Send,
    addressed_messages,
    awaited_messages,
    earlier_messages,
    first_indices,
    objection,
)
from antecede_lab.checker.verdicts import INVENTED, MISADDRESSED, ORDER, TWICE, CheckVerdict

SUBMIT: Final = 0
ARRIVE: Final = 1
EXPIRE: Final = 2
LOSE: Final = 3
DUPLICATE: Final = 4


@final
@mypyc_attr(acyclic=True)
class Step:
    """One thing that happens at `process`, or to a packet on its way there."""

    __slots__ = ("flight", "kind", "process")

    def __init__(self, kind: i64, process: i64, flight: PacketInFlight | None = None) -> None:
        self.kind: Final[i64] = kind
        self.process: Final[i64] = process
        self.flight: Final = flight


@final
class ProcessSlot:
    """One process's part of a state; `delivered` and `past` are sets of messages, as bits."""

    __slots__ = ("delivered", "expiries", "local", "past", "submitted")

    def __init__(
        self, local: LocalState, submitted: i64, expiries: i64, delivered: i64, past: i64
    ) -> None:
        self.local: Final = local
        self.submitted: Final[i64] = submitted
        self.expiries: Final[i64] = expiries
        self.delivered: Final[i64] = delivered
        self.past: Final[i64] = past


@final
class State:
    """A state of the whole; `pasts[m]` is what happened before message m, as bits."""

    __slots__ = ("duplications", "flights", "losses", "pasts", "seats", "verdict")

    def __init__(
        self,
        seats: list[ProcessSlot],
        flights: list[PacketInFlight],
        pasts: list[int],
        losses: i64,
        duplications: i64,
        verdict: CheckVerdict | None = None,
    ) -> None:
        self.seats: Final = seats
        self.flights: Final = flights
        self.pasts: Final = pasts
        self.losses: Final[i64] = losses
        self.duplications: Final[i64] = duplications
        self.verdict: Final = verdict

    def digest(self) -> bytes:
        """Sixteen bytes that tell this state from any other of the same world."""
        key: list[int] = [self.losses, self.duplications]
        for seat in self.seats:
            key.append(seat.local.id)
            key.append(seat.submitted)
            key.append(seat.expiries)
            key.append(seat.delivered)
            key.append(seat.past)
        key.extend(self.pasts)
        for flight in self.flights:
            key.append(flight.id)
        return blake2b(array("q", key).tobytes(), digest_size=16).digest()


@final
class World:
    """One program on one protocol: its first state, what may happen next, and what comes of it."""

    def __init__(self, info: ProtocolInfo, program: Program) -> None:
        reason = objection(info, program)
        if reason:
            raise LocalError(f"cannot run the program {program.name!r}: {reason}")
        self.info: Final = info
        self.program: Final = program
        self.sends: Final[list[Send]] = [send for _, send in program.messages]
        self._moves: Final = Moves(info, program)
        self._causal: Final = info.ordering == "causal"
        self._first: Final = first_indices(program)
        self._addressed: Final = addressed_messages(program)
        self._waits: Final = awaited_messages(program)
        self._earlier: Final = earlier_messages(program, info.ordering == "fifo")

    def start(self, losses: int, duplications: int, expiries: int) -> State:
        """Nothing has happened; these faults, and `expiries` timers of each process, are to come.

        Only a protocol that is made for a lossy network meets any faults.
        """
        lossy = self.info.network == "lossy"
        seats = [
            ProcessSlot(self._moves.beginning(me), 0, expiries, 0, 0)
            for me in range(self.program.processes)
        ]
        pasts = [0] * len(self.sends)
        return State(seats, [], pasts, losses if lossy else 0, duplications if lossy else 0)

    def next_message(self, seat: ProcessSlot) -> i64:
        """The index of the message that this process may submit now, or -1.

        One for which it has no room waits until it has: a caller would try again.
        """
        index = self.wanted_message(seat)
        if index >= 0 and self._moves.submission(seat.local, index).refused:
            return -1
        return index

    def wanted_message(self, seat: ProcessSlot) -> i64:
        """The index of the message that this process wants to submit now, or -1."""
        me = seat.local.me
        if seat.submitted >= len(self.program.sends[me]):
            return -1
        index: i64 = self._first[me] + seat.submitted
        waits: i64 = self._waits[index]
        return -1 if waits & ~seat.delivered else index

    def submitted(self, state: State) -> i64:
        """The messages that have been submitted, as bits."""
        total: i64 = 0
        one: i64 = 1
        for seat in state.seats:
            first: i64 = self._first[seat.local.me]
            total |= ((one << seat.submitted) - 1) << first
        return total

    def undelivered(self, seat: ProcessSlot) -> i64:
        """The messages addressed to this process that it has not delivered, as bits."""
        addressed: i64 = self._addressed[seat.local.me]
        return addressed & ~seat.delivered

    def is_idle(self, seat: ProcessSlot) -> bool:
        """Whether time alone changes nothing for this process."""
        return not seat.local.wants_timer or self._moves.expiry(seat.local).idle

    def steps(self, state: State) -> list[Step]:
        """Everything that may happen next, in a fixed order: submissions and arrivals first."""
        steps: list[Step] = []
        for seat in state.seats:
            if self.next_message(seat) >= 0:
                steps.append(Step(SUBMIT, seat.local.me))
        heads = first_of_each_rank(state.flights)
        for flight in heads:
            steps.append(Step(ARRIVE, flight.target, flight))
        for seat in state.seats:
            if seat.expiries > 0 and not self.is_idle(seat):
                steps.append(Step(EXPIRE, seat.local.me))
        for flight in heads:
            if state.losses > 0:
                steps.append(Step(LOSE, flight.target, flight))
            if state.duplications > 0:
                steps.append(Step(DUPLICATE, flight.target, flight))
        return steps

    def after(self, state: State, step: Step) -> State:
        """The state that `step` leads to; its verdict says what was wrong with the step, if any."""
        flight = step.flight
        seat = state.seats[step.process]
        if flight is None:
            if step.kind == EXPIRE:
                return self._after_expiry(state, seat)
            return self._after_submission(state, seat, self.next_message(seat))
        if step.kind == LOSE:
            flights = without(state.flights, flight)
            return State(state.seats, flights, state.pasts, state.losses - 1, state.duplications)
        if step.kind == DUPLICATE:
            flights = including(state.flights, flight)
            return State(state.seats, flights, state.pasts, state.losses, state.duplications - 1)
        flights = without(state.flights, flight)
        return self._moved(state, seat, self._moves.arrival(seat.local, flight), flights)

    def move(self, state: State, step: Step) -> Move:
        """What the process answers in a step that is not the network's."""
        seat = state.seats[step.process]
        if step.flight is not None:
            return self._moves.arrival(seat.local, step.flight)
        if step.kind == EXPIRE:
            return self._moves.expiry(seat.local)
        return self._moves.submission(seat.local, self.next_message(seat))

    def _after_submission(self, state: State, seat: ProcessSlot, index: i64) -> State:
        past: i64 = 0
        pasts = state.pasts
        one: i64 = 1
        if self._causal:
            past = seat.past | one << index
            pasts = pasts.copy()
            pasts[index] = seat.past
        counted = ProcessSlot(seat.local, seat.submitted + 1, seat.expiries, seat.delivered, past)
        seats = replaced(state.seats, counted)
        submitted = State(seats, state.flights, pasts, state.losses, state.duplications)
        move = self._moves.submission(seat.local, index)
        return self._moved(submitted, counted, move, state.flights)

    def _after_expiry(self, state: State, seat: ProcessSlot) -> State:
        move = self._moves.expiry(seat.local)
        counted = ProcessSlot(
            seat.local, seat.submitted, seat.expiries - 1, seat.delivered, seat.past
        )
        return self._moved(state, counted, move, state.flights)

    def _moved(
        self, state: State, seat: ProcessSlot, move: Move, flights: list[PacketInFlight]
    ) -> State:
        """The state after a move: what it transmits is in flight, what it delivers is judged."""
        verdict = self._moves.suspicion if move.verdict is None else move.verdict
        delivered = seat.delivered
        past = seat.past
        one: i64 = 1
        for index in move.deliveries:
            before: i64 = state.pasts[index]
            if verdict is None:
                verdict = self._judge(state, seat.local.me, index, before, delivered)
            delivered |= one << index
            if self._causal:
                past |= before | one << index
        for flight in move.transmissions:
            flights = including(flights, flight)
        seats = replaced(
            state.seats, ProcessSlot(move.local, seat.submitted, seat.expiries, delivered, past)
        )
        pasts = state.pasts
        if self._causal and move.deliveries:
            pending = self._pending(seats)
            seats = [with_past(other, other.past & pending) for other in seats]
            pasts = [old & pending if pending >> i & 1 else 0 for i, old in enumerate(pasts)]
        return State(seats, flights, pasts, state.losses, state.duplications, verdict)

    def _pending(self, seats: list[ProcessSlot]) -> int:
        """The messages not yet delivered everywhere, as bits: no other can ever come too late."""
        pending: i64 = 0
        for seat in seats:
            pending |= self.undelivered(seat)
        return pending

    def _judge(
        self, state: State, process: i64, index: i64, past: i64, delivered: i64
    ) -> CheckVerdict | None:
        """Is it right that `process` delivers message `index` now? Straight from the definition."""
        name = self.sends[index].name
        addressed: i64 = self._addressed[process]
        if delivered >> index & 1:
            return CheckVerdict(TWICE, process, name)
        if not addressed >> index & 1:
            return CheckVerdict(MISADDRESSED, process, name)
        if not self.submitted(state) >> index & 1:
            return CheckVerdict(INVENTED, process, detail=name)
        required: i64 = past if self._causal else self._earlier[index]
        missing = required & addressed & ~delivered
        if missing == 0:
            return None
        return CheckVerdict(ORDER, process, name, self.sends[lowest_bit(missing)].name)


def lowest_bit(mask: i64) -> i64:
    """The lowest member of a set of messages that is not empty."""
    index: i64 = 0
    while not mask >> index & 1:
        index += 1
    return index


def replaced(seats: list[ProcessSlot], seat: ProcessSlot) -> list[ProcessSlot]:
    """The seats with this one in its process's place."""
    others = seats.copy()
    others[seat.local.me] = seat
    return others


def with_past(seat: ProcessSlot, past: i64) -> ProcessSlot:
    """The same seat with another past."""
    if past == seat.past:
        return seat
    return ProcessSlot(seat.local, seat.submitted, seat.expiries, seat.delivered, past)


def including(flights: list[PacketInFlight], flight: PacketInFlight) -> list[PacketInFlight]:
    """One more flight, behind those of its own rank and before those of higher ranks."""
    place: i64 = len(flights)
    while place > 0 and flights[place - 1].rank > flight.rank:
        place -= 1
    more = flights.copy()
    more.insert(place, flight)
    return more


def without(flights: list[PacketInFlight], flight: PacketInFlight) -> list[PacketInFlight]:
    """One flight less."""
    fewer = flights.copy()
    fewer.remove(flight)
    return fewer


def first_of_each_rank(flights: list[PacketInFlight]) -> list[PacketInFlight]:
    """What may arrive: on FIFO channels the oldest of each, otherwise one of each kind."""
    heads: list[PacketInFlight] = []
    last: i64 = -1
    for flight in flights:
        if flight.rank != last:
            heads.append(flight)
            last = flight.rank
    return heads
