"""What somebody who was never introduced can do to a node without keys: little."""

from antecede.link.directory import CANDIDATES_MOST, STRANGERS_MOST
from antecede.link.endpoint import Endpoint
from antecede.link.faults import Faults
from antecede.link.latency import Constant
from antecede.link.limits import Limits
from antecede.link.refusals import REFUSED_MOST, REFUSED_NS
from antecede.link.reports import PeerMoved, Refused, Stranger
from antecede.wire.frames import DATAGRAM
from antecede.wire.greeting import (
    GREETING_SIZE,
    HELLO,
    Greeting,
    read_refusal,
    write_greeting,
    write_refusal,
)
from antecede.wire.varint import Reader
from tests.link.endpoints import (
    ANN,
    BOB,
    MS,
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

ESCAPES = "\x1b]0;owned\x07\x1b[31m\u202ereversed"


def forged_hello(name: str, target: str, incarnation: int, size: int = GREETING_SIZE) -> bytes:
    """A hello that anybody can make up."""
    greeting = Greeting(name, target, incarnation, 1 + incarnation)
    greeting.order = "hybrid"
    greeting.window = greeting.payload_limit = greeting.socket_bytes = 1 << 20
    return write_greeting(HELLO, greeting, size)


def let_in(endpoint: Endpoint, now_ns: int) -> None:
    """Introduce the strangers that have said hello, as a node does that welcomes anybody."""
    for report in list(endpoint.reports):
        if isinstance(report, Stranger) and report.name not in endpoint.directory.by_name:
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
    (refused,) = [report for report in ann.reports if isinstance(report, Refused)]
    assert refused.reason.isprintable()
    assert ann.directory.by_name[BOB].refusal.isprintable()
    assert read_refusal(Reader(data, 1))[1] == "\\x1b]0;owned\\x07\\x1b[31m\\u202ereversed"


def test_a_name_that_commands_a_terminal_is_malformed() -> None:
    post, ann, _ = met_pair()
    post.deliver(Letter("elsewhere", address_of(ANN), forged_hello(ESCAPES, ANN, 5)))
    assert ann.last_malformed == "a name that no terminal should show"
    assert (ann.reports, post.collect()) == ([], [])


def test_made_up_names_are_reported_only_so_often() -> None:
    post, ann, _ = met_pair()
    for count in range(3 * REFUSED_MOST):
        post.deliver(Letter("elsewhere", address_of(ANN), forged_hello(f"n{count}", ANN, 5)))
    assert len(ann.reports) == REFUSED_MOST
    assert ann.directory.refusals == 3 * REFUSED_MOST
    post.now_ns += REFUSED_NS
    post.deliver(Letter("elsewhere", address_of(ANN), forged_hello("later", ANN, 5)))
    assert len(ann.reports) == REFUSED_MOST + 1


def test_strangers_who_never_answer_take_bounded_memory() -> None:
    post = Post()
    ann = post.add(ANN, make_endpoint(ANN, limits=Limits(open_to_strangers=True)))
    for count in range(10 * STRANGERS_MOST):
        hello = Letter(f"at {count}", address_of(ANN), forged_hello(f"n{count}", ANN, 5 + count))
        post.deliver(hello)
        let_in(ann, post.now_ns)
        post.deliver(hello)
    assert len(ann.directory.by_name) == STRANGERS_MOST
    assert len(ann.directory._candidates) <= STRANGERS_MOST * CANDIDATES_MOST
    assert len(ann.sessions()) == STRANGERS_MOST


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
    bob_session._fixed_address = False
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
    session_of(ann, BOB)._fixed_address = False
    post.nodes["new place"] = post.nodes.pop(address_of(BOB))
    for _ in range(100):
        submit(ann, [BOB], b"x" * 1000, post.now_ns)
    submit(bob, [ANN], b"here I am", post.now_ns)
    post.pass_time(3 * SECOND)
    assert len(bob.take_inbox()) == 100
    assert session_of(ann, BOB).address == "new place"
