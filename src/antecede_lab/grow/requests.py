"""Grown requests: each enters at a service of the graph and does there what was recorded elsewhere.

A request depends on the seed and its own number only, so it does not matter which task makes it.
"""

import gzip
import json
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Final, TypeAlias

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 what everybody calls it
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import LongType, StructField, StructType

from antecede.core.errors import LocalError
from antecede.eventlog.atomic_files import os_errors_as_local
from antecede.eventlog.fields import checked_integer, field, located
from antecede.eventlog.parquet import ArrowBatch
from antecede.eventlog.rules import INT32_MAX
from antecede.network_model.keyed_random import WORKLOAD, KeyedRandom
from antecede_audit.spark.job_names import named
from antecede_audit.spark.schemas import WORKLOAD as WORKLOAD_ROW
from antecede_lab.grow.layers import SAMPLE, unit

OUTSIDE_SHARE: Final = 0.05
"""At least this share of the calls of a service is due to requests from outside."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceGraph:
    """Services by number, and the calls between them.

    The file is what Jaeger's dependency page has: a list of {parent, child, callCount}. It says
    nothing about requests, so they are made up such that every edge is called as often as the file
    says. A request from outside always leads to calls. One from another service leads to calls as
    often as is needed for the rest, each time to as many as in a recording; and if that is not
    enough, more requests come from outside. Some come from outside in any case, so that circles
    end.
    """

    names: tuple[str, ...]
    children: tuple[tuple[int, ...], ...]
    calls: tuple[tuple[int, ...], ...]
    """How often each child is called, beside `children`."""

    @property
    def edges(self) -> int:
        """How many pairs of services call each other."""
        return sum(len(children) for children in self.children)

    def calls_out(self, service: int) -> int:
        """How many calls a service makes."""
        return sum(self.calls[service])

    def calls_in(self) -> list[int]:
        """How many calls each service gets."""
        received = [0] * len(self.names)
        for children, calls in zip(self.children, self.calls, strict=True):
            for child, count in zip(children, calls, strict=True):
                received[child] += count
        return received


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """What requests do at each service."""

    outside: tuple[float, ...]
    """Requests that come from outside, in the unit of the file's calls."""
    asked: tuple[float, ...]
    """All requests, in the same unit."""
    calls: tuple[float, ...]
    """Calls that a request from another service leads to, on average."""


def read_graph(path: Path) -> ServiceGraph:
    """The graph in a JSON file, which may be compressed (`.gz`)."""
    with os_errors_as_local(path, "read"):
        raw = path.read_bytes()
    try:
        entries = json.loads(gzip.decompress(raw) if path.suffix == ".gz" else raw)
    except (ValueError, EOFError, OSError) as error:
        raise LocalError(f"{path} is not JSON: {error}") from error
    if not isinstance(entries, list) or not entries:
        raise LocalError(f"{path}: expected a list of objects with parent, child and callCount")
    with located(str(path)):
        return graph_of([edge_of(number, entry) for number, entry in enumerate(entries, start=1)])


def edge_of(number: int, entry: object) -> tuple[str, str, int]:
    """An entry of the file as parent, child and calls."""
    with located(f"entry {number}"):
        if not isinstance(entry, dict):
            raise LocalError(f"expected an object, not {entry!r}")
        parent, child = field(entry, "parent"), field(entry, "child")
        if not isinstance(parent, str) or not isinstance(child, str):
            raise LocalError(f"parent and child must be names, not {parent!r} and {child!r}")
        calls = checked_integer(field(entry, "callCount"), "callCount", 0, INT32_MAX)
        return parent, child, calls


def graph_of(edges: list[tuple[str, str, int]]) -> ServiceGraph:
    """The graph with these edges; those that stand twice are added up, services sorted by name."""
    names = sorted({name for parent, child, _ in edges for name in (parent, child)})
    number = {name: place for place, name in enumerate(names)}
    calls: list[dict[int, int]] = [{} for _ in names]
    for parent, child, count in edges:
        if count:
            row = calls[number[parent]]
            row[number[child]] = row.get(number[child], 0) + count
    if not any(calls):
        raise LocalError("nobody calls anybody")
    return ServiceGraph(
        names=tuple(names),
        children=tuple(tuple(sorted(row)) for row in calls),
        calls=tuple(tuple(row[child] for child in sorted(row)) for row in calls),
    )


def rates_of(graph: ServiceGraph, calls_outside: float, calls_inside: float) -> Rates:
    """What requests do if one from outside leads to `calls_outside` calls on average.

    One from another service that leads to calls at all leads to `calls_inside` of them.
    """
    outside, asked, calls = [], [], []
    for service, received in enumerate(graph.calls_in()):
        sent = graph.calls_out(service)
        inside = min((1 - OUTSIDE_SHARE) * sent, received * calls_inside)
        outside.append((sent - inside) / calls_outside)
        asked.append(received + outside[-1])
        calls.append(inside / received if received else 0.0)
    return Rates(outside=tuple(outside), asked=tuple(asked), calls=tuple(calls))


def replicas_of(asked: tuple[float, ...], processes: int) -> tuple[int, ...]:
    """How many processes each service gets: one, and of the rest in proportion to its requests."""
    if processes < len(asked):
        raise LocalError(f"{len(asked)} services need as many processes, not {processes}")
    spare = processes - len(asked)
    total = sum(asked)
    shares = [spare * requests / total for requests in asked]
    whole = [int(share) for share in shares]
    fullest = sorted(range(len(asked)), key=lambda service: whole[service] - shares[service])
    for service in fullest[: spare - sum(whole)]:
        whole[service] += 1
    return tuple(1 + count for count in whole)


def firsts(counts: tuple[int, ...]) -> tuple[int, ...]:
    """Where each of several groups begins if they are numbered one after the other."""
    return (0, *accumulate(counts[:-1]))


PARTS_WANTED: Final = 100_000
"""About 100,000 messages and copies are looked at, on requests chosen at random."""

PARTS_MAX: Final = 20_000
"""Larger errands are left out: each has to fit a row."""

UNASKED: Final = -1
"""What a message answers that answers nothing."""

OPENING: Final = 0
"""What a step waits for: the opening, or the answers to the step of this number, from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestStep:
    """A message that is sent on an errand."""

    waits_for: tuple[int, ...]
    delay_ns: int
    payload_bytes: int
    width: int
    """How many targets it has."""
    reply: bool
    """Whether it goes back to the sender of the opening."""
    answered: bool
    """Whether it is answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """What a process of a recording did when a message, its opening, reached it.

    It keeps what belongs together: how many calls there were, which of them waited for which
    answers, think times and sizes. The join of messages from several processes does not fit a
    pattern, which has one opening; its effects are counted to the opening that came last.
    """

    steps: tuple[RequestStep, ...]

    @property
    def calls(self) -> int:
        """How many copies of calls it sends."""
        return sum(step.width for step in self.steps if not step.reply)

    @property
    def replies(self) -> bool:
        """Whether it answers the opening."""
        return any(step.reply for step in self.steps)


def sampled_parts(structure: DataFrame, seed: int, share: float) -> DataFrame:
    """The messages sent and the copies delivered on some errands.

    In:  what `causal_structure` gives, of one run; the share of errands to take.
    Out: errand, parts: a list of (answers, rank, sender, targets, causes, delay_ns, payload_bytes),
         where answers is null for a message sent, a rank for an answer, and -1 for what else is
         delivered.
    """
    sent = structure.select("errand", part(F.lit(None).cast("long")).alias("part"))
    received = structure.select(
        "*",
        F.explode(
            F.arrays_zip(
                F.col("target_errands").alias("errand"), F.col("target_answers").alias("answers")
            )
        ).alias("copy"),
    ).select(
        F.col("copy.errand").alias("errand"),
        part(F.coalesce("copy.answers", F.lit(UNASKED))).alias("part"),
    )
    chosen = unit(seed, SAMPLE, F.col("errand")) < share
    parts = sent.unionByName(received).where(chosen)
    small = (
        parts.groupBy("errand")
        .agg(F.count("*").alias("size"))
        .where(F.col("size") <= PARTS_MAX)
        .select("errand")
    )
    return (
        parts.join(small, on="errand", how="inner")
        .groupBy("errand")
        .agg(F.collect_list("part").alias("parts"))
        .select("errand", "parts")
    )


def part(answers: Column) -> Column:
    """A message as part of an errand."""
    return F.struct(
        answers.alias("answers"),
        "rank",
        "sender",
        "targets",
        F.col("cause_ranks").alias("causes"),
        "delay_ns",
        "payload_bytes",
    )


def patterns_of(errands: Iterable[Sequence[Row]]) -> list[Pattern]:
    """The patterns of these errands, in their order and in the order of their openings."""
    return [pattern for parts in errands for pattern in split_errand(parts)]


def split_errand(parts: Sequence[Row]) -> list[Pattern]:
    """An errand as one pattern for each of its openings; sent unasked, a message opens one too."""
    heard = {row.rank: row for row in parts if row.answers is not None}
    sent = sorted((row for row in parts if row.answers is None), key=lambda row: row.rank)
    owners: dict[int, int] = {}
    for row in sent:
        owners[row.rank] = owner_of(row, heard, owners)
    groups: dict[int, list[Row]] = {
        rank: [] for rank, row in sorted(heard.items()) if row.answers == UNASKED
    }
    for row in sent:
        groups.setdefault(owners[row.rank], []).append(row)
    return [
        Pattern(steps=steps_of(rows, heard.get(opening), heard)) for opening, rows in groups.items()
    ]


def owner_of(row: Row, heard: dict[int, Row], owners: dict[int, int]) -> int:
    """The opening to which a message sent belongs: the last one before it, or a number of its own.

    Numbers of one's own are negative.
    """
    openings = [
        cause if heard[cause].answers == UNASKED else owners[heard[cause].answers]
        for cause in row.causes
    ]
    return max(openings, default=-1 - row.rank)


def steps_of(
    rows: list[Row], opening: Row | None, heard: dict[int, Row]
) -> tuple[RequestStep, ...]:
    """The messages sent after one opening, as steps."""
    number = {row.rank: place for place, row in enumerate(rows, start=1)}
    answered = {row.answers for row in heard.values()}
    return tuple(
        RequestStep(
            waits_for=tuple(
                sorted({number.get(heard[cause].answers, OPENING) for cause in row.causes})
            )
            or (OPENING,),
            # The delay of a message without causes counts from the start of the run.
            delay_ns=row.delay_ns if row.causes else 0,
            payload_bytes=row.payload_bytes,
            width=len(row.targets),
            reply=opening is not None and list(row.targets) == [opening.sender],
            answered=row.rank in answered,
        )
        for row in rows
    )


MESSAGES_MAX: Final = 4096
"""A request that has led to 4,096 messages makes no more calls."""

DEPTH_MAX: Final = 60
"""Nor does one that has been handed on 60 times."""

IDS: Final = 1 << 16
"""Every request has room for 65,536 ids."""

WORD_BITS: Final = 32
PILOT: Final = 1_000
"""1,000 requests are tried out to see how many messages come with a call."""

PILOT_FROM: Final = 1 << 40
"""They have numbers that no request of the workload has."""

Entry: TypeAlias = tuple[int, int, list[int], list[int], int, int, int]
"""A row of `GROWN`."""

GROWN: Final = StructType(
    [*WORKLOAD_ROW.fields, StructField("ready_ns", LongType(), nullable=False)]
)
"""A workload, and when each message leaves over a network that takes no time."""

AT_ONCE: Final = RequestStep(
    waits_for=(OPENING,), delay_ns=0, payload_bytes=0, width=1, reply=True, answered=False
)
"""How a request is answered for which no recorded pattern fits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestModel:
    """Everything that requests depend on; plain data, as it travels to Python workers."""

    graph: ServiceGraph
    rates: Rates
    replicas: tuple[int, ...]
    firsts: tuple[int, ...]
    """The first process of each service; its replicas follow."""
    patterns: tuple[Pattern, ...]
    period_ns: int
    """Requests enter within this time."""
    speed: float
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceVisit:
    """A request at one service."""

    service: int
    process: int
    start_ns: int
    depth: int = 0
    opening: int | None = None
    """The message that brought it; None: it came from outside."""
    opener: int | None = None
    wanted: bool = False
    """Whether the opener waits for an answer."""


class Requests:
    """Makes requests one by one."""

    def __init__(self, model: RequestModel) -> None:
        self._model = model
        self._chance = KeyedRandom(model.seed, WORKLOAD)
        self._entries = list(accumulate(model.rates.outside))
        self._weights = [list(accumulate(calls)) for calls in model.graph.calls]
        self._pools = pools_of(model.patterns)
        self._means = calls_means(self._pools)
        self._rows: list[Entry] = []
        self._first_id = 0
        self.calls = 0
        """How many copies of calls there were so far."""

    def rows(self, number: int) -> list[Entry]:
        """The messages of one request, causes before effects."""
        self._chance.key(number, number >> WORD_BITS)
        self._rows = []
        self._first_id = number * IDS
        start_ns = (self._chance.word() * self._model.period_ns) >> WORD_BITS
        service = bisect_right(self._entries, self._chance.unit() * self._entries[-1])
        self._handle(ServiceVisit(service=service, process=self._place(service), start_ns=start_ns))
        return self._rows

    def _handle(self, visit: ServiceVisit) -> list[int]:
        """Do what a pattern says; the messages that answer the opening are returned."""
        answers: list[list[int]] = [[]]
        replies: list[int] = []
        for step in self._pattern(visit).steps:
            causes = causes_of(step, visit, answers)
            if not step.reply:
                answers.append(self._call(visit, step, causes))
                continue
            answers.append([])
            if visit.opener is not None:
                replies.append(self._send(visit, step, [visit.opener], causes))
        if visit.wanted and visit.opener is not None and not replies:
            heard = sorted({answer for group in answers for answer in group})
            causes = heard or causes_of(AT_ONCE, visit, answers)
            replies.append(self._send(visit, AT_ONCE, [visit.opener], causes))
        return replies

    def _pattern(self, visit: ServiceVisit) -> Pattern:
        calls = self._model.rates.calls[visit.service]
        lucky = self._chance.unit() * self._means[visit.wanted] < calls
        calling = lucky or visit.opening is None
        pool = self._pools[visit.wanted, calling and visit.depth < DEPTH_MAX]
        return pool[self._chance.below(len(pool))]

    def _call(self, visit: ServiceVisit, step: RequestStep, causes: list[int]) -> list[int]:
        """Call as many services as the step is wide; what they answer is returned."""
        weights = self._weights[visit.service]
        if not weights or len(self._rows) >= MESSAGES_MAX:
            return []
        called: dict[int, int] = {}
        for _ in range(step.width):
            child = bisect_right(weights, self._chance.unit() * weights[-1])
            service = self._model.graph.children[visit.service][child]
            called[self._place(service)] = service
        message = self._send(visit, step, list(called), causes)
        self.calls += len(called)
        answers: list[int] = []
        for process, service in called.items():
            answers += self._handle(
                ServiceVisit(
                    service=service,
                    process=process,
                    start_ns=visit.start_ns,
                    depth=visit.depth + 1,
                    opening=message,
                    opener=visit.process,
                    wanted=step.answered,
                )
            )
        return answers

    def _send(
        self, visit: ServiceVisit, step: RequestStep, targets: list[int], causes: list[int]
    ) -> int:
        speed = self._model.speed
        delay_ns = int((step.delay_ns if causes else visit.start_ns + step.delay_ns) / speed)
        ready_ns = delay_ns
        if causes:
            ready_ns += max(self._rows[cause - self._first_id][-1] for cause in causes)
        message = self._first_id + len(self._rows)
        size = step.payload_bytes
        self._rows.append((message, visit.process, targets, causes, delay_ns, size, ready_ns))
        assert len(self._rows) <= IDS, "calls stop long before"
        return message

    def _place(self, service: int) -> int:
        replica = self._chance.below(self._model.replicas[service])
        return int(self._model.firsts[service] + replica)


def causes_of(step: RequestStep, visit: ServiceVisit, answers: Sequence[list[int]]) -> list[int]:
    """What a step waits for, as messages; if those answers do not exist, for the opening."""
    causes = {answer for number in step.waits_for for answer in answers[number]}
    if visit.opening is not None and (OPENING in step.waits_for or not causes):
        causes.add(visit.opening)
    return sorted(causes)


def pools_of(patterns: Sequence[Pattern]) -> dict[tuple[bool, bool], list[Pattern]]:
    """The patterns by whether they reply and whether they call; others where there are none."""
    pools: dict[tuple[bool, bool], list[Pattern]] = {}
    for calling in (False, True):
        alike = [pattern for pattern in patterns if (pattern.calls > 0) == calling]
        for replying in (False, True):
            exact = [pattern for pattern in alike if pattern.replies == replying]
            pools[replying, calling] = exact or alike or [Pattern(steps=())]
    return pools


def calls_means(pools: dict[tuple[bool, bool], list[Pattern]]) -> dict[bool, float]:
    """How many calls a pattern that calls at all makes on average, by whether it replies."""
    means: dict[bool, float] = {}
    for replying in (False, True):
        pool = pools[replying, True]
        means[replying] = sum(pattern.calls for pattern in pool) / len(pool)
    if not min(means.values()) > 0:
        raise LocalError("nothing in the recording calls anything: there is no pattern to follow")
    return means


def calls_inside(patterns: Sequence[Pattern]) -> float:
    """How many calls patterns that call at all make on average, as often as calls want answers."""
    means = calls_means(pools_of(patterns))
    widths = [0, 0]
    for pattern in patterns:
        for step in pattern.steps:
            widths[step.answered] += 0 if step.reply else step.width
    return (widths[False] * means[False] + widths[True] * means[True]) / sum(widths)


def messages_mean(model: RequestModel) -> float:
    """How many messages a request leads to on average.

    How many calls it leads to is known, and how many messages come with a call is tried out: a few
    requests are so large that trying would not tell how many calls there are on average.
    """
    calls = sum(map(sum, model.graph.calls)) / sum(model.rates.outside)
    requests = Requests(model)
    messages = sum(len(requests.rows(PILOT_FROM + number)) for number in range(PILOT))
    return calls * messages / max(1, requests.calls)


def grown_requests(numbers: DataFrame, model: RequestModel) -> DataFrame:
    """The messages of these requests.

    In:  id, the number of a request.
    Out: `GROWN`.
    """
    return numbers.select("id").mapInArrow(named(maker_of(model)), GROWN)


def maker_of(model: RequestModel) -> Callable[[Iterable[ArrowBatch]], Iterator[ArrowBatch]]:
    """What a Python worker does with a batch of request numbers."""

    def requests_made(batches: Iterable[ArrowBatch]) -> Iterator[ArrowBatch]:
        requests = Requests(model)
        schema = to_arrow_schema(GROWN)
        for batch in batches:
            rows = [
                row for number in batch.column("id").to_pylist() for row in requests.rows(number)
            ]
            columns = list(zip(*rows, strict=True)) if rows else [()] * len(schema)
            arrays = [pa.array(one, kind) for one, kind in zip(columns, schema.types, strict=True)]
            yield pa.record_batch(arrays, schema=schema)

    return requests_made
