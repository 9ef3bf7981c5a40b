"""Replaying a workload table: causes first, then the delay, whatever the protocol."""

from pathlib import Path

import pytest

from antecede.core.errors import LocalError
from antecede.network_model.faults import Faults
from antecede.network_model.latency import Constant, Uniform
from antecede_audit.eventlog.workload import WorkloadRow, write_workload
from antecede_lab.catalogue import PROTOCOLS
from antecede_lab.simulator.run import RunResult, simulate
from antecede_lab.simulator.workloads import Replay
from antecede_lab.simulator.workloads.catalogue import TrafficSettings, build_workload
from antecede_lab.simulator.workloads.replay import conversations

MS = 1_000_000


def row(
    message_id: int, sender: int, targets: tuple[int, ...], *causes: int, delay_ns: int = 0
) -> WorkloadRow:
    return WorkloadRow(
        message_id=message_id,
        sender=sender,
        targets=targets,
        causes=causes,
        delay_ns=delay_ns,
        payload_bytes=message_id,
    )


DIAMOND = [
    row(10, 0, (1, 2), delay_ns=5),
    row(20, 1, (3,), 10, delay_ns=7),
    row(30, 2, (3,), 10, delay_ns=900),
    row(40, 3, (0,), 20, 30, delay_ns=3),
    row(50, 0, (0, 1), 40),
    row(60, 1, (2,), 50, 10, delay_ns=1),
]
"""0 tells 1 and 2, both tell 3, which tells 0, which tells itself and 1, which tells 2."""


def departures(result: RunResult) -> list[tuple[int, int, int]]:
    """When which message left whom; a message's payload is as long as its number."""
    rows = [event for event in result.log or [] if event.kind == "submitted"]
    return sorted({(event.time_ns, event.payload_bytes, event.process) for event in rows})


def test_a_message_leaves_after_its_last_cause_and_its_delay() -> None:
    result = simulate("none", Replay(DIAMOND), faults=Faults(latency=Constant(100)), record=True)

    assert departures(result) == [
        (5, 10, 0),
        (112, 20, 1),
        (1005, 30, 2),
        (1108, 40, 3),
        (1208, 50, 0),
        (1309, 60, 1),
    ]
    assert result.leftovers.empty
    assert result.deliveries == 8


@pytest.mark.parametrize(
    "protocol",
    [name for name, info in PROTOCOLS.items() if info.multicast and not info.broadcast_only],
)
def test_the_causes_hold_over_every_protocol(protocol: str) -> None:
    faults = Faults(latency=Uniform(0, MS), loss=0.1, duplication=0.1)
    result = simulate(
        protocol, Replay(DIAMOND), faults=faults, record=True, link=True, patience_ns=3 * MS
    )

    assert result.leftovers.empty
    position = {
        (event.kind, event.payload_bytes, event.process): event.position
        for event in result.log or []
        if event.kind in ("submitted", "delivered")
    }
    for message in DIAMOND:
        submitted = position["submitted", message.message_id, message.sender]
        for cause in message.causes:
            assert position["delivered", cause, message.sender] < submitted


def test_a_cause_that_stands_twice_counts_once() -> None:
    rows = [row(1, 0, (1,)), row(2, 1, (0,), 1, 1)]

    assert simulate("none", Replay(rows)).messages == 2


def test_what_waits_for_ever_is_left_over() -> None:
    result = simulate("none", Replay(DIAMOND), faults=Faults(latency=Constant(100)), until_ns=1000)

    assert result.leftovers.unsent == 4
    assert not result.leftovers.empty


def test_a_replay_knows_whether_it_multicasts_or_broadcasts() -> None:
    assert Replay(DIAMOND).multicasts
    assert not Replay(DIAMOND).broadcasts
    assert not Replay([row(1, 0, (0, 1)), row(2, 1, (2,))]).multicasts, "oneself does not count"
    assert Replay([row(1, 0, (1, 2)), row(2, 1, (0, 2, 1))]).broadcasts


def test_there_may_be_more_processes_than_the_table_names() -> None:
    assert Replay(DIAMOND).processes == 4
    assert Replay(DIAMOND, processes=9).processes == 9
    assert Replay(DIAMOND, processes=2).processes == 4


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        ([], "nothing to replay"),
        ([row(1, 0, (1,), 2), row(2, 1, (0,), 1)], "waits for itself"),
        ([row(1, 0, (1,), 5)], "cause 5 is not in the table"),
        ([row(1, 0, (1 << 21,))], "process ids must be below"),
        ([row((1 << 20) + 1, 0, (1,))], "bytes"),
        ([row(1, 0, (1,), delay_ns=1 << 61)], "too long"),
    ],
)
def test_a_table_that_cannot_be_performed_is_refused(
    rows: list[WorkloadRow], complaint: str
) -> None:
    with pytest.raises(LocalError, match=complaint):
        Replay(rows)


def test_a_table_is_replayed_from_its_file(tmp_path: Path) -> None:
    file = tmp_path / "diamond.jsonl"
    write_workload(file, DIAMOND)
    workload = build_workload("replay", TrafficSettings(), {"file": str(file)})

    assert workload.remaining() == 6
    result = simulate("hybrid", workload)
    assert (result.messages, result.deliveries) == (6, 8)
    assert result.leftovers.empty


def test_a_conversation_lasts_from_its_first_submission_to_its_last_delivery() -> None:
    """The diamond takes 100 ns for each of its five hops that follow each other, and its delays."""
    alone = row(70, 2, (0,), delay_ns=50)
    workload = Replay([*DIAMOND, alone])
    simulate("none", workload, faults=Faults(latency=Constant(100)))
    assert workload.conversation_times_ns() == [1409 - 5, 100]


def test_conversations_are_what_causes_connect() -> None:
    rows = [
        row(1, 0, (1,)),
        row(2, 3, (1,)),
        row(3, 1, (2,), 1, 2),
        row(4, 4, (0,)),
        row(5, 2, (0,), 3),
    ]
    assert conversations(rows) == [0, 0, 0, 3, 0]


def test_a_late_reply_makes_the_whole_conversation_late() -> None:
    """1 waits for a permit before it may tell 2 what it knows, and 2's answer waits for that."""
    rows = [row(1, 0, (3,)), row(2, 0, (1,)), row(3, 1, (2,), 2), row(4, 2, (0,), 3)]
    times = {}
    for name in ("none", "hybrid-csps"):
        workload = Replay(rows)
        simulate(name, workload, faults=Faults(latency=Constant(100)))
        times[name] = workload.conversation_times_ns()
    assert times == {"none": [100, 300], "hybrid-csps": [100, 500]}
