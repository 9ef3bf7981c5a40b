"""Leaving out any one item of what must survive is noticed: as a message lost, doubled or stuck."""

import asyncio
from random import Random

import pytest

from antecede import Message
from antecede.core.errors import AntecedeError
from antecede.core.hybrid import records as core
from antecede.durability import record_kinds as kept
from antecede.network_model.faults import Faults
from antecede.testing import Uniform
from tests.antecede.durability.crashing_group import CrashingGroup, Sends, run, text_of
from tests.antecede.durability.failing_disk import ForgetfulDisk
from tests.antecede.durability.test_node_crashes import NAMES, begins_with, check_logs, passes_on

SLOW = Faults(latency=Uniform(1_000_000, 60_000_000), loss=0.2)

NEEDED = {
    "submitted": core.SUBMITTED,
    "delivered": core.DELIVERED,
    "who a peer is": core.PEER,
    "this life": kept.LIFE,
    "peers": kept.PEER,
    "counts": kept.COUNTS,
    "inbound": kept.INBOUND,
    "confirmed": kept.CONFIRMED,
    "values": kept.PUT,
    "parts": kept.FRAGMENT_SENT,
    "large": kept.UNFINISHED_PAYLOAD,
    "pieces": kept.FRAGMENT_RECEIVED,
    "numbers": kept.NUMBERED,
}

LARGE = 60_000
"""In datagrams of this network that is more parts than a node has room for at once."""

TURNS = 5_000
"""Ten times what it takes if nothing is forgotten."""

DAVE = "dave"
ASK = b"0large indeed?"
ANSWER = b"0large indeed"


def sends(name: str) -> Sends:
    """Dave sends large payloads, the others chains as elsewhere."""
    if name != DAVE:
        return begins_with(name)
    return [(["alice"], b"0large one" + Random(1).randbytes(LARGE))]


def hands_on(name: str, message: Message) -> Sends:
    """Alice asks Dave after his large payload, and he answers; the others as elsewhere."""
    if len(message.payload) > LARGE:
        return [([DAVE], ASK)]
    if message.payload == ASK:
        return [(["alice"], ANSWER)]
    return passes_on(name, message)


async def story(seed: int, kind: int | None) -> None:
    """Many crashes; with a kind: every time records of that kind are forgotten."""
    rng = Random(seed)
    group = CrashingGroup(
        [*NAMES, DAVE],
        seed=seed,
        faults=SLOW,
        begins_with=sends,
        passes_on=hands_on,
        settings={"send_limit": 24, "patience": 0.2},
    )
    if kind is not None:
        group.disks = {name: ForgetfulDisk(kind) for name in group.names}
    await group.open_all()
    for _ in range(14):
        for _ in range(rng.randrange(1, 60)):
            await asyncio.sleep(0)
            group.network.go_on()
        await group.crash(rng.choice(group.names), rng.random())
    await group.settle(most=None if kind is None else TURNS)
    logs = {name: group.log(name) for name in NAMES}
    plain = {name: [e for e in log if "large" not in e[2]] for name, log in logs.items()}
    check_logs(plain, {"3": 3})
    whole, answer = text_of(sends(DAVE)[0][1]), text_of(ANSWER)
    large = [entry for entry in logs["alice"] if entry not in plain["alice"]]
    assert large == [(DAVE, 1, whole), (DAVE, 2, answer)]


def fails(seed: int, kind: int | None) -> str:
    """What goes wrong, if something does."""
    try:
        run(story(seed, kind))
    except (AssertionError, AntecedeError, TimeoutError, KeyError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    return ""


@pytest.mark.parametrize("seed", range(6))
def test_nothing_is_lost_if_nothing_is_forgotten(seed: int) -> None:
    assert fails(seed, None) == ""


@pytest.mark.parametrize("item", NEEDED)
def test_forgetting_any_one_item_is_noticed(item: str) -> None:
    assert any(fails(seed, NEEDED[item]) for seed in range(12))
