"""Kshemkalyani and Singhal: the log states what is necessary, and nothing else.

Most wrong ways to keep the log stay causal and only make it larger, so causality alone does not
judge it: after every step the log, and whatever leaves, is compared with the facts that the
definition asks for, computed from the whole past.
"""

from collections.abc import Sequence

import pytest

from antecede.core import CausalProcess, Message, RemoteError, Transmit
from antecede_lab.protocols.ks import KsPacket, KsProcess, missing_before
from antecede_lab.protocols.ks_log import (
    Log,
    Sends,
    adding,
    log_integers,
    merged,
    merged_sends,
    without,
)
from tests.antecede.core.brute_force import (
    Arrival,
    Create,
    Fact,
    Run,
    Schedule,
    Submission,
    Traffic,
    differs,
    overtakings,
    random_schedule,
    run_through,
    undelivered,
)
from tests.antecede.core.patched import patched

EVERYONE = (0, 1, 2, 3)


def sent(sender: CausalProcess, targets: Sequence[int], payload: bytes = b"") -> list[KsPacket]:
    packets: list[KsPacket] = []
    for effect in sender.submit(targets, payload, 0):
        assert isinstance(effect, Transmit)
        assert isinstance(effect.packet, KsPacket)
        packets.append(effect.packet)
    return packets


def sends(entries: dict[int, set[int]]) -> Sends:
    return Sends({time: frozenset(targets) for time, targets in entries.items()})


# The fact set.


def facts(log: Log) -> set[Fact]:
    """Every (sender, time, target) that a log states; also the log of a mutant."""
    return {
        (sender, time, target)
        for sender, sends_of_one in log.items()
        for time, targets in sends_of_one.entries.items()
        for target in targets
    }


def traffic(seed: int) -> Traffic:
    return Traffic(
        processes=((0, 1, 2, 3), (9, 2, 40, 5, 7), (0, 1, 2))[seed % 3],
        multicast=(0.0, 0.4, 0.8)[seed // 3 % 3],
        submit_share=(0.15, 0.4, 0.7)[seed // 9 % 3],
        messages=30,
    )


def first_wrong_log(create: Create, schedule: Schedule) -> str | None:
    """Where a log or a piggyback first states other facts than necessary, or keeps idle entries."""
    run = Run(create, schedule.processes)
    for number, step in enumerate(schedule.steps):
        if isinstance(step, Submission):
            before = run.ideal[step.sender].facts()
        run.step(step)
        me = step.sender if isinstance(step, Submission) else step.target
        wrong = log_complaint(log_of(run.actual[me]), run.ideal[me].facts())
        if wrong is None and isinstance(step, Submission):
            wrong = piggyback_complaint(run, step, before)
        if wrong is not None:
            return f"step {number}, {step}: {wrong}"
    return None


def log_of(process: CausalProcess) -> Log:
    """Mutants have a class of their own, with the same method."""
    log: Log = process.log()  # type: ignore[attr-defined]
    return log


def log_complaint(log: Log, necessary: set[Fact]) -> str | None:
    stated = facts(log)
    if stated != necessary:
        return f"{sorted(stated - necessary)} too many, {sorted(necessary - stated)} missing"
    for sender, sends_of_one in log.items():
        times = list(sends_of_one.entries)
        if times != sorted(times) or not all(map(sends_of_one.entries.get, times[:-1])):
            return f"out of order, or an entry for nobody that is not the newest: {sender}"
    return None


def piggyback_complaint(run: Run, step: Submission, before: set[Fact]) -> str | None:
    """What leaves to a target: the facts of before, but for those about the other targets."""
    latest = max(key for key in run.sent if key[0] == step.sender)
    for target in step.targets:
        if target != step.sender:
            packet = run.packets[latest, target]
            others = set(step.targets) - {target}
            necessary = {fact for fact in before if fact[2] not in others}
            wrong = log_complaint(packet.log, necessary)  # type: ignore[attr-defined]
            if wrong is not None:
                return f"to {target}: {wrong}"
    return None


@pytest.mark.parametrize("seed", range(54))
def test_log_and_piggyback_state_exactly_the_necessary_facts(seed: int) -> None:
    assert first_wrong_log(KsProcess, random_schedule(seed, traffic(seed))) is None


INTERSECT = "            left = targets & older.entries[time]\n"
SETTLED = "                changed = True\n                continue\n"
MERGED = "    return purged(kept) if changed else newer\n"
LOG_IMPORT = "antecede_lab.protocols.ks_log"

BLOATING: dict[str, tuple[str, tuple[str, str]]] = {
    "unites where it should intersect": (
        "antecede_lab/protocols/ks_log.py",
        (INTERSECT, "            left = targets | older.entries[time]\n"),
    ),
    "believes the newer log alone": (
        "antecede_lab/protocols/ks_log.py",
        (INTERSECT, "            left = targets\n"),
    ),
    "keeps what the other knows to be settled": (
        "antecede_lab/protocols/ks_log.py",
        (SETTLED, "                kept[time] = targets\n                continue\n"),
    ),
    "keeps old entries that only the older log has": (
        "antecede_lab/protocols/ks_log.py",
        (MERGED, "    return purged(dict(sorted({**older.entries, **kept}.items())))\n"),
    ),
    "does not settle itself at delivery": (
        "antecede_lab/protocols/ks.py",
        ("theirs, frozenset((self._members.me,))", "theirs, frozenset()"),
    ),
    "does not settle the targets of its own message": (
        "antecede_lab/protocols/ks.py",
        ("rest = without(self._log, everyone)", "rest = self._log"),
    ),
    "tells every target the same": (
        "antecede_lab/protocols/ks.py",
        ("told = without(self._log, everyone - {target})", "told = self._log"),
    ),
}


def bloating(name: str) -> Create:
    """A process that is wrong in this way."""
    file, change = BLOATING[name]
    if file == "antecede_lab/protocols/ks.py":
        create: Create = patched(
            "antecede_lab/protocols/ks.py", change, as_module="bloating_ks"
        ).KsProcess
    else:
        patched("antecede_lab/protocols/ks_log.py", change, as_module="bloating_ks_log")
        imports = (f"from {LOG_IMPORT} import", "from bloating_ks_log import")
        create = patched("antecede_lab/protocols/ks.py", imports, as_module="bloating_ks").KsProcess
    return create


@pytest.mark.parametrize("name", BLOATING)
def test_a_log_that_bloats_is_causal_and_in_time_but_caught_by_the_facts(name: str) -> None:
    create = bloating(name)
    schedules = [random_schedule(seed, traffic(seed)) for seed in range(9)]

    runs = [run_through(create, schedule) for schedule in schedules]
    assert [overtakings(run) for run in runs] == [[]] * 9
    assert [undelivered(run) for run in runs] == [[]] * 9
    assert any(first_wrong_log(create, schedule) for schedule in schedules)


FORGETTING: dict[str, tuple[str, str]] = {
    "forgets the target itself": (
        "told = without(self._log, everyone - {target})",
        "told = without(self._log, everyone)",
    ),
    "does not log its own messages": (
        "self._log = adding(rest, self._members.me, message.sequence, everyone)",
        "self._log = rest",
    ),
    "does not log what it delivers": (
        "theirs = adding(packet.log, source, sequence, frozenset(packet.targets))",
        "theirs = packet.log",
    ),
    "does not believe others": (
        "self._log = merged(self._log, theirs,",
        "merged(self._log, theirs,",
    ),
}


@pytest.mark.parametrize("name", FORGETTING)
def test_a_log_that_forgets_is_caught_by_the_facts_and_by_causality(name: str) -> None:
    create: Create = patched(
        "antecede_lab/protocols/ks.py", FORGETTING[name], as_module="forgetting_ks"
    ).KsProcess
    schedules = [random_schedule(seed, traffic(seed)) for seed in range(18)]

    assert any(first_wrong_log(create, schedule) for schedule in schedules)
    assert any(differs(create, schedule) for schedule in schedules)


# The rules, one by one.


def test_each_copy_of_a_multicast_has_its_own_log() -> None:
    process = KsProcess(0, EVERYONE)
    sent(process, (1, 2, 3))

    to_one, to_two = sent(process, (1, 2))

    assert to_one.log == {0: sends({1: {1, 3}})}
    assert to_two.log == {0: sends({1: {2, 3}})}
    assert process.log() == {0: sends({1: {3}, 2: {1, 2}})}


def test_a_unicast_carries_the_log_as_it_is() -> None:
    process = KsProcess(0, EVERYONE)
    sent(process, (1, 2))
    log = process.log()

    (packet,) = sent(process, (1,))

    assert packet.log is log


def test_an_empty_entry_stays_while_it_is_the_newest_of_its_sender() -> None:
    log = {0: sends({1: {1}, 2: {2}})}

    assert without(log, frozenset({1, 2})) == {0: sends({2: set()})}
    assert adding({0: sends({2: set()})}, 0, 5, frozenset({3})) == {0: sends({5: {3}})}


def test_merging_drops_what_either_knows_to_be_settled() -> None:
    mine = sends({1: {4}, 3: {5, 6}, 4: {7}})
    theirs = sends({2: {4}, 3: {5}, 9: {8}})

    assert merged_sends(mine, theirs) == sends({3: {5}, 9: {8}})
    assert merged_sends(theirs, mine) == sends({3: {5}, 9: {8}})
    assert merged({0: mine}, {1: theirs}, frozenset({8})) == {
        0: mine,
        1: sends({2: {4}, 3: {5}, 9: set()}),
    }


def test_merging_hands_back_what_need_not_change() -> None:
    older, newer = sends({1: {4, 5}}), sends({1: {4}, 2: {6}})

    assert merged_sends(older, newer) is newer
    assert merged_sends(newer, older) is newer


def test_what_is_missing_is_what_the_log_says_is_meant_for_me() -> None:
    log = {0: sends({3: {1, 2}}), 2: sends({5: {1}, 6: {3}})}
    packet = KsPacket(Message(0, 4, b""), (1,), log)

    assert missing_before(packet, {}, 1) == [(0, 3), (2, 5)]
    assert missing_before(packet, {0: 3, 2: 4}, 1) == [(2, 5)]
    assert missing_before(packet, {0: 3, 2: 9}, 1) == []


def test_metadata_counts_two_and_the_targets_of_each_entry_and_its_own_header() -> None:
    log = {0: sends({3: {1, 2}}), 2: sends({5: set()})}

    assert log_integers(log) == 4 + 2
    assert KsPacket(Message(0, 4, b""), (1, 3), log).metadata_integers == 1 + 2 + 6


def test_fifo_channels_are_not_needed() -> None:
    """Two messages of one sender that arrive in reverse are delivered in order."""
    process = KsProcess(1, EVERYONE)
    sender = KsProcess(0, EVERYONE)
    (first,), (second,) = sent(sender, (1,), b"first"), sent(sender, (1,), b"second")

    assert process.arrive(0, second, 0) == []
    assert len(process.arrive(0, first, 0)) == 2


def test_facts_never_outnumber_the_matrix() -> None:
    for seed in range(9):
        schedule = random_schedule(seed, traffic(seed))
        run = Run(KsProcess, schedule.processes)
        for step in schedule.steps:
            run.step(step)
            if isinstance(step, Arrival):
                size = len(schedule.processes)
                assert len(facts(log_of(run.actual[step.target]))) <= size * size


# Packets that no correct process sends.

FORGERIES: dict[str, Log] = {
    "a sender that is nobody": {4: sends({1: {2}})},
    "a sender without sends": {2: sends({})},
    "a message number zero": {3: sends({0: {2}})},
    "a negative number": {3: sends({-4: {2}})},
    "numbers out of order": {3: sends({2: {2}, 1: {2}})},
    "an idle entry before another": {3: sends({1: set(), 2: {2}})},
    "a target that is nobody": {3: sends({1: {2, 4}})},
    "a negative target": {3: sends({1: {-1}})},
    "a message to oneself": {3: sends({1: {3}})},
    "a message of its own future": {0: sends({1: {2}})},
    "a message that the receiver never sent": {1: sends({2: {2}})},
}


@pytest.mark.parametrize("processes", [EVERYONE, (0, 1, 2, 3, 50)])
@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_packet_changes_nothing(name: str, processes: tuple[int, ...]) -> None:
    process = KsProcess(1, processes)
    sent(process, (0,))
    before = process.fingerprint()

    with pytest.raises(RemoteError):
        process.arrive(0, KsPacket(Message(0, 1, b""), (1,), FORGERIES[name]), 0)

    assert process.fingerprint() == before


def test_a_dependency_that_is_passed_over_does_not_block() -> None:
    """No correct process logs it so, but waiting for message 2 ends when 3 is delivered."""
    process = KsProcess(1, EVERYONE)
    claim = KsPacket(Message(3, 1, b""), (1,), {2: sends({2: {1}})})
    assert process.arrive(3, claim, 0) == []

    assert len(process.arrive(2, KsPacket(Message(2, 3, b""), (1,), {}), 0)) == 2
