"""Nodes whose disks lose power at every single step: nothing is lost, doubled or out of order."""

import asyncio
from collections.abc import Mapping
from random import Random

import pytest

from antecede import Message
from antecede.network_model.faults import Faults
from antecede.testing import Uniform
from tests.antecede.durability.crashing_group import CrashingGroup, Entry, Sends, run, text_of

NAMES = ["alice", "bob", "carol"]
BAD = Faults(latency=Uniform(1_000_000, 30_000_000), loss=0.1, duplication=0.1)


def next_of(name: str) -> str:
    return NAMES[(NAMES.index(name) + 1) % len(NAMES)]


def begins_with(name: str) -> list[tuple[list[str], bytes]]:
    """Every chain begins with three hops to go."""
    return [([next_of(name)], f"3{name[0]}".encode())]


def passes_on(name: str, message: Message) -> list[tuple[list[str], bytes]]:
    """A message that begins with digits goes on so many times, each time to the next in the round,
    and before that a copy to both others."""
    return answers(name, text_of(message.payload))


def answers(name: str, text: str) -> list[tuple[list[str], bytes]]:
    """What a node sends when it handles this text: the copies overtake nothing but their effects,
    so a third node gets what they have caused in the right order only if somebody sees to that."""
    hops = int(text[0]) if text[0].isdigit() else 0
    if hops == 0:
        return []
    others = [other for other in NAMES if other != name]
    answer = f"{hops - 1}{text[1:]}<{name}".encode()
    return [(others, b"0copy of " + answer), ([next_of(name)], answer)]


Said = tuple[str, str]
"""A message: who has sent it, and what it says. No node says the same twice."""


def check_logs(logs: Mapping[str, list[Entry]], sent: Mapping[str, int]) -> None:
    """Each log has every message for it once, and causes before effects."""
    for name, log in logs.items():
        assert len({entry[:2] for entry in log}) == len(log), f"{name} has handled some twice"
        for sender in NAMES:
            theirs = [sequence for who, sequence, _ in log if who == sender]
            assert theirs == sorted(theirs), f"{sender}'s messages are out of order at {name}"
    assert sum(len(log) for log in logs.values()) == expected_count(sent)
    check_causes({name: [(who, text) for who, _, text in log] for name, log in logs.items()})


def expected_count(sent: Mapping[str, int]) -> int:
    """Each message with h hops to go is delivered once, and makes three more with one hop less."""
    deliveries = 0
    for hops_text, count in sent.items():
        hops = int(hops_text)
        deliveries += count * (1 + 3 * hops)
    return deliveries


def check_causes(logs: Mapping[str, list[Said]]) -> None:
    """No node has handled a message before one that was for it, and had been sent or handled by the
    sender before, or by who had sent that, and so on."""
    causes: dict[Said, set[Said]] = {}
    targets: dict[Said, list[str]] = {}
    pasts: dict[str, set[Said]] = {name: set() for name in logs}
    handled = dict.fromkeys(logs, 0)

    def send(name: str, sends: Sends) -> None:
        for whom, payload in sends:
            said = (name, payload.decode())
            causes[said], targets[said] = set(pasts[name]), whom
            pasts[name].add(said)

    for name in logs:
        send(name, begins_with(name))
    while any(handled[name] < len(log) for name, log in logs.items()):
        following = {name: log[handled[name]] for name, log in logs.items() if log[handled[name] :]}
        ready = [name for name, said in following.items() if said in causes]
        assert ready, "somebody has handled what nobody can have sent before"
        for name in ready:
            said = logs[name][handled[name]]
            before = logs[name][: handled[name]]
            for cause in causes[said]:
                late = name in targets[cause] and cause not in before
                assert not late, f"at {name} {said} came before {cause}, which had led to it"
            handled[name] += 1
            pasts[name] |= causes[said] | {said}
            send(name, answers(name, said[1]))


class RandomOrder:
    """The same nodes without any protocol: what is under way arrives in some order or other."""

    def __init__(self, seed: int, order: str) -> None:
        self._random = Random(seed)
        self._order = order
        self._sequences = dict.fromkeys(NAMES, 0)
        self._under_way: list[tuple[str, str, int, str]] = []
        self.logs: dict[str, list[Entry]] = {name: [] for name in NAMES}
        for name in NAMES:
            self._send(name, begins_with(name))

    def run(self) -> dict[str, list[Entry]]:
        """What every node has handled."""
        while self._under_way:
            sender, target, sequence, text = self._under_way.pop(self._next())
            self.logs[target].append((sender, sequence, text))
            self._send(target, answers(target, text))
        return self.logs

    def _next(self) -> int:
        """Which one arrives: any, the first of any pair, or the one that was sent first."""
        if self._order == "as sent":
            return 0
        place = self._random.randrange(len(self._under_way))
        if self._order == "per pair":
            pair = self._under_way[place][:2]
            place = next(i for i, one in enumerate(self._under_way) if one[:2] == pair)
        return place

    def _send(self, name: str, sends: Sends) -> None:
        for targets, payload in sends:
            self._sequences[name] += 1
            for target in targets:
                self._under_way.append((name, target, self._sequences[name], payload.decode()))


def found_wrong(order: str, seed: int) -> str:
    """What is said against a run without a protocol."""
    try:
        check_logs(RandomOrder(seed, order).run(), {"3": 3})
    except AssertionError as error:
        return str(error)
    return ""


def test_logs_in_any_order_are_found_wrong() -> None:
    found = [found_wrong("any", seed) for seed in range(200)]
    assert sum(1 for wrong in found if wrong) > 190


def test_logs_in_order_per_pair_are_found_wrong_for_their_causes_alone() -> None:
    found = [found_wrong("per pair", seed) for seed in range(200)]
    assert all("which had led to it" in wrong for wrong in found if wrong)
    assert sum(1 for wrong in found if wrong) > 100


def test_logs_in_the_order_of_sending_are_found_right() -> None:
    assert found_wrong("as sent", 1) == ""


def test_a_log_with_one_message_moved_is_found_wrong() -> None:
    """Whatever is handled later than it was, or twice, or not at all."""
    logs = RandomOrder(1, "as sent").run()
    caught = 0
    for name, log in logs.items():
        for place in range(len(log) - 1):
            changed = [*log[:place], *log[place + 1 :], log[place]]
            for wrong in (changed, log[:place] + log[place + 1 :], [*log, log[place]]):
                try:
                    check_logs({**logs, name: wrong}, {"3": 3})
                except AssertionError:
                    caught += 1
    moved = sum(len(log) - 1 for log in logs.values())
    assert caught >= 2 * moved + moved // 2


async def story(group: CrashingGroup, kept_of_the_rest: float = 0.0) -> None:
    """Three chains around, revived whenever somebody loses power."""
    await group.open_all()
    await group.settle(kept_of_the_rest)
    check_logs({name: group.log(name) for name in NAMES}, {"3": 3})


def count_steps(name: str) -> int:
    """How often a node's disk is asked for something in a run without any failure."""
    steps = 0

    async def whole() -> None:
        nonlocal steps
        group = CrashingGroup(NAMES, begins_with=begins_with, passes_on=passes_on)
        await story(group)
        steps = group.disks[name].steps

    run(whole())
    return steps


@pytest.mark.parametrize("name", NAMES)
def test_power_fails_at_every_step_of_one_disk(name: str) -> None:
    opening = 6  # A disk that fails while the node is opened lets nobody in: that is no crash.
    steps = count_steps(name)
    assert steps > 30
    crashes = 0
    for crash_at in range(opening, steps + 1):

        async def crashing(crash_at: int = crash_at) -> None:
            nonlocal crashes
            group = CrashingGroup(NAMES, begins_with=begins_with, passes_on=passes_on)
            group.disks[name].crash_at = crash_at
            await story(group, (crash_at % 3) / 2)
            crashes += group.crashes

        run(crashing())
    assert crashes >= steps // 2


@pytest.mark.parametrize("seed", range(8))
def test_power_fails_again_and_again_on_a_bad_network(seed: int) -> None:
    """Every node loses power several times, at times that depend on nothing but the seed."""
    rng = Random(seed)

    async def storm() -> None:
        group = CrashingGroup(
            NAMES, seed=seed, faults=BAD, begins_with=begins_with, passes_on=passes_on
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
