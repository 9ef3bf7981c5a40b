"""Every interleaving of a small program with expulsions, a crash, a loss or a timer.

A state is the processes, what is under way, how far each has come in its program, and what each has
delivered with everything that happened before it. Searched depth first; equal states once.
"""

from dataclasses import dataclass, field

from antecede.core import Deliver, Effect, EffectList, NodeProcess, Packet, SelfExpelled
from antecede.core.catalogue import ProtocolInfo


@dataclass(frozen=True)
class Send:
    """Submit `name` to `targets`, once `after` is delivered here."""

    name: str
    targets: tuple[int, ...]
    after: str = ""


@dataclass(frozen=True)
class Expel:
    """Expel a process, once `after` is delivered here."""

    process: int
    after: str = ""


@dataclass(frozen=True)
class Crash:
    """Stop without a word."""

    after: str = ""


Step = Send | Expel | Crash


@dataclass
class State:
    """Where everybody is."""

    processes: list[NodeProcess]
    done: list[int]
    delivered: list[list[str]]
    past: list[frozenset[str]]
    causes: dict[str, frozenset[str]]
    flights: list[tuple[int, int, Packet]]
    gone: list[bool]
    timers: int

    def copy(self) -> "State":
        return State(
            [process.clone() for process in self.processes],
            list(self.done),
            [list(names) for names in self.delivered],
            list(self.past),
            dict(self.causes),
            list(self.flights),
            list(self.gone),
            self.timers,
        )

    def key(self) -> object:
        flights = sorted(repr(flight) for flight in self.flights)
        prints = tuple(process.fingerprint() for process in self.processes)
        delivered = tuple(tuple(names) for names in self.delivered)
        return (prints, tuple(self.done), delivered, tuple(flights), tuple(self.gone), self.timers)


@dataclass
class Search:
    """All states of a program."""

    info: ProtocolInfo
    program: list[list[Step]]
    timers: int = 0
    states: int = 0
    wrong: list[str] = field(default_factory=list)

    def run(self, states_max: int) -> bool:
        """Look at everything, or until something is wrong; False if there was more to see."""
        everyone = list(range(len(self.program)))
        processes: list[NodeProcess] = []
        for me in everyone:
            process = self.info.create(me, everyone)
            assert isinstance(process, NodeProcess)
            for other in everyone:
                if other != me:
                    process.on_met_into(other, 0, EffectList())
            processes.append(process)
        nothing: frozenset[str] = frozenset()
        start = State(
            processes, [0] * len(everyone), [[] for _ in everyone], [nothing] * len(everyone),
            {}, [], [False] * len(everyone), self.timers,
        )  # fmt: skip
        todo, seen = [start], {start.key()}
        while todo and not self.wrong:
            state = todo.pop()
            self.states += 1
            if self.states > states_max:
                return False
            for following in self.following(state):
                key = following.key()
                if key not in seen:
                    seen.add(key)
                    todo.append(following)
        return True

    def following(self, state: State) -> list[State]:
        found = []
        for me, steps in enumerate(self.program):
            if not state.gone[me] and state.done[me] < len(steps):
                step = steps[state.done[me]]
                if not step.after or step.after in state.delivered[me]:
                    found.append(self.stepped(state.copy(), me, step))
            if (
                state.timers
                and not state.gone[me]
                and state.processes[me].deadline_ns() is not None
            ):
                found.append(self.rung(state.copy(), me))
        for index in range(len(state.flights)):
            found.append(self.arrived(state.copy(), index))
        return found

    def stepped(self, state: State, me: int, step: Step) -> State:
        state.done[me] += 1
        if isinstance(step, Crash):
            state.gone[me] = True
        elif isinstance(step, Expel):
            outbox = EffectList()
            state.processes[me].expel_into(step.process, 0, outbox)
            self.perform(state, me, outbox.effects)
        else:
            state.causes[step.name] = state.past[me]
            state.past[me] |= {step.name}
            effects = state.processes[me].submit(step.targets, step.name.encode(), 0)
            self.perform(state, me, effects)
        return state

    def rung(self, state: State, me: int) -> State:
        state.timers -= 1
        deadline_ns = state.processes[me].deadline_ns()
        assert deadline_ns is not None, "asked for only where there is one"
        self.perform(state, me, state.processes[me].expire(deadline_ns))
        return state

    def arrived(self, state: State, index: int) -> State:
        source, me, packet = state.flights.pop(index)
        if not state.gone[me]:
            self.perform(state, me, state.processes[me].arrive(source, packet, 0))
        return state

    def perform(self, state: State, me: int, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Deliver):
                self.delivered(state, me, effect.message.payload.decode())
            else:
                state.flights.append((me, int(effect.target), effect.packet))
        if any(isinstance(report, SelfExpelled) for report in state.processes[me].reports()):
            state.gone[me] = True

    def delivered(self, state: State, me: int, name: str) -> None:
        for earlier in state.delivered[me]:
            if name in state.causes[earlier]:
                self.wrong.append(f"{earlier} before {name} at {me}")
        state.delivered[me].append(name)
        state.past[me] |= {name} | state.causes[name]
