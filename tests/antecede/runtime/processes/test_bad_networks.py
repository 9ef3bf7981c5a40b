"""Real processes on a network that loses, doubles, delays, reorders and falls apart.

Every message must be delivered exactly once and in causal order: judged by the oracle, from what
the applications saw and from the event logs that the nodes wrote.
"""

import time
from pathlib import Path

import pytest

from antecede_audit.judging import check_log
from antecede_lab.chaos.proxy import Conditions
from tests.antecede.runtime.processes.groups import Group, group_of

MS = 1_000_000

GOOD = Conditions()
SPREAD = Conditions(latency_ns=MS, latency_ns_max=10 * MS)
LOSSY = Conditions(loss=0.1, duplication=0.1, latency_ns_max=4 * MS)
AWFUL = Conditions(
    loss=0.3,
    duplication=0.2,
    latency_ns=MS,
    latency_ns_max=6 * MS,
    reordering=0.2,
    reordering_ns=30 * MS,
)


@pytest.mark.parametrize(
    ("size", "conditions", "messages"),
    [(2, GOOD, 300), (3, SPREAD, 60), (4, LOSSY, 40), (5, AWFUL, 20), (8, LOSSY, 12)],
    ids=["2-good", "3-spread", "4-lossy", "5-awful", "8-lossy"],
)
def test_everything_arrives_once_and_in_causal_order(
    tmp_path: Path, size: int, conditions: Conditions, messages: int
) -> None:
    with group_of(size, tmp_path, conditions) as group:
        group.talk(messages=messages, pause_s=0.002)
        group.settle()
        group.close()
        verdict = group.check()
        counters = group.proxy.stop()

    assert verdict.processes == size
    assert verdict.messages >= size * messages
    assert verdict.deliveries > verdict.messages, "some were for several"
    lost = sum(link.lost for links in counters.values() for link in links.values())
    assert (lost > 0) == (conditions.loss > 0)


@pytest.mark.parametrize("order", ["fifo", "none"])
def test_nodes_that_order_less_are_caught_on_the_same_network(tmp_path: Path, order: str) -> None:
    """Otherwise the tests here would prove little."""
    with group_of(4, tmp_path, AWFUL, order=order) as group:
        group.talk(messages=40, reply=0.9)
        group.settle()
        group.close()
        verdict = check_log(group.logged_events(), witnesses=False)

    assert verdict.violations
    assert bool(verdict.fifo_breaks) == (order == "none")
    assert not verdict.losses + verdict.duplicates + verdict.inventions, "exactly once all the same"


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 8))
def test_everything_arrives_on_other_bad_networks_too(tmp_path: Path, seed: int) -> None:
    with group_of(3 + seed % 6, tmp_path, AWFUL, seed=seed) as group:
        group.talk(messages=60, pause_s=0.002, sizes=[20, 300, 5000])
        group.settle()
        group.close()
        group.check()


def test_messages_larger_than_a_datagram_keep_their_place(tmp_path: Path) -> None:
    lossy = Conditions(loss=0.02, duplication=0.02, latency_ns_max=2 * MS)
    with group_of(3, tmp_path, lossy, mtu=1400) as group:
        group.talk(messages=15, sizes=[20, 5_000, 40_000], hops=1)
        group.settle()
        group.close()
        # Parts are messages of their own to the nodes, but not to the applications.
        group.check_applications()


def test_a_way_that_drops_large_datagrams_without_a_word_is_found_out(tmp_path: Path) -> None:
    """On loopback datagrams have 60 000 bytes at first, and none of them comes through here."""
    with group_of(2, tmp_path, Conditions(datagram_bytes=1_452)) as group:
        group.talk(messages=10, sizes=[20, 5_000, 40_000], hops=1)
        group.settle()
        group.close()
        group.check_applications()
        counters = group.proxy.stop()
    assert sum(link.oversized for links in counters.values() for link in links.values()) > 0


def test_cut_links_hold_messages_back_and_healed_ones_let_them_go(tmp_path: Path) -> None:
    with group_of(4, tmp_path, SPREAD, expel="manual") as group:
        group.do("meet")
        group.proxy.isolate("alice", "bob")
        group.talk(messages=25)
        wait_until_quiet(group)
        across = [member.state()["stats"]["buffered"] for member in group.members.values()]
        assert all(across), "what is for the other island waits"

        group.proxy.heal()
        group.settle()
        group.proxy.cut("carol", "dave")
        group.do("talk", {"messages": 10})
        wait_until_quiet(group)
        group.proxy.heal("carol", "dave")
        group.settle()
        group.close()
        group.check()


def test_a_network_that_gets_better_and_worse_changes_nothing(tmp_path: Path) -> None:
    with group_of(3, tmp_path, AWFUL) as group:
        group.talk(messages=60, pause_s=0.005)
        for loss in (0.0, 0.5, 0.1):
            time.sleep(0.15)
            group.proxy.change(loss=loss)
        group.settle()
        group.close()
        group.check()


def wait_until_quiet(group: Group) -> None:
    """Return when nobody has taken anything for a while, though not all may have been taken."""
    before = -1
    for _ in range(100):
        states = group.do("state")
        taken = sum(state["taken"] for state in states)
        if taken == before and not any(state["talking"] for state in states):
            return
        before = taken
        time.sleep(0.3)
    raise AssertionError("they never come to rest")
