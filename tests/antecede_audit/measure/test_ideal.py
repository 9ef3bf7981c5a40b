"""The yardstick against RST, which delivers as soon as causal order allows, to the nanosecond."""

from collections.abc import Callable

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede.network_model.faults import Faults
from antecede.network_model.latency import Exponential, Latency, Lognormal, Uniform
from antecede_audit.eventlog.workload import WorkloadRow
from antecede_audit.measure.non_causal import (
    RunCopies,
    ideal_deliveries,
    lateness,
    lateness_of_stretch,
)
from antecede_lab.comparison.latency import CopyTimes
from antecede_lab.simulator.engine import Simulation
from antecede_lab.simulator.run import fitted
from antecede_lab.simulator.workloads import (
    Groups,
    Poisson,
    Replay,
    RequestReply,
    ServiceDag,
    Workload,
)
from antecede_lab.simulator.workloads.service_dag import layered_services

MS = 1_000_000

WORKLOADS: dict[str, Callable[[int], Workload]] = {
    "poisson": lambda seed: Poisson(6, messages=400, interval_ns=MS, seed=seed),
    "multicast": lambda seed: Poisson(6, messages=300, interval_ns=MS, seed=seed, multicast=0.4),
    "chains": lambda seed: chains(seed),
}
REACTING: dict[str, Callable[[int], Workload]] = {
    "groups": lambda seed: Groups(7, posts=80, interval_ns=MS, seed=seed, groups=4),
    "services": lambda seed: ServiceDag(
        layered_services(7, 2, 2), requests=60, interval_ns=MS, seed=seed
    ),
    "requests": lambda seed: RequestReply(6, requests=150, think_ns=MS, seed=seed, servers=2),
}
"""These answer at the very moment of a delivery."""


def chains(seed: int) -> Replay:
    """Every message but each fifth answers the one before it after a while."""
    rows: list[WorkloadRow] = []
    for number in range(300):
        sender = (number + seed) % 5
        answers = number % 5 > 0
        rows.append(
            WorkloadRow(
                message_id=number,
                sender=sender,
                targets=((sender + 1) % 5, (sender + 2 + number % 3) % 5)
                if number % 3 < 2
                else ((sender + 1) % 5,),
                causes=(number - 1,) if answers else (),
                delay_ns=1 + 137 * number if answers else number * MS // 2,
            )
        )
    return Replay(rows)


def watched(protocol: str, workload: Workload, latency: Latency, seed: int) -> CopyTimes:
    """The copies of a run over a network that loses nothing and keeps no order."""
    faults = Faults(latency=latency)
    times = CopyTimes(int(workload.processes))
    info = fitted(protocol, workload, faults, link=True)
    Simulation(info, workload, faults=faults, seed=seed, observers=[times]).run()
    return times


def same_submissions(times: CopyTimes, processes: int) -> Replay:
    """A workload that submits the same messages at the same times, whatever is delivered."""
    targets: dict[tuple[int, int], list[int]] = {}
    when: dict[tuple[int, int], int] = {}
    for (sender, sequence, target), copy in times.copies.items():
        targets.setdefault((sender, sequence), []).append(target)
        when[sender, sequence] = int(copy.submitted_ns)
    in_order = sorted(when, key=lambda message: (when[message], message))
    return Replay(
        [
            WorkloadRow(
                message_id=number,
                sender=message[0],
                targets=tuple(targets[message]),
                delay_ns=when[message],
            )
            for number, message in enumerate(in_order)
        ],
        processes=processes,
    )


def columns_of(times: CopyTimes) -> RunCopies:
    keys = list(times.copies)
    copies = list(times.copies.values())
    return RunCopies(
        sender=[sender for sender, _, _ in keys],
        sequence=[sequence for _, sequence, _ in keys],
        target=[target for _, _, target in keys],
        submitted_ns=[int(copy.submitted_ns) for copy in copies],
        travel_ns=[int(copy.arrived_ns - copy.left_ns) for copy in copies],
    )


@pytest.mark.parametrize("kind", WORKLOADS)
@pytest.mark.parametrize("protocol", ["hybrid", "none", "rst"])
def test_ideal_times_are_those_of_rst_for_the_same_submissions(protocol: str, kind: str) -> None:
    for seed, latency in enumerate((Uniform(0, 3 * MS), Exponential(MS), Lognormal(MS, 1.5))):
        run = watched(protocol, WORKLOADS[kind](seed), latency, seed)
        processes = int(WORKLOADS[kind](seed).processes)
        rst = watched("rst", same_submissions(run, processes), latency, seed)

        ideal = dict(zip(run.copies, ideal_deliveries(columns_of(run)), strict=True))
        assert ideal == {key: int(copy.delivered_ns) for key, copy in rst.copies.items()}


@pytest.mark.parametrize("kind", WORKLOADS | REACTING)
def test_rst_delivers_nothing_later_than_the_ideal(kind: str) -> None:
    workload = (WORKLOADS | REACTING)[kind]
    for seed, latency in enumerate((Uniform(0, 3 * MS), Exponential(MS), Lognormal(MS, 1.5))):
        run = watched("rst", workload(seed), latency, seed)
        assert ideal_deliveries(columns_of(run)) == [
            int(copy.delivered_ns) for copy in run.copies.values()
        ]


@pytest.mark.parametrize("kind", WORKLOADS)
def test_a_stretch_of_a_run_tells_what_the_whole_does(kind: str) -> None:
    """As far as flights are shorter than the part of it that is only the past of the rest."""
    for seed, latency in enumerate((Uniform(0, 3 * MS), Exponential(MS))):
        run = watched("none", WORKLOADS[kind](seed), latency, seed)
        copies = columns_of(run)
        delivered_ns = [int(copy.delivered_ns) for copy in run.copies.values()]
        every = {name: getattr(copies, name) for name in RunCopies.__dataclass_fields__}
        whole = lateness(pa.table({**every, "delivered_ns": delivered_ns}))
        in_order = sorted(range(len(whole)), key=lambda copy: copies.submitted_ns[copy])
        chosen = in_order[len(whole) // 4 : 3 * len(whole) // 4]
        first_ns = copies.submitted_ns[chosen[len(chosen) // 2]]
        columns = {
            name: [getattr(copies, name)[copy] for copy in chosen]
            for name in RunCopies.__dataclass_fields__
        }
        run_id = pa.array(["r"] * len(chosen))
        found = lateness_of_stretch(
            pa.table(
                {
                    **columns,
                    "run_id": run_id,
                    "delivered_ns": [delivered_ns[copy] for copy in chosen],
                    "first_ns": pa.array([first_ns] * len(chosen)),
                }
            )
        )

        counting = [copy for copy in chosen if copies.submitted_ns[copy] >= first_ns]
        assert found["non_causal_ns"].to_pylist() == [whole[copy] for copy in counting]
        assert any(whole[copy] for copy in counting), "some came too early"


def of_copies(*copies: tuple[int, int, int, int, int]) -> RunCopies:
    """Sender, sequence, target, submitted, travel of each."""
    columns = list(zip(*copies, strict=True))
    return RunCopies(
        sender=columns[0],
        sequence=columns[1],
        target=columns[2],
        submitted_ns=columns[3],
        travel_ns=columns[4],
    )


def test_answer_in_a_triangle_waits_for_what_it_answers() -> None:
    """P0 writes to P2, then to P1, whose answer to P2 would overtake the first message."""
    copies = of_copies((0, 1, 2, 0, 100), (0, 2, 1, 10, 5), (1, 1, 2, 20, 5))
    assert ideal_deliveries(copies) == [100, 15, 100]


def test_copies_of_one_multicast_do_not_wait_for_each_other() -> None:
    copies = of_copies((0, 1, 1, 0, 5), (0, 1, 2, 0, 50), (1, 1, 2, 10, 5), (1, 2, 3, 10, 5))
    assert ideal_deliveries(copies) == [5, 50, 50, 15]


def test_copies_that_wait_are_delivered_together_with_the_last_they_wait_for() -> None:
    copies = of_copies((0, 1, 1, 0, 100), (0, 2, 1, 1, 5), (0, 3, 1, 2, 5), (0, 4, 1, 3, 5))
    assert ideal_deliveries(copies) == [100, 100, 100, 100]


def test_copies_that_take_no_time_arrive_after_they_were_submitted() -> None:
    assert ideal_deliveries(of_copies((0, 1, 1, 7, 0), (1, 1, 0, 7, 0))) == [7, 7]


def test_nothing_comes_of_nothing() -> None:
    empty: list[int] = []
    copies = RunCopies(
        sender=empty, sequence=empty, target=empty, submitted_ns=empty, travel_ns=empty
    )
    assert ideal_deliveries(copies) == []


@given(order=st.permutations(range(12)))
def test_order_of_the_rows_means_nothing(order: list[int]) -> None:
    rows = [
        (n % 3, n // 3 + 1, (n + 1 + n // 6) % 3, 10 * (n // 3), 7 * (12 - n)) for n in range(12)
    ]
    rows = [row for row in rows if row[0] != row[2]]
    shuffled = sorted(range(len(rows)), key=lambda n: order[n])
    straight = ideal_deliveries(of_copies(*rows))
    mixed = ideal_deliveries(of_copies(*(rows[n] for n in shuffled)))
    assert [straight[n] for n in shuffled] == mixed
