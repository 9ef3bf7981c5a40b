"""The scripted conversation: the same network, with causal order and without."""

import pytest

from antecede.network_model.faults import Faults, SlowLink
from antecede_cli.messaging.chat_session import DEMO_FAULTS, PEOPLE, SCRIPT, Shown, run_demo


def early(shown: list[Shown]) -> list[Shown]:
    return [event for event in shown if event.line.missing is not None]


def texts(shown: list[Shown], screen: str) -> list[str]:
    return [event.line.text for event in shown if event.screen == screen]


@pytest.mark.parametrize("order", ["hybrid", "hybrid-sps", "hybrid-csps"])
@pytest.mark.parametrize("seed", range(1, 7))
def test_in_causal_order_no_answer_comes_before_what_it_answers(order: str, seed: int) -> None:
    shown = run_demo(order, seed=seed)

    assert early(shown) == []
    for person in PEOPLE:
        assert texts(shown, person) == [utterance.text for utterance in SCRIPT]


@pytest.mark.parametrize("order", ["fifo", "none"])
def test_without_it_some_do_on_the_same_network(order: str) -> None:
    shown = run_demo(order)

    assert ("carol", ("alice", 1)) in [(event.screen, event.line.missing) for event in early(shown)]
    for person in PEOPLE:
        assert sorted(texts(shown, person)) == sorted(utterance.text for utterance in SCRIPT)


def test_the_same_seed_gives_the_same_performance_and_another_one_does_not() -> None:
    assert run_demo("none", seed=2) == run_demo("none", seed=2)
    assert run_demo("none", seed=2) != run_demo("none", seed=3)


def test_one_slow_link_is_enough() -> None:
    slow = Faults(slow_links=(SlowLink(source=0, target=2, extra_ns=1_000_000_000),))

    first = early(run_demo("none", slow))[0]
    assert (first.screen, first.line.missing) == ("carol", ("alice", 1))
    assert early(run_demo("hybrid", slow)) == []


def test_times_never_go_back_and_begin_at_zero() -> None:
    times = [event.time_ns for event in run_demo("hybrid", DEMO_FAULTS, 1)]

    assert times[0] == 0
    assert times == sorted(times)
