"""Psync: messages name what they follow, and what is missing is asked for, of whoever has it."""

import pytest

from antecede.core import BufferFull, Deliver, Effect, LocalError, Message, RemoteError, Transmit
from antecede.core.retransmission import PATIENCE_NS
from antecede.network_model.faults import Faults
from antecede.network_model.latency import Uniform
from antecede_lab.catalogue import PROTOCOLS
from antecede_lab.protocols.mf import MfAck
from antecede_lab.protocols.psync import PsyncAck, PsyncMessage, PsyncProcess, PsyncRequest
from antecede_lab.simulator.run import simulate
from antecede_lab.simulator.workloads import Broadcast
from tests.antecede.core.wrong_on_purpose import changed, goes_wrong
from tests.random_network import play

PSYNC = PROTOCOLS["psync"]
MS = 1_000_000
ALICE, BOB, CAROL = EVERYONE = (0, 1, 2)


def group() -> list[PsyncProcess]:
    return [PsyncProcess(me, EVERYONE) for me in EVERYONE]


def said(sender: PsyncProcess, me: int, payload: bytes = b"m") -> PsyncMessage:
    effect = sender.submit([other for other in EVERYONE if other != me], payload, 0)[0]
    assert isinstance(effect, Transmit)
    assert isinstance(effect.packet, PsyncMessage)
    return effect.packet


def payloads(effects: list[Effect]) -> list[bytes]:
    return [effect.message.payload for effect in effects if isinstance(effect, Deliver)]


# The context graph.


def test_a_message_names_the_leaves_of_its_senders_view() -> None:
    alice, bob, carol = group()
    first, other = said(alice, ALICE), said(carol, CAROL)
    assert first.follows == other.follows == ()
    bob.arrive(ALICE, first, 0)
    bob.arrive(CAROL, other, 0)

    joint = said(bob, BOB)
    assert joint.follows == ((ALICE, 1), (CAROL, 1))
    assert said(bob, BOB).follows == ((BOB, 1),), "nothing else is a leaf any more"
    alice.arrive(CAROL, other, 0)
    alice.arrive(BOB, joint, 0)
    assert said(alice, ALICE).follows == ((BOB, 1),), "what Bob followed is followed"
    assert joint.metadata_integers == 6


def test_who_speaks_in_turn_names_one_message_only() -> None:
    everyone = group()
    for turn in range(9):
        me = turn % 3
        packet = said(everyone[me], me)
        assert len(packet.follows) == (1 if turn else 0)
        for other in EVERYONE:
            if other != me:
                everyone[other].arrive(me, packet, 0)


def test_a_message_waits_for_what_it_follows_and_asks_its_sender_for_it() -> None:
    alice, bob, carol = group()
    first = said(alice, ALICE, b"first")
    bob.arrive(ALICE, first, 0)
    second = said(bob, BOB, b"second")

    request = PsyncRequest(((ALICE, 1),))
    assert carol.arrive(BOB, second, 0) == [Transmit(BOB, request)]
    assert bob.arrive(CAROL, request, 0) == [Transmit(CAROL, first)]
    assert carol.arrive(BOB, first, 0) == [
        Deliver(Message(ALICE, 1, b"first")),
        Deliver(Message(BOB, 1, b"second")),
        Transmit(ALICE, PsyncAck(1)),
        Transmit(BOB, PsyncAck(1)),
    ]
    assert carol.arrive(ALICE, first, 0) == [Transmit(ALICE, PsyncAck(1))]


def test_what_was_missed_is_traced_back_step_by_step() -> None:
    alice, _, carol = group()
    packets = [said(alice, ALICE, b"%d" % number) for number in range(3)]

    assert carol.arrive(ALICE, packets[2], 0) == [Transmit(ALICE, PsyncRequest(((ALICE, 2),)))]
    assert alice.arrive(CAROL, PsyncRequest(((ALICE, 2),)), 0) == [Transmit(CAROL, packets[1])]
    assert carol.arrive(ALICE, packets[1], 0) == [Transmit(ALICE, PsyncRequest(((ALICE, 1),)))]
    assert payloads(carol.arrive(ALICE, packets[0], 0)) == [b"0", b"1", b"2"]


def test_a_request_that_was_lost_is_repeated_when_the_message_comes_again() -> None:
    alice, bob, carol = group()
    bob.arrive(ALICE, said(alice, ALICE), 0)
    second = said(bob, BOB)
    asked = carol.arrive(BOB, second, 0)

    assert asked != []
    assert carol.arrive(BOB, second, PATIENCE_NS) == asked


def test_everybody_must_be_addressed() -> None:
    alice, _, _ = group()
    with pytest.raises(LocalError, match="only broadcasts"):
        alice.submit([BOB], b"", 0)
    assert alice.submit([BOB, ALICE, CAROL], b"x", 0)[-1] == Deliver(Message(ALICE, 1, b"x"))


# Acknowledgements: the last message, and forgetting.


def test_a_message_that_nothing_follows_is_transmitted_again() -> None:
    alice, _, _ = group()
    packet = said(alice, ALICE)
    alice.arrive(BOB, PsyncAck(1), 0)

    assert alice.expire(PATIENCE_NS) == [Transmit(CAROL, packet)]
    alice.arrive(CAROL, PsyncAck(1), PATIENCE_NS)
    assert alice.expire(100 * PATIENCE_NS) == []
    assert alice.deadline_ns() is None
    assert alice.buffered() == 0


def test_what_all_have_delivered_is_kept_no_longer() -> None:
    alice, bob, _ = group()
    first = said(alice, ALICE)
    bob.arrive(ALICE, first, 0)
    said(bob, BOB)
    bob.arrive(ALICE, PsyncAck(1), 0)
    request = PsyncRequest(((ALICE, 1),))
    assert bob.arrive(CAROL, request, 0) == [Transmit(CAROL, first)]

    bob.arrive(CAROL, PsyncAck(1), 0)
    assert bob.arrive(CAROL, request, 0) == []


def test_only_so_much_is_kept() -> None:
    bob = PsyncProcess(BOB, EVERYONE, keep_limit=2)
    alice = PsyncProcess(ALICE, EVERYONE, send_limit=3)
    packets = [said(alice, ALICE) for _ in range(3)]
    for packet in packets:
        bob.arrive(ALICE, packet, 0)

    assert bob.arrive(CAROL, PsyncRequest(((ALICE, 1),)), 0) == []
    assert bob.arrive(CAROL, PsyncRequest(((ALICE, 2),)), 0) == [Transmit(CAROL, packets[1])]
    with pytest.raises(BufferFull):
        said(alice, ALICE)


# As a whole.


@pytest.mark.parametrize("seed", range(40))
def test_over_a_lossy_network_everything_is_delivered_causally_and_once(seed: int) -> None:
    run = play(PSYNC, seed)

    assert run.ledger.violations == []
    assert run.ledger.undelivered() == []
    assert run.refused == 0
    assert [process.deadline_ns() for process in run.processes] == [None] * len(run.processes)


def test_requests_repair_what_is_lost_long_before_timers_do() -> None:
    """Busy traffic and a patience of ten seconds: without requests a loss would cost that much."""
    result = simulate(
        "psync",
        Broadcast(5, messages=300, interval_ns=2 * MS, seed=1),
        faults=Faults(latency=Uniform(MS // 2, MS), loss=0.05),
        patience_ns=10_000 * MS,
    )
    assert result.measures is not None
    assert result.leftovers.empty
    assert {totals.kind for totals in result.measures.packets} == {"ack", "message", "request"}
    assert result.measures.delays.latency.quantile(0.95) < 20 * MS


WRONG_ON_PURPOSE: dict[str, tuple[str, str]] = {
    "names nothing": ("tuple(sorted(self._leaves.items()))", "()"),
    "names only its own": (
        "tuple(sorted(self._leaves.items()))",
        "tuple([leaf for leaf in self._leaves.items() if leaf[0] == me])",
    ),
    "forgets its leaves when somebody else speaks": (
        "        self._leaves[sender] = sequence\n",
        "        self._leaves = {sender: sequence}\n",
    ),
    "acknowledges what is not delivered": (
        "        self._room.hold(packet, sender, sequence, missing)\n",
        "        self._room.hold(packet, sender, sequence, missing)\n"
        "        if source == sender:\n"
        "            return [Transmit(source, PsyncAck(sequence))]\n",
    ),
    "does not answer what comes again": (
        "return [Transmit(source, PsyncAck(delivered))] if source == sender else []",
        "return []",
    ),
    "forgets what one has acknowledged": (
        "            if one.acked < lowest:\n",
        "            if one.acked < lowest and one is other:\n",
    ),
}


@pytest.mark.parametrize("name", WRONG_ON_PURPOSE)
def test_a_wrong_rule_is_caught(name: str) -> None:
    info = changed(PSYNC, "antecede_lab/protocols/psync.py", "PsyncProcess", WRONG_ON_PURPOSE[name])

    assert any(goes_wrong(info, seed) for seed in range(60))


# Packets that no correct process sends.

FORGERIES = {
    "what nobody asked for": PsyncMessage(Message(CAROL, 1, b""), ()),
    "the receiver's own": PsyncMessage(Message(BOB, 1, b""), ()),
    "a stranger's": PsyncMessage(Message(9, 1, b""), ()),
    "message number zero": PsyncMessage(Message(ALICE, 0, b""), ()),
    "follows itself": PsyncMessage(Message(ALICE, 2, b""), ((ALICE, 2),)),
    "follows the receiver's future": PsyncMessage(Message(ALICE, 1, b""), ((BOB, 2),)),
    "follows a stranger": PsyncMessage(Message(ALICE, 1, b""), ((9, 1),)),
    "follows message number zero": PsyncMessage(Message(ALICE, 1, b""), ((CAROL, 0),)),
    "follows out of order": PsyncMessage(Message(ALICE, 3, b""), ((CAROL, 1), (ALICE, 1))),
    "an acknowledgement of the future": PsyncAck(2),
    "an acknowledgement of nothing": PsyncAck(0),
    "asks for the future": PsyncRequest(((BOB, 2),)),
    "asks for a stranger's": PsyncRequest(((9, 1),)),
    "another protocol's": MfAck(1),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_packet_changes_nothing(name: str) -> None:
    bob = PsyncProcess(BOB, EVERYONE)
    said(bob, BOB)
    before = bob.fingerprint()

    with pytest.raises(RemoteError):
        bob.arrive(ALICE, FORGERIES[name], 0)
    assert bob.fingerprint() == before


def test_of_two_versions_of_a_liars_message_the_deliverable_one_is_delivered_once() -> None:
    """Alice tells Carol something else than Bob; what Bob says next must not wait for ever."""
    _, bob, carol = group()
    true = PsyncMessage(Message(ALICE, 1, b"true"), ())
    bob.arrive(ALICE, true, 0)
    answer = said(bob, BOB, b"answer")
    carol.arrive(ALICE, PsyncMessage(Message(ALICE, 1, b"false"), ((BOB, 1),)), 0)

    assert carol.arrive(BOB, answer, 0) == [], "it waits, and so does the false one, for each other"
    asked = carol.arrive(BOB, answer, 0)
    assert asked == [Transmit(BOB, PsyncRequest(((ALICE, 1),)))]
    assert payloads(carol.arrive(BOB, true, 0)) == [b"true", b"answer"]
