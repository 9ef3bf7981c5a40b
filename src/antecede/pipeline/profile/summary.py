"""A profile as `summary.json`."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from antecede.pipeline.profile.job import RunProfile
from antecede.pipeline.profile.measures import MEASURES
from antecede.trace.atomic import write_whole

COUNTS: Final = (
    "messages",
    "copies",
    "processes",
    "channels",
    "conversations",
    "spontaneous",
    "stuck",
    "first_ns",
    "last_ns",
)


def summary_object(source: str, runs: Sequence[RunProfile]) -> dict[str, object]:
    """What `summary.json` says."""
    return {
        "source": source,
        "runs": {run.run_id: run_object(run) for run in runs},
        "meaning": {
            name: f"{measure.meaning} ({measure.unit})" if measure.unit else measure.meaning
            for name, measure in MEASURES.items()
        },
    }


def run_object(run: RunProfile) -> dict[str, object]:
    """What `summary.json` says about one run."""
    counts: dict[str, object] = {name: getattr(run, name) for name in COUNTS}
    measures = {
        name: run.distributions[name].figures() for name in MEASURES if name in run.distributions
    }
    estimated = None if run.sampled is None else {"messages": run.sampled, "of": run.messages}
    return {"times": run.times, **counts, "estimated_from": estimated, "measures": measures}


def write_json(file: Path, content: dict[str, object]) -> None:
    """Write an object so that people can read it too; the file appears when it is complete."""
    write_whole(file, f"{json.dumps(content, indent=2)}\n".encode())
