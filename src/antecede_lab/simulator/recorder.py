"""Writes a run down: the four events of every copy, and every packet, as rows of the event log."""

from typing import Final, final

from mypy_extensions import i64

from antecede.core.packets import Message, Packet
from antecede.eventlog.log import ARRIVED, DELIVERED, NULL, SUBMITTED, TRANSMITTED, EventLog
from antecede_lab.simulator.observer import MetadataSize, Observer


@final
class Recorder(Observer):
    """Appends to `log` whatever happens."""

    def __init__(self, log: EventLog, metadata_size: MetadataSize) -> None:
        self.log: Final = log
        self._metadata_size: Final = metadata_size

    def submitted(self, process: i64, message: Message, targets: list[int], now_ns: i64) -> None:
        for target in targets:
            self._message(process, SUBMITTED, message, target, now_ns)

    def transmitted(
        self, process: i64, target: i64, packet: Packet, number: i64, now_ns: i64
    ) -> None:
        self._packet(process, TRANSMITTED, target, packet, number, now_ns)

    def arrived(
        self,
        process: i64,
        source: i64,  # noqa: ARG002 not a column: the row of the transmission says it
        packet: Packet,
        number: i64,
        now_ns: i64,
    ) -> None:
        self._packet(process, ARRIVED, process, packet, number, now_ns)

    def delivered(self, process: i64, message: Message, now_ns: i64) -> None:
        self._message(process, DELIVERED, message, process, now_ns)

    def _message(self, process: i64, kind: i64, message: Message, target: i64, now_ns: i64) -> None:
        self.log.append(
            process,
            kind,
            message.sender,
            message.sequence,
            target,
            NULL,
            NULL,
            now_ns,
            len(message.payload),
            0,
        )

    def _packet(
        self, process: i64, kind: i64, target: i64, packet: Packet, number: i64, now_ns: i64
    ) -> None:
        sender: i64 = NULL
        sequence: i64 = NULL
        payload_bytes: i64 = 0
        message = packet.message
        if message is not None:
            sender = message.sender
            sequence = message.sequence
            payload_bytes = len(message.payload)
        self.log.append(
            process,
            kind,
            sender,
            sequence,
            target,
            number,
            self.log.intern(packet.kind),
            now_ns,
            payload_bytes,
            self._metadata_size.of(packet),
        )
