"""The audit with nothing but the standard library leaves what any audit leaves."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from antecede.core.errors import LocalError
from antecede.eventlog import write_events
from antecede_audit.eventlog.restore import log_of
from antecede_audit.jobs import plain
from antecede_audit.jobs.plain import audit_plain
from antecede_audit.judging import check_log
from tests.antecede_audit.judging.random_traffic import hectic, in_traces
from tests.antecede_audit.judging.stories import ALICE, BOB, Story

BASE_INSTALL = """
import sys
for name in ("numpy", "pyarrow", "pyspark", "py4j", "pandas"):
    sys.modules[name] = None
from importlib import util
found = util.find_spec
util.find_spec = lambda name, *rest: None if name in ("numpy", "pyarrow") else found(name, *rest)
from antecede_cli.main import main
main()
"""


def test_tables_and_summary_are_those_of_the_oracle(tmp_path: Path) -> None:
    log = log_of(in_traces(hectic(Random(11)), Random(11)))
    write_events(tmp_path / "run.jsonl", log)

    found = audit_plain([str(tmp_path / "run.jsonl")], str(tmp_path / "out"), explain=2)

    verdict = check_log(log, order="trace")
    lines = (tmp_path / "out" / "violations.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    assert len(rows) == len(verdict.violations) > 0
    assert rows[0]["early_trace_id"] == verdict.violations[0].early_trace_id
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary == found.summary.as_object()
    assert summary["violations_by_order"] == {
        "process": len(check_log(log).violations),
        "trace": len(verdict.violations),
    }
    assert (summary["losses"], summary["duplicates"]) == (
        len(verdict.losses),
        len(verdict.duplicates),
    )
    assert [run for run, _ in found.worst] == ["run", "run"]


def test_a_long_log_is_refused_with_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plain, "MESSAGES_MAX", 1)
    story = Story()
    story.send(ALICE, BOB)
    story.send(ALICE, BOB)
    write_events(tmp_path / "run.jsonl", story.log)

    with pytest.raises(LocalError, match=r"2 messages; .* pip install '\.\[lab\]'"):
        audit_plain([str(tmp_path / "run.jsonl")], str(tmp_path / "out"))


@pytest.mark.parametrize(
    ("name", "status", "said"),
    [
        ("run.jsonl", 0, "1 message was delivered before one that caused it"),
        ("run.parquet", 2, "pip install '.[lab]'"),
        ("traces.json", 2, "antecede ingest"),
    ],
)
def test_the_command_on_an_install_without_extras(
    name: str, status: int, said: str, tmp_path: Path
) -> None:
    story = Story()
    first, second = story.send(ALICE, BOB), story.send(ALICE, BOB)
    story.deliver(BOB, second, first)
    write_events(tmp_path / "run.jsonl", story.log)
    write_events(tmp_path / "run.parquet", story.log)
    (tmp_path / "traces.json").write_text("{}")

    result = subprocess.run(
        [sys.executable, "-c", BASE_INSTALL, "audit", name, "--out", "found"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert result.returncode == status, result.stderr
    assert said in " ".join((result.stdout + result.stderr).split())


def test_two_logs_of_one_name_are_told_apart(tmp_path: Path) -> None:
    story = Story()
    first, second = story.send(ALICE, BOB), story.send(ALICE, BOB)
    story.deliver(BOB, second, first)
    traced = log_of(replace(event, trace_id="t") for event in story.log)
    paths = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        paths.append(str(tmp_path / folder / "log.jsonl"))
        write_events(paths[-1], traced)

    found = audit_plain(paths, str(tmp_path / "out"))

    assert [channel.run_id for channel in found.summary.channels] == [
        f"{path}: log" for path in paths
    ]
