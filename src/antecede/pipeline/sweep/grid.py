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

    [protocol.patient]                          # a variant, to be named where protocols are
    of = "hybrid"
    set.patience_ns = 5000000000

A scenario may have its own protocols, networks, processes and seeds in place of the common ones. A
`replay` may be a list of tables: the first seed gets the first of them, and so on in turn.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from antecede.core.catalogue import PROTOCOLS, find_protocol
from antecede.core.errors import LocalError, near_miss
from antecede.link.notation import parse_duration
from antecede.pipeline.sweep.plans import NetworkPlan, ReplayPlan, RunPlan, TrafficPlan
from antecede.pipeline.sweep.replays import contents_of, plan_replay
from antecede.pipeline.sweep.sections import Section, read_toml
from antecede.sim.networks import NETWORKS
from antecede.sim.run import CORE, NODE
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
    traffics: tuple[TrafficPlan, ...] | tuple[ReplayPlan, ...]
    """One for each seed, in turn."""
    axes: Axes
    until_ns: int
    handling_ns: int
    non_causal: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A protocol of the catalogue, with options of its own."""

    of: str
    options: Mapping[str, int]
    host: str
    """What runs: the protocol alone, or whole nodes."""


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
    variants: Mapping[str, Variant]
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
        plans: list[RunPlan] = []
        for network in axes.networks:
            for processes in axes.processes:
                for protocol in axes.protocols:
                    variant = self.variants.get(protocol)
                    plans += [
                        RunPlan(
                            protocol=protocol,
                            scenario=scenario.name,
                            network=self.networks[network],
                            traffic=scenario.traffics[place % len(scenario.traffics)],
                            processes=processes,
                            seed=seed,
                            until_ns=scenario.until_ns,
                            handling_ns=scenario.handling_ns,
                            non_causal=scenario.non_causal,
                            variant_of=None if variant is None else variant.of,
                            options={} if variant is None else variant.options,
                            host=CORE if variant is None else variant.host,
                        )
                        for place, seed in enumerate(axes.seeds)
                    ]
        return plans


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
    variants = {
        name: variant_of(name, below) for name, below in section.sections("protocol").items()
    }
    scenarios = section.sections("scenario")
    if not scenarios:
        raise LocalError(f"{section.where}: there is no scenario; write at least one [scenario.…]")
    parsed = tuple(
        parse_scenario(name, below, section, folder, variants) for name, below in scenarios.items()
    )
    time_limit_ns = section.duration("time_limit", 0)
    section.finish()
    for scenario in parsed:
        for name in scenario.axes.networks:
            if name not in networks:
                networks[name] = named_network(name, list(networks))
    return Grid(
        scenarios=parsed,
        networks=networks,
        limits=limits,
        variants=variants,
        time_limit_ns=time_limit_ns,
    )


def named_network(name: str, own: list[str]) -> NetworkPlan:
    """A network of the simulator's."""
    if name not in NETWORKS:
        raise LocalError(
            f"no network is called {name!r}{near_miss(name, [*NETWORKS, *own])}; "
            f"there are {', '.join([*NETWORKS, *own])}"
        )
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


def variant_of(name: str, section: Section) -> Variant:
    """A protocol with options; `LocalError` if it does not have them."""
    if name in PROTOCOLS:
        raise LocalError(f"{section.where}: a protocol of the catalogue has the same name")
    options: dict[str, int] = {}
    for key, value in (section.table("set") if section.has("set") else {}).items():
        if isinstance(value, bool) or not isinstance(value, int):
            raise section.error(f"set.{key}", f"cannot be {value!r}: it is a whole number")
        options[key] = value
    host = section.text("host", CORE)
    if host not in (CORE, NODE):
        raise section.error("host", f"cannot be {host!r}: it is {CORE!r} or {NODE!r}")
    variant = Variant(of=section.text("of"), options=options, host=host)
    section.finish()
    try:
        find_protocol(variant.of).create(0, range(2), **options)
    except LocalError as error:
        raise LocalError(f"{section.where}: {error}") from None
    return variant


def parse_scenario(
    name: str,
    section: Section,
    common: Section,
    folder: Path,
    variants: Mapping[str, Variant],
) -> Scenario:
    """One scenario; what it does not say itself, the common part says."""
    traffics: tuple[TrafficPlan, ...] | tuple[ReplayPlan, ...]
    replays = section.has("replay")
    traffics = replays_of(section, folder) if replays else (traffic_of(section),)
    scenario = Scenario(
        name=name,
        traffics=traffics,
        axes=axes_of(section, common, traffics, variants),
        until_ns=section.duration("until", REPLAY_UNTIL_NS if replays else UNTIL_NS),
        handling_ns=section.duration("handling", 0),
        non_causal=section.flag("non_causal", common.flag("non_causal", True)),
    )
    section.finish()
    for traffic in traffics:
        if isinstance(traffic, TrafficPlan):
            try:
                traffic.workload(scenario.axes.processes[0], scenario.axes.seeds[0])
            except LocalError as error:
                raise LocalError(f"{section.where}: {error}") from None
    return scenario


def axes_of(
    section: Section,
    common: Section,
    traffics: tuple[TrafficPlan, ...] | tuple[ReplayPlan, ...],
    variants: Mapping[str, Variant],
) -> Axes:
    """What a scenario is run with; a replay has as many processes as its tables."""
    protocols = section.texts("protocols", common.texts("protocols", ("hybrid",)))
    for protocol in protocols:
        try:
            if protocol not in variants:
                find_protocol(protocol)
        except LocalError as error:
            raise LocalError(f"{section.where}: {error}") from None
    sizes = [traffic.processes for traffic in traffics if isinstance(traffic, ReplayPlan)]
    if sizes:
        common.has("processes")
        processes: tuple[int, ...] = (max(sizes),)
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


def replays_of(section: Section, folder: Path) -> tuple[ReplayPlan, ...]:
    """A recorded workload, or several."""
    run_id = section.optional_text("run_id")
    plans = [plan_replay(folder / text, run_id) for text in section.texts("replay")]
    compress = section.number("compress", 1.0)
    if compress <= 0:
        raise section.error("compress", "must be more than 0")
    start_ns, span_ns = section.duration("start", 0), section.duration("span", 0)
    unicast = section.flag("unicast", False)
    return tuple(
        replace(plan, start_ns=start_ns, span_ns=span_ns, compress=compress, unicast=unicast)
        for plan in plans
    )
