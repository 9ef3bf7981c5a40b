"""What `antecede evaluate` leaves: its answers, and what the traces were that it replayed.

The tables are JSON, so nothing but the standard library is needed. The runs themselves are a sweep,
and the audit an audit: both lie beside the tables and are found like any other.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from antecede.core.errors import LocalError
from antecede.lab.comparison.readings import Estimate
from antecede.report.readers.sources import EVALUATION_FILE, objects_in, read_json
from antecede.report.readers.sweep import Setting, rank

TABLES: Final = "tables"

FIGURES: Final = (
    "latency_ns",
    "latency_p99_ns",
    "added_ns",
    "added_share",
    "added_p99_ns",
    "metadata_bytes",
    "metadata_times",
    "control_packets",
    "request_ns",
    "request_p99_ns",
    "request_share",
)
"""The figures of an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one protocol costs in one setting."""

    setting: Setting
    protocol: str
    seeds: int
    finished: bool
    figures: dict[str, Estimate]
    """By name; what was not measured is not there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedTrace:
    """A trace, recorded or grown."""

    name: str
    origin: str
    processes: int
    messages: int
    copies: int
    span_ns: int
    real: tuple[str, ...]
    grown: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """All answers of an evaluation."""

    title: str
    command: str
    answers: list[Answer]
    traces: list[ReplayedTrace]

    def settings(self) -> list[Setting]:
        """The settings, in the order of the table."""
        return list(dict.fromkeys(answer.setting for answer in self.answers))

    def of_setting(self, setting: Setting) -> list[Answer]:
        """The protocols of a setting, the product's own first."""
        found = [answer for answer in self.answers if answer.setting == setting]
        return sorted(found, key=lambda answer: rank(answer.protocol))


def read_evaluation(folder: Path) -> Evaluation:
    """The evaluation in this folder; `LocalError` if its tables are not what they should be."""
    content = read_json(folder / EVALUATION_FILE)
    try:
        answers = [answer_of(row) for row in read_rows(folder / TABLES / "answers.json")]
        traces = [trace_of(row) for row in read_rows(folder / TABLES / "traces.json")]
    except (KeyError, TypeError, ValueError) as error:
        raise LocalError(f"{folder} is not what `antecede evaluate` writes: {error!r}") from error
    return Evaluation(
        title=str(content.get("title") or "Evaluation"),
        command=str(content.get("command") or ""),
        answers=answers,
        traces=traces,
    )


def read_rows(file: Path) -> list[dict[str, object]]:
    """The rows of a table; none if it is not there, because it would have been empty."""
    if not file.is_file():
        return []
    return objects_in(json.loads(file.read_text(encoding="utf-8")), file.name)


def answer_of(row: Mapping[str, object]) -> Answer:
    """One answer."""
    seeds = whole(row["seeds"])
    return Answer(
        setting=Setting(str(row["scenario"]), str(row["network"]), whole(row["processes"])),
        protocol=str(row["protocol"]),
        seeds=seeds,
        finished=bool(row["finished"]),
        figures={
            name: figure for name in FIGURES if (figure := figure_of(row, name, seeds)) is not None
        },
    )


def figure_of(row: Mapping[str, object], name: str, seeds: int) -> Estimate | None:
    """A mean with its interval, or None."""
    mean, half_width = row.get(name), row.get(f"{name}_half_width")
    if mean is None:
        return None
    return Estimate(
        mean=float(str(mean)),
        half_width=None if half_width is None else float(str(half_width)),
        samples=seeds,
    )


def trace_of(row: Mapping[str, object]) -> ReplayedTrace:
    """One trace."""
    return ReplayedTrace(
        name=str(row["name"]),
        origin=str(row["origin"]),
        processes=whole(row["processes"]),
        messages=whole(row["messages"]),
        copies=whole(row["copies"]),
        span_ns=whole(row["span_ns"]),
        real=texts(row.get("real")),
        grown=texts(row.get("grown")),
    )


def whole(value: object) -> int:
    """A whole number."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{value!r} is not a whole number")
    return value


def texts(value: object) -> tuple[str, ...]:
    """A list of texts."""
    return tuple(map(str, value)) if isinstance(value, list) else ()
