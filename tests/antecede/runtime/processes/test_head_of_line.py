"""The wire that loses packets below TCP, and the measurement over it; short, on real sockets."""

import os
import socket
from contextlib import ExitStack

import pytest

from bench.head_of_line import Talk, measure, quantiles
from bench.lossy_wire import Relay, objection

IPV4 = b"\x45"
IPV6 = b"\x60"


@pytest.mark.parametrize("way", ["tcp-shared", "antecede"])
def test_everything_arrives_over_a_wire_that_loses_packets(way: str) -> None:
    reason = objection()
    if reason is not None:
        pytest.skip(reason)
    talk = Talk(way=way, pairs=4, per_s=100, seconds=0.8, warm_s=0.2)
    found = measure(talk, 0.1, delay_ms=10.0, seed=1)

    assert found["messages"] == 320
    assert found["lost"] > 0
    assert 10.0 <= found["p50"] <= found["p99"] <= found["p99.9"] <= found["max"]


# The relay, without devices.


def carried(loss: float, packets: list[bytes]) -> tuple[Relay, list[bytes]]:
    """What comes out on the right of what was put in on the left."""
    with ExitStack() as stack:
        ends = [
            stack.enter_context(end)
            for _ in range(2)
            for end in socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        ]
        left, at_left, at_right, right = ends
        relay = Relay(at_left.fileno(), at_right.fileno(), 0, 1)
        relay.loss = loss
        for packet in packets:
            os.write(left.fileno(), packet)
            relay.take(at_left.fileno())
        relay.put()
        right.setblocking(False)
        found: list[bytes] = []
        while True:
            try:
                found.append(right.recv(100))
            except BlockingIOError:
                return relay, found


def test_the_wire_carries_packets_in_order() -> None:
    packets = [IPV4 + bytes([number]) for number in range(20)]
    relay, found = carried(0.0, packets)

    assert found == packets
    assert (relay.carried, relay.lost) == (20, 0)


def test_the_wire_loses_the_share_asked_for_and_knows_only_ipv4() -> None:
    relay, found = carried(0.5, [IPV4, IPV6] * 40)
    assert (relay.carried, relay.lost) == (40, 40 - len(found))
    assert 10 < len(found) < 30
    assert carried(1.0, [IPV4] * 9)[1] == []


def test_quantiles_are_those_of_the_messages() -> None:
    found = quantiles([1_000_000 * (number + 1) for number in range(1000)])

    assert found == {"p50": 501.0, "p90": 901.0, "p99": 991.0, "p99.9": 1000.0, "max": 1000.0}
