"""Saturn: what travels directly is delivered in the order of its labels, which go along a tree."""

import pytest

from antecede.core import Deliver, LocalError, Message, Packet, RemoteError, Transmit
from antecede_lab.catalogue import PROTOCOLS
from antecede_lab.protocols.mf import MfAck
from antecede_lab.protocols.saturn import SaturnData, SaturnLabel, SaturnProcess
from tests.antecede.core.wrong_on_purpose import changed, goes_wrong
from tests.random_network import play
from tests.timed_network import Delays, TimedNetwork, units

SATURN = PROTOCOLS["saturn"]
LINE = {0: 1, 2: 1}
"""0 - 1 - 2, rooted in the middle."""


def data(sender: int, sequence: int) -> SaturnData:
    return SaturnData(Message(sender, sequence, b"m"))


def deliver(sender: int, sequence: int) -> Deliver:
    return Deliver(Message(sender, sequence, b"m"))


@pytest.mark.parametrize("seed", range(80))
def test_over_fifo_links_everything_is_delivered_causally(seed: int) -> None:
    run = play(SATURN, seed)

    assert run.ledger.violations == []
    assert run.ledger.undelivered() == []
    assert run.refused == 0


def test_a_message_leaves_directly_and_its_label_along_the_tree() -> None:
    """The default tree over 0..6 has 1 and 2 below 0, 3 and 4 below 1, 5 and 6 below 2."""
    origin = SaturnProcess(3, range(7))
    assert origin.submit([6, 4, 3], b"m", 0) == [
        Transmit(1, SaturnLabel(3, 1, (4, 6))),
        Transmit(6, data(3, 1)),
        Transmit(4, data(3, 1)),
        deliver(3, 1),
    ]
    relay = SaturnProcess(1, range(7))
    assert relay.arrive(3, SaturnLabel(3, 1, (4, 6)), 0) == [
        Transmit(4, SaturnLabel(3, 1, (4,))),
        Transmit(0, SaturnLabel(3, 1, (6,))),
    ]


def test_a_message_waits_for_its_label_and_a_label_for_its_message() -> None:
    early = SaturnProcess(2, range(3), parents=LINE)
    assert early.arrive(0, data(0, 1), 0) == []
    assert early.arrive(1, SaturnLabel(0, 1, (2,)), 0) == [deliver(0, 1)]

    late = SaturnProcess(2, range(3), parents=LINE)
    assert late.arrive(1, SaturnLabel(0, 1, (2,)), 0) == []
    assert late.arrive(0, data(0, 1), 0) == [deliver(0, 1)]


def test_messages_are_delivered_in_the_order_of_their_labels() -> None:
    process = SaturnProcess(2, range(3), parents=LINE)
    process.arrive(1, SaturnLabel(0, 1, (2,)), 0)
    process.arrive(1, SaturnLabel(1, 1, (2,)), 0)
    assert process.arrive(1, data(1, 1), 0) == []
    assert process.arrive(0, data(0, 1), 0) == [deliver(0, 1), deliver(1, 1)]


def test_a_large_message_holds_up_those_behind_its_label_even_if_they_are_unrelated() -> None:
    """0 sends 2 something that takes 30 on its way; 1, which knows nothing of it, has to wait."""
    processes = {me: SaturnProcess(me, range(3), parents=LINE) for me in range(3)}
    network = TimedNetwork(processes, Delays(of_copies={(b"large", 2): units(30)}))
    network.submit_at(0, 0, [2], b"large")
    network.submit_at(units(2), 1, [2], b"unrelated")
    network.run(units(40))

    assert network.ledger.violations == []
    delivered = {it.payload: it.time_ns for it in network.happenings if it.what == "delivered"}
    assert delivered == {b"large": units(30), b"unrelated": units(30)}


def test_labels_over_links_that_reorder_are_not_causal() -> None:
    runs = [play(SATURN, seed, network="reliable") for seed in range(80)]

    assert any("overtakes" in it for run in runs for it in run.ledger.violations)


def test_a_label_has_no_more_than_a_tree_needs_and_a_message_nothing_but_its_id() -> None:
    assert SaturnLabel(3, 9, (4, 6)).metadata_integers == 4
    assert data(3, 9).metadata_integers == 1


@pytest.mark.parametrize("parents", [{}, {1: 0, 2: 9}, {1: 2, 2: 1}])
def test_a_table_that_is_no_tree_is_refused(parents: dict[int, int]) -> None:
    with pytest.raises(LocalError):
        SaturnProcess(0, range(3), parents=parents)


def test_what_nobody_correct_sends_is_refused() -> None:
    """At 1 of 0 - 1 - 2."""
    middle = SaturnProcess(1, range(3), parents=LINE, receive_limit=2)
    middle.arrive(0, data(0, 5), 0)
    middle.arrive(0, SaturnLabel(0, 4, (2,)), 0)
    middle.arrive(0, SaturnLabel(0, 5, (1,)), 0)
    middle.arrive(0, SaturnLabel(0, 6, (1,)), 0)
    middle.arrive(0, data(0, 7), 0)
    before = middle.fingerprint()
    bad: list[tuple[int, Packet]] = [
        (0, SaturnLabel(0, 6, (1,))),
        (0, SaturnLabel(2, 1, (1,))),
        (0, SaturnLabel(0, 7, (0,))),
        (0, SaturnLabel(0, 7, ())),
        (2, SaturnLabel(0, 7, (1,))),
        (0, data(0, 4)),
        (0, data(0, 5)),
        (0, data(0, 7)),
        (0, data(0, 8)),
        (2, data(0, 8)),
        (0, data(0, 0)),
        (0, MfAck(1)),
    ]
    for source, wrong in bad:
        with pytest.raises(RemoteError):
            middle.arrive(source, wrong, 0)
    assert middle.fingerprint() == before


def test_labels_that_wait_have_a_limit() -> None:
    process = SaturnProcess(2, range(3), parents=LINE, receive_limit=2)
    for sequence in (1, 2):
        process.arrive(1, SaturnLabel(0, sequence, (2,)), 0)
    with pytest.raises(RemoteError, match="2 labels wait"):
        process.arrive(1, SaturnLabel(0, 3, (2,)), 0)


def test_a_clone_goes_its_own_way() -> None:
    process = SaturnProcess(2, range(3), parents=LINE)
    process.arrive(1, SaturnLabel(0, 1, (2,)), 0)
    twin, before = process.clone(), process.fingerprint()
    assert twin.fingerprint() == before
    assert twin.arrive(0, data(0, 1), 0) == [deliver(0, 1)]
    assert twin.fingerprint() != before
    assert process.fingerprint() == before


WRONG_ON_PURPOSE: dict[str, tuple[str, str]] = {
    "delivers what is here, whatever its label": (
        "            origin, sequence = self._labels[0]\n",
        "            self._labels.rotate(-1)\n            origin, sequence = self._labels[0]\n",
    ),
    "passes labels on to its targets directly": (
        "in self._parts(targets).items():\n",
        "in {t: (t,) for t in targets if t != self._members.me}.items():\n",
    ),
    "passes labels on in the other order": (
        "self._labels.append((packet.origin, packet.sequence))",
        "self._labels.appendleft((packet.origin, packet.sequence))",
    ),
    "does not pass labels on": (
        "effects = self._pass_on(packet.origin, packet.sequence, packet.targets)\n",
        "effects: list[Effect] = []\n",
    ),
}


@pytest.mark.parametrize("name", WRONG_ON_PURPOSE)
def test_a_wrong_rule_is_caught(name: str) -> None:
    wrong = WRONG_ON_PURPOSE[name]
    info = changed(SATURN, "antecede_lab/protocols/saturn.py", "SaturnProcess", wrong)
    assert any(goes_wrong(info, seed) for seed in range(60))
    assert not any(goes_wrong(SATURN, seed) for seed in range(10))
