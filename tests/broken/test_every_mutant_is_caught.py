"""Every protocol broken on purpose is caught, by the judges that should; sound ones by none."""

import pytest

from antecede_lab.catalogue import PROTOCOLS
from tests.broken.hybrid_mutants import HYBRID_MUTANTS
from tests.broken.judges import found_wrong
from tests.broken.mutants import Mutant, load
from tests.broken.paper_mutants import PAPER_MUTANTS

MUTANTS = HYBRID_MUTANTS + PAPER_MUTANTS
NAMES = [mutant.name for mutant in MUTANTS]

MUTANTS_MIN = 14


def test_there_are_enough_mutants_and_no_two_share_a_name() -> None:
    assert len(set(NAMES)) == len(NAMES) >= MUTANTS_MIN


@pytest.mark.parametrize("mutant", MUTANTS, ids=NAMES)
def test_a_mutant_is_caught_by_the_judges_that_should(mutant: Mutant) -> None:
    assert mutant.caught_by, "a mutant that nobody catches is not broken"
    assert found_wrong(load(mutant), mutant.protocol) == mutant.caught_by


@pytest.mark.parametrize("name", sorted({mutant.protocol for mutant in MUTANTS}))
def test_the_sound_protocol_is_not_caught(name: str) -> None:
    assert found_wrong(PROTOCOLS[name], name) == set()
