"""The ordered rule decides as a reference did, call by call."""

from antecede.core import Deliver, Effect
from antecede_lab.catalogue import PROTOCOLS
from tests.antecede.core.golden import Json, decided, golden, packet_of, recorded

STEP_NS = 1_000
"""Longer than any back-off of a patience of one nanosecond: every timer call finds all due."""


def test_every_recorded_step_is_repeated() -> None:
    steps = sum(replay(schedule) for schedule in golden("ordered"))

    assert steps >= 2_900


def replay(schedule: Json) -> int:
    everyone = schedule["processes"]
    info = PROTOCOLS["hybrid"]
    processes = {me: info.create(me, everyone, patience_ns=1) for me in everyone}
    for count, step in enumerate(schedule["steps"]):
        process, arguments, now_ns = processes[step["process"]], step["args"], count * STEP_NS
        if step["call"] == "submit" and not arguments["targets"]:
            # We refuse a message to nobody; the reference gives it an id. So does one to oneself.
            effects = without_deliveries(process.submit([step["process"]], b"", now_ns))
        elif step["call"] == "submit":
            effects = process.submit(arguments["targets"], b"", now_ns)
        elif step["call"] == "arrive":
            packet = packet_of(arguments["source"], arguments["packet"])
            effects = process.arrive(arguments["source"], packet, now_ns)
        else:
            effects = process.expire(now_ns)
        assert decided(effects) == recorded(step["effects"]), (schedule["config"], count, step)
    return len(schedule["steps"])


def without_deliveries(effects: list[Effect]) -> list[Effect]:
    return [effect for effect in effects if not isinstance(effect, Deliver)]
