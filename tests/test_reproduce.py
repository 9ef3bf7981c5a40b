"""What documents claim: every claim has a page and a command, and drift is seen."""

from pathlib import Path

import pytest

from antecede.cli.main import SUBCOMMANDS
from bench import reproduce
from bench.reproduce import Claim, alike, drift, read_claims, read_figures, table

ROOT = Path(__file__).parent.parent
CLAIMS = read_claims()


def test_the_table_of_claims_is_up_to_date() -> None:
    assert table(CLAIMS) in (ROOT / "docs" / "REPRODUCE.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=list(CLAIMS))
def test_a_claim_names_a_page_and_a_command_that_exist(claim: Claim) -> None:
    assert (ROOT / claim.page).is_file()
    first, *rest = claim.command.split()
    if first == "antecede":
        assert rest[0] in SUBCOMMANDS
    else:
        assert (first, rest[0]) == ("python", "-m")
        module = ROOT / Path(*rest[1].split("."))
        assert module.with_suffix(".py").is_file() or (module / "__main__.py").is_file()


def test_every_file_of_figures_belongs_to_a_claim() -> None:
    kept = {file.stem for file in reproduce.FIGURES.glob("*.csv")}
    assert kept
    assert kept <= CLAIMS.keys()


def test_a_cheap_claim_holds(tmp_path: Path) -> None:
    claim = CLAIMS["comparison-network"]
    found = reproduce.reproduce(claim, tmp_path)
    assert drift(claim, read_figures(claim.file), found) == []


def rows(**values: str) -> list[dict[str, str]]:
    return [{"key": key, "value": value} for key, value in values.items()]


def test_drift_is_told_in_words() -> None:
    claim = Claim(name="x", page="-", says="-", command="-", minutes=1, tolerance=0.1)
    claimed = [
        {"key": "a", "value": "100"},
        {"key": "b", "value": "yes"},
        {"key": "c", "value": "1"},
    ]
    found = [{"key": "a", "value": "105"}, {"key": "b", "value": "no"}, {"key": "d", "value": "1"}]
    assert drift(claim, claimed, found) == [
        "b: value was yes, is no",
        "c: is not there any more",
        "d: is new",
    ]


@pytest.mark.parametrize(
    ("before", "now", "tolerance", "same"),
    [
        ("1", "1", 0.0, True),
        ("1.0", "1.00", 0.0, True),
        ("100", "103", 0.02, False),
        ("100", "102", 0.02, True),
        ("-1", "1", 0.5, False),
        ("O(1)", "O(n)", 1.0, False),
    ],
)
def test_figures_are_compared_as_figures(
    before: str, now: str, tolerance: float, same: bool
) -> None:
    assert alike(before, now, tolerance) is same
