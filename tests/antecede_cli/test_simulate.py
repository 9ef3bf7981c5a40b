"""`antecede simulate`: what it prints, what it writes, what it refuses."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from antecede.core.catalogue import ProtocolInfo
from antecede.core.controls import FifoProcess
from antecede_audit.eventlog.reader import read_events
from antecede_audit.eventlog.workload import WorkloadRow, write_workload
from antecede_cli.main import main
from antecede_lab.catalogue import PROTOCOLS
from antecede_lab.simulator.networks import NETWORKS
from antecede_lab.simulator.workloads.catalogue import WORKLOADS

LIAR = ProtocolInfo(
    "liar",
    FifoProcess,
    ordering="causal",
    multicast=True,
    network="lossy",
    paper="promises causal order and keeps it between pairs only",
)


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["simulate", *arguments], prog_name="antecede")


def summary(*arguments: str) -> dict[str, object]:
    """The JSON summary of a run that went well."""
    result = invoke("--json", *arguments)
    assert result.exit_code == 0, result.output
    loaded = json.loads(result.stdout)
    assert isinstance(loaded, dict)
    return loaded


def test_without_arguments_a_small_run_is_shown_and_judged() -> None:
    result = invoke()

    assert result.exit_code == 0
    assert result.stdout.startswith("hybrid, 8 processes, poisson over lossy, seed 1\n")
    for word in ("sender wait", "channel", "receiver wait", "latency", "per message", "in transit"):
        assert f"\n{word}" in result.stdout
    assert "left over      nothing: everything was delivered" in result.stdout
    assert "each exactly once and in causal order" in result.stdout


def test_the_same_command_gives_the_same_output() -> None:
    assert invoke("-m", "200").stdout == invoke("-m", "200").stdout
    assert invoke("-m", "200").stdout != invoke("-m", "200", "--seed", "2").stdout


def test_the_summary_as_json_has_the_figures() -> None:
    found = summary("-m", "300", "-n", "5", "--seed", "4", "--payload", "10")

    assert (found["protocol"], found["processes"], found["seed"]) == ("hybrid", 5, 4)
    assert found["messages"] == found["copies"] == found["deliveries"] == 300
    assert found["audit"] == {
        "ok": True,
        "violations": 0,
        "fifo_breaks": 0,
        "duplicates": 0,
        "losses": 0,
        "inventions": 0,
    }
    delays = found["delays_ns"]
    assert isinstance(delays, dict)
    assert list(delays) == ["sender_wait", "channel", "receiver_wait", "latency"]
    assert delays["latency"]["count"] == 300
    mean = sum(delays[part]["mean"] for part in ("sender_wait", "channel", "receiver_wait"))
    assert mean == pytest.approx(delays["latency"]["mean"])
    kinds = found["packet_kinds"]
    assert isinstance(kinds, dict)
    assert kinds["message"]["payload_bytes"] == 10 * kinds["message"]["packets"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_protocol_runs_on_a_bad_network_with_a_link_if_it_needs_one(protocol: str) -> None:
    workload = "broadcast" if PROTOCOLS[protocol].broadcast_only else "poisson"
    result = invoke("-p", protocol, "-w", workload, "-m", "60", "-n", "4")

    assert result.exit_code == 0, result.output
    needs_link = PROTOCOLS[protocol].network != "lossy"
    assert result.stdout.startswith(f"{protocol}{'+link' if needs_link else ''}, 4 processes")
    assert ("runs over the reliable link" in result.stderr) == needs_link


@pytest.mark.parametrize("network", NETWORKS)
def test_every_network_can_be_named(network: str) -> None:
    assert f"over {network}," in invoke("--network", network, "-m", "50").stdout


@pytest.mark.parametrize("workload", [name for name in WORKLOADS if name != "replay"])
def test_every_workload_can_be_named(workload: str) -> None:
    assert f"{workload} over lossy" in invoke("-w", workload, "-m", "60").stdout


def test_help_lists_protocols_workloads_networks_and_examples() -> None:
    result = invoke("--help")

    assert result.exit_code == 0
    for name in (*WORKLOADS, *NETWORKS, "paper-multicast", "Examples:", "reply=0.5"):
        assert name in result.stdout


@pytest.mark.parametrize("name", ["run.jsonl", "run.jsonl.gz", "run.parquet"])
def test_the_event_log_is_written_in_the_format_of_its_name(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    result = invoke("-m", "100", "--out", str(file))

    assert result.exit_code == 0, result.output
    log = read_events(file)
    assert log.count(0) == log.count(3) == 100
    assert str(file) in result.stderr
    assert "each exactly once" in result.stdout, "it was judged, too"


def test_logs_of_all_formats_are_the_same_log(tmp_path: Path) -> None:
    names = ("a.jsonl", "b.parquet")
    for name in names:
        invoke("-m", "100", "--no-audit", "--out", str(tmp_path / name))

    assert len({read_events(tmp_path / name).digest() for name in names}) == 1


def test_a_bad_name_for_the_log_is_refused_before_the_run(tmp_path: Path) -> None:
    result = invoke("-m", "100", "--out", str(tmp_path / "run.txt"))

    assert result.exit_code == 2
    assert ".jsonl" in result.stderr
    assert result.stdout == ""


def test_large_runs_are_judged_only_on_request() -> None:
    assert summary("-m", "5001", "-n", "20")["audit"] is None
    assert summary("-m", "100", "--no-audit")["audit"] is None
    assert summary("-m", "5001", "-n", "20", "--audit")["audit"] is not None


def test_violations_of_a_protocol_that_promises_no_order_are_no_failure() -> None:
    result = invoke("-p", "none", "--interval", "1ms", "-m", "300")

    assert result.exit_code == 0
    assert "too early" in result.stdout
    assert "none promises order of no kind" in result.stdout


def test_a_broken_promise_is_told_and_makes_the_command_fail() -> None:
    result = invoke("-p", f"{__name__}:LIAR", "-w", "groups", "--interval", "1ms", "-m", "300")

    assert result.exit_code == 1
    assert "too early" in result.stdout
    assert "promises order" not in result.stdout


def test_a_run_that_is_cut_short_says_what_is_left() -> None:
    result = invoke("--until", "100ms", "-m", "1k")

    assert result.exit_code == 0
    assert "messages not yet sent" in result.stdout
    assert "events cut off by the end" in result.stdout


def test_partitions_and_slow_links_show() -> None:
    def worst(*arguments: str) -> float:
        found = summary("-m", "500", "--network", "reliable", *arguments)["delays_ns"]
        assert isinstance(found, dict)
        return float(found["channel"]["max"])

    assert worst() < 2e6
    assert worst("--slow", "0:1:20ms") > 20e6
    assert worst("--partition", "0:50ms:0,1", "--patience", "10ms") > 20e6


def test_whole_nodes_run_with_faults_of_their_own() -> None:
    nodes = ("--host", "node", "-m", "200", "--delay-jump", "20ms:60ms:200ms")
    paused = summary(*nodes, "--fault", "pause:50ms:400ms:2")
    assert paused == summary(*nodes, "--fault", "pause:50ms:400ms:2"), "one line repeats it"
    assert paused != summary(*nodes)
    assert paused["datagrams"] != 0
    assert paused["protocol"] == "hybrid on nodes"
    assert "is not a fault of a node" in invoke("--fault", "vanish:1ms:1").output


def test_rate_and_interval_say_the_same() -> None:
    assert summary("-m", "100", "--rate", "1000") == summary("-m", "100", "--interval", "1ms")


def test_latency_loss_duplication_and_reordering_replace_those_of_the_network() -> None:
    quiet = ("--loss", "0", "--duplicate", "0%", "--reorder", "0")
    found = summary("-m", "100", "--latency", "constant:3ms", *quiet)

    delays = found["delays_ns"]
    assert isinstance(delays, dict)
    assert delays["channel"] == {
        "count": 100,
        "mean": 3e6,
        "p50": 3e6,
        "p90": 3e6,
        "p99": 3e6,
        "max": 3e6,
    }


def test_limits_make_submissions_wait() -> None:
    arguments = ("-m", "300", "--interval", "200us", "--send-limit", "2", "--receive-limit", "1")

    assert "submissions had to wait" in invoke(*arguments).stdout
    assert "submissions had to wait" in invoke(*arguments[:-2], "-p", "rst").stdout, "by the link"


def test_handling_time_is_spent_at_the_receiver() -> None:
    arguments = ("-m", "200", "-p", "none", "--network", "reliable", "--interval", "2ms")

    def waited(*more: str) -> float:
        delays = summary(*arguments, *more)["delays_ns"]
        assert isinstance(delays, dict)
        return float(delays["receiver_wait"]["mean"])

    assert waited() == 0
    assert waited("--handling", "1.5ms") > 1e6


def test_a_workload_table_can_be_replayed(tmp_path: Path) -> None:
    file = tmp_path / "table.jsonl"
    write_workload(
        file,
        [
            WorkloadRow(message_id=1, sender=0, targets=(1, 2)),
            WorkloadRow(message_id=2, sender=1, targets=(2,), causes=(1,)),
        ],
    )
    result = invoke("-w", "replay", "--set", f"file={file}")

    assert result.exit_code == 0, result.output
    assert "hybrid, 3 processes, replay over lossy" in result.stdout
    assert "2 messages between 3 processes, 3 deliveries" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["-p", "pigeon"], "no protocol is called 'pigeon'"),
        (["-w", "gossip"], "no workload is called 'gossip'"),
        (["--network", "moon"], "no network is called 'moon'"),
        (["--set", "zipf"], "write KEY=VALUE"),
        (["--set", "colour=blue"], "poisson has no setting 'colour'"),
        (["--latency", "1ms"], "is not a latency"),
        (["--loss", "150%"], "more than all"),
        (["--interval", "10"], "is not a duration"),
        (["--rate", "0"], "more than 0"),
        (["--rate", "1", "--interval", "1ms"], "not both"),
        (["--partition", "0:1ms:9"], "there is no process 9"),
        (["--slow", "0:8:1ms"], "there is no process 8"),
        (["--partition", "5ms"], "is not a partition"),
        (["-p", "rst", "--no-link"], "needs a network that neither loses nor duplicates"),
        (["-p", "bss"], "bss only broadcasts"),
        (["-p", "mf", "-w", "groups"], "mf sends to one process at a time"),
        (["-p", "rst", "--network", "reliable", "--send-limit", "3"], "rst has no send limit"),
        (["-n", "1"], "at least two processes"),
        (["-m", "0"], "at least one message"),
        (["-m", "many"], "is not a count"),
        (["-m", "1" + 20 * "0"], "at most 2**40"),
        (["-n", "1" + 20 * "0"], "more than ids"),
        (["--seed", "1" + 20 * "0"], "outside 0 <= seed"),
        (["--patience", "0"], "patience"),
        (["--network", "fifo", "--reorder", "5%"], "does not reorder"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_sentence(
    arguments: list[str], complaint: str
) -> None:
    result = invoke(*arguments)

    assert result.exit_code == 2
    assert complaint in result.stderr
    assert "Traceback" not in result.output
    assert result.stdout == ""
