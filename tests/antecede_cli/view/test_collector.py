"""The nodes of a cluster are found and asked; who does not answer is not taken for healthy."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Final

import pytest

import antecede
from antecede.core.errors import LocalError
from antecede.runtime.config.addresses import Address
from antecede_cli.view.answers import NAME_MAX, TEXT_MAX, BadAnswer, read_state
from antecede_cli.view.collector import Collector
from antecede_cli.view.finding import make_collector
from antecede_cli.view.happenings import HAPPENINGS_MAX, TOGETHER_S, Happenings
from tests.antecede_cli.view.clusters import (
    answering,
    by_name,
    close,
    http_of,
    listing,
    open_nodes,
    run,
    shown,
)
from tests.free_ports import free_port

NOBODY: Final = Address("127.0.0.1", 1)


def test_one_node_is_enough_to_find_those_that_have_told_it_where_they_serve() -> None:
    async def story() -> None:
        nodes = await open_nodes("ann", "bob", "cat")
        quiet = await antecede.open_node("dan", peers={"ann": nodes["ann"].address})
        await quiet.meet()
        collector = make_collector([str(http_of(nodes["ann"]))], None, None, True)
        await collector.look()
        lines = by_name(collector)
        assert {name: line["status"] for name, line in lines.items()} == {
            "ann": "ok",
            "bob": "ok",
            "cat": "ok",
            "dan": "unknown",
        }
        assert lines["dan"]["reasons"] == ["nobody has told where to ask it (http=)"]
        assert lines["ann"]["peers"] == {"new": 0, "here": 3, "silent": 0, "away": 0}
        kinds = {(one["kind"], one["peer"]) for one in shown(collector)["happenings"]}
        assert {("met", "ann"), ("met", "bob"), ("met", "cat")} <= kinds

        alone = make_collector([str(http_of(nodes["ann"]))], None, None, False)
        await alone.look()
        assert {name: line["status"] for name, line in by_name(alone).items()} == {
            "ann": "ok",
            "bob": "unknown",
            "cat": "unknown",
            "dan": "unknown",
        }
        await close(quiet, *nodes.values())

    run(story())


def test_nodes_are_found_in_a_file_that_is_edited_and_by_dns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("antecede_cli.view.collector.SOURCE_SECONDS", 0.0)

    async def story() -> None:
        nodes = await open_nodes("ann", "bob")
        file = tmp_path / "nodes.toml"
        file.write_text(f'[http]\nann = "{http_of(nodes["ann"])}"\n')
        collector = make_collector([], file, None, False)
        await collector.look()
        assert by_name(collector)["ann"]["status"] == "ok"
        assert by_name(collector)["bob"]["status"] == "unknown"
        file.write_text(
            f'[http]\nann = "{http_of(nodes["ann"])}"\nbob = "{http_of(nodes["bob"])}"\n'
        )
        await collector.look()
        assert by_name(collector)["bob"]["status"] == "ok"
        file.unlink()
        await collector.look()
        assert shown(collector)["source_failure"] == "No such file or directory"
        assert by_name(collector)["bob"]["status"] == "ok", "what was known stays"

        named = make_collector([], None, f"localhost:{http_of(nodes['bob']).port}", False)
        await named.look()
        assert by_name(named)["bob"]["status"] == "ok"
        await close(*nodes.values())

    run(story())


def test_without_a_word_a_node_of_this_machine_is_asked() -> None:
    async def story() -> None:
        collector = make_collector([], None, None, True)
        await collector.look()
        assert list(collector.watched) == [Address("127.0.0.1", 9464)]

    run(story())


def test_an_address_that_is_none_is_refused_at_once() -> None:
    with pytest.raises(LocalError, match="has no port; write HOST:PORT"):
        make_collector(["ann"], None, None, True)


def test_who_is_killed_is_unreachable_and_clear_again_when_it_is_back() -> None:
    async def story() -> None:
        nodes = await open_nodes("ann", "bob")
        at_bob = http_of(nodes["bob"])
        collector = make_collector([str(http_of(nodes["ann"]))], None, None, True)
        await collector.look()
        nodes["bob"].abandon()
        await asyncio.sleep(1)
        await collector.look()
        bob = by_name(collector)["bob"]
        assert (bob["status"], bob["reasons"]) == ("unreachable", ["nobody listens there"])
        assert bob["peers"]["here"] == bob["sent"] == 0, "what it said before is over"

        back = await antecede.open_node(
            "bob", peers={"ann": nodes["ann"].address}, http=str(at_bob)
        )
        await back.meet()
        await asyncio.sleep(1)
        await collector.look()
        assert by_name(collector)["bob"]["status"] == "ok"
        kinds = [one["kind"] for one in shown(collector)["happenings"] if one["peer"] == "bob"]
        assert {"unreachable", "restarted", "met"} <= set(kinds)
        await close(back, nodes["ann"])

    run(story())


def test_a_node_that_comes_back_elsewhere_is_followed_there() -> None:
    async def story() -> None:
        nodes = await open_nodes("ann", "bob")
        collector = make_collector([str(http_of(nodes["ann"]))], None, None, True)
        await collector.look()
        nodes["bob"].abandon()
        back = await antecede.open_node(
            "bob", peers={"ann": nodes["ann"].address}, http="127.0.0.1:0"
        )
        await back.meet()
        for _ in range(2):
            await asyncio.sleep(1)
            await collector.look()
        assert sorted(collector.watched) == sorted([http_of(nodes["ann"]), http_of(back)]), (
            "the old address is forgotten"
        )
        assert by_name(collector)["bob"]["status"] == "ok"
        await close(back, nodes["ann"])

    run(story())


def test_nobody_is_asked_more_than_once_a_second_however_many_names_it_has() -> None:
    async def story() -> None:
        state = {"name": "ann", "incarnation": 1, "status": "ok"}
        async with answering(state) as (place, asked):
            told = [{"name": "ann", "state": "here", "http": f"localhost:{place.port}"}]
            peer = {"name": "bob", "incarnation": 2, "status": "ok", "peers": told}
            async with answering(peer) as (other, _):
                source = listing(place, other, Address("localhost", place.port))
                collector = Collector(source)
                task = asyncio.create_task(collector.run())
                await asyncio.sleep(3.5)
                task.cancel()
                assert 3 <= len(asked) <= 5, "four, and one to learn that it is the same node"
                assert len(collector.watched) == 2

    run(story())


def test_two_nodes_of_one_name_are_both_shown_and_neither_as_well() -> None:
    async def story() -> None:
        real = {"name": "ann", "incarnation": 1, "status": "blocked"}
        false = {"name": "ann", "incarnation": 2, "status": "ok"}
        async with answering(real) as (one, _), answering(false) as (two, _):
            collector = Collector(listing(one, two))
            await collector.look()
            lines = shown(collector)["nodes"]
            assert [line["status"] for line in lines] == ["failing", "failing"]
            assert lines[0]["reasons"] == ["2 nodes answer by this name"]

    run(story())


def test_a_slow_node_holds_nobody_else_up() -> None:
    async def never(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await asyncio.sleep(30)
        finally:
            writer.transport.abort()

    async def story() -> None:
        slow = await asyncio.start_server(never, "127.0.0.1", 0)
        at_slow = Address(*slow.sockets[0].getsockname()[:2])
        async with answering({"name": "ann", "incarnation": 1, "status": "ok"}) as (place, asked):
            collector = Collector(listing(at_slow, place))
            task = asyncio.create_task(collector.run())
            await asyncio.sleep(3.5)
            task.cancel()
            assert len(asked) >= 3
            lines = by_name(collector)
            assert lines["ann"]["status"] == "ok"
            assert lines[str(at_slow)]["reasons"] == ["no answer within 2 s"]
        slow.close()

    run(story())


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"<html>", "no JSON is served there"),
        (b"[" * 100_000, "no JSON is served there"),
        (b"[1]", "the state of no node is served there"),
        (b'{"name": 5}', "the state of no node is served there"),
        (b'"' + b"x" * (9 << 20) + b'"', "its answer is larger than 8 MiB"),
    ],
)
def test_what_is_no_state_of_a_node_is_unreachable(body: bytes, reason: str) -> None:
    async def story() -> None:
        async with answering(body) as (place, _):
            collector = Collector(listing(place))
            await collector.look()
            line = by_name(collector)[str(place)]
            assert (line["status"], line["reasons"]) == ("unreachable", [reason])

    run(story())


def test_a_server_that_has_no_state_is_told_from_one_that_does_not_listen() -> None:
    def refuse(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.0 404 No\r\n\r\n")
        writer.close()

    async def story() -> None:
        async with await asyncio.start_server(refuse, "127.0.0.1", 0) as old:
            place = Address(*old.sockets[0].getsockname()[:2])
            nobody = Address("127.0.0.1", free_port())
            collector = Collector(listing(place, nobody))
            await collector.look()
            lines = by_name(collector)
            assert lines[str(place)]["reasons"] == [
                "it has no /state: its version is older than 0.3"
            ]
            assert lines[str(nobody)]["reasons"] == ["nobody listens there"]

    run(story())


HOSTILE: Final = {
    "name": "<script>alert(1)</script>\x1b[2J" + "n" * 10_000,
    "incarnation": 10**400,
    "status": "<b>",
    "problems": [1, None, "\x07bell\u202e" + "t" * 10_000],
    "figures": {"messages_sent": float("nan"), "buffered": "many", "inbox": 10**400, "x" * 999: 1},
    "peers": [
        7,
        {"name": ["a"]},
        {"name": "\x9b1m", "state": "dead", "http": {"a": 1}, "lost": -1.5},
    ],
    "rooms": [{"name": "r\n", "members": ["a\x00", {"name": "b"}, 5], "size": 3, "state": "\x1b"}],
    "waits": [{"waiting": "a", "names": []}, {"waiting": "a", "names": ["b", 5], "silent_ns": "x"}],
    "events": [{"number": "1", "ago_s": -5, "kind": "met", "text": "\x1b]0;gone\x07"}, "no"],
}


def test_whatever_is_answered_no_text_is_long_or_commands_a_terminal() -> None:
    state = read_state(json.dumps(HOSTILE).encode())
    assert state.name.startswith("<script>alert(1)</script>\\x1b[2Jnnn")
    assert len(state.name) <= NAME_MAX + len("\\x1b")
    assert (state.incarnation, state.status) == (0, "failing")
    assert len(state.reasons) == 1
    assert len(state.reasons[0]) < TEXT_MAX + 20
    assert {key: value for key, value in state.figures.items() if len(key) < 20} == {}
    assert [(one.name, one.state, one.http) for one in state.peers] == [("\\x9b1m", "away", "")]
    assert [(room.name, room.members) for room in state.rooms] == [("r\\n", ("a\\x00", "b"))]
    assert [one.names for one in state.waits] == [("a", "b")]
    assert [(one.ago_s, one.text) for one in state.events] == [(0.0, "\\x1b]0;gone\\x07")]
    texts = [state.name, *state.reasons, *(one.text for one in state.events)]
    assert all(text.isprintable() for text in texts)


def test_an_answer_may_have_any_numbers() -> None:
    sys.set_int_max_str_digits(4300)
    with pytest.raises(BadAnswer):
        read_state(b'{"name": "a", "incarnation": ' + b"9" * 5000 + b"}")


def test_what_many_nodes_have_seen_has_happened_once() -> None:
    happenings = Happenings()
    for number, name in enumerate(["ann", "bob", "cat"]):
        happenings.add(name, 100.0 + number, "expelled", "dan", "dan was expelled by ann")
    happenings.add("ann", 100.0 + 2 * TOGETHER_S, "expelled", "dan", "dan was expelled by ann")
    found = [(one.at_s, one.nodes) for one in happenings.last()]
    assert found == [(100.0 + 2 * TOGETHER_S, ["ann"]), (100.0, ["ann", "bob", "cat"])]
    assert len(happenings.last("bob")) == 1
    for number in range(5):
        happenings.add("ann", 300.0 + 50 * number, "undeliverable", "dan", f"{number} left out")
        happenings.add("bob", 300.0 + 50 * number, "undeliverable", "dan", f"{number} left out")
    counted = [(one.at_s, one.text, one.nodes) for one in happenings.last()[:2]]
    assert counted == [(500.0, "4 left out", ["ann"]), (500.0, "4 left out", ["bob"])]
    for number in range(2 * HAPPENINGS_MAX):
        happenings.add("ann", 1000.0 + number, "met", f"p{number}", "met")
    assert happenings.last("dan") == [], "the oldest are forgotten"
