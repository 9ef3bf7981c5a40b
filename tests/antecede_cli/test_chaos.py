"""`antecede lab chaos`: schedules that can be read, simulated clusters, and a report either way."""

import json
from pathlib import Path

from click.testing import CliRunner

from antecede_cli.main import main


def test_the_schedule_of_a_seed_can_be_read() -> None:
    first, again = (
        CliRunner().invoke(main, ["lab", "chaos", "--list", "--seed", "7", "--faults", "12"])
        for _ in range(2)
    )
    assert first.exit_code == 0
    assert first.output == again.output
    assert len(first.output.splitlines()) == 12
    longer = CliRunner().invoke(main, ["lab", "chaos", "--list", "--seed", "7", "--time", "12s"])
    assert longer.output.startswith(first.output)


def test_simulated_clusters_are_counted_and_judged(tmp_path: Path) -> None:
    out = tmp_path / "report.json"
    result = CliRunner().invoke(
        main, ["lab", "chaos", "--simulated", "3", "--seed", "5", "--json", "--out", str(out)]
    )
    assert result.exit_code == 0, result.output
    report = json.loads(result.output)
    assert report == json.loads(out.read_text())
    assert report["ok"]
    assert report["runs"] == 3
    assert report["totals"]["messages"] > 100


def test_a_cluster_in_which_something_is_wrong_is_named_and_the_status_says_so() -> None:
    """`none` keeps no order at all."""
    result = CliRunner().invoke(main, ["lab", "chaos", "--simulated", "6", "--protocol", "none"])
    assert result.exit_code == 1
    assert "--simulated 1 --protocol none --seed" in result.output
    assert "'violations'" in result.output
