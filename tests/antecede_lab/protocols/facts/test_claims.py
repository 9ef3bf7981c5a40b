"""Two ends of one protocol: with nothing to say it is the ordered rule, with no limit it is RST."""

from random import Random

import pytest

from antecede.core import CausalProcess, Effect, Message, Packet, Transmit
from antecede.core.packets import Ack, DataPacket, Permit
from antecede_lab.catalogue import PROTOCOLS
from antecede_lab.protocols.facts.packets import (
    FactsAck,
    FactsMessage,
    FactsPermit,
    PastReportField,
)
from tests.timed_network import Delays, TimedNetwork, units

NOTHING_TO_SAY = {"facts": 0, "filter_bits": 0, "watermarks": 0, "exceptions": 0}
NO_LIMIT = 1_000_000
LATER = PastReportField(1, (), [], 1)
"""What a message says that has no facts and no filter but one for all."""


class OrderedBeside(CausalProcess):
    """`hybrid`, with `hybrid-facts` told the same, and every decision compared."""

    def __init__(self, me: int, everyone: list[int]) -> None:
        self.me = me
        self.ordered = PROTOCOLS["hybrid"].create(me, everyone)
        self.facts = PROTOCOLS["hybrid-facts"].create(me, everyone, **NOTHING_TO_SAY)
        self.decisions = 0

    def submit(self, targets: list[int], payload: bytes, now_ns: int) -> list[Effect]:  # type: ignore[override]  # tests give lists
        effects = self.ordered.submit(targets, payload, now_ns)
        return self.compared(effects, self.facts.submit(targets, payload, now_ns))

    def arrive(self, source: int, packet: Packet, now_ns: int) -> list[Effect]:
        effects = self.ordered.arrive(source, packet, now_ns)
        said = as_facts(packet)
        return self.compared(effects, self.facts.arrive(source, said, now_ns))

    def compared(self, effects: list[Effect], others: list[Effect]) -> list[Effect]:
        ordered = sorted(map(decision, effects))
        assert sorted(map(decision, others)) == ordered
        self.decisions += len(ordered)
        return effects

    def clone(self) -> "OrderedBeside":
        raise NotImplementedError

    def fingerprint(self) -> bytes:
        raise NotImplementedError


def as_facts(packet: Packet) -> Packet:
    """A packet of `hybrid` as `hybrid-facts` sends it when it has nothing to say."""
    if isinstance(packet, DataPacket):
        report = LATER if packet.flagged else None
        return FactsMessage(packet.carried, packet.previous, [], report)
    if isinstance(packet, Ack):
        return FactsAck(packet.sequence)
    assert isinstance(packet, Permit)
    return FactsPermit(packet.sequence)


def decision(effect: Effect) -> tuple[object, ...]:
    """What is delivered, sent, flagged, acknowledged or permitted, whoever decided it."""
    if not isinstance(effect, Transmit):
        return ("deliver", str(effect.message))
    packet, target = effect.packet, effect.target
    if isinstance(packet, DataPacket):
        return ("message", target, packet.carried.sequence, packet.previous, packet.flagged)
    if isinstance(packet, FactsMessage):
        flagged = packet.report is not None
        return ("message", target, packet.carried.sequence, packet.previous, flagged)
    assert isinstance(packet, (Ack, Permit, FactsAck, FactsPermit))
    return (packet.kind, target, packet.sequence)


def ordered_run(seed: int) -> int:
    """A random run over a network that reorders and repeats; how many decisions were compared."""
    random = Random(seed)
    everyone = list(range(random.randint(2, 6)))
    processes = [OrderedBeside(me, everyone) for me in everyone]
    flying: list[tuple[int, int, Packet]] = []
    left = random.randint(20, 80)
    eagerness = random.choice([0.1, 0.3, 0.6])
    while left or flying:
        if left and (not flying or random.random() < eagerness):
            left -= 1
            me = random.choice(everyone)
            targets = random.sample(everyone, random.randint(1, len(everyone)))
            targets = targets if random.random() < 0.5 else targets[:1]
            effects = processes[me].submit(targets, b"", 0)
        else:
            index = random.randrange(len(flying))
            packet = flying[index] if random.random() < 0.1 else flying.pop(index)
            source, me = packet[0], packet[1]
            effects = processes[me].arrive(source, packet[2], 0)
        flying += [(me, e.target, e.packet) for e in effects if isinstance(e, Transmit)]
    return sum(process.decisions for process in processes)


def test_with_nothing_to_say_it_takes_the_decisions_of_the_ordered_rule() -> None:
    assert sum(ordered_run(seed) for seed in range(20)) > 3_000


@pytest.mark.long
def test_with_nothing_to_say_it_takes_the_decisions_of_the_ordered_rule_in_many_runs() -> None:
    assert sum(ordered_run(seed) for seed in range(20, 320)) > 60_000


def deliveries(name: str, seed: int, **options: object) -> set[tuple[int, int, bytes]]:
    """When and where each message is delivered; the same copies take the same time, whoever."""
    random = Random(seed)
    everyone = range(random.randint(3, 7))
    process = {me: PROTOCOLS[name].create(me, everyone, **options) for me in everyone}
    delays = Delays(usual_ns=units(0.7))
    network = TimedNetwork(process, delays, judge=False)
    for number in range(random.randint(30, 90)):
        source = random.choice(everyone)
        targets = random.sample(everyone, random.randint(1, len(everyone)))
        targets = targets if random.random() < 0.4 else targets[:1]
        payload = b"%d" % number
        for target in targets:
            delays.of_copies[payload, target] = units(random.expovariate(1))
        network.submit_at(units(random.uniform(0, 12)), source, targets, payload)
    network.run(units(200))
    return {
        (it.time_ns, it.process, it.payload) for it in network.happenings if it.what == "delivered"
    }


def same_as_rst(seeds: range) -> int:
    compared = 0
    for seed in seeds:
        optimal = deliveries("rst", seed)
        patient = {"patience_ns": units(1_000), "stall_ns": units(1_000)}
        assert deliveries("hybrid-facts", seed, facts=NO_LIMIT, **patient) == optimal, seed
        compared += len(optimal)
    return compared


def test_with_no_limit_it_delivers_when_rst_does() -> None:
    assert same_as_rst(range(12)) > 500


@pytest.mark.long
def test_with_no_limit_it_delivers_when_rst_does_in_many_runs() -> None:
    assert same_as_rst(range(12, 132)) > 10_000


def test_with_a_budget_it_delivers_later() -> None:
    """The comparison above can fail."""
    tight = [deliveries("hybrid-facts", seed, facts=1) for seed in range(5)]

    assert tight != [deliveries("rst", seed) for seed in range(5)]


def test_a_message_waits_only_for_what_was_said() -> None:
    """The triangle: Bob's answer overtakes, and Carol knows what to wait for."""
    alice, bob, carol = (PROTOCOLS["hybrid-facts"].create(me, range(3)) for me in range(3))
    slow = alice.submit([2], b"first", 0)
    relay = alice.submit([1], b"relay", 0)
    answer = [e for e in bob.arrive(0, packet_of(relay), 0) if isinstance(e, Transmit)]
    assert [effect.packet.kind for effect in answer] == ["ack"]

    overtaking = bob.submit([2], b"answer", 0)
    assert delivered(carol.arrive(1, packet_of(overtaking), 0)) == []
    assert delivered(carol.arrive(0, packet_of(slow), 0)) == [b"first", b"answer"]


def packet_of(effects: list[Effect]) -> Packet:
    (effect,) = effects
    assert isinstance(effect, Transmit)
    return effect.packet


def delivered(effects: list[Effect]) -> list[bytes]:
    found: list[Message] = [e.message for e in effects if not isinstance(e, Transmit)]
    return [message.payload for message in found]
