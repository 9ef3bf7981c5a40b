"""Nodes whose disks lose power at every single step: nothing is lost, doubled or out of order."""

import asyncio
from collections.abc import Mapping
from random import Random

import pytest

from antecede import Message
from antecede.link.faults import Faults
from antecede.testing import Uniform
from tests.journal.crashing_group import CrashingGroup, Entry, run, text_of

NAMES = ["alice", "bob", "carol"]
BAD = Faults(latency=Uniform(1_000_000, 30_000_000), loss=0.1, duplication=0.1)


def next_of(name: str) -> str:
    return NAMES[(NAMES.index(name) + 1) % len(NAMES)]


def begins_with(name: str) -> list[tuple[list[str], bytes]]:
    """Every chain begins with three hops to go."""
    return [([next_of(name)], f"3{name[0]}".encode())]


def passes_on(name: str, message: Message) -> list[tuple[list[str], bytes]]:
    """A message that begins with digits goes on so many times, each time to the next in the round,
    and a copy to both others."""
    text = text_of(message.payload)
    hops = int(text[0]) if text[0].isdigit() else 0
    if hops == 0:
        return []
    others = [other for other in NAMES if other != name]
    answer = f"{hops - 1}{text[1:]}<{name}".encode()
    return [([next_of(name)], answer), (others, b"0copy of " + answer)]


def check_logs(logs: Mapping[str, list[Entry]], sent: Mapping[str, int]) -> None:
    """Each log has every message for it once, and causes before effects."""
    for name, log in logs.items():
        assert len({entry[:2] for entry in log}) == len(log), f"{name} has handled some twice"
        for sender in NAMES:
            theirs = [sequence for who, sequence, _ in log if who == sender]
            assert theirs == sorted(theirs), f"{sender}'s messages are out of order at {name}"
    texts = {name: [text for _, _, text in log] for name, log in logs.items()}
    everything = [text for log in texts.values() for text in log]
    assert len(everything) == expected_count(sent)
    for name, said in texts.items():
        for place, text in enumerate(said):
            for early in said[place + 1 :]:
                assert not is_cause(early, text), f"at {name} {text!r} came before {early!r}"


def expected_count(sent: Mapping[str, int]) -> int:
    """Each message with h hops to go is delivered once, and makes three more with one hop less."""
    deliveries = 0
    for hops_text, count in sent.items():
        hops = int(hops_text)
        deliveries += count * (1 + 3 * hops)
    return deliveries


def is_cause(early: str, late: str) -> bool:
    """Whether a text is part of the chain that led to another: its hops are a prefix of it."""
    one, other = early.removeprefix("0copy of ")[1:], late.removeprefix("0copy of ")[1:]
    return one != other and other.startswith(one + "<") and not early.startswith("0copy of ")


async def story(group: CrashingGroup, kept_of_the_rest: float = 0.0) -> None:
    """Three chains around, revived whenever somebody loses power."""
    await group.open_all()
    await group.settle(kept_of_the_rest)
    check_logs({name: group.log(name) for name in NAMES}, {"3": 3})


def count_steps(name: str, order: str) -> int:
    """How often a node's disk is asked for something in a run without any failure."""
    steps = 0

    async def whole() -> None:
        nonlocal steps
        group = CrashingGroup(NAMES, begins_with=begins_with, passes_on=passes_on, order=order)
        await story(group)
        steps = group.disks[name].steps

    run(whole())
    return steps


@pytest.mark.parametrize(
    ("name", "order"), [*((name, "hybrid") for name in NAMES), ("bob", "hybrid-facts")]
)
def test_power_fails_at_every_step_of_one_disk(name: str, order: str) -> None:
    opening = 6  # A disk that fails while the node is opened lets nobody in: that is no crash.
    steps = count_steps(name, order)
    assert steps > 30
    crashes = 0
    for crash_at in range(opening, steps + 1):

        async def crashing(crash_at: int = crash_at) -> None:
            nonlocal crashes
            group = CrashingGroup(NAMES, begins_with=begins_with, passes_on=passes_on, order=order)
            group.disks[name].crash_at = crash_at
            await story(group, (crash_at % 3) / 2)
            crashes += group.crashes

        run(crashing())
    assert crashes >= steps // 2


@pytest.mark.parametrize("order", ["hybrid", "hybrid-facts"])
@pytest.mark.parametrize("seed", range(8))
def test_power_fails_again_and_again_on_a_bad_network(seed: int, order: str) -> None:
    """Every node loses power several times, at times that depend on nothing but the seed."""
    rng = Random(seed)

    async def storm() -> None:
        group = CrashingGroup(
            NAMES, seed=seed, faults=BAD, begins_with=begins_with, passes_on=passes_on, order=order
        )
        await group.open_all()
        for _ in range(12):
            for disk in group.disks.values():
                if disk.crash_at is None and rng.random() < 0.5:
                    disk.crash_at = disk.steps + rng.randrange(1, 12)
            for _ in range(rng.randrange(1, 40)):
                await asyncio.sleep(0)
                group.network.go_on()
            await group.revive(rng.random())
        await group.settle(rng.random())
        check_logs({name: group.log(name) for name in NAMES}, {"3": 3})
        assert group.crashes > 0

    run(storm())
