"""A protocol that takes a known number of steps, promises nothing, and orders nothing."""

from collections.abc import Sequence
from typing import Self

from antecede.core.catalogue import ProtocolInfo
from antecede.core.effects import Deliver, Effect, Transmit
from antecede.core.packets import DataPacket, Message, Packet
from antecede.core.process import CausalProcess

TURNS = 1000


class LoopingProcess(CausalProcess):
    """Turns round a thousand times for every submission, once for every arrival."""

    def __init__(self, me: int, processes: Sequence[int]) -> None:  # noqa: ARG002 it knows nobody
        self._me = me
        self._sequence = 0

    def submit(self, targets: Sequence[int], payload: bytes, now_ns: int) -> list[Effect]:  # noqa: ARG002 it has no timer
        for _ in range(TURNS):
            pass
        self._sequence += 1
        message = Message(self._me, self._sequence, payload)
        return [Transmit(target, DataPacket(message, 0, False)) for target in targets]

    def arrive(self, source: int, packet: Packet, now_ns: int) -> list[Effect]:  # noqa: ARG002 it does not care
        assert packet.message is not None
        return [Deliver(packet.message)]

    def clone(self) -> Self:
        return self

    def fingerprint(self) -> bytes:
        return b""


INFO = ProtocolInfo(
    "looping", LoopingProcess, ordering="none", multicast=True, network="reliable", paper="none"
)
