"""The model checker: every interleaving of a small program, over the real protocol objects.

`check` either has seen every state that the program can reach with so many faults, and nothing is
wrong in any of them, or it has a failure: minimised, and ready to be told as a story. What it looks
at is small, but there it leaves nothing to chance.
"""

from typing import Final, final

from antecede.core.catalogue import ProtocolInfo
from antecede.core.errors import LocalError
from antecede_lab.checker.failure_story import Failure, confirmed
from antecede_lab.checker.interleavings import World
from antecede_lab.checker.minimise import minimised
from antecede_lab.checker.programs import Program
from antecede_lab.checker.search import Budgets, Exploration, Progress, explore

STATES_MAX: Final = 1_000_000
"""How many distinct states `check` looks at before it gives up, unless told otherwise."""


@final
class CheckResult:
    """How much was explored, and what was wrong. `complete`: every state was seen, and is right."""

    __slots__ = ("complete", "failure", "program", "quiescent", "states", "transitions")

    def __init__(self, program: Program, seen: Exploration, failure: Failure | None) -> None:
        self.program: Final = program
        self.states: Final[int] = seen.states
        self.transitions: Final[int] = seen.transitions
        self.quiescent: Final[int] = seen.quiescent
        self.complete: Final[bool] = seen.complete
        self.failure: Final = failure

    def __repr__(self) -> str:
        counts = f"{self.states} states, {self.transitions} transitions"
        return f"CheckResult({self.program.name!r}, {counts}, {self.complete}, {self.failure!r})"


def check(
    info: ProtocolInfo,
    program: Program,
    losses: int = 0,
    duplications: int = 0,
    expiries: int = 0,
    states_max: int = STATES_MAX,
    progress: Progress | None = None,
) -> CheckResult:
    """Explore every interleaving of `program` with up to so many faults.

    `losses` and `duplications` are counted in all and used only by protocols made for a lossy
    network; `expiries` are counted for each process, and lie between other steps (where nothing
    else can happen, timers always fire). `progress` is called now and then with the number of
    states. `LocalError` if the protocol cannot run the program.
    """
    if losses < 0 or duplications < 0 or expiries < 0 or states_max < 1:
        raise LocalError("faults are counted from 0, and states from 1")
    budgets = Budgets(losses, duplications, expiries)
    seen = explore(World(info, program), budgets, states_max, progress)
    failure: Failure | None = None
    if seen.finding is not None:
        failure = confirmed(minimised(info, program, budgets, seen.finding))
    return CheckResult(program, seen, failure)
