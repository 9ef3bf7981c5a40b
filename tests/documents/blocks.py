"""The code blocks of documents, and what is done with each kind of them.

- python: run as a program in the page's folder. One that begins with its own name, as in
  \"\"\"name.py: what it is, is saved under that name instead, for those after it.
- bash: run by bash in the same folder.
- text, right after one of these: what it prints.
- toml: has to be TOML; one that begins with a comment, # name.toml, is saved under that name.

A comment right before a block, <!-- not run: REASON -->, says why it is not run.
"""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.free_ports import free_port

ROOT = Path(__file__).parent.parent.parent

FENCE = re.compile(
    r"^(?P<before>[^\n]*)\n```(?P<language>\w*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL
)
NOT_RUN = re.compile(r"<!-- not run: (?P<reason>\S.*) -->")
SAVED = re.compile(r'"""(?P<name>\w+\.py): |# (?P<table>\w+\.toml)\n')
PORT = re.compile(r"127\.0\.0\.1:(?P<port>900\d)\b")
COMMAND = re.compile(r"^(\$ )?(antecede|python|pip) ", re.MULTILINE)

Shell = Callable[[str, Path], str]
"""Runs a text in a folder; what it prints."""


@dataclass(frozen=True)
class Block:
    """A block of code, and why it is not run, if it is not."""

    page: str
    number: int
    language: str
    body: str
    reason: str | None

    def __str__(self) -> str:
        return f"{self.page}, block {self.number} ({self.language or 'plain'})"


def blocks_of(page: str) -> list[Block]:
    """All blocks of a page, in order."""
    text = "\n" + (ROOT / page).read_text(encoding="utf-8")
    found: list[Block] = []
    for number, match in enumerate(FENCE.finditer(text), start=1):
        said = NOT_RUN.search(match["before"])
        reason = None if said is None else said["reason"]
        found.append(Block(page, number, match["language"], match["body"], reason))
    return found


def complaint_about(block: Block) -> str | None:
    """What is wrong with how a block is written, if anything is."""
    if block.language == "" and COMMAND.search(block.body):
        return f"{block}: commands belong into a bash block, which is run"
    if block.language not in ("", "python", "bash", "text", "toml", "console"):
        return f"{block}: nobody knows what to do with it"
    return None


def run_page(page: str, folder: Path, shell: Shell) -> None:
    """Run all blocks of a page, one after the other, and compare what they print."""
    ports: dict[str, int] = {}
    printed: str | None = None
    for block in blocks_of(page):
        body = PORT.sub(lambda match: address_for(match["port"], ports), block.body)
        if block.language == "toml":
            tomllib.loads(body)
        if block.language == "text" and printed is not None:
            assert printed == body, f"{block} shows something else than what is printed"
        printed = None
        if block.reason is not None:
            continue
        saved = SAVED.match(body)
        if saved is not None:
            (folder / (saved["name"] or saved["table"])).write_text(body, encoding="utf-8")
        elif block.language == "python":
            printed = python(block, body, folder)
        elif block.language == "bash":
            printed = shell(body, folder)


def address_for(written: str, ports: dict[str, int]) -> str:
    """An address with a port that is free here instead of the one that a document shows."""
    if written not in ports:
        ports[written] = free_port()
    return f"127.0.0.1:{ports[written]}"


def environment(folder: Path) -> dict[str, str]:
    """Where the package under test and this folder come first, and `antecede` is a command."""
    package = [path for path in sys.path if path]
    return os.environ | {
        "PYTHONPATH": os.pathsep.join([str(folder), *package]),
        "PATH": os.pathsep.join([str(folder / ".bin"), os.environ["PATH"]]),
        "COLUMNS": "100",
    }


def python(block: Block, body: str, folder: Path) -> str:
    """What a program prints."""
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", body],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, f"{block}:\n{ran.stderr}"
    return ran.stdout


def bash(body: str, folder: Path) -> str:
    """What a script prints; any command that fails ends it."""
    programs = folder / ".bin"
    programs.mkdir(exist_ok=True)
    for name, words in (("antecede", ["-m", "antecede"]), ("python", [])):
        script = programs / name
        script.write_text(f'#!/bin/sh\nexec {shlex.join([sys.executable, *words])} "$@"\n')
        script.chmod(0o755)
    ran = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", body],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, f"{body}\n{ran.stdout}\n{ran.stderr}"
    return ran.stdout


def no_shell(body: str, folder: Path) -> str:  # noqa: ARG001 the folder is for those that run something
    """For pages that have nothing to run."""
    pytest.fail(f"nothing was expected to run: {body}")
