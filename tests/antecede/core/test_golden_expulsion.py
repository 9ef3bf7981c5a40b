"""Expulsion decides as a reference did, call by call: copies, permits, notices and reports."""

from typing import Any

from antecede.core import (
    DeliveryUnknown,
    Effect,
    EffectList,
    Expelled,
    NotSentTo,
    Packet,
    Report,
    SelfExpelled,
    Transmit,
)
from antecede.core.packets import ExpulsionAck, ExpulsionNotice, Permit, YouAreExpelled
from antecede.core.process import NodeProcess
from antecede_lab.catalogue import PROTOCOLS
from tests.antecede.core.golden import Json, decided, golden, packet_of, recorded
from tests.antecede.core.hybrid.test_golden_ordered import STEP_NS, without_deliveries

NAMES = {"ordered": "hybrid", "sps": "hybrid-sps", "csps": "hybrid-csps"}


def test_every_recorded_step_is_repeated() -> None:
    steps = sum(replay(schedule) for schedule in golden("expel"))

    assert steps >= 2_700


def replay(schedule: Json) -> int:
    config, everyone = schedule["config"], schedule["processes"]
    processes: dict[int, NodeProcess] = {}
    for me in everyone:
        made = PROTOCOLS[NAMES[config["release"]]].create(me, everyone, patience_ns=1)
        assert isinstance(made, NodeProcess)
        processes[me] = made
        for other in config["named"][me]:
            made.on_met_into(other, 0, EffectList())
    for count, step in enumerate(schedule["steps"]):
        process = processes[step["process"]]
        effects = call(process, step, count * STEP_NS)
        assert everything_decided(effects, process.reports()) == everything_recorded(
            step["effects"]
        ), (config, count, step, effects)
    return len(schedule["steps"])


def call(process: NodeProcess, step: Json, now_ns: int) -> list[Effect]:
    arguments, me = step["args"], step["process"]
    if step["call"] == "submit" and not arguments["targets"]:
        return without_deliveries(process.submit([me], b"", now_ns))
    if step["call"] == "submit":
        return process.submit(arguments["targets"], b"", now_ns)
    if step["call"] == "arrive":
        source = arguments["source"]
        return process.arrive(source, carrying(source, arguments["packet"]), now_ns)
    if step["call"] == "expel":
        outbox = EffectList()
        process.expel_into(arguments["id"], now_ns, outbox)
        return outbox.effects
    return process.expire(now_ns)


def carrying(source: int, written: Json) -> Packet:
    """A recorded packet as ours, inside a notice if it carries any."""
    if written["kind"] == "noted":
        return ExpulsionAck(written["set"])
    if written["kind"] == "expelled":
        return YouAreExpelled()
    if written["kind"] == "notice":
        return ExpulsionNotice(written["carried"], None)
    inner = packet_of(source, written)
    return ExpulsionNotice(written["carried"], inner) if written["carried"] else inner


def everything_recorded(effects: list[Json]) -> Any:  # noqa: ANN401 - only compared
    reports: list[Report] = []
    news: list[tuple[object, ...]] = []
    for effect in effects:
        if "report" in effect:
            reports.append(report_of(effect))
        elif "transmit" in effect:
            packet, target = effect["packet"], effect["transmit"]
            if packet["kind"] in ("noted", "expelled"):
                news.append((target, packet["kind"], *packet.get("set", [])))
            elif packet.get("carried"):
                number = packet.get("mid", packet.get("n", 0))
                news.append((target, packet["kind"], number, *packet["carried"]))
    return recorded(effects), sorted(map(str, reports)), sorted(set(map(str, news)))


def report_of(effect: Json) -> Report:
    kind = effect["report"]
    if kind == "expelled":
        return Expelled(effect["id"], effect["ld"])
    if kind == "unconfirmed":
        return DeliveryUnknown(effect["mid"], effect["id"])
    return NotSentTo(effect["mid"], effect["id"]) if kind == "refused" else SelfExpelled(-1)


def everything_decided(effects: list[Effect], reports: list[Report]) -> Any:  # noqa: ANN401 - only compared
    plain: list[Effect] = []
    news: list[tuple[object, ...]] = []
    for effect in effects:
        if not isinstance(effect, Transmit):
            plain.append(effect)
            continue
        packet, target = effect.packet, int(effect.target)
        if isinstance(packet, ExpulsionNotice):
            inner = packet.inner
            if inner is None:
                news.append((target, "notice", 0, *packet.processes))
                continue
            news.append((target, *named(inner), *packet.processes))
            plain.append(Transmit(effect.target, inner))
        elif isinstance(packet, ExpulsionAck):
            news.append((target, "noted", *packet.processes))
        elif isinstance(packet, YouAreExpelled):
            news.append((target, "expelled"))
        else:
            plain.append(effect)
    told = [SelfExpelled(-1) if isinstance(report, SelfExpelled) else report for report in reports]
    return decided(plain), sorted(map(str, told)), sorted(set(map(str, news)))


def named(inner: Packet) -> tuple[str, int]:
    if isinstance(inner, Permit):
        return "permit", int(inner.sequence)
    assert inner.message is not None, "only messages and permits are carried in a notice"
    return "msg", int(inner.message.sequence)
