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

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeAlias, TypeVar

from antecede.core.catalogue import ALIASES, catalogue_name
from antecede.core.errors import LocalError, near_miss
from antecede.eventlog.atomic_files import os_errors_as_local
from antecede.eventlog.fields import located
from antecede.units import parse_count, parse_duration, parse_number, parse_share
from antecede_lab.catalogue import PROTOCOLS, find_protocol
from antecede_lab.simulator.networks import NETWORKS
from antecede_lab.simulator.run import CORE, NODE
from antecede_lab.simulator.workloads.catalogue import Setting, TrafficSettings
from antecede_lab.simulator.workloads.workload import check_seed
from antecede_lab.sweep.run_plan import (
    NetworkPlan,
    ReplayPlan,
    RunPlan,
    TrafficPlan,
    contents_of,
    plan_replay,
)

Table: TypeAlias = dict[str, object]
T = TypeVar("T")


class ConfigSection:
    """One table of a TOML file, read key by key; `LocalError` says which key is wrong and where.

    Values are written as people write them: durations as "1.5ms", shares as "5%" or 0.05, counts as
    2000 or "2k". A key that nobody asked for is a mistake in spelling, so `finish` refuses it.
    """

    def __init__(self, where: str, table: Table) -> None:
        self.where: Final = where
        self._table: Final = table
        self._known: Final[list[str]] = []

    def as_table(self) -> Table:
        """The table as it stands."""
        return dict(self._table)

    def has(self, key: str) -> bool:
        """Whether the key is there."""
        return self._take(key) is not None

    def text(self, key: str, default: str | None = None) -> str:
        """A text; without a default it must be there."""
        value = self._take(key)
        if value is None:
            return self._needed(key, default)
        return self._of_type(key, value, str, "a text")

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        value = self._take(key)
        return default if value is None else self._of_type(key, value, bool, "true or false")

    def count(self, key: str, default: int | None = None) -> int:
        """A whole number that is not negative."""
        return self._needed(key, self._written(key, parse_count, default))

    def duration(self, key: str, default_ns: int | None = None) -> int:
        """Nanoseconds, written with a unit."""
        return self._needed(key, self._written(key, parse_duration, default_ns))

    def number(self, key: str, default: float | None = None) -> float:
        """A number that is not negative."""
        return self._needed(key, self._written(key, parse_number, default))

    def optional_text(self, key: str) -> str | None:
        """A text, or None where there is none."""
        return self.text(key) if self.has(key) else None

    def optional_share(self, key: str) -> float | None:
        """A number from 0 to 1, or None where there is none."""
        return self._written(key, parse_share, None)

    def texts(self, key: str, default: tuple[str, ...] | None = None) -> tuple[str, ...]:
        """A list of different texts, at least one; a single text counts as a list of one."""
        value = self._take(key)
        if value is None:
            return self._needed(key, default)
        values = [value] if isinstance(value, str) else value
        if not isinstance(values, list) or not all(isinstance(item, str) for item in values):
            raise self.error(key, f"must be a list of texts, not {value!r}")
        return self._different(key, tuple(values))

    def counts(self, key: str, default: tuple[int, ...] | None = None) -> tuple[int, ...]:
        """A list of different counts, at least one; a single count is a list of one."""
        value = self._take(key)
        if value is None:
            return self._needed(key, default)
        values = value if isinstance(value, list) else [value]
        return self._different(key, tuple(self._parsed(key, item, parse_count) for item in values))

    def seeds(self, key: str, default: tuple[int, ...]) -> tuple[int, ...]:
        """A list of seeds; a number n alone means the seeds 1 to n."""
        value = self._take(key)
        if value is None or isinstance(value, list):
            return self.counts(key, default)
        number = self._parsed(key, value, parse_count)
        if number < 1:
            raise self.error(key, "must be at least 1")
        return tuple(range(1, number + 1))

    def table(self, key: str) -> Table:
        """A table as it stands; an empty one where there is none."""
        value = self._take(key)
        return {} if value is None else self._of_type(key, value, dict, "a table")

    def sections(self, key: str) -> dict[str, "ConfigSection"]:
        """The tables below this one, by their names."""
        return {
            name: ConfigSection(
                f"{self.where}: {key} {name!r}", self._of_type(name, table, dict, "a table")
            )
            for name, table in self.table(key).items()
        }

    def parsed(self, key: str, parse: Callable[[str, "ConfigSection"], T]) -> dict[str, T]:
        """What `parse` makes of each table below this one; it must have asked for every key."""
        found: dict[str, T] = {}
        for name, below in self.sections(key).items():
            found[name] = parse(name, below)
            below.finish()
        return found

    def finish(self) -> None:
        """`LocalError` names a key that nobody has asked for."""
        for key in self._table:
            if key not in self._known:
                known = ", ".join(sorted(set(self._known)))
                raise LocalError(f"{self.where}: there is no {key!r}; there are: {known}")

    def error(self, key: str, complaint: str) -> LocalError:
        """What to raise about a key."""
        return LocalError(f"{self.where}: {key} {complaint}")

    def _take(self, key: str) -> object | None:
        self._known.append(key)
        return self._table.get(key)

    def _written(self, key: str, parse: Callable[[str], T], default: T | None) -> T | None:
        value = self._take(key)
        return default if value is None else self._parsed(key, value, parse)

    def _parsed(self, key: str, value: object, parse: Callable[[str], T]) -> T:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise self.error(key, f"cannot be {value!r}")
        try:
            return parse(str(value))
        except LocalError as error:
            raise self.error(key, f"is wrong: {error}") from None

    def _of_type(self, key: str, value: object, kind: type[T], name: str) -> T:
        if not isinstance(value, kind):
            raise self.error(key, f"must be {name}, not {value!r}")
        return value

    def _needed(self, key: str, value: T | None) -> T:
        if value is None:
            raise self.error(key, "is missing")
        return value

    def _different(self, key: str, values: tuple[T, ...]) -> tuple[T, ...]:
        if not values:
            raise self.error(key, "must name at least one")
        if len(set(values)) != len(values):
            raise self.error(key, f"names something twice: {list(values)}")
        return values


def read_toml(path: Path) -> ConfigSection:
    """The outermost table of a file; `LocalError` if it cannot be read or is no TOML."""
    try:
        with os_errors_as_local(path, "read"):
            text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise LocalError(f"cannot read {path}: {error}") from error
    try:
        return ConfigSection(str(path), tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise LocalError(f"{path} is not TOML: {error}") from error


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
class SweepScenario:
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

    scenarios: tuple[SweepScenario, ...]
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

    def _plans_of(self, scenario: SweepScenario) -> list[RunPlan]:
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


def parse_grid(section: ConfigSection, folder: Path) -> Grid:
    """The grid in a table; files that it names are relative to `folder`."""
    networks = section.parsed("network", lambda name, below: own_network(name, below, folder))
    limits = section.parsed("limit", lambda _, below: limit_of(below))
    variants = section.parsed("protocol", variant_of)
    scenarios = section.parsed(
        "scenario", lambda name, below: parse_scenario(name, below, section, folder, variants)
    )
    if not scenarios:
        raise LocalError(f"{section.where}: there is no scenario; write at least one [scenario.…]")
    time_limit_ns = section.duration("time_limit", 0)
    section.finish()
    for scenario in scenarios.values():
        for name in scenario.axes.networks:
            if name not in networks:
                networks[name] = named_network(name, list(networks))
    return Grid(
        scenarios=tuple(scenarios.values()),
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


def own_network(name: str, section: ConfigSection, folder: Path) -> NetworkPlan:
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
    with located(section.where):
        plan.faults()
    return plan


def located_latency(text: str | None, folder: Path) -> tuple[str | None, str]:
    """A latency with the file it may name made absolute, and a digest of that file."""
    kind, _, rest = (text or "").partition(":")
    if kind not in FILE_LATENCIES or not rest:
        return text, ""
    file = (folder / rest).resolve()
    return f"{kind}:{file}", contents_of([file])


def limit_of(section: ConfigSection) -> Limit:
    """How far a protocol goes."""
    return Limit(processes=section.count("processes"), because=section.text("because"))


def variant_of(name: str, section: ConfigSection) -> Variant:
    """A protocol with options; `LocalError` if it does not have them."""
    if name in PROTOCOLS or name in ALIASES:
        raise LocalError(f"{section.where}: a protocol of the catalogue has the same name")
    options: dict[str, int] = {}
    for key, value in (section.table("set") if section.has("set") else {}).items():
        if isinstance(value, bool) or not isinstance(value, int):
            raise section.error(f"set.{key}", f"cannot be {value!r}: it is a whole number")
        options[key] = value
    host = section.text("host", CORE)
    if host not in (CORE, NODE):
        raise section.error("host", f"cannot be {host!r}: it is {CORE!r} or {NODE!r}")
    variant = Variant(of=catalogue_name(section.text("of")), options=options, host=host)
    with located(section.where):
        find_protocol(variant.of).create(0, range(2), **options)
    return variant


def parse_scenario(
    name: str,
    section: ConfigSection,
    common: ConfigSection,
    folder: Path,
    variants: Mapping[str, Variant],
) -> SweepScenario:
    """One scenario; what it does not say itself, the common part says."""
    traffics: tuple[TrafficPlan, ...] | tuple[ReplayPlan, ...]
    replays = section.has("replay")
    traffics = replays_of(section, folder) if replays else (traffic_of(section),)
    scenario = SweepScenario(
        name=name,
        traffics=traffics,
        axes=axes_of(section, common, traffics, variants),
        until_ns=section.duration("until", REPLAY_UNTIL_NS if replays else UNTIL_NS),
        handling_ns=section.duration("handling", 0),
        non_causal=section.flag("non_causal", common.flag("non_causal", True)),
    )
    for traffic in traffics:
        if isinstance(traffic, TrafficPlan):
            with located(section.where):
                traffic.workload(scenario.axes.processes[0], scenario.axes.seeds[0])
    return scenario


def axes_of(
    section: ConfigSection,
    common: ConfigSection,
    traffics: tuple[TrafficPlan, ...] | tuple[ReplayPlan, ...],
    variants: Mapping[str, Variant],
) -> Axes:
    """What a scenario is run with; a replay has as many processes as its tables."""
    asked = section.texts("protocols", common.texts("protocols", ("hybrid",)))
    protocols = tuple(dict.fromkeys(map(catalogue_name, asked)))
    with located(section.where):
        for protocol in protocols:
            if protocol not in variants:
                find_protocol(protocol)
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


def traffic_of(section: ConfigSection) -> TrafficPlan:
    """A workload of the simulator's."""
    usual = TrafficSettings()
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


def replays_of(section: ConfigSection, folder: Path) -> tuple[ReplayPlan, ...]:
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
