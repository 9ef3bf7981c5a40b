"""What one run of a sweep is: everything that decides its result, as values and as a line of JSON.

A plan crosses into a Python worker as text and is all that the worker knows, so a run depends on
its own row only. Two plans with one digest give the same result, whenever and wherever they run:
files count with their contents, not with their names.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from typing import Final

from antecede import __version__
from antecede.core.errors import LocalError
from antecede.link.faults import Faults
from antecede.sim.networks import build_network, parse_latency, parse_partition, parse_slow_link
from antecede.sim.run import CORE
from antecede.sim.workloads.catalogue import Traffic, build_workload
from antecede.sim.workloads.replay import Replay
from antecede.sim.workloads.settings import Setting
from antecede.sim.workloads.workload import Workload

DIGEST_BYTES: Final = 16
SHOWN_DIGITS: Final = 8
"""How much of a digest a run id shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkPlan:
    """A network: a named one, with whatever is given here instead of its own."""

    name: str
    like: str
    patience_ns: int
    latency: str | None = None
    latency_content: str = ""
    """The digest of the file that the latency names, if it names one."""
    loss: float | None = None
    recovery: float | None = None
    """Round trips after which what is lost is sent again, below the protocol."""
    duplication: float | None = None
    reordering: float | None = None
    reordering_ns: int | None = None
    partitions: tuple[str, ...] = ()
    slow_links: tuple[str, ...] = ()

    def faults(self) -> Faults:
        """The network itself."""
        return build_network(
            self.like,
            latency=None if self.latency is None else parse_latency(self.latency),
            loss=self.loss,
            recovery=self.recovery,
            duplication=self.duplication,
            reordering=self.reordering,
            reordering_ns=self.reordering_ns,
            partitions=tuple(parse_partition(text) for text in self.partitions),
            slow_links=tuple(parse_slow_link(text) for text in self.slow_links),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficPlan:
    """A workload of the simulator's, by its name."""

    name: str
    messages: int
    interval_ns: int
    payload_bytes: int
    settings: dict[str, Setting]

    def workload(self, processes: int, seed: int) -> Workload:
        """The workload itself."""
        traffic = Traffic(
            processes=processes,
            messages=self.messages,
            interval_ns=self.interval_ns,
            payload_bytes=self.payload_bytes,
            seed=seed,
        )
        return build_workload(self.name, traffic, self.settings)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayPlan:
    """A recorded or grown workload, or a part of it."""

    path: str
    run_id: str | None
    content: str
    """The digest of what the files hold."""
    processes: int
    messages: int
    """How many the whole table has."""
    start_ns: int = 0
    span_ns: int = 0
    """Keep what is sent in this stretch of its time; a span of 0 lasts to the end."""
    compress: float = 1.0
    """Time passes so many times as fast as in the table."""
    unicast: bool = False
    """A multicast becomes one message to each of its targets."""

    def workload(self, processes: int, seed: int) -> Workload:  # noqa: ARG002 nothing is drawn
        """The workload itself, for at least so many processes."""
        # Late, because it reads files, and whoever only plans needs none of it.
        from antecede.pipeline.sweep.replays import replayed_rows

        return Replay(replayed_rows(self), processes=max(processes, self.processes))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """One run."""

    protocol: str
    scenario: str
    network: NetworkPlan
    traffic: TrafficPlan | ReplayPlan
    processes: int
    seed: int
    until_ns: int
    handling_ns: int
    non_causal: bool
    """Whether every copy's delivery is compared with the earliest that causal order allows."""
    variant_of: str | None = None
    """The protocol of which this one is a variant; None: it is one of the catalogue."""
    options: Mapping[str, int] = field(default_factory=dict)
    """What every process of a variant is made with."""
    host: str = CORE
    """What runs: protocols alone, or whole nodes."""

    @property
    def carrier(self) -> str:
        """The protocol that is run, as the catalogue calls it."""
        return self.protocol if self.variant_of is None else self.variant_of

    def text(self) -> str:
        """One line of JSON, from which `parse_plan` makes the same plan."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))

    @property
    def digest(self) -> str:
        """Equal for plans that give the same result, and for no others."""
        fields = asdict(self)
        fields["traffic"].pop("path", None)
        if self.host == CORE:
            del fields["host"]
        if self.network.latency_content:
            fields["network"].pop("latency")
        said = json.dumps([__version__, fields], sort_keys=True)
        return blake2b(said.encode(), digest_size=DIGEST_BYTES).hexdigest()

    @property
    def run_id(self) -> str:
        """A name for people, and for the folder of the run's events."""
        return (
            f"{self.scenario}-{self.protocol}-{self.network.name}"
            f"-n{self.processes}-s{self.seed}-{self.digest[:SHOWN_DIGITS]}"
        )

    @property
    def messages(self) -> int:
        """About how many messages the run is going to send."""
        return self.traffic.messages

    def workload(self) -> Workload:
        """The workload itself."""
        return self.traffic.workload(self.processes, self.seed)


def parse_plan(text: str) -> RunPlan:
    """The plan that this text was made from."""
    fields = json.loads(text)
    network = fields.pop("network")
    for name in ("partitions", "slow_links"):
        network[name] = tuple(network[name])
    traffic = fields.pop("traffic")
    kind = ReplayPlan if "path" in traffic else TrafficPlan
    try:
        return RunPlan(**fields, network=NetworkPlan(**network), traffic=kind(**traffic))
    except TypeError as error:
        raise LocalError(f"this is not the plan of a run: {error}") from error
