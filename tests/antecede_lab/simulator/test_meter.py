"""The meter against the recorded log of the same run, by code that shares nothing with it."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from antecede.eventlog.log import EventLog
from antecede.network_model.faults import Faults, Partition
from antecede.network_model.latency import Constant, Lognormal, Uniform
from antecede_lab.simulator.histogram import Histogram
from antecede_lab.simulator.meter import Gauge, PacketTotals, RunMeasures
from antecede_lab.simulator.run import simulate
from antecede_lab.simulator.workloads import Groups, Poisson, RequestReply, Workload
from tests.antecede_lab.simulator.copies import Story, most_at_once, total_ns
from tests.antecede_lab.simulator.scripted import Line, Scripted, one_message

MS = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Case:
    """A run to measure."""

    protocol: str
    workload: Callable[[], Workload]
    faults: Faults
    handling_ns: int = 0
    until_ns: int = 1 << 60


def poisson(messages: int = 300, multicast: float = 0.0) -> Poisson:
    return Poisson(6, messages=messages, interval_ns=MS, seed=4, multicast=multicast)


ROUGH = Faults(
    latency=Lognormal(MS, 1.0), loss=0.1, duplication=0.1, reordering=0.1, reordering_ns=5 * MS
)
CUT = Faults(partitions=(Partition(start_ns=0, end_ns=20 * MS, island=frozenset([0, 1])),))

CASES = {
    "hybrid-multicast-rough": Case(
        protocol="hybrid", workload=lambda: poisson(300, 0.3), faults=ROUGH
    ),
    "hybrid-cut": Case(protocol="hybrid", workload=poisson, faults=CUT),
    "hybrid-unfinished": Case(protocol="hybrid", workload=poisson, faults=ROUGH, until_ns=30 * MS),
    "paper-sps-busy": Case(
        protocol="paper-sps", workload=poisson, faults=Faults(), handling_ns=MS // 2
    ),
    "rst-over-link": Case(protocol="rst", workload=poisson, faults=ROUGH),
    "ks-groups": Case(
        protocol="ks",
        workload=lambda: Groups(6, posts=60, interval_ns=MS, seed=1, groups=3),
        faults=Faults(latency=Uniform(0, 4 * MS)),
    ),
    "tree-relays": Case(protocol="tree", workload=poisson, faults=Faults(fifo=True)),
    "mf-requests": Case(
        protocol="mf",
        workload=lambda: RequestReply(5, requests=100, think_ns=MS, seed=1, servers=2),
        faults=ROUGH,
    ),
}


@pytest.fixture(params=CASES, scope="module")
def measured(request: pytest.FixtureRequest) -> tuple[RunMeasures, Story]:
    case = CASES[request.param]
    result = simulate(
        case.protocol,
        case.workload(),
        faults=case.faults,
        seed=5,
        record=True,
        handling_ns=case.handling_ns,
        until_ns=case.until_ns,
        patience_ns=15 * MS,
        link=True,
    )
    assert result.measures is not None
    assert isinstance(result.log, EventLog)
    return result.measures, Story(result.log)


def agrees(histogram: Histogram, delays: list[int]) -> None:
    """The histogram has counted exactly these."""
    assert histogram.count == len(delays)
    assert histogram.mean() == sum(delays) / len(delays)
    assert (histogram.least, histogram.greatest) == (delays[0], delays[-1])
    for share in (0.5, 0.9, 0.99):
        truth = delays[max(0, -(-int(share * 1000) * len(delays) // 1000) - 1)]
        assert abs(histogram.quantile(share) - truth) <= 0.01 * truth


def test_delays_are_those_of_the_log(measured: tuple[RunMeasures, Story]) -> None:
    measures, story = measured
    delays = measures.delays

    agrees(delays.sender_wait, story.delays("submitted", "transmitted"))
    agrees(delays.channel, story.delays("transmitted", "arrived"))
    agrees(delays.receiver_wait, story.delays("arrived", "delivered"))
    agrees(delays.latency, story.delays("submitted", "delivered"))


def test_counts_are_those_of_the_log(measured: tuple[RunMeasures, Story]) -> None:
    measures, story = measured
    submitted = story.first["submitted"]

    assert measures.messages == len({copy[:2] for copy in submitted})
    assert measures.copies == len(submitted)
    assert measures.delivered == len(story.first["delivered"])
    assert measures.unexpected == measures.copies_to_self == 0
    assert measures.makespan_ns == max(story.first["delivered"].values()) - min(submitted.values())


def test_packets_are_those_of_the_log(measured: tuple[RunMeasures, Story]) -> None:
    measures, story = measured
    found = {
        totals.kind: (
            totals.packets,
            totals.carrying,
            totals.payload_bytes,
            totals.metadata_bytes,
        )
        for totals in measures.packets
    }

    assert found == story.packets()
    control = sum(packets - carrying for packets, carrying, _, _ in found.values())
    assert measures.control_per_message == control / measures.messages
    assert measures.packets_per_message == measures.packets_total / measures.messages


def test_buffers_are_those_of_the_log(measured: tuple[RunMeasures, Story]) -> None:
    measures, story = measured
    processes = len(measures.occupancy.sender_buffer_max)
    occupancy = measures.occupancy
    unsent = story.stays("submitted", "transmitted", at=0)
    in_transit = story.stays("transmitted", "arrived", at=0)
    undelivered = story.stays("arrived", "delivered", at=2)

    assert occupancy.sender_buffer_max == most_at_once(unsent, processes)
    assert occupancy.receiver_buffer_max == most_at_once(undelivered, processes)
    assert occupancy.in_transit_max == most_at_once(in_transit, processes)
    span_ns = story.end_ns - story.start_ns
    assert occupancy.in_transit_mean == tuple(
        total / span_ns for total in total_ns(in_transit, processes, story.end_ns)
    )


def test_some_of_these_runs_fill_the_buffers() -> None:
    """Otherwise the comparison above would compare zeros."""
    result = simulate("hybrid", poisson(), faults=CUT, seed=5, patience_ns=15 * MS)
    assert result.measures is not None
    assert max(result.measures.occupancy.sender_buffer_max) > 3
    assert max(result.measures.occupancy.in_transit_max) > 3

    result = simulate("rst", poisson(), faults=Faults(latency=Lognormal(MS, 1.5)), seed=5)
    assert result.measures is not None
    assert max(result.measures.occupancy.receiver_buffer_max) > 3


def test_one_message_measured_by_hand() -> None:
    result = simulate("none", one_message(7), faults=Faults(latency=Constant(10)))

    measures = result.measures
    assert measures is not None
    assert measures.makespan_ns == 10
    assert measures.throughput == 1e8
    assert measures.delays.latency.greatest == measures.delays.channel.greatest == 10
    assert measures.occupancy.in_transit_max == (1, 0)
    assert measures.occupancy.in_transit_mean == (0.5, 0.0), "half of the time until the ack is in"
    assert measures.occupancy.sender_buffer_max == measures.occupancy.receiver_buffer_max == (0, 0)
    assert measures.packets == (
        PacketTotals(
            kind="ack",
            packets=1,
            carrying=0,
            payload_bytes=0,
            metadata_bytes=2,
            metadata_integers=measures.packets[0].metadata_integers,
        ),
        PacketTotals(
            kind="message",
            packets=1,
            carrying=1,
            payload_bytes=8,
            metadata_bytes=measures.packets[1].metadata_bytes,
            metadata_integers=measures.packets[1].metadata_integers,
        ),
    )


def test_copies_to_oneself_are_counted_apart() -> None:
    workload = Scripted(2, [Line(time_ns=0, sender=0, targets=[0, 1])])
    measures = simulate("hybrid", workload).measures

    assert measures is not None
    assert (measures.messages, measures.copies, measures.delivered) == (1, 1, 1)
    assert (measures.copies_to_self, measures.delivered_to_self) == (1, 1)
    assert measures.delays.latency.count == 1


def test_a_run_in_which_nothing_happens_measures_nothing() -> None:
    measures = simulate("hybrid", Scripted(2, [])).measures

    assert measures is not None
    assert (measures.messages, measures.makespan_ns, measures.throughput) == (0, 0, 0.0)
    assert measures.packets_per_message == measures.metadata_bytes_per_message == 0.0


def test_what_is_for_no_time_at_all_does_not_count() -> None:
    gauge = Gauge()
    gauge.change(1, 10)
    gauge.change(5, 20)
    gauge.change(-5, 20)
    gauge.change(-1, 30)
    gauge.settle(40)

    assert gauge.greatest == 1
    assert gauge.mean(40) == 0.5
    assert gauge.mean(0) == 0.0
