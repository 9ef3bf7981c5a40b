"""Evaluations: what ordering adds to latency against metadata, in charts and in figures.

What `antecede lab evaluate` leaves are its answers, and what the traces were that it replayed. The
runs themselves are a sweep, and the audit an audit: both lie beside the tables and are found like
any other. All of it is JSON, so nothing but the standard library is needed.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from antecede.core.errors import LocalError
from antecede_audit.report.charts.scale import percent_text, plain, time_text
from antecede_audit.report.charts.spec import (
    Axis,
    LineChart,
    Series,
    look_of,
)
from antecede_audit.report.page.markup import Markup, element, joined
from antecede_audit.report.page.section import (
    Place,
    Section,
    chart_grid,
    code,
    folded,
    paragraph,
    protocols_legend,
    table,
)
from antecede_audit.report.parts import ReportContents
from antecede_audit.report.sources import file_kind, objects_in, read_json
from antecede_lab.comparison.measurements import (
    Estimate,
)
from antecede_lab.report.comparison_page import optional
from antecede_lab.report.sweep_page import SETTINGS_OPEN, Setting, figure_text, rank

EVALUATION_FILE: Final = "evaluation.json"

EVALUATION: Final = file_kind("evaluation", "an evaluation", "lab evaluate", EVALUATION_FILE)

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


HEADROOM: Final = 1.15
"""Room for the name of the highest point."""

LEAST_NS: Final = 1e6
"""An axis of latencies that are nothing still shows a millisecond."""

ANSWER_COLUMNS: Final[tuple[tuple[str, str, Callable[[float], str]], ...]] = (
    ("latency", "latency_ns", time_text),
    ("p99", "latency_p99_ns", time_text),
    ("added by ordering", "added_ns", time_text),
    ("share", "added_share", percent_text),
    ("p99 added", "added_p99_ns", time_text),
    ("metadata, bytes", "metadata_bytes", plain),
    ("times hybrid", "metadata_times", plain),
    ("control packets", "control_packets", plain),
    ("request", "request_ns", time_text),
    ("longer than unordered", "request_share", percent_text),
)
"""Heading, figure, and how it is written."""


def evaluation_sections(contents: ReportContents) -> Iterator[Section]:
    """All evaluations."""
    evaluations = contents.results.of(EVALUATION, read_evaluation).values()
    for number, evaluation in enumerate(evaluations, start=1):
        yield evaluation_section(evaluation, number)


def evaluation_section(evaluation: EvaluationResults, number: int) -> Section:
    """Latency against metadata in every setting, in charts and in figures."""
    charts = [
        chart
        for setting in evaluation.settings()
        if (chart := trade_chart(evaluation, setting)) is not None
    ]
    names = [answer.protocol for answer in evaluation.answers]
    shown: list[Markup] = [protocols_legend(names, charts), chart_grid(charts[:SETTINGS_OPEN])]
    if len(charts) > SETTINGS_OPEN:
        rest = charts[SETTINGS_OPEN:]
        shown.append(folded(f"{len(rest)} more settings", chart_grid(rest)))
    return Section(
        identity=f"evaluation-{number}",
        title=evaluation.title,
        lead="What ordering adds to the mean latency of a message, beyond what causal order itself "
        "demands, against the metadata that a message costs. The nearer to the corner, the better.",
        place=Place.FIRST,
        body=joined(
            [
                *shown,
                folded(
                    "All figures",
                    paragraph(
                        "Means over seeds, ± half of a 95 % interval. Metadata and control "
                        "packets: for one message.",
                        class_="quiet",
                    ),
                    table(
                        [
                            "scenario",
                            "network",
                            "n",
                            "protocol",
                            *(one[0] for one in ANSWER_COLUMNS),
                        ],
                        answer_rows(evaluation),
                        texts=4,
                    ),
                ),
                traces_table(evaluation.traces),
                paragraph(code(evaluation.command)) if evaluation.command else Markup(),
            ]
        ),
    )


def trade_chart(evaluation: EvaluationResults, setting: Setting) -> LineChart | None:
    """A point for each protocol: bytes of metadata, and what ordering adds to latency."""
    points: list[Series] = []
    for number, answer in enumerate(evaluation.of_setting(setting)):
        added, metadata = answer.figures.get("added_ns"), answer.figures.get("metadata_bytes")
        if added is None or metadata is None or metadata.mean <= 0:
            continue
        points.append(
            Series(
                name=answer.protocol,
                points=((metadata.mean, max(added.mean, 0.0)),),
                spread=(added.half_width or 0.0,),
                look=look_of(answer.protocol, number),
                label=answer.protocol,
            )
        )
    if not points:
        return None
    highest = max(height + line.spread[0] for line in points for _, height in line.points)
    return LineChart(
        title=f"{setting.scenario}, {setting.network}, n = {setting.processes:,}",
        x=Axis(title="metadata for one message, bytes", log=True),
        y=Axis(
            title="added to the mean latency",
            unit="time",
            low=0.0,
            high=max(highest * HEADROOM, LEAST_NS),
        ),
        series=tuple(points),
    )


def answer_rows(evaluation: EvaluationResults) -> Iterator[list[str]]:
    """A row for each protocol in each setting; what is the same as above is left out."""
    for setting in evaluation.settings():
        where = [setting.scenario, setting.network, f"{setting.processes:,}"]
        for answer in evaluation.of_setting(setting):
            name = answer.protocol if answer.finished else f"{answer.protocol} (unfinished)"
            figures = [
                figure_text(answer.figures.get(key), write) for _, key, write in ANSWER_COLUMNS
            ]
            yield [*where, name, *figures]
            where = ["", "", ""]


def traces_table(traces: list[ReplayedTrace]) -> Markup:
    """What was replayed, and what of it is real."""
    if not traces:
        return Markup()
    head = ["trace", "from", "what is real", "what is grown"]
    head += ["processes", "messages", "copies", "lasted"]
    rows = [
        [
            one.name,
            one.origin,
            "; ".join(one.real),
            "; ".join(one.grown) or "nothing",
            f"{one.processes:,}",
            f"{one.messages:,}",
            f"{one.copies:,}",
            time_text(one.span_ns),
        ]
        for one in traces
    ]
    return joined([element("h3", "What was replayed"), table(head, rows, texts=4)])
