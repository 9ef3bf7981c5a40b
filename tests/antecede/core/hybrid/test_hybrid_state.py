"""Same calls, same effects, by either face; clones are independent; fingerprints tell the state."""

from hypothesis import given
from hypothesis import strategies as st

from antecede.core import Effect, EffectList, Message, Packet, RemoteError, Transmit
from antecede.core.hybrid.node import HybridProcess
from antecede.core.packets import Ack, Ask, DataPacket, Permit

ALICE, BOB, CAROL, DAVE = range(4)
EVERYONE = [ALICE, BOB, CAROL, DAVE]
STEP_NS = 40


def process(me: int) -> HybridProcess:
    return HybridProcess(me, EVERYONE, patience_ns=100)


packets = st.one_of(
    st.builds(
        lambda sequence, back, flagged: (sequence, max(0, sequence - back), flagged),
        st.integers(1, 8),
        st.integers(1, 3),
        st.booleans(),
    ),
    st.builds(Ack, st.integers(0, 8)),
    st.builds(Permit, st.integers(0, 8)),
    st.builds(Ask, st.integers(0, 8), st.integers(0, 8)),
)
calls = st.lists(
    st.one_of(
        st.lists(st.sampled_from(EVERYONE), min_size=1, max_size=3, unique=True),
        st.tuples(st.sampled_from([BOB, CAROL, DAVE]), packets),
        st.none(),
    ),
    max_size=40,
)
Call = list[int] | tuple[int, Packet | tuple[int, int, bool]] | None


def make(alice: HybridProcess, call: Call, now_ns: int) -> list[Effect]:
    """A submission, an arrival or a timer; nothing if it is refused."""
    if call is None:
        return alice.expire(now_ns)
    if isinstance(call, list):
        return alice.submit(call, b"x", now_ns)
    source, packet = call
    try:
        return alice.arrive(source, as_packet(source, packet), now_ns)
    except RemoteError:
        return []


def make_all(alice: HybridProcess, made: list[Call], start_ns: int) -> list[list[Effect]]:
    return [make(alice, call, start_ns + STEP_NS * index) for index, call in enumerate(made)]


def make_into(alice: HybridProcess, call: Call, now_ns: int) -> list[Effect]:
    """The same by the other face."""
    outbox = EffectList()
    if call is None:
        alice.expire_into(now_ns, outbox)
    elif isinstance(call, list):
        alice.submit_into(call, b"x", now_ns, outbox)
    else:
        source, packet = call
        try:
            alice.arrive_into(source, as_packet(source, packet), now_ns, outbox)
        except RemoteError:
            assert outbox.effects == []
    return outbox.effects


def as_packet(source: int, packet: Packet | tuple[int, int, bool]) -> Packet:
    if isinstance(packet, Packet):
        return packet
    sequence, previous, flagged = packet
    return DataPacket(Message(source, sequence, b"x"), previous, flagged)


@given(made=calls)
def test_same_calls_have_the_same_effects_by_either_face(made: list[Call]) -> None:
    one, other, third = (process(ALICE) for _ in range(3))
    for index, call in enumerate(made):
        effects = make(one, call, STEP_NS * index)

        assert make(other, call, STEP_NS * index) == effects
        assert make_into(third, call, STEP_NS * index) == effects
        assert one.fingerprint() == other.fingerprint() == third.fingerprint()
        assert one.deadline_ns() == third.deadline_ns()


@given(before=calls, after=calls)
def test_a_clone_goes_on_alike_and_leaves_the_original_alone(
    before: list[Call], after: list[Call]
) -> None:
    original = process(ALICE)
    make_all(original, before, 0)
    clone, untouched = original.clone(), original.fingerprint()
    assert clone.fingerprint() == untouched

    later_ns = STEP_NS * len(before)
    effects_of_clone = make_all(clone, after, later_ns)
    assert original.fingerprint() == untouched
    assert make_all(original, after, later_ns) == effects_of_clone
    assert original.fingerprint() == clone.fingerprint()


def test_a_clone_has_a_receive_buffer_of_its_own() -> None:
    alice = process(ALICE)
    alice.arrive(BOB, DataPacket(Message(BOB, 2, b""), 1, False), 0)
    before = alice.fingerprint()

    alice.clone().arrive(BOB, DataPacket(Message(BOB, 1, b""), 0, False), 0)
    assert alice.fingerprint() == before


def test_a_clone_has_the_same_timers() -> None:
    """Those for acks and those for permits."""
    alice = process(ALICE)
    alice.arrive(BOB, DataPacket(Message(BOB, 1, b""), 0, True), 0)
    alice.submit([BOB], b"", 60)
    alice.submit([CAROL], b"", 90)
    clone = alice.clone()

    for now_ns in range(100, 1000, 20):
        assert clone.expire(now_ns) == alice.expire(now_ns)


def test_an_alarm_repeats_only_what_has_been_waited_for_long_enough() -> None:
    """Acks and permits of one peer share its alarm, but not their times."""
    flagged = DataPacket(Message(BOB, 1, b""), 0, True)
    asking = process(ALICE)
    asking.arrive(BOB, flagged, 0)
    asking.submit([BOB], b"", 60)
    assert asking.expire(100) == [Transmit(BOB, Ask(1, 1))]

    repeating = process(ALICE)
    sent = repeating.submit([BOB], b"", 0)
    repeating.arrive(BOB, flagged, 60)
    assert repeating.expire(100) == sent


def test_fingerprints_of_different_states_differ_and_timers_do_not_count() -> None:
    alice, later = process(ALICE), process(ALICE)
    fresh = alice.fingerprint()
    alice.submit([BOB], b"", 0)
    later.submit([BOB], b"", 10**9)
    assert alice.fingerprint() == later.fingerprint() != fresh

    for arriving in (
        Permit(1),
        Ack(1),
        DataPacket(Message(BOB, 3, b"early"), 2, False),
        DataPacket(Message(BOB, 1, b""), 0, True),
    ):
        before = alice.fingerprint()
        alice.arrive(BOB, arriving, 0)
        assert alice.fingerprint() != before


def test_a_fingerprint_does_not_depend_on_who_was_heard_of_first() -> None:
    one, other = process(ALICE), process(ALICE)
    one.arrive(BOB, Permit(3), 0)
    one.arrive(CAROL, Permit(5), 0)
    other.arrive(CAROL, Permit(5), 0)
    other.arrive(BOB, Permit(3), 0)

    assert one.fingerprint() == other.fingerprint()
