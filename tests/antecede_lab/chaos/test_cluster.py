"""Real processes that are killed, stopped, cut off, expelled; and what is made of that."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from antecede_audit.judging.departures import judge_departures
from antecede_lab.chaos.cluster import (
    CUT,
    EXPEL,
    KILL,
    KINDS,
    PAUSE,
    RESTART,
    Cluster,
    Fault,
    schedule_of,
)
from antecede_lab.chaos.node_lives import ClusterLog, NodeLife
from antecede_lab.child import Child


def test_a_schedule_follows_from_its_seed_and_has_everything_in_it() -> None:
    assert schedule_of(4, 5, 30) == schedule_of(4, 5, 30) != schedule_of(5, 5, 30)
    assert {fault.kind for fault in schedule_of(4, 5, 60)} == set(KINDS)
    assert schedule_of(4, 5, 30)[:10] == schedule_of(4, 5, 10)
    for fault in schedule_of(4, 3, 100):
        assert fault.node != fault.other
        assert str(fault.node) in str(fault) or fault.kind == "network"


def test_a_short_run_of_real_processes_ends_well_and_leaves_nobody_behind() -> None:
    """Killed and back, killed and expelled, stopped, expelled while it lives, cut off."""
    schedule = [
        Fault(at_s=0.3, kind=KILL, node=0, lasts_s=0.1, healing=RESTART),
        Fault(at_s=0.5, kind=PAUSE, node=1, lasts_s=0.4),
        Fault(at_s=0.7, kind=KILL, node=2, lasts_s=0.2, healing=EXPEL),
        Fault(at_s=1.2, kind=EXPEL, node=3, other=1),
        Fault(at_s=1.4, kind=CUT, node=1, lasts_s=0.3),
    ]
    with Cluster(4, 1, 60.0) as cluster:
        outcome = cluster.undergo(schedule, None)
        lives = cluster.witness.lives
    assert outcome.findings() == {}, outcome
    assert outcome.counts.kills == 2
    assert outcome.counts.messages > 30
    assert outcome.counts.deliveries > 10
    assert outcome.counts.expulsions >= 1
    for life in lives:
        assert not is_running(life.child.pid)


@pytest.mark.long
@pytest.mark.parametrize("journal", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_long_runs_of_real_processes_end_well(seed: int, journal: bool) -> None:
    with Cluster(5, seed, 60.0, journal) as cluster:
        outcome = cluster.undergo(schedule_of(seed, 5, 100), None)
    assert outcome.findings() == {}, outcome


def test_ctrl_c_leaves_nobody_behind() -> None:
    chaos = subprocess.Popen(
        [sys.executable, "-m", "antecede", "lab", "chaos", "--nodes", "3", "--faults", "200"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        until = time.monotonic() + 60
        while len(members(chaos.pid)) < 5 and time.monotonic() < until:
            time.sleep(0.05)
        started = members(chaos.pid)
        assert len(started) >= 5  # Itself, the proxy, three nodes.
        chaos.send_signal(signal.SIGINT)
        assert chaos.wait(60) != 0
        assert [pid for pid in started if is_running(pid)] == []
    finally:
        with suppress(ProcessLookupError):
            os.killpg(chaos.pid, signal.SIGKILL)
        chaos.wait()


def members(session: int) -> list[int]:
    """The processes of a session."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                if int(fields[3]) == session:
                    found.append(int(folder.name))
    return found


def is_running(pid: int) -> bool:
    with suppress(OSError):
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


# The witness.


def lives(*names: str) -> tuple[ClusterLog, list[NodeLife]]:
    """Lives of processes that do nothing: what they say is told by the test."""
    witness = ClusterLog()
    for number, name in enumerate(names):
        with Child([sys.executable, "-c", ""], name=name) as child:
            witness.lives.append(NodeLife(name, number, 100 * number, child))
    return witness, witness.lives


def test_an_effect_that_is_read_before_its_cause_is_a_violation() -> None:
    witness, (ann, bob, cat) = lives("ann", "bob", "cat")
    first = witness.asks(ann, [cat])
    relay = witness.asks(ann, [bob])
    witness.hears(bob, {"from": "ann", "sequence": 2, "text": relay})
    answer = witness.asks(bob, [cat])
    witness.hears(cat, {"from": "bob", "sequence": 1, "text": answer})
    witness.hears(cat, {"from": "ann", "sequence": 1, "text": first})
    assert judge_departures(witness.log(), witness.departures).findings() == {"violations": 1}


def test_what_was_for_a_former_life_may_be_missing_if_that_was_said() -> None:
    witness, (ann, bob, again) = lives("ann", "bob", "bob")
    witness.crashed(bob)
    for sequence in (1, 2):
        witness.asks(ann, [again])
        witness.hears(ann, {"sent": sequence, "sequence": sequence})
    assert witness.missing() == 2
    witness.hears(ann, {"event": "undeliverable", "peer": "bob", "sequences": [1]})
    assert witness.missing() == 1
    witness.asks(ann, [again])
    witness.hears(ann, {"event": "undeliverable", "peer": "bob", "sequences": [3]})
    witness.hears(ann, {"sent": 3, "sequence": 3})
    assert witness.missing() == 1
    assert judge_departures(witness.log(), witness.departures).findings() == {"lost": 1}
    witness.hears(again, {"from": "ann", "sequence": 2, "text": "0 2"})
    assert judge_departures(witness.log(), witness.departures).ok


def test_what_was_for_somebody_who_is_gone_is_waited_for_until_its_sender_has_said_so() -> None:
    """On a busy machine a sender reads of an expulsion seconds after the others."""
    witness, (ann, bob, cat) = lives("ann", "bob", "cat")
    witness.asks(ann, [bob])
    witness.hears(ann, {"sent": 1, "sequence": 1})
    gone = {"event": "expelled", "peer": "bob", "incarnation": 150}
    witness.hears(cat, {**gone, "undelivered": []})
    assert judge_departures(witness.log(), witness.departures).findings() == {"unreported": 1}
    assert witness.missing() == 1
    witness.hears(ann, {**gone, "undelivered": [1]})
    assert witness.missing() == 0
    assert judge_departures(witness.log(), witness.departures).ok


def test_what_a_killed_process_had_delivered_and_not_written_is_nobodys_fault() -> None:
    """It has acknowledged a message, and dies before the line about it leaves its process."""
    witness, (ann, bob) = lives("ann", "bob")
    witness.asks(ann, [bob])
    witness.hears(ann, {"sent": 1, "sequence": 1})
    witness.killed(bob)
    assert witness.missing() == 1
    assert judge_departures(witness.log(), witness.departures).findings() == {"unreported": 1}
    witness.hears(ann, {"event": "expelled", "peer": "bob", "incarnation": 150, "undelivered": []})
    assert witness.missing() == 0
    assert witness.taken_along() == 1
    assert judge_departures(witness.log(), witness.departures).ok


def test_a_sender_that_has_met_the_next_life_has_told_what_it_had_to_tell() -> None:
    witness, (ann, bob, again) = lives("ann", "bob", "bob")
    witness.asks(ann, [bob])
    witness.hears(ann, {"sent": 1, "sequence": 1})
    witness.killed(bob)
    witness.asks(ann, [again])
    witness.hears(ann, {"sent": 2, "sequence": 2})
    witness.hears(ann, {"event": "restarted", "peer": "bob"})
    assert witness.taken_along() == 1
    assert judge_departures(witness.log(), witness.departures).findings() == {"lost": 1}


def test_what_came_before_a_message_that_was_written_cannot_have_been_taken_along() -> None:
    """Lines leave a process in the order of its deliveries, so it never delivered the first."""
    witness, (ann, bob) = lives("ann", "bob")
    texts = [witness.asks(ann, [bob]) for _ in range(3)]
    for number in (1, 2, 3):
        witness.hears(ann, {"sent": number, "sequence": number})
    witness.hears(bob, {"from": "ann", "sequence": 2, "text": texts[1]})
    witness.killed(bob)
    witness.hears(ann, {"event": "expelled", "peer": "bob", "incarnation": 150, "undelivered": []})
    assert witness.taken_along() == 1
    assert judge_departures(witness.log(), witness.departures).findings() == {"unreported": 1}


def test_what_a_later_life_has_written_says_nothing_of_the_one_before() -> None:
    witness, (ann, bob, again) = lives("ann", "bob", "bob")
    witness.asks(ann, [bob])
    witness.hears(ann, {"sent": 1, "sequence": 1})
    witness.killed(bob)
    text = witness.asks(ann, [again])
    witness.hears(ann, {"event": "restarted", "peer": "bob"})
    witness.hears(ann, {"sent": 2, "sequence": 2})
    witness.hears(again, {"from": "ann", "sequence": 2, "text": text})
    assert witness.taken_along() == 1
    assert judge_departures(witness.log(), witness.departures).ok


def test_what_is_asked_for_after_a_kill_cannot_have_been_taken_along() -> None:
    witness, (ann, bob) = lives("ann", "bob")
    witness.killed(bob)
    witness.asks(ann, [bob])
    witness.hears(ann, {"sent": 1, "sequence": 1})
    witness.hears(ann, {"event": "expelled", "peer": "bob", "incarnation": 150, "undelivered": []})
    assert judge_departures(witness.log(), witness.departures).findings() == {"unreported": 1}


@pytest.mark.parametrize("why", ["left out", "too large"])
def test_what_was_certainly_not_sent_to_somebody_must_not_come_there(why: str) -> None:
    """Whether the sender says so before or after it has said what the message is called."""
    witness, (ann, bob, cat) = lives("ann", "bob", "cat")
    texts = [witness.asks(ann, [bob, cat]) for _ in range(2)]
    event = {"event": "undeliverable", "peer": "bob", "why": why}
    witness.hears(ann, {**event, "sequences": [1]})
    for number in (1, 2):
        witness.hears(ann, {"sent": number, "sequence": number})
    witness.hears(ann, {**event, "sequences": [2]})
    for number in (1, 2):
        line = {"from": "ann", "sequence": number, "text": texts[number - 1]}
        witness.hears(cat, line)
    assert witness.missing() == 0
    assert judge_departures(witness.log(), witness.departures).ok
    witness.hears(bob, {"from": "ann", "sequence": 2, "text": texts[1]})
    assert judge_departures(witness.log(), witness.departures).findings() == {"inventions": 1}


def test_who_is_left_out_in_the_answer_to_a_send_must_not_get_it() -> None:
    """The answer names those who are left out; the event says so, too, sooner or later."""
    witness, (ann, bob, cat) = lives("ann", "bob", "cat")
    text = witness.asks(ann, [bob, cat])
    witness.hears(ann, {"sent": 1, "sequence": 7, "left_out": ["bob"]})
    assert witness.missing() == 1
    witness.hears(cat, {"from": "ann", "sequence": 7, "text": text})
    assert witness.missing() == 0
    event = {"event": "undeliverable", "peer": "bob", "why": "left out", "sequences": [7]}
    witness.hears(ann, event)
    assert judge_departures(witness.log(), witness.departures).ok
    witness.hears(bob, {"from": "ann", "sequence": 7, "text": text})
    assert judge_departures(witness.log(), witness.departures).findings() == {"inventions": 1}


def test_who_is_here_must_not_be_left_out() -> None:
    witness, (ann, bob, cat, dan) = lives("ann", "bob", "cat", "dan")
    for name in ("bob", "cat"):
        witness.hears(ann, {"event": "met", "peer": name})
    for number, target in enumerate((bob, cat, dan), start=1):
        witness.asks(ann, [target])
        witness.hears(ann, {"sent": number, "sequence": number, "left_out": [target.name]})
    assert witness.left_out() == (3, 2)
    # Its own word about it may come late.
    gone = {"event": "expelled", "peer": "bob", "incarnation": 150, "undelivered": []}
    witness.hears(ann, gone)
    assert witness.left_out() == (3, 1)


def test_with_a_journal_a_killed_process_is_not_gone_and_what_comes_again_says_so() -> None:
    witness, (ann, bob) = lives("ann", "bob")
    first, second = witness.asks(ann, [bob]), witness.asks(ann, [bob])
    witness.hears(ann, {"sent": 1, "sequence": 1})
    witness.falls_asleep(ann)
    assert judge_departures(witness.log(), witness.departures).findings() == {"lost": 1}
    witness.hears(bob, {"from": "ann", "sequence": 1, "text": first})
    witness.hears(bob, {"from": "ann", "sequence": 1, "text": first, "again": True})
    assert judge_departures(
        witness.log(), witness.departures
    ).ok  # The second was perhaps never taken.
    assert (witness.counts.deliveries, witness.counts.again) == (1, 1)
    witness.hears(bob, {"from": "ann", "sequence": 2, "text": second})
    witness.hears(bob, {"from": "ann", "sequence": 2, "text": second})
    assert judge_departures(witness.log(), witness.departures).findings() == {"duplicates": 1}


def test_nothing_of_an_expelled_life_is_taken_after_what_was_sent_after_the_news() -> None:
    witness, (ann, bob, _, cat) = lives("ann", "bob", "bob", "cat")
    to_ann, to_cat = witness.asks(bob, [ann]), witness.asks(bob, [cat])
    news = {"event": "expelled", "peer": "bob", "incarnation": 150, "undelivered": []}
    witness.hears(ann, news)
    assert witness.departures.gone == {bob.number}
    witness.hears(ann, {"from": "bob", "sequence": 1, "text": to_ann})  # It was read late.
    after = witness.asks(ann, [cat])
    witness.hears(cat, {"from": "ann", "sequence": 1, "text": after})
    assert judge_departures(witness.log(), witness.departures).ok
    witness.hears(cat, {"from": "bob", "sequence": 2, "text": to_cat})
    assert judge_departures(witness.log(), witness.departures).findings() == {"stale": 1}
