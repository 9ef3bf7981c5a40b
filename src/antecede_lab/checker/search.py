"""Two ways through all interleavings: depth first, to see every state once; and breadth first, to
find the shortest way to a state that is wrong.

Safety is judged at every delivery. Liveness is judged wherever nothing is in flight and nothing can
be submitted, and wherever the same state comes back: from there on, the faults are over.
"""

from collections.abc import Callable
from typing import ClassVar, Final, TypeAlias, final

from mypy_extensions import i64

from antecede.core.packets import Value
from antecede_lab.checker.interleavings import EXPIRE, State, Step, World
from antecede_lab.checker.liveness import PACKETS_MAX, Finding, endless, runs_to_rest
from antecede_lab.checker.verdicts import RESTLESS

PROGRESS_EVERY: Final = 4096
"""How many new states lie between two reports of progress."""

Progress: TypeAlias = Callable[[int], None]


@final
class Budgets(Value):
    """How many faults a search may use: losses and duplications in all, expiries per process."""

    __slots__ = ("duplications", "expiries", "losses")

    FIELDS: ClassVar = ("losses", "duplications", "expiries")

    def __init__(self, losses: int = 0, duplications: int = 0, expiries: int = 0) -> None:
        self.losses: Final = losses
        self.duplications: Final = duplications
        self.expiries: Final = expiries


@final
class Exploration:
    """How far a search came. It is complete if it has seen every state, and nothing was wrong."""

    __slots__ = ("complete", "finding", "quiescent", "states", "transitions")

    def __init__(self) -> None:
        self.states: i64 = 0
        self.transitions: i64 = 0
        self.quiescent: i64 = 0
        self.complete = False
        self.finding: Finding | None = None

    def count_state(self) -> None:
        """One more state was seen."""
        self.states += 1

    def count_transition(self) -> None:
        """One more step was taken."""
        self.transitions += 1

    def set_complete(self) -> None:
        """Every state was seen."""
        self.complete = True


@final
class Frame:
    """A state on the current path, and how many of its steps have been taken."""

    __slots__ = ("digest", "state", "steps", "taken")

    def __init__(self, state: State, digest: bytes, steps: list[Step]) -> None:
        self.state: Final = state
        self.digest: Final = digest
        self.steps: Final = steps
        self.taken: i64 = 0


def explore(
    world: World,
    budgets: Budgets,
    states_max: int,
    progress: Progress | None = None,
    kind: str = "",
) -> Exploration:
    """Visit every state once, depth first, until something is wrong or `states_max` are seen.

    If a `kind` is given, only that counts as wrong.
    """
    return DepthFirst(world, states_max, progress, kind).run(budgets)


@final
class DepthFirst:
    """A search that remembers of each state only its digest, and the states of the current path."""

    def __init__(self, world: World, states_max: int, progress: Progress | None, kind: str) -> None:
        self._world: Final = world
        self._states_max: Final[i64] = states_max
        self._progress: Final = progress
        self._kind: Final = kind
        self._seen: Final = Exploration()
        self._visited: set[bytes] = set()
        self._on_path: set[bytes] = set()
        self._stack: list[Frame] = []
        self._full = False

    def run(self, budgets: Budgets) -> Exploration:
        """Search from the first state on."""
        seen = self._seen
        start = self._world.start(budgets.losses, budgets.duplications, budgets.expiries)
        self._enter(start, start.digest())
        while self._stack and seen.finding is None and not self._full:
            frame = self._stack[-1]
            if frame.taken < len(frame.steps):
                self._advance(frame)
            else:
                self._on_path.remove(frame.digest)
                self._stack.pop()
        seen.complete = seen.finding is None and not self._full
        return seen

    def _advance(self, frame: Frame) -> None:
        """Take the next step of the newest state."""
        state = self._world.after(frame.state, frame.steps[frame.taken])
        frame.taken += 1
        self._seen.count_transition()
        if state.verdict is not None:
            self._note(Finding(self._path(), state.verdict))
            return
        digest = state.digest()
        if digest not in self._visited:
            if self._seen.states >= self._states_max:
                self._full = True
            else:
                self._enter(state, digest)
        elif digest in self._on_path:
            # Everything but an arrival uses something up, so packets beget packets in a circle.
            self._note(runs_to_rest(self._world, state, self._path()))

    def _enter(self, state: State, digest: bytes) -> None:
        """Look at a new state."""
        seen = self._seen
        self._visited.add(digest)
        seen.count_state()
        if self._progress is not None and seen.states % PROGRESS_EVERY == 0:
            self._progress(int(seen.states))
        steps = self._world.steps(state)
        if is_quiescent(state, steps):
            seen.quiescent += 1
            self._note(runs_to_rest(self._world, state, self._path()))
        elif len(self._stack) >= PACKETS_MAX:
            self._note(Finding(self._path(), endless(0)))
        self._on_path.add(digest)
        self._stack.append(Frame(state, digest, steps))

    def _path(self) -> list[Step]:
        return [frame.steps[frame.taken - 1] for frame in self._stack]

    def _note(self, finding: Finding | None) -> None:
        if finding is not None and (not self._kind or finding.verdict.kind == self._kind):
            self._seen.finding = finding


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
        steps = world.steps(state)
        if is_quiescent(state, steps) or kind == RESTLESS:
            finding = runs_to_rest(world, state, way_to(ways, number))
            if finding is not None and finding.verdict.kind == kind:
                return finding
        for step in steps:
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
