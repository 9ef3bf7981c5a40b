"""From wishes to whole numbers."""

from dataclasses import replace

import pytest

from antecede.core.errors import LocalError
from antecede_lab.grow.target_size import GRAPH, OVERLAY, GrowthRequest, Recorded, plan_growth

SECOND = 1_000_000_000
RECORDED = Recorded(run_id="day", processes=10, messages=1000, span_ns=100 * SECOND, first_ns=0)


def test_a_process_sends_as_often_as_before() -> None:
    plan = plan_growth(RECORDED, GrowthRequest(processes=50))
    assert (plan.layers, plan.messages, plan.last_layer) == (1, 1000, 1000)
    assert plan.period_ns == 20 * SECOND, "five times as many processes, the same messages"


def test_load_is_a_multiple_of_what_was_recorded() -> None:
    assert plan_growth(RECORDED, GrowthRequest(processes=50, load=4.0)).period_ns == 5 * SECOND


def test_more_messages_mean_more_layers_and_the_last_may_be_a_beginning() -> None:
    plan = plan_growth(RECORDED, GrowthRequest(processes=20, messages=2500))
    assert (plan.layers, plan.last_layer) == (3, 500)
    assert plan.period_ns == 125 * SECOND


def test_fewer_messages_are_a_beginning() -> None:
    plan = plan_growth(RECORDED, GrowthRequest(processes=10, messages=300))
    assert (plan.layers, plan.last_layer, plan.period_ns) == (1, 300, 30 * SECOND)


def test_an_overlay_has_a_layer_for_every_set_of_processes() -> None:
    plan = plan_growth(RECORDED, GrowthRequest(processes=35, method=OVERLAY))
    assert (plan.layers, plan.messages) == (4, 4000)
    assert (plan.replicas, plan.extra) == (3, 5)


def test_a_period_is_twice_as_long_as_the_longest_conversation() -> None:
    chatty = replace(RECORDED, longest_ns=15 * SECOND)
    plan = plan_growth(chatty, GrowthRequest(processes=50))
    assert (plan.period_ns, plan.folded, plan.keeps_load) == (30 * SECOND, True, False)
    plan = plan_growth(chatty, GrowthRequest(processes=50, load=0.5))
    assert (plan.period_ns, plan.folded, plan.keeps_load) == (40 * SECOND, True, True)


def test_conversations_too_long_for_any_period_begin_when_they_began() -> None:
    chatty = replace(RECORDED, longest_ns=80 * SECOND)
    assert plan_growth(chatty, GrowthRequest(processes=10, messages=1600)).keeps_load, (
        "160 s are enough"
    )
    plan = plan_growth(chatty, GrowthRequest(processes=50))
    assert not plan.folded
    assert not plan.keeps_load
    assert (plan.period_ns, plan.shift_ns) == (105 * SECOND, 5 * SECOND)


@pytest.mark.parametrize(
    ("wanted", "complaint"),
    [
        (GrowthRequest(processes=9), "cannot grow to 9"),
        (GrowthRequest(processes=2, method=OVERLAY), "cannot grow to 2"),
        (GrowthRequest(processes=1 << 21), "outside 1 to"),
        (GrowthRequest(processes=0, method=GRAPH), "outside 1 to"),
        (GrowthRequest(processes=20, method="magic"), "no method is called 'magic'"),
        (GrowthRequest(processes=20, messages=0), "at least one message"),
        (GrowthRequest(processes=20, load=0.0), "more than 0"),
        (GrowthRequest(processes=20, speed=0.0), "more than 0"),
    ],
)
def test_what_cannot_be_is_refused(wanted: GrowthRequest, complaint: str) -> None:
    with pytest.raises(LocalError, match=complaint):
        plan_growth(RECORDED, wanted)
