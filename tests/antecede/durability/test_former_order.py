"""A journal of `hybrid-facts`, which nodes have no longer: refused in words, and untouched."""

import asyncio
from pathlib import Path

import pytest
from click.testing import CliRunner

import antecede
from antecede.core.records import encode_record
from antecede.durability.journal import file_name, open_journal
from antecede.durability.node_state import life_record
from antecede.runtime.errors import BadConfiguration
from antecede_cli.main import main

WHOM_A_NUMBER_MEANS = 84
ARRIVED = 2


def former_journal(folder: Path) -> bytes:
    """As the last version wrote it that had this order."""
    journal, _ = open_journal(folder)
    order = "hybrid-facts (facts 16, filter_bits 64, hops 1, watermarks 4, exceptions 2)"
    named = encode_record(WHOM_A_NUMBER_MEANS, [3, 77, 0], b"bob")
    journal.rotate_file([life_record("ann", order, 77), named])
    journal.commit([encode_record(ARRIVED, [1, 3], b"{}")])
    journal.close()
    return (folder / file_name(1)).read_bytes()


def test_a_node_says_why_it_cannot_go_on_from_it(tmp_path: Path) -> None:
    before = former_journal(tmp_path)

    async def opened() -> None:
        await antecede.open_node("ann", journal=tmp_path, order="causal")

    with pytest.raises(BadConfiguration) as refused:
        asyncio.run(opened())
    for words in ("'hybrid-facts'", "a protocol of the lab", "order causal", "another journal"):
        assert words in str(refused.value)
    assert (tmp_path / file_name(1)).read_bytes() == before


def test_its_records_are_not_shown_under_the_names_of_others(tmp_path: Path) -> None:
    former_journal(tmp_path)
    shown = CliRunner().invoke(main, ["journal", "show", str(tmp_path)]).output.splitlines()
    assert [line.split("  ")[1].strip() for line in shown] == ["this life", "?", "?"]


def test_the_order_itself_is_refused_with_the_same_words() -> None:
    with pytest.raises(
        BadConfiguration, match="setting 'order': hybrid-facts is a protocol of the"
    ):
        antecede.open_node("ann", order="hybrid-facts")  # type: ignore[arg-type] # the point
    with pytest.raises(BadConfiguration, match=r"the setting 'hops' .* is gone: hybrid-facts is a"):
        antecede.open_node("ann", settings={"hops": 2})
