"""What one run of a sweep is: everything that decides its result, as values and as a line of JSON.

A plan crosses into a Python worker as text and is all that the worker knows, so a run depends on
its own row only. Two plans with one digest give the same result, whenever and wherever they run:
files count with their contents, not with their names.

Reading and checking a recorded workload takes longer than many a run, so a Python worker keeps the
last few. What it keeps depends on nothing but the plan.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Final

from antecede.core.errors import LocalError
from antecede.eventlog.layout import common_source, find_run, suffix_of
from antecede.eventlog.parquet import load_pyarrow, reading
from antecede.network_model.faults import Faults
from antecede.version import __version__
from antecede_audit.eventlog.workload import WorkloadRow, read_workload
from antecede_lab.simulator.networks import (
    build_network,
    parse_latency,
    parse_partition,
    parse_slow_link,
)
from antecede_lab.simulator.run import CORE
from antecede_lab.simulator.workloads.catalogue import Setting, TrafficSettings, build_workload
from antecede_lab.simulator.workloads.replay import Replay
from antecede_lab.simulator.workloads.workload import Workload

DIGEST_BYTES: Final = 16
SHOWN_DIGITS: Final = 8
"""How much of a digest a run id shows."""

TABLES_CACHED: Final = 2
SELECTIONS_CACHED: Final = 2
CHUNK_BYTES: Final = 1 << 20


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
        traffic = TrafficSettings(
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
    """Time passes this many times as fast as in the table."""
    unicast: bool = False
    """A multicast becomes one message to each of its targets."""

    def workload(self, processes: int, seed: int) -> Workload:  # noqa: ARG002 nothing is drawn
        """The workload itself, for at least `processes` processes."""
        return Replay(selected_rows(self), processes=max(processes, self.processes))


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


def plan_replay(path: Path, run_id: str | None = None) -> ReplayPlan:
    """A plan for all that the table at `path` holds; it is looked at, not read."""
    files = find_run(path, run_id)
    processes, messages = extent(files)
    return ReplayPlan(
        path=str(path.resolve()),
        run_id=run_id,
        content=contents_of(files),
        processes=processes,
        messages=messages,
    )


def extent(files: Sequence[Path]) -> tuple[int, int]:
    """The number of processes and of messages of a workload table."""
    if suffix_of(files[0]) != ".parquet":
        rows = read_workload(files[0])
        return 1 + max((max(row.sender, *row.targets) for row in rows), default=-1), len(rows)
    pq = load_pyarrow("pyarrow.parquet")
    pc = load_pyarrow("pyarrow.compute")
    highest = -1
    messages = 0
    for file in files:
        with reading(file):
            table = pq.read_table(file, columns=["sender", "targets"], partitioning=None)
            messages += len(table)
            for column in (table["sender"], pc.list_flatten(table["targets"])):
                highest = max(highest, pc.max(column).as_py() if len(column) else -1)
    if messages == 0:
        raise LocalError(f"{common_source(list(files))} has no messages to replay")
    return 1 + highest, messages


def contents_of(files: Sequence[Path]) -> str:
    """A digest of the bytes in these files."""
    digest = blake2b(digest_size=DIGEST_BYTES)
    for file in files:
        try:
            with file.open("rb") as source:
                while chunk := source.read(CHUNK_BYTES):
                    digest.update(chunk)
        except OSError as error:
            raise LocalError(f"cannot read {file}: {error.strerror}") from error
    return digest.hexdigest()


@lru_cache(maxsize=TABLES_CACHED)
def table_rows(path: str, run_id: str | None, content: str) -> list[WorkloadRow]:  # noqa: ARG001 a changed file is another table
    """All rows of a table."""
    return read_workload(path, run_id)


@lru_cache(maxsize=SELECTIONS_CACHED)
def selected_rows(plan: ReplayPlan) -> list[WorkloadRow]:
    """The rows that the plan asks for; not to be changed, as others may get them too."""
    rows = table_rows(plan.path, plan.run_id, plan.content)
    if plan.start_ns > 0 or plan.span_ns > 0:
        rows = within(rows, plan.start_ns, plan.span_ns)
    if not rows:
        raise LocalError(f"nothing in {plan.path} is sent in the stretch that is to be replayed")
    if plan.unicast:
        rows = unicasts(rows)
    if plan.compress != 1.0:
        rows = [replace(row, delay_ns=round(row.delay_ns / plan.compress)) for row in rows]
    return rows


def within(rows: Sequence[WorkloadRow], start_ns: int, span_ns: int) -> list[WorkloadRow]:
    """What is sent in a stretch of time; its start becomes time 0.

    The time of a message is that over a network which takes no time. A cause from before the
    stretch counts as delivered; what then waits for nothing is sent at its own time.
    """
    times = sending_times(rows)
    end_ns = start_ns + span_ns if span_ns > 0 else None
    kept: list[WorkloadRow] = []
    for row in rows:
        sent_ns = times[row.message_id]
        if sent_ns < start_ns or (end_ns is not None and sent_ns >= end_ns):
            continue
        causes = tuple(cause for cause in row.causes if times[cause] >= start_ns)
        since_ns = max((times[cause] for cause in causes), default=start_ns)
        kept.append(replace(row, causes=causes, delay_ns=sent_ns - since_ns))
    return kept


def sending_times(rows: Sequence[WorkloadRow]) -> dict[int, int]:
    """When each message would be sent if the network took no time; the table has no circles."""
    effects: dict[int, list[WorkloadRow]] = {}
    missing: dict[int, int] = {}
    times: dict[int, int] = {}
    for row in rows:
        missing[row.message_id] = len(row.causes)
        for cause in row.causes:
            effects.setdefault(cause, []).append(row)
    ready = [row for row in rows if not row.causes]
    while ready:
        row = ready.pop()
        since_ns = max((times[cause] for cause in row.causes), default=0)
        times[row.message_id] = since_ns + row.delay_ns
        for effect in effects.get(row.message_id, ()):
            missing[effect.message_id] -= 1
            if missing[effect.message_id] == 0:
                ready.append(effect)
    return times


def unicasts(rows: Sequence[WorkloadRow]) -> list[WorkloadRow]:
    """Every multicast as messages to one target each, sent at once in the order of the targets."""
    number_of: dict[tuple[int, int], int] = {}
    for row in rows:
        for target in row.targets:
            number_of[row.message_id, target] = len(number_of)
    return [
        replace(
            row,
            message_id=number_of[row.message_id, target],
            targets=(target,),
            causes=tuple(number_of[cause, row.sender] for cause in row.causes),
        )
        for row in rows
        for target in row.targets
    ]
