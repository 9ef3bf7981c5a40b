"""The twenty decisions that shape everything have one shape, and one title each."""

import re

import pytest

from tests.documents.pages import ROOT

FOLDER = ROOT / "docs" / "decisions"
LISTED = re.compile(r"^\| (\d+) \| \[(.+?)\]\((0\S+?\.md)\)", re.MULTILINE)
DECISIONS = LISTED.findall((FOLDER / "README.md").read_text(encoding="utf-8"))


def test_there_are_twenty() -> None:
    assert len(DECISIONS) == 20


@pytest.mark.parametrize(("number", "title", "name"), DECISIONS)
def test_a_decision_is_context_decision_and_consequences(
    number: str, title: str, name: str
) -> None:
    text = (FOLDER / name).read_text(encoding="utf-8")
    sections = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert sections[:3] == ["Context", "Decision", "Consequences"], name
    assert text.startswith(f"# {number}. {title}\n"), f"{name} has another title than the list"
