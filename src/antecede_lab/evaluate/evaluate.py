"""Carries out an evaluation: ingest, profile, grow, sweep, audit, metrics, and then the answer.

`OUT/tables` is what a report reads, `OUT/plots` what people look at, `OUT/EVALUATION.md` the answer
in words and figures. Every step keeps its results, so a second call only does what is missing.
"""

import json
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession

from antecede.core.errors import LocalError
from antecede.eventlog.atomic_files import claim, read_note, write_whole
from antecede.eventlog.layout import PARTITION, find_runs, partition_folder
from antecede.eventlog.parquet import load_pyarrow, reading
from antecede.units import counted
from antecede.version import __version__
from antecede_audit.eventlog.workload import WorkloadRow, read_workload, write_workload
from antecede_audit.judging.summary import REPLACED as AUDITED
from antecede_audit.measure.figures import FIGURES
from antecede_audit.measure.profile import summary_object
from antecede_audit.spark.audit import audit_logs
from antecede_audit.spark.ingest import ingest
from antecede_audit.spark.measure import measure_logs, profile
from antecede_lab.build_mode import compiled
from antecede_lab.evaluate.answer import (
    TOOK_PLACE,
    Answer,
    Group,
    answer_rows,
    answers,
    bucket_rows,
    figure_rows,
    groups_of,
    markdown,
    packet_rows,
)
from antecede_lab.evaluate.charts import write_evaluation_charts
from antecede_lab.evaluate.config import Evaluation, GrownTrace, Trace, TraceCut
from antecede_lab.evaluate.outputs import CSV, PARQUET, write_object, write_rows
from antecede_lab.grow.grow import grow
from antecede_lab.grow.target_size import GrowthRequest
from antecede_lab.sweep.grid import Grid
from antecede_lab.sweep.run_plan import sending_times, within
from antecede_lab.sweep.run_store import RunStore
from antecede_lab.sweep.sweep import Report, run_sweep

NESTED: Final = ("packet_totals", "buckets", "plan")
"""Columns of a run that have tables of their own."""

TABLES: Final = ("violations", "duplicates", "losses", "inventions")
"""The tables of an audit that are counted."""

MADE_FROM: Final = "made-from.json"
"""What a folder was made from; it is written last."""

SUMMARY: Final = "summary.json"
EVALUATION: Final = "evaluation.json"
WRITTEN: Final = (
    *("traces", "profiles", "cut", "grown", "sweep", "audit", "tables", "plots"),
    *("EVALUATION.md", EVALUATION),
)
"""What an evaluation leaves in its folder."""

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedRun:
    """What an audit found in one run."""

    run_id: str
    fifo: int
    """Messages that came before an earlier one of the same sender."""
    transitive: int
    """Messages that came before something of another sender that happened before them."""
    duplicates: int
    losses: int
    inventions: int
    held_back_ns_max: int
    """The longest that causal order would have held one of them back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationOutcome:
    """What an evaluation found, and where it is."""

    folder: Path
    answers: list[Answer]
    by_status: dict[str, int]
    retried: int
    """Runs that an earlier call had lost."""
    judged: list[AuditedRun]
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
) -> EvaluationOutcome:
    """Do whatever is not done yet, and leave tables, plots and the answer in `out`."""
    adopt(out)
    claim(out, WRITTEN)
    clock = Clock(tell=tell)
    workloads = prepared(session, evaluation, out, clock)
    grid = evaluation.runs(workloads)
    recorded = part_of(grid, evaluation.audited, evaluation.audited_messages)
    with clock.step("sweep", f"simulating {counted(len(grid.plans()), 'run')}"):
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
    outcome = EvaluationOutcome(
        folder=out,
        answers=found,
        by_status=swept.by_status,
        retried=retried + swept.retried,
        judged=judged,
        difference=greatest_difference(runs, measured),
        seconds=clock.seconds,
        plots=plots,
    )
    write_object(out / EVALUATION, outcome_object(evaluation, outcome, command))
    return outcome


def adopt(out: Path) -> None:
    """Note that results are ours that an evaluation of a version without notes has left."""
    try:
        known = {"antecede", "log_difference", "by_status"} <= set(read_object(out / EVALUATION))
    except (LocalError, TypeError):
        known = False
    if known and read_note(out).is_empty:
        claim(out / "audit", AUDITED, known=True)
        for step in ("traces", "profiles", "cut", "grown"):
            for folder in (out / step).glob("*/"):
                claim(folder, [one.name for one in folder.iterdir()], known=True)
        claim(out, WRITTEN, known=True)


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

    Scenarios with more than `messages` messages are left out.
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
    judged: Sequence[AuditedRun],
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
    write_rows(folder, "audit", [asdict(one) for one in judged])


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
    return write_evaluation_charts(folder, found, groups)


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


def outcome_object(
    evaluation: Evaluation, outcome: EvaluationOutcome, command: str
) -> dict[str, Any]:
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


# Auditing.


def judge_logs(session: SparkSession, logs: Sequence[str], out: Path) -> list[AuditedRun]:
    """Audit all runs of these datasets; the tables of the audit go into `out`."""
    out.mkdir(parents=True, exist_ok=True)
    # By process: that is the order which the protocols under comparison promise.
    audit_logs(session, logs, str(out), order="process")
    found = {name: count_rows(out / name) for name in TABLES}
    return [
        AuditedRun(
            run_id=run_id,
            fifo=found["violations"].rows[run_id, "fifo"],
            transitive=found["violations"].rows[run_id, "transitive"],
            duplicates=found["duplicates"].rows[run_id, None],
            losses=found["losses"].rows[run_id, None],
            inventions=found["inventions"].rows[run_id, None],
            held_back_ns_max=found["violations"].worst.get(run_id, 0),
        )
        for log in logs
        for run_id in find_runs(Path(log))
    ]


@dataclass(slots=True)
class Counts:
    """What a table of findings has about each run."""

    rows: Counter[tuple[str, str | None]] = field(default_factory=Counter)
    """By run and kind; tables other than violations have no kinds."""
    worst: dict[str, int] = field(default_factory=dict)
    """By run: the longest that something would have been held back."""


def count_rows(folder: Path) -> Counts:
    """Count the rows of a table of findings; it streams by, whatever its size."""
    pq = load_pyarrow("pyarrow.parquet")
    counts = Counts()
    for file in sorted(folder.glob("*.parquet")):
        with reading(file), pq.ParquetFile(file) as source:
            names = source.schema_arrow.names
            wanted = [name for name in ("run_id", "kind", "held_back_ns") if name in names]
            for batch in source.iter_batches(columns=wanted):
                add_batch(counts, batch)
    return counts


def add_batch(counts: Counts, batch: Any) -> None:  # noqa: ANN401 an Arrow batch, untyped
    """Count some rows more."""
    table = load_pyarrow("pyarrow").Table.from_batches([batch])
    keys = [name for name in ("run_id", "kind") if name in table.column_names]
    most = [("held_back_ns", "max")] if "held_back_ns" in table.column_names else []
    for row in table.group_by(keys).aggregate([([], "count_all"), *most]).to_pylist():
        run_id = row["run_id"]
        counts.rows[run_id, row.get("kind")] += row["count_all"]
        held_back_ns = row.get("held_back_ns_max", 0)
        counts.worst[run_id] = max(counts.worst.get(run_id, 0), held_back_ns)


# Steps whose results are kept: done once, and again only if what they rest on has changed.


def cached_step(folder: Path, made_from: Mapping[str, Any], make: Callable[[], None]) -> bool:
    """Fill the folder unless it is there already, made from the same; whether it had to be."""
    file = folder / MADE_FROM
    recipe = json.loads(json.dumps({"antecede": __version__, **made_from}))
    try:
        if read_object(file) == recipe:
            return False
    except LocalError:
        pass  # it is not there, or damaged: the step is done again
    file.unlink(missing_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    make()
    write_object(file, recipe)
    return True


def ingest_trace(session: SparkSession, trace: Trace, folder: Path) -> bool:
    """Ingest a trace, unless that was done."""

    def make() -> None:
        ingest(
            session,
            trace.paths,
            str(folder),
            format_name=trace.format_name,
            run_id=trace.name,
            unit=trace.unit,
        )

    return cached_step(folder, {**asdict(trace), "files": fingerprints(trace.paths)}, make)


def fingerprints(paths: Sequence[str]) -> list[list[object]]:
    """Names, sizes and times of the files at local paths, by which a change shows."""
    found: list[list[object]] = []
    for path in paths:
        place = Path(path)
        files = sorted(place.rglob("*")) if place.is_dir() else [place]
        for file in files:
            if file.is_file():
                state = file.stat()
                found.append([str(file), state.st_size, state.st_mtime_ns])
    return found


def cut_workload(cut: TraceCut, trace: Path, folder: Path) -> bool:
    """Take a stretch out of a trace that was ingested into the folder `trace`."""

    def make() -> None:
        rows = within(read_workload(trace / "workload"), cut.start_ns, cut.span_ns)
        if not rows:
            raise LocalError(f"nothing of {cut.trace} is sent in the stretch {cut.name}")
        run = partition_folder(folder / "workload", cut.name)
        run.mkdir(parents=True, exist_ok=True)
        write_workload(run / "workload.parquet", rows)
        write_object(folder / SUMMARY, cut_summary(cut, rows, read_summary(trace)))

    return cached_step(folder, {**asdict(cut), "from": read_object(trace / MADE_FROM)}, make)


def cut_summary(
    cut: TraceCut, rows: Sequence[WorkloadRow], whole: Mapping[str, Any]
) -> dict[str, Any]:
    """How much there is in a stretch."""
    times = sending_times(rows).values()
    return {
        "run_id": cut.name,
        "messages": len(rows),
        "copies": sum(len(row.targets) for row in rows),
        "processes": whole["processes"],
        "rejects": 0,
        "first_ns": min(times),
        "last_ns": max(times),
        "real": [f"every message, of {whole['messages']} in the whole trace"],
        "grown": [],
    }


def grow_workload(session: SparkSession, grown: GrownTrace, trace: Path, folder: Path) -> bool:
    """Grow a trace that was ingested into the folder `trace`, unless that was done."""

    def make() -> None:
        wanted = GrowthRequest(
            **{one.name: getattr(grown, one.name) for one in fields(GrowthRequest)}
        )
        graph = None if grown.graph is None else Path(grown.graph)
        grow(session, str(trace), str(folder), wanted, graph=graph, name=grown.name)

    return cached_step(folder, {**asdict(grown), "from": read_object(trace / MADE_FROM)}, make)


def profile_workload(session: SparkSession, source: Path, folder: Path) -> bool:
    """Profile an ingested or grown workload, unless that was done."""

    def make() -> None:
        runs = profile(session, str(source), str(folder))
        write_object(folder / SUMMARY, summary_object(str(source), runs))

    return cached_step(folder, {"from": read_object(source / MADE_FROM)}, make)


def read_summary(folder: Path) -> dict[str, Any]:
    """The summary that a step has left."""
    return read_object(folder / SUMMARY)


def read_object(file: Path) -> dict[str, Any]:
    """The object in a file that a step has left."""
    try:
        content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise LocalError(f"cannot read {file}, which a step has left: {error}") from error
    return content
