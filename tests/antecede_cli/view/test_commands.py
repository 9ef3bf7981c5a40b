"""The commands as processes: where a dashboard is, who may look, and how it ends."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from antecede.eventlog.writers import write_events
from tests.antecede_cli.view.clusters import SECONDS
from tests.antecede_cli.view.test_dashboard import answer_to
from tests.antecede_cli.view.test_replay import chain
from tests.antecede_cli.view.test_top import ENVIRONMENT
from tests.free_ports import free_port


@contextmanager
def command(*words: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """This command of antecede, as a process."""
    child = subprocess.Popen(
        [sys.executable, "-m", "antecede", *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT | environment,
    )
    try:
        yield child
    finally:
        child.kill()
        child.communicate()


def first_line(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    return child.stdout.readline().strip()


def found_at(url: str) -> dict[str, object]:
    with urllib.request.urlopen(f"{url}cluster.json") as answer:
        whole = json.load(answer)["whole"]
    assert isinstance(whole, dict)
    return whole


def test_a_node_of_the_command_line_is_found_by_a_dashboard_of_the_command_line() -> None:
    at = f"127.0.0.1:{free_port()}"
    with (
        command("node", "--name", "ann", "--http", at) as node,
        command("dashboard", at, "--bind", "127.0.0.1:0") as dashboard,
    ):
        assert json.loads(first_line(node))["event"] == "ready"
        url = first_line(dashboard)
        assert url.startswith("http://127.0.0.1:")
        end = time.monotonic() + SECONDS
        while found_at(url)["counts"]["ok"] != 1:  # type: ignore[index] # it is an object
            assert time.monotonic() < end
            time.sleep(0.1)
        assert answer_to(url) == 200
        dashboard.send_signal(signal.SIGTERM)
        assert dashboard.wait(SECONDS) == 0


def test_beyond_loopback_the_token_is_printed_and_needed() -> None:
    with command("dashboard", "--bind", "0.0.0.0:0") as dashboard:
        url, _, token = first_line(dashboard).partition("#token=")
        url = url.replace("0.0.0.0", "127.0.0.1")
        assert len(token) >= 32
        assert answer_to(f"{url}cluster.json") == 401
        assert answer_to(f"{url}cluster.json", Authorization=f"Bearer {token}") == 200
    with command("dashboard", "--bind", "0.0.0.0:0", ANTECEDE_DASHBOARD_TOKEN="my own") as other:
        assert first_line(other).endswith("#token=my%20own")


def test_an_event_log_is_replayed(tmp_path: Path) -> None:
    write_events(tmp_path / "events", chain().log, run_id="one")
    events = str(tmp_path / "events")
    with command("dashboard", "--events", events, "--bind", "127.0.0.1:0") as dashboard:
        whole = found_at(first_line(dashboard))
        assert whole["figures"] == {
            "sent": ["sent", "messages/s"],
            "delivered": ["delivered", "messages/s"],
            "buffered": ["not yet delivered", "copies"],
            "inbox": ["in receive buffers", "copies"],
            "held_back": ["held back", "copies"],
        }


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--events", os.devnull, "127.0.0.1:1"], "has no meaning with --events"),
        (["--events", "there-is-none"], "there is no such file or directory"),
        (["--run", "one"], "--run goes with --events"),
        (["--bind", "nowhere"], "--bind: 'nowhere' has no port; write HOST:PORT"),
        (["nowhere"], "'nowhere' has no port; write HOST:PORT, where a node serves HTTP"),
    ],
)
def test_a_call_that_makes_no_sense_is_refused(words: list[str], said: str) -> None:
    with command("dashboard", *words) as dashboard:
        _, complaint = dashboard.communicate(timeout=SECONDS)
        assert dashboard.returncode == 2
        assert said in " ".join(complaint.split())


def test_a_port_that_is_taken_is_named() -> None:
    with command("dashboard", "--bind", "127.0.0.1:0") as first:
        taken = first_line(first).removeprefix("http://").rstrip("/")
        with command("dashboard", "--bind", taken) as second:
            _, complaint = second.communicate(timeout=SECONDS)
            assert second.returncode == 2
            assert taken in complaint
