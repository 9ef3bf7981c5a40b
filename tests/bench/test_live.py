"""The benchmark: it counts what was sent, compares what was measured together, and never hangs."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.table import Table

from antecede.core.errors import LocalError
from antecede_lab.child import ChildFailed
from bench.live.__main__ import command as live
from bench.live.__main__ import ratio_table, speed_table
from bench.live.catalogue import (
    MULTICASTERS,
    PEERS,
    SERVICES,
    find_multicaster,
    find_peer,
    find_service,
)
from bench.live.contest import (
    P50,
    P99,
    ContestPlan,
    Readings,
    Results,
    effort_of,
    measure_round_trips,
    measure_throughput,
    run_contest,
    throughput_of,
)
from bench.live.multicast_contest import (
    MulticastPlan,
    measure_multicast,
    run_multicast_contest,
)
from bench.live.peer import BEGIN, END, WARM_UP, ReceiveTally, Stopwatch, Volley
from bench.live.request_contest import (
    RequestPlan,
    RequestResults,
    measure_of,
    measure_requests,
    run_request_contest,
)
from bench.live.studies import (
    CrowdPlan,
    DistancePlan,
    TracingPlan,
    run_crowd,
    run_distance,
    run_tracing,
)
from bench.live.study import command as study

ODD = "tests.bench.odd_peers"
BRIEF_S = 0.05


def test_a_volley_is_warming_up_then_what_counts_then_the_end() -> None:
    volley = Volley(8, 0)
    payloads = list(volley)

    assert {len(payload) for payload in payloads} == {8}
    assert [payload[0] for payload in payloads[: WARM_UP + 1]] == [0] * WARM_UP + [BEGIN]
    assert payloads[-1][0] == END
    assert len(payloads) == WARM_UP + 1 + volley.sent


def test_a_tally_counts_from_the_begin_to_the_end() -> None:
    volley, tally = Volley(8, 0.001), ReceiveTally()
    ended = [
        payload[0] and tally.mark(payload[0], count)
        for count, payload in enumerate(volley, start=1)
    ]

    assert [place for place, end in enumerate(ended) if end] == [len(ended) - 1]
    assert tally.received == volley.sent
    assert tally.elapsed_ns > 0


def test_a_stopwatch_knows_the_quantiles_of_its_round_trips() -> None:
    stopwatch = Stopwatch(8, 0.001)
    for _ in stopwatch.turns():
        pass

    assert len(stopwatch) >= 1
    assert 0 < stopwatch.quantile_us(0.5) <= stopwatch.quantile_us(0.99)
    assert stopwatch.quantile_us(0.99) <= stopwatch.quantile_us(1.0)


def test_a_round_is_two_processes_and_everything_arrives() -> None:
    throughput = measure_throughput("tcp", 64, BRIEF_S)
    trips = measure_round_trips("tcp", 64, BRIEF_S)

    assert throughput.sent == throughput.received > 256
    assert throughput.messages_per_s > 0
    assert 0 < trips.p50_us <= trips.p99_us
    assert trips.count > 0


COMBINED = (
    *("antecede-handler", "antecede-1400", "antecede-handler-1400", "antecede-uvloop"),
    *("antecede-sealed", "antecede-handler-sealed", "antecede-1400-sealed", "tls", "tcp-20", "zmq"),
)
"""Whose options others have too, alone or all of them at once; of `tcp` the other tests are."""


@pytest.mark.parametrize("key", [key for key in PEERS if key not in (*COMBINED, "tcp")])
def test_whoever_is_installed_can_be_measured(key: str) -> None:
    check_measured(key)


@pytest.mark.long
@pytest.mark.parametrize("key", COMBINED)
def test_options_can_be_measured_in_every_combination(key: str) -> None:
    check_measured(key)


def check_measured(key: str) -> None:
    objection = find_peer(key).objection()
    if objection is not None:
        pytest.skip(objection)
    assert measure_throughput(key, 64, BRIEF_S).received > 256
    assert measure_round_trips(key, 64, BRIEF_S).count > 0


@pytest.mark.parametrize("key", SERVICES)
def test_requests_of_whoever_is_installed_can_be_measured(key: str) -> None:
    objection = find_service(key).objection()
    if objection is not None:
        pytest.skip(objection)
    for under_way in (1, 32):
        speed = measure_requests(key, 64, BRIEF_S, under_way)
        assert speed.count >= under_way
        assert 0 < speed.p50_us <= speed.p99_us
        assert speed.cpu_us > 0
        assert speed.requests_per_s > 0


def test_a_request_that_is_replied_to_twice_is_noticed_and_the_contest_goes_on() -> None:
    keys = (f"{ODD}:MISCOUNTING", f"{ODD}:ABSENT_SERVICE", "antecede")
    plan = RequestPlan(keys=keys, under_way=(2,), rounds=1, seconds=BRIEF_S)
    results = run_request_contest(plan)

    assert "replies to" in results.readings[keys[0]].failures[0]
    assert results.readings["antecede"].median(measure_of("requests_per_s", 2)) is not None
    assert results.skipped == {keys[1]: "the Python package no_such_package is not installed"}


def test_libraries_without_requests_are_named() -> None:
    with pytest.raises(LocalError, match="'zmq' has no requests; there are antecede"):
        find_service("zmq")


def test_ratios_of_requests_compare_what_was_measured_in_one_round() -> None:
    results = RequestResults(RequestPlan(keys=("antecede", "other"), under_way=(64,)))
    ours, other = Readings("antecede"), Readings("other")
    ours.figures = {"requests_per_s_64": [10.0, 20.0, 90.0, None], "p99_us_64": [4.0]}
    other.figures = {"requests_per_s_64": [5.0, 10.0, 10.0, 1.0], "p99_us_64": [8.0]}
    results.readings = {"antecede": ours, "other": other}

    rows = {(row["peer"], row["measure"]): row for row in results.rows()}
    assert rows["other", "requests_per_s_64"]["ratio"] == 2.0
    assert rows["other", "p99_us_64"]["ratio"] == 0.5
    assert rows["antecede", "p99_us_64"] == {
        "peer": "antecede",
        "measure": "p99_us_64",
        "median": 4.0,
        "ratio": None,
    }
    cells = [list(column.cells) for column in results.table().columns]
    assert cells[2] == ["4 µs", "8 µs (0.50)"]
    assert cells[3] == ["20", "8 (2.00)"]
    json.dumps(results.document())


@pytest.mark.parametrize("key", MULTICASTERS)
def test_multicast_of_whoever_is_installed_can_be_measured(key: str) -> None:
    objection = find_multicaster(key).objection()
    if objection is not None:
        pytest.skip(objection)
    for receivers in (1, 3):
        speed = measure_multicast(key, 64, BRIEF_S, receivers)
        assert speed.deliveries_per_s > 0
        assert 0 < speed.sender_us < speed.cpu_us


def test_a_receiver_that_misses_a_message_is_noticed_and_the_contest_goes_on() -> None:
    keys = (f"{ODD}:FORGETFUL", "antecede")
    plan = MulticastPlan(keys=keys, receivers=(2,), rounds=1, seconds=BRIEF_S)
    results = run_multicast_contest(plan)

    assert "received by r1" in results.readings[keys[0]].failures[0]
    assert results.readings["antecede"].median(measure_of("deliveries_per_s", 2)) is not None
    assert results.table().row_count == 2


def test_libraries_without_multicast_are_named() -> None:
    with pytest.raises(LocalError, match="'tcp' has no multicast; there are antecede"):
        find_multicaster("tcp")


def test_lost_messages_are_noticed() -> None:
    with pytest.raises(ChildFailed, match="lost messages"):
        measure_throughput(f"{ODD}:LEAKY", 64, BRIEF_S)


def test_one_that_crashes_is_told_and_the_contest_goes_on() -> None:
    keys = (f"{ODD}:CRASHING", f"{ODD}:ABSENT", "tcp")
    results = run_contest(ContestPlan(keys=keys, sizes=(64,), rounds=1, seconds=BRIEF_S))

    crashing, tcp = results.readings[keys[0]], results.readings["tcp"]
    assert crashing.figures[throughput_of(64)] == [None]
    assert "cannot send this" in crashing.failures[0]
    assert tcp.median(throughput_of(64)) is not None
    assert results.skipped == {
        keys[1]: "the Python package no_such_package is not installed",
    }


def test_ratios_compare_what_was_measured_in_one_round() -> None:
    results = Results(ContestPlan(keys=("antecede", "other"), sizes=(64,)))
    ours, other = Readings("antecede"), Readings("other")
    ours.figures = {throughput_of(64): [10.0, 20.0, 90.0, None], P50: [4.0]}
    other.figures = {throughput_of(64): [5.0, 10.0, 10.0, 1.0], P50: [8.0]}
    results.readings = {"antecede": ours, "other": other}

    assert results.ratio(throughput_of(64), "antecede", "other") == 2.0
    assert results.ratio(P50, "antecede", "other") == 0.5
    document = results.document()
    assert document["ratios"] == {
        "antecede": {
            "other": {"messages_per_s_64": 2.0, "cpu_us_64": None, "p50_us": 0.5, "p99_us": None}
        }
    }
    assert document["peers"]["antecede"]["median"]["messages_per_s_64"] == 20.0
    json.dumps(document)


def test_tables_say_what_a_message_takes_of_the_processor() -> None:
    results = Results(ContestPlan(keys=("antecede", "other"), sizes=(64,)))
    ours, other = Readings("antecede"), Readings("other")
    ours.figures = {throughput_of(64): [10.0], effort_of(64): [1.5], P50: [4.0], P99: [5.0]}
    other.figures = {throughput_of(64): [5.0], effort_of(64): [3.0], P50: [8.0], P99: [None]}
    results.readings = {"antecede": ours, "other": other}

    assert rows_of(speed_table(results)) == [
        ["antecede", "10", "1.50 µs", "4 µs", "5 µs"],
        ["other", "5", "3.00 µs", "8 µs", "failed"],
    ]
    assert rows_of(ratio_table(results, "antecede")) == [["other", "2.00", "2.00", "2.00"]]


def rows_of(table: Table) -> list[list[str]]:
    """What stands in the cells."""
    return [
        list(row) for row in zip(*(list(column.cells) for column in table.columns), strict=True)
    ]


def test_at_a_distance_everything_still_arrives() -> None:
    plan = DistancePlan(
        round_trips_ms=(0, 10), sizes=(64,), keys=("antecede",), rounds=1, seconds=0.1, warm_s=0.0
    )
    measured = run_distance(plan)["throughput"]["antecede"]["64"]

    assert set(measured) == {"0 ms", "10 ms", "ratio"}
    assert min(measured.values()) > 0


def test_a_hub_with_more_peers_is_measured_message_by_message() -> None:
    plan = CrowdPlan(peers=(2, 4), messages=320, rounds=1, in_flight=2000)
    measured = run_crowd(plan)

    assert set(measured["hub"]["single"]["cpu_us_per_message"]) == {"2", "4"}
    assert measured["hub"]["single"]["datagrams_per_message"]["2"] >= 2
    assert measured["hub"]["packed"]["datagrams_per_message"]["2"] < 1
    assert measured["bytes_per_message_in_flight"] > 64


def test_an_event_log_is_written_and_its_cost_compared() -> None:
    measured = run_tracing(TracingPlan(rounds=1, seconds=0.1))["tracing"]

    assert set(measured) == {"full speed", "100 k/s"}
    assert measured["full speed"]["ratio"] > 0


def test_unknown_peers_are_refused_by_name() -> None:
    with pytest.raises(LocalError, match="no peer is called 'zmqq'"):
        find_peer("zmqq")


def test_the_command_measures_shows_and_writes(tmp_path: Path) -> None:
    out, table = tmp_path / "speed.json", tmp_path / "speed.csv"
    arguments = ["--peer", "tcp", "--rounds", "1", "--seconds", str(BRIEF_S)]
    shown = CliRunner().invoke(live, [*arguments, "--json", str(out), "--csv", str(table)])

    assert shown.exit_code == 0, shown.output
    assert "asyncio TCP" in shown.output
    assert json.loads(out.read_text())["peers"]["tcp"]["median"]["messages_per_s_64"] > 0
    assert table.read_text().splitlines()[0] == "peer,measure,median,ratio"


def test_the_command_says_beforehand_that_it_cannot_write(tmp_path: Path) -> None:
    out = str(tmp_path / "nowhere" / "speed.json")
    for command, arguments in ((live, []), (study, ["crowd"])):
        result = CliRunner().invoke(command, [*arguments, "--json", out])
        assert result.exit_code == 2
        assert "there is no folder" in result.output


def test_the_command_lists_who_there_is() -> None:
    listed = CliRunner().invoke(live, ["--list"])

    assert listed.exit_code == 0
    assert [line.split()[0] for line in listed.output.splitlines()] == list(PEERS)


def test_a_peer_that_is_nearly_one_is_answered_with_that_one() -> None:
    refused = CliRunner().invoke(live, ["--peer", "antcede"])

    assert refused.exit_code == 2
    assert "did you mean 'antecede'?" in refused.output
