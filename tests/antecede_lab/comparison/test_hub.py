"""Upper bounds are judged by traffic that tries to reach them."""

from antecede_lab.catalogue import PROTOCOLS
from antecede_lab.comparison import measurements as measured
from antecede_lab.comparison.campaign import SPACE, STEPS, Campaign, entrants_of
from antecede_lab.comparison.hub import HUB, MADE_TO_CARRY, hub_figures
from antecede_lab.comparison.measurements import exponent
from antecede_lab.comparison.verdicts import outcomes_of_table, verdicts_on
from tests.antecede_lab.comparison.tiny import TINY
from tests.papers.counting import interpreted_only


def test_a_hub_can_be_made_to_carry_nearly_a_matrix() -> None:
    """RST always does, and here nothing in it is 0; KS can leave out its own row and diagonal."""
    for processes in (10, 40):
        assert hub_figures(PROTOCOLS["rst"], processes).integers == processes**2
        ks = hub_figures(PROTOCOLS["ks"], processes).integers
        assert processes**2 - processes - 10 < ks < processes**2


@interpreted_only
def test_bounds_that_average_traffic_stays_below_are_reached() -> None:
    campaign = Campaign(entrants_of(list(MADE_TO_CARRY)), TINY, (SPACE, STEPS))
    readings = campaign.run()
    for name in MADE_TO_CARRY:
        for quantity in (measured.INTEGERS, measured.BYTES, measured.STATE):
            power = exponent(readings.series(name, quantity, HUB))
            assert power is not None
            assert power > 1.5
        for verdict in verdicts_on(name, readings):
            if verdict.observation.powers != (None, None):
                assert verdict.outcome in ("confirmed", "qualified")
                assert "made to carry all it can" in verdict.observation.detail


def test_a_column_with_two_algorithms_is_as_right_as_what_it_says_of_the_worse() -> None:
    campaign = Campaign(entrants_of(["paper-basic", "paper-sps"]), TINY)
    outcomes = outcomes_of_table(campaign.run())
    assert len(outcomes) == 13
    assert outcomes.count("refuted") == 1
