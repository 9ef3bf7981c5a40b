"""Every command when its output is read in part, not at all, or cannot be written.

All in an environment with nothing in it: `PYTHONUNBUFFERED`, for one, hides what Python does with
the output that it still holds when a command ends.
"""

import ast
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from antecede_cli.main import SUBCOMMANDS
from antecede_cli.output import INTERRUPTED, READER_GONE

CLI = Path(__file__).parents[2] / "src" / "antecede_cli"

WAIT_S = 60

PRINTING = {
    "--version": ["--version"],
    "--help": ["--help"],
    "simulate": ["simulate", "-m", "9"],
    "scenario": ["lab", "scenario", "triangle"],
    "check": ["check", "--protocol", "mf", "--program", "relay"],
    "compare": ["lab", "compare", "--quick", "--protocols", "mf", "--only", "network"],
    "completion": ["--completion", "bash"],
    **{f"{name} --help": [name, "--help"] for name in SUBCOMMANDS},
}
"""Commands that print and need nothing more than a plain install; the others print as they do."""

BARE = {name: os.environ[name] for name in ("HOME", "PATH", "PYTHONPATH") if name in os.environ}


def run(arguments: list[str], output: int | None, **environment: str) -> tuple[int, str]:
    """The exit status, and what was said on standard error."""
    ran = subprocess.run(
        [sys.executable, "-m", "antecede", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.PIPE,
        env=BARE | environment,
        timeout=WAIT_S,
        check=False,
    )
    return ran.returncode, ran.stderr.decode()


def pipe_without_reader() -> int:
    reader, writer = os.pipe()
    os.close(reader)
    return writer


@pytest.mark.parametrize("arguments", PRINTING.values(), ids=PRINTING)
def test_a_reader_that_left_is_no_error_of_ours(arguments: list[str]) -> None:
    writer = pipe_without_reader()
    try:
        assert run(arguments, writer) == (READER_GONE, "")
    finally:
        os.close(writer)


@pytest.mark.parametrize("name", ["simulate", "compare"])
def test_a_reader_that_left_is_no_error_where_every_line_is_written_at_once(name: str) -> None:
    writer = pipe_without_reader()
    try:
        assert run(PRINTING[name], writer, PYTHONUNBUFFERED="1") == (READER_GONE, "")
    finally:
        os.close(writer)


def test_nobody_reads_errors_either() -> None:
    writer = pipe_without_reader()
    command = [sys.executable, "-m", "antecede", "simulate", "-p", "nothing"]
    try:
        ran = subprocess.run(command, stdout=writer, stderr=writer, env=BARE, timeout=WAIT_S)
    finally:
        os.close(writer)
    assert ran.returncode == READER_GONE


@pytest.mark.parametrize("name", ["--help", "simulate", "compare", "scenario"])
def test_an_output_that_is_closed_is_an_output_that_nobody_wants(name: str) -> None:
    ran = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", sys.executable, "-m", "antecede", *PRINTING[name]],
        stderr=subprocess.PIPE,
        env=BARE,
        timeout=WAIT_S,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
@pytest.mark.parametrize("name", ["--version", "--help", "simulate", "compare", "completion"])
def test_a_full_disk_is_one_sentence_and_an_error(name: str) -> None:
    with open("/dev/full", "wb") as full:
        status, said = run(PRINTING[name], full.fileno())
    assert status == 2
    assert said.startswith("Error: ")
    assert "No space left on device" in said
    assert said.count("\n") == 1


def test_an_interrupted_command_says_so_and_exits_with_130(tmp_path: Path) -> None:
    """1 would mean that something was found."""
    (tmp_path / "slow.py").write_text("import time\nprint('here', flush=True)\ntime.sleep(60)\n")
    with subprocess.Popen(
        [sys.executable, "-m", "antecede", "simulate", "-p", "slow:INFO"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env=BARE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"here\n"
        process.send_signal(signal.SIGINT)
        said = process.stderr.read().decode()
    assert (process.returncode, said) == (INTERRUPTED, "Interrupted.\n")


def test_every_console_of_a_command_is_ours() -> None:
    """Rich's own would end the process with 1, which means that something was found."""
    for file in CLI.rglob("*.py"):
        if file.name == "output.py":
            continue
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module == "rich.console":
                assert "Console" not in [name.name for name in node.names], file
