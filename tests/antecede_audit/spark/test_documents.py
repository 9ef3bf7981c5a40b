"""The documents whose commands need Spark, all in one session."""

import re
import shlex
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

from antecede_cli.main import main
from tests.documents.blocks import blocks_of, run_page
from tests.documents.pages import ON_SPARK


def in_this_process(body: str, folder: Path) -> str:
    """Run commands of ours, one a line, in the session that is open; what they print."""
    printed = ""
    for line in body.splitlines():
        program, *words = shlex.split(line, comments=True)
        assert program == "antecede"
        result = CliRunner().invoke(main, placed(words, folder), prog_name=program)
        assert result.exit_code == 0, f"{line}\n{result.output}"
        printed += result.output
    return printed


def placed(words: list[str], folder: Path) -> list[str]:
    """The words with whole paths: Java was started in another folder, and stays there."""
    whole: list[str] = []
    for before, word in pairwise(["", *words]):
        key, equals, value = word.rpartition("=")
        if before == "--out" or (value and (folder / value).exists()):
            word = f"{key}{equals}{folder / value}"
        whole.append(word)
    return whole


@pytest.mark.parametrize(
    ("page", "said"),
    [
        (
            "docs/guides/audit-your-traces.md",
            "stock delivered message 1 of mail at .* but message 1 of shop, which caused it",
        ),
        ("examples/sample-log/README.md", "340 messages were delivered before one"),
    ],
)
def test_commands_of_a_page_find_what_it_speaks_of(
    spark: SparkSession,  # noqa: ARG001 the session that the commands find open
    page: str,
    said: str,
    tmp_path: Path,
) -> None:
    assert page in ON_SPARK
    printed: list[str] = []

    def shell(body: str, folder: Path) -> str:
        printed.append(in_this_process(body, folder))
        return printed[-1]

    run_page(page, tmp_path, shell)
    assert re.search(said, " ".join(" ".join(printed).split()))


def test_tables_go_in_and_out_as_the_page_about_shuffles_shows(
    spark: SparkSession,  # noqa: ARG001 the session that the program finds open
    capsys: pytest.CaptureFixture[str],
) -> None:
    program, shown = blocks_of("docs/pipeline/shuffles.md")[:2]
    assert (program.language, shown.language) == ("python", "text")
    exec(program.body, {})
    assert capsys.readouterr().out == shown.body
