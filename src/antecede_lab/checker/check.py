"""The model checker: every interleaving of a small program, over the real protocol objects.

`check` either has seen every state that the program can reach with the given faults, and nothing is
wrong in any of them, or it has a failure, minimised: messages, targets and faults are left out one
at a time, as long as the same kind of thing goes wrong; then the shortest way there is looked for.
"""

from typing import Final, final

from antecede.core.catalogue import ProtocolInfo
from antecede.core.errors import LocalError
from antecede_lab.checker.failure_story import Failure, confirmed
from antecede_lab.checker.interleavings import World
from antecede_lab.checker.liveness import Finding
from antecede_lab.checker.programs import Program, Send, objection
from antecede_lab.checker.search import Budgets, Exploration, Progress, explore, shortest

ATTEMPT_STATES_MAX: Final = 100_000
"""An attempt ends after 100,000 states if it has shown nothing wrong."""


def minimised(info: ProtocolInfo, program: Program, budgets: Budgets, found: Finding) -> Failure:
    """The smallest failure of the kind of `found` that leaving things out leads to."""
    kind = found.verdict.kind
    smaller = True
    while smaller:
        smaller = False
        for reduced, faults in attempts(program, budgets):
            finding = failing(info, reduced, faults, kind)
            if finding is not None:
                program, budgets, found = reduced, faults, finding
                smaller = True
                break
    finding = shortest(World(info, program), budgets, kind, ATTEMPT_STATES_MAX)
    if finding is not None:
        found = finding
    return Failure(info, program, budgets, found.steps, found.verdict)


def failing(info: ProtocolInfo, program: Program, budgets: Budgets, kind: str) -> Finding | None:
    """What goes wrong with this program and these faults, if it is of this kind."""
    if objection(info, program):
        return None
    return explore(World(info, program), budgets, ATTEMPT_STATES_MAX, None, kind).finding


def attempts(program: Program, budgets: Budgets) -> list[tuple[Program, Budgets]]:
    """Everything that is one thing smaller."""
    reduced = [(smaller, budgets) for smaller in smaller_programs(program)]
    return reduced + [(program, fewer) for fewer in smaller_budgets(budgets)]


def smaller_programs(program: Program) -> list[Program]:
    """The program without one of its messages, or without one target of one of them."""
    found: list[Program] = []
    for _, send in program.messages:
        candidates = [without_message(program, send.name)]
        if len(send.targets) > 1:
            candidates += [without_target(program, send, target) for target in send.targets]
        for sends in candidates:
            try:
                found.append(Program(program.name, sends))
            except LocalError:  # no program: nothing is left, or someone waits for what never comes
                continue
    return found


def without_message(program: Program, name: str) -> list[list[Send]]:
    """What everyone sends if this message is never sent, and nobody waits for it."""
    return [
        [
            Send(send.name, send.targets, tuple([x for x in send.after if x != name]))
            for send in own
            if send.name != name
        ]
        for own in program.sends
    ]


def without_target(program: Program, smaller: Send, target: int) -> list[list[Send]]:
    """What everyone sends if `smaller` does not go to `target`."""
    targets = tuple([other for other in smaller.targets if other != target])
    return [
        [Send(send.name, targets, send.after) if send is smaller else send for send in own]
        for own in program.sends
    ]


def smaller_budgets(budgets: Budgets) -> list[Budgets]:
    """One fault less of one kind."""
    found: list[Budgets] = []
    if budgets.losses > 0:
        found.append(Budgets(budgets.losses - 1, budgets.duplications, budgets.expiries))
    if budgets.duplications > 0:
        found.append(Budgets(budgets.losses, budgets.duplications - 1, budgets.expiries))
    if budgets.expiries > 0:
        found.append(Budgets(budgets.losses, budgets.duplications, budgets.expiries - 1))
    return found


STATES_MAX: Final = 1_000_000
"""`check` gives up after 1,000,000 distinct states by default."""


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
    """Explore every interleaving of `program` with a limited number of faults.

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
