"""The recorder: every row obeys the schema of the event log, and nothing is missing."""

from typing import ClassVar

import pytest

from antecede.core.catalogue import PacketCodec, ProtocolInfo
from antecede.core.controls import FifoProcess
from antecede.core.packets import Ack, DataPacket, Packet
from antecede.eventlog.log import EventLog
from antecede.eventlog.schema import Event
from antecede.network_model.faults import Faults
from antecede.network_model.latency import Constant, Uniform
from antecede_audit.eventlog.reader import log_of
from antecede_lab.catalogue import PROTOCOLS
from antecede_lab.simulator.run import simulate
from antecede_lab.simulator.workloads import Broadcast, Poisson, Workload
from tests.antecede_lab.simulator.scripted import Line, Scripted

MS = 1_000_000
ROUGH = Faults(latency=Uniform(0, 2 * MS), loss=0.1, duplication=0.1)


def traffic(info: ProtocolInfo) -> Workload:
    if info.broadcast_only:
        return Broadcast(4, messages=40, interval_ns=MS, seed=2)
    multicast = 0.3 if info.multicast else 0.0
    return Poisson(4, messages=100, interval_ns=MS, seed=2, multicast=multicast)


@pytest.fixture(params=PROTOCOLS, scope="module")
def events(request: pytest.FixtureRequest) -> list[Event]:
    result = simulate(
        request.param,
        traffic(PROTOCOLS[request.param]),
        faults=ROUGH,
        patience_ns=10 * MS,
        record=True,
        link=True,
    )
    assert isinstance(result.log, EventLog)
    assert len(result.log) > 300
    return list(result.log)


def of_kind(events: list[Event], *kinds: str) -> list[Event]:
    return [event for event in events if event.kind in kinds]


def test_positions_have_no_gaps_and_times_never_decrease(events: list[Event]) -> None:
    log_of(events)  # raises LocalError otherwise
    for process in range(4):
        times = [event.time_ns for event in events if event.process == process]
        assert times == sorted(times)


def test_every_copy_is_submitted_once_and_delivered_once_later(events: list[Event]) -> None:
    submitted = {(e.sender, e.sequence, e.target): e for e in of_kind(events, "submitted")}
    delivered = {(e.sender, e.sequence, e.target): e for e in of_kind(events, "delivered")}

    assert len(submitted) == len(of_kind(events, "submitted"))
    assert len(delivered) == len(of_kind(events, "delivered"))
    assert submitted.keys() == delivered.keys()
    for copy, event in delivered.items():
        assert event.process == event.target
        assert event.time_ns >= submitted[copy].time_ns
        assert submitted[copy].process == submitted[copy].sender


def test_messages_as_such_are_no_packets(events: list[Event]) -> None:
    for event in of_kind(events, "submitted", "delivered"):
        assert event.packet is None
        assert event.packet_kind is None
        assert (event.payload_bytes, event.metadata_bytes) == (64, 0)


def test_every_transmission_has_a_number_of_its_own(events: list[Event]) -> None:
    numbers = [event.packet for event in of_kind(events, "transmitted")]

    assert sorted(numbers, key=lambda number: number or 0) == list(range(len(numbers)))


def test_what_arrives_was_transmitted_like_that(events: list[Event]) -> None:
    transmitted = {event.packet: event for event in of_kind(events, "transmitted")}
    for event in of_kind(events, "arrived"):
        packet = transmitted[event.packet]
        assert packet.target == event.target == event.process != packet.process
        assert packet.time_ns <= event.time_ns
        assert (packet.packet_kind, packet.sender, packet.sequence) == (
            event.packet_kind,
            event.sender,
            event.sequence,
        )
        assert (packet.payload_bytes, packet.metadata_bytes) == (
            event.payload_bytes,
            event.metadata_bytes,
        )


def test_losses_and_duplicates_are_rows_or_missing_rows(events: list[Event]) -> None:
    transmitted = [event.packet for event in of_kind(events, "transmitted")]
    arrived = [event.packet for event in of_kind(events, "arrived")]

    assert len(set(arrived)) < len(transmitted), "something was lost"
    assert len(set(arrived)) < len(arrived), "something came twice"


def test_packets_carry_a_payload_if_and_only_if_they_carry_a_message(events: list[Event]) -> None:
    for event in of_kind(events, "transmitted", "arrived"):
        assert event.metadata_bytes > 0
        assert (event.sender is None) == (event.sequence is None)
        assert event.payload_bytes == (0 if event.sender is None else 64)


def test_a_whole_run_row_by_row() -> None:
    workload = Scripted(3, [Line(time_ns=5, sender=0, targets=[2, 0], payload_bytes=3)])
    result = simulate("none", workload, faults=Faults(latency=Constant(10)), record=True)

    def row(process: int, position: int, kind: str, time_ns: int, target: int) -> Event:
        return Event(
            process=process,
            position=position,
            kind=kind,
            sender=0,
            sequence=1,
            target=target,
            time_ns=time_ns,
            payload_bytes=3,
        )

    rows = list(result.log or [])
    assert [row for row in rows if row.packet is None] == [
        row(0, 0, "submitted", 5, 2),
        row(0, 1, "submitted", 5, 0),
        row(0, 3, "delivered", 5, 0),
        row(2, 1, "delivered", 15, 2),
    ]
    assert [
        (r.process, r.position, r.kind, r.sequence, r.target, r.packet, r.packet_kind, r.time_ns)
        for r in rows
        if r.packet is not None
    ] == [
        (0, 2, "transmitted", 1, 2, 0, "message", 5),
        (2, 0, "arrived", 1, 2, 0, "message", 15),
        (2, 2, "transmitted", None, 0, 1, "ack", 15),
        (0, 4, "arrived", None, 0, 1, "ack", 25),
    ]


class Wordy(PacketCodec):
    """Writes a thousand bytes before every message and seven for everything else."""

    SIZES: ClassVar = {DataPacket: 1000, Ack: 7}

    def encode(self, packet: Packet) -> bytes:
        message = packet.message
        return bytes(self.SIZES[type(packet)]) + (b"" if message is None else message.payload)

    def decode(self, data: bytes, source: int) -> Packet:
        raise AssertionError(f"a simulation decodes nothing, not {data!r} of {source}")


def test_the_codec_of_a_users_own_protocol_weighs_its_packets() -> None:
    info = ProtocolInfo(
        "wordy",
        FifoProcess,
        ordering="fifo",
        multicast=True,
        network="lossy",
        paper="",
        codec=Wordy(),
    )
    result = simulate(info, Scripted(2, [Line(time_ns=0, sender=0, targets=[1])]), record=True)

    packets = [row for row in result.log or [] if row.packet is not None]
    assert [row.metadata_bytes for row in packets] == [1000, 1000, 7, 7]
