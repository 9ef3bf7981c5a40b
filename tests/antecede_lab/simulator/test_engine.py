"""The engine: packets, timers, busy processes, full buffers, limits; on runs one can overlook."""

import gc

import pytest

from antecede.core.errors import LocalError
from antecede.core.packets import Ack, Message, Packet
from antecede.eventlog.log import EventLog
from antecede.eventlog.schema import Event
from antecede.network_model.faults import Faults, Partition
from antecede.network_model.latency import Constant, Uniform
from antecede_audit.judging.oracle import check_log
from antecede_lab.catalogue import find_protocol
from antecede_lab.simulator.engine import PROGRESS_PERIOD, Simulation
from antecede_lab.simulator.observer import Observer
from antecede_lab.simulator.run import simulate
from antecede_lab.simulator.workloads import Broadcast, Poisson
from tests.antecede_lab.simulator.scripted import Line, Scripted, Seen, one_message

MS = 1_000_000


def instants(log: EventLog | None) -> list[tuple[str, int, int]]:
    """Kind, process and time of every row."""
    assert log is not None
    return [(event.kind, event.process, event.time_ns) for event in log]


def rows(log: EventLog | None, kind: str) -> list[Event]:
    assert log is not None
    return [event for event in log if event.kind == kind]


def test_a_message_is_submitted_transmitted_arrives_and_is_delivered() -> None:
    result = simulate("none", one_message(3 * MS), record=True)

    assert instants(result.log)[:4] == [
        ("submitted", 0, 3 * MS),
        ("transmitted", 0, 3 * MS),
        ("arrived", 1, 4 * MS),
        ("delivered", 1, 4 * MS),
    ]
    assert instants(result.log)[4:] == [("transmitted", 1, 4 * MS), ("arrived", 0, 5 * MS)]
    assert (result.messages, result.packets, result.deliveries) == (1, 2, 1)
    assert result.leftovers.empty


def test_a_message_to_oneself_never_leaves() -> None:
    workload = Scripted(2, [Line(time_ns=5, sender=0, targets=[0], tag=9)])
    result = simulate("hybrid", workload, record=True)

    assert instants(result.log) == [("submitted", 0, 5), ("delivered", 0, 5)]
    assert workload.notes.deliveries == [Seen(0, 0, 1, 9, 5)]


def test_a_tag_comes_back_with_every_copy_of_its_message() -> None:
    workload = Scripted(
        4,
        [
            Line(time_ns=0, sender=0, targets=[3, 1, 2], tag=70),
            Line(time_ns=1, sender=1, targets=[2]),
        ],
    )
    simulate("none", workload, faults=Faults(latency=Constant(5)))

    assert workload.notes.deliveries == [
        Seen(3, 0, 1, 70, 5),
        Seen(1, 0, 1, 70, 5),
        Seen(2, 0, 1, 70, 5),
        Seen(2, 1, 1, -1, 6),
    ]


def test_what_is_lost_is_transmitted_again_when_patience_ends() -> None:
    cut = Partition(start_ns=0, end_ns=10 * MS, island=frozenset([0]))
    result = simulate(
        "hybrid",
        one_message(),
        faults=Faults(partitions=(cut,)),
        patience_ns=7 * MS,
        record=True,
    )

    times = [row.time_ns for row in rows(result.log, "transmitted") if row.process == 0]
    assert times == [0, 7 * MS, 21 * MS], "patience doubles"
    assert [row.time_ns for row in rows(result.log, "delivered")] == [22 * MS]
    assert result.leftovers.empty


def test_a_full_protocol_makes_submissions_wait_and_loses_none() -> None:
    lines = [Line(time_ns=number, sender=0, targets=[1], tag=number) for number in range(20)]
    workload = Scripted(2, lines)
    result = simulate("hybrid", workload, options={"send_limit": 3}, record=True)

    assert [seen.tag for seen in workload.notes.deliveries] == list(range(20))
    assert result.blocked == 17
    assert result.messages == 20
    assert result.leftovers.empty
    assert [row.time_ns for row in rows(result.log, "submitted")] == list(range(20))
    times = [row.time_ns for row in rows(result.log, "transmitted") if row.process == 0]
    assert times[:3] == [0, 1, 2]
    assert min(times[3:]) >= 2 * MS, "there is room when the first acknowledgement is back"


def test_waiting_for_room_is_a_part_of_the_latency() -> None:
    """Three messages at once, one at a time, a round trip of 2 ms: the last one takes 5 ms."""
    lines = [Line(time_ns=0, sender=0, targets=[1], tag=number) for number in range(3)]
    result = simulate("blocking", Scripted(2, lines), record=True)

    assert result.blocked == 2
    assert [row.time_ns for row in rows(result.log, "submitted")] == [0, 0, 0]
    assert [row.time_ns for row in rows(result.log, "delivered")] == [MS, 3 * MS, 5 * MS]
    assert result.measures is not None
    assert result.measures.delays.sender_wait.mean() == 2 * MS
    assert result.measures.delays.latency.mean() == 3 * MS


def test_what_never_finds_room_is_a_copy_that_is_never_delivered() -> None:
    lines = [Line(time_ns=0, sender=0, targets=[1], tag=number) for number in range(3)]
    result = simulate("blocking", Scripted(2, lines), until_ns=2 * MS - 1, record=True)

    assert result.leftovers.blocked == 2
    assert result.leftovers.undelivered == 2
    assert len(check_log(result.log or []).losses) == 2


def test_back_pressure_loses_nothing_under_heavy_traffic() -> None:
    result = simulate(
        "hybrid",
        Poisson(6, messages=600, interval_ns=MS // 10, seed=3),
        faults=Faults(latency=Uniform(0, 2 * MS), loss=0.1, duplication=0.1),
        options={"send_limit": 4, "receive_limit": 2},
        patience_ns=10 * MS,
    )

    assert result.blocked > 100
    assert result.deliveries == result.messages == 600
    assert result.leftovers.empty


def test_a_busy_process_handles_one_message_after_the_other() -> None:
    lines = [Line(time_ns=number, sender=number, targets=[3], tag=number) for number in range(3)]
    workload = Scripted(4, lines)
    faults = Faults(latency=Constant(100))
    result = simulate("none", workload, faults=faults, handling_ns=50, record=True)

    assert workload.notes.deliveries == [
        Seen(3, 0, 1, 0, 150),
        Seen(3, 1, 1, 1, 200),
        Seen(3, 2, 1, 2, 250),
    ]
    assert [row.time_ns for row in rows(result.log, "arrived") if row.process == 3] == [
        100,
        101,
        102,
    ]
    assert [row.time_ns for row in rows(result.log, "delivered")] == [100, 150, 200]
    assert result.leftovers.empty


def test_a_busy_process_takes_packets_in_the_order_in_which_they_came() -> None:
    workload = Broadcast(5, messages=200, interval_ns=MS, seed=1)
    faults = Faults(latency=Uniform(0, MS))
    result = simulate("none", workload, faults=faults, handling_ns=MS // 5, record=True)

    assert result.leftovers.empty
    waited = 0
    for process in range(5):
        arrived = [
            row for row in rows(result.log, "arrived") if row.process == process and row.sequence
        ]
        delivered = [row for row in rows(result.log, "delivered") if row.process == process]
        assert [(row.sender, row.sequence) for row in arrived] == [
            (row.sender, row.sequence) for row in delivered
        ]
        waited += sum(d.time_ns > a.time_ns for a, d in zip(arrived, delivered, strict=True))
    assert waited > 100


def test_handling_slows_a_run_down_but_loses_nothing() -> None:
    def run(handling_ns: int) -> tuple[int, int]:
        workload = Poisson(3, messages=100, interval_ns=MS, seed=2)
        result = simulate("hybrid", workload, handling_ns=handling_ns)
        assert result.measures is not None
        assert result.leftovers.empty
        return result.deliveries, result.measures.makespan_ns

    assert run(0)[0] == run(3 * MS)[0] == 100
    assert run(3 * MS)[1] > run(0)[1] + 50 * MS


def test_a_run_can_be_cut_short_by_time() -> None:
    result = simulate("hybrid", one_message(), until_ns=MS // 2, record=True)

    assert result.end_ns == 0
    assert instants(result.log) == [("submitted", 0, 0), ("transmitted", 0, 0)]
    assert not result.leftovers.empty
    assert result.leftovers.undelivered == 1
    assert result.leftovers.oldest == ((0, 1, 1),)
    assert result.leftovers.timers == 1
    assert result.leftovers.pending == 2, "the arrival and the timer"


def test_an_event_at_the_limit_still_happens() -> None:
    assert simulate("none", one_message(), until_ns=MS).deliveries == 1
    assert simulate("none", one_message(), until_ns=MS - 1).deliveries == 0


def test_a_run_can_be_cut_short_by_the_number_of_events() -> None:
    workload = Poisson(4, messages=100, interval_ns=MS, seed=1)
    result = simulate("hybrid", workload, events_max=50)

    assert result.events == 50
    assert result.leftovers.unsent == 100 - result.messages > 0
    assert not result.leftovers.empty


def test_the_garbage_collector_is_left_as_it_was() -> None:
    simulate("none", one_message())
    assert gc.isenabled()
    gc.disable()
    try:
        simulate("none", one_message())
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_progress_is_told_while_the_run_goes_on() -> None:
    told: list[tuple[int, int]] = []
    workload = Poisson(10, messages=PROGRESS_PERIOD // 2, interval_ns=MS, seed=1)
    result = simulate(
        "none",
        workload,
        progress=lambda events, submissions: told.append((events, submissions)),
        measure=False,
    )

    assert [events for events, _ in told] == list(
        range(PROGRESS_PERIOD, result.events, PROGRESS_PERIOD)
    )
    assert 0 < told[0][1] <= result.messages


class Notebook(Observer):
    """Notes what it is told, in order."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def submitted(self, process: int, message: Message, targets: list[int], now_ns: int) -> None:
        self.told.append(f"submitted {process} {message.sequence} {targets} {now_ns}")

    def transmitted(
        self, process: int, target: int, packet: Packet, number: int, now_ns: int
    ) -> None:
        self.told.append(f"transmitted {process} {target} {packet.kind} {number} {now_ns}")

    def arrived(self, process: int, source: int, packet: Packet, number: int, now_ns: int) -> None:
        self.told.append(f"arrived {process} {source} {packet.kind} {number} {now_ns}")

    def delivered(self, process: int, message: Message, now_ns: int) -> None:
        self.told.append(f"delivered {process} {message.sequence} {now_ns}")


def test_observers_are_told_everything_in_order() -> None:
    observer = Notebook()
    workload = Scripted(3, [Line(time_ns=0, sender=0, targets=[2, 1])])
    faults = Faults(latency=Constant(10))
    Simulation(find_protocol("none"), workload, faults=faults, seed=1, observers=[observer]).run()

    assert observer.told == [
        "submitted 0 1 [2, 1] 0",
        "transmitted 0 2 message 0 0",
        "transmitted 0 1 message 1 0",
        "arrived 2 0 message 0 10",
        "delivered 2 1 10",
        "transmitted 2 0 ack 2 10",
        "arrived 1 0 message 1 10",
        "delivered 1 1 10",
        "transmitted 1 0 ack 3 10",
        "arrived 0 2 ack 2 20",
        "arrived 0 1 ack 3 20",
    ]


@pytest.mark.parametrize(
    ("protocol", "faults", "complaint"),
    [
        ("rst", Faults(loss=0.1), "rst needs a network that neither loses nor duplicates"),
        ("newtop", Faults(), "newtop needs FIFO channels"),
    ],
)
def test_a_protocol_on_a_network_too_bad_for_it_is_refused(
    protocol: str, faults: Faults, complaint: str
) -> None:
    workload = Broadcast(3, messages=1, interval_ns=1, seed=1)
    with pytest.raises(LocalError, match=complaint):
        simulate(protocol, workload, faults=faults)


def test_a_protocol_that_cannot_carry_a_workload_is_refused() -> None:
    with pytest.raises(LocalError, match="sends to one process at a time; Broadcast multicasts"):
        simulate("paper-basic", Broadcast(3, messages=1, interval_ns=1, seed=1))
    with pytest.raises(LocalError, match="bss only broadcasts"):
        simulate("bss", Poisson(3, messages=1, interval_ns=1, seed=1))


def test_negative_handling_times_are_refused() -> None:
    with pytest.raises(LocalError, match="handling"):
        simulate("none", one_message(), handling_ns=-1)


@pytest.mark.parametrize("target", [-1, 2, 1 << 40])
def test_a_protocol_that_transmits_to_nobody_is_told_so(target: int) -> None:
    running = Simulation(find_protocol("none"), one_message(), faults=Faults(), seed=1)
    with pytest.raises(LocalError, match=f"process 0 transmits to process {target}: there are 0"):
        running.transmit(target, Ack(1))
    assert running.packets == 0
