"""The blocking send: refused until the last message is acknowledged; deliveries go on meanwhile."""

import pytest

from antecede.core import BufferFull, Deliver, LocalError, Message, RemoteError, Transmit
from antecede.core.retransmission import PATIENCE_NS
from antecede.network_model.faults import Faults
from antecede.network_model.latency import Uniform
from antecede_lab.catalogue import PROTOCOLS
from antecede_lab.protocols.blocking import BlockingProcess
from antecede_lab.protocols.mf import MfAck, MfMessage, MfProcess
from antecede_lab.protocols.newtop import NewtopNull
from antecede_lab.simulator.run import RunResult, simulate
from antecede_lab.simulator.workloads import Poisson
from tests.antecede.core.wrong_on_purpose import changed, goes_wrong
from tests.random_network import play

MS = 1_000_000
BLOCKING = PROTOCOLS["blocking"]


def packet(sender: int, sequence: int, payload: bytes = b"m") -> MfMessage:
    return MfMessage(Message(sender, sequence, payload))


# The rule.


def test_a_submission_is_refused_until_the_last_message_is_acknowledged() -> None:
    alice = BlockingProcess(0, [0, 1, 2])
    assert alice.submit([1], b"a", 0) == [Transmit(1, packet(0, 1, b"a"))]
    before = alice.fingerprint()
    for targets in ([1], [2], [0]):
        with pytest.raises(BufferFull, match="message 1 is not acknowledged"):
            alice.submit(targets, b"b", 0)
    assert alice.fingerprint() == before
    assert alice.buffered() == 1

    assert alice.arrive(1, MfAck(1), 1) == []
    assert alice.buffered() == 0
    assert alice.submit([2], b"b", 1) == [Transmit(2, packet(0, 2, b"b"))]


def test_deliveries_go_on_while_a_message_is_under_way() -> None:
    """Two that send to each other at once would wait for ever if they did not."""
    alice = BlockingProcess(0, [0, 1])
    alice.submit([1], b"a", 0)

    assert alice.arrive(1, packet(1, 1), 0) == [
        Deliver(Message(1, 1, b"m")),
        Transmit(1, MfAck(1)),
    ]


def test_a_message_to_oneself_alone_blocks_nobody() -> None:
    alice = BlockingProcess(0, [0, 1])
    assert alice.submit([0], b"note", 0) == [Deliver(Message(0, 1, b"note"))]
    both = alice.submit([1, 0], b"both", 0)
    assert both == [Transmit(1, packet(0, 2, b"both")), Deliver(Message(0, 2, b"both"))]


def test_a_message_is_delivered_once_but_every_copy_is_acknowledged() -> None:
    bob = BlockingProcess(1, [0, 1])
    ack = Transmit(0, MfAck(4))
    assert bob.arrive(0, packet(0, 4), 0) == [Deliver(Message(0, 4, b"m")), ack]
    assert bob.arrive(0, packet(0, 4), 0) == [ack]
    assert bob.arrive(0, packet(0, 3), 0) == [Transmit(0, MfAck(3))]


def test_what_is_lost_is_transmitted_again_less_and_less_often() -> None:
    alice = BlockingProcess(0, [0, 1])
    alice.submit([1], b"a", 0)
    rung = [
        now_ns // PATIENCE_NS
        for now_ns in range(0, 8 * PATIENCE_NS, PATIENCE_NS // 10)
        if alice.expire(now_ns) == [Transmit(1, packet(0, 1, b"a"))]
    ]
    assert rung == [1, 3, 7]

    alice.arrive(1, MfAck(1), 8 * PATIENCE_NS)
    assert alice.expire(100 * PATIENCE_NS) == []
    assert alice.deadline_ns() is None


@pytest.mark.parametrize("targets", [[1, 2], [], [7], [1, 1]])
def test_targets_that_make_no_sense_are_refused(targets: list[int]) -> None:
    alice = BlockingProcess(0, [0, 1, 2])
    before = alice.fingerprint()
    with pytest.raises(LocalError) as refusal:
        alice.submit(targets, b"", 0)
    assert not isinstance(refusal.value, BufferFull)
    assert alice.fingerprint() == before


def test_packets_that_nobody_can_send_change_nothing() -> None:
    alice = BlockingProcess(0, [0, 1, 2])
    alice.submit([1], b"a", 0)
    before = alice.fingerprint()
    for source, bad in [(2, MfAck(1)), (1, MfAck(2)), (1, MfAck(0)), (0, MfAck(1))]:
        with pytest.raises(RemoteError):
            alice.arrive(source, bad, 0)
    for odd in (packet(2, 1), packet(1, 0), NewtopNull(1)):
        with pytest.raises(RemoteError):
            alice.arrive(1, odd, 0)
    assert alice.fingerprint() == before


def test_a_clone_goes_its_own_way() -> None:
    alice = BlockingProcess(0, [0, 1])
    alice.submit([1], b"a", 0)
    alice.arrive(1, packet(1, 3), 0)
    twin, before = alice.clone(), alice.fingerprint()
    assert twin.expire(PATIENCE_NS) == alice.clone().expire(PATIENCE_NS) != []

    twin.arrive(1, MfAck(1), 0)
    assert twin.fingerprint() != before
    assert alice.fingerprint() == before


# As a whole.


@pytest.mark.parametrize("seed", range(40))
def test_over_a_lossy_network_everything_is_delivered_causally_and_once(seed: int) -> None:
    run = play(BLOCKING, seed)

    assert run.ledger.violations == []
    assert run.ledger.undelivered() == []
    assert run.refused == 0
    assert [process.deadline_ns() for process in run.processes] == [None] * len(run.processes)


def one_way(protocol: str) -> RunResult:
    return simulate(
        protocol,
        Poisson(5, messages=200, interval_ns=MS, seed=4),
        faults=Faults(latency=Uniform(MS // 2, 3 * MS), loss=0.05),
        patience_ns=20 * MS,
        record=True,
    )


def test_it_is_mf_with_the_queue_at_the_caller() -> None:
    """Message for message the same times, though one waits in a buffer and one outside it."""
    blocking, queued = one_way("blocking"), one_way("mf")

    assert blocking.blocked > 50
    assert queued.blocked == 0
    assert blocking.measures is not None
    assert queued.measures is not None
    assert blocking.measures.delays == queued.measures.delays


# It is the process of `mf` that holds one message at most, so that is what is changed.
WRONG_ON_PURPOSE: dict[str, tuple[str, str]] = {
    "takes a message while one is under way": (
        "        check_room(self._buffer.size, self._send_limit)\n",
        "        if self._sequence % 2 == 0:\n"
        "            check_room(self._buffer.size, self._send_limit)\n"
        "        elif remote:\n"
        "            self._buffer = SlidingArray()\n",
    ),
    "believes any acknowledgement": (
        "if self._buffer.size == 0 or sequence < self._buffer.peek().message.sequence:\n",
        "if self._buffer.size == 0:\n",
    ),
    "delivers what comes again": ("if not is_new(message.sequence,", "if is_new(-1,"),
}


@pytest.mark.parametrize("name", WRONG_ON_PURPOSE)
def test_a_wrong_rule_is_caught(name: str) -> None:
    info = changed(BLOCKING, "antecede_lab/protocols/mf.py", "MfProcess", WRONG_ON_PURPOSE[name])

    assert any(goes_wrong(info, seed, send_limit=1) for seed in range(40))
    assert not any(goes_wrong(BLOCKING, seed) for seed in range(10))


def test_it_holds_at_most_one_message_where_mf_holds_many() -> None:
    alice = MfProcess(0, [0, 1])
    for _ in range(3):
        alice.submit([1], b"", 0)
    assert alice.buffered() == 3
