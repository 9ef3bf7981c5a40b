"""The product and the reference side by side: every call to both, every packet compared.

Packets are compared as the specification writes them, watermarks included. Timers are the
product's own; what they make it transmit again is compared with what the reference would.
"""

from typing import Any

from antecede.core import Deliver, Effect, Packet
from antecede_lab.protocols.facts.packets import (
    SENDER_ITSELF,
    FactsAck,
    FactsAsk,
    FactsMessage,
    FactsPermit,
    Watermark,
)
from antecede_lab.protocols.facts.process import FactsProcess
from tests.antecede_lab.protocols.facts.reference import Parameters, Reference

Row = dict[str, Any]


def as_row(packet: Packet, width: int, source: int) -> Row:
    """A packet as the specification and the recorded decisions write it."""
    if isinstance(packet, FactsMessage):
        report = packet.report
        row: Row = {
            "kind": "msg",
            "mid": packet.carried.sequence,
            "pid": packet.previous,
            "man": [[mark.sender, mark.sequence] for mark in packet.must],
            "rep": None,
        }
        if report is not None:
            row["rep"] = {
                "Z": report.filter & ((1 << max(width, 1)) - 1),
                "X": list(report.exceptions),
                "oth": [[fact.sender, fact.target, fact.sequence] for fact in report.facts],
                "h": report.hops,
            }
        return row | {"g": gossip_rows(packet.watermarks, source)}
    if isinstance(packet, FactsAck):
        return {"kind": "ack", "n": packet.sequence, "g": gossip_rows(packet.watermarks, source)}
    if isinstance(packet, FactsPermit):
        exceptions = list(packet.exceptions)
        gossip = gossip_rows(packet.watermarks, source)
        return {"kind": "permit", "n": packet.sequence, "X": exceptions, "g": gossip}
    assert isinstance(packet, FactsAsk)
    return {
        "kind": "ask",
        "n": packet.delivered,
        "low": packet.lowest,
        "lowx": packet.lowest_except,
        "g": gossip_rows(packet.watermarks, source),
    }


def gossip_rows(watermarks: list[Watermark], source: int) -> list[list[Any]]:
    """Watermarks as the specification writes them."""
    rows = [[w.process, w.low, w.low_except, list(w.exceptions)] for w in watermarks]
    return [[source, *row[1:]] if row[0] == SENDER_ITSELF else row for row in rows]


def decisions(effects: list[Row]) -> dict[str, Any]:
    """What two readings of the specification must agree on in one step."""
    found: dict[str, Any] = {"messages": {}, "permits": {}, "except": {}, "acks": {}, "asks": {}}
    found["delivered"] = {}
    for effect in effects:
        if "deliver" in effect:
            sender, mid = effect["deliver"]
            found["delivered"].setdefault(sender, []).append(mid)
            continue
        target, packet = effect["transmit"], effect["packet"]
        if packet["kind"] == "msg":
            found["messages"][target, packet["mid"]] = message_of(packet)
        elif packet["kind"] == "ack":
            found["acks"][target] = max(found["acks"].get(target, 0), packet["n"])
        elif packet["kind"] == "ask":
            found["asks"][target] = packet["n"], packet["low"], packet["lowx"]
        elif packet["X"]:
            found["except"][target, packet["n"]] = sorted(packet["X"])
        else:
            found["permits"][target] = max(found["permits"].get(target, 0), packet["n"])
    return found


def message_of(packet: Row) -> tuple[Any, ...]:
    """A message's own part of a row, in one form."""
    rep = packet["rep"]
    man = sorted(map(tuple, packet["man"]))
    if rep is None:
        return packet["pid"], man, None
    oth = sorted(map(tuple, rep["oth"]))
    return packet["pid"], man, (rep["Z"], sorted(rep["X"]), oth, rep["h"])


class Twins:
    """One process twice; whatever it is told, both must answer alike."""

    def __init__(
        self,
        me: int,
        everyone: list[int],
        p: Parameters,
        process: type[FactsProcess] = FactsProcess,
        **options: object,
    ) -> None:
        self.me = me
        self.p = p
        self.reference = Reference(me, p)
        self.product = process(
            me,
            everyone,
            facts=p.B,
            filter_bits=p.W,
            hops=p.H,
            watermarks=p.G,
            exceptions=p.E,
            **options,  # type: ignore[arg-type]
        )
        self.compared = 0

    def rows(self, effects: list[Effect]) -> list[Row]:
        """Effects as the specification writes them."""
        rows: list[Row] = []
        for effect in effects:
            if isinstance(effect, Deliver):
                rows.append({"deliver": [effect.message.sender, effect.message.sequence]})
            else:
                packet = as_row(effect.packet, self.p.W, self.me)
                rows.append({"transmit": effect.target, "packet": packet})
        return rows

    def compare(self, effects: list[Effect], expected: list[Row]) -> list[Effect]:
        """The product's effects, once they are found to be the reference's."""
        rows = self.rows(effects)
        assert decisions(rows) == decisions(expected), (
            f"process {self.me}: {decisions(rows)} != {decisions(expected)}"
        )
        self.compared += sum("transmit" in row for row in rows)
        return effects

    def submit(self, targets: list[int], payload: bytes, now_ns: int) -> list[Effect]:
        expected = self.reference.submit(targets)
        return self.compare(self.product.submit(targets, payload, now_ns), expected)

    def arrive(self, source: int, packet: Packet, now_ns: int) -> list[Effect]:
        effects = self.product.arrive(source, packet, now_ns)
        # An acknowledgement takes a hint back, in the same step.
        self.reference.hints = self.hints()
        return self.compare(
            effects, self.reference.arrive(source, as_row(packet, self.p.W, source))
        )

    def suspect(self, targets: list[int], now_ns: int) -> list[Effect]:
        effects = self.product.suspect(targets, now_ns)
        return self.compare(effects, self.reference.hint(self.hints()))

    def hints(self) -> list[int]:
        """Whom the product takes for stalled, but for those with parked copies."""
        hints = self.product._stalls.hints
        return list(dict.fromkeys([*self.product._parking.told, *hints]))

    def deadline_ns(self) -> int | None:
        return self.product.deadline_ns()

    def expire(self, now_ns: int) -> list[Effect]:
        """Resends and asks are compared one by one; new hints are passed on to the reference."""
        before = self.hints()
        effects = self.product.expire(now_ns)
        rows = self.rows(effects)
        hints = self.hints()
        fresh = self.fresh(rows)
        expected = self.reference.hint(hints) if hints != before else []
        assert decisions(fresh) == decisions(expected), f"hints of process {self.me}"
        return effects

    def fresh(self, rows: list[Row]) -> list[Row]:
        """Without what is sent again, which is compared here."""
        fresh = []
        for row in rows:
            packet = row["packet"]
            again = None
            if packet["kind"] == "ask":
                again = self.reference.asked(row["transmit"])
            elif packet["kind"] == "msg":
                entry = self.reference.u[packet["mid"]]
                if row["transmit"] in entry.sent:
                    again = self.reference.resent(entry, row["transmit"])
            if again is None:
                fresh.append(row)
            elif packet["kind"] == "ask":
                assert {**packet, "g": None} == {**again, "g": None}
            else:
                pid, man, rep = message_of(again)
                # What is known to be delivered need not be waited for again.
                man = [mark for mark in man if list(mark) in packet["man"]]
                assert message_of(packet) == (pid, man, rep)
        return fresh
