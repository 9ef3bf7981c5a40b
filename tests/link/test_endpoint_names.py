"""Packets that name third parties: nodes say whom they mean, and order is kept across strangers."""

from collections.abc import Callable

import pytest
from librt.strings import BytesWriter

from antecede.core.catalogue import find_protocol
from antecede.core.errors import RemoteError
from antecede.core.fact_packets import Fact, FactsAck, FactsMessage, Report, Watermark
from antecede.core.values import Message
from antecede.link.endpoint import Endpoint
from antecede.link.faults import Faults
from antecede.link.latency import Uniform
from antecede.link.names import SPOKEN_OF_MOST, Names, Speech, name_key
from antecede.wire.codec import encode
from antecede.wire.frames import NAMES, write_header
from antecede.wire.naming import NAMED_MOST, Named, read_names, write_names
from antecede.wire.varint import Reader, write_varint
from tests.link.endpoints import (
    ANN,
    BOB,
    CAT,
    DAN,
    MS,
    SECOND,
    Group,
    Letter,
    Post,
    address_of,
    introduce,
    make_endpoint,
    session_of,
    submit,
)
from tests.link.endpoints import NAMES as EVERYBODY

ORDER = "hybrid-facts"


def between(one: str, other: str) -> Callable[[Letter], bool]:
    """Datagrams from one to the other."""
    return lambda letter: (letter.source, letter.target) == (address_of(one), address_of(other))


def met(*strangers: frozenset[str]) -> tuple[Post, dict[str, Endpoint]]:
    """Ann, Bob, Cat and Dan, who have met, but for those pairs that know nothing of each other."""
    post = Post()
    nodes = {name: post.add(name, make_endpoint(name, order=ORDER)) for name in EVERYBODY[:4]}
    for name, node in nodes.items():
        for other in nodes:
            if other != name and frozenset((name, other)) not in strangers:
                introduce(node, other, post.now_ns)
    post.pass_time(SECOND)
    return post, nodes


def payloads(node: Endpoint) -> list[bytes]:
    return [message.payload for message in node.take_inbox()]


# Order.


def test_what_was_sent_before_is_waited_for_whoever_tells_of_it() -> None:
    """Ann writes to Dan, slowly, and to Bob; Bob writes to Dan."""
    post, nodes = met()
    submit(nodes[ANN], [DAN], b"first", post.now_ns)
    submit(nodes[ANN], [BOB], b"go", post.now_ns)
    post.carry(lose=between(ANN, DAN))
    assert payloads(nodes[BOB]) == [b"go"]

    submit(nodes[BOB], [DAN], b"second", post.now_ns)
    post.carry(lose=between(ANN, DAN))
    assert payloads(nodes[DAN]) == []

    post.pass_time(5 * SECOND)
    assert payloads(nodes[DAN]) == [b"first", b"second"]
    assert all(node.malformed == 0 for node in nodes.values())


def test_facts_are_passed_on_by_those_who_know_neither_end() -> None:
    """Bob has never heard of Dan, nor Cat of Ann: what Ann told Bob reaches Cat all the same."""
    post, nodes = met(frozenset((BOB, DAN)), frozenset((ANN, CAT)))
    submit(nodes[ANN], [DAN], b"first", post.now_ns)
    submit(nodes[ANN], [BOB], b"go", post.now_ns)
    post.carry(lose=between(ANN, DAN))
    submit(nodes[BOB], [CAT], b"go on", post.now_ns)
    post.carry(lose=between(ANN, DAN))
    assert payloads(nodes[CAT]) == [b"go on"]

    submit(nodes[CAT], [DAN], b"second", post.now_ns)
    post.carry(lose=between(ANN, DAN))
    assert payloads(nodes[DAN]) == []

    post.pass_time(5 * SECOND)
    assert payloads(nodes[DAN]) == [b"first", b"second"]


@pytest.mark.parametrize("sends_early", [True, False])
def test_somebody_spoken_of_turns_out_to_be_a_peer(sends_early: bool) -> None:
    """Cat knows where Dan is and has not met him when she hears of a message that he misses."""
    post, nodes = met(frozenset((CAT, DAN)))
    cut = between(ANN, DAN)
    introduce(nodes[DAN], CAT, post.now_ns)
    submit(nodes[ANN], [DAN], b"first", post.now_ns)
    submit(nodes[ANN], [CAT], b"go", post.now_ns)
    post.carry(lose=lambda letter: cut(letter) or address_of(DAN) in (letter.source, letter.target))
    assert payloads(nodes[CAT]) == [b"go"]
    introduce(nodes[CAT], DAN, post.now_ns)
    if sends_early:
        submit(nodes[CAT], [DAN], b"second", post.now_ns)

    post.pass_time(200 * MS, lose=cut)
    assert session_of(nodes[CAT], DAN).met
    if not sends_early:
        submit(nodes[CAT], [DAN], b"second", post.now_ns)
    post.pass_time(200 * MS, lose=cut)
    assert payloads(nodes[DAN]) == []

    post.pass_time(10 * SECOND)
    assert payloads(nodes[DAN]) == [b"first", b"second"]
    assert all(node.malformed == 0 and node.buffered() == 0 for node in nodes.values())


def test_a_message_to_somebody_not_met_holds_back_what_follows_it() -> None:
    """Nobody can be told who Dan is: Bob waits for Ann's permit before he writes to him."""
    post, nodes = met(frozenset((ANN, DAN)))
    introduce(nodes[DAN], ANN, post.now_ns)
    introduce(nodes[ANN], DAN, post.now_ns)

    def parted(letter: Letter) -> bool:
        return {letter.source, letter.target} == {address_of(ANN), address_of(DAN)}

    submit(nodes[ANN], [DAN], b"first", post.now_ns)
    submit(nodes[ANN], [BOB], b"go", post.now_ns)
    post.pass_time(SECOND, lose=parted)
    assert payloads(nodes[BOB]) == [b"go"]
    submit(nodes[BOB], [DAN], b"second", post.now_ns)
    submit(nodes[BOB], [CAT], b"free", post.now_ns)
    post.pass_time(SECOND, lose=parted)
    assert payloads(nodes[DAN]) == []

    post.pass_time(10 * SECOND)
    assert payloads(nodes[DAN]) == [b"first", b"second"]
    assert payloads(nodes[CAT]) == [b"free"]


# Groups.


@pytest.mark.parametrize("seed", range(4))
def test_a_group_on_a_bad_network_keeps_the_order(seed: int) -> None:
    faults = Faults(latency=Uniform(MS, 30 * MS), loss=0.1, duplication=0.1)
    group = Group(EVERYBODY[:5], faults, seed=seed, order=ORDER)

    def answer(name: str, _message: object) -> None:
        count = len(group.got[name])
        if count < 25:
            others = [other for other in group.nodes if other != name]
            group.send(name, others[count % 4 :][: 1 + count % 2], b"%d" % count)

    group.on_message = answer
    for name in group.nodes:
        group.send(name, [other for other in group.nodes if other != name], b"hello")
    group.run_until(group.drained)
    group.run_for(5 * SECOND)
    group.assert_all_is_well()


@pytest.mark.parametrize("seed", range(3))
def test_a_restart_in_a_group_heals_by_itself(seed: int) -> None:
    group = Group(EVERYBODY[:4], Faults(latency=Uniform(MS, 20 * MS)), seed=seed, order=ORDER)
    for turn in range(60):
        name = EVERYBODY[turn % 4]
        if name in group.nodes:
            others = [other for other in group.nodes if other != name]
            group.send(name, others[: 1 + turn % 3], b"%d" % turn)
        group.run_for(3 * MS)
        if turn == 20:
            group.kill(BOB)
        if turn == 30:
            group.add(BOB, make_endpoint(BOB, incarnation=2, log=group.log, order=ORDER))
            for other in EVERYBODY[:4]:
                if other != BOB:
                    introduce(group.nodes[BOB], other, group.now_ns)
    group.run_until(group.drained)
    group.run_for(5 * SECOND)

    group.send(ANN, [BOB], b"are you there")
    group.send(ANN, [CAT], b"ask him")
    group.run_until(group.drained)
    assert b"are you there" in group.payloads(BOB)
    assert all(node.malformed == 0 for node in group.nodes.values())


def test_a_large_payload_with_many_names_goes_in_pieces() -> None:
    """Names of 60 letters and a payload of a whole datagram: both do not fit one."""
    group = Group(EVERYBODY[:6], Faults(latency=Uniform(MS, 3 * MS)), order=ORDER)
    group.run_for(SECOND)
    for name in group.nodes:
        for other in group.nodes:
            if other != name:
                group.send(name, [other], bytes(1_140))
    group.run_until(group.drained)
    group.run_for(5 * SECOND)
    group.assert_all_is_well()


# What is said.


def test_a_number_is_introduced_until_that_has_come_and_not_again() -> None:
    post, nodes = met()
    submit(nodes[ANN], [DAN], b"first", post.now_ns)
    submit(nodes[ANN], [BOB], b"go", post.now_ns)
    names: list[bool] = []
    for _ in range(3):
        written = [letter for letter in post.collect() if between(ANN, BOB)(letter)]
        names += [b"dan" in letter.data for letter in written]
        post.waiting.clear()
        submit(nodes[ANN], [BOB], b"again", post.now_ns)
    assert names == [True, True, True]

    post.pass_time(5 * SECOND, lose=between(ANN, DAN))
    submit(nodes[ANN], [DAN], b"one more", post.now_ns)
    submit(nodes[ANN], [BOB], b"last", post.now_ns)
    later = [letter for letter in post.collect() if between(ANN, BOB)(letter)]
    assert later
    assert not any(b"dan" in letter.data for letter in later)


def test_the_key_of_a_name_is_the_same_everywhere() -> None:
    assert name_key("alice") == 3961963235519497233
    assert name_key("alice") != name_key("bob")


def test_names_read_as_they_were_written() -> None:
    named = [Named(1, "ann", 7), Named(300, "österreich", 1 << 60)]
    writer = BytesWriter()
    write_names(writer, named)
    reader = Reader(writer.getvalue())
    assert reader.byte() == NAMES
    assert read_names(reader) == named


# Hostile peers.


def frame_of(*named: Named) -> bytes:
    writer = BytesWriter()
    write_names(writer, list(named))
    return writer.getvalue()


def crowd(count: int) -> bytes:
    writer = BytesWriter()
    writer.append(NAMES)
    write_varint(writer, count)
    return writer.getvalue()


def about(number: int) -> bytes:
    report = Report(0, (), [Fact(number, number + 1, 1)], 1)
    return encode(FactsMessage(Message(0, 1, b""), 0, [], report))


HOSTILE = {
    "nobody": crowd(0),
    "too many at once": crowd(NAMED_MOST + 1),
    "the sender itself": bytes([NAMES, 1, 0, 1, 1]) + b"x",
    "no name": bytes([NAMES, 1, 5, 1, 0]),
    "cut short": frame_of(Named(5, "eve", 1))[:-1],
    "two for one": frame_of(Named(5, "eve", 1)) + frame_of(Named(5, "fay", 1)),
    "somebody not introduced": about(5),
    "a fact about its receiver": frame_of(Named(5, "eve", 1), Named(6, BOB, 1)) + about(5),
    "one process under two numbers": frame_of(Named(5, "eve", 1), Named(6, "eve", 1)) + about(5),
    "a watermark of nobody": encode(FactsAck(0, [Watermark(-1, 0), Watermark(9, 3)])),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_what_makes_no_sense_is_counted_and_dropped(what: str) -> None:
    post, nodes = met()
    bob = nodes[BOB]
    session = session_of(nodes[ANN], BOB)
    writer = BytesWriter()
    write_header(writer, session.token_out, session.path.next_number(), 0)
    write_varint(writer, 0)
    writer.write(HOSTILE[what])

    bob.receive(address_of(ANN), writer.getvalue(), post.now_ns)

    assert bob.malformed == 1, bob.last_malformed
    assert bob.take_inbox() == []
    submit(nodes[ANN], [BOB], b"still here", post.now_ns)
    post.pass_time(5 * SECOND)
    assert payloads(bob) == [b"still here"]


def test_a_peer_may_speak_of_so_many_others() -> None:
    speech = Speech(1)
    for number in range(1, SPOKEN_OF_MOST + 1):
        speech.introduced(number, number)
    speech.introduced(1, 1)
    with pytest.raises(RemoteError, match="speaks of more than"):
        speech.introduced(SPOKEN_OF_MOST + 1, 1)


def test_who_is_met_under_a_name_heard_before_has_one_number() -> None:
    names = Names("me", 1)
    names.heard_of(17, "dan", 5)
    assert names.met(3, "dan", 4) == -1
    assert names.met(4, "dan", 5) == 17
    assert names.number_of("dan", 5) == 4
    assert names.strangers_up_to("dan", 9) == []
    assert names.named([3, 4]) == [Named(3, "dan", 4), Named(4, "dan", 5)]


def test_nodes_run_it_so_that_they_can_be_expelled() -> None:
    assert find_protocol(ORDER).node_options == {"hops": 1, "covering": False}
