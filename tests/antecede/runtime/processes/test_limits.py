"""Slow consumers, full buffers, large payloads, many messages: nothing grows, nothing is lost."""

import pytest

from tests.antecede.runtime.processes.groups import pair

MiB = 1 << 20


def test_a_slow_consumer_slows_its_sender_instead_of_growing() -> None:
    window = 64 << 10
    with pair(send_limit=200, receive_window=window) as (alice, bob):
        filled = alice.do("fill", {"to": "bob", "size": 1000, "patience": 40})

        assert filled["error"] == "BufferFull"
        assert 200 <= filled["accepted"] <= 200 + window // 1000
        assert bob.state()["stats"]["inbox"] <= window // 1000
        assert "bob takes no more: its application is slow to receive" in alice.explain()

        bob.do("listen")
        bob.wait_for("taken", filled["accepted"])
        alice.do("flush", 25.0)
        assert alice.state()["stats"]["buffered"] == 0


def test_send_waits_for_room_and_goes_on() -> None:
    with pair(send_limit=20, receive_window=64 << 10) as (alice, bob):
        bob.do("listen")
        assert alice.do("send", {"to": ["bob"], "count": 3000}) == {"sent": 3000}
        bob.wait_for("taken", 3000)


def test_a_payload_of_64_mib_arrives_whole_and_those_after_it_behind_it() -> None:
    with pair(send_bytes=80 * MiB) as (alice, bob):
        bob.do("listen")
        for size in (100, 64 * MiB, 200):
            alice.do("send", {"to": ["bob"], "size": size}, 60)
        alice.do("flush", 60.0, 70)
        bob.wait_for("taken", 3)
        assert bob.do("history")["sizes"] == [100, 64 * MiB, 200]
        assert bob.state()["problems"] == [], "the checksums are right"

        refused = alice.do("send", {"to": ["bob"], "size": 64 * MiB + 1})
        assert refused["error"] == "PayloadTooLarge"


@pytest.mark.long
def test_a_million_small_messages() -> None:
    with pair() as (alice, bob):
        bob.do("listen")
        alice.do("send", {"to": ["bob"], "count": 1_000_000}, 200)
        bob.wait_for("taken", 1_000_000)
        assert bob.do("taken_from", "alice") == {"count": 1_000_000, "gapless": True}


def test_two_that_answer_each_other_from_full_buffers_get_an_error_not_a_deadlock() -> None:
    with pair(send_limit=8, receive_window=64 << 10) as (alice, bob):
        for one in (alice, bob):
            one.do("retort", {"answers": 30, "size": 4000})
        alice.do("send", {"to": ["bob"], "count": 8, "hops": 6})
        for one in (alice, bob):
            state = one.wait_until(lambda state: bool(state["failures"]))
            assert set(state["failures"]) == {"WouldDeadlock"}
