"""What other commands have written is read as they meant it."""

import json
from pathlib import Path

import pytest

from antecede.core.errors import LocalError
from antecede.eventlog.parquet import load_pyarrow
from antecede_audit.report.audit_page import audited, read_audit, sample_text, steps_of
from antecede_audit.report.recordings_page import (
    DRAWN,
    LoggedRun,
    first_few,
    pair_of,
    runs_worth_drawing,
)
from antecede_audit.report.spacetime.recording import rows_of_log
from antecede_audit.report.spacetime.violations import judged
from antecede_lab.comparison.campaign import Campaign, entrants_of
from antecede_lab.comparison.documents import write_comparison as write_real_comparison
from antecede_lab.comparison.effort import QUICK
from antecede_lab.report.comparison_page import read_comparison, read_ks
from antecede_lab.report.evaluation_page import read_evaluation
from antecede_lab.report.sweep_page import Setting, read_sweep, sweep_of, thinned
from tests.antecede_audit.report.logs import simulated
from tests.antecede_audit.report.results import (
    swept_run,
    write_audit,
    write_comparison,
    write_evaluation,
    write_sweep,
)

ROW = (2, 1, 1, 4_000_000, 0, 1, 9_000_000, 5_000_000, "transitive")


def test_a_comparison_says_the_same_after_it_was_read_back(tmp_path: Path) -> None:
    entrants = entrants_of(["hybrid", "mf", "ses"])
    campaign = Campaign(entrants, QUICK, ("network", "throughput"), 1, None)
    campaign.run(None)
    write_real_comparison(tmp_path, campaign, "antecede lab compare --quick")
    comparison = read_comparison(tmp_path)

    assert comparison.protocols == ("hybrid", "mf", "ses")
    assert comparison.readings.rows == campaign.readings.rows
    assert comparison.readings.omissions == campaign.readings.omissions
    words = {aspect: one.word for aspect, one in comparison.observations("ses").items()}
    assert words["network: order"] == "any"
    assert comparison.verdicts("mf")["throughput: in transit"].outcome == "confirmed"
    assert comparison.commands["mf", "throughput: scalable"].startswith("antecede lab compare")


def test_a_comparison_may_have_quantities_that_nobody_here_knows(tmp_path: Path) -> None:
    write_comparison(tmp_path / "table")
    comparison = read_comparison(tmp_path / "table")

    assert comparison.observations("mine")["space: message"].word == "O(n)"
    assert {row.quantity.name for row in comparison.readings.rows} >= {"sparkle"}


@pytest.mark.parametrize(
    "content", ["[]", "{", '{"readings": [1]}', '{"readings": [{"protocol": "x"}]}']
)
def test_a_damaged_comparison_is_an_error_that_names_the_file(tmp_path: Path, content: str) -> None:
    (tmp_path / "comparison.json").write_text(content)

    with pytest.raises(LocalError, match=r"comparison\.json"):
        read_comparison(tmp_path)


def test_the_experiment_with_ks_is_read(tmp_path: Path) -> None:
    row = {"processes": 10, "rate": 2.0, "share": 0.5, "percent": 12.5, "half_width": None}
    (tmp_path / "ks.json").write_text(json.dumps({"rows": [row]}))

    [point] = read_ks(tmp_path)
    assert (point.processes, point.percent, point.half_width) == (10, 12.5, None)


def test_seeds_of_a_sweep_are_taken_together(tmp_path: Path) -> None:
    rows = [swept_run("rst", 1), swept_run("hybrid", 1), swept_run("hybrid", 3)]
    write_sweep(tmp_path, rows)
    sweep = read_sweep(tmp_path)

    assert sweep.settings() == [Setting("chat", "lan", 4)]
    hybrid, rst = sweep.of_setting(Setting("chat", "lan", 4))
    assert (hybrid.protocol, hybrid.seeds, rst.protocol, rst.seeds) == ("hybrid", 2, "rst", 1)
    latency = hybrid.figure("latency_mean_ns")
    assert latency is not None
    assert latency.mean == 3_000_000
    assert latency.half_width == pytest.approx(12.706 * 1_000_000)
    assert hybrid.cdf("latency") == [
        (2_000_000, 3 / 8),
        (4_000_000, 6 / 8),
        (8_000_000, 7 / 8),
        (16_000_000, 1.0),
    ]


def test_of_a_run_that_was_run_again_the_last_attempt_counts(tmp_path: Path) -> None:
    failed = swept_run("rst", 1, status="failed", reason="no luck")
    write_sweep(tmp_path, [failed, swept_run("rst", 1)])

    assert read_sweep(tmp_path).by_status == {"finished": 1}


def test_runs_that_did_not_finish_are_told_with_their_reason() -> None:
    sweep = sweep_of(
        [
            swept_run("rst", 1, status="failed", reason="no luck"),
            swept_run("rst", 2, status="failed", reason="no luck"),
            swept_run("mf", 1, status="unfinished", reason="still busy"),
        ]
    )

    assert sweep.reasons == [("failed", "no luck", 2), ("unfinished", "still busy", 1)]
    assert [group.protocol for group in sweep.groups] == ["mf"]


def test_a_thinned_curve_keeps_its_ends() -> None:
    points = [(float(x), x / 999) for x in range(1000)]
    thin = thinned(points, 10)

    assert len(thin) == 10
    assert (thin[0], thin[-1]) == (points[0], points[-1])
    assert thinned(points[:5], 10) == points[:5]


def test_an_audit_is_read_with_its_channels_and_worst_cases(tmp_path: Path) -> None:
    rows = [
        ("none", *ROW),
        ("none", 2, 1, 2, 10, 0, 2, 40, 30, "transitive"),
        ("none", 2, 0, 3, 10, 0, 2, 20, 10, "fifo"),
        ("other", 2, 1, 1, 10, 0, 1, 20, 10, "transitive"),
    ]
    write_audit(tmp_path, rows, messages=7, runs=3, processes=3, violations={"fifo": 1})
    audit = read_audit(tmp_path)

    assert audit.by_kind == {"transitive": 3, "fifo": 1}
    assert audit.by_run == {"none": 3, "other": 1}
    assert (audit.messages, audit.runs, audit.deliveries) == (7, 3, None)
    assert (audit.losses, audit.duplicates) == (1, 0)
    first = audit.channels[0]
    assert (first.run_id, first.process, first.early, first.late) == ("none", 2, 1, 0)
    assert (first.violations, first.median_ns, first.longest_ns) == (2, 30, 5_000_000)
    assert [one.held_back_ns for one in audit.worst["none"]] == [5_000_000, 30, 10]
    assert audit.held_back[-1] == (1.0, 5_000_000)


def test_of_very_many_violations_quantiles_rest_on_a_sample(tmp_path: Path) -> None:
    """On either side of the limit; counts, maxima and the worst are of all in any case."""
    rows = [("a", 2, 1, n, 10, 0, n, 10 + n, n, "transitive") for n in range(1, 1001)]
    rows += [("b", 3, 4, n, 10, 4, n, 10 + n, n, "fifo") for n in range(1, 11)]
    write_audit(tmp_path, rows)

    whole = read_audit(tmp_path, sample_max=1010)
    assert whole.sampled is None
    some = read_audit(tmp_path, sample_max=1009)
    assert some.sampled == 505

    assert (some.by_kind, some.by_run) == (whole.by_kind, whole.by_run)
    assert some.by_run == {"a": 1000, "b": 10}
    assert some.worst == whole.worst
    assert [one.held_back_ns for one in some.worst["a"]] == list(range(1000, 900, -1))
    assert [one.longest_ns for one in some.channels] == [1000, 10]
    for (_, exact), (_, near) in zip(whole.held_back, some.held_back, strict=True):
        assert abs(exact - near) <= 2
    assert "a sample of 505 of 1,010 violations" in sample_text(some)


def test_messages_delivered_twice_are_counted(tmp_path: Path) -> None:
    write_audit(tmp_path, [])
    pq = load_pyarrow("pyarrow.parquet")
    twice = pq.read_table(tmp_path / "losses")
    pq.write_table(twice, tmp_path / "duplicates" / "part-00000.parquet")

    assert read_audit(tmp_path).duplicates == 1


def test_an_audit_that_found_nothing_is_read_too(tmp_path: Path) -> None:
    write_audit(tmp_path, [], messages=7)
    audit = read_audit(tmp_path)

    assert (audit.violations, audit.channels, audit.held_back, audit.worst) == (0, (), (), {})


def test_violations_may_lie_in_folders_of_their_runs(tmp_path: Path) -> None:
    write_audit(tmp_path, [("x", *ROW)])
    part = tmp_path / "violations" / "part-00000.parquet"
    folder = tmp_path / "violations" / "run_id=2024"
    folder.mkdir()

    pq = load_pyarrow("pyarrow.parquet")
    pq.write_table(pq.read_table(part).drop_columns(["run_id"]), folder / "part-0.parquet")
    part.unlink()

    assert read_audit(tmp_path).by_run == {"2024": 1}


def test_the_oracle_says_the_same_in_the_same_form(tmp_path: Path) -> None:
    verdict = judged(rows_of_log(simulated("none", messages=800, processes=3)).rows)
    assert verdict is not None
    ours = audited({"none": verdict}, "none")
    write_audit(tmp_path, [("none", *row.row()) for row in verdict.violations])
    theirs = read_audit(tmp_path)

    assert {channel.violations % 2 for channel in ours.channels} == {0, 1}
    assert max(channel.violations for channel in ours.channels) > 3

    assert (ours.by_kind, ours.by_run) == (theirs.by_kind, theirs.by_run)
    assert set(ours.channels) == set(theirs.channels)
    assert ours.held_back == theirs.held_back
    assert [one.held_back_ns for one in ours.worst["none"]] == [
        one.held_back_ns for one in theirs.worst["none"]
    ]


def test_the_worst_violations_of_the_oracle_come_first() -> None:
    verdict = judged(rows_of_log(simulated("none", messages=200)).rows)
    assert verdict is not None
    waits = [one.held_back_ns for one in audited({"none": verdict}, "none").worst["none"]]

    assert len(set(waits)) > 2
    assert waits == sorted(waits, reverse=True)


def test_quantiles_are_nearest_ranks() -> None:
    quantiles = dict(steps_of([10, 20, 30, 40]))

    assert (quantiles[0.25], quantiles[0.26], quantiles[0.5], quantiles[1.0]) == (10, 20, 20, 40)
    assert steps_of([]) == ()


def test_an_evaluation_is_read_from_json_alone(tmp_path: Path) -> None:
    write_evaluation(tmp_path)
    evaluation = read_evaluation(tmp_path)

    assert evaluation.title == "What does it cost?"
    [setting] = evaluation.settings()
    hybrid, rst = evaluation.of_setting(setting)
    assert (hybrid.protocol, rst.protocol) == ("hybrid", "rst")
    assert hybrid.figures["added_ns"].mean == 8e5
    assert "metadata_times" not in hybrid.figures
    assert evaluation.traces[0].real == ("everything",)


def test_a_damaged_evaluation_is_an_error_that_says_so(tmp_path: Path) -> None:
    write_evaluation(tmp_path)
    (tmp_path / "tables" / "answers.json").write_text('[{"scenario": "x"}]')

    with pytest.raises(LocalError, match="is not what `antecede lab evaluate` writes"):
        read_evaluation(tmp_path)


# Which runs are drawn.


def logged(*run_ids: str) -> list[LoggedRun]:
    return [LoggedRun(run_id=run_id, path=Path("events"), files=[]) for run_id in run_ids]


def test_protocols_on_the_same_workload_are_drawn_beside_each_other() -> None:
    sweep = sweep_of(
        [
            swept_run(protocol, seed, processes)
            for processes in (4, 8)
            for seed in (1, 2)
            for protocol in ("rst", "none", "hybrid")
            if (protocol, seed) != ("rst", 2)
        ]
    )
    runs = logged(*(run.run_id for run in sweep.runs))
    early = {"chat-none-n8-s1": 5, "chat-none-n4-s1": 1, "chat-none-n8-s2": 9}
    chosen = runs_worth_drawing(runs, sweep.series(), early)

    assert [run.run_id for run in chosen] == [
        "chat-hybrid-n8-s1",
        "chat-rst-n8-s1",
        "chat-none-n8-s1",
    ]


def test_of_unknown_runs_the_first_are_drawn_and_the_worst() -> None:
    runs = logged(*(f"r{number}" for number in range(20)))

    assert [run.run_id for run in first_few(runs, {})] == [f"r{n}" for n in range(DRAWN)]
    chosen = [run.run_id for run in first_few(runs, {"r15": 3, "r18": 1, "r2": 2})]
    assert chosen == ["r0", "r1", "r2", "r3", "r4", "r15"]


def test_a_report_begins_with_a_good_run_and_the_worst() -> None:
    assert pair_of([1, 0, 7]) == [1, 2]
    assert pair_of([0, 0]) is None
    assert pair_of([1, 2]) is None
    assert pair_of([1]) is None
