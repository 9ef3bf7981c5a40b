"""Every interleaving of a small program in which processes crash, and expel each other.

Beside what the network may do, a process may stop without a word, and any process may expel any
other at any moment, dead or alive, as often as the budgets allow. Then an effect may be delivered
although its cause is lost with whoever is gone; what must never happen is that the cause comes
after it. Wherever nothing is left to happen, one that nobody has expelled expels all that are gone;
the rest must hear of it, get everything that they have sent each other, and come to rest.
"""

from array import array
from collections import deque
from hashlib import blake2b
from typing import Final, final

from mypy_extensions import i64

from antecede.core.catalogue import ProtocolInfo
from antecede.core.errors import LocalError
from antecede.core.process import NodeProcess
from antecede_lab.checker.interleavings import first_of_each_rank, including, lowest_bit, without
from antecede_lab.checker.liveness import PACKETS_MAX, ROUNDS_MAX
from antecede_lab.checker.moves import LocalState, Move, Moves, PacketInFlight
from antecede_lab.checker.programs import (
    Program,
    Send,
    addressed_messages,
    awaited_messages,
    first_indices,
    objection,
)
from antecede_lab.checker.search import PROGRESS_EVERY, Exploration, Progress
from antecede_lab.checker.verdicts import (
    MISADDRESSED,
    ORDER,
    RESTLESS,
    STUCK,
    TWICE,
    CheckVerdict,
    in_words,
)

SHORTEST_STATES_MAX: Final = 300_000
"""How many states are looked at for a shorter way to something wrong."""

SUBMIT: Final = 0
ARRIVE: Final = 1
EXPIRE: Final = 2
LOSE: Final = 3
CRASH: Final = 4
EXPEL: Final = 5


@final
class ExpulsionStep:
    """One thing that happens at `process`; for an arrival or a loss, to `flight`."""

    __slots__ = ("flight", "kind", "other", "process")

    def __init__(
        self, kind: i64, process: i64, flight: PacketInFlight | None = None, other: i64 = 0
    ) -> None:
        self.kind: Final[i64] = kind
        self.process: Final[i64] = process
        self.flight: Final = flight
        self.other: Final[i64] = other

    def __repr__(self) -> str:
        flight = self.flight
        if flight is not None:
            verb = "arrives" if self.kind == ARRIVE else "is lost"
            return f"{flight.text} from {flight.source} to {flight.target} {verb}"
        if self.kind == EXPEL:
            return f"process {self.process} expels {self.other}"
        words = {SUBMIT: "submits its next message", CRASH: "crashes", EXPIRE: "hears its timer"}
        return f"process {self.process} {words[self.kind]}"


@final
class Place:
    """One process's part of a state; `delivered` and `past` are sets of messages, as bits."""

    __slots__ = ("delivered", "gone", "local", "past", "submitted")

    def __init__(
        self, local: LocalState, submitted: i64, delivered: i64, past: i64, gone: bool
    ) -> None:
        self.local: Final = local
        self.submitted: Final[i64] = submitted
        self.delivered: Final[i64] = delivered
        self.past: Final[i64] = past
        # Whether it has crashed, or learned that it is expelled.
        self.gone: Final = gone


@final
class FaultBudget:
    """How much may still go wrong."""

    __slots__ = ("crashes", "expulsions", "losses")

    def __init__(self, losses: i64, crashes: i64, expulsions: i64) -> None:
        self.losses: Final[i64] = losses
        self.crashes: Final[i64] = crashes
        self.expulsions: Final[i64] = expulsions


@final
class ExpulsionState:
    """A state of the whole; `expelled` are the processes that anybody has expelled, as bits."""

    __slots__ = ("budget", "expelled", "flights", "pasts", "places", "verdict")

    def __init__(
        self,
        places: list[Place],
        flights: list[PacketInFlight],
        pasts: list[int],
        budget: FaultBudget,
        expelled: i64,
        verdict: CheckVerdict | None = None,
    ) -> None:
        self.places: Final = places
        self.flights: Final = flights
        self.pasts: Final = pasts
        self.budget: Final = budget
        self.expelled: Final[i64] = expelled
        self.verdict: Final = verdict

    def digest(self) -> bytes:
        """Sixteen bytes that tell this state from any other of the same program."""
        budget = self.budget
        key: list[int] = [budget.losses, budget.crashes, budget.expulsions, self.expelled]
        for place in self.places:
            key.append(place.local.id)
            key.append(place.submitted)
            key.append(place.delivered)
            key.append(place.past)
            key.append(1 if place.gone else 0)
        key.extend(self.pasts)
        for flight in self.flights:
            key.append(flight.id)
        return blake2b(array("q", key).tobytes(), digest_size=16).digest()


@final
class ExpulsionWorld:
    """One program on one protocol, with crashes and expulsions."""

    def __init__(self, info: ProtocolInfo, program: Program) -> None:
        reason = objection(info, program)
        if reason:
            raise LocalError(f"cannot run the program {program.name!r}: {reason}")
        process = info.create(0, range(2))
        if not isinstance(process, NodeProcess) or not process.can_expel():
            raise LocalError(f"processes of {info.name} cannot be expelled")
        self.program: Final = program
        self.sends: Final[list[Send]] = [send for _, send in program.messages]
        self._senders: Final[list[int]] = [sender for sender, _ in program.messages]
        self._moves: Final = Moves(info, program)
        self._first: Final = first_indices(program)
        self._addressed: Final = addressed_messages(program)
        self._waits: Final = awaited_messages(program)

    def start(self, losses: int, crashes: int, expulsions: int) -> ExpulsionState:
        """Nothing has happened, and everybody knows everybody."""
        places = [
            Place(self._moves.beginning(me, True), 0, 0, 0, False)
            for me in range(self.program.processes)
        ]
        budget = FaultBudget(losses, crashes, expulsions)
        return ExpulsionState(places, [], [0] * len(self.sends), budget, 0)

    def next_message(self, place: Place) -> i64:
        """The index of the message that this process may submit now, or -1."""
        me = place.local.me
        if place.gone or place.submitted >= len(self.program.sends[me]):
            return -1
        index: i64 = self._first[me] + place.submitted
        waits: i64 = self._waits[index]
        if waits & ~place.delivered or self._moves.submission(place.local, index).refused:
            return -1
        return index

    def steps(self, scene: ExpulsionState) -> list[ExpulsionStep]:
        """Everything that may happen next, in a fixed order."""
        steps = self.plain_steps(scene)
        budget = scene.budget
        for place in scene.places:
            me = place.local.me
            if place.gone:
                continue
            if budget.crashes > 0:
                steps.append(ExpulsionStep(CRASH, me))
            if budget.expulsions > 0:
                for other in scene.places:
                    if other.local.me != me:
                        steps.append(ExpulsionStep(EXPEL, me, None, other.local.me))
        if budget.losses > 0:
            for flight in first_of_each_rank(scene.flights):
                steps.append(ExpulsionStep(LOSE, flight.target, flight))
        return steps

    def plain_steps(self, scene: ExpulsionState) -> list[ExpulsionStep]:
        """Of those the ones without which there is nothing left to happen."""
        steps: list[ExpulsionStep] = []
        for place in scene.places:
            if self.next_message(place) >= 0:
                steps.append(ExpulsionStep(SUBMIT, place.local.me))
        for flight in first_of_each_rank(scene.flights):
            steps.append(ExpulsionStep(ARRIVE, flight.target, flight))
        return steps

    def after(self, scene: ExpulsionState, step: ExpulsionStep) -> ExpulsionState:
        """The state that a step leads to; its verdict says what was wrong with it, if anything."""
        flight = step.flight
        place = scene.places[step.process]
        budget = scene.budget
        if flight is not None:
            flights = without(scene.flights, flight)
            if step.kind == LOSE:
                budget = FaultBudget(budget.losses - 1, budget.crashes, budget.expulsions)
                return ExpulsionState(scene.places, flights, scene.pasts, budget, scene.expelled)
            return self._moved(scene, place, self._moves.arrival(place.local, flight), flights)
        if step.kind == CRASH:
            budget = FaultBudget(budget.losses, budget.crashes - 1, budget.expulsions)
            ended = Place(place.local, place.submitted, place.delivered, place.past, True)
            flights = [x for x in scene.flights if x.target != step.process]
            places = replaced(scene.places, ended)
            return ExpulsionState(places, flights, scene.pasts, budget, scene.expelled)
        if step.kind == EXPEL:
            budget = FaultBudget(budget.losses, budget.crashes, budget.expulsions - 1)
            one: i64 = 1
            expelled = scene.expelled | one << step.other
            decided = ExpulsionState(scene.places, scene.flights, scene.pasts, budget, expelled)
            move = self._moves.expulsion(place.local, step.other)
            return self._moved(decided, place, move, scene.flights)
        if step.kind == EXPIRE:
            return self._moved(scene, place, self._moves.expiry(place.local), scene.flights)
        return self._submitted(scene, place)

    def is_idle(self, place: Place) -> bool:
        """Whether time alone changes nothing for this process."""
        return not place.local.wants_timer or self._moves.expiry(place.local).idle

    def missing(self, scene: ExpulsionState, among: i64) -> CheckVerdict | None:
        """What one of these has sent to another, and it has not delivered."""
        one: i64 = 1
        sent: i64 = 0
        for index, sender in enumerate(self._senders):
            position: i64 = index - self._first[sender]
            if among >> sender & 1 and position < scene.places[sender].submitted:
                sent |= one << index
        for place in scene.places:
            me = place.local.me
            addressed: i64 = self._addressed[me]
            missing = addressed & sent & ~place.delivered
            if among >> me & 1 and missing:
                return CheckVerdict(STUCK, int(me), missing=self.sends[lowest_bit(missing)].name)
        return None

    def _submitted(self, scene: ExpulsionState, place: Place) -> ExpulsionState:
        index = self.next_message(place)
        one: i64 = 1
        pasts = scene.pasts.copy()
        pasts[index] = place.past
        past = place.past | one << index
        counted = Place(place.local, place.submitted + 1, place.delivered, past, False)
        said = ExpulsionState(scene.places, scene.flights, pasts, scene.budget, scene.expelled)
        return self._moved(said, counted, self._moves.submission(place.local, index), scene.flights)

    def _moved(
        self, scene: ExpulsionState, place: Place, move: Move, flights: list[PacketInFlight]
    ) -> ExpulsionState:
        """The state after a move; whoever is gone is sent nothing more."""
        verdict = self._moves.suspicion if move.verdict is None else move.verdict
        delivered = place.delivered
        past = place.past
        one: i64 = 1
        for index in move.deliveries:
            if verdict is None:
                verdict = self._judge(place.local.me, index, past, delivered)
            delivered |= one << index
            before: i64 = scene.pasts[index]
            past |= before | one << index
        for flight in move.transmissions:
            if not scene.places[flight.target].gone:
                flights = including(flights, flight)
        if move.stopped:
            flights = [x for x in flights if x.target != place.local.me]
        now = Place(move.local, place.submitted, delivered, past, move.stopped)
        places = replaced(scene.places, now)
        return ExpulsionState(places, flights, scene.pasts, scene.budget, scene.expelled, verdict)

    def _judge(self, me: i64, index: i64, past: i64, delivered: i64) -> CheckVerdict | None:
        """Is it right that this process delivers a message now, whoever may be gone?"""
        name = self.sends[index].name
        addressed: i64 = self._addressed[me]
        if delivered >> index & 1:
            return CheckVerdict(TWICE, int(me), name)
        if not addressed >> index & 1:
            return CheckVerdict(MISADDRESSED, int(me), name)
        # What it has submitted itself it delivers while it submits it.
        if past >> index & 1 and self._senders[index] != me:
            return CheckVerdict(ORDER, int(me), "an effect of it", name)
        return None


def replaced(places: list[Place], place: Place) -> list[Place]:
    """The places with this one in its process's place."""
    others = places.copy()
    others[place.local.me] = place
    return others


@final
class PartingFailure:
    """The steps that led to something wrong, and what that was."""

    __slots__ = ("program", "protocol", "steps", "verdict")

    def __init__(
        self, protocol: str, program: Program, steps: list[ExpulsionStep], verdict: CheckVerdict
    ) -> None:
        self.protocol: Final = protocol
        self.program: Final = program
        self.steps: Final = steps
        self.verdict: Final = verdict

    def story(self) -> list[str]:
        """The failure in words, a line for each step, the verdict last."""
        lines = [f"{n + 1}. {step}." for n, step in enumerate(self.steps)]
        verdict = f"Verdict: {in_words(self.verdict)}."
        return [f"{self.protocol} runs: {self.program.text}", *lines, verdict]


@final
class PartingResult:
    """How much was explored, and what was wrong. `complete`: every state was seen, and is right."""

    __slots__ = ("complete", "failure", "program", "quiescent", "states", "transitions")

    def __init__(self, program: Program, seen: Exploration, failure: PartingFailure | None) -> None:
        self.program: Final = program
        self.states: Final[int] = seen.states
        self.transitions: Final[int] = seen.transitions
        self.quiescent: Final[int] = seen.quiescent
        self.complete: Final[bool] = seen.complete
        self.failure: Final = failure


def check_expulsions(
    info: ProtocolInfo,
    program: Program,
    losses: int,
    crashes: int,
    expulsions: int,
    states_max: int,
    progress: Progress | None = None,
) -> PartingResult:
    """Explore every interleaving of `program` with limited losses, crashes and expulsions.

    If something is wrong, a shortest way to it is looked for. `LocalError` if the protocol cannot
    run the program, or knows no expulsion.
    """
    if losses < 0 or crashes < 0 or expulsions < 0 or states_max < 1:
        raise LocalError("faults are counted from 0, and states from 1")
    search = PartingSearch(info, program, states_max, progress)
    result = search.run(losses, crashes, expulsions, False)
    if result.failure is None:
        return result
    shorter = PartingSearch(info, program, SHORTEST_STATES_MAX, None)
    again = shorter.run(losses, crashes, expulsions, True)
    return result if again.failure is None else again


@final
class PartingSearch:
    """A search that remembers of each state its digest, and how it was reached."""

    def __init__(
        self, info: ProtocolInfo, program: Program, states_max: int, progress: Progress | None
    ) -> None:
        self._protocol: Final = info.name
        self._world: Final = ExpulsionWorld(info, program)
        self._states_max: Final = states_max
        self._progress: Final = progress
        self._seen: Final = Exploration()
        # The state from which each state was reached, and by which step.
        self._ways: Final[list[tuple[int, ExpulsionStep]]] = [(-1, ExpulsionStep(SUBMIT, 0))]

    def run(self, losses: int, crashes: int, expulsions: int, breadth: bool) -> PartingResult:
        """Look at all states, the newest first, or the oldest: then what is found is shortest."""
        world, seen = self._world, self._seen
        start = world.start(losses, crashes, expulsions)
        visited = {start.digest()}
        waiting = deque([(start, 0)])
        while waiting:
            scene, number = waiting.popleft() if breadth else waiting.pop()
            self._count()
            if not world.plain_steps(scene):
                seen.quiescent += 1
                verdict = settled(world, scene)
                if verdict is not None:
                    return self._failed(self._way_to(number), verdict)
            for step in world.steps(scene):
                after = world.after(scene, step)
                seen.count_transition()
                if after.verdict is not None:
                    return self._failed([*self._way_to(number), step], after.verdict)
                digest = after.digest()
                if digest in visited:
                    continue
                if len(visited) >= self._states_max:
                    return PartingResult(world.program, seen, None)
                visited.add(digest)
                self._ways.append((number, step))
                waiting.append((after, len(self._ways) - 1))
        seen.set_complete()
        return PartingResult(world.program, seen, None)

    def _count(self) -> None:
        self._seen.count_state()
        if self._progress is not None and self._seen.states % PROGRESS_EVERY == 0:
            self._progress(int(self._seen.states))

    def _failed(self, steps: list[ExpulsionStep], verdict: CheckVerdict) -> PartingResult:
        failure = PartingFailure(self._protocol, self._world.program, steps, verdict)
        return PartingResult(self._world.program, self._seen, failure)

    def _way_to(self, number: int) -> list[ExpulsionStep]:
        """The steps from the start to a state."""
        steps: list[ExpulsionStep] = []
        while number > 0:
            number, step = self._ways[number]
            steps.append(step)
        steps.reverse()
        return steps


def settled(world: ExpulsionWorld, scene: ExpulsionState) -> CheckVerdict | None:
    """Let one whom nobody has expelled expel all that are gone or expelled; None if all is well.

    The rest must hear of it, get everything from each other, and come to rest.
    """
    one: i64 = 1
    among: i64 = 0
    for place in scene.places:
        me = place.local.me
        if not place.gone and not scene.expelled >> me & 1:
            among |= one << me
    if among == 0:
        return None
    decides = lowest_bit(among)
    for place in scene.places:
        if not among >> place.local.me & 1:
            scene = world.after(scene, ExpulsionStep(EXPEL, decides, None, place.local.me))
    for _ in range(ROUNDS_MAX):
        arrived = 0
        steps = among_them(world, scene, among)
        while steps and arrived < PACKETS_MAX and scene.verdict is None:
            scene = world.after(scene, steps[0])
            steps = among_them(world, scene, among)
            arrived += 1
        if scene.verdict is not None:
            return scene.verdict
        restless = [
            place
            for place in scene.places
            if among >> place.local.me & 1 and not place.gone and not world.is_idle(place)
        ]
        if not restless:
            return world.missing(scene, among)
        for place in restless:
            scene = world.after(scene, ExpulsionStep(EXPIRE, place.local.me))
    return CheckVerdict(
        RESTLESS, int(restless[0].local.me), detail="there is always one more packet"
    )


def among_them(world: ExpulsionWorld, scene: ExpulsionState, among: i64) -> list[ExpulsionStep]:
    """What may happen among these, the others being cut off."""
    found: list[ExpulsionStep] = []
    for step in world.plain_steps(scene):
        flight = step.flight
        if not among >> step.process & 1:
            continue
        if flight is None or among >> flight.source & 1:
            found.append(step)
    return found
