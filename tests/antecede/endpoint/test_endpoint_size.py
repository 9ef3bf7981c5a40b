"""Ways that drop large datagrams without a word: found out, lived with, and grown out of."""

from collections.abc import Mapping
from random import Random
from zlib import crc32

import pytest

from antecede.core.errors import LocalError, RemoteError
from antecede.endpoint.limits import Limits
from antecede.events import PathNarrow
from antecede.membership.handshake_crypto import HandshakeCrypto
from antecede.network_model.faults import Faults
from antecede.network_model.latency import Constant
from antecede.transport.frame_fragments import FRAME_MAX, PIECEMEAL_MAX, PIECES_MAX, FrameAssemblers
from antecede.transport.recovery.path_mtu import NARROW, SMALLEST
from antecede.wire.frames import FRAME_OVERHEAD_MAX
from tests.antecede.endpoint.endpoints import (
    ANN,
    BOB,
    MS,
    SECOND,
    Group,
    introduce,
    make_endpoint,
    session_of,
)
from tests.antecede.runtime.security.guarded import everybody

WIDE = 60_000


def group_with(
    largest: int,
    loss: float = 0.0,
    mtu: int = WIDE,
    guards: Mapping[str, HandshakeCrypto] | None = None,
) -> Group:
    faults = Faults(latency=Constant(2 * MS), loss=loss)
    limits = Limits(heartbeat_ns=SECOND)
    group = Group([ANN, BOB], faults, mtu=mtu, limits=limits, guards=guards)
    group.run_for(SECOND)
    group.network.largest = largest
    return group


def size_of(group: Group) -> int:
    return int(session_of(group.nodes[ANN], BOB).datagram_size)


@pytest.mark.parametrize("largest", [1_452, 1_232, 9_000])
@pytest.mark.parametrize("loss", [0.0, 0.1])
def test_what_was_sent_before_the_way_proved_narrow_arrives(largest: int, loss: float) -> None:
    """Messages that fit no datagram any more are cut; those after them are cut above the core."""
    group = group_with(largest, loss)
    payloads = [bytes([number]) * 50_000 for number in range(10)] + [b"small"] * 10
    for payload in payloads:
        group.send(ANN, [BOB], payload)
    group.run_until(group.drained, within_ns=60 * SECOND)
    group.run_for(SECOND)
    assert group.payloads(BOB) == payloads
    group.assert_all_is_well()


@pytest.mark.parametrize("largest", [1_200, 1_452])
def test_sealed_datagrams_become_small_too(largest: int) -> None:
    """A hello is sealed as well: with its seal no datagram is larger than one."""
    group = group_with(largest, guards=everybody([ANN, BOB]))
    payloads = [bytes([number]) * 50_000 for number in range(5)]
    for payload in payloads:
        group.send(ANN, [BOB], payload)
    group.run_until(group.drained, within_ns=60 * SECOND)
    group.run_for(20 * SECOND)
    assert group.payloads(BOB) == payloads
    assert NARROW <= size_of(group) <= largest - 16
    group.assert_all_is_well()


def test_the_size_that_comes_through_is_found() -> None:
    group = group_with(9_000)
    for _ in range(20):
        group.send(ANN, [BOB], bytes(20_000))
    group.run_until(group.drained)
    group.run_for(10 * SECOND)
    assert 9_000 - 128 <= size_of(group) <= 9_000


def test_a_way_that_becomes_wide_again_is_used() -> None:
    group = group_with(1_452)
    group.send(ANN, [BOB], bytes(50_000))
    group.run_until(group.drained)
    assert NARROW <= size_of(group) <= 1_452
    group.network.largest = 1 << 20
    group.run_for(200 * SECOND)
    assert size_of(group) == WIDE
    group.send(ANN, [BOB], bytes(50_000))
    group.run_until(group.drained)
    assert session_of(group.nodes[ANN], BOB).datagram_size == WIDE


def test_an_ordinary_loss_narrows_nothing() -> None:
    group = group_with(1 << 20, loss=0.2, mtu=1_400)
    for _ in range(500):
        group.send(ANN, [BOB], bytes(1_000))
        group.run_for(MS)
    group.run_until(group.drained)
    assert size_of(group) == 1_400
    group.assert_all_is_well()


# Ways that become narrower than a hello.


def told_narrow(group: Group, name: str) -> list[PathNarrow]:
    return [report for report in group.reports(name) if isinstance(report, PathNarrow)]


@pytest.mark.parametrize("largest", [520, 600, 1_100])
@pytest.mark.parametrize("mtu", [1_400, WIDE])
@pytest.mark.parametrize("keyed", [False, True])
def test_messages_arrive_on_a_way_that_carries_no_hello_any_more(
    largest: int, mtu: int, keyed: bool
) -> None:
    group = group_with(largest, mtu=mtu, guards=everybody([ANN, BOB]) if keyed else None)
    before = group.datagrams_sent()
    payloads = [bytes([number]) * (13 * number % 3_000) for number in range(200)]
    for payload in payloads:
        group.send(ANN, [BOB], payload)
        group.send(BOB, [ANN], b"small")
    group.run_until(group.drained, within_ns=60 * SECOND)
    group.run_for(10 * SECOND)
    assert group.payloads(BOB) == payloads
    assert group.payloads(ANN) == [b"small"] * 200
    assert group.datagrams_sent() - before < 3_000
    (told,) = told_narrow(group, ANN)
    assert SMALLEST <= told.size <= largest
    assert told_narrow(group, BOB) == [], "what bob says is small"
    group.assert_all_is_well()


@pytest.mark.parametrize("outage_ns", [20 * MS, 300 * MS, 3 * SECOND])
def test_a_way_that_is_interrupted_is_not_called_narrow(outage_ns: int) -> None:
    """What was lost meanwhile is found out all at once, and says nothing about sizes."""
    group = group_with(WIDE, mtu=1_400)
    for _ in range(5):
        group.network.largest = 0
        for _ in range(60):
            group.send(ANN, [BOB], bytes(900))
        group.run_for(outage_ns)
        group.network.largest = WIDE
        group.run_until(group.drained, within_ns=60 * SECOND)
    assert told_narrow(group, ANN) == []
    assert not session_of(group.nodes[ANN], BOB).channel.path.mtu.is_narrow


@pytest.mark.parametrize("latency_ns", [MS // 10, 20 * MS])
def test_a_way_that_carries_nothing_of_any_size_is_tried_now_and_then(latency_ns: int) -> None:
    """Small words come through all the time: they must not make large ones leave all the time."""
    group = group_with(300, mtu=1_400)
    group.network.change(Faults(latency=Constant(latency_ns)))
    payloads = [bytes([number]) * 800 for number in range(50)]
    for payload in payloads:
        group.send(ANN, [BOB], payload)
    small = 0
    group.run_for(10 * SECOND)
    before = group.datagrams_sent()
    for _ in range(600):
        group.send(BOB, [ANN], b"small")
        group.run_for(100 * MS)
        small += 1
    # Each small one is a datagram, its acknowledgement another one, and so is that of the core's.
    assert group.datagrams_sent() - before < 4 * small + 60 * 20
    assert group.payloads(ANN) == [b"small"] * small
    assert told_narrow(group, ANN) == [PathNarrow(name=BOB, size=0)]
    assert session_of(group.nodes[ANN], BOB).channel.path.mtu.is_narrow
    group.network.largest = WIDE
    group.run_until(group.drained, within_ns=120 * SECOND)
    assert group.payloads(BOB) == payloads
    group.run_for(200 * SECOND)
    assert size_of(group) == 1_400
    assert not session_of(group.nodes[ANN], BOB).channel.path.mtu.is_narrow


def test_a_peer_that_is_just_gone_is_no_narrow_way() -> None:
    group = group_with(1 << 20, mtu=1_400)
    group.kill(BOB)
    for _ in range(50):
        group.send(ANN, [BOB], bytes(1_000))
    group.run_for(60 * SECOND)
    assert told_narrow(group, ANN) == []


def test_a_network_that_was_cut_for_a_while_is_no_narrow_way() -> None:
    group = group_with(0, mtu=1_400)
    for number in range(50):
        group.send(ANN, [BOB], bytes([number]) * 1_000)
    group.run_for(30 * SECOND)
    group.network.largest = 1 << 20
    group.run_until(group.drained, within_ns=60 * SECOND)
    group.run_for(10 * SECOND)
    assert told_narrow(group, ANN) == []
    assert size_of(group) == 1_400


# Pieces.


def test_pieces_are_joined_in_any_order_and_overlap() -> None:
    pieces = FrameAssemblers()
    check = crc32(b"0123456789")
    assert pieces.add(7, 10, check, 6, b"6789") is None
    assert pieces.add(7, 10, check, 6, b"67") is None
    assert pieces.add(7, 10, check, 0, b"01234") is None
    assert pieces.add(7, 10, check, 3, b"3456") == b"0123456789"
    assert pieces.add(7, 10, check, 0, b"01234") is None, "it begins anew"


def test_pieces_of_a_message_that_is_written_otherwise_now_are_not_mixed() -> None:
    """What a message says about others may change before it is sent again."""
    pieces = FrameAssemblers()
    assert pieces.add(7, 4, crc32(b"abcd"), 0, b"ab") is None
    assert pieces.add(7, 4, crc32(b"ABCD"), 2, b"CD") is None
    assert pieces.add(7, 4, crc32(b"ABCD"), 0, b"AB") == b"ABCD"


@pytest.mark.parametrize(
    ("size", "offset", "piece"), [(FRAME_MAX + 1, 0, b"x"), (5, 5, b"x"), (5, 0, b"")]
)
def test_pieces_that_make_no_sense_are_refused(size: int, offset: int, piece: bytes) -> None:
    with pytest.raises(RemoteError, match="a piece of"):
        FrameAssemblers().add(1, size, 0, offset, piece)


def test_few_frames_may_be_under_way_in_pieces() -> None:
    pieces = FrameAssemblers()
    check = crc32(b"ab")
    for sequence in range(1, PIECEMEAL_MAX + 2):
        assert pieces.add(sequence, 2, check, 0, b"a") is None
    assert pieces.add(1, 2, check, 1, b"b") is None, "the oldest was given up"
    assert pieces.add(PIECEMEAL_MAX + 1, 2, check, 1, b"b") == b"ab"


def test_a_frame_in_very_small_pieces_is_not_kept_before_its_beginning() -> None:
    pieces = FrameAssemblers()
    whole = bytes(PIECES_MAX + 3)
    for offset in range(1, PIECES_MAX + 2):
        assert pieces.add(1, len(whole), crc32(whole), offset, b"\0") is None
    assert pieces.kept() == 1, "there were too many: only the last has been kept"
    assert pieces.add(1, len(whole), crc32(whole), 0, whole) == whole


def test_pieces_that_overlap_take_no_more_memory_than_frames_do() -> None:
    """Half of a frame can be cut out in many ways, and a peer may say more than it has."""
    pieces = FrameAssemblers()
    half = bytes(FRAME_MAX // 2)
    for sequence in range(PIECEMEAL_MAX):
        for offset in range(1, PIECES_MAX):
            assert pieces.add(sequence, FRAME_MAX, 7, offset, half) is None
        assert pieces.kept() <= (sequence + 1) * FRAME_MAX


@pytest.mark.parametrize("seed", range(20))
def test_any_cut_in_any_order_makes_the_frame(seed: int) -> None:
    random = Random(seed)
    whole = random.randbytes(random.randrange(1, 300))
    starts = random.choices(range(len(whole)), k=12)
    cut = [(start, whole[start : start + random.randrange(1, 80)]) for start in starts]
    cut += [(start, whole[start : start + 25]) for start in range(0, len(whole), 25)]
    random.shuffle(cut)
    pieces = FrameAssemblers()
    came = [pieces.add(1, len(whole), crc32(whole), start, piece) for start, piece in cut]
    assert whole in came
    assert set(came) <= {None, whole}


def test_datagrams_that_have_no_room_for_a_payload_are_refused() -> None:
    """One byte more than frames may take is slow, and enough."""
    ann = make_endpoint(ANN)
    with pytest.raises(LocalError, match=f"at least {FRAME_OVERHEAD_MAX + 1} pass"):
        introduce(ann, BOB, 0, mtu=FRAME_OVERHEAD_MAX)
    group = Group([ANN, BOB], mtu=FRAME_OVERHEAD_MAX + 1)
    group.run_for(SECOND)
    group.send(ANN, [BOB], b"cut into bytes")
    group.run_until(group.drained)
    assert group.payloads(BOB) == [b"cut into bytes"]
