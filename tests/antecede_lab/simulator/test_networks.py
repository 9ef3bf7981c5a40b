"""Networks by name and in writing."""

from pathlib import Path

import pytest

from antecede.core.errors import LocalError
from antecede.network_model.faults import Faults, Partition, SlowLink
from antecede.network_model.keyed_random import KeyedRandom
from antecede.network_model.latency import Constant, Latency
from antecede_lab.simulator.networks import (
    NETWORKS,
    REGION_DELAYS_MS,
    REGIONS,
    build_network,
    find_network,
    parse_latency,
    parse_partition,
    parse_slow_link,
)

MS = 1_000_000


def delays(latency: Latency, source: int = 0, target: int = 1) -> list[int]:
    chance = KeyedRandom(1)
    drawn = []
    for number in range(500):
        chance.key(number)
        drawn.append(int(latency.draw(source, target, chance)))
    return drawn


@pytest.mark.parametrize("name", NETWORKS)
def test_every_named_network_makes_sense(name: str) -> None:
    build_network(name).check()
    assert find_network(name).name == name
    assert max(delays(build_network(name).latency)) < 4 * find_network(name).patience_ns


def test_an_unknown_network_is_refused_with_those_there_are() -> None:
    with pytest.raises(LocalError, match="there are reliable, fifo, lossy, lan, wan"):
        build_network("moon")


def test_named_networks_are_what_their_names_say() -> None:
    assert build_network("reliable").lossless
    assert not build_network("reliable").fifo
    assert build_network("fifo").lossless
    assert build_network("fifo").fifo
    lossy = build_network("lossy")
    assert min(lossy.loss, lossy.duplication, lossy.reordering, lossy.reordering_ns) > 0


def test_regions_are_equally_far_in_both_directions_and_nearest_to_themselves() -> None:
    for here, row in enumerate(REGION_DELAYS_MS):
        assert len(row) == len(REGIONS)
        assert min(row) == row[here]
        assert list(row) == [other[here] for other in REGION_DELAYS_MS]


def test_what_is_given_replaces_what_the_network_had() -> None:
    latency = Constant(5)
    partition = Partition(start_ns=1, end_ns=2, island=frozenset([0]))
    slow = SlowLink(source=0, target=1, extra_ns=3)

    assert build_network(
        "lossy",
        latency=latency,
        loss=0.5,
        duplication=0.25,
        reordering=0.125,
        reordering_ns=9,
        partitions=(partition,),
        slow_links=(slow,),
    ) == Faults(
        latency=latency,
        loss=0.5,
        duplication=0.25,
        reordering=0.125,
        reordering_ns=9,
        partitions=(partition,),
        slow_links=(slow,),
    )
    assert build_network("lossy", loss=0.0).loss == 0
    assert build_network("reliable", reordering=0.5).reordering_ns == 5 * MS


def test_a_change_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(LocalError, match="does not reorder"):
        build_network("fifo", reordering=0.5)


@pytest.mark.parametrize(
    ("text", "low_ns", "high_ns"),
    [
        ("constant:1ms", MS, MS),
        ("uniform:0.5ms:1.5ms", MS // 2, 3 * MS // 2),
        ("exponential:1ms", 0, 12 * MS),
        ("exponential:1ms:20ms", 20 * MS, 32 * MS),
        ("lognormal:1ms:0", MS, MS),
        ("pareto:1ms:50", MS, 2 * MS),
    ],
)
def test_latencies_in_writing(text: str, low_ns: int, high_ns: int) -> None:
    drawn = delays(parse_latency(text))

    assert low_ns <= min(drawn)
    assert max(drawn) <= high_ns


def test_an_empirical_latency_comes_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "delays.txt"
    file.write_text("# measured yesterday\n1ms 2ms\n\n3ms # slow\n", encoding="utf-8")

    assert set(delays(parse_latency(f"empirical:{file}"))) == {MS, 2 * MS, 3 * MS}


def test_a_latency_matrix_comes_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "matrix.csv"
    file.write_text("1ms, 40ms\n80ms, 1ms\n", encoding="utf-8")
    latency = parse_latency(f"matrix:{file}")

    assert min(delays(latency, 0, 1)) >= 40 * MS
    assert 80 * MS <= min(delays(latency, 1, 0)) <= 81 * MS


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1ms",
        "constant",
        "constant:",
        "constant:1ms:2ms",
        "uniform:1ms",
        "uniform:2ms:1ms",
        "lognormal:1ms",
        "lognormal:1ms:x",
        "pareto:1ms:0",
        "gamma:1ms",
        "empirical:",
        "empirical:/no/such/file",
        "matrix:/no/such/file",
    ],
)
def test_what_is_no_latency_is_refused(text: str) -> None:
    with pytest.raises(LocalError, match="latency"):
        parse_latency(text)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [(b"1ms\n2 parsecs\n", "line 2"), (b"# nothing\n", "sample"), (b"\xff\xfe", "cannot read")],
)
def test_a_file_without_delays_is_refused(tmp_path: Path, content: bytes, complaint: str) -> None:
    file = tmp_path / "delays.txt"
    file.write_bytes(content)
    with pytest.raises(LocalError, match=complaint):
        parse_latency(f"empirical:{file}")


def test_partitions_and_slow_links_in_writing() -> None:
    assert parse_partition("10ms:50ms:0,1,2") == Partition(
        start_ns=10 * MS, end_ns=50 * MS, island=frozenset([0, 1, 2])
    )
    assert parse_slow_link("0:1:20ms") == SlowLink(source=0, target=1, extra_ns=20 * MS)


@pytest.mark.parametrize("text", ["", "10ms:50ms", "10ms:50ms:", "10ms:50ms:a", "1:2:3:4", "0:1:x"])
def test_what_is_no_partition_and_no_slow_link_is_refused(text: str) -> None:
    with pytest.raises(LocalError):
        parse_partition(text)
    with pytest.raises(LocalError):
        parse_slow_link(text)
