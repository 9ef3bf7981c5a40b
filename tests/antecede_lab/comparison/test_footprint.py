"""Metadata and state are measured as they are."""

import pytest

from antecede.core.packets import Ack, Ask, DataPacket, Message, Permit
from antecede_lab.catalogue import PROTOCOLS
from antecede_lab.comparison.space import (
    PacketWeigher,
    footprint,
    integers_in,
    knowledge_spreads,
    messages_of,
)
from antecede_lab.comparison.traffic import BROADCASTS, NEIGHBOURS, UNIFORM
from antecede_lab.protocols.ks import KsPacket
from antecede_lab.protocols.ks_log import Sends
from antecede_lab.simulator.observer import MetadataSize
from antecede_lab.wire import metadata_size
from tests.antecede_lab.comparison.tiny import TINY


def test_hybrid_packets_count_their_integers() -> None:
    data = DataPacket(Message(0, 5, b"payload"), 4, True)
    packets = (data, Ack(5), Permit(5), Ask(5, 4))
    assert [packet.metadata_integers for packet in packets] == [2, 1, 1, 2]


@pytest.mark.parametrize("processes", [3, 6])
def test_hybrid_message_has_two_integers_whatever_the_size(processes: int) -> None:
    seen = footprint(PROTOCOLS["hybrid"], UNIFORM, processes, TINY, 1)
    assert (seen.integers, seen.integers_max) == (2.0, 2)
    smallest = metadata_size(DataPacket(Message(0, 2, b""), 1, False))
    assert smallest <= seen.bytes <= seen.bytes_max <= smallest + 2
    assert list(seen.control) == ["ack", "permit"]
    assert 0 < seen.control["ack"] <= 1


def test_rst_message_has_a_matrix() -> None:
    seen = footprint(PROTOCOLS["rst"], UNIFORM, 6, TINY, 1)
    assert (seen.integers, seen.integers_max, seen.control) == (36.0, 36, {})
    assert seen.bytes > footprint(PROTOCOLS["rst"], UNIFORM, 3, TINY, 1).bytes + 10


def test_ks_carries_less_than_a_matrix_and_more_than_nothing() -> None:
    seen = footprint(PROTOCOLS["ks"], UNIFORM, 6, TINY, 1)
    assert 2 < seen.integers < 36
    assert seen.integers < seen.integers_max


def test_state_of_hybrid_depends_on_peers_and_that_of_rst_on_pairs() -> None:
    """Five times as many processes with four neighbours each are nothing to hybrid."""
    sparse = [footprint(PROTOCOLS["hybrid"], NEIGHBOURS, n, TINY, 1).state for n in (8, 40)]
    assert sparse[1] < 1.3 * sparse[0]
    dense = [footprint(PROTOCOLS["rst"], UNIFORM, n, TINY, 1).state for n in (3, 6)]
    assert dense[1] > 2 * dense[0]


def test_broadcast_only_protocols_are_measured_with_broadcasts() -> None:
    seen = footprint(PROTOCOLS["bss"], BROADCASTS, 6, TINY, 1)
    assert (seen.integers, seen.control) == (6.0, {})
    assert footprint(PROTOCOLS["newtop"], BROADCASTS, 6, TINY, 1).integers == 2.0


def test_what_goes_by_before_a_run_is_warm_is_not_weighed() -> None:
    weigher = PacketWeigher(MetadataSize(PROTOCOLS["ks"]), warm=1, stride=1)
    for sequence in (1, 2, 3):
        log = {2: Sends({1: frozenset((3,))})} if sequence > 1 else {}
        packet = KsPacket(Message(0, sequence, b""), (1,), log)
        weigher.transmitted(0, 1, packet, sequence, 0)
    weigher.transmitted(1, 0, Ack(1), 4, 0)
    assert (weigher.carrying, weigher.counted, weigher.integers, weigher.weighed) == (3, 2, 10, 2)
    assert weigher.bytes == 2 * metadata_size(packet)
    assert weigher.control == {"ack": 1}


def test_integers_are_counted_as_they_are_written() -> None:
    assert integers_in(b"(12, {3: -4}, [True, None], b'')") == 3
    assert integers_in(b"") == 0


def test_runs_grow_until_a_limit() -> None:
    assert messages_of(TINY, UNIFORM, 5) == 2 * 5 * 5
    assert messages_of(TINY, UNIFORM, 50) == TINY.messages_max
    assert messages_of(TINY, NEIGHBOURS, 5) == TINY.messages_each * 5
    assert messages_of(TINY, BROADCASTS, 11) == TINY.copies_max // 10


def test_knowledge_spreads_if_runs_are_long_enough_for_a_protocol_that_passes_it_on() -> None:
    hybrid, rst = PROTOCOLS["hybrid"], PROTOCOLS["rst"]
    assert knowledge_spreads(rst, TINY, UNIFORM, 6)
    assert not knowledge_spreads(hybrid, TINY, UNIFORM, 50)
    assert knowledge_spreads(rst, TINY, NEIGHBOURS, 8)
    assert not knowledge_spreads(rst, TINY, NEIGHBOURS, 50)
    assert knowledge_spreads(hybrid, TINY, NEIGHBOURS, 50)


def test_same_seed_same_figures() -> None:
    first, second = (footprint(PROTOCOLS["ks"], UNIFORM, 4, TINY, 9) for _ in range(2))
    assert first == second
    assert first != footprint(PROTOCOLS["ks"], UNIFORM, 4, TINY, 10)
