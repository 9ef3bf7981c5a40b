"""MF: one message in transit, everything else waits; and why that does not extend to multicast."""

from collections.abc import Sequence
from typing import Self

import pytest

from antecede.core import (
    BufferFull,
    CausalProcess,
    Deliver,
    Effect,
    LocalError,
    Message,
    Packet,
    RemoteError,
    Transmit,
)
from antecede.core.catalogue import ProtocolInfo
from antecede.core.retransmission import PATIENCE_NS
from antecede_lab.catalogue import PROTOCOLS
from antecede_lab.protocols.mf import MfAck, MfMessage, MfProcess, is_new
from antecede_lab.protocols.newtop import NewtopNull
from tests.random_network import play
from tests.timed_network import Delays, TimedNetwork, units

MF = PROTOCOLS["mf"]
SEEDS = range(80)


def packet(sender: int, sequence: int, payload: bytes = b"m") -> MfMessage:
    return MfMessage(Message(sender, sequence, payload))


@pytest.mark.parametrize("seed", SEEDS)
def test_over_a_lossy_network_everything_is_delivered_causally_and_once(seed: int) -> None:
    run = play(MF, seed)

    assert run.ledger.violations == []
    assert run.ledger.undelivered() == []
    assert run.refused == 0
    assert [p.buffered() for p in run.processes if isinstance(p, MfProcess)] == [0] * len(
        run.processes
    )
    assert [p.deadline_ns() for p in run.processes] == [None] * len(run.processes)


def test_the_next_message_leaves_when_the_one_before_is_acknowledged() -> None:
    alice = MfProcess(0, [0, 1, 2])
    assert alice.submit([1], b"a", 0) == [Transmit(1, packet(0, 1, b"a"))]
    assert alice.submit([2], b"b", 0) == []
    assert alice.submit([1], b"c", 0) == []

    assert alice.arrive(1, MfAck(1), 1) == [Transmit(2, packet(0, 2, b"b"))]
    assert alice.arrive(2, MfAck(2), 2) == [Transmit(1, packet(0, 3, b"c"))]
    assert alice.arrive(1, MfAck(3), 3) == []
    assert alice.buffered() == 0


def test_a_message_is_delivered_once_but_every_copy_is_acknowledged() -> None:
    bob = MfProcess(1, [0, 1])
    ack = Transmit(0, MfAck(4))
    assert bob.arrive(0, packet(0, 4), 0) == [Deliver(Message(0, 4, b"m")), ack]
    assert bob.arrive(0, packet(0, 4), 0) == [ack]
    assert bob.arrive(0, packet(0, 3), 0) == [Transmit(0, MfAck(3))]
    assert is_new(5, 4)
    assert not is_new(4, 4)


def test_a_stale_acknowledgement_releases_nothing() -> None:
    alice = MfProcess(0, [0, 1])
    for payload in (b"a", b"b", b"c"):
        alice.submit([1], payload, 0)
    alice.arrive(1, MfAck(1), 1)
    before = alice.fingerprint()
    assert alice.arrive(1, MfAck(1), 2) == []
    assert alice.fingerprint() == before


def test_what_is_lost_is_transmitted_again_less_and_less_often() -> None:
    alice = MfProcess(0, [0, 1])
    alice.submit([1], b"a", 0)
    alice.submit([1], b"b", 0)
    rung = []
    for now_ns in range(0, 8 * PATIENCE_NS, PATIENCE_NS // 10):
        if alice.expire(now_ns) == [Transmit(1, packet(0, 1, b"a"))]:
            rung.append(now_ns // PATIENCE_NS)
    assert rung == [1, 3, 7]

    alice.arrive(1, MfAck(1), 8 * PATIENCE_NS)
    alice.arrive(1, MfAck(2), 8 * PATIENCE_NS)
    assert alice.expire(100 * PATIENCE_NS) == []
    assert alice.deadline_ns() is None


def test_an_acknowledgement_makes_the_timer_patient_afresh() -> None:
    alice = MfProcess(0, [0, 1])
    alice.submit([1], b"a", 0)
    alice.submit([1], b"b", 0)
    alice.expire(PATIENCE_NS)
    alice.arrive(1, MfAck(1), 3 * PATIENCE_NS // 2)
    assert alice.expire(5 * PATIENCE_NS // 2 - 1) == []
    assert alice.expire(5 * PATIENCE_NS // 2) == [Transmit(1, packet(0, 2, b"b"))]


def test_messages_to_oneself_do_not_queue_and_take_a_number() -> None:
    alice = MfProcess(0, [0, 1])
    alice.submit([1], b"a", 0)
    assert alice.submit([0], b"note", 0) == [Deliver(Message(0, 2, b"note"))]
    assert alice.submit([1, 0], b"both", 0) == [Deliver(Message(0, 3, b"both"))]
    assert alice.arrive(1, MfAck(1), 0) == [Transmit(1, packet(0, 3, b"both"))]


@pytest.mark.parametrize("targets", [[1, 2], [], [7], [1, 1]])
def test_targets_that_make_no_sense_are_refused(targets: list[int]) -> None:
    alice = MfProcess(0, [0, 1, 2])
    before = alice.fingerprint()
    with pytest.raises(LocalError):
        alice.submit(targets, b"", 0)
    assert alice.fingerprint() == before


def test_a_full_buffer_says_so() -> None:
    alice = MfProcess(0, [0, 1], send_limit=2)
    alice.submit([1], b"", 0)
    alice.submit([1], b"", 0)
    with pytest.raises(BufferFull):
        alice.submit([1], b"", 0)
    alice.arrive(1, MfAck(1), 0)
    alice.submit([1], b"", 0)


def test_acknowledgements_that_nobody_can_send_are_refused() -> None:
    alice = MfProcess(0, [0, 1, 2])
    alice.submit([1], b"a", 0)
    alice.submit([2], b"b", 0)
    before = alice.fingerprint()
    for source, bad in [(2, MfAck(1)), (2, MfAck(2)), (1, MfAck(3)), (1, MfAck(0)), (0, MfAck(1))]:
        with pytest.raises(RemoteError):
            alice.arrive(source, bad, 0)
    for odd in (packet(2, 1), packet(1, 0), NewtopNull(1)):
        with pytest.raises(RemoteError):
            alice.arrive(1, odd, 0)
    assert alice.fingerprint() == before


def test_a_clone_goes_its_own_way() -> None:
    alice = MfProcess(0, [0, 1])
    alice.submit([1], b"a", 0)
    alice.submit([1], b"b", 0)
    alice.arrive(1, packet(1, 3), 0)
    twin = alice.clone()
    before = alice.fingerprint()
    assert twin.fingerprint() == before
    assert twin.expire(PATIENCE_NS) == alice.clone().expire(PATIENCE_NS) != []

    twin.arrive(1, MfAck(1), 0)
    assert twin.fingerprint() != before
    assert alice.fingerprint() == before


class SendToAllAndWait(CausalProcess):
    """Wrong on purpose: MF with a copy to every target, waiting for all their acknowledgements."""

    def __init__(self, me: int, processes: Sequence[int]) -> None:
        self._me = me
        self._everyone = processes
        self._buffer: list[tuple[Message, list[int]]] = []
        self._sequence = 0

    def submit(self, targets: Sequence[int], payload: bytes, now_ns: int) -> list[Effect]:  # noqa: ARG002 - no timers
        self._sequence += 1
        message = Message(self._me, self._sequence, payload)
        remote = [target for target in targets if target != self._me]
        to_self: list[Effect] = [Deliver(message)] if self._me in targets else []
        if not remote:
            return to_self
        self._buffer.append((message, remote))
        return (self._copies() if len(self._buffer) == 1 else []) + to_self

    def arrive(self, source: int, packet: Packet, now_ns: int) -> list[Effect]:  # noqa: ARG002 - no timers
        if isinstance(packet, MfMessage):
            return [Deliver(packet.carried), Transmit(source, MfAck(packet.carried.sequence))]
        self._buffer[0][1].remove(source)
        if self._buffer[0][1]:
            return []
        self._buffer.pop(0)
        return self._copies()

    def _copies(self) -> list[Effect]:
        if not self._buffer:
            return []
        message, targets = self._buffer[0]
        return [Transmit(target, MfMessage(message)) for target in targets]

    def clone(self) -> Self:
        raise AssertionError("no model checker here")

    def fingerprint(self) -> bytes:
        raise AssertionError("no model checker here")


NAIVE = ProtocolInfo(
    "mf-multicast",
    SendToAllAndWait,
    ordering="none",
    multicast=True,
    network="reliable",
    paper="wrong on purpose",
)


def test_sending_to_all_and_waiting_for_all_is_not_causal_multicast() -> None:
    """Process 1 answers the fast copy while the slow one is still on its way to 2."""
    delays = Delays(of_copies={(b"m", 2): units(50)})
    network = TimedNetwork({me: NAIVE.create(me, range(3)) for me in range(3)}, delays)
    network.submit_at(0, 0, [1, 2], b"m")
    network.submit_at(units(2), 1, [2], b"x")
    network.run(units(100))

    assert network.when("delivered", b"x", 2) == [units(3)]
    assert network.when("delivered", b"m", 2) == [units(50)]
    assert network.ledger.violations == ["(1, 1) overtakes (0, 1) at 2"]


def test_sending_to_all_and_waiting_for_all_often_fails_in_random_runs() -> None:
    runs = [play(NAIVE, seed) for seed in SEEDS]

    assert all(run.ledger.undelivered() == [] for run in runs)
    assert sum(run.ledger.violations != [] for run in runs) > len(runs) // 4
