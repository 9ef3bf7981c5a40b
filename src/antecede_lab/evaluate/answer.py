"""The answer: what each protocol costs in latency, and what it carries, setting by setting.

Costs are measured within a run: every copy against the earliest delivery that causal order allows
for the very same submissions and channel times. So a network that was unlucky with one protocol
does not count against it, and the intervals are about ordering alone. Savings compare runs with the
same seed.

Waiting compounds where a message waits for the answer to another. That is seen in whole requests:
from the first submission of a conversation to its last delivery, compared with the run of the same
seed that keeps no order.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

from antecede.units import counted, duration_text, three_digits
from antecede_audit.measure.figures import FIGURES
from antecede_lab.comparison.measurements import Estimate, estimate

Run: TypeAlias = Mapping[str, Any]
"""A row of a sweep's runs."""

TOOK_PLACE: Final = ("finished", "unfinished")
"""Runs that ended like this have figures."""


class Setting(NamedTuple):
    """What runs of different protocols have in common."""

    scenario: str
    network: str
    processes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The runs of one protocol in one setting, a seed each."""

    setting: Setting
    protocol: str
    runs: tuple[Run, ...]

    @property
    def names(self) -> dict[str, Any]:
        """What it is called in a row of a table."""
        return {**self.setting._asdict(), "protocol": self.protocol}

    def estimate(self, figure: Callable[[Run], float | None]) -> Estimate | None:
        """The mean of a figure over the seeds, or None if a run does not have it."""
        values = [figure(run) for run in self.runs]
        known = [value for value in values if value is not None]
        return estimate(known) if known and len(known) == len(values) else None

    def figure(self, name: str) -> Estimate | None:
        """The mean of the figure of this name over the seeds, or None if a run does not have it."""
        return self.estimate(lambda run: run[name])


def groups_of(runs: Iterable[Run]) -> list[Group]:
    """The runs that took place, by setting and protocol, in the order in which they come."""
    found: dict[tuple[Setting, str], list[Run]] = {}
    for run in runs:
        if run["status"] in TOOK_PLACE:
            setting = Setting(run["scenario"], run["network"], run["processes"])
            found.setdefault((setting, run["protocol"]), []).append(run)
    return [
        Group(setting=setting, protocol=protocol, runs=tuple(of_group))
        for (setting, protocol), of_group in found.items()
    ]


def by_setting(groups: Iterable[Group]) -> dict[Setting, dict[str, Group]]:
    """The protocols of each setting."""
    found: dict[Setting, dict[str, Group]] = {}
    for group in groups:
        found.setdefault(group.setting, {})[group.protocol] = group
    return found


def figure_rows(groups: Sequence[Group]) -> list[dict[str, Any]]:
    """Every figure of every group, one a row."""
    rows: list[dict[str, Any]] = []
    for group in groups:
        for name in FIGURES.names:
            found = group.figure(name)
            if found is not None:
                rows.append(
                    {
                        **group.names,
                        "figure": name,
                        "mean": found.mean,
                        "half_width": found.half_width,
                        "seeds": found.samples,
                    }
                )
    return rows


def bucket_rows(groups: Sequence[Group]) -> list[dict[str, Any]]:
    """The distributions of all delays, the buckets of all seeds added."""
    rows: list[dict[str, Any]] = []
    for group in groups:
        counts: Counter[tuple[str, int, int]] = Counter()
        for run in group.runs:
            for bucket in run["buckets"] or ():
                counts[bucket["delay"], bucket["low_ns"], bucket["high_ns"]] += bucket["copies"]
        rows += [
            {**group.names, "delay": delay, "low_ns": low, "high_ns": high, "copies": copies}
            for (delay, low, high), copies in sorted(counts.items())
        ]
    return rows


def packet_rows(groups: Sequence[Group]) -> list[dict[str, Any]]:
    """What was transmitted of each kind of packet, on average for one message."""
    rows: list[dict[str, Any]] = []
    for group in groups:
        messages = sum(run["messages"] for run in group.runs)
        kinds: dict[str, list[int]] = {}
        for run in group.runs:
            for kind in run["packet_totals"] or ():
                sums = kinds.setdefault(kind["packet_kind"], [0, 0])
                sums[0] += kind["packets"]
                sums[1] += kind["metadata_bytes"]
        rows += [
            {
                **group.names,
                "packet_kind": kind,
                "packets_per_message": packets / messages,
                "metadata_bytes_per_message": metadata_bytes / messages,
            }
            for kind, (packets, metadata_bytes) in sorted(kinds.items())
        ]
    return rows


OURS: Final = "hybrid"
"""The protocol whose metadata the others are compared with."""

UNORDERED: Final = "none"
"""The protocol whose requests the others are compared with: no causal order is faster."""

REQUESTS_MIN: Final = 200
"""So few conversations say nothing about requests: everything may be connected with everything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one protocol costs in one setting."""

    setting: Setting
    protocol: str
    seeds: int
    latency_ns: Estimate
    latency_p99_ns: Estimate
    added_ns: Estimate | None
    """How much later than causal order demands, on average over copies."""
    added_share: Estimate | None
    """The same as a share of the mean latency that would have been possible."""
    added_p99_ns: Estimate | None
    metadata_bytes: Estimate
    """For one message, those of control packets included."""
    metadata_times: Estimate | None
    """How many times as much as ours, for runs with the same seed."""
    control_packets: Estimate
    request_ns: Estimate | None
    """From the first submission of a conversation to its last delivery."""
    request_p99_ns: Estimate | None
    request_share: Estimate | None
    """How much longer than without order, as a share of that, for runs with the same seed."""
    finished: bool


def answers(groups: Sequence[Group]) -> list[Answer]:
    """One for each protocol in each setting."""
    settings = by_setting(groups)
    return [answer(group, settings[group.setting]) for group in groups]


def answer(group: Group, beside: Mapping[str, Group]) -> Answer:
    """What these runs say, beside those of all protocols in the same setting."""
    longer = seed_by_seed(group, beside.get(UNORDERED), lambda run: requests(run, "mean"))
    return Answer(
        setting=group.setting,
        protocol=group.protocol,
        seeds=len(group.runs),
        latency_ns=needed(group, "latency_mean_ns"),
        latency_p99_ns=needed(group, "latency_p99_ns"),
        added_ns=group.figure("non_causal_mean_ns"),
        added_share=group.estimate(added_share),
        added_p99_ns=group.figure("non_causal_p99_ns"),
        metadata_bytes=needed(group, "metadata_bytes_per_message"),
        metadata_times=estimated(
            seed_by_seed(group, beside.get(OURS), lambda run: run["metadata_bytes_per_message"])
        ),
        control_packets=needed(group, "control_per_message"),
        request_ns=group.estimate(lambda run: requests(run, "mean")),
        request_p99_ns=group.estimate(lambda run: requests(run, "p99")),
        request_share=estimated([ratio - 1 for ratio in longer]),
        finished=all(run["status"] == "finished" for run in group.runs),
    )


def needed(group: Group, name: str) -> Estimate:
    """A figure that every run has which delivered anything."""
    return estimate([float(run[name] or 0.0) for run in group.runs])


def added_share(run: Run) -> float | None:
    """What ordering added to the mean latency, as a share of what was possible."""
    added: float | None = run["non_causal_mean_ns"]
    if added is None:
        return None
    possible = float(run["latency_mean_ns"]) - added
    return added / possible if possible > 0 else None


def requests(run: Run, figure: str) -> float | None:
    """A figure about requests, if the run had some."""
    if (run.get("requests") or 0) < REQUESTS_MIN:
        return None
    value: float | None = run[f"request_{figure}_ns"]
    return value


def estimated(samples: list[float]) -> Estimate | None:
    """Their mean, if there are any."""
    return estimate(samples) if samples else None


def seed_by_seed(
    group: Group, others: Group | None, figure: Callable[[Run], float | None]
) -> list[float]:
    """How many times as much as in the run of `others` with the same seed, where both have it."""
    by_seed = {} if others is None else {run["seed"]: figure(run) for run in others.runs}
    pairs = [(figure(run), by_seed.get(run["seed"])) for run in group.runs]
    return [ours / theirs for ours, theirs in pairs if ours is not None and theirs]


def answer_rows(found: Sequence[Answer]) -> list[dict[str, Any]]:
    """The answers as a table for programs."""
    rows: list[dict[str, Any]] = []
    for one in found:
        row: dict[str, Any] = {
            **one.setting._asdict(),
            "protocol": one.protocol,
            "seeds": one.seeds,
            "finished": one.finished,
        }
        for name in SHOWN:
            value: Estimate | None = getattr(one, name)
            row[name] = None if value is None else value.mean
            row[f"{name}_half_width"] = None if value is None else value.half_width
        rows.append(row)
    return rows


def markdown(title: str, found: Sequence[Answer], notes: Sequence[str]) -> str:
    """The answers as a document: a table for each setting."""
    lines = [f"# {title}", ""]
    lines += [f"{note}\n" for note in notes]
    for setting in dict.fromkeys(one.setting for one in found):
        of_setting = [one for one in found if one.setting == setting]
        seeds = max(one.seeds for one in of_setting)
        lines += [
            f"## {setting.scenario}, {setting.network}, "
            + counted(setting.processes, "process", "processes"),
            "",
            f"Means over {seeds} seed{'s' if seeds > 1 else ''}, with 95 % intervals.",
            "",
            "| " + " | ".join(["protocol", *(heading for heading, _, _ in COLUMNS)]) + " |",
            "|---" * (1 + len(COLUMNS)) + "|",
            *("| " + " | ".join(cells(one)) + " |" for one in of_setting),
            "",
        ]
    return "\n".join(lines)


def cells(one: Answer) -> list[str]:
    """A row of the document."""
    name = one.protocol if one.finished else f"{one.protocol} (unfinished)"
    return [name, *(write(getattr(one, figure)) for _, figure, write in COLUMNS)]


def duration_cell(value: Estimate | None) -> str:
    """A duration with its interval, in one unit."""
    if value is None:
        return ""
    text = signed_duration(value.mean)
    return text if not value.half_width else f"{text} ± {duration_text(value.half_width)}"


def signed_duration(duration_ns: float) -> str:
    """A duration for people, with its sign if that is a minus."""
    return f"-{duration_text(-duration_ns)}" if duration_ns < 0 else duration_text(duration_ns)


def share_cell(value: Estimate | None) -> str:
    """A share in per cent."""
    if value is None:
        return ""
    digits = 1 if abs(value.mean) < 0.995 else 0
    return f"{100 * value.mean:+,.{digits}f} %"


def number_cell(value: Estimate | None) -> str:
    """A number with its interval, unless that is nothing."""
    if value is None:
        return ""
    text = three_digits(value.mean)
    width = value.half_width
    return text if not width or width < value.mean / 1000 else f"{text} ± {three_digits(width)}"


COLUMNS: Final[tuple[tuple[str, str, Callable[[Estimate | None], str]], ...]] = (
    ("latency", "latency_ns", duration_cell),
    ("p99", "latency_p99_ns", duration_cell),
    ("added by ordering", "added_ns", duration_cell),
    ("share", "added_share", share_cell),
    ("p99 added", "added_p99_ns", duration_cell),
    ("metadata B/message", "metadata_bytes", number_cell),
    ("times hybrid", "metadata_times", number_cell),
    ("control/message", "control_packets", number_cell),
    ("request", "request_ns", duration_cell),
    ("longer than without order", "request_share", share_cell),
)
"""The columns of the document: heading, figure, and how it is written."""

SHOWN: Final = (*(figure for _, figure, _ in COLUMNS[:-1]), "request_p99_ns", "request_share")
"""The figures of an answer."""
