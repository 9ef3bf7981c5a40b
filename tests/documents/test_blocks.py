"""Every code block of the documents runs, or says why it does not."""

import re
import shlex
from pathlib import Path

import click
import pytest

from antecede_cli.main import SUBCOMMANDS, main
from tests.documents.blocks import Block, bash, blocks_of, complaint_about, run_page
from tests.documents.pages import OF_THE_PIPELINE, ON_SPARK, all_pages, pages_run_here

WITH_CODE = [page for page in pages_run_here() if blocks_of(page)]


@pytest.mark.parametrize("page", WITH_CODE)
def test_code_of_a_page_runs_and_prints_what_it_shows(page: str, tmp_path: Path) -> None:
    run_page(page, tmp_path, bash)


def test_there_is_code_to_run() -> None:
    assert {"README.md", "docs/tutorial.md", "docs/guides/service-mesh.md"} <= set(WITH_CODE)
    assert set(ON_SPARK) <= set(all_pages())


def test_blocks_are_written_so_that_they_can_be_run() -> None:
    pages = [page for page in all_pages() if not page.startswith(OF_THE_PIPELINE)]
    blocks = [block for page in pages for block in blocks_of(page)]
    assert [found for block in blocks if (found := complaint_about(block))] == []


@pytest.mark.parametrize(
    ("language", "body", "complains"),
    [("", "antecede demo\n", True), ("", "a -> b\n", False), ("ruby", "x\n", True)],
)
def test_a_badly_written_block_is_noticed(language: str, body: str, complains: bool) -> None:
    assert (complaint_about(Block("page", 1, language, body, None)) is not None) is complains


def test_wrong_output_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    monkeypatch.setattr("tests.documents.blocks.ROOT", tmp_path)
    page.write_text("# T\n\n```python\nprint(1)\n```\n\n```text\n1\n```\n")
    run_page("page.md", tmp_path, bash)
    page.write_text("# T\n\n```bash\necho 1\n```\n\n```text\n2\n```\n")
    with pytest.raises(AssertionError, match="shows something else"):
        run_page("page.md", tmp_path, bash)
    page.write_text("# T\n\n<!-- not run: it fails -->\n```bash\nexit 1\n```\n")
    run_page("page.md", tmp_path, bash)


# Commands that are only shown.

SHOWN = re.compile(r"^\s*(?:\$ )?(?:\w+=\S+ )*antecede (?P<words>[a-z].*)$", re.MULTILINE)
INLINE = re.compile(r"`antecede (?P<words>[a-z][^`]*)`")


def shown_commands(page: str) -> list[list[str]]:
    """The words of every command that a page shows, in blocks and in sentences."""
    found = [match["words"] for block in blocks_of(page) for match in SHOWN.finditer(block.body)]
    text = Path(page).read_text(encoding="utf-8")
    found += [" ".join(match["words"].split()) for match in INLINE.finditer(text)]
    return [split(words) for words in found]


def split(words: str) -> list[str]:
    """The words of one command: what follows it in the line does not belong to it."""
    first = re.split(r" && | \| | > |  +#|   ", words)[0]
    try:
        return shlex.split(first)
    except ValueError:
        return first.split()


def complaint_about_command(words: list[str]) -> str | None:
    """Which word of a command does not exist, if one does not."""
    if words[0] not in SUBCOMMANDS:
        return f"there is no command {words[0]}"
    context = click.Context(main)
    command: click.Command | None = main
    for word in words:
        if not isinstance(command, click.Group):
            break
        command = command.get_command(context, word)
        if command is None:
            return f"there is no command {word}"
    if isinstance(command, click.Group) or command is None:
        return None
    known = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
    for word in words[1:]:
        option = word.partition("=")[0]
        if re.fullmatch(r"--?[a-z][a-z-]*", option) and option not in known | {"--help", "-h"}:
            return f"antecede {words[0]} has no option {option}"
    return None


@pytest.mark.parametrize("page", all_pages())
def test_commands_that_a_page_shows_exist(
    page: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(request.config.rootpath)
    commands = shown_commands(page)
    assert [found for words in commands if (found := complaint_about_command(words))] == []


def test_a_command_that_does_not_exist_is_noticed() -> None:
    assert complaint_about_command(["guess"]) == "there is no command guess"
    assert complaint_about_command(["lab", "guess"]) == "there is no command guess"
    assert complaint_about_command(["demo", "--slow"]) == "antecede demo has no option --slow"
    assert complaint_about_command(["demo", "--quick", "--out", "x"]) is None
    assert complaint_about_command(["lab", "data", "fetch", "--out", "x"]) is None
