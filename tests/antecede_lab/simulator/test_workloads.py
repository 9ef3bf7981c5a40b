"""The workloads: each sends what it says, reacts as it says, and completes over every protocol."""

from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import pytest

from antecede.core.errors import LocalError
from antecede.eventlog.schema import Event
from antecede.network_model.faults import Faults
from antecede.network_model.latency import Constant, Uniform
from antecede_audit.judging.oracle import check_log
from antecede_lab.catalogue import PROTOCOLS
from antecede_lab.simulator.fit import check_workload
from antecede_lab.simulator.run import RunResult, simulate
from antecede_lab.simulator.workloads import (
    Broadcast,
    Groups,
    Pipeline,
    Poisson,
    RequestReply,
    ServiceDag,
    Workload,
    layered_services,
)
from antecede_lab.simulator.workloads.catalogue import WORKLOADS, TrafficSettings, build_workload
from antecede_lab.simulator.workloads.groups import ring_of_groups
from antecede_lab.simulator.workloads.service_dag import calls_per_request

MS = 1_000_000
ROUGH = Faults(latency=Uniform(0, 2 * MS), loss=0.05, duplication=0.05)
SYNTHETIC = [name for name in WORKLOADS if name != "replay"]


def carries(protocol: str, workload: Workload) -> bool:
    try:
        check_workload(PROTOCOLS[protocol], workload)
    except LocalError:
        return False
    return True


def built(name: str, messages: int = 60) -> Workload:
    return build_workload(
        name, TrafficSettings(processes=6, messages=messages, interval_ns=MS, seed=2)
    )


@pytest.mark.parametrize("name", SYNTHETIC)
def test_a_workload_completes_over_every_protocol_that_can_carry_it(name: str) -> None:
    carried = 0
    for protocol, info in PROTOCOLS.items():
        workload = built(name)
        if not carries(protocol, workload):
            continue
        carried += 1
        result = simulate(
            protocol, workload, faults=ROUGH, patience_ns=10 * MS, link=True, record=True
        )
        assert result.leftovers.empty, protocol
        assert result.refused == 0, protocol
        assert result.messages >= 10
        verdict = check_log(result.log or [])
        assert [*verdict.losses, *verdict.duplicates, *verdict.inventions] == []
        assert info.ordering != "causal" or verdict.violations == []
    assert carried >= 5


@pytest.mark.parametrize("name", SYNTHETIC)
def test_messages_means_messages_in_every_workload(name: str) -> None:
    """As nearly as the workload can tell beforehand."""
    assert 0.85 <= simulate("none", built(name, 1000)).messages / 1000 <= 1.15


def submitted(result: RunResult) -> list[Event]:
    return [event for event in result.log or [] if event.kind == "submitted"]


def recorded(workload: Workload, protocol: str = "none", handling_ns: int = 0) -> RunResult:
    faults = Faults(latency=Constant(MS))
    return simulate(protocol, workload, faults=faults, record=True, handling_ns=handling_ns)


# Poisson.


def test_poisson_processes_send_at_their_rate_to_everybody_else() -> None:
    rows = submitted(recorded(Poisson(5, messages=2000, interval_ns=MS, seed=1)))

    assert len(rows) == 2000
    assert 360 * MS < rows[-1].time_ns < 440 * MS
    assert all(350 < count < 450 for count in Counter(row.sender for row in rows).values())
    pairs = Counter((row.sender, row.target) for row in rows)
    assert len(pairs) == 20
    assert min(pairs.values()) > 60


def test_favourites_are_the_next_processes() -> None:
    rows = submitted(recorded(Poisson(9, messages=500, interval_ns=MS, seed=1, favourites=2)))

    assert {((row.target or 0) - row.process) % 9 for row in rows} == {1, 2}


def test_zipf_makes_low_ids_popular() -> None:
    rows = submitted(recorded(Poisson(10, messages=2000, interval_ns=MS, seed=1, zipf=1.2)))
    targets = Counter(row.target for row in rows)

    assert targets[0] > 3 * targets[4] > 3 * targets[9] / 2 > 0
    assert all(row.target != row.sender for row in rows)


def test_a_share_of_poisson_messages_are_multicasts() -> None:
    workload = Poisson(8, messages=1000, interval_ns=MS, seed=1, multicast=0.3, fan_out=4)
    rows = submitted(recorded(workload))
    sizes = Counter(Counter((row.sender, row.sequence) for row in rows).values())

    assert workload.multicasts
    assert 0.25 < sizes[4] / 1000 < 0.35
    assert sizes[1] + sizes[4] > 950, "now and then chance finds fewer targets"


def test_only_a_multicasting_workload_says_so() -> None:
    assert not Poisson(8, messages=1, interval_ns=1, seed=1).multicasts
    assert not Poisson(2, messages=1, interval_ns=1, seed=1, multicast=1.0).multicasts
    assert Broadcast(3, messages=1, interval_ns=1, seed=1).multicasts
    assert not Broadcast(2, messages=1, interval_ns=1, seed=1).multicasts
    assert not Groups(4, posts=1, interval_ns=1, seed=1, groups=2, size=2).multicasts
    assert Groups(4, posts=1, interval_ns=1, seed=1, groups=2, size=4).broadcasts


# Request and reply.


def test_every_request_gets_one_reply_and_a_client_waits_for_it() -> None:
    workload = RequestReply(
        6, requests=100, think_ns=MS, seed=1, servers=2, payload_bytes=10, reply_bytes=20
    )
    rows = submitted(recorded(workload))

    assert len(rows) == 200
    requests = [row for row in rows if row.process >= 2]
    assert Counter(row.payload_bytes for row in rows) == {10: 100, 20: 100}
    assert {row.target for row in requests} == {0, 1}
    assert Counter(row.process for row in requests) == {2: 25, 3: 25, 4: 25, 5: 25}
    for client in range(2, 6):
        times = [row.time_ns for row in requests if row.process == client]
        assert all(later - earlier >= 2 * MS for earlier, later in pairwise(times))


def test_uneven_requests_are_shared_as_evenly_as_possible() -> None:
    rows = submitted(recorded(RequestReply(4, requests=10, think_ns=MS, seed=1)))

    assert Counter(row.process for row in rows if row.process) == {1: 4, 2: 3, 3: 3}


# A pipeline.


def test_items_go_through_all_stages_in_turn() -> None:
    rows = submitted(recorded(Pipeline(4, items=20, interval_ns=MS, seed=1), "fifo"))

    assert Counter((row.process, row.target) for row in rows) == {
        (0, 1): 20,
        (1, 2): 20,
        (2, 3): 20,
    }
    entered = [row.time_ns for row in rows if row.process == 0]
    assert [row.time_ns for row in rows if row.process == 2] == [t + 2 * MS for t in entered]


# A graph of services.


def test_a_request_fans_out_and_in() -> None:
    """0 calls 1 and 2, both call 3; 3 answers each, they answer 0."""
    workload = ServiceDag([[1, 2], [3], [3], []], requests=1, interval_ns=MS, seed=1)
    rows = submitted(recorded(workload))
    start_ns = rows[0].time_ns

    assert [(row.process, row.target, row.time_ns - start_ns) for row in rows] == [
        (0, 1, 0),
        (0, 2, 0),
        (1, 3, MS),
        (2, 3, MS),
        (3, 1, 2 * MS),
        (3, 2, 2 * MS),
        (1, 0, 3 * MS),
        (2, 0, 3 * MS),
    ]


def test_a_service_replies_only_when_its_last_child_has() -> None:
    """0 calls 1; 1 calls 2 and 3; 3 calls 4 and is slower than 2."""
    workload = ServiceDag([[1], [2, 3], [], [4], []], requests=1, interval_ns=MS, seed=1)
    rows = submitted(recorded(workload))

    assert (rows[-1].process, rows[-1].target) == (1, 0)
    assert rows[-1].time_ns - rows[0].time_ns == 5 * MS


def test_layers_of_services_share_children() -> None:
    assert layered_services(8, 2, 2) == [[1, 2], [4, 5], [6, 7], [4, 5], [], [], [], []]
    assert calls_per_request([[1, 2], [3], [3], []]) == 4
    for processes in range(2, 20):
        for layers in range(1, min(4, processes)):
            children = layered_services(processes, layers, 3)
            assert len(children) == processes
            assert calls_per_request(children) >= layers


# Groups.


def test_groups_overlap_with_their_neighbours() -> None:
    assert ring_of_groups(6, 3, 3) == [[0, 1, 2], [2, 3, 4], [4, 5, 0]]


def test_messages_go_to_a_group_of_the_sender_and_are_answered_there() -> None:
    workload = Groups(6, posts=200, interval_ns=MS, seed=1, groups=3, size=3, reply=0.5)
    rows = submitted(recorded(workload))
    groups = [frozenset(members) for members in ring_of_groups(6, 3, 3)]
    reached: dict[tuple[int | None, int | None], set[int | None]] = {}
    for row in rows:
        reached.setdefault((row.sender, row.sequence), {row.sender}).add(row.target)

    assert all(people in groups for people in reached.values())
    assert 340 < len(reached) < 460, "a post and its answers are two messages on average"


def test_without_replies_a_group_only_hears_posts() -> None:
    result = recorded(Groups(6, posts=50, interval_ns=MS, seed=1, reply=0.0))

    assert result.messages == 50


def test_even_a_group_that_always_answers_falls_silent() -> None:
    result = recorded(Groups(3, posts=2, interval_ns=MS, seed=1, groups=1, size=3, reply=1.0))

    assert result.messages == 2 * 64
    assert result.leftovers.empty


def test_who_answers_does_not_depend_on_the_protocol() -> None:
    def conversation(protocol: str) -> Counter[tuple[int, int | None]]:
        workload = Groups(6, posts=50, interval_ns=MS, seed=1, reply=0.7)
        rows = submitted(recorded(workload, protocol))
        return Counter((row.process, row.target) for row in rows)

    assert conversation("hybrid") == conversation("rst") == conversation("none")


# Broadcast.


def test_a_broadcast_goes_to_everybody_else() -> None:
    rows = submitted(recorded(Broadcast(4, messages=50, interval_ns=MS, seed=1)))
    targets: dict[tuple[int, int | None], list[int | None]] = {}
    for row in rows:
        targets.setdefault((row.process, row.sequence), []).append(row.target)

    assert len(targets) == 50
    for (process, _), reached in targets.items():
        assert reached == [other for other in range(4) if other != process]


# The catalogue, and what is refused.


def test_settings_come_as_text_or_as_numbers() -> None:
    traffic = TrafficSettings(processes=6, messages=100, seed=1)
    as_text = build_workload("groups", traffic, {"groups": "2", "size": "5", "reply": "25%"})
    as_numbers = build_workload("groups", traffic, {"groups": 2, "size": 5, "reply": 0.25})

    assert submitted(recorded(as_text)) == submitted(recorded(as_numbers))


@pytest.mark.parametrize(
    ("name", "given", "complaint"),
    [
        ("gossip", {}, "no workload is called 'gossip'; there are poisson"),
        ("poisson", {"colour": "blue"}, "poisson has no setting 'colour'; it has: favourites"),
        ("pipeline", {"colour": "blue"}, "it has: none"),
        ("poisson", {"favourites": "few"}, "favourites: 'few' is not a count"),
        ("poisson", {"zipf": "steep"}, "zipf: 'steep' is not a number"),
        ("replay", {}, "replay needs its setting file"),
        ("replay", {"file": "/no/such/table.jsonl"}, "no such file"),
    ],
)
def test_a_name_or_setting_that_makes_no_sense_is_refused(
    name: str, given: dict[str, str], complaint: str
) -> None:
    with pytest.raises(LocalError, match=complaint):
        build_workload(name, TrafficSettings(), given)


@pytest.mark.parametrize(
    "build",
    [
        lambda: Poisson(1, messages=1, interval_ns=1, seed=1),
        lambda: Poisson(1 << 80, messages=1, interval_ns=1, seed=1),
        lambda: Poisson(2, messages=0, interval_ns=1, seed=1),
        lambda: Poisson(2, messages=1 << 80, interval_ns=1, seed=1),
        lambda: Poisson(2, messages=1, interval_ns=0, seed=1),
        lambda: Poisson(2, messages=1, interval_ns=1 << 60, seed=1),
        lambda: Poisson(2, messages=1, interval_ns=1, seed=1, payload_bytes=-1),
        lambda: Poisson(2, messages=1, interval_ns=1, seed=1, payload_bytes=1 << 21),
        lambda: Poisson(4, messages=1, interval_ns=1, seed=1, favourites=1, zipf=1.0),
        lambda: Poisson(4, messages=1, interval_ns=1, seed=1, favourites=-1),
        lambda: Poisson(4, messages=1, interval_ns=1, seed=1, multicast=1.5),
        lambda: Poisson(4, messages=1, interval_ns=1, seed=1, multicast=0.5, fan_out=0),
        lambda: RequestReply(3, requests=1, think_ns=1, seed=1, servers=3),
        lambda: RequestReply(3, requests=1, think_ns=1, seed=1, servers=0),
        lambda: RequestReply(3, requests=1, think_ns=1, seed=1, reply_bytes=-1),
        lambda: Pipeline(1, items=1, interval_ns=1, seed=1),
        lambda: Groups(4, posts=1, interval_ns=1, seed=1, groups=0),
        lambda: Groups(4, posts=1, interval_ns=1, seed=1, size=1),
        lambda: Groups(4, posts=1, interval_ns=1, seed=1, size=5),
        lambda: Groups(4, posts=1, interval_ns=1, seed=1, reply=1.1),
        lambda: ServiceDag([[1], [0]], requests=1, interval_ns=1, seed=1),
        lambda: ServiceDag([[1], [2]], requests=1, interval_ns=1, seed=1),
        lambda: ServiceDag([[0], []], requests=1, interval_ns=1, seed=1),
        lambda: ServiceDag([[], []], requests=1, interval_ns=1, seed=1),
        lambda: ServiceDag(layered_services(100, 8, 10), requests=1, interval_ns=1, seed=1),
        lambda: ServiceDag(layered_services(4, 4, 2), requests=1, interval_ns=1, seed=1),
    ],
)
def test_a_workload_that_makes_no_sense_is_refused(build: Callable[[], Workload]) -> None:
    with pytest.raises(LocalError):
        build()
