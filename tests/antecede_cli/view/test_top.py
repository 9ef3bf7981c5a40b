"""`antecede top` on real nodes: in tmux, for scripts, and what its keys do."""

import asyncio
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from rich.console import Console

from antecede_cli.view.cluster import Object, cluster_object, node_object
from antecede_cli.view.collector import Collector
from antecede_cli.view.terminal import DOWN, ENTER, ESCAPE, UP, Screen, read_keys, sparkline
from tests.antecede_cli.view.clusters import (
    SECONDS,
    answering,
    close,
    http_of,
    listing,
    open_nodes,
    run,
)
from tests.antecede_cli.view.test_collector import HOSTILE

SOURCE = str(Path(__file__).parents[3] / "src")
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.environ.get("PYTHONPATH", SOURCE)}
TOP = (sys.executable, "-m", "antecede", "top")


async def top(*arguments: str) -> tuple[int, str, str]:
    """The exit status and what is printed."""
    child = await asyncio.create_subprocess_exec(
        *TOP, *arguments, stdout=-1, stderr=-1, stdin=subprocess.DEVNULL, env=ENVIRONMENT
    )
    out, err = await child.communicate()
    assert child.returncode is not None
    return child.returncode, out.decode(), err.decode()


SIZES = ("COLUMNS", "LINES")
"""Variables that say how large a terminal is, whatever it says itself."""


class Pane:
    """A terminal of 110 columns and 30 lines that a command runs in."""

    def __init__(self, socket: str, command: Sequence[str]) -> None:
        self._socket = socket
        size = ("-x", "110", "-y", "30")
        environment = [f"-e{key}={ENVIRONMENT[key]}" for key in ("PYTHONPATH", "PATH")]
        shell = f"{shlex.join(command)}; echo ended with $?; sleep 60"
        self._call("-f", os.devnull, "new-session", "-d", *environment, *size, shell)

    def _call(self, *words: str) -> str:
        done = subprocess.run(
            ["tmux", "-L", self._socket, *words],
            capture_output=True,
            text=True,
            check=False,
            env={key: value for key, value in os.environ.items() if key not in SIZES},
        )
        return done.stdout

    async def press(self, *keys: str) -> None:
        """Press these keys."""
        await asyncio.to_thread(self._call, "send-keys", *keys)

    async def text(self) -> str:
        """What is to be seen."""
        return await asyncio.to_thread(self._call, "capture-pane", "-p")

    async def until(self, condition: Callable[[str], bool]) -> str:
        """What is to be seen as soon as this holds of it."""
        end = time.monotonic() + SECONDS
        while not condition(text := await self.text()):
            assert time.monotonic() < end, text
            await asyncio.sleep(0.1)
        return text

    def end(self) -> None:
        self._call("kill-server")


@contextmanager
def tmux(*command: str) -> Iterator[Pane]:
    """A terminal that this runs in."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    pane = Pane(f"antecede-{uuid.uuid4().hex}", command)
    try:
        yield pane
    finally:
        pane.end()


def test_a_terminal_shows_who_is_killed_who_waits_and_that_it_ends() -> None:
    async def story() -> None:
        nodes = await open_nodes("a", "b", "c", "d", expel="manual")
        with tmux(*TOP, str(http_of(nodes["a"]))) as pane:
            await pane.until(lambda text: "● 4 ok" in text)
            nodes["c"].abandon()
            await nodes["a"].send(["b", "c"], b"x")
            await nodes["b"].receive(SECONDS)
            await nodes["b"].send("d", b"y")
            await pane.until(lambda text: "✗ 1 unreachable" in text)
            text = await pane.until(lambda text: "a → c (silent for" in text)
            assert "who waits for whom" in text
            assert "b → a  1 message held back" in text
            await pane.until(lambda text: "■ 2 blocked" in text)

            await pane.press("Down", "Enter")
            text = await pane.until(lambda text: "seen by" in text)
            assert "b  ■ blocked for" in text
            assert "who waits for c, silent for" in text
            await pane.press("Escape")

            await nodes["a"].expel("c", "it was killed")
            await pane.until(lambda text: "● 3 ok" in text and "c was expelled by a" in text)
            text = await pane.text()
            assert "who waits for whom" not in text
            await pane.press("/", "u", "n", "r", "Enter")
            await pane.until(lambda text: "filter 'unr'" in text and "● ok" not in text)
            await pane.press("q")
            await pane.until(lambda text: "ended with 0" in text)
        await close(*nodes.values())

    run(story())


def test_hostile_names_do_nothing_to_a_terminal() -> None:
    async def story() -> None:
        async with answering(HOSTILE) as (place, _):
            with tmux(*TOP, str(place)) as pane:
                text = await pane.until(lambda text: "<script>alert" in text)
                assert "✗ 1 failing" in text
                await pane.press("Enter")
                text = await pane.until(lambda text: "✗ failing for" in text)
                assert "\\x07bell" in text, "written out, not rung"

    run(story())


def test_scripts_get_json_and_a_status() -> None:
    async def story() -> None:
        nodes = await open_nodes("ann", "bob")
        place = str(http_of(nodes["ann"]))
        status, out, _ = await top("--once", "--json", place)
        found = json.loads(out)
        assert status == 0
        assert [one["name"] for one in found["nodes"]] == ["ann", "bob"]
        status, out, _ = await top("--once", "--json", "--node", "bob", place)
        assert json.loads(out)["peer_list"][0]["name"] == "ann"
        status, out, _ = await top("--once", place)
        assert "● 2 ok" in out
        status, out, err = await top("--once", "--node", "cat", place)
        assert (status, out) == (1, "")
        assert "nobody knows a node called 'cat'" in err

        at_bob = http_of(nodes["bob"])
        nodes["bob"].abandon()
        status, out, _ = await top("--once", "--json", place, f"bob={at_bob}")
        assert status == 1
        assert {one["name"]: one["status"] for one in json.loads(out)["nodes"]} == {
            "ann": "ok",
            "bob": "unreachable",
        }
        status, out, err = await top(place)
        assert status == 2
        assert "this is no terminal: give --once" in err
        status, out, err = await top("--once", "--nodes", "there-is-none.toml")
        assert (status, out) == (1, "")
        assert "who there is is not known: No such file or directory" in err
        await close(*nodes.values())

    run(story())


def rendered(
    screen: Screen, cluster: Object, detail: Object | None = None, width: int = 100
) -> str:
    console = Console(width=width, height=30, color_system=None)
    with console.capture() as captured:
        console.print(screen.render(cluster, detail, width, 30))
    return captured.get()


def of_states(*states: Object) -> tuple[Object, Collector]:
    """A cluster of nodes that answer this."""
    found: list[tuple[Object, Collector]] = []

    async def story() -> None:
        servers = [answering(state) for state in states]
        places = [(await server.__aenter__())[0] for server in servers]
        collector = Collector(listing(*places))
        await collector.look()
        found.append((cluster_object(collector, time.time()), collector))
        for server in servers:
            await server.__aexit__(None, None, None)

    run(story())
    return found[0]


def node(name: str, status: str = "ok", **figures: float) -> Object:
    return {"name": name, "incarnation": 1, "status": status, "figures": figures}


def test_keys_sort_filter_and_look_into_a_node() -> None:
    cluster, collector = of_states(
        node("ann", inbox=3), node("bob", "failing", inbox=7), node("cat", inbox=5)
    )
    screen = Screen()
    names = ["ann", "bob", "cat"]

    def listed() -> list[str]:
        return [one["name"] for one in screen.lines_of(cluster)]

    assert listed() == names
    assert screen.on_key("s", names)
    assert (screen.sort, listed()) == ("status", ["bob", "ann", "cat"])
    while screen.sort != "inbox":
        screen.on_key("s", names)
    assert listed() == ["bob", "cat", "ann"]
    screen.on_key("r", names)
    assert listed() == ["ann", "cat", "bob"]

    for key in ["/", "b", "o", "x", "backspace", ENTER]:
        screen.on_key(key, names)
    assert listed() == ["bob"]
    screen.on_key(ENTER, listed())
    assert screen.node == "bob"
    detail = node_object(collector, "bob", time.time())
    assert "bob  ✗ failing for" in rendered(screen, cluster, detail)
    screen.on_key(ESCAPE, listed())
    assert (screen.node, screen.filter) == ("", "bo")
    screen.on_key(ESCAPE, listed())
    assert (screen.filter, len(listed())) == ("", 3)
    for key in (UP, DOWN, DOWN, DOWN, "k"):
        screen.on_key(key, names)
    assert screen.chosen(names) == "bob"
    assert not screen.on_key("q", names)


def test_what_is_chosen_stays_in_sight_however_many_there_are() -> None:
    cluster, _ = of_states(*(node(f"n{number:02}") for number in range(40)))
    screen = Screen()
    names = [one["name"] for one in cluster["nodes"]]
    for _ in range(35):
        screen.on_key(DOWN, names)
    text = rendered(screen, cluster)
    assert "n35" in text
    assert "n02" not in text
    assert len(text.splitlines()) <= 30


def test_rooms_are_listed_with_their_members() -> None:
    rooms = [{"name": "lobby", "members": ["ann", "bob"]}]
    cluster, collector = of_states({**node("ann"), "rooms": rooms})
    assert "  lobby  2 members: ann, bob" in rendered(Screen(), cluster)
    screen = Screen()
    screen.on_key(ENTER, ["ann"])
    detail = node_object(collector, "ann", time.time())
    assert "in the rooms lobby" in rendered(screen, cluster, detail)


def test_a_narrow_terminal_keeps_what_matters() -> None:
    cluster, _ = of_states(node("ann", "blocked", held_back=12))
    text = rendered(Screen(), cluster, width=44)
    assert "ann" in text
    assert "■ blocked" in text
    assert "12" in text
    assert max(map(len, text.splitlines())) <= 44


def test_keys_come_as_terminals_send_them() -> None:
    assert read_keys("\x1b[A\x1b[Bs\x1b\r") == [UP, DOWN, "s", ESCAPE, ENTER]


def test_numbers_are_bars() -> None:
    assert sparkline([0, 1, 8, 4]) == "▁▁█▄"
    assert sparkline([0, 0]) == "▁▁"
    assert sparkline([]) == ""
