"""The same on real interfaces, each process on a host of its own, with an ordinary MTU."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from antecede.runtime.security.keys import new_secret, write_key_file
from antecede.transport.seals import SEAL_BYTES
from antecede_lab.chaos.proxy import Conditions, Proxy
from tests.antecede.runtime.processes.groups import NAMES, Group, Member
from tests.antecede.runtime.processes.hosts import HUB, Hosts, hosts, objection

MS = 1_000_000
BAD = Conditions(loss=0.05, duplication=0.02, latency_ns=MS, latency_ns_max=7 * MS)
PORT = 9000


def start_all(
    made: Hosts, stack: ExitStack, folder: Path, peers: dict[str, dict[str, str]]
) -> list[Member]:
    """A worker on each host; they share a key, which is required between hosts."""
    key = folder.parent / f"{folder.name}.key"
    write_key_file(key, new_secret().text())
    members = []
    for name, address in made.addresses.items():
        bind = f"{address}:{PORT}"
        started = Member(
            name,
            peers[name],
            bind=bind,
            within=made.within(name),
            trace=folder,
            cluster_key=str(key),
        )
        stack.enter_context(started.child)
        members.append(started)
    return members


def test_everything_arrives_over_interfaces_that_the_kernel_makes_bad(tmp_path: Path) -> None:
    reason = objection()
    if reason is not None:
        pytest.skip(reason)
    with ExitStack() as stack:
        made = stack.enter_context(hosts(NAMES[:3]))
        if not made.disturb():
            pytest.skip("the kernel has no netem, which delays and loses packets")
        peers = {
            name: {x: f"{made.addresses[x]}:{PORT}" for x in made.addresses if x != name}
            for name in made.addresses
        }
        members = {x.name: x for x in start_all(made, stack, tmp_path, peers)}
        check_talk(members, tmp_path)


def test_everything_arrives_over_interfaces_with_a_bad_host_between_them(tmp_path: Path) -> None:
    reason = objection()
    if reason is not None:
        pytest.skip(reason)
    with ExitStack() as stack:
        made = stack.enter_context(hosts(NAMES[:3]))
        there = {name: f"{address}:{PORT}" for name, address in made.addresses.items()}
        proxy = stack.enter_context(Proxy(there, BAD, host=HUB, within=made.within("hub")))
        peers = {name: proxy.peers_of(name) for name in made.addresses}
        members = {x.name: x for x in start_all(made, stack, tmp_path, peers)}
        check_talk(members, tmp_path)


def check_talk(members: dict[str, Member], folder: Path) -> None:
    """Let them talk, and judge it; datagrams are no larger than the interface carries."""
    group = Group(list(members.values()), folder)
    group.talk(messages=40, pause_s=0.002)
    group.settle()
    sizes = {
        peer["datagram_size"] for state in group.do("state") for peer in state["stats"]["peers"]
    }
    assert sizes == {1400 - SEAL_BYTES}
    group.close()
    group.check()
