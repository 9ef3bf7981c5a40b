"""Grown requests: possible, repeatable, and as frequent as the graph says."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from antecede.core.errors import LocalError
from antecede_audit.eventlog.workload import WorkloadRow, check_workload
from antecede_lab.grow.requests import (
    DEPTH_MAX,
    MESSAGES_MAX,
    Entry,
    Pattern,
    RequestModel,
    Requests,
    RequestStep,
    calls_inside,
    calls_means,
    firsts,
    graph_of,
    grown_requests,
    messages_mean,
    pools_of,
    rates_of,
    replicas_of,
)
from tests.antecede_audit.measure.profile import slowly
from tests.antecede_lab.grow.test_service_graph import SHOP, edges


def step(
    *waits_for: int, delay_ns: int = 5, width: int = 1, reply: bool = False, answered: bool = False
) -> RequestStep:
    return RequestStep(
        waits_for=waits_for or (0,),
        delay_ns=delay_ns,
        payload_bytes=7,
        width=width,
        reply=reply,
        answered=answered,
    )


ONE_CALL = Pattern(steps=(step(answered=True), step(1, reply=True)))
TWO_CALLS = Pattern(steps=(step(answered=True), step(answered=True), step(1, 2, reply=True)))
ANSWER = Pattern(steps=(step(delay_ns=3, reply=True),))
START = Pattern(steps=(step(delay_ns=0, answered=True), step(1, answered=True)))
TELL = Pattern(steps=(step(width=2),))
SINK = Pattern(steps=())
SERVICES = (ONE_CALL, TWO_CALLS, ANSWER, START)

patterns = st.lists(
    st.sampled_from([ONE_CALL, TWO_CALLS, ANSWER, START, TELL, SINK]), min_size=1, max_size=5
).filter(lambda found: any(pattern.calls for pattern in found))


def model(
    found: list[tuple[str, str, int]],
    known: tuple[Pattern, ...] = SERVICES,
    processes: int = 40,
    seed: int = 1,
    speed: float = 1.0,
) -> RequestModel:
    graph = graph_of(found)
    rates = rates_of(graph, calls_means(pools_of(known))[False], calls_inside(known))
    replicas = replicas_of(rates.asked, processes)
    return RequestModel(
        graph=graph,
        rates=rates,
        replicas=replicas,
        firsts=firsts(replicas),
        patterns=known,
        period_ns=1_000_000,
        speed=speed,
        seed=seed,
    )


def service_of(place: RequestModel, process: int) -> int:
    return max(n for n, first in enumerate(place.firsts) if first <= process)


def as_workload(rows: list[Entry]) -> list[WorkloadRow]:
    return [
        WorkloadRow(
            message_id=one,
            sender=sender,
            targets=tuple(targets),
            causes=tuple(causes),
            delay_ns=delay_ns,
            payload_bytes=size,
        )
        for one, sender, targets, causes, delay_ns, size, _ in rows
    ]


@settings(max_examples=60)
@given(found=edges, known=patterns, seed=st.integers(0, 1 << 40))
def test_requests_can_be_performed(
    found: list[tuple[str, str, int]], known: list[Pattern], seed: int
) -> None:
    place = model(found, tuple(known), seed=seed)
    requests = Requests(place)
    rows = as_workload([row for number in range(5) for row in requests.rows(number)])
    if rows:
        check_workload(rows)
    everybody = {process for row in rows for process in (row.sender, *row.targets)}
    assert everybody <= set(range(40))


def test_a_request_depends_on_its_number_and_the_seed_only() -> None:
    forth = Requests(model(SHOP))
    back = Requests(model(SHOP))
    numbers = [0, 1, 2, 77, 1 << 33]
    assert {n: forth.rows(n) for n in numbers} == {n: back.rows(n) for n in reversed(numbers)}
    assert forth.rows(0) != Requests(model(SHOP, seed=2)).rows(0)
    assert [row[1:] for row in forth.rows(0)] != [row[1:] for row in forth.rows(1 << 33)]


def test_edges_are_called_as_often_as_the_graph_says() -> None:
    """The shop has no circles, so what goes along an edge is a call, and against it a reply."""
    place = model(SHOP)
    requests = Requests(place)
    names = place.graph.names
    counts: Counter[tuple[str, str]] = Counter()
    for number in range(20_000):
        for _, sender, [target], *_ in requests.rows(number):
            counts[names[service_of(place, sender)], names[service_of(place, target)]] += 1
    total = sum(counts[parent, child] for parent, child, _ in SHOP)
    for parent, child, count in SHOP:
        expected = total * count / sum(count for _, _, count in SHOP)
        assert counts[parent, child] == pytest.approx(expected, rel=0.05)
        assert counts[child, parent] == counts[parent, child], "every call is answered"
    assert len(counts) == 2 * len(SHOP)


def test_answers_go_back_to_the_very_process_that_asked() -> None:
    place = model(SHOP)
    requests = Requests(place)
    for number in range(60):
        rows = as_workload(requests.rows(number))
        _, answers = slowly.errands_and_answers(rows)
        assert len(answers) == len(rows) / 2
        assert len(set(answers.values())) == len(rows) / 2, "every call has an answer of its own"


def test_times_add_up_along_causes() -> None:
    for speed in (1.0, 2.0):
        for _, _, _, causes, delay_ns, _, ready_ns in Requests(model(SHOP, speed=speed)).rows(3):
            if not causes:
                assert ready_ns == delay_ns < 1_000_000 / speed
            else:
                assert ready_ns >= delay_ns
    slow = Requests(model(SHOP)).rows(3)
    fast = Requests(model(SHOP, speed=1000.0)).rows(3)
    assert max(row[4] for row in fast) <= max(row[4] for row in slow) / 1000


def test_circles_and_floods_end() -> None:
    """A service that calls itself, and patterns that call a thousand times."""
    flood = Pattern(steps=tuple(step() for _ in range(1000)))
    place = model([("a", "a", 1000)], (flood, SINK), processes=3)
    sizes = [len(Requests(place).rows(number)) for number in range(3)]
    assert max(sizes) <= MESSAGES_MAX
    assert DEPTH_MAX < 100, "each hand-over is a call of Python"


def test_without_calls_there_is_nothing_to_follow() -> None:
    with pytest.raises(LocalError, match="calls anything"):
        calls_means(pools_of([ANSWER, SINK]))


def test_a_call_that_wants_an_answer_gets_one_even_where_nobody_replied() -> None:
    """The only pattern that replies makes calls; at a leaf of the graph none fits."""
    place = model([("a", "b", 10)], (ONE_CALL, START), processes=2)
    rows = Requests(place).rows(0)
    assert [row[2] for row in rows] == [[1], [0]] * (len(rows) // 2)


def test_spark_makes_the_same_requests(spark: SparkSession) -> None:
    place = model(SHOP)
    requests = Requests(place)
    expected = [row for number in range(50) for row in requests.rows(number)]
    for partitions in (1, 3):
        made = grown_requests(spark.range(50).repartition(partitions), place).collect()
        assert sorted(tuple(one) for one in made) == sorted(expected)
    assert messages_mean(place) == pytest.approx(len(expected) / 50, rel=0.3)
