"""What an evaluation consists of, as its file says it: a grid with the traces that it replays.

    seeds = 5
    protocols = ["hybrid", "rst"]
    networks = ["lan", "wan"]
    audited = ["hybrid", "none"]                # whose first seed is recorded and judged
    audited_messages = "50k"                    # where a scenario has no more of them

    [trace.shop]
    path = "shop/2023-01-29"                    # below the data folder

    [cut.busy-hour]
    trace = "shop"
    start = "12h"
    span = "1h"

    [grown.shop-2000]
    trace = "shop"                              # or something cut
    processes = 2000
    growths = 5                                 # five times, with as many seeds; else once

    [scenario.shop]
    of = "shop"                                 # a trace, or something cut or grown
    [scenario.shop-2000]
    of = "shop-2000"
    quick.span = "10s"                          # with --quick, this in addition

What was grown several times gives every seed of a scenario another one, in turn, so that intervals
tell how much hangs on the growing.

Everything else is as in a grid. Any table may have a table `quick`, whose keys count instead of its
own when the evaluation is to be quick.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from antecede.core.catalogue import catalogue_name
from antecede.core.errors import LocalError, near_miss
from antecede_audit.spans.formats.catalogue import FORMATS as READ
from antecede_lab.catalogue import find_protocol
from antecede_lab.grow.target_size import METHODS
from antecede_lab.sweep.grid import ConfigSection, Grid, Table, parse_grid, read_toml

DATA_VARIABLE: Final = "ANTECEDE_DATA"
"""Names the folder that traces are looked for in, if nothing else does."""

QUICK: Final = "quick"
REPLAY_KEYS: Final = ("run_id", "compress", "start", "span", "unicast")
"""What a scenario may say about the workload that it replays."""

AUDITED_MESSAGES: Final = 1 << 40
"""Everything is audited, if nothing else is said."""

FORMATS: Final = ("auto", *READ)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """A trace to ingest."""

    name: str
    paths: tuple[str, ...]
    format_name: str
    unit: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceCut:
    """A stretch of a trace."""

    name: str
    trace: str
    start_ns: int
    span_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GrownTrace:
    """A trace, or a stretch of one, to grow."""

    name: str
    trace: str
    processes: int
    messages: int | None
    method: str
    load: float
    speed: float
    seed: int
    graph: str | None
    """The file of a service graph, for the method of that name."""
    again_of: str | None = None
    """What this is a further growth of, with another seed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """Everything that an evaluation is to do."""

    title: str
    traces: Mapping[str, Trace]
    cuts: Mapping[str, TraceCut]
    grown: Mapping[str, GrownTrace]
    audited: tuple[str, ...]
    """Protocols of which one run in each setting is recorded, judged and measured from its log."""
    audited_messages: int
    """Scenarios with more messages than this are not recorded."""
    profiled: bool
    """Whether the traces are profiled."""
    grid: Table
    where: str
    folder: Path

    def runs(self, workloads: Mapping[str, Path]) -> Grid:
        """The grid, when every trace and grown workload has a folder."""
        table = dict(self.grid)
        table["scenario"] = {
            name: with_replay(scenario, workloads, self.grown)
            for name, scenario in tables_in(table["scenario"]).items()
        }
        return parse_grid(ConfigSection(self.where, table), self.folder)


def with_replay(
    scenario: Table, workloads: Mapping[str, Path], grown: Mapping[str, GrownTrace]
) -> Table:
    """A scenario whose workloads are named by their folders: one, or as often as it was grown."""
    rest = {key: value for key, value in scenario.items() if key != "of"}
    if "of" not in scenario:
        return rest
    of = str(scenario["of"])
    names = [of, *(name for name, again in grown.items() if again.again_of == of)]
    return rest | {"replay": [str((workloads[name] / "workload").resolve()) for name in names]}


def read_evaluation(
    path: Path, *, data: Path | None = None, quick: bool = False, only: Sequence[str] = ()
) -> Evaluation:
    """The evaluation in a file; `LocalError` says in one sentence what is wrong with it.

    With `only`, those of its scenarios, and of the traces what they need, without profiles.
    """
    raw = read_toml(path)
    section = ConfigSection(raw.where, quickened(raw.as_table(), quick))
    title = section.text("title", path.stem)
    root = data_folder(data)
    traces = section.parsed("trace", lambda name, below: parse_trace(name, below, root))
    cuts = section.parsed("cut", lambda name, below: parse_cut(name, below, traces))
    known = [*traces, *cuts]
    growths = section.parsed("grown", lambda name, below: parse_grown(name, below, known, root))
    grown = {one.name: one for of_name in growths.values() for one in of_name}
    named = section.texts("audited", ()) if section.has("audited") else ()
    audited = tuple(map(catalogue_name, named))
    for protocol in audited:
        find_protocol(protocol)
    own = ("title", "trace", "cut", "grown", "audited", "audited_messages", "profiled")
    evaluation = Evaluation(
        title=title,
        traces=traces,
        cuts=cuts,
        grown=grown,
        audited=audited,
        audited_messages=section.count("audited_messages", AUDITED_MESSAGES),
        profiled=section.flag("profiled", True),
        grid={key: value for key, value in section.as_table().items() if key not in own},
        where=section.where,
        folder=path.parent,
    )
    check_scenarios(evaluation)
    return part_with(evaluation, only) if only else evaluation


def part_with(evaluation: Evaluation, only: Sequence[str]) -> Evaluation:
    """These scenarios alone, and what they need."""
    scenarios = tables_in(evaluation.grid["scenario"])
    for name in only:
        if name not in scenarios:
            there = f"; there are {', '.join(scenarios)}"
            raise LocalError(f"there is no scenario {name!r}{near_miss(name, [*scenarios])}{there}")
    needed = {str(scenarios[name].get("of")) for name in only}
    grown = {name: one for name, one in evaluation.grown.items() if needed & {name, one.again_of}}
    needed |= {one.trace for one in grown.values()}
    cuts = {name: cut for name, cut in evaluation.cuts.items() if name in needed}
    needed |= {cut.trace for cut in cuts.values()}
    return replace(
        evaluation,
        traces={name: trace for name, trace in evaluation.traces.items() if name in needed},
        cuts=cuts,
        grown=grown,
        profiled=False,
        grid={**evaluation.grid, "scenario": {name: scenarios[name] for name in only}},
    )


def quickened(table: Table, quick: bool) -> Table:
    """The table, and all below it, with or without what is meant for a quick run."""
    own = {key: value for key, value in table.items() if key != QUICK}
    instead = table.get(QUICK)
    if quick and isinstance(instead, dict):
        own |= instead
    return {
        key: quickened(value, quick) if isinstance(value, dict) else value
        for key, value in own.items()
    }


def data_folder(given: Path | None) -> Path | None:
    """Where traces are: as given, or as the environment says."""
    if given is not None:
        return given
    named = os.environ.get(DATA_VARIABLE)
    return Path(named) if named else None


def located(section: ConfigSection, text: str, root: Path | None) -> str:
    """A path of the data folder as it really is; `LocalError` if it is not there."""
    if Path(text).is_absolute() or "://" in text:
        return text
    if root is None:
        raise LocalError(
            f"{section.where}: {text} is below the data folder, and none is known: "
            f"say --data, or set {DATA_VARIABLE}"
        )
    path = root / text
    if not path.exists():
        raise LocalError(f"{section.where}: there is no {path}")
    return str(path.resolve())


def parse_trace(name: str, section: ConfigSection, root: Path | None) -> Trace:
    """One trace."""
    format_name = section.text("format", "auto")
    if format_name not in FORMATS:
        raise section.error("format", f"is {format_name!r}; there are {', '.join(FORMATS)}")
    return Trace(
        name=name,
        paths=tuple(located(section, text, root) for text in section.texts("path")),
        format_name=format_name,
        unit=section.optional_text("time_unit"),
    )


def parse_cut(name: str, section: ConfigSection, traces: Mapping[str, Trace]) -> TraceCut:
    """A stretch of a trace."""
    return TraceCut(
        name=name,
        trace=origin_of(name, section, list(traces)),
        start_ns=section.duration("start", 0),
        span_ns=section.duration("span", 0),
    )


def origin_of(name: str, section: ConfigSection, known: Sequence[str]) -> str:
    """What something is made from; `LocalError` if there is no such thing, or the name is taken."""
    origin = section.text("trace")
    if origin not in known:
        raise section.error("trace", f"is {origin!r}; there are {', '.join(known) or 'none'}")
    if name in known:
        raise LocalError(f"{section.where}: something else has the same name")
    return origin


def parse_grown(
    name: str, section: ConfigSection, known: Sequence[str], root: Path | None
) -> list[GrownTrace]:
    """One workload to grow, as often as the section says, with a seed each."""
    trace = origin_of(name, section, known)
    graph = section.optional_text("graph")
    method = section.text("method", "replicas" if graph is None else "graph")
    if method not in METHODS:
        raise section.error("method", f"is {method!r}; there are {', '.join(METHODS)}")
    grown = GrownTrace(
        name=name,
        trace=trace,
        processes=section.count("processes"),
        messages=section.count("messages") if section.has("messages") else None,
        method=method,
        load=section.number("load", 1.0),
        speed=section.number("speed", 1.0),
        seed=section.count("seed", 1),
        graph=None if graph is None else located(section, graph, root),
    )
    growths = section.count("growths", 1)
    if growths < 1:
        raise section.error("growths", "must be at least 1")
    return [grown] + [
        replace(grown, name=f"{name}-{place}", seed=grown.seed + place - 1, again_of=name)
        for place in range(2, growths + 1)
    ]


def check_scenarios(evaluation: Evaluation) -> None:
    """`LocalError` about a scenario now, rather than when all traces have been ingested."""
    known = [*evaluation.traces, *evaluation.cuts, *evaluation.grown]
    scenarios = tables_in(evaluation.grid.get("scenario", {}))
    stand_ins: Table = {}
    for name, scenario in scenarios.items():
        where = f"{evaluation.where}: scenario {name!r}"
        if "of" not in scenario:
            stand_ins[name] = scenario
            continue
        if scenario["of"] not in known:
            raise LocalError(f"{where}: of is {scenario['of']!r}; there are {', '.join(known)}")
        own = (*REPLAY_KEYS, "of")
        stand_ins[name] = {key: value for key, value in scenario.items() if key not in own}
    table = {**evaluation.grid, "scenario": stand_ins}
    parse_grid(ConfigSection(evaluation.where, table), evaluation.folder)


def tables_in(value: object) -> dict[str, Table]:
    """The tables below a table."""
    if not isinstance(value, dict):
        return {}
    return {name: below for name, below in value.items() if isinstance(below, dict)}
