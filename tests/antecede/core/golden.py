"""Recorded decisions of a reference, to be replayed call by call.

They are not part of this repository: they lie in a folder `golden` beside the traces that
ANTECEDE_DATA names. What the recordings fix is, per step, which copies leave, with which
predecessor and flag, the highest permit to each target, and what is delivered; the order within a
step, and acks or permits that are merged or repeated, are free.
"""

import gzip
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from antecede.core import Deliver, Effect, Message, Packet
from antecede.core.packets import Ack, Ask, DataPacket, Permit

Json = dict[str, Any]


def golden(name: str) -> list[Json]:
    """The schedules recorded under this name; the test is skipped where there are none."""
    data = os.environ.get("ANTECEDE_DATA")
    path = Path(data or ".").resolve().parent / "golden" / f"{name}.jsonl.gz"
    if data is None or not path.exists():
        pytest.skip("no recorded decisions beside ANTECEDE_DATA")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@dataclass(kw_only=True)
class Decided:
    """What a step decided, as far as the recordings fix it."""

    copies: list[tuple[int, int, int, bool]] = field(default_factory=list)
    permits: dict[int, int] = field(default_factory=dict)
    delivered: list[tuple[int, int]] = field(default_factory=list)

    def permit(self, target: int, sequence: int) -> None:
        """Keep the highest permit to each target."""
        self.permits[target] = max(sequence, self.permits.get(target, 0))

    def sorted(self) -> "Decided":
        """In an order that does not depend on the step's own."""
        self.copies.sort()
        self.delivered.sort()
        return self


def recorded(effects: list[Json]) -> Decided:
    """What the reference decided."""
    found = Decided()
    for effect in effects:
        if "deliver" in effect:
            sender, sequence = effect["deliver"]
            found.delivered.append((sender, sequence))
            continue
        packet = effect.get("packet", {"kind": ""})
        if packet["kind"] == "msg":
            copy = (effect["transmit"], packet["mid"], packet["pid"], packet["flag"])
            found.copies.append(copy)
        elif packet["kind"] == "permit":
            found.permit(effect["transmit"], packet["n"])
    return found.sorted()


def decided(effects: list[Effect]) -> Decided:
    """What our process decided."""
    found = Decided()
    for effect in effects:
        if isinstance(effect, Deliver):
            found.delivered.append((int(effect.message.sender), int(effect.message.sequence)))
        elif isinstance(effect.packet, DataPacket):
            packet = effect.packet
            sequence, previous = int(packet.carried.sequence), int(packet.previous)
            found.copies.append((int(effect.target), sequence, previous, packet.flagged))
        elif isinstance(effect.packet, Permit):
            found.permit(int(effect.target), int(effect.packet.sequence))
    return found.sorted()


def packet_of(source: int, recorded_packet: Json) -> Packet:
    """A recorded packet as ours."""
    kind = recorded_packet["kind"]
    if kind == "msg":
        message = Message(source, recorded_packet["mid"], b"")
        return DataPacket(message, recorded_packet["pid"], recorded_packet["flag"])
    if kind == "ask":
        return Ask(recorded_packet["n"], recorded_packet["low"])
    return {"ack": Ack, "permit": Permit}[kind](recorded_packet["n"])
