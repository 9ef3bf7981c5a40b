"""Steps whose results are kept: done once, and again only if what they rest on has changed."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession

from antecede import __version__
from antecede.core.errors import LocalError
from antecede.pipeline.evaluate.config import Cut, Grown, Trace
from antecede.pipeline.evaluate.outputs import write_object
from antecede.pipeline.grow.job import grow
from antecede.pipeline.grow.plan import Wanted
from antecede.pipeline.ingest.job import ingest
from antecede.pipeline.profile.job import profile
from antecede.pipeline.profile.summary import summary_object
from antecede.pipeline.sweep.replays import sending_times, within
from antecede.trace.datasets import partition_folder
from antecede.trace.workload import WorkloadRow, read_workload, write_workload

MADE_FROM: Final = "made-from.json"
"""What a folder was made from; it is written last."""

SUMMARY: Final = "summary.json"


def kept(folder: Path, made_from: Mapping[str, Any], make: Callable[[], None]) -> bool:
    """Fill the folder unless it is there already, made from the same; whether it had to be."""
    file = folder / MADE_FROM
    recipe = json.loads(json.dumps({"antecede": __version__, **made_from}))
    try:
        if read_object(file) == recipe:
            return False
    except (OSError, ValueError):
        pass
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

    return kept(folder, {**asdict(trace), "files": fingerprints(trace.paths)}, make)


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


def cut_workload(cut: Cut, trace: Path, folder: Path) -> bool:
    """Take a stretch out of a trace that was ingested into the folder `trace`."""

    def make() -> None:
        rows = within(read_workload(trace / "workload"), cut.start_ns, cut.span_ns)
        if not rows:
            raise LocalError(f"nothing of {cut.trace} is sent in the stretch {cut.name}")
        run = partition_folder(folder / "workload", cut.name)
        run.mkdir(parents=True, exist_ok=True)
        write_workload(run / "workload.parquet", rows)
        write_object(folder / SUMMARY, cut_summary(cut, rows, read_summary(trace)))

    return kept(folder, {**asdict(cut), "from": read_object(trace / MADE_FROM)}, make)


def cut_summary(cut: Cut, rows: Sequence[WorkloadRow], whole: Mapping[str, Any]) -> dict[str, Any]:
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


def grow_workload(session: SparkSession, grown: Grown, trace: Path, folder: Path) -> bool:
    """Grow a trace that was ingested into the folder `trace`, unless that was done."""

    def make() -> None:
        wanted = Wanted(**{one.name: getattr(grown, one.name) for one in fields(Wanted)})
        graph = None if grown.graph is None else Path(grown.graph)
        grow(session, str(trace), str(folder), wanted, graph=graph, name=grown.name)

    return kept(folder, {**asdict(grown), "from": read_object(trace / MADE_FROM)}, make)


def profile_workload(session: SparkSession, source: Path, folder: Path) -> bool:
    """Profile an ingested or grown workload, unless that was done."""

    def make() -> None:
        runs = profile(session, str(source), str(folder))
        write_object(folder / SUMMARY, summary_object(str(source), runs))

    return kept(folder, {"from": read_object(source / MADE_FROM)}, make)


def read_summary(folder: Path) -> dict[str, Any]:
    """The summary that a step has left."""
    return read_object(folder / SUMMARY)


def read_object(file: Path) -> dict[str, Any]:
    """The object in a file that a step has left."""
    content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return content
