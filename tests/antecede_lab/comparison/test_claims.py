"""The paper's table as data: complete, and readable by what judges it."""

import pytest

from antecede_lab.catalogue import PROTOCOLS
from antecede_lab.comparison.campaign import DEFAULT_PROTOCOLS, FAMILIES, FAMILY_OF
from antecede_lab.comparison.claims import (
    BESIDE,
    COLUMNS,
    FOOTNOTES,
    GROWTH,
    IN_TABLE,
    ORDER,
    TABLE,
    Claim,
    claims_about,
    column_of,
)
from antecede_lab.comparison.verdicts import GROWTH_ASPECTS, MAGNITUDES


def test_table_has_thirteen_rows_and_a_protocol_of_ours_for_every_column() -> None:
    assert len(TABLE) == 13
    assert all(len(cells) == len(COLUMNS) == 6 for cells in TABLE.values())
    assert all(name in PROTOCOLS for name in IN_TABLE)


def test_the_last_column_is_the_paper_s_two_algorithms_for_one_receiver() -> None:
    assert COLUMNS[-1] == ("paper-basic", "paper-sps")
    assert "hybrid" in BESIDE
    assert "hybrid" not in IN_TABLE


def test_every_bound_of_the_table_has_its_powers_of_n() -> None:
    bounds = {claim.says for name in IN_TABLE for claim in claims_about(name) if bound(claim)}
    assert bounds == set(GROWTH)


def bound(claim: Claim) -> bool:
    return claim.aspect in GROWTH_ASPECTS


def test_every_magnitude_of_the_table_has_its_rank() -> None:
    aspect = "latency: non-causal, how much"
    cells = {Claim(protocol="x", aspect=aspect, cell=cell).says for cell in TABLE[aspect]}
    assert cells == set(MAGNITUDES)


def test_every_aspect_belongs_to_a_family_of_runs() -> None:
    assert list(FAMILY_OF) == list(TABLE)
    assert set(FAMILY_OF.values()) <= set(FAMILIES)


def test_footnote_marks_are_no_part_of_what_a_cell_says() -> None:
    claim = Claim(protocol="newtop", aspect="liveness", cell="no²")
    assert claim.says == "no"
    assert claim.footnote == FOOTNOTES["²"]
    assert Claim(protocol="mf", aspect="liveness", cell="yes").footnote == ""


@pytest.mark.parametrize("name", [*COLUMNS[-1], *BESIDE])
def test_last_column_speaks_about_the_paper_and_what_we_make_of_it(name: str) -> None:
    assert column_of(name) == len(COLUMNS) - 1
    assert [claim.protocol for claim in claims_about(name)] == [name] * 13


def test_nothing_is_claimed_about_protocols_that_the_table_does_not_have() -> None:
    assert column_of("prs") is None
    assert claims_about("prs") == []


def test_the_paper_says_that_ks_needs_fifo() -> None:
    [claim] = [claim for claim in claims_about("ks") if claim.aspect == ORDER]
    assert claim.cell == "FIFO"


def test_all_causal_protocols_of_the_catalogue_are_compared() -> None:
    causal = {name for name, info in PROTOCOLS.items() if info.ordering == "causal"}
    assert set(DEFAULT_PROTOCOLS) == causal
    assert DEFAULT_PROTOCOLS[: len(IN_TABLE)] == IN_TABLE
