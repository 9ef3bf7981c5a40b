"""The checker against the most stupid way to do the same: try every schedule, merge nothing.

The checker keeps each local state once, writes sets as bits and forgets what can no longer matter.
Here, every process is cloned at every step, sets are sets, and every schedule is followed to its
end; then both must have seen equally many states.
"""

from collections.abc import Iterator

import pytest

from antecede.core.catalogue import ProtocolInfo
from antecede.core.effects import Deliver, Effect
from antecede.core.packets import Packet
from antecede.core.process import CausalProcess
from antecede_lab.catalogue import PROTOCOLS
from antecede_lab.checker.check import check
from antecede_lab.checker.programs import Program, parse
from tests.antecede_lab.checker.careless import Eager, info_of

LATER_NS = 10**13


class Everything:
    """One state of the whole, and every state that follows from it."""

    def __init__(self, info: ProtocolInfo, program: Program, faults: tuple[int, int, int]) -> None:
        everyone = list(range(program.processes))
        self.fifo = info.network == "fifo"
        self.causal = info.ordering == "causal"
        self.program = program
        self.processes: list[CausalProcess] = [info.create(me, everyone) for me in everyone]
        self.now_ns = [0 for _ in everyone]
        self.submitted = [0 for _ in everyone]
        self.delivered: list[frozenset[str]] = [frozenset() for _ in everyone]
        self.past: list[frozenset[str]] = [frozenset() for _ in everyone]
        self.past_of: dict[str, frozenset[str]] = {}
        self.flights: list[tuple[int, int, Packet]] = []
        self.losses, self.duplications = faults[:2] if info.network == "lossy" else (0, 0)
        self.expiries = [faults[2] for _ in everyone]

    def copy(self) -> "Everything":
        twin = Everything.__new__(Everything)
        twin.__dict__.update(self.__dict__)
        twin.processes = [process.clone() for process in self.processes]
        for name in ("now_ns", "submitted", "delivered", "past", "flights", "expiries"):
            setattr(twin, name, getattr(self, name).copy())
        twin.past_of = self.past_of.copy()
        return twin

    def following(self) -> Iterator["Everything"]:
        yield from self.after_submissions()
        yield from self.after_expiries()
        for place, flight in enumerate(self.flights):
            if self.fifo and flight[:2] in [earlier[:2] for earlier in self.flights[:place]]:
                continue
            arrived = self.copy()
            del arrived.flights[place]
            source, target, packet = flight
            now_ns = arrived.now_ns[target]
            arrived.take(target, arrived.processes[target].arrive(source, packet, now_ns))
            yield arrived
            if self.losses:
                lost = self.copy()
                del lost.flights[place]
                lost.losses -= 1
                yield lost
            if self.duplications:
                doubled = self.copy()
                doubled.flights.append(flight)
                doubled.duplications -= 1
                yield doubled

    def after_submissions(self) -> Iterator["Everything"]:
        for me, own in enumerate(self.program.sends):
            position = self.submitted[me]
            if position == len(own) or not self.delivered[me].issuperset(own[position].after):
                continue
            after = self.copy()
            send = own[position]
            after.submitted[me] += 1
            after.past_of[send.name] = self.past[me]
            after.past[me] |= {send.name}
            name = send.name.encode()
            after.take(me, after.processes[me].submit(send.targets, name, self.now_ns[me]))
            yield after

    def after_expiries(self) -> Iterator["Everything"]:
        for me, process in enumerate(self.processes):
            if self.expiries[me] == 0 or process.deadline_ns() is None:
                continue
            after = self.copy()
            after.now_ns[me] += LATER_NS
            effects = after.processes[me].expire(after.now_ns[me])
            if effects or after.processes[me].fingerprint() != process.fingerprint():
                after.expiries[me] -= 1
                after.take(me, effects)
                yield after

    def take(self, me: int, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Deliver):
                name = effect.message.payload.decode()
                self.delivered[me] |= {name}
                self.past[me] |= {name} | self.past_of[name]
            else:
                self.flights.append((me, int(effect.target), effect.packet))

    def key(self) -> tuple[object, ...]:
        """What tells this state from others; a message that arrived everywhere has no say."""
        pending = {
            send.name
            for _, send in self.program.messages
            if not all(send.name in self.delivered[target] for target in send.targets)
        }
        flights = [f"{source} {target} {packet!r}" for source, target, packet in self.flights]
        if self.fifo:
            flights.sort(key=lambda text: text.split()[:2])
        past_of = {name: past & pending for name, past in self.past_of.items() if name in pending}
        return (
            tuple(process.fingerprint() for process in self.processes),
            tuple(self.submitted),
            tuple(self.delivered),
            tuple(past & pending for past in self.past) if self.causal else (),
            frozenset(past_of.items()) if self.causal else (),
            tuple(flights if self.fifo else sorted(flights)),
            (self.losses, self.duplications, *self.expiries),
        )


def states_of_all_schedules(
    info: ProtocolInfo, program: Program, faults: tuple[int, int, int]
) -> int:
    seen: set[tuple[object, ...]] = set()
    stack = [Everything(info, program, faults)]
    while stack:
        state = stack.pop()
        seen.add(state.key())
        stack.extend(state.following())
    return len(seen)


TRIANGLE = "0 sends a to 2, b to 1; 1 sends c to 2 after b"


@pytest.mark.parametrize(
    ("protocol", "text", "faults"),
    [
        ("hybrid", TRIANGLE, (0, 0, 0)),
        ("hybrid", "0 sends a to 2; 1 sends b to 2 after c; 2 sends c to 1 after a", (1, 0, 0)),
        ("hybrid", "0 sends a to 1+2; 1 sends b to 2 after a", (0, 0, 0)),
        ("hybrid", "0 sends a to 1; 1 sends b to 0 after a", (0, 1, 0)),
        ("hybrid", "0 sends a to 1", (1, 0, 1)),
        ("hybrid-csps", "0 sends a to 1, b to 0+1", (1, 0, 0)),
        ("paper-sps", "0 sends a to 1, b to 2", (1, 0, 0)),
        ("fifo", "0 sends a to 1, b to 1", (1, 0, 0)),
        ("none", "0 sends a to 1, b to 1", (0, 1, 0)),
        ("rst", "0 sends a to 2, b to 1; 1 sends c to 2 after b; 2 sends d to 1", (0, 0, 0)),
        ("newtop", "0 sends a to 1+2; 1 sends b to 0+2", (0, 0, 0)),
        ("tree", "0 sends a to 1+2, b to 1+2; 2 sends c to 0+1", (0, 0, 0)),
    ],
)
def test_the_checker_sees_exactly_the_states_that_all_schedules_reach(
    protocol: str, text: str, faults: tuple[int, int, int]
) -> None:
    info, program = PROTOCOLS[protocol], parse(text)
    result = check(info, program, *faults)
    assert result.complete
    assert result.states == states_of_all_schedules(info, program, faults)


def test_what_a_process_has_indirectly_heard_of_tells_states_apart() -> None:
    """b has arrived and x is on its way to 3: whether 1 now knows of x, only its past tells."""
    info, program = info_of(Eager, ordering="causal"), parse("0 sends b to 1; 2 sends x to 0+3")
    result = check(info, program)
    assert result.complete
    assert result.states == states_of_all_schedules(info, program, (0, 0, 0))
