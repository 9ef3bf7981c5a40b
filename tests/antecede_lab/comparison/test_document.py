"""docs/COMPARISON.md shows the paper's cells, and the verdicts that runs give."""

import re
from pathlib import Path

import pytest

from antecede_lab.comparison.campaign import Campaign, entrants_of
from antecede_lab.comparison.claims import IN_TABLE, TABLE
from antecede_lab.comparison.documents import paper_tables
from antecede_lab.comparison.effort import QUICK

ROOT = Path(__file__).parent.parent.parent.parent
DOCUMENT = (ROOT / "docs" / "COMPARISON.md").read_text(encoding="utf-8")
CELL = re.compile(r"(?P<mark>[✓~✗]) (?P<claim>.*?)( → (?P<seen>.*))?")


def first_table() -> list[list[str]]:
    """The cells of the first table whose rows are aspects, without its head."""
    block = DOCUMENT.partition("\n|  | rst |")[2].partition("\n\n")[0]
    lines = block.splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def marks(rows: list[list[str]]) -> dict[str, str]:
    """The marks of a row, in the order of the columns, by aspect."""
    return {row[0]: "".join(cell[:1] for cell in row[1:]) for row in rows}


def test_document_shows_every_cell_of_the_paper() -> None:
    shown = {}
    for row in first_table():
        found = [CELL.fullmatch(cell) for cell in row[1:]]
        claimed = [cell["claim"] for cell in found if cell is not None]
        assert claimed.pop() == claimed[-1], "the last column is shown for both of its algorithms"
        shown[row[0]] = tuple(claimed)
    assert shown == TABLE


@pytest.mark.long
def test_document_shows_the_verdicts_that_small_runs_give_too() -> None:
    campaign = Campaign(entrants_of(list(IN_TABLE)), QUICK)
    campaign.run()
    [table] = paper_tables(campaign)
    assert marks(first_table()) == marks([list(row) for row in table.rows])
