"""A process that kept its records goes on after a crash: nothing lost, doubled or out of order.

Every step is a write: its records, and the effects that wait for them. A crash comes before the
write (the step never happened), or after it and before the packets leave. Now and then several
steps share a write. Whatever is left out of the records is noticed.
"""

from collections.abc import Callable
from random import Random

import pytest

from antecede.core import Deliver, Effect, EffectList, LocalError, NodeProcess, Transmit
from antecede.core.catalogue import ProtocolInfo
from antecede.core.hybrid.records import DELIVERED, EXPELLED, NUMBERED, POSITION, SUBMITTED
from antecede.core.packets import Ack, DataPacket, Message, Permit
from antecede.core.records import RecordReader, encode_record
from antecede.eventlog.log import SUBMITTED as SUBMITTED_EVENT
from antecede_audit.judging.oracle import check_log
from antecede_lab.catalogue import PROTOCOLS
from tests.properties.schedule import STEP_NS, EndlessError, Schedule
from tests.seeds import seeds

RULES = ["hybrid", "hybrid-sps", "hybrid-csps"]
every_rule = pytest.mark.parametrize("name", RULES)

Filter = Callable[[list[bytes]], list[bytes]]


def everything(records: list[bytes]) -> list[bytes]:
    return records


class Restarting(Schedule):
    """A schedule in which processes crash and come back from their journals."""

    def __init__(self, info: ProtocolInfo, processes: int, random: Random, kept: Filter) -> None:
        super().__init__(info, processes)
        self.random = random
        self.kept = kept
        self.crashes = 0
        self.journals = [kept(self.node(me).snapshot()) for me in self.everyone]
        self.unwritten: list[list[tuple[list[Effect], tuple[int, list[int]] | None]]] = [
            [] for _ in self.everyone
        ]

    def node(self, me: int) -> NodeProcess:
        process = self.processes[me]
        assert isinstance(process, NodeProcess)
        return process

    def submit(self, sender: int, targets: list[int]) -> None:
        self.now_ns += STEP_NS
        # Nobody knows of a message that was lost with the step in which it was submitted.
        number = self.written_submissions(sender) + 1
        effects = self.node(sender).submit(targets, b"%d.%d" % (sender, number), self.now_ns)
        self.unwritten[sender].append((effects, (number, targets)))
        self.after_step(sender)

    def written_submissions(self, me: int) -> int:
        waiting = [1 for _, submission in self.unwritten[me] if submission is not None]
        return self.submitted[me] + len(waiting)

    def perform(self, me: int, effects: list[Effect]) -> None:
        self.unwritten[me].append((effects, None))
        self.after_step(me)

    def after_step(self, me: int) -> None:
        """Write at once, later, or never."""
        fate = self.random.random()
        if fate < self.crash_share / 2:
            self.restart(me)
        elif fate < 0.8 or self.crash_share == 0:
            self.write_down(me)
            if self.random.random() < self.crash_share:
                self.restart(me)

    crash_share = 0.04

    def write_down(self, me: int) -> None:
        """The records are on disk; the effects of these steps happen, or the crash comes first."""
        self.journals[me] += self.kept(self.node(me).changes())
        silent = self.random.random() < self.crash_share
        steps, self.unwritten[me] = self.unwritten[me], []
        for effects, submission in steps:
            if submission is not None:
                self.submitted[me] = submission[0]
                for target in submission[1]:
                    self.write(me, SUBMITTED_EVENT, (me, submission[0]), target)
            # What is delivered is in the journal, whoever hands it over in the end.
            if silent:
                effects = [effect for effect in effects if isinstance(effect, Deliver)]
            super().perform(me, effects)
        if silent:
            self.restart(me)

    def restart(self, me: int) -> None:
        self.crashes += 1
        self.unwritten[me] = []
        fresh = self.info.create(me, self.everyone)
        assert isinstance(fresh, NodeProcess)
        self.processes[me] = fresh
        effects = fresh.restore(self.journals[me], self.now_ns)
        # A new journal begins with a snapshot, now and then.
        snapshot = self.kept(fresh.snapshot())
        if self.random.random() < 0.5:
            self.journals[me] = snapshot
        super().perform(me, effects)


def run(info: ProtocolInfo, seed: int, kept: Filter = everything) -> Restarting:
    random = Random(seed)
    schedule = Restarting(info, random.randint(3, 5), random, kept)
    left = 40
    while left or schedule.flights:
        if left and (not schedule.flights or random.random() < 0.3):
            left -= 1
            me = random.choice(schedule.everyone)
            others = [process for process in schedule.everyone if process != me]
            count = 1 if random.random() < 0.7 else random.randint(1, len(others))
            to_self = [me] if random.random() < 0.1 else []
            schedule.submit(me, random.sample(others, count) + to_self)
        elif random.random() < 0.1:
            schedule.flights.pop(random.randrange(len(schedule.flights)))
        else:
            index = random.randrange(len(schedule.flights))
            schedule.arrive(index, keep=random.random() < 0.1)
        if random.random() < 0.03:
            schedule.expire(random.choice(schedule.everyone))
    rest(schedule)
    return schedule


def rest(schedule: Restarting) -> None:
    """No more crashes: everything is written, carried and repeated until nothing is left."""
    schedule.crash_share = 0.0
    for _ in range(100):
        for me in schedule.everyone:
            schedule.write_down(me)
        steps = 0
        while schedule.flights:
            schedule.arrive(schedule.random.randrange(len(schedule.flights)))
            steps += 1
            if steps > 20_000:
                raise EndlessError("packets without end")
        expired = [schedule.expire(me) for me in schedule.everyone]
        if not any(expired):
            return
    raise EndlessError("timers without end")


def wrong(info: ProtocolInfo, seed: int, kept: Filter = everything) -> set[str]:
    try:
        schedule = run(info, seed, kept)
    except EndlessError:
        return {"stuck"}
    verdict = check_log(schedule.log)
    found = {
        "order": verdict.violations + verdict.fifo_breaks,
        "once": verdict.duplicates + verdict.inventions,
        "loss": verdict.losses,
        "refused": [1] * schedule.refused,
    }
    return {name for name, findings in found.items() if findings}


@every_rule
def test_crashes_lose_double_and_reorder_nothing(name: str) -> None:
    found = {seed: wrong(PROTOCOLS[name], seed) for seed in seeds(60)}

    assert {seed: names for seed, names in found.items() if names} == {}


def test_there_are_crashes() -> None:
    assert sum(run(PROTOCOLS["hybrid"], seed).crashes for seed in range(20)) > 100


@pytest.mark.long
@every_rule
def test_crashes_of_a_long_campaign_lose_double_and_reorder_nothing(name: str) -> None:
    found = {seed: wrong(PROTOCOLS[name], seed) for seed in range(2_000)}

    assert {seed: names for seed, names in found.items() if names} == {}


# What is left out is noticed.


def without(*kinds: int) -> Filter:
    return lambda records: [one for one in records if RecordReader(one).kind not in kinds]


def rewritten(kind: int, index: int, count: int) -> Filter:
    """Records of this kind with one of their first numbers replaced by zero."""

    def one(written: bytes) -> bytes:
        reader = RecordReader(written)
        if reader.kind != kind:
            return written
        numbers = [reader.number() for _ in range(count)]
        numbers[index] = 0
        return encode_record(kind, numbers, reader.rest())

    return lambda records: [one(written) for written in records]


LEFT_OUT: dict[str, Filter] = {
    "ids of messages to oneself": without(NUMBERED),
    "unacknowledged messages": without(SUBMITTED),
    "what was delivered": without(DELIVERED),
    "positions of messages among the permits": rewritten(SUBMITTED, 1, 2),
    "missing permits": rewritten(DELIVERED, 2, 3),
    "the next position": without(POSITION),
}


@pytest.mark.parametrize("item", LEFT_OUT)
def test_whatever_is_left_out_is_noticed(item: str) -> None:
    info = PROTOCOLS["hybrid"]

    assert any(noticed(info, seed, LEFT_OUT[item]) for seed in range(400))


def noticed(info: ProtocolInfo, seed: int, kept: Filter) -> bool:
    try:
        return bool(wrong(info, seed, kept))
    except (AssertionError, KeyError, IndexError):
        return True


# Single steps.

ALICE, BOB, CAROL = range(3)


def process(me: int = ALICE) -> NodeProcess:
    made = PROTOCOLS["hybrid"].create(me, [ALICE, BOB, CAROL])
    assert isinstance(made, NodeProcess)
    return made


def test_nothing_is_kept_before_the_first_snapshot() -> None:
    alice = process()
    alice.submit([BOB], b"", 0)
    assert alice.changes() == []
    alice.snapshot()
    alice.submit([BOB], b"", 0)
    assert len(alice.changes()) == 1
    assert alice.changes() == []


def test_a_restored_process_transmits_what_is_not_acknowledged_and_holds_back_the_rest() -> None:
    bob = process(BOB)
    records = bob.snapshot()
    bob.submit([CAROL], b"one", 0)
    bob.submit([CAROL], b"two", 0)
    bob.arrive(CAROL, Ack(1), 0)
    bob.arrive(ALICE, DataPacket(Message(ALICE, 1, b""), 0, True), 0)
    bob.submit([CAROL], b"held", 0)
    records += bob.changes()

    again = process(BOB)
    assert again.restore(records, 0) == [
        # Whether it needed one is not known any more; one too many does no harm.
        Transmit(CAROL, Permit(1)),
        Transmit(CAROL, DataPacket(Message(BOB, 2, b"two"), 1, False)),
    ]
    assert again.arrive(ALICE, Permit(1), 0) == [
        Transmit(CAROL, DataPacket(Message(BOB, 3, b"held"), 2, False))
    ]
    assert again.receive_position(ALICE) == (1, 0)
    assert (again.buffered(), again.buffered_bytes(), again.oldest_unacked()) == (2, 7, 2)


def test_a_snapshot_of_the_restored_restores_the_same() -> None:
    schedule = run(PROTOCOLS["hybrid"], 5)
    for me in schedule.everyone:
        twin = process_of(schedule, me)
        twin.restore(schedule.node(me).snapshot(), 0)
        third = process_of(schedule, me)
        third.restore(twin.snapshot(), 0)
        assert third.fingerprint() == twin.fingerprint()


def process_of(schedule: Restarting, me: int) -> NodeProcess:
    made = PROTOCOLS["hybrid"].create(me, schedule.everyone)
    assert isinstance(made, NodeProcess)
    return made


def test_the_expelled_stay_expelled() -> None:
    alice = process()
    records = alice.snapshot()
    alice.submit([BOB, CAROL], b"", 0)
    alice.expel_into(BOB, 0, EffectList())
    records += alice.changes()

    again = process()
    effects = again.restore(records, 0)
    assert [repr(effect) for effect in effects] == [
        "Transmit(2, ExpulsionNotice([1], DataPacket(Message(0, 1, b''), 0, False)))",
        "Transmit(2, ExpulsionNotice([1], None))",
    ]
    assert again.unacked_by(BOB) == 0

    forgetful = process()
    forgetful.restore(without(EXPELLED)(records), 0)
    assert forgetful.unacked_by(BOB) == 1, "the expelled would be listened to again"


def test_only_a_fresh_process_can_be_restored_and_only_from_records() -> None:
    alice = process()
    alice.submit([BOB], b"", 0)
    with pytest.raises(LocalError, match="only a fresh process"):
        alice.restore([], 0)
    for bad, why in ((b"", "empty"), (b"\x7f", "none of ours"), (b"\x03\x80", "cut short")):
        with pytest.raises(LocalError, match=why):
            process().restore([bad], 0)


@pytest.mark.parametrize("order", ["fifo", "none"])
def test_the_controls_cannot_be_written_down(order: str) -> None:
    control = PROTOCOLS[order].create(ALICE, [ALICE, BOB])
    assert isinstance(control, NodeProcess)
    with pytest.raises(LocalError, match="cannot be written down"):
        control.snapshot()
    with pytest.raises(LocalError, match="cannot be restored"):
        control.restore([], 0)
