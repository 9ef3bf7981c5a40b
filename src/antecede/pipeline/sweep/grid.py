"""A grid: the file that says which runs a sweep consists of.

    protocols = ["hybrid", "rst"]
    networks = ["lan", "slow"]
    processes = [8, 32]
    seeds = 3                                   # 1, 2 and 3; or a list

    [scenario.chatter]
    workload = "poisson"
    messages = "2k"
    set.multicast = "10%"

    [scenario.shop]
    replay = "ingested/workload"                # a table, relative to this file

    [network.slow]
    like = "wan"
    loss = "2%"

    [limit.rst]
    processes = 200
    because = "its messages carry n² integers"

A scenario may have its own protocols, networks, processes and seeds in place of the common ones.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from antecede.core.catalogue import find_protocol
from antecede.core.errors import LocalError
from antecede.link.notation import parse_duration
from antecede.pipeline.sweep.plans import NetworkPlan, ReplayPlan, RunPlan, TrafficPlan
from antecede.pipeline.sweep.replays import contents_of, plan_replay
from antecede.pipeline.sweep.sections import Section, read_toml
from antecede.sim.networks import NETWORKS
from antecede.sim.workloads.catalogue import Traffic
from antecede.sim.workloads.settings import Setting
from antecede.sim.workloads.workload import check_seed

UNTIL_NS: Final = parse_duration("1h")
"""Simulated time after which a run ends, if a scenario does not say otherwise."""

REPLAY_UNTIL_NS: Final = parse_duration("100000h")
"""The same for a replay: it ends when it has sent and delivered everything."""

FILE_LATENCIES: Final = ("empirical", "matrix")
"""Latencies that name a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Axes:
    """What a scenario is run with."""

    protocols: tuple[str, ...]
    networks: tuple[str, ...]
    processes: tuple[int, ...]
    seeds: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One kind of traffic, and everything it is run with."""

    name: str
    traffic: TrafficPlan | ReplayPlan
    axes: Axes
    until_ns: int
    handling_ns: int
    non_causal: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """The most processes with which a protocol is run, and why no more."""

    processes: int
    because: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """All runs of a sweep, before they are written out."""

    scenarios: tuple[Scenario, ...]
    networks: Mapping[str, NetworkPlan]
    limits: Mapping[str, Limit]
    time_limit_ns: int
    """How long one run may take, in real time; 0: as long as it likes."""

    def plans(self) -> list[RunPlan]:
        """Every run, in the order of the file; `LocalError` if two of them are the same."""
        plans = [plan for scenario in self.scenarios for plan in self._plans_of(scenario)]
        seen: dict[str, RunPlan] = {}
        for plan in plans:
            if plan.run_id in seen:
                raise LocalError(f"the grid has the run {plan.run_id} twice")
            seen[plan.run_id] = plan
        return plans

    def beyond(self, plan: RunPlan) -> str | None:
        """Why this run is left out, or None if it is not."""
        limit = self.limits.get(plan.protocol)
        if limit is None or plan.processes <= limit.processes:
            return None
        return f"more than {limit.processes} processes: {limit.because}"

    def _plans_of(self, scenario: Scenario) -> list[RunPlan]:
        axes = scenario.axes
        return [
            RunPlan(
                protocol=protocol,
                scenario=scenario.name,
                network=self.networks[network],
                traffic=scenario.traffic,
                processes=processes,
                seed=seed,
                until_ns=scenario.until_ns,
                handling_ns=scenario.handling_ns,
                non_causal=scenario.non_causal,
            )
            for network in axes.networks
            for processes in axes.processes
            for protocol in axes.protocols
            for seed in axes.seeds
        ]


def read_grid(path: Path) -> Grid:
    """The grid in a file; `LocalError` says in one sentence what is wrong with it, and where."""
    return parse_grid(read_toml(path), path.parent)


def parse_grid(section: Section, folder: Path) -> Grid:
    """The grid in a table; files that it names are relative to `folder`."""
    networks = {
        name: own_network(name, below, folder)
        for name, below in section.sections("network").items()
    }
    limits = {name: limit_of(below) for name, below in section.sections("limit").items()}
    scenarios = section.sections("scenario")
    if not scenarios:
        raise LocalError(f"{section.where}: there is no scenario; write at least one [scenario.…]")
    parsed = tuple(
        parse_scenario(name, below, section, folder) for name, below in scenarios.items()
    )
    time_limit_ns = section.duration("time_limit", 0)
    section.finish()
    for scenario in parsed:
        for name in scenario.axes.networks:
            if name not in networks:
                networks[name] = named_network(name, list(networks))
    return Grid(scenarios=parsed, networks=networks, limits=limits, time_limit_ns=time_limit_ns)


def named_network(name: str, own: list[str]) -> NetworkPlan:
    """A network of the simulator's."""
    if name not in NETWORKS:
        raise LocalError(f"no network is called {name!r}; there are {', '.join([*NETWORKS, *own])}")
    return NetworkPlan(name=name, like=name, patience_ns=NETWORKS[name].patience_ns)


def own_network(name: str, section: Section, folder: Path) -> NetworkPlan:
    """A network that the grid describes."""
    like = section.text("like", "reliable")
    if like not in NETWORKS:
        raise section.error("like", f"is {like!r}; there are {', '.join(NETWORKS)}")
    latency, content = located_latency(section.optional_text("latency"), folder)
    plan = NetworkPlan(
        name=name,
        like=like,
        patience_ns=section.duration("patience", NETWORKS[like].patience_ns),
        latency=latency,
        latency_content=content,
        loss=section.optional_share("loss"),
        recovery=section.number("recovery") if section.has("recovery") else None,
        duplication=section.optional_share("duplicate"),
        reordering=section.optional_share("reorder"),
        reordering_ns=section.duration("reorder_by") if section.has("reorder_by") else None,
        partitions=section.texts("partitions", ()) if section.has("partitions") else (),
        slow_links=section.texts("slow", ()) if section.has("slow") else (),
    )
    section.finish()
    try:
        plan.faults()
    except LocalError as error:
        raise LocalError(f"{section.where}: {error}") from None
    return plan


def located_latency(text: str | None, folder: Path) -> tuple[str | None, str]:
    """A latency with the file it may name made absolute, and a digest of that file."""
    kind, _, rest = (text or "").partition(":")
    if kind not in FILE_LATENCIES or not rest:
        return text, ""
    file = (folder / rest).resolve()
    return f"{kind}:{file}", contents_of([file])


def limit_of(section: Section) -> Limit:
    """How far a protocol goes."""
    limit = Limit(processes=section.count("processes"), because=section.text("because"))
    section.finish()
    return limit


def parse_scenario(name: str, section: Section, common: Section, folder: Path) -> Scenario:
    """One scenario; what it does not say itself, the common part says."""
    traffic = replay_of(section, folder) if section.has("replay") else traffic_of(section)
    replays = isinstance(traffic, ReplayPlan)
    scenario = Scenario(
        name=name,
        traffic=traffic,
        axes=axes_of(section, common, traffic),
        until_ns=section.duration("until", REPLAY_UNTIL_NS if replays else UNTIL_NS),
        handling_ns=section.duration("handling", 0),
        non_causal=section.flag("non_causal", common.flag("non_causal", True)),
    )
    section.finish()
    if isinstance(traffic, TrafficPlan):
        try:
            traffic.workload(scenario.axes.processes[0], scenario.axes.seeds[0])
        except LocalError as error:
            raise LocalError(f"{section.where}: {error}") from None
    return scenario


def axes_of(section: Section, common: Section, traffic: TrafficPlan | ReplayPlan) -> Axes:
    """What a scenario is run with; a replay has as many processes as its table."""
    protocols = section.texts("protocols", common.texts("protocols", ("hybrid",)))
    for protocol in protocols:
        try:
            find_protocol(protocol)
        except LocalError as error:
            raise LocalError(f"{section.where}: {error}") from None
    if isinstance(traffic, ReplayPlan):
        common.has("processes")
        processes: tuple[int, ...] = (traffic.processes,)
    else:
        processes = section.counts("processes", common.counts("processes", (8,)))
    seeds = section.seeds("seeds", common.seeds("seeds", (1,)))
    for seed in seeds:
        check_seed(seed)
    return Axes(
        protocols=protocols,
        networks=section.texts("networks", common.texts("networks", ("reliable",))),
        processes=processes,
        seeds=seeds,
    )


def traffic_of(section: Section) -> TrafficPlan:
    """A workload of the simulator's."""
    usual = Traffic()
    name = section.text("workload", "poisson")
    if name == "replay":
        raise section.error("workload", "is 'replay'; write: replay = \"FOLDER/workload\"")
    settings: dict[str, Setting] = {}
    for key, value in section.table("set").items():
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise section.error(f"set.{key}", f"cannot be {value!r}")
        settings[key] = value
    return TrafficPlan(
        name=name,
        messages=section.count("messages", usual.messages),
        interval_ns=section.duration("interval", usual.interval_ns),
        payload_bytes=section.count("payload", usual.payload_bytes),
        settings=settings,
    )


def replay_of(section: Section, folder: Path) -> ReplayPlan:
    """A recorded workload."""
    plan = plan_replay(folder / section.text("replay"), section.optional_text("run_id"))
    compress = section.number("compress", 1.0)
    if compress <= 0:
        raise section.error("compress", "must be more than 0")
    return replace(
        plan,
        start_ns=section.duration("start", 0),
        span_ns=section.duration("span", 0),
        compress=compress,
        unicast=section.flag("unicast", False),
    )
