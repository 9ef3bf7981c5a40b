"""Whole nodes in the simulator: the same judges, virtual time, and faults that have names."""

import pytest

from antecede.core.errors import LocalError
from antecede.network_model.faults import DelayJump, Faults, FaultyNetwork, Partition
from antecede.network_model.latency import Constant, Uniform
from antecede_audit.judging.departures import judge_departures
from antecede_audit.judging.oracle import check_log
from antecede_audit.judging.send_outcomes import judge_outcomes
from antecede_lab.simulator.networks import build_network, parse_cut_link
from antecede_lab.simulator.nodes.faults import FORMS, NodeFault, parse_node_fault
from antecede_lab.simulator.nodes.policy import parse_policy
from antecede_lab.simulator.run import RunResult, simulate
from antecede_lab.simulator.workloads import Poisson, Workload
from antecede_lab.simulator.workloads.catalogue import TrafficSettings, build_workload

MS = 1_000_000
SECOND = 1_000 * MS
ROUGH = Faults(
    latency=Uniform(MS, 4 * MS), loss=0.1, duplication=0.05, reordering=0.1, reordering_ns=10 * MS
)


def traffic(messages: int = 150, seed: int = 1, payload_bytes: int = 64) -> Workload:
    return Poisson(
        5,
        messages=messages,
        interval_ns=5 * MS,
        seed=seed,
        multicast=0.3,
        payload_bytes=payload_bytes,
    )


def run(
    protocol: str = "hybrid",
    *,
    faults: Faults = ROUGH,
    node_faults: tuple[str, ...] = (),
    seed: int = 1,
    messages: int = 150,
    until_ns: int = 60 * SECOND,
) -> RunResult:
    return simulate(
        protocol,
        traffic(messages, seed),
        faults=faults,
        seed=seed,
        host="node",
        record=True,
        node_faults=[parse_node_fault(text) for text in node_faults],
        until_ns=until_ns,
    )


def assert_causal(result: RunResult) -> None:
    """Nothing was delivered twice, before its cause, or without having been sent."""
    assert result.log is not None
    verdict = check_log(result.log, witnesses=False)
    assert verdict.violations == [], verdict.violations[:3]
    assert verdict.duplicates == []


@pytest.mark.parametrize("protocol", ["hybrid", "hybrid-sps", "hybrid-csps"])
@pytest.mark.parametrize("seed", range(3))
def test_everything_is_delivered_once_and_in_causal_order(protocol: str, seed: int) -> None:
    result = run(protocol, seed=seed)
    assert result.log is not None
    assert check_log(result.log).ok
    assert result.leftovers.empty, result.leftovers
    assert result.deliveries == result.copies > result.messages == 150
    assert result.datagrams > 0
    assert result.refused == 0


@pytest.mark.parametrize("protocol", ["fifo", "none"])
def test_the_controls_run_on_nodes_and_deliver_everything(protocol: str) -> None:
    result = run(protocol)
    assert result.leftovers.empty
    assert result.deliveries == result.copies


def test_the_same_arguments_give_the_same_run() -> None:
    node_faults = ("restart:50ms:30ms:1", "pause:20ms:90ms:2")
    logs = [run(node_faults=node_faults, until_ns=2 * SECOND).log for _ in range(2)]
    assert logs[0] is not None
    assert logs[1] is not None
    assert logs[0].digest() == logs[1].digest() == "32f4e6e05a93d697e58c284c8a9034a6", (
        "also on the other build"
    )


def test_workloads_that_react_do_so_on_nodes() -> None:
    workload = build_workload(
        "request-reply", TrafficSettings(processes=4, messages=80, interval_ns=MS)
    )
    result = simulate("hybrid", workload, faults=ROUGH, host="node", record=True)
    assert result.leftovers.empty
    assert result.log is not None
    assert check_log(result.log).ok


def test_losses_are_repaired_by_the_path_and_not_by_the_cores_timer() -> None:
    """Beside the core alone, whose timer is all it has."""
    latencies = {}
    for host in ("core", "node"):
        result = simulate(
            "hybrid",
            traffic(400),
            faults=build_network("lossy"),
            host=host,
            patience_ns=100 * MS,
        )
        assert result.measures is not None
        latencies[host] = result.measures.delays.latency.quantile(0.9)
    assert 3 * latencies["node"] < latencies["core"]


def test_a_message_that_follows_another_in_a_datagram_weighs_two_bytes() -> None:
    workload = Poisson(2, messages=2_000, interval_ns=1_000, seed=1)
    result = simulate("hybrid", workload, faults=Faults(latency=Constant(MS)), host="node")
    assert result.measures is not None
    (messages,) = [totals for totals in result.measures.packets if totals.kind == "message"]
    assert messages.metadata_bytes < 2.5 * messages.packets
    assert result.datagrams < messages.packets


# Faults.


def test_a_node_that_crashes_says_nothing_more() -> None:
    result = run(node_faults=("crash:100ms:3",))
    assert_causal(result)
    assert result.log is not None
    times = [event.time_ns for event in result.log if event.process == 3]
    assert max(times) <= 100 * MS
    assert not result.leftovers.empty


def test_a_node_that_restarts_is_somebody_new() -> None:
    result = run(node_faults=("restart:100ms:50ms:3",))
    assert_causal(result)
    assert result.log is not None
    reborn = [event for event in result.log if event.process == 5]
    assert min(event.time_ns for event in reborn) >= 150 * MS
    assert {event.kind for event in reborn} >= {"submitted", "delivered"}


def test_a_node_that_pauses_loses_nothing() -> None:
    result = run(node_faults=("pause:50ms:3s:2", "pause:80ms:200ms:0"))
    assert result.log is not None
    assert check_log(result.log).ok
    assert result.leftovers.empty
    at_two = [event.time_ns for event in result.log if event.process == 2]
    assert not [time for time in at_two if 50 * MS < time < 3 * SECOND]


def test_a_second_node_of_one_name_changes_nothing_for_the_first() -> None:
    result = run(node_faults=("duplicate-name:60ms:1",))
    assert result.log is not None
    assert check_log(result.log).ok
    assert result.leftovers.empty
    assert not [event for event in result.log if event.process == 5]


def test_delays_that_jump_and_halves_that_cannot_hear_each_other_lose_nothing() -> None:
    faults = Faults(
        latency=Uniform(MS, 4 * MS),
        delay_jumps=(DelayJump(start_ns=50 * MS, end_ns=90 * MS, extra_ns=800 * MS),),
        partitions=(Partition(start_ns=120 * MS, end_ns=2 * SECOND, island=frozenset([0, 1])),),
    )
    result = run(faults=faults)
    assert result.log is not None
    assert check_log(result.log).ok
    assert result.leftovers.empty


def test_one_that_is_suspected_wrongly_is_told_and_stops_and_the_others_go_on() -> None:
    result = run(node_faults=("expel:100ms:0:3",))
    assert result.log is not None
    assert result.departures.gone == {3}
    assert {fence.at for fence in result.departures.fences} == {0, 1, 2, 4}
    assert judge_departures(result.log, result.departures).ok
    assert result.leftovers.pending == 0
    times = [event.time_ns for event in result.log if event.process == 3]
    assert 100 * MS < max(times) < SECOND


def test_one_that_was_expelled_may_come_back_as_somebody_new() -> None:
    result = run(node_faults=("expel:60ms:0:3", "restart:90ms:20ms:3"))
    assert result.log is not None
    assert judge_departures(result.log, result.departures).ok
    reborn = [event for event in result.log if event.process == 5]
    assert {event.kind for event in reborn} >= {"submitted", "delivered"}


def test_a_crash_mutes_the_others_until_somebody_expels_the_dead() -> None:
    stuck = run(node_faults=("crash:100ms:3",))
    healed = run(node_faults=("crash:100ms:3", "expel-gone:2s:1"))
    assert stuck.leftovers.pending > 0
    assert healed.leftovers.pending == 0
    assert healed.log is not None
    assert judge_departures(healed.log, healed.departures).ok


def test_halves_that_expel_each_other_both_go_on_in_order() -> None:
    faults = Faults(
        latency=Uniform(MS, 4 * MS),
        partitions=(Partition(start_ns=50 * MS, end_ns=900 * MS, island=frozenset([0, 1])),),
    )
    suspicions = [f"expel:100ms:{by}:{node}" for by in (0, 1) for node in (2, 3, 4)]
    suspicions += [f"expel:100ms:{by}:{node}" for by in (2, 3, 4) for node in (0, 1)]
    result = run(faults=faults, node_faults=tuple(suspicions))
    assert result.log is not None
    assert judge_departures(result.log, result.departures).ok
    last = dict.fromkeys(range(5), 0)
    for event in result.log:
        if event.kind == "delivered":
            last[event.process] = max(last[event.process], event.time_ns)
    assert min(last.values()) > 120 * MS


@pytest.mark.parametrize("seed", range(8))
def test_causal_order_survives_everything_at_once(seed: int) -> None:
    faults = Faults(
        latency=Uniform(MS, 4 * MS),
        loss=0.1,
        duplication=0.1,
        delay_jumps=(DelayJump(start_ns=60 * MS, end_ns=120 * MS, extra_ns=300 * MS),),
        partitions=(Partition(start_ns=100 * MS, end_ns=400 * MS, island=frozenset([1])),),
    )
    node_faults = ("restart:70ms:60ms:2", "pause:40ms:700ms:3", "restart:90ms:5ms:4")
    assert_causal(
        run(faults=faults, node_faults=node_faults, seed=seed, messages=200, until_ns=5 * SECOND)
    )


@pytest.mark.long
@pytest.mark.parametrize("first", range(1_000, 3_000, 100))
def test_causal_order_survives_everything_at_once_many_times(first: int) -> None:
    """A hundred seeds are one test: whoever only collects tests need not make two thousand."""
    for seed in range(first, first + 100):
        try:
            test_causal_order_survives_everything_at_once(seed)
        except Exception as error:
            error.add_note(f"with seed {seed}")
            raise


# Who is away.


def test_a_node_that_leaves_stops_when_all_that_it_had_sent_is_delivered() -> None:
    result = run(node_faults=("leave:100ms:3",))
    assert result.log is not None
    assert result.departures.left == {3}
    assert judge_departures(result.log, result.departures).ok
    assert result.left_out > 0
    assert result.leftovers.pending == 0


def test_a_node_that_is_late_gets_what_is_sent_once_it_is_here() -> None:
    result = run(node_faults=("late:200ms:3",), messages=400)
    assert result.log is not None
    assert judge_departures(result.log, result.departures).ok
    at_three = [event for event in result.log if event.process == 3]
    assert {event.kind for event in at_three} >= {"submitted", "delivered"}
    assert min(event.time_ns for event in at_three) >= 200 * MS


def test_a_node_that_never_comes_is_left_out_and_stops_nobody() -> None:
    result = run(node_faults=("never:3",))
    assert result.log is not None
    assert result.outcomes is not None
    assert judge_outcomes(result.log, result.outcomes) == {}
    assert result.left_out > 0
    assert result.leftovers.pending == 0


@pytest.mark.parametrize("policy", ["majority:200ms", "after:200ms"])
def test_a_policy_goes_on_without_a_dead_node(policy: str) -> None:
    result = simulate(
        "hybrid",
        traffic(),
        faults=ROUGH,
        host="node",
        record=True,
        node_faults=[parse_node_fault("crash:100ms:3")],
        policy=parse_policy(policy),
        until_ns=60 * SECOND,
    )
    assert result.log is not None
    assert result.departures.gone == {3}
    assert judge_departures(result.log, result.departures).ok
    assert result.leftovers.pending == 0
    assert result.stuck == ()


def test_a_link_that_is_cut_in_one_direction_passes_nothing_there() -> None:
    cut = parse_cut_link("50ms:2s:0:1")
    network = FaultyNetwork(Faults(cut_links=(cut,)), 1)
    network.route(0, 1, 0, 1, 100 * MS)
    assert network.first_ns == -1
    network.route(1, 0, 0, 2, 100 * MS)
    assert network.first_ns > 0
    assert network.is_cut(1, 0, 100 * MS)
    assert not network.is_cut(1, 0, 2 * SECOND)


@pytest.mark.parametrize("text", ["majority", "quorum:1s", "majority:1us", "after:"])
def test_a_policy_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(LocalError):
        parse_policy(text)


@pytest.mark.parametrize("text", ["50ms:2s:0", "50ms:2s:0:1:2"])
def test_a_cut_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(LocalError):
        parse_cut_link(text)


# How faults are written.


@pytest.mark.parametrize(
    "text",
    [
        "crash:50ms:3",
        "restart:50ms:100ms:3",
        "pause:10ms:60ms:2",
        "duplicate-name:20ms:1",
        "expel:30ms:0:3",
        "expel-gone:90ms:0",
        "leave:20ms:1",
        "late:80ms:2",
        "never:4",
    ],
)
def test_a_fault_is_written_as_it_is_read(text: str) -> None:
    fault = parse_node_fault(text)
    assert parse_node_fault(str(fault)) == fault
    assert FORMS[fault.kind].count(":") == text.count(":")


def test_a_restart_says_how_long_the_node_is_away() -> None:
    assert parse_node_fault("restart:50ms:100ms:3") == NodeFault(
        kind="restart", process=3, start_ns=50 * MS, end_ns=150 * MS
    )


@pytest.mark.parametrize("text", ["", "crash", "crash:1ms", "vanish:1ms:2", "pause:9ms:1ms:0"])
def test_what_is_no_fault_is_refused_with_the_forms_there_are(text: str) -> None:
    with pytest.raises(LocalError, match=r"write crash:AT:NODE|ends before it starts"):
        parse_node_fault(text)


def test_faults_of_nodes_need_nodes_and_nodes_need_a_protocol_that_is_for_them() -> None:
    with pytest.raises(LocalError, match="only nodes have faults"):
        simulate("hybrid", traffic(), node_faults=[parse_node_fault("crash:1ms:1")])
    with pytest.raises(LocalError, match="there is no node 9"):
        run(node_faults=("crash:1ms:9",))
    with pytest.raises(LocalError, match="there is no node 7"):
        run(node_faults=("expel:1ms:7:1",))
    with pytest.raises(LocalError, match="rst cannot run on a node"):
        simulate("rst", Poisson(3, messages=5, interval_ns=MS, seed=1), host="node")
    with pytest.raises(LocalError, match=r"a protocol of the lab now .* the order causal"):
        simulate("hybrid-facts", Poisson(3, messages=5, interval_ns=MS, seed=1), host="node")
    with pytest.raises(LocalError, match="2000 bytes of payload"):
        simulate("hybrid", traffic(payload_bytes=2000), host="node")
