"""Baldoni: vector clocks of two bits each, because everybody has acknowledged what is older."""

from random import Random
from typing import Any

import pytest

from antecede.core import BufferFull, Deliver, LocalError, Message, Packet, RemoteError, Transmit
from antecede.core.catalogue import ProtocolInfo
from antecede.network_model.faults import Faults
from antecede.network_model.latency import Constant
from antecede_lab.catalogue import PROTOCOLS
from antecede_lab.checker.check import check
from antecede_lab.checker.programs import parse
from antecede_lab.protocols.baldoni import BaldoniAck, BaldoniMessage, BaldoniProcess
from antecede_lab.protocols.mf import MfAck
from antecede_lab.simulator.run import simulate
from antecede_lab.simulator.workloads import Broadcast
from antecede_lab.wire.codec import metadata_size
from tests.antecede.core.wrong_on_purpose import changed, goes_wrong
from tests.properties.schedule import CALM, Schedule, broken_promises, run_randomly

BALDONI = PROTOCOLS["baldoni"]
EVERYONE = (0, 1, 2)
MS = 1_000_000


def packet(sender: int, sequence: int, *counters: int) -> BaldoniMessage:
    return BaldoniMessage(Message(sender, sequence, b"m"), counters)


def acknowledged(process: BaldoniProcess, sequence: int) -> None:
    for other in (1, 2):
        process.arrive(other, BaldoniAck(sequence), 0)


# The rule.


def test_a_submission_is_refused_until_everybody_has_acknowledged_the_last_message() -> None:
    alice = BaldoniProcess(0, EVERYONE)
    news = BaldoniMessage(Message(0, 1, b"news"), (1, 0, 0))
    assert alice.submit([1, 2], b"news", 0) == [Transmit(1, news), Transmit(2, news)]
    before = alice.fingerprint()
    with pytest.raises(BufferFull, match="1 has not acknowledged message 1"):
        alice.submit([1, 2], b"more", 0)
    assert alice.fingerprint() == before

    assert alice.arrive(1, BaldoniAck(1), 0) == []
    assert alice.buffered() == 1
    with pytest.raises(BufferFull, match="2 has not acknowledged message 1"):
        alice.submit([1, 2], b"more", 0)
    assert alice.arrive(2, BaldoniAck(1), 0) == []
    assert alice.buffered() == 0
    assert len(alice.submit([1, 2], b"more", 0)) == 2


def test_a_message_is_acknowledged_when_it_is_delivered_not_when_it_arrives() -> None:
    carol = BaldoniProcess(2, EVERYONE)
    assert carol.arrive(1, packet(1, 1, 1, 1, 0), 0) == []
    assert carol.arrive(0, packet(0, 1, 1, 0, 0), 0) == [
        Deliver(Message(0, 1, b"m")),
        Transmit(0, BaldoniAck(1)),
        Deliver(Message(1, 1, b"m")),
        Transmit(1, BaldoniAck(1)),
    ]


def test_counters_start_again_after_the_modulus() -> None:
    alice = BaldoniProcess(0, EVERYONE)
    sent = []
    for sequence in range(1, 8):
        effect = alice.submit([1, 2], b"m", 0)[0]
        assert isinstance(effect, Transmit)
        sent.append(effect.packet)
        acknowledged(alice, sequence)
    assert [it.counters[0] for it in sent if isinstance(it, BaldoniMessage)] == [
        1, 2, 0, 1, 2, 0, 1,
    ]  # fmt: skip


def test_a_counter_takes_two_bits_where_a_vector_clock_grows() -> None:
    """A hundred processes after a million rounds: 25 bytes of counters, and a few more."""
    late = BaldoniMessage(Message(0, 1_000_000, b""), tuple([2] * 100))
    assert metadata_size(late) == 1 + 1 + 3 + 2 + 25
    assert late.metadata_integers == 101


def test_who_is_alone_broadcasts_to_oneself() -> None:
    process = BaldoniProcess(0, (0,))
    assert process.submit((0,), b"one", 0) == [Deliver(Message(0, 1, b"one"))]
    assert process.submit((0,), b"two", 0) == [Deliver(Message(0, 2, b"two"))]


def test_only_broadcasts_can_be_submitted() -> None:
    with pytest.raises(LocalError, match="all 2 others"):
        BaldoniProcess(0, EVERYONE).submit([1], b"", 0)


@pytest.mark.parametrize("options", [{"window": 0}, {"modulus": 1}, {"window": 3, "modulus": 3}])
def test_windows_and_moduli_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(LocalError):
        BaldoniProcess(0, EVERYONE, **options)


def test_what_no_correct_process_sends_changes_nothing() -> None:
    alice = BaldoniProcess(0, EVERYONE)
    alice.submit([1, 2], b"m", 0)
    alice.arrive(1, BaldoniAck(1), 0)
    alice.arrive(1, packet(1, 1, 1, 1, 1), 0)
    before = alice.fingerprint()
    bad: list[tuple[int, Packet]] = [
        (1, BaldoniAck(1)),
        (1, BaldoniAck(2)),
        (2, BaldoniAck(2)),
        (7, BaldoniAck(1)),
        (0, BaldoniAck(1)),
        (1, packet(1, 1, 1, 1, 1)),
        (1, packet(1, 2, 1, 2, 1)),
        (1, packet(2, 2, 1, 2, 1)),
        (2, packet(2, 2, 1, 0, 2)),
        (2, packet(2, 1, 1, 0)),
        (2, packet(2, 1, 1, 3, 1)),
        (2, packet(2, 1, 1, -1, 1)),
        (2, packet(2, 1, 1, 0, 2)),
        (2, packet(2, 1, 2, 0, 1)),
        (2, MfAck(1)),
    ]
    for source, wrong in bad:
        with pytest.raises(RemoteError):
            alice.arrive(source, wrong, 0)
    assert alice.fingerprint() == before


# The causal window: how far counters lie from what is delivered.


def widths(seed: int, window: int) -> set[int]:
    """The distances that were met between a counter that arrived and what was delivered."""
    random = Random(seed)
    wide = 1 << 12
    schedule = Schedule(BALDONI, random.randint(2, 5), window=window, modulus=wide)
    met: set[int] = set()
    arrive = schedule.arrive

    def watched(index: int, *, keep: bool = False) -> None:
        flight = schedule.flights[index]
        receiver = schedule.processes[flight.target]
        assert isinstance(receiver, BaldoniProcess)
        if isinstance(flight.packet, BaldoniMessage):
            for process, counter in enumerate(flight.packet.counters):
                if process not in (flight.source, flight.target):
                    ahead = (counter - receiver._delivered[process]) % wide
                    met.add(ahead - wide if ahead > wide // 2 else ahead)
        arrive(index, keep=keep)

    schedule.arrive = watched  # type: ignore[method-assign]
    run_randomly(schedule, random, messages=60, eagerness=0.7, trouble=CALM)
    assert broken_promises(BALDONI, schedule) == []
    return met


@pytest.mark.parametrize("window", [1, 2, 3])
def test_counters_lie_within_a_window_on_either_side(window: int) -> None:
    met = set[int]().union(*[widths(seed, window) for seed in range(60)])
    assert met == set(range(-window, window + 1))


@pytest.mark.parametrize("window", [1, 2, 3])
def test_so_many_values_are_enough(window: int) -> None:
    for seed in range(40):
        assert not goes_wrong(BALDONI, seed, window=window), f"seed {seed}"


@pytest.mark.parametrize("window", [1, 2, 3])
def test_one_value_less_is_not(window: int) -> None:
    assert any(goes_wrong(BALDONI, seed, window=window, modulus=2 * window) for seed in range(200))


def with_options(**options: object) -> ProtocolInfo:
    return ProtocolInfo(
        "baldoni, extended",
        BaldoniProcess,
        ordering="causal",
        multicast=True,
        broadcast_only=True,
        network="fifo",
        paper=BALDONI.paper,
        options=options,
    )


def test_the_extensions_are_found_to_stop_by_search_too() -> None:
    """Everything that can happen with few messages: the checker has the shortest way to it."""
    race = parse("0 sends a to 1+2; 1 sends b to 0+2; 1 sends c to 0+2; 1 sends d to 0+2")
    assert check(BALDONI, race, states_max=60_000).failure is None
    for options in ({"window": 2, "modulus": 3}, {"carried_acks": True}):
        found = check(with_options(**options), race, states_max=60_000).failure
        assert found is not None, options


def test_throughput_is_one_message_per_round_trip_to_the_farthest() -> None:
    """A hundred messages of five, at once: twenty round trips of two milliseconds."""
    burst = Broadcast(5, messages=100, interval_ns=1_000, seed=1)
    result = simulate("baldoni", burst, faults=Faults(latency=Constant(MS), fifo=True))
    assert result.leftovers.empty
    assert result.blocked > 50


WRONG_ON_PURPOSE: dict[str, tuple[str, str]] = {
    "acknowledges nothing but what came last": (
        "if isinstance(effect, Deliver) and not",
        "if effect is effects[0] and isinstance(effect, Deliver) and not",
    ),
    "takes a message while one is unacknowledged": (
        "if self._sequence - acknowledged >= self._window:",
        "if self._sequence - acknowledged > self._window:",
    ),
    "takes what is ahead for what is past": (
        "if process not in (sender, self._members.me) and 1 <= ahead <= self._window:",
        "if False and process != sender and ahead:",
    ),
    "takes what is past for what is ahead": (
        "1 <= ahead <= self._window:",
        "1 <= ahead:",
    ),
    "forgets what others have sent": (
        "tuple([count % self._modulus for count in self._delivered.values()])",
        "tuple([count % self._modulus if process == self._members.me else 0"
        " for process, count in self._delivered.items()])",
    ),
}


@pytest.mark.parametrize("name", WRONG_ON_PURPOSE)
def test_a_wrong_rule_is_caught(name: str) -> None:
    wrong = WRONG_ON_PURPOSE[name]
    info = changed(BALDONI, "antecede_lab/protocols/baldoni.py", "BaldoniProcess", wrong)
    assert any(goes_wrong(info, seed) for seed in range(60))
