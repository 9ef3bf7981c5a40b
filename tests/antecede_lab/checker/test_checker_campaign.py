"""The long campaign of the model checker: millions of states over real protocols."""

import pytest

from antecede_lab.catalogue import PROTOCOLS
from antecede_lab.checker.check import STATES_MAX, check
from antecede_lab.checker.enumerate import every_program
from antecede_lab.checker.programs import PROGRAMS, objection
from tests.antecede_lab.checker.test_checker import searched

MANY_STATES_MAX = 2_000
"""Of each program of `hybrid-facts`: what it has heard of whom multiplies the states."""

LARGE = ["crossing", "two-permits", "multicast-mix", "broadcast-race", "broadcast-four"]


@pytest.mark.long
def test_a_million_states_with_a_loss_hold_nothing_wrong() -> None:
    """The largest programs on the product's own protocol, every one of their states."""
    states = 0
    for protocol in ("hybrid", "hybrid-sps", "hybrid-csps"):
        for name in LARGE:
            result = check(PROTOCOLS[protocol], PROGRAMS[name], losses=1)
            assert result.failure is None
            assert result.complete
            states += result.states
    assert states >= 1_000_000


@pytest.mark.long
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("faults", [(0, 1, 0), (1, 1, 0), (1, 0, 1)])
def test_every_named_program_is_right(protocol: str, faults: tuple[int, int, int]) -> None:
    info = PROTOCOLS[protocol]
    for program in PROGRAMS.values():
        if not objection(info, program):
            assert check(info, program, *faults, 100_000).failure is None


@pytest.mark.long
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_program_of_four_unicasts_or_three_multicasts_is_right(protocol: str) -> None:
    info = searched(protocol)
    programs = every_program(4) + every_program(3, multicast=True)
    for program in programs:
        if not objection(info, program):
            states_max = MANY_STATES_MAX if protocol == "hybrid-facts" else STATES_MAX
            result = check(info, program, losses=1, states_max=states_max)
            assert result.failure is None
            assert result.complete or protocol == "hybrid-facts"
