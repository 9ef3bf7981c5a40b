"""What ingested traces were like, as the summary of the ingest beside their events has it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from antecede.core.errors import LocalError
from antecede.report.readers.sources import EVENTS, SUMMARY_FILE, Source, read_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingested:
    """How far one run that was ingested can be believed."""

    run_id: str
    messages: int
    rejects: Mapping[str, int]
    """By reason."""
    counts: Mapping[str, int]
    """What was met and dealt with."""
    repaired: bool
    offsets_ns: Mapping[str, int]
    """What was added to clocks; only those that were moved."""
    impossible: tuple[tuple[str, str, int, int], ...]
    """Sender, receiver, messages, and how many arrive before they are sent."""


def read_ingested(sources: Iterable[Source]) -> list[Ingested]:
    """The ingests that some of these logs come from."""
    found: list[Ingested] = []
    for source in sources:
        place = source.path.parent / SUMMARY_FILE
        if source.kind == EVENTS and source.path.name == EVENTS and place.is_file():
            one = ingested_at(place)
            if one is not None:
                found.append(one)
    return found


def ingested_at(place: Path) -> Ingested | None:
    """The summary of an ingest; None if it is one of something else."""
    try:
        summary: Mapping[str, Any] = read_json(place)
    except LocalError:
        return None
    offsets, counts = summary.get("clock_offsets_ns"), summary.get("counts")
    if not isinstance(offsets, dict) or not isinstance(counts, dict):
        return None
    return Ingested(
        run_id=str(summary.get("run_id", "")),
        messages=int(summary.get("messages", 0)),
        rejects=summary.get("rejects_by_reason", {}),
        counts=counts,
        repaired=bool(summary.get("repaired")),
        offsets_ns={name: ns for name, ns in offsets.items() if ns},
        impossible=tuple(
            (pair["sender"], pair["receiver"], pair["copies"], pair["backwards"])
            for pair in summary.get("contradictions", [])
        ),
    )
