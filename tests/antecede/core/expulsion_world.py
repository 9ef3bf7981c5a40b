"""Worlds in which processes crash, are cut off, are suspected rightly or wrongly, and expelled.

Everything is a choice of one seed: who submits what, which packet arrives, is lost or comes twice,
who crashes, who expels whom, who knows whom at first. In the end whoever crashed is expelled by
somebody, the expelled are cut off, and the rest must come to rest with nothing lost among them.
"""

from dataclasses import dataclass
from random import Random

from antecede.core import EffectList, NodeProcess, SelfExpelled
from antecede.core.catalogue import ProtocolInfo
from antecede_audit.judging.oracle import check_log
from tests.properties.schedule import STEP_NS, EndlessError, Schedule

STEPS = 220
ROUNDS = 60


@dataclass(frozen=True)
class Judged:
    """What was wrong in a world; nothing, if all is well."""

    order: int
    once: int
    loss: int
    stuck: bool

    def findings(self) -> set[str]:
        """By name."""
        return {name for name, found in vars(self).items() if found}


class World(Schedule):
    """A schedule with crashes and expulsions."""

    def __init__(self, info: ProtocolInfo, processes: int, random: Random) -> None:
        super().__init__(info, processes)
        self.random = random
        self.crashed: set[int] = set()
        self.expelled: set[int] = set()
        self.stopped: set[int] = set()
        for me in self.everyone:
            for other in self.everyone:
                if other != me and random.random() < 0.7:
                    self.node(me).on_met_into(other, 0, EffectList())

    def node(self, me: int) -> NodeProcess:
        process = self.processes[me]
        assert isinstance(process, NodeProcess)
        return process

    def running(self) -> list[int]:
        """Who has neither crashed nor stopped."""
        return [me for me in self.everyone if me not in self.crashed | self.stopped]

    def expel(self, me: int, other: int) -> None:
        self.now_ns += STEP_NS
        outbox = EffectList()
        self.expelled.add(other)
        self.node(me).expel_into(other, self.now_ns, outbox)
        self.perform(me, outbox.effects)
        self.listen(me)

    def listen(self, me: int) -> None:
        """Take the reports of a process."""
        if any(isinstance(report, SelfExpelled) for report in self.node(me).reports()):
            self.stopped.add(me)

    def step(self) -> None:
        """Something happens."""
        random, running = self.random, self.running()
        choice = random.random()
        if choice < 0.25 and running:
            me = random.choice(running)
            others = [process for process in self.everyone if process != me]
            count = 1 if random.random() < 0.7 else random.randint(1, len(others))
            self.submit(me, random.sample(others, count))
            self.listen(me)
        elif choice < 0.88 and self.flights:
            self.carry(random.randrange(len(self.flights)))
        elif choice < 0.97 and running:
            self.expire(random.choice(running))
        elif choice < 0.985 and len(running) > 2:
            me, other = random.sample(running, 2)
            self.expel(me, other)
        elif len(running) > 2 and len(self.crashed) < 2 and random.random() < 0.5:
            self.crashed.add(random.choice(running))

    def carry(self, index: int) -> None:
        """A packet is lost, comes twice, or arrives."""
        fate = self.random.random()
        target = self.flights[index].target
        if target in self.crashed or target in self.stopped or fate < 0.1:
            self.flights.pop(index)
            return
        self.arrive(index, keep=fate > 0.9)
        self.listen(target)

    def settle(self) -> None:
        """The crashed are expelled by somebody, the expelled cut off; the rest comes to rest."""
        survivors = self.survivors()
        for gone in self.everyone:
            if survivors and gone not in survivors:
                # Whoever expelled it may be gone as well, and the news with it.
                self.expel(self.random.choice(survivors), gone)
        # Everybody learns of everybody, so that news find their way.
        for me in survivors:
            for other in survivors:
                if me != other:
                    outbox = EffectList()
                    self.node(me).on_met_into(other, self.now_ns, outbox)
                    self.perform(me, outbox.effects)
        self.come_to_rest(survivors)

    def survivors(self) -> list[int]:
        """Who runs and has never been expelled by anybody."""
        return [me for me in self.running() if me not in self.expelled]

    def come_to_rest(self, survivors: list[int]) -> None:
        for _ in range(ROUNDS):
            steps = 0
            while self.flights:
                index = self.random.randrange(len(self.flights))
                flight = self.flights[index]
                if flight.source not in survivors or flight.target not in survivors:
                    self.flights.pop(index)
                    continue
                self.arrive(index)
                self.listen(flight.target)
                steps += 1
                if steps > 20_000:
                    raise EndlessError("packets without end")
            expired = [self.expire(me) for me in survivors]
            if not any(expired):
                return
        raise EndlessError("timers without end")


def judge(info: ProtocolInfo, seed: int) -> Judged:
    """What is wrong in the world of this seed."""
    random = Random(seed)
    world = World(info, random.randint(3, 6), random)
    stuck = False
    try:
        for _ in range(STEPS):
            world.step()
        world.settle()
    except EndlessError:
        stuck = True
    verdict = check_log(world.log)
    survivors = world.survivors()
    lost = [
        loss
        for loss in verdict.losses
        if loss.target in survivors and loss.message.sender in survivors
    ]
    order = len(verdict.violations) + len(verdict.fifo_breaks)
    return Judged(
        order=order,
        once=len(verdict.duplicates) + len(verdict.inventions),
        loss=0 if stuck else len(lost),
        stuck=stuck,
    )
