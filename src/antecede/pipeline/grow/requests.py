"""Grown requests: each enters at a service of the graph and does there what was recorded elsewhere.

A request depends on the seed and its own number only, so it does not matter which task makes it.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import LongType, StructField, StructType

from antecede.core.errors import LocalError
from antecede.link.keyed_random import WORKLOAD, KeyedRandom
from antecede.pipeline.grow.errands import OPENING, Pattern, Step
from antecede.pipeline.grow.service_graph import Rates, ServiceGraph
from antecede.pipeline.schemas import WORKLOAD as WORKLOAD_ROW
from antecede.trace.parquet import ArrowBatch

MESSAGES_MAX: Final = 4096
"""A request that has led to so many messages makes no more calls."""

DEPTH_MAX: Final = 60
"""Nor does one that has been handed on so often."""

IDS: Final = 1 << 16
"""Every request has room for so many ids."""

WORD_BITS: Final = 32
PILOT: Final = 1_000
"""So many requests are tried out to see how many messages come with a call."""

PILOT_FROM: Final = 1 << 40
"""They have numbers that no request of the workload has."""

Entry: TypeAlias = tuple[int, int, list[int], list[int], int, int, int]
"""A row of `GROWN`."""

GROWN: Final = StructType(
    [*WORKLOAD_ROW.fields, StructField("ready_ns", LongType(), nullable=False)]
)
"""A workload, and when each message leaves over a network that takes no time."""

AT_ONCE: Final = Step(
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
class Visit:
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
        self._handle(Visit(service=service, process=self._place(service), start_ns=start_ns))
        return self._rows

    def _handle(self, visit: Visit) -> list[int]:
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

    def _pattern(self, visit: Visit) -> Pattern:
        calls = self._model.rates.calls[visit.service]
        lucky = self._chance.unit() * self._means[visit.wanted] < calls
        calling = lucky or visit.opening is None
        pool = self._pools[visit.wanted, calling and visit.depth < DEPTH_MAX]
        return pool[self._chance.below(len(pool))]

    def _call(self, visit: Visit, step: Step, causes: list[int]) -> list[int]:
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
                Visit(
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

    def _send(self, visit: Visit, step: Step, targets: list[int], causes: list[int]) -> int:
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


def causes_of(step: Step, visit: Visit, answers: Sequence[list[int]]) -> list[int]:
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
    return numbers.select("id").mapInArrow(maker_of(model), GROWN)


def maker_of(model: RequestModel) -> Callable[[Iterable[ArrowBatch]], Iterator[ArrowBatch]]:
    """What a Python worker does with a batch of request numbers."""

    def made(batches: Iterable[ArrowBatch]) -> Iterator[ArrowBatch]:
        requests = Requests(model)
        schema = to_arrow_schema(GROWN)
        for batch in batches:
            rows = [
                row for number in batch.column("id").to_pylist() for row in requests.rows(number)
            ]
            columns = list(zip(*rows, strict=True)) if rows else [()] * len(schema)
            arrays = [pa.array(one, kind) for one, kind in zip(columns, schema.types, strict=True)]
            yield pa.record_batch(arrays, schema=schema)

    return made
