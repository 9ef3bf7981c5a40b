"""Runs by setting: what is the same for several seeds, with means and intervals over them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

from antecede.lab.comparison.readings import Estimate, estimate
from antecede.pipeline.metrics.figures import FIGURES

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

    def estimate(self, figure: Callable[[Run], float | None]) -> Estimate | None:
        """The mean of a figure over the seeds, or None if a run does not have it."""
        values = [figure(run) for run in self.runs]
        known = [value for value in values if value is not None]
        return estimate(known) if known and len(known) == len(values) else None

    def figure(self, name: str) -> Estimate | None:
        """The mean of the figure of this name over the seeds, or None if a run does not have it."""
        return self.estimate(lambda run: run[name])

    def of_seed(self, seed: int) -> Run | None:
        """The run with this seed, if there is one."""
        return next((run for run in self.runs if run["seed"] == seed), None)


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
                        **group.setting._asdict(),
                        "protocol": group.protocol,
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
        counts: dict[tuple[str, int, int], int] = {}
        for run in group.runs:
            for bucket in run["buckets"] or ():
                key = bucket["delay"], bucket["low_ns"], bucket["high_ns"]
                counts[key] = counts.get(key, 0) + bucket["copies"]
        rows += [
            {
                **group.setting._asdict(),
                "protocol": group.protocol,
                "delay": delay,
                "low_ns": low_ns,
                "high_ns": high_ns,
                "copies": copies,
            }
            for (delay, low_ns, high_ns), copies in sorted(counts.items())
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
                **group.setting._asdict(),
                "protocol": group.protocol,
                "packet_kind": kind,
                "packets_per_message": packets / messages,
                "metadata_bytes_per_message": metadata_bytes / messages,
            }
            for kind, (packets, metadata_bytes) in sorted(kinds.items())
        ]
    return rows
