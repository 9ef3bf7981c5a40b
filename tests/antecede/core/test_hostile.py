"""A hostile or confused peer, and a confused caller, can do little harm.

Two sorts of injected packets are told apart. A *liar* says anything in its own name: it can forget
messages sent to it and keep others waiting, but once it has acknowledged what it was sent and
permitted what it said, everything between the others has been delivered, exactly once and in
causal order, but for what it has passed on itself (see the relay). A *forger* says things in an
honest peer's name that this peer can be seen not to mean: nothing at all is lost then. (A forger
that invents plausible messages or acknowledges what is still under way cannot be told from the peer
itself; keys are for that.)
"""

from contextlib import suppress
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede.core import (
    CausalProcess,
    Deliver,
    LocalError,
    Message,
    Packet,
    RemoteError,
    Transmit,
)
from antecede.core.checks import PAYLOAD_LIMIT
from antecede.core.packets import Ack, Ask, DataPacket, Permit
from antecede_lab.catalogue import PROTOCOLS
from antecede_lab.protocols.cykas import YouCanTell
from antecede_lab.protocols.facts.packets import (
    Fact,
    FactsAck,
    FactsAsk,
    FactsMessage,
    FactsPermit,
    Mark,
    PastReportField,
)
from antecede_lab.protocols.link_packets import LinkAck
from antecede_lab.protocols.mf import MfAck, MfMessage
from antecede_lab.protocols.psync import PsyncAck, PsyncMessage, PsyncRequest
from tests.antecede.core.hostile_run import HostileRun

LOSSY = [name for name, info in PROTOCOLS.items() if info.network == "lossy"]
each_lossy = pytest.mark.parametrize("name", LOSSY)
each_protocol = pytest.mark.parametrize("name", PROTOCOLS)

HONEST = (0, 1, 2)
LIAR = 3
STRANGER = 99
STEPS = 40

ids = st.one_of(
    st.integers(0, 15),
    st.sampled_from([-1, -(1 << 40), 1 << 31, 1 << 61, (1 << 62) - 1, (1 << 63) - 1]),
)
messages = st.builds(Message, st.sampled_from([LIAR, LIAR, LIAR, 0, STRANGER]), ids, st.binary())
own_messages = st.builds(Message, st.just(LIAR), st.integers(1, 6), st.binary())
some_ids = st.dictionaries(st.integers(0, 4), st.one_of(st.integers(1, 6), ids), max_size=3).map(
    lambda of: tuple(sorted(of.items()))
)
id_tuples = st.lists(ids, max_size=3).map(tuple)
reports = st.builds(
    PastReportField,
    st.sampled_from([0, 1, -1, 255, 1 << 62]),
    id_tuples,
    # Of messages of its own: of others' it could say that they are delivered, and be believed.
    st.lists(st.builds(Fact, st.just(LIAR), ids, ids), max_size=3),
    ids,
)
lies = st.one_of(
    st.builds(
        FactsMessage,
        messages,
        ids,
        st.lists(st.builds(Mark, st.integers(0, 4), ids), max_size=2),
        st.one_of(st.none(), reports),
    ),
    st.builds(FactsAck, ids),
    st.builds(FactsPermit, ids, id_tuples),
    st.builds(FactsAsk, ids, ids, ids),
    st.builds(DataPacket, messages, ids, st.booleans()),
    st.builds(Ack, ids),
    st.builds(Permit, ids),
    st.builds(Ask, ids, ids),
    st.builds(MfMessage, messages),
    st.builds(MfAck, ids),
    # In the name of others nothing is said here: who passes on what others said can forge it.
    st.builds(PsyncMessage, own_messages, some_ids),
    st.builds(PsyncAck, ids),
    st.builds(PsyncRequest, some_ids),
    st.just(LinkAck(0, ())),
    st.just(YouCanTell()),
)
seeds = st.integers(0, 1 << 32)


@each_lossy
@given(told=st.lists(lies, max_size=40), seed=seeds)
def test_a_liar_loses_nothing_that_others_say_to_each_other(
    name: str, told: list[Packet], seed: int
) -> None:
    random = Random(seed)
    run = HostileRun(PROTOCOLS[name], HONEST, (*HONEST, LIAR), random)
    for lie in told:
        for _ in range(random.randrange(4)):
            run.stir()
        run.arrive(LIAR, random.choice(HONEST), lie)

    run.settle(told)


@each_lossy
@given(told=st.lists(lies, min_size=5, max_size=20), seed=seeds)
def test_packets_from_a_stranger_or_from_oneself_are_refused(
    name: str, told: list[Packet], seed: int
) -> None:
    random = Random(seed)
    run = HostileRun(PROTOCOLS[name], HONEST, HONEST, random)
    for lie in told:
        run.stir()
        for me in HONEST:
            assert not run.arrive(STRANGER, me, lie)
            assert not run.arrive(me, me, lie)


# A forger.


class Forger:
    """Says things in an honest peer's name that can be seen to be wrong, or are old."""

    def __init__(self, run: HostileRun, random: Random) -> None:
        self.run = run
        self.random = random

    def forge(self) -> None:
        """Let something wrong arrive."""
        source, me = self.random.sample(list(self.run.processes), 2)
        choice = self.random.randrange(4)
        if choice == 0:
            self.repeat(source, me)
        elif choice == 1:
            self.acknowledge(source, me)
        elif choice == 2:
            self.break_the_chain(source, me)
        else:
            self.misplace(source, me)

    def repeat(self, source: int, me: int) -> None:
        """What it said before, perhaps long ago; or the same with a flag, if it had none."""
        said = self.run.transmitted.get((source, me), [])
        for packet in self.random.sample(said, min(len(said), 3)):
            self.run.arrive(source, me, packet)
            self.run.arrive(source, me, flagged(packet))

    def acknowledge(self, source: int, me: int) -> None:
        """What was never sent, was sent to somebody else, or has not left yet."""
        sent = self.run.transmitted.get((me, source), [])
        left = [packet.message.sequence for packet in sent if packet.message is not None]
        submitted = sum(sender == me for sender, _ in self.run.targets)
        for number in [-1, 0, *range(1, submitted + 2), 1 << 40]:
            if number not in left:
                asks = (Ask(number, number), FactsAsk(number, number, number))
                acks = (Ack(number), FactsAck(number), MfAck(number), PsyncAck(number))
                for packet in (*acks, *asks):
                    self.run.arrive(source, me, packet)

    def break_the_chain(self, source: int, me: int) -> None:
        """Messages that follow themselves, or the future, or what another one followed already."""
        number = self.random.randrange(12)
        chains = [(number, number), (number, number + 1), (number, -1)]
        delivered = [sequence for sender, sequence in self.run.delivered[me] if sender == source]
        if delivered and self.run.ordering != "none":
            chains += [(max(delivered) + 1, max(delivered) - 1), (1 << 40, max(delivered) - 1)]
        for sequence, previous in chains:
            message = Message(source, sequence, b"forged")
            for flag in (False, True):
                assert not self.run.arrive(source, me, DataPacket(message, previous, flag))
            report = PastReportField(0, (), [], 1)
            for said in (None, report):
                assert not self.run.arrive(source, me, FactsMessage(message, previous, [], said))

    def misplace(self, source: int, me: int) -> None:
        """Packets that belong elsewhere."""
        other = Message(me, 1 + self.random.randrange(12), b"forged")
        packets = [LinkAck(0, ()), YouCanTell(), DataPacket(other, 0, False), MfMessage(other)]
        for packet in (*packets, PsyncMessage(other, ())):
            assert not self.run.arrive(source, me, packet)


def flagged(packet: Packet) -> Packet:
    if isinstance(packet, DataPacket):
        return DataPacket(packet.carried, packet.previous, True)
    return packet


@each_lossy
@given(seed=seeds)
def test_a_forger_loses_nothing_and_reorders_nothing(name: str, seed: int) -> None:
    random = Random(seed)
    run = HostileRun(PROTOCOLS[name], HONEST, HONEST, random)
    forger = Forger(run, random)
    for _ in range(STEPS):
        run.stir()
        forger.forge()

    run.settle()


@each_lossy
@given(seed=seeds)
def test_forged_permits_lose_nothing(name: str, seed: int) -> None:
    """They may come before their message, so nobody can tell them from real ones."""
    random = Random(seed)
    run = HostileRun(PROTOCOLS[name], HONEST, HONEST, random)
    if run.ordering == "causal":
        run.ordering = "fifo"
    for _ in range(STEPS):
        run.stir()
        source, me = random.sample(HONEST, 2)
        number = random.choice([0, 3, 7, 12, 1 << 40])
        run.arrive(source, me, Permit(number))
        run.arrive(source, me, FactsPermit(number))

    run.settle()


# A relay.


@pytest.mark.parametrize("name", ["hybrid", "hybrid-sps", "hybrid-csps"])
def test_a_relay_that_ignores_permission_reorders_third_parties(name: str) -> None:
    """A limit, not a promise: docs/guarantee.md says so, and must not say more than is so."""
    alice, bob, carol = range(3)
    honest = {me: PROTOCOLS[name].create(me, (alice, bob, carol)) for me in (alice, carol)}
    [question] = honest[alice].submit([carol], b"question", 0)
    [told] = honest[alice].submit([bob], b"told", 0)
    assert isinstance(question, Transmit)
    assert isinstance(told, Transmit)
    assert isinstance(told.packet, DataPacket)
    assert told.packet.flagged, "bob was asked to wait"

    answer = DataPacket(Message(bob, 1, b"answer"), 0, False)
    effects = honest[carol].arrive(bob, answer, 0)
    effects += honest[carol].arrive(alice, question.packet, 0)
    seen = [effect.message.payload for effect in effects if isinstance(effect, Deliver)]
    assert seen == [b"answer", b"question"]


# A confused caller.


BAD_TARGETS = {
    "unknown": ([99], "unknown target 99"),
    "unknown among others": ([1, 99], "unknown target 99"),
    "negative": ([-1], "unknown target -1"),
    "huge": ([1 << 70], f"unknown target {1 << 70}"),
    "none at all": ([], "no targets"),
    "one twice": ([1, 1], r"duplicate targets in \[1, 1\]"),
    "oneself twice": ([0, 0], r"duplicate targets in \[0, 0\]"),
    "a name": (["bob"], "must be an int, not 'bob'"),
    "a fraction": ([1.0], r"must be an int, not 1\.0"),
    "a truth": ([True], "must be an int, not True"),
    "nobody": ([None], "must be an int, not None"),
    "not a sequence": (1, "expected a sequence of process ids, not int"),
    "a set, which has no order": ({1}, "expected a sequence of process ids, not set"),
    "a string": ("1", "expected a sequence of process ids, not str"),
    "bytes": (b"\x01", "expected a sequence of process ids, not bytes"),
}
BAD_PAYLOADS = {
    "str": ("x", "must be bytes, not str"),
    "bytearray": (bytearray(b"x"), "must be bytes, not bytearray"),
    "memoryview": (memoryview(b"x"), "must be bytes, not memoryview"),
    "None": (None, "must be bytes, not NoneType"),
    "too large": (bytes(PAYLOAD_LIMIT + 1), f"has {PAYLOAD_LIMIT + 1} bytes; the limit is"),
}


def good_targets(name: str) -> list[int]:
    return [1, 2] if PROTOCOLS[name].broadcast_only else [1]


def assert_refused(process: CausalProcess, targets: object, payload: object, why: str) -> None:
    before = process.fingerprint()
    with pytest.raises(LocalError, match=why):
        process.submit(targets, payload, 0)  # type: ignore[arg-type]  # this is the mistake
    assert process.fingerprint() == before


@each_protocol
def test_a_message_to_targets_that_make_no_sense_is_not_sent(name: str) -> None:
    for mistake, (targets, why) in BAD_TARGETS.items():
        check_refusal(name, targets, b"x", why, mistake)


@each_protocol
def test_a_payload_that_is_not_one_is_not_sent(name: str) -> None:
    for mistake, (payload, why) in BAD_PAYLOADS.items():
        check_refusal(name, good_targets(name), payload, why, mistake)


def check_refusal(name: str, targets: object, payload: object, why: str, mistake: str) -> None:
    """A mistake is refused, and what follows is as if it had not been made."""
    process, fresh = (PROTOCOLS[name].create(0, [0, 1, 2]) for _ in range(2))
    assert_refused(process, targets, payload, why)
    good = good_targets(name)
    assert process.submit(good, b"x", 0) == fresh.submit(good, b"x", 0), mistake


BAD_GROUPS: list[tuple[int, object, str]] = [
    (0, [], "no targets|no processes|is not one of"),
    (3, [0, 1, 2], "3 is not one of the processes"),
    (0, [0, 1, 1], r"duplicate .*1"),
    (0, [0, -1], "-1 .*outside 0 <= id"),
    (0, [0, 1 << 31], "2147483648 .*outside 0 <= id"),
    (0, [0, "1"], "must be an int, not '1'"),
    (0, 3, "not int"),
    (1 << 70, [0, 1, 2], "is not one of the processes"),
    (3, frozenset([0, 1, 2]), "not frozenset"),
]


@each_protocol
def test_a_group_that_makes_no_sense_is_not_made(name: str) -> None:
    for me, processes, why in BAD_GROUPS:
        with pytest.raises(LocalError, match=why):
            PROTOCOLS[name].create(me, processes)  # type: ignore[arg-type]  # this is the mistake


@each_protocol
def test_nothing_is_taken_from_a_process_that_does_not_exist(name: str) -> None:
    """However large its id: it need not fit the integers that are compiled."""
    for source in (STRANGER, -1, 1 << 31, 1 << 70, -(1 << 70)):
        process = PROTOCOLS[name].create(0, [0, 1, 2])
        for packet in (Ack(1), DataPacket(Message(1, 1, b""), 0, False), LinkAck(1, ())):
            with pytest.raises(RemoteError):
                process.arrive(source, packet, 0)


@each_protocol
def test_a_payload_of_just_the_limit_is_taken(name: str) -> None:
    process = PROTOCOLS[name].create(0, [0, 1], payload_limit=3)
    assert process.submit([1], b"abc", 0) != []
    with pytest.raises(LocalError, match="the limit is 3"):
        process.submit([1], b"abcd", 0)


@each_protocol
def test_an_option_that_cannot_be_so_large_is_refused_or_taken(name: str) -> None:
    """Compiled, it has to fit 64 bits; either way it is no bug."""
    with suppress(LocalError):
        PROTOCOLS[name].create(0, [0, 1, 2], payload_limit=1 << 70)


@each_protocol
def test_an_option_that_does_not_exist_is_named(name: str) -> None:
    with pytest.raises(LocalError, match="no_such_option"):
        PROTOCOLS[name].create(0, [0, 1, 2], no_such_option=1)
