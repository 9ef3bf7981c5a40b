"""What becomes of a state when the faults are over: every message arrives, and then there is rest.

From a state on, everything is submitted that can be, packets arrive in the order in which they were
transmitted, nothing is lost or doubled any more, and when nothing is left to arrive, every timer
fires. In the end every message must have been delivered wherever it was sent to, and every timer
must have fallen silent.
"""

from typing import Final, final

from antecede_lab.checker.interleavings import (
    ARRIVE,
    EXPIRE,
    SUBMIT,
    State,
    Step,
    World,
    lowest_bit,
)
from antecede_lab.checker.moves import LocalState, PacketInFlight
from antecede_lab.checker.verdicts import RESTLESS, STUCK, CheckVerdict

ROUNDS_MAX: Final = 32
"""How often every timer may fire before there must be rest."""

PACKETS_MAX: Final = 4_000
"""How many packets may arrive, without a timer, before there must be rest."""


@final
class Finding:
    """A way to something wrong: the steps from the start, and the verdict on the last of them."""

    __slots__ = ("steps", "verdict")

    def __init__(self, steps: list[Step], verdict: CheckVerdict) -> None:
        self.steps: Final = steps
        self.verdict: Final = verdict


def runs_to_rest(world: World, state: State, steps: list[Step]) -> Finding | None:
    """Let a state come to rest without faults, oldest packets first; None if all is well then."""
    run = FairSchedule(world, state, steps.copy())
    rounds = 0
    before: list[LocalState] = []
    while True:
        finding = run.drain()
        if finding is not None:
            return finding
        restless = run.restless()
        now = run.locals()
        # When a round of timers has changed nothing, no further one will.
        if restless < 0 or now == before or rounds == ROUNDS_MAX:
            break
        before = now
        rounds += 1
        run.expire_all()
    finding = run.stuck()
    if finding is None and restless >= 0:
        return Finding(run.steps, endless(restless))
    return finding


def endless(process: int) -> CheckVerdict:
    """There is always something left to do."""
    return CheckVerdict(RESTLESS, process, detail="there is always one more packet")


@final
class FairSchedule:
    """One run from a state on in which nothing is lost and nothing has to wait for ever."""

    __slots__ = ("_queue", "_state", "_world", "steps")

    def __init__(self, world: World, state: State, steps: list[Step]) -> None:
        self._world: Final = world
        self._state = state
        self._queue: list[PacketInFlight] = state.flights.copy()
        self.steps = steps

    def drain(self) -> Finding | None:
        """Submit whatever can be, let arrive whatever is in flight, until nothing is left."""
        arrived = 0
        while arrived < PACKETS_MAX and self._state.verdict is None:
            step = self._next_step()
            if step is None:
                return None
            self._take(step)
            arrived += 1
        if self._state.verdict is None:
            return Finding(self.steps, endless(int(self.steps[-1].process)))
        return Finding(self.steps, self._state.verdict)

    def restless(self) -> int:
        """The first process whose timer would change something, or -1."""
        for seat in self._state.seats:
            if not self._world.is_idle(seat):
                return int(seat.local.me)
        return -1

    def locals(self) -> list[LocalState]:
        """What each process is in."""
        return [seat.local for seat in self._state.seats]

    def expire_all(self) -> None:
        """Every timer fires once, until something is wrong."""
        for seat in self._state.seats:
            if self._state.verdict is None and not self._world.is_idle(seat):
                self._take(Step(EXPIRE, seat.local.me))

    def stuck(self) -> Finding | None:
        """Whether some message is missing where it was sent to, or finds no room for ever."""
        submitted = self._world.submitted(self._state)
        for seat in self._state.seats:
            missing = self._world.undelivered(seat) & submitted
            if missing:
                name = self._world.sends[lowest_bit(missing)].name
                return Finding(self.steps, CheckVerdict(STUCK, int(seat.local.me), missing=name))
        for seat in self._state.seats:
            wanted = self._world.wanted_message(seat)
            if wanted >= 0:
                name = self._world.sends[wanted].name
                return Finding(self.steps, CheckVerdict(STUCK, int(seat.local.me), message=name))
        return None

    def _next_step(self) -> Step | None:
        for seat in self._state.seats:
            if self._world.next_message(seat) >= 0:
                return Step(SUBMIT, seat.local.me)
        if self._queue:
            flight = self._queue.pop(0)
            return Step(ARRIVE, flight.target, flight)
        return None

    def _take(self, step: Step) -> None:
        self._queue.extend(self._world.move(self._state, step).transmissions)
        self._state = self._world.after(self._state, step)
        self.steps.append(step)
