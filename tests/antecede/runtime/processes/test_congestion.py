"""A narrow link with a short queue: the window follows what it can carry, down and up again."""

from antecede_lab.chaos.proxy import Conditions, Proxy
from antecede_lab.child import Line
from tests.antecede.runtime.processes.groups import free_address, member

MS = 1_000_000
QUEUE_BYTES = 30_000


def window(state: Line) -> int:
    """The congestion window towards the only peer."""
    return int(state["stats"]["peers"][0]["window"])


def test_the_window_shrinks_at_a_bottleneck_and_recovers_after_it() -> None:
    home = free_address()
    with (
        Proxy({"alice": None, "bob": home}, Conditions(latency_ns=5 * MS)) as proxy,
        member("bob", {"alice": None}, bind=home, mtu=1400) as bob,
        member("alice", proxy.peers_of("alice"), mtu=1400) as alice,
    ):
        bob.do("listen")
        alice.do("listen")
        alice.do("talk", {"messages": 10_000_000, "sizes": [1000], "hops": 0})
        alice.wait_until(lambda state: window(state) > 10 * QUEUE_BYTES)

        # What fits: the queue, and what is under way at this rate in a round trip.
        proxy.change(bytes_per_s=1_000_000, queue_bytes=QUEUE_BYTES)
        narrow = window(alice.wait_until(lambda state: window(state) < 3 * QUEUE_BYTES))
        assert proxy.counters()["alice"]["bob"].overflowed > 0
        taken = bob.state()["taken"]
        bob.wait_until(lambda state: state["taken"] > taken + 200)

        proxy.change(bytes_per_s=0)
        alice.wait_until(lambda state: window(state) > 2 * narrow)
        assert bob.state()["problems"] == []
