"""One of something is called by its singular, wherever counts are told to people."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from antecede.units import counted
from antecede_cli.main import main

NOUNS = (
    "messages|copies|events|packets|processes|runs|deliveries|violations|files|rows|datagrams"
    "|clusters|nodes|crashes|expulsions|steps|lines|spans|traces|records|commits|bytes"
)
WRONG = re.compile(rf"(?<![\d.,])1 (?:{NOUNS})\b(?! of metadata)")


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (counted(1, "message"), "1 message"),
        (counted(0, "message"), "0 messages"),
        (counted(2_000, "message"), "2,000 messages"),
        (counted(1, "copy", "copies"), "1 copy"),
        (counted(3, "copy", "copies"), "3 copies"),
    ],
)
def test_a_count_agrees_with_its_noun(said: str, text: str) -> None:
    assert said == text


def said_by(*arguments: str) -> str:
    ran = CliRunner().invoke(main, arguments)
    assert ran.exit_code == 0, ran.output
    return ran.output


def test_a_run_of_one_message_is_told_so(tmp_path: Path) -> None:
    run, found, page = tmp_path / "run.jsonl", tmp_path / "found", tmp_path / "report.html"
    one = ("-n", "2", "-m", "1", "-w", "poisson")
    texts = [said_by("simulate", "-p", "hybrid", *one, "--out", str(run))]
    texts.append(said_by("audit", str(run), "--out", str(found)))
    said_by("report", str(run), str(found), "--out", str(page))
    texts.append(re.sub(r"<script.*?</script>|<style.*?</style>", "", page.read_text(), flags=re.S))
    assert "1 message" in texts[0]
    assert "1 message" in texts[1]
    assert [found[0] for text in texts for found in WRONG.finditer(text)] == []


def test_chaos_with_one_cluster_says_so() -> None:
    text = said_by("lab", "chaos", "--simulated", "1")
    assert "1 simulated cluster of " in text
    assert not WRONG.search(text)
