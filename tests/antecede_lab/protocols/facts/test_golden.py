"""Decisions recorded from another reference: ours, and the product, take the same, call by call."""

from typing import Any

import pytest

from antecede.core import Deliver, Effect, Message, Packet
from antecede_lab.protocols.facts.packets import (
    SENDER_ITSELF,
    Fact,
    FactsAck,
    FactsAsk,
    FactsMessage,
    FactsPermit,
    Mark,
    PastReportField,
    Watermark,
)
from antecede_lab.protocols.facts.process import FactsProcess
from tests.antecede.core.golden import golden
from tests.antecede_lab.protocols.facts.lockstep import Row, as_row, decisions, message_of
from tests.antecede_lab.protocols.facts.reference import Parameters, Reference

HOUR_NS = 3_600 * 10**9


def parameters(schedule: Row) -> Parameters:
    """The options that a schedule was recorded with."""
    return Parameters(**{key: schedule["config"][key] for key in "BWHGE"})


@pytest.mark.parametrize("literal", [False, True])
def test_the_reference_takes_the_recorded_decisions(literal: bool) -> None:
    """Every packet of every step, what is sent again included."""
    calls = 0
    for schedule in golden("facts"):
        processes = {
            me: Reference(me, parameters(schedule), literal=literal) for me in schedule["processes"]
        }
        for step in schedule["steps"]:
            process, args = processes[step["process"]], step["args"]
            effects = getattr(process, step["call"])(*args.values())
            assert decisions(effects) == decisions(step["effects"]), step
            calls += 1

    assert calls > 5_000


def test_the_product_takes_the_recorded_decisions() -> None:
    """Timers are the product's own business: what they send again must have been sent before."""
    calls = 0
    for schedule in golden("facts"):
        p = parameters(schedule)
        processes = {me: Replayed(me, schedule["processes"], p) for me in schedule["processes"]}
        for step in schedule["steps"]:
            process = processes[step["process"]]
            effects = getattr(process, step["call"])(**step["args"])
            if step["call"] != "timer":
                assert decisions(effects) == decisions(step["effects"]), step
                calls += 1

    assert calls > 5_000


class Replayed:
    """The product behind the calls of the recordings."""

    def __init__(self, me: int, everyone: list[int], p: Parameters) -> None:
        self.me = me
        self.width = p.W
        self.now_ns = 0
        self.sent: dict[tuple[int, int], Any] = {}
        self.process = FactsProcess(
            me,
            everyone,
            facts=p.B,
            filter_bits=p.W,
            hops=p.H,
            watermarks=p.G,
            exceptions=p.E,
            stall_ns=1 << 60,
        )

    def submit(self, targets: list[int]) -> list[Row]:
        """An empty set takes an id, too: here it is a message to oneself that nobody hears of."""
        rows = self.rows(self.process.submit(targets or [self.me], b"", self.now_ns))
        return rows if targets else [row for row in rows if "deliver" not in row]

    def arrive(self, source: int, packet: Row) -> list[Row]:
        decoded = from_row(source, packet, self.width)
        return self.rows(self.process.arrive(source, decoded, self.now_ns))

    def hint(self, hints: list[int]) -> list[Row]:
        return self.rows(self.process.suspect(hints, self.now_ns))

    def timer(self) -> list[Row]:
        """Everything that is waited for is repeated: with the first report, or clean."""
        self.now_ns += HOUR_NS
        rows = self.rows(self.process.expire(self.now_ns))
        for row in rows:
            if row["packet"]["kind"] == "msg":
                pid, man, rep = message_of(row["packet"])
                first = self.sent[row["transmit"], row["packet"]["mid"]]
                assert pid == first[0]
                assert set(man) <= set(first[1])
                assert rep in (first[2], None)
        return rows

    def rows(self, effects: list[Effect]) -> list[Row]:
        rows: list[Row] = []
        for effect in effects:
            if isinstance(effect, Deliver):
                message = effect.message
                rows.append({"deliver": [message.sender, message.sequence]})
                continue
            packet = as_row(effect.packet, self.width, self.me)
            rows.append({"transmit": effect.target, "packet": packet})
            if packet["kind"] == "msg":
                self.sent.setdefault((effect.target, packet["mid"]), message_of(packet))
        return rows


def from_row(source: int, row: Row, width: int) -> Packet:
    """A recorded packet as ours."""
    gossip = [
        Watermark(SENDER_ITSELF if s == source else s, low, lowx, tuple(sorted(xs)))
        for s, low, lowx, xs in row["g"]
    ]
    if row["kind"] == "ack":
        return FactsAck(row["n"], gossip)
    if row["kind"] == "permit":
        return FactsPermit(row["n"], tuple(sorted(row["X"])), gossip)
    if row["kind"] == "ask":
        return FactsAsk(row["n"], row["low"], row["lowx"], gossip)
    report = None
    if row["rep"] is not None:
        rep = row["rep"]
        facts = [Fact(s, e, y) for e, s, y in sorted((e, s, y) for s, e, y in rep["oth"])]
        mask = rep["Z"] - (1 << 64) if width == 64 and rep["Z"] >= 1 << 63 else rep["Z"]
        report = PastReportField(mask, tuple(sorted(rep["X"])), facts, rep["h"])
    must = [Mark(s, y) for s, y in sorted(row["man"])]
    return FactsMessage(Message(source, row["mid"], b""), row["pid"], must, report, gossip)
