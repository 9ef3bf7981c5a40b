"""The proxy: what it decides, what its sockets do, and the process that can be told to be bad."""

import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import pytest

from antecede.core.errors import LocalError
from antecede_lab.chaos.proxy import Conditions, Counters, Proxy
from antecede_lab.chaos.proxy.conditions import DatagramFate, DirectedLink
from antecede_lab.child import Child

MS = 1_000_000


@contextmanager
def open_socket() -> Iterator[socket.socket]:
    """What a node has: a port of its own."""
    with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as own:
        own.bind(("127.0.0.1", 0))
        own.settimeout(60)
        yield own


def address_of(own: socket.socket) -> str:
    host, port = own.getsockname()
    return f"{host}:{port}"


def target(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host, int(port)


@contextmanager
def two_nodes(
    conditions: Conditions | None = None,
) -> Iterator[tuple[Proxy, socket.socket, socket.socket]]:
    """Alice and Bob, and the proxy between them."""
    with (
        open_socket() as alice,
        open_socket() as bob,
        Proxy({"alice": address_of(alice), "bob": address_of(bob)}, conditions) as proxy,
    ):
        yield proxy, alice, bob


def received(own: socket.socket, count: int) -> list[bytes]:
    return [own.recv(1 << 16) for _ in range(count)]


def eventually(condition: Callable[[], bool]) -> bool:
    """Whether it becomes true before long."""
    return any(condition() for _ in range(10_000))


def fates(conditions: Conditions, seed: int, count: int = 500) -> list[tuple[int, ...]]:
    """What becomes of one datagram after another, a millisecond apart."""
    judge, road = DatagramFate(conditions, seed), DirectedLink(0, 1)
    return [judge.arrivals(road, 100, number * MS) for number in range(count)]


def test_what_befalls_a_datagram_depends_on_seed_pair_and_number_alone() -> None:
    bad = Conditions(loss=0.3, duplication=0.2, latency_ns=MS, latency_ns_max=9 * MS)
    judge, road, other = DatagramFate(bad, 7), DirectedLink(0, 1), DirectedLink(1, 0)
    interleaved = []
    for number in range(500):
        judge.arrivals(other, 60_000, number * MS)
        interleaved.append(judge.arrivals(road, 100, number * MS))

    assert interleaved == fates(bad, 7)
    assert interleaved != fates(bad, 8)


def test_counters_add_up() -> None:
    judge, road = DatagramFate(Conditions(loss=0.3, duplication=0.2), 1), DirectedLink(0, 1)
    copies = [len(judge.arrivals(road, 10, 0)) for _ in range(1000)]

    assert road.counters.received == 1000
    assert road.counters.lost == copies.count(0) > 200
    assert road.counters.doubled == copies.count(2) > 50


def test_what_is_due_before_an_earlier_one_is_counted() -> None:
    uneven = Conditions(latency_ns=MS, latency_ns_max=9 * MS)
    judge, road = DatagramFate(uneven, 3), DirectedLink(0, 1)
    due = [judge.arrivals(road, 10, number * MS)[0] for number in range(500)]

    overtaking = [number for number in range(1, 500) if due[number] < max(due[:number])]
    assert road.counters.overtaking == len(overtaking) > 100


def test_a_bottleneck_passes_at_its_rate_and_drops_what_its_queue_cannot_hold() -> None:
    slow = Conditions(bytes_per_s=1_000_000, queue_bytes=3_000, latency_ns=MS)
    judge, road = DatagramFate(slow, 1), DirectedLink(0, 1)

    at_once = [judge.arrivals(road, 1000, 0) for _ in range(5)]
    later = judge.arrivals(road, 1000, 10 * MS)

    assert at_once == [(2 * MS,), (3 * MS,), (4 * MS,), (), ()]
    assert later == (12 * MS,), "the queue has emptied meanwhile"
    assert road.counters.overflowed == 2


def test_conditions_change_under_way_and_the_rest_stays() -> None:
    judge, road = DatagramFate(Conditions(latency_ns=5), 1), DirectedLink(0, 1)
    assert judge.arrivals(road, 1, 0) == (5,)

    judge.change(Conditions.of({"loss": 1.0}, judge.conditions))
    assert judge.conditions.latency_ns == 5
    assert judge.arrivals(road, 1, 0) == ()


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"loss": 1.5}, "loss 1.5"),
        ({"los": 0.5}, "no condition is called 'los'"),
        ({"bytes_per_s": 5}, "needs queue_bytes"),
        ({"datagram_bytes": -5}, "at least 0"),
        ({"bytes_per_s": -5, "queue_bytes": 1}, "at least 0"),
        ({"reordering": 0.1}, "needs reordering_ns"),
    ],
)
def test_conditions_that_make_no_sense_are_refused(
    settings: dict[str, float], complaint: str
) -> None:
    with pytest.raises(LocalError, match=complaint):
        Conditions.of(settings)


def test_each_node_sees_the_other_where_it_was_told_it_is() -> None:
    """Whoever answers the address a datagram came from reaches its sender, through the proxy."""
    with two_nodes() as (proxy, alice, bob):
        bob_seen_by_alice = target(proxy.peers_of("alice")["bob"])
        alice_seen_by_bob = target(proxy.peers_of("bob")["alice"])

        alice.sendto(b"question", bob_seen_by_alice)
        assert bob.recvfrom(100) == (b"question", alice_seen_by_bob)
        bob.sendto(b"answer", alice_seen_by_bob)
        assert alice.recvfrom(100) == (b"answer", bob_seen_by_alice)


def test_nodes_may_be_learnt_when_they_speak() -> None:
    with open_socket() as alice, open_socket() as bob, Proxy({"alice": None, "bob": None}) as proxy:
        alice.sendto(b"to nowhere yet", target(proxy.peers_of("alice")["bob"]))
        bob.sendto(b"here I am", target(proxy.peers_of("bob")["alice"]))
        assert alice.recv(100) == b"here I am"
        alice.sendto(b"found you", target(proxy.peers_of("alice")["bob"]))
        assert bob.recv(100) == b"found you"

        counters = proxy.stop()
    assert counters["alice"]["bob"] == Counters(
        received=2, received_bytes=23, forwarded=1, forwarded_bytes=9, nowhere=1
    )


def test_a_datagram_may_be_empty_or_as_large_as_they_get() -> None:
    with two_nodes() as (proxy, alice, bob):
        for datagram in (b"", b"x" * 65_507):
            alice.sendto(datagram, target(proxy.peers_of("alice")["bob"]))
            assert bob.recv(1 << 16) == datagram


def test_loss_is_the_same_for_the_same_seed_whoever_runs_it() -> None:
    lossy = Conditions(loss=0.5)
    judge, road = DatagramFate(lossy, 1), DirectedLink(0, 1)
    expected = [n for n in range(100) if judge.arrivals(road, 1, 0)]
    with two_nodes(lossy) as (proxy, alice, bob):
        for number in range(100):
            alice.sendto(bytes([number]), target(proxy.peers_of("alice")["bob"]))
        arrived = [datagram[0] for datagram in received(bob, len(expected))]
        counters = proxy.stop()["alice"]["bob"]

    assert arrived == expected
    assert counters.lost == 100 - len(expected)


def test_reordering_loses_nothing_and_changes_the_order() -> None:
    late = Conditions(reordering=0.5, reordering_ns=50 * MS)
    with two_nodes(late) as (proxy, alice, bob):
        for number in range(100):
            alice.sendto(bytes([number]), target(proxy.peers_of("alice")["bob"]))
        arrived = [datagram[0] for datagram in received(bob, 100)]

    assert sorted(arrived) == list(range(100))
    assert arrived != sorted(arrived)


def test_a_cut_link_passes_nothing_until_it_heals() -> None:
    with two_nodes() as (proxy, alice, bob):
        way = target(proxy.peers_of("alice")["bob"])
        proxy.cut("alice", "bob")
        alice.sendto(b"lost", way)
        assert eventually(lambda: proxy.counters()["alice"]["bob"].cut == 1)
        proxy.heal("alice", "bob")
        alice.sendto(b"arrives", way)
        assert bob.recv(100) == b"arrives"

        proxy.isolate("bob")
        alice.sendto(b"lost", way)
        assert eventually(lambda: proxy.counters()["alice"]["bob"].cut == 2)
        proxy.heal()
        alice.sendto(b"arrives, too", way)
        assert bob.recv(100) == b"arrives, too"


def test_a_node_can_seem_to_move_and_is_still_reached_at_both_ports() -> None:
    with two_nodes() as (proxy, alice, bob):
        proxy.rebind("alice", "bob")
        alice.sendto(b"moved", target(proxy.peers_of("alice")["bob"]))
        text, seen = bob.recvfrom(100)
        assert text == b"moved"
        assert seen != target(proxy.peers_of("bob")["alice"])

        bob.sendto(b"to the new", seen)
        bob.sendto(b"to the old", target(proxy.peers_of("bob")["alice"]))
        assert sorted(received(alice, 2)) == [b"to the new", b"to the old"]


def test_a_node_that_moves_is_followed() -> None:
    with two_nodes() as (proxy, _, bob), open_socket() as alice_elsewhere:
        alice_elsewhere.sendto(b"hello", target(proxy.peers_of("alice")["bob"]))
        assert bob.recv(100) == b"hello"
        bob.sendto(b"there you are", target(proxy.peers_of("bob")["alice"]))
        assert alice_elsewhere.recv(100) == b"there you are"


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ({"cut": ["alice"]}, "not a pair"),
        ({"cut": ["alice", "carol"]}, "no node 'carol'"),
        ({"cut": ["alice", "alice"]}, "from alice to itself"),
        ({"isolate": "alice"}, "not a list"),
        ({"set": {"loss": 2}}, "loss 2"),
        ({"set": 5}, "not iterable"),
        ({"dance": True}, "cannot 'dance'"),
        ({}, "one key"),
    ],
)
def test_the_process_answers_nonsense_and_goes_on(line: dict[str, object], complaint: str) -> None:
    configuration = '{"nodes": {"alice": null, "bob": null}}'
    with Child.python("antecede_lab.chaos.proxy", "--config", configuration) as process:
        assert set(process.hear()) == {"addresses"}
        assert complaint in process.ask(line)["error"]
        assert process.ask({"heal": True}) == {"done": "heal"}


@pytest.mark.parametrize("configuration", ["{}", '{"nodes": {"alone": null}}', "nonsense"])
def test_a_bad_configuration_is_explained(configuration: str) -> None:
    process = subprocess.run(
        [sys.executable, "-m", "antecede_lab.chaos.proxy", "--config", configuration],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert process.returncode == 2
    assert "error: " in process.stderr
    assert "Traceback" not in process.stderr


def test_the_process_ends_when_its_input_does() -> None:
    configuration = '{"nodes": {"alice": null, "bob": null}}'
    with Child.python("antecede_lab.chaos.proxy", "--config", configuration) as process:
        process.hear()
        process.end_input()
        assert set(process.hear()) == {"counters"}
        assert process.hear_or_end() is None
        assert process.wait() == 0
