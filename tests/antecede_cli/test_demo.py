"""`antecede demo`: eight real processes on a bad network, judged and reported, in one command."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from antecede.eventlog.ownership import NOTE
from antecede.installing import how_to_install
from antecede_cli.lab.demo import (
    ORACLE,
    QUICK,
    RUNS,
    SPARK,
    WITH,
    WITHOUT,
    Compared,
    Cost,
    DemoFolders,
    DemoSize,
    DemoSummary,
    DemoVerdict,
    comparison_line,
    failure_text,
    lines_of,
    make_room,
    performed,
    why_no_spark,
)
from antecede_cli.main import main
from antecede_lab.child import ChildFailed
from antecede_lab.comparison.campaign import SPACE
from antecede_lab.comparison.effort import QUICK as LITTLE
from antecede_lab.demo.shop import SERVICES, STEPS, ShopOutcome, copies_per_order, perform

TINY = DemoSize(
    orders=12, per_second=40.0, protocols=("rst", "hybrid"), families=(SPACE,), effort=LITTLE
)


def demo(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["demo", *arguments], prog_name="antecede")


SMALL = replace(QUICK, orders=25, per_second=50.0, protocols=("rst", "hybrid"), families=(SPACE,))

SMALL_DEMO = """
from antecede_cli.lab import demo
from antecede_cli.main import main
from tests.antecede_cli.test_demo import SMALL
demo.QUICK = SMALL
main(prog_name="antecede")
"""
"""The command with a plan of its own: what it does takes a second instead of fifteen."""


def run_demo(
    out: Path, *arguments: str, program: tuple[str, ...] = ("-m", "antecede"), **environment: str
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, *program, "demo", "--quick", "--out", str(out), *arguments],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def check_quick(
    out: Path, ran: "subprocess.CompletedProcess[str]", judge: str, plan: DemoSize = QUICK
) -> None:
    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    assert len(lines) == 10, ran.stdout
    assert lines[-1] == f"Judged by {judge}. The report is in {out / 'report.html'}"
    found = json.loads((out / "demo.json").read_text())
    assert found["finished"]
    for trouble in ("lost", "duplicated", "overtaking"):
        assert found["outcomes"][WITH][trouble] > 0 < found["outcomes"][WITHOUT][trouble]
    copies = plan.orders * copies_per_order()
    clean = {"deliveries": copies, "early": 0, "losses": 0, "duplicates": 0}
    assert found["judgements"][WITH] == clean
    early = found["judgements"][WITHOUT].pop("early")
    assert early > 0
    assert found["judgements"][WITHOUT] == {k: clean[k] for k in clean if k != "early"}
    page = (out / "report.html").read_text(encoding="utf-8")
    for text in (*SERVICES, "Spacetime diagram", f"{early:,}", "Metadata and cost"):
        assert text in page


def test_without_java_the_oracle_judges_and_the_step_to_spark_is_named(tmp_path: Path) -> None:
    out = tmp_path / "demo"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/opened\n')
    browser.chmod(0o755)

    small = ("-c", SMALL_DEMO)
    ran = run_demo(out, "--open", program=small, ANTECEDE_JAVA="none", BROWSER=f"{browser} %s")

    check_quick(out, ran, ORACLE, SMALL)
    assert "There is no Java for Spark (ANTECEDE_JAVA=none)" in ran.stderr
    assert "pip install '.[lab]'" in ran.stderr
    assert not (out / "audit").exists()
    assert (tmp_path / "opened").read_text().strip() == (out / "report.html").as_uri()


@pytest.mark.long
def test_with_java_spark_judges(tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="Spark comes with the extra `lab`")
    out = tmp_path / "demo"
    ran = run_demo(out)
    check_quick(out, ran, SPARK)
    assert (out / "audit" / "summary.json").is_file()


def test_without_spark_and_arrow_it_works_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a plain install: logs are JSON lines, the oracle judges."""
    for package in ("pyspark", "pyarrow"):
        monkeypatch.setitem(sys.modules, package, None)
    places = DemoFolders(tmp_path)

    summary = performed(TINY, places)

    assert why_no_spark() == f"Spark is not installed; to have it, {how_to_install('lab')}"
    assert summary.judge == ORACLE
    assert summary.kept
    logs = [file for file in places.events.glob("run_id=*/*") if file.name[0] != "."]
    assert {file.suffix for file in logs} == {".jsonl"}
    assert summary.judgements[WITH].deliveries == TINY.orders * copies_per_order()
    assert lines_of(summary)[0][0] == "messages, deliveries"
    assert comparison_line(summary.compared).startswith("In the simulator, n = 16, bytes per")
    assert "Spacetime diagram" in places.report.read_text(encoding="utf-8")


def summary_of(found: DemoVerdict) -> DemoSummary:
    outcome = ShopOutcome(
        order="",
        messages=8,
        copies=10,
        seconds=1.0,
        datagrams=1_000,
        lost=50,
        duplicated=20,
        overtaking=70,
        retransmitted=9,
    )
    cost = Cost(
        latency_p50_ns=8_300_000,
        latency_p99_ns=120_000_000,
        metadata_bytes=14.25,
        control_packets=2.0,
    )
    clean = DemoVerdict(deliveries=10, early=0, losses=0, duplicates=0)
    return DemoSummary(
        judge=ORACLE,
        outcomes=dict.fromkeys(RUNS, outcome),
        judgements={WITHOUT: clean, WITH: found},
        costs=dict.fromkeys(RUNS, cost),
        compared=Compared(processes=16, metadata_bytes={"rst": 316.0, "hybrid": 4.0, "mf": 3.0}),
    )


@pytest.mark.parametrize(
    ("early", "losses", "duplicates", "kept"),
    [(0, 0, 0, True), (1, 0, 0, False), (0, 1, 0, False), (0, 0, 1, False)],
)
def test_a_broken_promise_is_not_overlooked(
    early: int, losses: int, duplicates: int, kept: bool
) -> None:
    found = DemoVerdict(deliveries=10, early=early, losses=losses, duplicates=duplicates)
    assert summary_of(found).kept is kept


def test_summary_has_seven_lines_about_both_runs_and_one_about_the_simulator() -> None:
    summary = summary_of(DemoVerdict(deliveries=10, early=3, losses=0, duplicates=1))
    same = "8.30 ms, 120 ms"
    assert lines_of(summary) == [
        ("messages, deliveries", "8, 10", "8, 10"),
        ("datagrams", "1,000", "1,000"),
        ("lost, doubled, overtaking", "50, 20, 70", "50, 20, 70"),
        ("effects delivered before causes", "[bold green]0[/]", "[bold red]3 of 10 (30%)[/]"),
        ("never delivered, delivered twice", "0, 0", "0, 1"),
        ("latency: median, p99", same, same),
        ("metadata per message", "14.2 bytes", "14.2 bytes"),
    ]
    assert comparison_line(summary.compared) == (
        "In the simulator, n = 16, bytes per message: hybrid 4.00, rst 316."
    )


def test_somebody_elses_folder_is_refused(tmp_path: Path) -> None:
    precious = tmp_path / "events" / "precious.txt"
    precious.parent.mkdir()
    precious.write_text("mine")

    result = demo("--quick", "--out", str(tmp_path))

    assert result.exit_code == 2
    assert "is not empty, and not from an earlier demo" in result.output
    assert precious.read_text() == "mine"


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    file = tmp_path / "demo"
    file.write_text("mine")
    result = demo("--quick", "--out", str(file))
    assert result.exit_code == 2
    assert "is a file" in result.output


def test_a_service_that_cannot_start_is_named_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(ChildFailed) as caught:
        perform(WITH, tmp_path, orders=1, per_second=1, settings={"mtu": 3})
    text = failure_text(caught.value)
    assert text.startswith("gateway ended without an answer")
    assert "mtu" in text
    assert "\n" not in text


def children_of(process: int) -> list[int]:
    listed = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [int(child) for child in listed]


def is_there(process: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs Linux's /proc")
def test_ctrl_c_ends_all_processes(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "antecede", "demo", "--quick", "--out", str(tmp_path / "d")]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        until = time.monotonic() + 60
        while len(started := children_of(running.pid)) < len(SERVICES):
            assert time.monotonic() < until, "the services did not start"
            time.sleep(0.0005)  # While the last one is still being started.
        running.send_signal(signal.SIGINT)
        assert running.wait(60) == 130
    finally:
        running.kill()
        running.communicate()
    assert [child for child in started if is_there(child)] == []


def test_an_interrupted_demo_may_be_started_again(tmp_path: Path) -> None:
    (tmp_path / "demo.json").write_text('{"finished": false}\n')
    left = tmp_path / "events" / "run_id=none" / "left.parquet"
    left.parent.mkdir(parents=True)
    left.write_text("half")
    make_room(DemoFolders(tmp_path))

    assert [file.name for file in tmp_path.iterdir() if file.name != NOTE] == ["demo.json"]


def test_the_shop_is_closed_in_itself() -> None:
    assert len(SERVICES) == 8
    assert copies_per_order() == 17
    for step in STEPS:
        assert {step.service, *step.to} <= set(SERVICES)
        assert step.service not in step.to
