"""Schiper, Eggli, Sandoz: a vector clock, and the time of the latest message to each process."""

from collections.abc import Callable, Sequence

import pytest

from antecede.core import CausalProcess, Message, RemoteError, Transmit
from antecede_lab.protocols.ses import SesPacket, SesProcess, missing_before
from antecede_lab.protocols.vectors import EMPTY, Vector
from tests.antecede.core.brute_force import Create, Traffic, differs, random_schedule
from tests.antecede.core.patched import patched

EVERYONE = (0, 1, 2)


def sent(sender: CausalProcess, targets: Sequence[int], payload: bytes = b"") -> SesPacket:
    effect = sender.submit(targets, payload, 0)[0]
    assert isinstance(effect, Transmit)
    assert isinstance(effect.packet, SesPacket)
    return effect.packet


# The rule.


def test_a_packet_carries_its_time_and_the_latest_times_from_before() -> None:
    process = SesProcess(0, EVERYONE)

    first = sent(process, (2, 1))
    second = sent(process, (1,))

    assert first == SesPacket(Message(0, 1, b""), (1, 2), 3, Vector({0: 1}), {})
    before = {1: Vector({0: 1}), 2: Vector({0: 1})}
    assert second == SesPacket(Message(0, 2, b""), (1,), 3, Vector({0: 2}), before)


def test_a_delivery_moves_the_clock_and_dates_all_other_targets() -> None:
    process = SesProcess(1, EVERYONE)
    time = Vector({0: 3, 2: 1})
    process.arrive(0, SesPacket(Message(0, 3, b""), (1, 2), 3, time, {2: Vector({0: 1})}), 0)

    answer = sent(process, (0,))

    assert answer.time == Vector({0: 3, 1: 1, 2: 1})
    assert answer.latest == {2: time}


def test_the_clock_also_counts_messages_to_oneself() -> None:
    process = SesProcess(0, EVERYONE)
    process.submit((0,), b"", 0)

    assert sent(process, (1,)).time == Vector({0: 2})


def test_what_is_missing_is_what_the_clock_has_not_reached() -> None:
    latest = {1: Vector({0: 2, 2: 5}), 2: Vector({0: 9})}
    packet = SesPacket(Message(0, 3, b""), (1,), 3, Vector({0: 3, 2: 5}), latest)

    assert missing_before(packet, EMPTY, 1) == [(0, 2), (2, 5)]
    assert missing_before(packet, Vector({0: 4, 2: 4}), 1) == [(2, 5)]
    assert missing_before(packet, Vector({0: 2, 2: 5}), 1) == []
    assert missing_before(packet, EMPTY, 0) == []


def test_metadata_counts_a_vector_for_the_time_and_one_for_each_process_dated() -> None:
    process = SesProcess(0, range(10))
    sent(process, (1, 2))

    assert sent(process, (3,)).metadata_integers == 1 + 10 + 2 * (1 + 10)


def test_a_packet_does_not_change_after_it_left() -> None:
    process = SesProcess(0, EVERYONE)
    sent(process, (1,))
    packet = sent(process, (2,))
    before = repr(packet)
    sent(process, (1, 2))
    process.arrive(1, sent(SesProcess(1, EVERYONE), (0, 2)), 0)

    assert repr(packet) == before


WRONG_ON_PURPOSE: dict[str, tuple[str, str]] = {
    "does not date its targets": (
        "            self._latest[target] = self._time\n",
        "            pass\n",
    ),
    "does not date the other targets of what it delivers": (
        "            self._remember(target, packet.time)\n",
        "            pass\n",
    ),
    "forgets what it heard of others": (
        "                self._remember(process, vector)\n",
        "                pass\n",
    ),
    "does not move its clock": (
        "self._time = maximum(before, packet.time)",
        "self._time = maximum(before, EMPTY)",
    ),
    "dates its message before it counts it": (
        "        self._time = self._time.plus((self._members.me,))\n",
        "        early = self._time\n        self._time = self._time.plus((self._members.me,))\n",
    ),
}


@pytest.mark.parametrize("name", WRONG_ON_PURPOSE)
def test_a_wrong_rule_is_caught(name: str) -> None:
    changes = [WRONG_ON_PURPOSE[name]]
    if "early" in changes[0][1]:
        changes.append(("self._latest[target] = self._time\n", "self._latest[target] = early\n"))
    create: Create = patched(
        "antecede_lab/protocols/ses.py", *changes, as_module="wrong_ses"
    ).SesProcess

    assert any(differs(create, random_schedule(seed, Traffic())) for seed in range(20))


# Packets that no correct process sends.

TIME = Vector({0: 1})
FORGERIES: dict[str, Callable[[Message], SesPacket]] = {
    "too few processes": lambda m: SesPacket(m, (1,), 2, TIME, {}),
    "a time that does not count it": lambda m: SesPacket(m, (1,), 3, Vector({0: 2}), {}),
    "no time": lambda m: SesPacket(m, (1,), 3, EMPTY, {}),
    "a time that counts nobody": lambda m: SesPacket(m, (1,), 3, Vector({0: 1, 3: 1}), {}),
    "a negative count": lambda m: SesPacket(m, (1,), 3, Vector({0: 1, 2: -1}), {}),
    "messages that the receiver never sent": lambda m: SesPacket(
        m, (1,), 3, Vector({0: 1, 1: 2}), {}
    ),
    "a date for nobody": lambda m: SesPacket(m, (1,), 3, TIME, {3: Vector({2: 1})}),
    "an empty date": lambda m: SesPacket(m, (1,), 3, TIME, {2: EMPTY}),
    "a date with a zero": lambda m: SesPacket(m, (1,), 3, TIME, {2: Vector({2: 0})}),
    "a date from its own future": lambda m: SesPacket(m, (1,), 3, TIME, {2: Vector({0: 1})}),
    "a date from the receiver's future": lambda m: SesPacket(m, (1,), 3, TIME, {2: Vector({1: 2})}),
}


@pytest.mark.parametrize("processes", [(0, 1, 2), (0, 1, 200)])
@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_packet_changes_nothing(name: str, processes: tuple[int, ...]) -> None:
    process = SesProcess(1, processes)
    sent(process, (0,))
    before = process.fingerprint()

    with pytest.raises(RemoteError):
        process.arrive(0, FORGERIES[name](Message(0, 1, b"")), 0)

    assert process.fingerprint() == before
