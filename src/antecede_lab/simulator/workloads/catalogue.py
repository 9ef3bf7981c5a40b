"""Every workload of ours by name, in plain sight: this is the only list.

A builder makes a workload from what all have in common (`TrafficSettings`) and from settings of its
own. `messages` is the whole number of messages in every case, as nearly as the workload can tell
beforehand: a request and its reply are two.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias, final

from antecede.core.errors import LocalError, not_called
from antecede.units import parse_count, parse_number, parse_share
from antecede_audit.eventlog.workload import read_workload
from antecede_lab.simulator.workloads.groups import Groups
from antecede_lab.simulator.workloads.open_loop import Broadcast, Poisson
from antecede_lab.simulator.workloads.pipeline import Pipeline
from antecede_lab.simulator.workloads.replay import Replay
from antecede_lab.simulator.workloads.request_reply import RequestReply
from antecede_lab.simulator.workloads.service_dag import (
    ServiceDag,
    calls_per_request,
    layered_services,
)
from antecede_lab.simulator.workloads.workload import Workload, check_seed

Setting: TypeAlias = int | float | str


@final
class Parameter:
    """Something about a workload that can be set."""

    def __init__(self, name: str, default: Setting, meaning: str) -> None:
        self.name: Final = name
        self.default: Final = default
        self.meaning: Final = meaning

    def __repr__(self) -> str:
        return f"Parameter({self.name!r}, {self.default!r})"


@final
class WorkloadSettings:
    """The value of every parameter: what was given, or else the default."""

    def __init__(
        self, owner: str, parameters: tuple[Parameter, ...], given: Mapping[str, Setting]
    ) -> None:
        names = [parameter.name for parameter in parameters]
        for name in given:
            if name not in names:
                known = ", ".join(names) if names else "none"
                raise LocalError(f"{owner} has no setting {name!r}; it has: {known}")
        self._values: Final = {
            parameter.name: converted(parameter, given.get(parameter.name, parameter.default))
            for parameter in parameters
        }

    def whole(self, name: str) -> int:
        """The value of a parameter that is a whole number."""
        value = self._values[name]
        assert isinstance(value, int), "its default is a whole number"
        return value

    def number(self, name: str) -> float:
        """The value of a parameter that is a number."""
        value = self._values[name]
        assert isinstance(value, float), "its default is a number"
        return value

    def text(self, name: str) -> str:
        """The value of a parameter that is a text."""
        value = self._values[name]
        assert isinstance(value, str), "its default is a text"
        return value


def converted(parameter: Parameter, value: Setting) -> Setting:
    """The value in the type of the parameter's default."""
    default = parameter.default
    if isinstance(default, str):
        return str(value)
    try:
        if isinstance(default, int):
            return value if isinstance(value, int) else parse_count(str(value))
        if isinstance(value, str):
            return parse_share(value) if value.endswith("%") else parse_number(value)
    except LocalError as error:
        raise LocalError(f"{parameter.name}: {error}") from None
    return float(value)


@final
@dataclass(frozen=True, kw_only=True)
class TrafficSettings:
    """What all workloads have in common."""

    processes: int = 8
    messages: int = 2000
    interval_ns: int = 10_000_000
    payload_bytes: int = 64
    seed: int = 1


Build: TypeAlias = Callable[[TrafficSettings, WorkloadSettings], Workload]


@final
class WorkloadInfo:
    """A workload's name, how to build it, what it is, and what about it can be set."""

    def __init__(
        self, name: str, build: Build, purpose: str, parameters: tuple[Parameter, ...] = ()
    ) -> None:
        self.name: Final = name
        self.build: Final = build
        self.purpose: Final = purpose
        self.parameters: Final = parameters


def build_poisson(traffic: TrafficSettings, settings: WorkloadSettings) -> Workload:
    """Open-loop traffic between pairs, with some multicasts if wanted."""
    return Poisson(
        traffic.processes,
        messages=traffic.messages,
        interval_ns=traffic.interval_ns,
        seed=traffic.seed,
        payload_bytes=traffic.payload_bytes,
        favourites=settings.whole("favourites"),
        zipf=settings.number("zipf"),
        multicast=settings.number("multicast"),
        fan_out=settings.whole("fan_out"),
    )


def build_request_reply(traffic: TrafficSettings, settings: WorkloadSettings) -> Workload:
    """Clients and servers, closed-loop; the interval is the time a client thinks."""
    return RequestReply(
        traffic.processes,
        requests=max(1, traffic.messages // 2),
        think_ns=traffic.interval_ns,
        seed=traffic.seed,
        servers=settings.whole("servers"),
        payload_bytes=traffic.payload_bytes,
        reply_bytes=settings.whole("reply_bytes"),
    )


def build_service_dag(traffic: TrafficSettings, settings: WorkloadSettings) -> Workload:
    """Layers of services; the interval is the time between two requests."""
    children = layered_services(
        traffic.processes, settings.whole("layers"), settings.whole("fan_out")
    )
    return ServiceDag(
        children,
        requests=max(1, traffic.messages // (2 * calls_per_request(children))),
        interval_ns=traffic.interval_ns,
        seed=traffic.seed,
        payload_bytes=traffic.payload_bytes,
        reply_bytes=settings.whole("reply_bytes"),
    )


def build_pipeline(traffic: TrafficSettings, settings: WorkloadSettings) -> Workload:  # noqa: ARG001 every builder takes them
    """A stage per process; the interval is the time between two items."""
    return Pipeline(
        traffic.processes,
        items=max(1, traffic.messages // max(1, traffic.processes - 1)),
        interval_ns=traffic.interval_ns,
        seed=traffic.seed,
        payload_bytes=traffic.payload_bytes,
    )


def build_groups(traffic: TrafficSettings, settings: WorkloadSettings) -> Workload:
    """Conversations in overlapping groups."""
    reply = settings.number("reply")
    return Groups(
        traffic.processes,
        posts=max(1, round(traffic.messages * (1 - reply))),
        interval_ns=traffic.interval_ns,
        seed=traffic.seed,
        groups=settings.whole("groups"),
        size=settings.whole("size"),
        reply=reply,
        payload_bytes=traffic.payload_bytes,
    )


def build_broadcast(traffic: TrafficSettings, settings: WorkloadSettings) -> Workload:  # noqa: ARG001 every builder takes them
    """Open-loop traffic to everybody."""
    return Broadcast(
        traffic.processes,
        messages=traffic.messages,
        interval_ns=traffic.interval_ns,
        seed=traffic.seed,
        payload_bytes=traffic.payload_bytes,
    )


def build_replay(traffic: TrafficSettings, settings: WorkloadSettings) -> Workload:  # noqa: ARG001 the file says it all
    """The messages of a workload table, whatever the traffic says."""
    file = settings.text("file")
    if not file:
        raise LocalError("replay needs its setting file: a workload table (.jsonl or .parquet)")
    return Replay(read_workload(file))


REPLY_BYTES: Final = Parameter("reply_bytes", 64, "size of a reply")

WORKLOADS: Final[dict[str, WorkloadInfo]] = {
    info.name: info
    for info in (
        WorkloadInfo(
            "poisson",
            build_poisson,
            "everybody sends to somebody at a steady rate, whatever happens",
            (
                Parameter("favourites", 0, "send only to this many neighbours (0: to anybody)"),
                Parameter("zipf", 0.0, "popular peers: the exponent of Zipf's law (0: uniform)"),
                Parameter("multicast", 0.0, "the share of messages with several targets"),
                Parameter("fan_out", 3, "the targets of such a message"),
            ),
        ),
        WorkloadInfo(
            "request-reply",
            build_request_reply,
            "clients ask servers, wait for the answer, think, ask again",
            (Parameter("servers", 1, "how many processes answer: the first ones"), REPLY_BYTES),
        ),
        WorkloadInfo(
            "service-dag",
            build_service_dag,
            "requests fan out through layers of services and fan in again",
            (
                Parameter("layers", 2, "layers below the root"),
                Parameter("fan_out", 2, "services of the next layer that a service calls"),
                REPLY_BYTES,
            ),
        ),
        WorkloadInfo(
            "pipeline",
            build_pipeline,
            "items go through all processes, one after the other",
        ),
        WorkloadInfo(
            "groups",
            build_groups,
            "conversations by multicast in groups that overlap",
            (
                Parameter("groups", 4, "how many groups"),
                Parameter("size", 4, "members of a group"),
                Parameter("reply", 0.5, "the probability that a message is answered"),
            ),
        ),
        WorkloadInfo(
            "broadcast",
            build_broadcast,
            "everybody sends to all others at a steady rate",
        ),
        WorkloadInfo(
            "replay",
            build_replay,
            "the messages of a workload table, each after its causes",
            (Parameter("file", "", "the table, .jsonl or .parquet"),),
        ),
    )
}


def build_workload(
    name: str, traffic: TrafficSettings, given: Mapping[str, Setting] | None = None
) -> Workload:
    """The workload called `name`; `LocalError` says what is wrong with the name or a setting."""
    info = WORKLOADS.get(name)
    if info is None:
        raise not_called("no workload", name, WORKLOADS)
    check_seed(traffic.seed)
    return info.build(
        traffic, WorkloadSettings(name, info.parameters, {} if given is None else given)
    )
