"""Figures of documents, drawn from their recorded tables; no simulation is run."""

from pathlib import Path

from antecede_audit.report.charts.spec import Axis, LineChart, Series, look_of
from antecede_audit.report.charts.svg_file import Sheet, write_sheets
from antecede_lab.comparison.measurements import Estimate
from antecede_lab.evaluate.answer import Answer, Setting
from antecede_lab.evaluate.charts import added_sheet, metadata_sheet
from bench.reproduce import read_claims
from bench.results import Row, read_results
from bench.two_builds import ROOT

IMAGES = ROOT / "docs" / "images"
CLAIMED = "evaluation-"
"""What the claims are called whose figures are drawn, in their order."""


def answer_of(row: Row) -> Answer:
    """One row, with its estimates as they were."""
    return Answer(
        setting=Setting(row["scenario"], row["network"], int(row["processes"])),
        protocol=row["protocol"],
        seeds=int(row["seeds"]),
        latency_ns=needed(row, "latency_ns"),
        latency_p99_ns=needed(row, "latency_p99_ns"),
        added_ns=estimate_of(row, "added_ns"),
        added_share=estimate_of(row, "added_share"),
        added_p99_ns=estimate_of(row, "added_p99_ns"),
        metadata_bytes=needed(row, "metadata_bytes"),
        metadata_times=estimate_of(row, "metadata_times"),
        control_packets=needed(row, "control_packets"),
        request_ns=estimate_of(row, "request_ns"),
        request_p99_ns=estimate_of(row, "request_p99_ns"),
        request_share=estimate_of(row, "request_share"),
        finished=row["finished"] == "True",
    )


def needed(row: Row, name: str) -> Estimate:
    """A figure that every row has."""
    found = estimate_of(row, name)
    assert found is not None, f"{name} is missing"
    return found


def estimate_of(row: Row, name: str) -> Estimate | None:
    """A figure with its interval, if the row has it."""
    if not row[name]:
        return None
    width = row[f"{name}_half_width"]
    half = float(width) if width else None
    return Estimate(mean=float(row[name]), half_width=half, samples=int(row["seeds"]))


def recorded() -> list[Answer]:
    """Everything that the document claims, in its order."""
    claims = [name for name in read_claims() if name.startswith(CLAIMED)]
    return [answer_of(row) for name in claims for row in read_results()[name]]


def draw(found: list[Answer], folder: Path) -> None:
    """Write all of them."""
    write_sheets(
        folder,
        {
            "evaluation-added": added_sheet(found),
            "evaluation-metadata": metadata_sheet(found),
            "pipeline": pipeline_sheet(read_results()["pipeline"]),
        },
    )


def pipeline_sheet(rows: list[Row]) -> Sheet:
    """What passes through a pipeline of real processes, by the delay of its wire."""
    lines: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        way, _, at = row["key"].partition(".")
        if at:
            lines.setdefault(way, []).append((float(at.split()[0]), float(row["value"])))
    chart = LineChart(
        title="Throughput of a pipeline",
        x=Axis(title="delay of the wire, one way, in ms"),
        y=Axis(title="messages a second that reach the end", log=True),
        series=tuple(
            Series(name=way, points=tuple(points), look=look_of(way, number))
            for number, (way, points) in enumerate(lines.items())
            if way in DRAWN
        ),
        note="500 a second are offered. MF and Cykas lie on one line, nodes and TCP on another.",
    )
    return Sheet(title="Does throughput depend on distance?", charts=(chart,))


DRAWN = ("hybrid", "mf", "cykas", "tcp")
"""The core alone does what nodes do."""
