"""What `antecede lab compare` leaves: its figures, and what they say about every protocol.

Only the figures are read; the words of the table are worked out from them again, by the same code
that judged them, so that protocols of which the paper does not speak have words too.

What `antecede lab evaluate` leaves are its answers, and what the traces were that it replayed. The
runs themselves are a sweep, and the audit an audit: both lie beside the tables and are found like
any other. All of it is JSON, so nothing but the standard library is needed.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from antecede.core.errors import LocalError
from antecede_audit.report.sources import file_kind, objects_in, read_json
from antecede_lab.comparison.claims import TABLE
from antecede_lab.comparison.measurements import (
    QUANTITIES,
    Estimate,
    Measurement,
    Measurements,
    Quantity,
)
from antecede_lab.comparison.verdicts import ClaimVerdict, Observation, observe, verdicts_on
from antecede_lab.report.sweep_results import Setting, rank

COMPARISON_FILE: Final = "comparison.json"
KS_FILE: Final = "ks.json"
EVALUATION_FILE: Final = "evaluation.json"

COMPARISON: Final = file_kind(
    "comparison", "a comparison of protocols", "lab compare", COMPARISON_FILE
)
KS: Final = file_kind("ks", "the metadata of KS", "lab compare", KS_FILE)
EVALUATION: Final = file_kind("evaluation", "an evaluation", "lab evaluate", EVALUATION_FILE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A comparison of protocols."""

    command: str
    effort: str
    seeds: int
    protocols: tuple[str, ...]
    readings: Measurements
    commands: dict[tuple[str, str], str]
    """By protocol and aspect: the command that shows it."""

    def verdicts(self, protocol: str) -> dict[str, ClaimVerdict]:
        """What became of the paper's claims about a protocol, by aspect."""
        return {one.claim.aspect: one for one in verdicts_on(protocol, self.readings)}

    def observations(self, protocol: str) -> dict[str, Observation]:
        """What was seen of a protocol, by aspect."""
        seen = {aspect: observe(aspect, protocol, self.readings) for aspect in TABLE}
        return {aspect: one for aspect, one in seen.items() if one is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class KsPoint:
    """How much metadata KS carries, as a percentage of n²."""

    processes: int
    rate: float
    share: float
    percent: float
    half_width: float | None


KNOWN: Final = {quantity.name: quantity for quantity in QUANTITIES}


def read_comparison(folder: Path) -> Comparison:
    """The comparison in this folder; `LocalError` if the file is not what it should be."""
    file = folder / COMPARISON_FILE
    content = read_json(file)
    readings = Measurements()
    try:
        for fields in listed(content, "readings"):
            readings.rows.append(reading_of(fields))
        for fields in listed(content, "left_out"):
            readings.leave_out(str(fields["protocol"]), str(fields["what"]), str(fields["why"]))
        commands = {
            (str(fields["protocol"]), str(fields["aspect"])): str(fields["run"])
            for fields in listed(content, "verdicts")
        }
    except (KeyError, TypeError, ValueError) as error:
        raise LocalError(f"{file} is not what `antecede lab compare` writes: {error!r}") from error
    return Comparison(
        command=str(content.get("run", "")),
        effort=str(content.get("effort", "")),
        seeds=int(str(content.get("seeds") or 1)),
        protocols=tuple(readings.protocols()),
        readings=readings,
        commands=commands,
    )


def listed(content: Mapping[str, object], key: str) -> list[dict[str, object]]:
    """A list of objects, which may be missing."""
    return objects_in(content.get(key, []), key)


def reading_of(fields: Mapping[str, object]) -> Measurement:
    """One figure; a quantity that is not known here still has a name and a unit."""
    name = str(fields["quantity"])
    quantity = KNOWN.get(name) or Quantity(
        name=name, unit=str(fields["unit"]), against=str(fields["against"]), meaning=""
    )
    return Measurement(
        protocol=str(fields["protocol"]),
        quantity=quantity,
        situation=str(fields["situation"]),
        at=number(fields["at"]),
        figure=Estimate(
            mean=number(fields["mean"]),
            half_width=optional(fields["half_width"]),
            samples=int(str(fields["samples"])),
        ),
        seed=int(str(fields["seed"])),
    )


def number(value: object) -> float:
    """A number, also if it is written as a text."""
    return float(str(value))


def optional(value: object) -> float | None:
    """The same, if there is one."""
    return None if value is None else number(value)


def read_ks(folder: Path) -> list[KsPoint]:
    """The experiment with the algorithm of Kshemkalyani and Singhal."""
    file = folder / KS_FILE
    try:
        return [
            KsPoint(
                processes=int(str(fields["processes"])),
                rate=number(fields["rate"]),
                share=number(fields["share"]),
                percent=number(fields["percent"]),
                half_width=optional(fields["half_width"]),
            )
            for fields in listed(read_json(file), "rows")
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise LocalError(
            f"{file} is not what `antecede lab compare --ks` writes: {error!r}"
        ) from error


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
class EvaluationResults:
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


def read_evaluation(folder: Path) -> EvaluationResults:
    """The evaluation in this folder; `LocalError` if its tables are not what they should be."""
    content = read_json(folder / EVALUATION_FILE)
    try:
        answers = [answer_of(row) for row in read_rows(folder / TABLES / "answers.json")]
        traces = [trace_of(row) for row in read_rows(folder / TABLES / "traces.json")]
    except (KeyError, TypeError, ValueError) as error:
        raise LocalError(
            f"{folder} is not what `antecede lab evaluate` writes: {error!r}"
        ) from error
    return EvaluationResults(
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
    mean = optional(row.get(name))
    half_width = optional(row.get(f"{name}_half_width"))
    return None if mean is None else Estimate(mean=mean, half_width=half_width, samples=seeds)


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
