"""Two ways through all interleavings: depth first, to see every state once; and breadth first, to
find the shortest way to a state that is wrong.

Safety is judged at every delivery. Liveness is judged wherever nothing is in flight and nothing can
be submitted: from there on nothing gets lost, timers fire in turn, and every message must arrive
where it belongs, after which every timer must fall silent.
"""

from collections.abc import Callable
from typing import Final, TypeAlias, final

from mypy_extensions import i64

from antecede.sim.interleavings import ARRIVE, EXPIRE, SUBMIT, State, Step, World, lowest_bit
from antecede.sim.moves import Flight
from antecede.sim.verdicts import RESTLESS, STUCK, Verdict

ROUNDS_MAX: Final = 32
"""How often every timer may fire before a run without faults must have come to rest."""

PACKETS_MAX: Final = 10_000
"""How many packets may arrive in one such run, and how many steps a path may have."""

PROGRESS_EVERY: Final = 4096
"""How many new states lie between two reports of progress."""

Progress: TypeAlias = Callable[[int], None]


@final
class Budgets:
    """How many faults a search may use: losses and duplications in all, expiries per process."""

    __slots__ = ("duplications", "expiries", "losses")

    def __init__(self, losses: int = 0, duplications: int = 0, expiries: int = 0) -> None:
        self.losses: Final = losses
        self.duplications: Final = duplications
        self.expiries: Final = expiries

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Budgets) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash((self.losses, self.duplications, self.expiries))

    def __repr__(self) -> str:
        return f"Budgets({self.losses}, {self.duplications}, {self.expiries})"


@final
class Finding:
    """A way to something wrong: the steps from the start, and the verdict on the last of them."""

    __slots__ = ("steps", "verdict")

    def __init__(self, steps: list[Step], verdict: Verdict) -> None:
        self.steps: Final = steps
        self.verdict: Final = verdict


@final
class Exploration:
    """How far a depth-first search came. It is complete if no state was left out."""

    __slots__ = ("complete", "finding", "quiescent", "states", "transitions")

    def __init__(self) -> None:
        self.states: i64 = 0
        self.transitions: i64 = 0
        self.quiescent: i64 = 0
        self.complete = False
        self.finding: Finding | None = None


@final
class Frame:
    """A state on the current path, and which of its steps have been taken."""

    __slots__ = ("state", "steps", "taken")

    def __init__(self, state: State, steps: list[Step]) -> None:
        self.state: Final = state
        self.steps: Final = steps
        self.taken: i64 = 0


def explore(
    world: World, budgets: Budgets, states_max: int, progress: Progress | None = None
) -> Exploration:
    """Visit every state once, depth first, until something is wrong or `states_max` are seen."""
    seen = Exploration()
    start = world.start(budgets.losses, budgets.duplications, budgets.expiries)
    visited = {start.digest()}
    stack = [Frame(start, world.steps(start))]
    seen.states = 1
    seen.finding = settled(world, start, [])
    while stack and seen.finding is None:
        frame = stack[-1]
        if frame.taken == len(frame.steps):
            stack.pop()
            continue
        state = world.after(frame.state, frame.steps[frame.taken])
        frame.taken += 1
        seen.transitions += 1
        if state.verdict is not None:
            seen.finding = Finding(path(stack), state.verdict)
            break
        digest = state.digest()
        if digest in visited:
            continue
        if seen.states >= states_max:
            return seen
        visited.add(digest)
        seen.states += 1
        if progress is not None and seen.states % PROGRESS_EVERY == 0:
            progress(int(seen.states))
        following = world.steps(state)
        if is_quiescent(state, following):
            seen.quiescent += 1
            seen.finding = settled(world, state, path(stack))
        elif len(stack) >= PACKETS_MAX:
            seen.finding = Finding(path(stack), endless(0))
        stack.append(Frame(state, following))
    seen.complete = seen.finding is None
    return seen


def path(stack: list[Frame]) -> list[Step]:
    """The steps that lead to the newest state."""
    return [frame.steps[frame.taken - 1] for frame in stack]


def is_quiescent(state: State, steps: list[Step]) -> bool:
    """Whether only a timer can make something happen."""
    return not state.flights and (not steps or steps[0].kind == EXPIRE)


def shortest(world: World, budgets: Budgets, kind: str, states_max: int) -> Finding | None:
    """A shortest way to something wrong of this kind, if one is found among `states_max` states."""
    start = world.start(budgets.losses, budgets.duplications, budgets.expiries)
    visited = {start.digest()}
    states: list[State | None] = [start]
    ways: list[tuple[int, Step]] = []
    number = 0
    while number < len(states) < states_max:
        state = states[number]
        assert state is not None, "a state is given up only after it was looked at"
        states[number] = None
        following = world.steps(state)
        if is_quiescent(state, following) or number == 0:
            finding = settled(world, state, way_to(ways, number))
            if finding is not None and finding.verdict.kind == kind:
                return finding
        for step in following:
            after = world.after(state, step)
            if after.verdict is not None:
                if after.verdict.kind == kind:
                    return Finding([*way_to(ways, number), step], after.verdict)
                continue
            digest = after.digest()
            if digest not in visited:
                visited.add(digest)
                states.append(after)
                ways.append((number, step))
        number += 1
    return None


def way_to(ways: list[tuple[int, Step]], number: int) -> list[Step]:
    """The steps from the start to state `number`; `ways[i]` leads to state i + 1."""
    steps: list[Step] = []
    while number > 0:
        number, step = ways[number - 1]
        steps.append(step)
    steps.reverse()
    return steps


def settled(world: World, state: State, steps: list[Step]) -> Finding | None:
    """Let a state come to rest without faults, oldest packets first; None if all is well then."""
    run = FairRun(world, state, steps.copy())
    for _ in range(ROUNDS_MAX):
        finding = run.drain()
        if finding is not None:
            return finding
        restless = run.restless()
        if restless < 0:
            return run.stuck()
        run.expire_all()
    finding = run.drain()
    if finding is None:
        finding = run.stuck()
    return Finding(run.steps, endless(restless)) if finding is None else finding


def endless(process: int) -> Verdict:
    """There is always something left to do."""
    return Verdict(RESTLESS, process, detail="there is always one more packet")


@final
class FairRun:
    """One run from a state on in which nothing is lost and nothing has to wait for ever."""

    __slots__ = ("_queue", "_state", "_world", "steps")

    def __init__(self, world: World, state: State, steps: list[Step]) -> None:
        self._world: Final = world
        self._state = state
        self._queue: list[Flight] = state.flights.copy()
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
            if not self._world.is_at_rest(seat):
                return int(seat.local.me)
        return -1

    def expire_all(self) -> None:
        """Every timer fires once, until something is wrong."""
        for seat in self._state.seats:
            if self._state.verdict is None and not self._world.is_at_rest(seat):
                self._take(Step(EXPIRE, seat.local.me))

    def stuck(self) -> Finding | None:
        """Whether some message is missing where it was sent to."""
        submitted = self._world.submitted(self._state)
        for seat in self._state.seats:
            missing = self._world.undelivered(seat) & submitted
            if missing:
                name = self._world.sends[lowest_bit(missing)].name
                return Finding(self.steps, Verdict(STUCK, int(seat.local.me), missing=name))
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
