"""Carries out an evaluation: ingest, profile, grow, sweep, audit, metrics, and then the answer.

`OUT/tables` is what a report reads, `OUT/plots` what people look at, `OUT/EVALUATION.md` the answer
in words and figures. Every step keeps its results, so a second call only does what is missing.
"""

import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession

from antecede import __version__, compiled
from antecede.pipeline.evaluate.answer import Answer, answer_rows, answers, markdown
from antecede.pipeline.evaluate.config import Evaluation
from antecede.pipeline.evaluate.judge import Judged, judge_logs
from antecede.pipeline.evaluate.outputs import CSV, PARQUET, write_object, write_rows
from antecede.pipeline.evaluate.settings import (
    TOOK_PLACE,
    Group,
    bucket_rows,
    figure_rows,
    groups_of,
    packet_rows,
)
from antecede.pipeline.evaluate.steps import (
    cut_workload,
    grow_workload,
    ingest_trace,
    profile_workload,
    read_summary,
)
from antecede.pipeline.metrics.figures import FIGURES
from antecede.pipeline.metrics.job import measure_logs
from antecede.pipeline.sweep.grid import Grid
from antecede.pipeline.sweep.job import Report, run_sweep
from antecede.pipeline.sweep.store import RunStore
from antecede.trace.atomic import write_whole
from antecede.trace.datasets import PARTITION, partition_folder

NESTED: Final = ("packet_totals", "buckets", "plan")
"""Columns of a run that have tables of their own."""

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What an evaluation found, and where it is."""

    folder: Path
    answers: list[Answer]
    by_status: dict[str, int]
    retried: int
    """Runs that an earlier call had lost."""
    judged: list[Judged]
    difference: float
    """The most by which a figure of a log differed from the simulator's own, as a share."""
    seconds: dict[str, float]
    plots: list[Path]


@dataclass(slots=True, kw_only=True)
class Clock:
    """How long each step takes, and who is told of it."""

    tell: Tell
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def step(self, name: str, doing: str) -> Iterator[None]:
        """Take the time of something."""
        self.tell(doing)
        begin = time.monotonic()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.monotonic() - begin


def evaluate(
    session: SparkSession,
    evaluation: Evaluation,
    out: Path,
    *,
    command: str = "",
    tell: Tell = lambda _: None,
    report: Report | None = None,
) -> Outcome:
    """Do whatever is not done yet, and leave tables, plots and the answer in `out`."""
    clock = Clock(tell=tell)
    workloads = prepared(session, evaluation, out, clock)
    grid = evaluation.runs(workloads)
    recorded = part_of(grid, evaluation.audited, evaluation.audited_messages)
    with clock.step("sweep", f"simulating {len(grid.plans())} runs"):
        sweep = out / "sweep"
        retried = 0
        if recorded is not None:
            forget_events(sweep / "events", [plan.run_id for plan in recorded.plans()])
            retried = run_sweep(session, recorded, sweep, events=True, report=report).retried
        swept = run_sweep(session, grid, sweep, report=report)
    runs = RunStore(sweep / "runs").read_only(plan.digest for plan in grid.plans()).to_pylist()
    logs = logs_of(evaluation, recorded, out)
    with clock.step("audit", "auditing"):
        judged = judge_logs(session, logs, out / "audit") if logs else []
    with clock.step("metrics", "measuring logs"):
        measured = measure_logs(session, logs) if logs else []
    with clock.step("tables", "writing tables and plots"):
        groups = groups_of(runs)
        found = answers(groups)
        write_tables(out / "tables", runs, groups, found, measured, judged)
        write_rows(out / "tables", "traces", trace_rows(evaluation, workloads, out))
        plots = drawn(out / "plots", found, groups)
        text = markdown(evaluation.title, found, notes_of(swept.by_status, command))
        write_whole(out / "EVALUATION.md", text.encode())
    outcome = Outcome(
        folder=out,
        answers=found,
        by_status=swept.by_status,
        retried=retried + swept.retried,
        judged=judged,
        difference=greatest_difference(runs, measured),
        seconds=clock.seconds,
        plots=plots,
    )
    write_object(out / "evaluation.json", outcome_object(evaluation, outcome, command))
    return outcome


def prepared(
    session: SparkSession, evaluation: Evaluation, out: Path, clock: Clock
) -> dict[str, Path]:
    """The folders of all workloads, after ingesting, profiling and growing."""
    folders: dict[str, Path] = {}
    for name, trace in evaluation.traces.items():
        folders[name] = out / "traces" / name
        with clock.step("ingest", f"ingesting {name}"):
            ingest_trace(session, trace, folders[name])
        if evaluation.profiled:
            with clock.step("profile", f"profiling {name}"):
                profile_workload(session, folders[name], out / "profiles" / name)
    for name, cut in evaluation.cuts.items():
        folders[name] = out / "cut" / name
        with clock.step("grow", f"cutting {name}"):
            cut_workload(cut, folders[cut.trace], folders[name])
    for name, grown in evaluation.grown.items():
        folders[name] = out / "grown" / name
        with clock.step("grow", f"growing {name}"):
            grow_workload(session, grown, folders[grown.trace], folders[name])
    return folders


def part_of(grid: Grid, protocols: Sequence[str], messages: int) -> Grid | None:
    """The runs that are recorded: these protocols, with the first seed of each scenario.

    Scenarios of more than so many messages are left out.
    """
    scenarios = []
    for scenario in grid.scenarios:
        if max(traffic.messages for traffic in scenario.traffics) > messages:
            continue
        chosen = tuple(name for name in scenario.axes.protocols if name in protocols)
        if chosen:
            axes = replace(scenario.axes, protocols=chosen, seeds=scenario.axes.seeds[:1])
            scenarios.append(replace(scenario, axes=axes))
    return replace(grid, scenarios=tuple(scenarios)) if scenarios else None


def forget_events(folder: Path, wanted: Sequence[str]) -> None:
    """Remove logs that an evaluation with another configuration has left."""
    known = {partition_folder(folder, run_id) for run_id in wanted}
    for run in folder.glob(f"{PARTITION}*"):
        if run not in known:
            shutil.rmtree(run)


def logs_of(evaluation: Evaluation, recorded: Grid | None, out: Path) -> list[str]:
    """The event logs there are: those of the traces, and those of recorded runs."""
    places = [out / "traces" / name / "events" for name in evaluation.traces]
    if recorded is not None:
        places.append(out / "sweep" / "events")
    return [str(place) for place in places if place.is_dir()]


def write_tables(
    folder: Path,
    runs: Sequence[Mapping[str, Any]],
    groups: Sequence[Group],
    found: Sequence[Answer],
    measured: Sequence[Mapping[str, Any]],
    judged: Sequence[Judged],
) -> None:
    """Everything that a report may want to read."""
    write_rows(folder, "answers", answer_rows(found))
    write_rows(folder, "figures", figure_rows(groups), (PARQUET, CSV))
    write_rows(folder, "packets", packet_rows(groups), (PARQUET, CSV))
    write_rows(folder, "delays", bucket_rows(groups), (PARQUET,))
    flat = [{name: run[name] for name in run if name not in NESTED} for run in runs]
    write_rows(folder, "runs", flat, (PARQUET, CSV))
    left = [run for run in flat if run["status"] != "finished"]
    shown = ("run_id", "scenario", "network", "processes", "protocol", "seed", "status", "reason")
    write_rows(folder, "not-finished", [{name: run[name] for name in shown} for run in left])
    logs = [{name: log[name] for name in log if name not in NESTED} for log in measured]
    write_rows(folder, "logs", logs, (PARQUET, CSV))
    write_rows(folder, "audit", [one.row() for one in judged])


def trace_rows(
    evaluation: Evaluation, workloads: Mapping[str, Path], out: Path
) -> list[dict[str, Any]]:
    """What was replayed: how much of it there is, and what about it is real."""
    rows: list[dict[str, Any]] = []
    for name, folder in workloads.items():
        summary = read_summary(folder)
        profile = out / "profiles" / name
        made = evaluation.grown.get(name) or evaluation.cuts.get(name)
        rows.append(
            {
                "name": name,
                "origin": "recorded" if made is None else made.trace,
                "processes": summary["processes"],
                "messages": summary["messages"],
                "copies": summary["copies"],
                "span_ns": (summary["last_ns"] or 0) - (summary["first_ns"] or 0),
                "rejects": summary["rejects"],
                "real": summary.get("real", ["everything"]),
                "grown": summary.get("grown", []),
                "profile": str(profile.relative_to(out)) if profile.is_dir() else "",
            }
        )
    return rows


def drawn(folder: Path, found: Sequence[Answer], groups: Sequence[Group]) -> list[Path]:
    """Draw the plots, if there is anything to draw."""
    if not found:
        return []
    # Late: nothing but this needs matplotlib.
    from antecede.pipeline.evaluate.plots import draw_all

    return draw_all(folder, found, groups)


def greatest_difference(
    runs: Sequence[Mapping[str, Any]], measured: Sequence[Mapping[str, Any]]
) -> float:
    """How far the figures from logs are from those of the simulator, for runs that have both."""
    by_id = {run["run_id"]: run for run in runs if run["status"] in TOOK_PLACE}
    greatest = 0.0
    for log in measured:
        run = by_id.get(log["run_id"])
        if run is None:
            continue
        for name in FIGURES.names:
            one, other = log[name] or 0.0, run[name] or 0.0
            if one != other:
                greatest = max(greatest, abs(one - other) / max(abs(one), abs(other)))
    return greatest


def notes_of(by_status: Mapping[str, int], command: str) -> list[str]:
    """What stands above the tables of the answer."""
    counts = ", ".join(f"{count} {status}" for status, count in by_status.items())
    made = f"Made by `{command}`, " if command else "Made "
    build = "compiled" if compiled() else "interpreted"
    return [
        f"{made}with antecede {__version__} ({build}): {counts}.",
        "*Added by ordering*: how much later a copy was delivered than causal order demands, for "
        "the same submissions and the same channel times; negative where a protocol delivered too "
        "early. *Share*: of the mean latency that would have been possible. *Metadata*: bytes that "
        "are not payload, those of control packets and retransmissions included. *Request*: from "
        "the first submission of a conversation to its last delivery; *longer than without order*: "
        "than in the run of `none` with the same seed.",
    ]


def outcome_object(evaluation: Evaluation, outcome: Outcome, command: str) -> dict[str, Any]:
    """The evaluation in short, for programs."""
    return {
        "title": evaluation.title,
        "command": command,
        "antecede": __version__,
        "compiled": compiled(),
        "by_status": outcome.by_status,
        "retried": outcome.retried,
        "log_difference": outcome.difference,
        "seconds": {name: round(seconds, 1) for name, seconds in outcome.seconds.items()},
        "answers": len(outcome.answers),
        "audited": len(outcome.judged),
        "plots": [str(plot.relative_to(outcome.folder)) for plot in outcome.plots],
    }
