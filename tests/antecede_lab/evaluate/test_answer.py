"""From runs to the answer, with figures that can be checked by hand."""

import csv
import json
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from antecede_audit.measure.figures import FIGURES
from antecede_audit.report.charts.draw import drawing_of
from antecede_audit.report.charts.svg_file import sheet_text
from antecede_lab.evaluate.answer import (
    answer_rows,
    answers,
    bucket_rows,
    figure_rows,
    groups_of,
    markdown,
    packet_rows,
)
from antecede_lab.evaluate.charts import LEAST_NS, added_sheet, metadata_sheet, spread_sheet
from antecede_lab.evaluate.evaluate import greatest_difference
from antecede_lab.evaluate.outputs import write_rows

MS = 1_000_000


def run(protocol: str, seed: int, **figures: Any) -> dict[str, Any]:  # noqa: ANN401 any figure
    return {
        **dict.fromkeys(FIGURES.names),
        "run_id": f"{protocol}-{seed}",
        "scenario": "shop",
        "network": "wan",
        "processes": 28,
        "protocol": protocol,
        "seed": seed,
        "status": "finished",
        "messages": 100,
        "control_per_message": 1.0,
        "latency_p99_ns": 300 * MS,
        "packet_totals": [
            {"packet_kind": "ack", "packets": 100, "metadata_bytes": 200},
            {"packet_kind": "message", "packets": 100, "metadata_bytes": 300 * seed},
        ],
        "buckets": [{"delay": "latency", "low_ns": 128, "high_ns": 129, "copies": seed}],
        **figures,
    }


def runs() -> list[dict[str, Any]]:
    """Two seeds of two protocols; the ordering of one adds 10 and 30 ms to 90."""
    return [
        run("hybrid", 1, latency_mean_ns=100.0 * MS, non_causal_mean_ns=10.0 * MS,
            non_causal_p99_ns=90 * MS, metadata_bytes_per_message=10.0),
        run("hybrid", 2, latency_mean_ns=120.0 * MS, non_causal_mean_ns=30.0 * MS,
            non_causal_p99_ns=90 * MS, metadata_bytes_per_message=20.0),
        run("rst", 1, latency_mean_ns=90.0 * MS, non_causal_mean_ns=0.0,
            non_causal_p99_ns=0, metadata_bytes_per_message=300.0),
        run("rst", 2, latency_mean_ns=90.0 * MS, non_causal_mean_ns=0.0,
            non_causal_p99_ns=0, metadata_bytes_per_message=800.0),
        run("mf", 1, status="unsuited"),
    ]  # fmt: skip


def test_cost_is_measured_within_a_run_and_savings_between_runs_of_one_seed() -> None:
    hybrid, rst = answers(groups_of(runs()))
    assert (hybrid.protocol, hybrid.seeds) == ("hybrid", 2)
    assert hybrid.latency_ns.mean == 110 * MS
    assert hybrid.added_ns is not None
    assert hybrid.added_ns.mean == 20 * MS
    assert hybrid.added_ns.half_width == pytest.approx(12.706 * 10 * MS)
    assert hybrid.added_share is not None
    assert hybrid.added_share.mean == pytest.approx((10 / 90 + 30 / 90) / 2)
    assert rst.metadata_times is not None
    assert rst.metadata_times.mean == 35.0
    assert hybrid.metadata_times is not None
    assert hybrid.metadata_times.mean == 1.0
    assert rst.added_ns is not None
    assert rst.added_ns.mean == 0


def test_answer_without_ours_compares_with_nothing() -> None:
    (rst,) = answers(groups_of([row for row in runs() if row["protocol"] == "rst"]))
    assert rst.metadata_times is None


def test_requests_are_compared_with_those_without_order_seed_by_seed() -> None:
    rows = [
        run(name, seed, latency_mean_ns=5.0, metadata_bytes_per_message=1.0, requests=requests,
            request_mean_ns=mean, request_p99_ns=900)
        for name, seed, requests, mean in (
            ("hybrid", 1, 500, 300.0), ("hybrid", 2, 500, 500.0),
            ("none", 1, 500, 200.0), ("none", 2, 500, 400.0), ("few", 1, 199, 100.0),
        )
    ]  # fmt: skip
    hybrid, none, few = answers(groups_of(rows))
    assert hybrid.request_share is not None
    assert hybrid.request_share.mean == pytest.approx((0.5 + 0.25) / 2)
    assert hybrid.request_ns is not None
    assert hybrid.request_ns.mean == 400
    assert none.request_share is not None
    assert none.request_share.mean == 0
    assert (few.request_ns, few.request_share) == (None, None), "it is one tangle"


def test_unmeasured_cost_is_left_open() -> None:
    rows = [run("rst", 1, latency_mean_ns=5.0, metadata_bytes_per_message=1.0)]
    (rst,) = answers(groups_of(rows))
    assert (rst.added_ns, rst.added_share) == (None, None)
    assert answer_rows([rst])[0]["added_ns"] is None


def test_document_has_a_row_for_each_protocol() -> None:
    text = markdown("Title", answers(groups_of(runs())), ["A note."])
    assert text.startswith("# Title\n\nA note.\n")
    assert "## shop, wan, 28 processes" in text
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert rows[1].startswith("| hybrid | 110 ms ± 127 ms | 300 ms | 20.0 ms ± 127 ms | +22.2 % |")
    assert rows[2].startswith("| rst | 90.0 ms | 300 ms | 0 | +0.0 % | 0 | 550 ±")
    assert len(rows) == 3


def test_unfinished_runs_are_marked() -> None:
    rows = [row | {"status": "unfinished"} for row in runs()[:2]]
    assert "| hybrid (unfinished) |" in markdown("T", answers(groups_of(rows)), [])


def test_figures_become_means_over_seeds() -> None:
    rows = figure_rows(groups_of(runs()))
    (latency,) = [
        row for row in rows if row["protocol"] == "hybrid" and row["figure"] == "latency_mean_ns"
    ]
    assert latency == {
        "scenario": "shop",
        "network": "wan",
        "processes": 28,
        "protocol": "hybrid",
        "figure": "latency_mean_ns",
        "mean": 110.0 * MS,
        "half_width": pytest.approx(12.706 * 10 * MS),
        "seeds": 2,
    }
    assert not [row for row in rows if row["figure"] == "throughput"], "no run has it"


def test_buckets_and_packets_of_all_seeds_are_added() -> None:
    groups = groups_of(runs())
    (bucket,) = [row for row in bucket_rows(groups) if row["protocol"] == "hybrid"]
    assert (bucket["low_ns"], bucket["copies"]) == (128, 3)
    packets = [row for row in packet_rows(groups) if row["protocol"] == "rst"]
    assert [row["packet_kind"] for row in packets] == ["ack", "message"]
    assert packets[1]["metadata_bytes_per_message"] == 900 / 200
    assert packets[0]["packets_per_message"] == 1.0


def test_difference_between_logs_and_simulator_shows() -> None:
    rows = runs()
    logs = [dict(rows[0]), dict(rows[1]), {**dict.fromkeys(FIGURES.names), "run_id": "trace"}]
    assert greatest_difference(rows, logs) == 0
    logs[1]["latency_mean_ns"] = 110.0 * MS
    assert greatest_difference(rows, logs) == pytest.approx(1 / 12)


def test_table_is_the_same_in_every_format(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"a": 1, "b": None, "c": ["x"]}, {"a": 2, "b": 0.5, "c": []}]
    write_rows(tmp_path / "t", "name", rows)
    assert pq.read_table(tmp_path / "t" / "name.parquet").to_pylist() == rows
    assert json.loads((tmp_path / "t" / "name.json").read_text()) == rows
    with (tmp_path / "t" / "name.csv").open(newline="") as file:
        assert list(csv.DictReader(file)) == [
            {"a": "1", "b": "", "c": '["x"]'},
            {"a": "2", "b": "0.5", "c": "[]"},
        ]


def test_table_without_rows_leaves_no_stale_file(tmp_path: Path) -> None:
    write_rows(tmp_path, "name", [{"a": 1}])
    write_rows(tmp_path, "name", [])
    assert list(tmp_path.iterdir()) == []


def test_what_is_less_than_the_axis_shows_points_beyond_its_beginning() -> None:
    """24 ns would stand where 1 µs is."""
    figures = {"latency_mean_ns": 90.0 * MS, "non_causal_mean_ns": 24.0, "non_causal_p99_ns": 50}
    tiny = [run("ks", seed, metadata_bytes_per_message=9.0, **figures) for seed in (1, 2)]
    sheet = added_sheet(answers(groups_of([*runs(), *tiny])))
    assert sheet.charts[0].x.low == LEAST_NS
    assert "<title>ks: less than the axis shows</title>" in sheet_text(sheet)

    without = added_sheet(answers(groups_of(runs())))
    assert without.charts[0].x.low is None
    assert "less than the axis shows" not in sheet_text(without)


def test_protocols_with_equal_figures_do_not_cover_each_other() -> None:
    """One below the other in the row of their setting, each with a point of its own shape."""
    figures = {"latency_mean_ns": 90.0 * MS, "non_causal_mean_ns": 5.0 * MS}
    same = [
        run(protocol, seed, metadata_bytes_per_message=9.0, non_causal_p99_ns=50, **figures)
        for protocol in ("hybrid", "ks", "mf", "one-of-mine", "another")
        for seed in (1, 2)
    ]
    [chart] = added_sheet(answers(groups_of(same))).charts
    assert len({line.look.marker for line in chart.series}) == 5
    drawing = drawing_of(chart)
    heights = re.findall(r'(?: cy="|translate\(\S+ )([\d.]+)', drawing)
    assert len(heights) == len(set(heights)) == 5


def test_a_protocol_looks_the_same_in_both_figures() -> None:
    found = answers(groups_of(runs()))
    looks = [
        {line.name: line.look for line in sheet.charts[0].series}
        for sheet in (added_sheet(found), metadata_sheet(found))
    ]
    assert looks[0].items() <= looks[1].items()
    assert looks[0]


def test_latencies_that_are_all_equal_are_a_step_under_the_name_of_their_setting() -> None:
    [one] = {run["scenario"] for run in runs()}
    sheet = spread_sheet(groups_of(runs()), "wan")
    assert sheet is not None
    assert sheet.title.startswith(f"Latencies over wan: {one}, n = ")
    assert {line.points[0][1] for line in sheet.charts[0].series} == {0.0}
    assert {line.points[-1][1] for line in sheet.charts[0].series} == {1.0}
