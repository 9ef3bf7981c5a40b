"""The benchmarks behind what the documents say of trees, hosts, structures and pipelines."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from antecede.core.sliding import SlidingArray
from antecede_lab.protocols.chunked import CHUNK, ChunkedArray
from bench import many, structures, trees

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("protocol", ["tree", "saturn", "hybrid"])
def test_everything_is_delivered_whatever_a_payload_takes(protocol: str) -> None:
    for transfer in (0.0, 4.0):
        network = trees.Network(protocol, 7, transfer).run(60)
        assert len(network.latencies) == 60
        assert min(network.latencies) >= 1 + transfer - 1e-6


def test_the_root_of_a_tree_cuts_half_of_all_pairs_and_a_leaf_none() -> None:
    assert trees.cut_pairs(7, 0) == pytest.approx(0.6)
    assert trees.cut_pairs(7, 6) == 0


def test_what_was_on_its_way_over_the_root_is_lost_with_it() -> None:
    broken = trees.Network("tree", 15, interval=trees.BUSY_INTERVAL, failed=0).run(10**9)
    assert 0 < len(broken.submitted) - len(broken.latencies) < len(broken.submitted)


def test_what_a_window_moves_is_seen_from_outside() -> None:
    for window in (SlidingArray[int](), ChunkedArray[int]()):
        moves = structures.Moves(window)
        for number in range(3 * CHUNK):
            window.add(number)
            moves.note()
        for _ in range(3 * CHUNK):
            window.remove()
            moves.note()
        assert moves.operations == 6 * CHUNK
        assert 0 < moves.worst <= 3 * CHUNK
        assert structures.bytes_of(window) > 0


def test_processes_that_share_a_socket_deliver_what_the_others_send() -> None:
    hosts = [many.Host(0, 20, range(40)), many.Host(20, 20, range(40))]
    hosts[0].other, hosts[1].other = hosts[1], hosts[0]
    for _ in range(200):
        for host in hosts:
            host.submit()
            host.flush()
            host.read()
            host.flush()
    delivered, submitted = (
        sum(getattr(host, what) for host in hosts) for what in ("delivered", "submitted")
    )
    for host in hosts:
        host.close()
    assert 0 < delivered <= submitted


def test_a_pipeline_through_the_proxy_carries_no_more_under_mf_than_distance_lets_it() -> None:
    """A round trip of 80 ms lets twelve messages pass a second, of a hundred that are offered."""
    command = "pipeline --proxy --way mf --delay 40 --seconds 1 --rate 100"
    ran = subprocess.run(
        [sys.executable, "-m", "bench", *command.split()],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert 0 < json.loads(ran.stdout)["mf"]["40 ms"] <= 14
