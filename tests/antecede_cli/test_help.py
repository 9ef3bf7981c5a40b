"""Every command says what it is for, shows examples, and names its defaults; shells complete it."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from antecede_cli.lab.group import EXPERIMENTS
from antecede_cli.main import GONE, RENAMED, SHELLS, SUBCOMMANDS, main

ROOT = Path(__file__).parents[2]


def all_commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The words of every command there is, groups of commands included."""
    context = click.Context(group)
    yield path
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        if isinstance(found, click.Group):
            yield from all_commands(found, (*path, name))
        else:
            yield (*path, name)


COMMANDS = list(all_commands(main))


def command_at(path: tuple[str, ...]) -> click.Command:
    found: click.Command = main
    for name in path:
        assert isinstance(found, click.Group)
        inner = found.get_command(click.Context(found), name)
        assert inner is not None
        found = inner
    return found


def test_all_commands_are_found() -> None:
    assert {path[0] for path in COMMANDS if path} == set(SUBCOMMANDS)
    assert ("lab", "data", "fetch") in COMMANDS


def test_the_page_of_the_command_line_names_every_command_once() -> None:
    page = (ROOT / "docs" / "reference" / "command-line.md").read_text(encoding="utf-8")
    table = page.partition("| group | commands |")[2].partition("\n\n")[0]
    named = re.findall(r"`([a-z ]+)`", table)
    shown = [name for name, entry in SUBCOMMANDS.items() if not entry.hidden]
    assert sorted(named) == sorted([*shown, *(f"lab {name}" for name in EXPERIMENTS)])


def test_the_page_of_the_command_line_names_every_former_name() -> None:
    page = (ROOT / "docs" / "reference" / "command-line.md").read_text(encoding="utf-8")
    table = page.partition("| former | now |")[2].partition("\n\n")[0]
    former = " ".join(line.split("|")[1] for line in table.splitlines()[2:])
    named = re.findall(r"`([a-z]+)\b[^`]*`", former)
    hidden = [name for name, entry in SUBCOMMANDS.items() if entry.hidden]
    assert sorted(named) == sorted([*RENAMED, *GONE, *hidden])


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_help_has_a_purpose_and_examples(path: tuple[str, ...]) -> None:
    result = CliRunner().invoke(main, [*path, "--help"], prog_name="antecede")
    assert result.exit_code == 0
    usage, purpose = [line for line in result.output.splitlines() if line.strip()][:2]
    assert usage.startswith(" ".join(["Usage: antecede", *path]))
    assert purpose.strip()
    examples = result.output.partition("Examples:\n")[2]
    assert " ".join(["antecede", *path]) in examples


def has_default(value: object) -> bool:
    """Whether this is a default; what stands for none differs between versions of click."""
    return isinstance(value, int | float | str | tuple | list | os.PathLike) and value not in (
        "",
        (),
    )


def unsaid_defaults(command: click.Command) -> list[str]:
    """The options with a default that their help does not mention."""
    context = click.Context(command, show_default=None)
    return [
        str(option.name)
        for option in command.params
        if isinstance(option, click.Option)
        and not option.is_flag
        and not option.count
        and has_default(option.get_default(context))
        and "default" not in str(option.get_help_record(context))
    ]


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_help_names_every_default(path: tuple[str, ...]) -> None:
    assert unsaid_defaults(command_at(path)) == []


def test_an_unsaid_default_would_be_found() -> None:
    silent = click.Option(["--size"], default=7, help="How large.")
    honest = click.Option(["--count"], default=7, show_default=True)
    assert unsaid_defaults(click.Command("x", params=[silent, honest])) == ["size"]


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_scripts_ask_this_program(shell: str) -> None:
    result = CliRunner().invoke(main, ["--completion", shell], prog_name="antecede")
    assert result.exit_code == 0
    assert f"_ANTECEDE_COMPLETE={shell}_complete" in result.output


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("antecede sim", ["simulate"]),
        ("antecede lab sw", ["sweep"]),
        ("antecede lab compare --q", ["--quick"]),
        ("antecede demo --q", ["--quick"]),
        ("antecede audit --order tr", ["trace"]),
        ("antecede --completion ", list(SHELLS)),
    ],
)
def test_what_was_typed_is_completed(typed: str, expected: list[str]) -> None:
    words = typed.split(" ")
    asked = {
        "_ANTECEDE_COMPLETE": "bash_complete",
        "COMP_WORDS": typed,
        "COMP_CWORD": str(len(words) - 1),
    }
    ran = subprocess.run(
        [sys.executable, "-m", "antecede"],
        env=os.environ | asked,
        capture_output=True,
        text=True,
        check=True,
    )
    assert [line.partition(",")[2] for line in ran.stdout.splitlines()] == expected
