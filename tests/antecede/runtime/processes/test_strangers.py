"""Datagrams that no correct peer sends, and peers of another version: counted, told, survived."""

import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from random import Random

import pytest

from antecede.runtime.config.addresses import parse_address
from antecede.wire.frames import DATAGRAM
from antecede.wire.handshake import (
    HELLO,
    OLDEST_VERSION,
    REFUSE,
    UNKNOWN,
    VERSION,
    WELCOME,
    Greeting,
    read_refusal,
    write_greeting,
    write_refusal,
)
from antecede.wire.varint import WireReader
from tests.antecede.runtime.processes.groups import Member, member, pair, settle

NEWER = VERSION + 7


@contextmanager
def stranger() -> Iterator[socket.socket]:
    """A socket that speaks for itself."""
    with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as own:
        own.bind(("127.0.0.1", 0))
        own.settimeout(60)
        yield own


def address_of(own: socket.socket) -> str:
    host, port = own.getsockname()
    return f"{host}:{port}"


def damaged(datagram: bytes, random: Random) -> bytes:
    """Cut off, changed in places, grown, or begun by another kind."""
    data = bytearray(datagram)
    for _ in range(random.randint(1, 4)):
        how = random.randrange(4)
        if how == 0:
            del data[random.randrange(len(data) + 1) :]
        elif how == 1 and data:
            data[random.randrange(len(data))] = random.randrange(256)
        elif how == 2:
            data += random.randbytes(random.randrange(40))
        elif data:
            data[0] = random.choice((DATAGRAM, HELLO, WELCOME, REFUSE, UNKNOWN))
    return bytes(data)


def overheard(count: int) -> list[bytes]:
    """What a real node really says to somebody who never answers, and then answers wrongly."""
    with stranger() as own, member("alice", {"bob": address_of(own)}) as alice:
        assert alice.address
        return [own.recv(1 << 16) for _ in range(count)]


def greeting(name: str, target: str, oldest: int, newest: int) -> Greeting:
    made = Greeting(name, target, 4711, 815)
    made.oldest, made.newest, made.order = oldest, newest, "hybrid"
    made.process, made.window, made.payload_limit, made.socket_bytes = 7, 1 << 20, 1 << 20, 1 << 20
    return made


@pytest.mark.parametrize("seed", [1, 2])
def test_garbage_is_counted_and_harms_nobody(seed: int) -> None:
    random = Random(seed)
    samples = [
        *overheard(1),
        write_greeting(HELLO, greeting("alice", "bob", 1, 1)),
        write_greeting(WELCOME, greeting("alice", "bob", 1, 1)),
        write_refusal("alice", "no"),
        bytes([DATAGRAM, 0]) + random.randbytes(60),
    ]
    with pair() as (alice, bob), stranger() as own:
        for one in (alice, bob):
            one.do("listen")
            one.do("talk", {"messages": 100, "pause_s": 0.002})
        for number in range(2000):
            target = parse_address((alice if number % 2 else bob).address)
            own.sendto(damaged(random.choice(samples), random), target)
            if number % 50 == 0:
                own.sendto(random.randbytes(random.randrange(1500)), target)
        settle([alice, bob])
        for one in (alice, bob):
            assert one.state()["stats"]["malformed"] > 100
            assert one.events("PeerRestarted") == []


def test_what_was_overheard_and_is_repeated_by_somebody_else_changes_nothing() -> None:
    with (
        stranger() as between,
        member("bob", {"alice": None}) as bob,
        member("alice", {"bob": address_of(between)}, meet_within=120) as alice,
        stranger() as parrot,
    ):
        bob.do("listen")
        alice.do("begin_to_send", {"to": ["bob"], "count": 50})
        heard = passed_on(between, alice, bob)
        assert heard
        bob.wait_for("taken", 50)

        for datagram in heard * 3:
            parrot.sendto(datagram, parse_address(bob.address))
        bob.wait_until(
            lambda state: state["stats"]["peers"][0]["datagrams_received"] > 2 * len(heard)
        )
        assert bob.state()["taken"] == 50
        assert bob.events("PeerRestarted") == []
        assert bob.events("PeerMoved") == []


def passed_on(between: socket.socket, alice: Member, bob: Member) -> list[bytes]:
    """Pass on what two say to each other until all is said; what Alice said, her hello apart."""
    there, back = parse_address(alice.address), parse_address(bob.address)
    said = []
    while (state := alice.state())["talking"] or state["stats"]["buffered"] > 0:
        datagram, source = between.recvfrom(1 << 16)
        if source[1] == there.port:
            said.append(datagram)
        between.sendto(datagram, back if source[1] == there.port else there)
    return [datagram for datagram in said if datagram[0] == DATAGRAM]


def test_a_node_of_a_version_that_is_not_spoken_is_refused_and_told_why() -> None:
    with member("bob", {"alice": None}) as bob, stranger() as own:
        hello = write_greeting(HELLO, greeting("alice", "bob", NEWER, NEWER))
        own.sendto(hello, parse_address(bob.address))
        answer = own.recv(1 << 16)

        assert answer[0] == REFUSE
        name, reason, _ = read_refusal(WireReader(answer, 1))
        assert name == "bob"
        assert f"bob speaks versions {OLDEST_VERSION} to {VERSION}" in reason
        refused = bob.wait_for_event("PeerRefused")
        assert f"it speaks versions {NEWER} to {NEWER}" in refused["reason"]


def test_a_node_that_is_refused_for_its_version_says_so_and_its_sends_wait() -> None:
    with stranger() as own, member("alice", {"bob": address_of(own)}, meet_within=120) as alice:
        alice.do("begin_to_send", {"to": ["bob"], "count": 3})
        _, source = own.recvfrom(1 << 16)
        own.sendto(write_refusal("bob", "bob speaks versions 8 to 8; upgrade"), source)

        refused = alice.wait_for_event("PeerRefused")
        assert (refused["name"], "versions 8 to 8" in refused["reason"]) == ("bob", True)
        assert "bob refuses: bob speaks versions 8 to 8" in alice.explain()
        state = alice.state()
        assert (state["talking"], state["stats"]["buffered"]) == (True, 0)
        assert alice.do("close", {"timeout": 0.2}) == {"closed": True}
        assert "NodeClosed" in str(alice.state()["problems"])


def test_newer_nodes_that_still_speak_our_version_are_welcome() -> None:
    with member("bob", {"alice": None}) as bob, stranger() as own:
        hello = write_greeting(HELLO, greeting("alice", "bob", VERSION, NEWER))
        own.sendto(hello, parse_address(bob.address))
        assert own.recv(1 << 16)[0] == WELCOME


def test_a_node_that_nobody_introduced_is_refused_unless_strangers_are_welcome() -> None:
    with member("bob", {}) as bob, member("alice", {"bob": bob.address}) as alice:
        refused = alice.wait_for_event("PeerRefused")
        assert "alice is not one of bob's peers" in refused["reason"]

    with (
        member("bob", {}, accept_unknown=True) as bob,
        member("alice", {"bob": bob.address}) as alice,
    ):
        bob.do("listen")
        alice.do("send", {"to": ["bob"], "count": 3})
        bob.wait_for("taken", 3)
        bob.do("send", {"to": ["alice"]})
        alice.do("listen")
        alice.wait_for("taken", 1)
