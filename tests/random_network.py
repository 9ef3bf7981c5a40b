"""Random schedules over the network that a protocol needs, judged by the definition.

`fifo` and `reliable` carry every packet exactly once, in order per pair or in any order; `lossy`
also loses and repeats. `play` lets processes say random things while packets travel, then stops the
faults and carries on until nothing moves any more.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from antecede.core import BufferFull, CausalProcess, Deliver, Effect, Packet, RemoteError
from antecede.core.catalogue import Network, ProtocolInfo
from tests.papers.carrying import Ledger


@dataclass(eq=False)
class Letter:
    """A packet under way."""

    source: int
    target: int
    packet: Packet


class RandomNetwork:
    """Processes 0, 1, ... and the packets between them, carried as chance has it."""

    def __init__(
        self, processes: Sequence[CausalProcess], network: Network, random: Random
    ) -> None:
        self.processes = processes
        self.ledger = Ledger()
        self.now_ns = 0
        self.refused = 0
        self.kinds: list[str] = []
        self.flying: list[Letter] = []
        self._network = network
        self._random = random
        self._sequences = [0] * len(processes)

    def submit(self, source: int, targets: Sequence[int]) -> None:
        """Let `source` send something, if it has room."""
        try:
            effects = self.processes[source].submit(targets, b"hello", self.now_ns)
        except BufferFull:
            return
        self._sequences[source] += 1
        self.ledger.submitted(source, self._sequences[source], targets)
        self._perform(source, effects)

    def carry_one(self, faults: bool) -> None:
        """Something happens to one of the packets under way."""
        letter = self._choose()
        fate = self._random.random()
        if faults and self._network == "lossy" and fate < 0.3:
            if fate < 0.15:
                self.flying.remove(letter)
            else:
                self.flying.append(Letter(letter.source, letter.target, letter.packet))
            return
        self.flying.remove(letter)
        process = self.processes[letter.target]
        try:
            effects = process.arrive(letter.source, letter.packet, self.now_ns)
        except RemoteError:
            self.refused += 1
            return
        self._perform(letter.target, effects)

    def ring(self, source: int) -> bool:
        """Let time pass until the timers of `source` do something; False if they never will."""
        process = self.processes[source]
        while (deadline_ns := process.deadline_ns()) is not None:
            self.now_ns = max(self.now_ns, deadline_ns)
            effects = process.expire(self.now_ns)
            if effects:
                self._perform(source, effects)
                return True
        return False

    def settle(self, timers: bool = True) -> None:
        """Without faults, carry everything and ring every timer until nothing moves any more."""
        for _ in range(1000):
            while self.flying:
                self.carry_one(faults=False)
            moved = [self.ring(me) for me in range(len(self.processes)) if timers]
            if not any(moved):
                return
        raise AssertionError(f"it never goes quiet: {self.kinds[-20:]}")

    def _choose(self) -> Letter:
        letter = self._random.choice(self.flying)
        if self._network != "fifo":
            return letter
        pair = letter.source, letter.target
        return next(it for it in self.flying if (it.source, it.target) == pair)

    def _perform(self, process: int, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Deliver):
                self.ledger.deliver(process, effect.message)
            else:
                self.kinds.append(effect.packet.kind)
                self.flying.append(Letter(process, int(effect.target), effect.packet))


def play(
    info: ProtocolInfo,
    seed: int,
    *,
    network: Network | None = None,
    timers: bool = True,
    **options: object,
) -> RandomNetwork:
    """A run of 2 to 5 processes; over another network than it needs, if a test wants that."""
    random = Random(seed)
    count = random.randint(2, 5)
    group = [info.create(me, range(count), **options) for me in range(count)]
    run = RandomNetwork(group, network or info.network, random)
    talkative = random.choice([0.1, 0.3, 0.6])
    for _ in range(random.randint(20, 150)):
        roll = random.random()
        if roll < talkative or not run.flying:
            source = random.randrange(count)
            run.submit(source, random_targets(info, random, source, count))
        elif timers and roll > 0.97:
            run.ring(random.randrange(count))
        else:
            run.carry_one(faults=True)
    run.settle(timers)
    return run


def random_targets(info: ProtocolInfo, random: Random, source: int, count: int) -> list[int]:
    """As many as the protocol allows, now and then oneself among them or alone."""
    others = [process for process in range(count) if process != source]
    most = len(others) if info.multicast else 1
    least = len(others) if info.broadcast_only else 1
    targets = random.sample(others, random.randint(least, most))
    to_self = random.random()
    if to_self < 0.05 and not info.broadcast_only:
        return [source]
    if to_self < 0.15:
        targets.insert(random.randint(0, len(targets)), source)
    return targets
