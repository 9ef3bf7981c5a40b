"""What somebody who was never introduced can do to a node without keys: little."""

import pytest
from librt.strings import BytesWriter

from antecede.core.packets import DataPacket, Message
from antecede.endpoint.endpoint import Endpoint
from antecede.endpoint.limits import Limits
from antecede.events import PeerExpelled, PeerMoved, PeerRefused, StrangerSeen
from antecede.membership.directory import CANDIDATES_MAX, PEERS_LIMIT, STRANGERS_MAX
from antecede.membership.refusals import REFUSED_MAX, REFUSED_NS
from antecede.membership.unfinished import CROWDED_OUT, PAYLOADS_MAX
from antecede.network_model.faults import Faults
from antecede.network_model.latency import Constant
from antecede.transport.peer_lifecycle import LEAVE_WHEN_RELEASED
from antecede.wire.frames import DATAGRAM, MESSAGE_FRAGMENT, NO_KEY, PING, write_header
from antecede.wire.handshake import (
    GREETING_SIZE,
    HELLO,
    UNKNOWN_SIZE,
    Greeting,
    read_refusal,
    write_greeting,
    write_refusal,
    write_unknown,
)
from antecede.wire.varint import WireReader, write_varint
from antecede_lab.wire.codec import write_packet
from tests.antecede.endpoint.endpoints import (
    ANN,
    BOB,
    MS,
    MTU,
    NAMES,
    SECOND,
    Group,
    Letter,
    Post,
    address_of,
    introduce,
    make_endpoint,
    met_pair,
    pair,
    session_of,
    submit,
)
from tests.antecede.endpoint.memory_growth import growth_of

ESCAPES = "\x1b]0;owned\x07\x1b[31m\u202ereversed"


def forged_hello(
    name: str, target: str, incarnation: int, size: int = GREETING_SIZE, order: str = "hybrid"
) -> bytes:
    """A hello that anybody can make up."""
    greeting = Greeting(name, target, incarnation, 1 + incarnation)
    greeting.order = order
    greeting.window = greeting.payload_limit = greeting.socket_bytes = 1 << 20
    return write_greeting(HELLO, greeting, size)


def forged_ping(token: int, number: int = 1 << 20) -> bytes:
    """A ping by anybody who has seen a token."""
    writer = BytesWriter()
    write_header(writer, token, number, NO_KEY)
    write_varint(writer, 0)
    writer.append(PING)
    return writer.getvalue().ljust(UNKNOWN_SIZE, b"\0")


def let_in(endpoint: Endpoint, now_ns: int) -> None:
    """Introduce the strangers that have said hello, as a node does that welcomes anybody."""
    for report in list(endpoint.reports):
        if isinstance(report, StrangerSeen) and report.name not in endpoint.directory.by_name:
            endpoint.add_peer(report.name, None, 1, 1400, now_ns, stranger=True)
    endpoint.reports.clear()


def test_a_hello_smaller_than_its_answer_is_not_answered() -> None:
    post, ann, _ = met_pair()
    for size in (11, 65, GREETING_SIZE - 1):
        data = forged_hello(BOB, ANN, 77, size)[:size]
        post.deliver(Letter("elsewhere", address_of(ANN), data))
    assert post.collect() == []
    assert ann.malformed == 3


def test_nothing_is_answered_with_more_bytes_than_it_had() -> None:
    """Greetings, cut everywhere and for everybody, and datagrams of unknown sessions."""
    post, _, _ = met_pair()
    asked = [forged_hello(name, target, 7) for name in (BOB, "x" * 60) for target in (ANN, "y")]
    asked += [bytes([DATAGRAM, 0]) + (77).to_bytes(8, "little") + bytes(n) for n in range(1, 30)]
    asked += [data[:size] for data in asked for size in range(1, len(data), 50)]
    for data in asked:
        post.deliver(Letter("elsewhere", address_of(ANN), data), after_ns=20 * MS)
        written = sum(len(letter.data) for letter in post.collect() if letter.target == "elsewhere")
        assert written <= len(data)


def test_a_forged_refusal_does_not_command_a_terminal() -> None:
    post, ann, _ = pair()
    data = write_refusal(BOB, ESCAPES)
    post.deliver(Letter(address_of(BOB), address_of(ANN), data))
    (refused,) = [report for report in ann.reports if isinstance(report, PeerRefused)]
    assert refused.reason.isprintable()
    assert ann.directory.by_name[BOB].refusal.isprintable()
    assert read_refusal(WireReader(data, 1))[1] == "\\x1b]0;owned\\x07\\x1b[31m\\u202ereversed"


def test_a_name_that_commands_a_terminal_is_malformed() -> None:
    post, ann, _ = met_pair()
    post.deliver(Letter("elsewhere", address_of(ANN), forged_hello(ESCAPES, ANN, 5)))
    assert ann.last_malformed == "a name that no terminal should show"
    assert (ann.reports, post.collect()) == ([], [])


def test_made_up_names_are_reported_only_so_often() -> None:
    post, ann, _ = met_pair()
    for count in range(3 * REFUSED_MAX):
        post.deliver(Letter("elsewhere", address_of(ANN), forged_hello(f"n{count}", ANN, 5)))
    assert len(ann.reports) == REFUSED_MAX
    assert ann.directory.denials.count == 3 * REFUSED_MAX
    post.now_ns += REFUSED_NS
    post.deliver(Letter("elsewhere", address_of(ANN), forged_hello("later", ANN, 5)))
    assert len(ann.reports) == REFUSED_MAX + 1


def test_strangers_who_never_answer_take_bounded_memory() -> None:
    post = Post()
    ann = post.add(ANN, make_endpoint(ANN, limits=Limits(open_to_strangers=True)))
    for count in range(10 * STRANGERS_MAX):
        hello = Letter(f"at {count}", address_of(ANN), forged_hello(f"n{count}", ANN, 5 + count))
        post.deliver(hello)
        let_in(ann, post.now_ns)
        post.deliver(hello)
    assert len(ann.directory.by_name) == STRANGERS_MAX
    assert len(ann.directory._candidates) <= STRANGERS_MAX * CANDIDATES_MAX
    assert len(ann.sessions()) == STRANGERS_MAX


@pytest.mark.parametrize("order", ["hybrid", "fifo", "none"])
def test_made_up_hellos_leave_nothing_behind(order: str) -> None:
    """Whatever is kept of a name is given back when the next one takes its place."""
    limits = Limits(open_to_strangers=True)
    ann = make_endpoint(ANN, limits=limits, order=order)

    def attack(turn: int) -> None:
        now_ns = SECOND + turn * MS
        hello = forged_hello(f"n{turn}", ANN, 5 + turn, order=order)
        for _ in range(2):
            ann.receive("elsewhere", hello, now_ns)
            let_in(ann, now_ns)
        ann.expire(now_ns)
        ann.write(now_ns)
        ann.out.clear()

    growth = growth_of(attack, 1_700, 600)
    assert growth.blocks < 100
    assert growth.bytes < 60_000


def test_a_real_stranger_gets_in_among_those_who_never_answer() -> None:
    post = Post()
    ann = post.add(ANN, make_endpoint(ANN, limits=Limits(open_to_strangers=True)))
    bob = post.add(BOB)
    introduce(bob, ANN, post.now_ns)
    for count in range(40):
        forged = forged_hello(f"n{count}", ANN, 5 + count)
        post.deliver(Letter("elsewhere", address_of(ANN), forged))
        let_in(ann, post.now_ns)
        post.pass_time(7 * MS)
    assert session_of(ann, BOB).met
    assert session_of(bob, ANN).met


def test_forged_hellos_from_elsewhere_do_not_destroy_a_join() -> None:
    """150 a second while two nodes meet over a link of 50 ms."""
    group = Group([ANN, BOB], Faults(latency=Constant(25 * MS)))
    for count in range(60):
        group.send(ANN, [BOB], b"%d" % count)
    for count in range(300):
        for name, target in ((ANN, BOB), (BOB, ANN)):
            forged = forged_hello(name, target, 1000 + count)
            group.nodes[target].receive("elsewhere", forged, group.now_ns)
            group.network.collect(address_of(target))
        group.run_for(1000 * MS // 150)
    group.run_for(10 * SECOND)
    assert group.payloads(BOB) == [b"%d" % count for count in range(60)]


def test_forged_hellos_do_not_displace_a_peer_known_by_name_only() -> None:
    """Ann does not know where bob is: the made-up ones are as credible, until bob answers."""
    group = Group([ANN, BOB], Faults(latency=Constant(25 * MS)))
    ann = make_endpoint(ANN)
    group.add(ANN, ann)
    ann.add_peer(BOB, None, 2, 1400, group.now_ns)
    for count in range(60):
        group.send(BOB, [ANN], b"%d" % count)
        group.send(ANN, [BOB], b"%d" % count)
    for count in range(3000):
        group.nodes[ANN].receive("elsewhere", forged_hello(BOB, ANN, 1000 + count), group.now_ns)
        group.network.collect(address_of(ANN))
        group.run_for(MS // 2)
    group.run_for(10 * SECOND)
    assert group.payloads(ANN) == group.payloads(BOB) == [b"%d" % count for count in range(60)]


def test_a_new_address_gets_little_until_it_answers() -> None:
    """Somebody who can repeat bob's newest datagram from elsewhere must not aim ann at it."""
    post, ann, bob = met_pair()
    bob_session = session_of(ann, BOB)
    bob_session.address._fixed = False
    for _ in range(200):
        submit(ann, [BOB], b"x" * 1000, post.now_ns)
    submit(bob, [ANN], b"newest", post.now_ns)
    bob.write(post.now_ns)
    (datagram,) = bob.out
    bob.out.clear()
    post.deliver(Letter("victim", address_of(ANN), datagram.data))
    assert PeerMoved(name=BOB, address="victim") in ann.reports
    received = len(datagram.data)
    sent = 0
    for _ in range(200):
        post.now_ns += 50 * MS
        ann.expire(post.now_ns)
        ann.write(post.now_ns)
        sent += sum(len(d.data) for d in ann.out if d.address == "victim")
        ann.out.clear()
    assert 0 < sent <= 3 * received + 100  # what is begun within the limit is finished


def test_a_peer_that_really_moves_is_believed_after_one_answer() -> None:
    post, ann, bob = met_pair()
    session_of(ann, BOB).address._fixed = False
    post.nodes["new place"] = post.nodes.pop(address_of(BOB))
    for _ in range(100):
        submit(ann, [BOB], b"x" * 1000, post.now_ns)
    submit(bob, [ANN], b"here I am", post.now_ns)
    post.pass_time(3 * SECOND)
    assert len(bob.take_inbox()) == 100
    assert session_of(ann, BOB).address.current == "new place"


@pytest.mark.parametrize("leaves", [False, True])
def test_words_about_a_peer_that_was_removed_change_nothing(leaves: bool) -> None:
    """Bob had left: the session with him is over, too."""
    post, ann, bob = met_pair()
    tokens = [int(session_of(ann, BOB).token_in), int(session_of(ann, BOB).token_out)]
    if leaves:
        bob.say_bye(LEAVE_WHEN_RELEASED, post.now_ns)
        post.pass_time(SECOND)
    ann.remove_peer(BOB, post.now_ns)
    ann.write(post.now_ns)
    ann.out.clear()
    for token in tokens:
        for data in (write_unknown(token), forged_ping(token)):
            post.now_ns += 20 * MS
            ann.receive(address_of(BOB), data, post.now_ns)
    assert ann.sessions() == []
    assert (ann.directory.by_token, ann.directory._by_peer_token) == ({}, {})


class Crowd:
    """Ann, who lets anybody in, and strangers who have shown that they are there."""

    def __init__(self, names: list[str], payload_limit: int) -> None:
        limits = Limits(open_to_strangers=True)
        self.ann = make_endpoint(ANN, limits=limits, payload_limit=payload_limit)
        for number, name in enumerate(names):
            hello = forged_hello(name, ANN, 1 + number)
            self.ann.receive(f"at {name}", hello, SECOND)
            let_in(self.ann, SECOND)
            self.ann.receive(f"at {name}", hello, SECOND)
            token = int(self.ann.directory.by_name[name].candidates[0].token_in)
            self.ann.receive(f"at {name}", forged_ping(token, 1), SECOND)
            assert session_of(self.ann, name).met

    def begin_payload(self, name: str, parts: int) -> None:
        """A stranger sends parts of 1,000 bytes that have no end."""
        for number in range(1, parts + 1):
            writer = BytesWriter()
            write_header(writer, session_of(self.ann, name).token_in, 1 + number, NO_KEY)
            write_varint(writer, 0)
            writer.append(MESSAGE_FRAGMENT)
            packet = DataPacket(Message(0, number, bytes(1000)), number - 1, False)
            write_packet(packet, writer, 0)
            self.ann.receive(f"at {name}", writer.getvalue(), SECOND)

    def unfinished(self) -> int:
        """Bytes of payloads that have no end."""
        return sum(session.payload_assembler.kept() for session in self.ann.sessions())


def test_payloads_that_strangers_never_end_take_bounded_memory_all_together() -> None:
    """Each stays within the largest payload; those that stand still longest have to go."""
    strangers = [f"n{number}" for number in range(30)]
    crowd = Crowd(strangers, 50_000)
    for name in strangers:
        crowd.begin_payload(name, 45)
        assert crowd.unfinished() <= (PAYLOADS_MAX + 1) * 50_000
    left = [session.name for session in crowd.ann.sessions()]
    assert left == strangers[-len(left) :]
    assert PAYLOADS_MAX <= len(left) < 20
    gone = [report for report in crowd.ann.reports if isinstance(report, PeerExpelled)]
    assert [report.name for report in gone] == strangers[: -len(left)]
    assert {report.reason for report in gone} == {CROWDED_OUT}


def test_strangers_that_end_their_payloads_are_not_in_each_others_way() -> None:
    post = Post()
    limits = Limits(open_to_strangers=True)
    ann = post.add(ANN, make_endpoint(ANN, limits=limits, payload_limit=100_000))
    for name in NAMES[1:]:
        introduce(post.add(name), ANN, post.now_ns)
    for _ in range(20):
        post.pass_time(100 * MS)
        let_in(ann, post.now_ns)
    strangers = [node for node in post.nodes.values() if node is not ann]
    for _ in range(10):
        for node in strangers:
            submit(node, [ANN], bytes(60_000), post.now_ns)
    post.pass_time(5 * SECOND)
    assert len(ann.take_inbox()) == 10 * len(strangers)
    assert all(node.fenced is None for node in strangers)


def test_strangers_that_come_and_go_leave_no_session_behind() -> None:
    """Beyond the limit of peers those that have left are forgotten, sessions and all."""
    ann = make_endpoint(ANN, limits=Limits(open_to_strangers=True))
    post = Post()
    post.add(ANN, ann)
    bob = post.add(BOB)
    introduce(bob, ANN, post.now_ns)
    for _ in range(5):
        post.pass_time(200 * MS)
        let_in(ann, post.now_ns)
    assert session_of(ann, BOB).met
    bob.say_bye(LEAVE_WHEN_RELEASED, post.now_ns)
    post.pass_time(200 * MS)
    assert session_of(ann, BOB).is_gone()
    del post.nodes[address_of(BOB)]
    # Names without an address say nothing, and so take no time.
    for number in range(PEERS_LIMIT):
        ann.add_peer(f"n{number}", None, 1, MTU, post.now_ns)
    assert BOB not in ann.directory.by_name
    assert ann._table.named(BOB) == []
    assert len(ann._table.by_id) == PEERS_LIMIT
