"""A whole comparison, small: what is planned, done, left out and written."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest

from antecede.core.errors import LocalError
from antecede_lab.catalogue import PROTOCOLS
from antecede_lab.comparison import claims
from antecede_lab.comparison import measurements as measured
from antecede_lab.comparison.campaign import (
    FAMILIES,
    LIVENESS,
    NETWORK,
    SPACE,
    Campaign,
    Planner,
    entrants_of,
)
from antecede_lab.comparison.documents import (
    all_verdicts,
    number,
    omission_table,
    paper_tables,
    write_comparison,
    write_ks,
)
from antecede_lab.comparison.effort import EFFORTS
from antecede_lab.comparison.ks_experiment import KsRow
from antecede_lab.comparison.measurements import QUANTITIES, Measurements, estimate
from antecede_lab.comparison.trials import LOSSY, finishes
from tests.antecede_lab.comparison.tiny import TINY


@pytest.fixture(scope="module")
def whole() -> Campaign:
    campaign = Campaign(entrants_of(["mf", "hybrid", "prs"]), TINY, seeds=2)
    campaign.run()
    return campaign


def test_every_claim_about_those_who_are_compared_gets_a_verdict(whole: Campaign) -> None:
    judged = [(one.verdict.claim.protocol, one.verdict.claim.aspect) for one in all_verdicts(whole)]
    assert judged == [(name, aspect) for name in ("mf", "hybrid") for aspect in claims.TABLE]


def test_every_quantity_is_measured(whole: Campaign) -> None:
    found = {row.quantity.name for row in whole.readings.rows}
    assert found == {quantity.name for quantity in QUANTITIES}


def test_table_shows_protocols_of_the_paper_apart_from_others(whole: Campaign) -> None:
    paper, beside, others = paper_tables(whole)
    assert paper.head == ("", "mf")
    assert paper.title.endswith("of 13 cells")
    assert beside.head == ("", "hybrid")
    assert others.head == ("", "prs")
    assert [row[0] for row in paper.rows] == list(claims.TABLE)
    assert paper.rows[0][1:] == beside.rows[0][1:] == ("✓ any",)
    assert others.rows[0][1:] == ("reliable",)


def test_verdict_names_the_command_that_shows_it(whole: Campaign) -> None:
    commands = {one.command for one in all_verdicts(whole)}
    assert "antecede lab compare --protocols mf --only space --quick --seed 1 --seeds 2" in commands


def test_nothing_so_small_is_too_much_for_a_datagram(whole: Campaign) -> None:
    assert [one for one in whole.readings.omissions if "datagram" in one.what] == []


def test_control_packets_on_a_lossy_network_are_averaged_over_all_runs(whole: Campaign) -> None:
    asks = 0.0
    for seed in range(1, TINY.trials + 1):
        result = finishes(PROTOCOLS["hybrid"], LOSSY, TINY, seed)
        assert result.measures is not None
        counts = {totals.kind: totals.packets for totals in result.measures.packets}
        asks += counts.get("ask", 0) / result.messages
    series = whole.readings.series("hybrid", measured.CONTROL_PACKETS, f"{LOSSY}: ask")
    assert dict(series) == {4.0: pytest.approx(asks / TINY.trials)}


def test_files_hold_the_same_readings(whole: Campaign, tmp_path: Path) -> None:
    files = write_comparison(tmp_path / "new" / "folder", whole, "antecede lab compare")
    assert [file.name for file in files] == [
        "readings.csv",
        "verdicts.csv",
        "comparison.json",
        "comparison.md",
    ]
    rows = csv_rows(files[0])
    written = json.loads(files[2].read_text(encoding="utf-8"))
    assert len(rows) == len(written["readings"]) == len(whole.readings.rows)
    assert float(rows[0]["mean"]) == written["readings"][0]["mean"]
    assert len(written["verdicts"]) == 26
    text = files[3].read_text(encoding="utf-8")
    assert text.startswith("# The comparison table, measured\n")
    assert "| network: order | ✓ any |" in text
    assert "| prs | packets lost and doubled | 0 of 2 |" in text


def csv_rows(file: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(file.read_text(encoding="utf-8").splitlines()))


def test_only_what_is_asked_for_is_measured() -> None:
    shown: list[str] = []
    campaign = Campaign(entrants_of(["hybrid"]), TINY, (NETWORK,))
    campaign.run(lambda done, total, text: shown.append(f"{done}/{total} {text}"))
    assert {row.quantity.name for row in campaign.readings.rows} == {measured.CLEAN.name}
    assert shown[0] == "0/2 hybrid: trials packets lost and doubled 4"
    assert len(shown) == 2


def test_what_latency_and_liveness_share_is_done_once() -> None:
    planner = Planner(TINY, Measurements())
    tasks = planner.tasks(entrants_of(["cykas"]), FAMILIES)
    assert len([task for task in tasks if task.what == "starvation"]) == len(TINY.turns)
    alone = planner.tasks(entrants_of(["cykas"]), (LIVENESS,))
    assert len([task for task in alone if task.what == "starvation"]) == len(TINY.turns)


def test_sizes_beyond_the_reach_of_a_protocol_are_left_out_with_a_reason() -> None:
    readings = Measurements()
    effort = replace(TINY, sizes=(3, 10_000))
    tasks = Planner(effort, readings).tasks(entrants_of(["rst", "hybrid"]), (SPACE,))
    sizes = {name: set[float]() for name in ("rst", "hybrid")}
    for task in tasks:
        if task.what == "footprint":
            sizes[task.entrant.name].add(task.at)
    assert sizes == {"rst": {3.0}, "hybrid": {3.0, 10_000.0}}
    table = omission_table(readings)
    assert table is not None
    [[who, what, why]] = table.rows
    assert (who, what) == ("rst", "space at n = 10000")
    assert "does not fit memory" in why


def test_the_same_seed_gives_the_same_readings() -> None:
    first, second, third = (
        Campaign(entrants_of(["ks"]), TINY, (SPACE,), seed).run().rows for seed in (3, 3, 4)
    )
    assert first == second
    assert first != third


def test_protocols_that_are_called_alike_are_refused() -> None:
    with pytest.raises(LocalError, match="two of the protocols are called ks"):
        entrants_of(["ks", "ks"])


def test_figure_is_measured_once() -> None:
    readings = Measurements()
    readings.add("x", measured.RATE, "stream", 1.0, [1.0])
    with pytest.raises(LocalError):
        readings.add("x", measured.RATE, "stream", 1.0, [1.0])


def test_more_effort_is_larger_in_everything() -> None:
    quick, usual, full = EFFORTS
    for small, large in ((quick, usual), (usual, full)):
        assert max(small.sizes) < max(large.sizes)
        assert small.messages_max < large.messages_max
        assert small.seeds < large.seeds
    assert full.sizes == (5, 10, 20, 50, 100, 200, 500, 1_000, 10_000)


def test_ks_files_have_a_row_per_point(tmp_path: Path) -> None:
    rows = [
        KsRow(
            processes=n,
            rate=1.0,
            share=share,
            percent=estimate([10.0, 20.0]),
            drift=1.5 if share else 1.0,
        )
        for n in (4, 8)
        for share in (0.0, 0.5)
    ]
    files = write_ks(tmp_path, rows, "antecede lab compare --ks")
    assert [file.name for file in files] == ["ks.csv", "ks.json", "ks.md"]
    assert len(csv_rows(files[0])) == 4
    assert json.loads(files[1].read_text(encoding="utf-8"))["rows"][3]["share"] == 0.5
    assert "| 8 | 1 | 15.0 ± 63.5 | 15.0 ± 63.5 (drifts) |" in files[2].read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3.0, "3"),
        (1234.0, "1,234"),
        (123.4, "123"),
        (12.34, "12.3"),
        (1.234, "1.23"),
        (-0.001, "0.00"),
    ],
)
def test_numbers_are_written_for_people(value: float, text: str) -> None:
    assert number(value) == text
