"""What share of n² KS carries, and the traffic that shows it."""

import pytest

from antecede.core.errors import LocalError
from antecede_lab.comparison.ks_experiment import KsEffort, percent_of_matrix, run_ks_experiment
from antecede_lab.comparison.traffic import MixedCasts
from antecede_lab.simulator.calendar import Calendar
from antecede_lab.simulator.workloads.workload import Agenda


def targets_of(workload: MixedCasts, wakes: int) -> list[list[int]]:
    """What the workload submits when process 0 is woken so often."""
    agenda = Agenda(Calendar())
    for now_ns in range(wakes):
        workload.woken(0, now_ns, agenda)
    return [submission.targets for submission in iter(agenda.take, None)]


def test_multicasts_go_to_two_or_more_distinct_others() -> None:
    workload = MixedCasts(6, messages=300, interval_ns=1, share=1.0, seed=1)
    sizes = set()
    for targets in targets_of(workload, 300):
        assert len(set(targets)) == len(targets)
        assert set(targets) <= {1, 2, 3, 4, 5}
        sizes.add(len(targets))
    assert sizes == {2, 3, 4, 5}


def test_share_of_multicasts_is_as_asked() -> None:
    workload = MixedCasts(6, messages=400, interval_ns=1, share=0.25, seed=1)
    many = [targets for targets in targets_of(workload, 400) if len(targets) > 1]
    assert 70 < len(many) < 130
    assert not MixedCasts(6, messages=1, interval_ns=1, share=0.0, seed=1).multicasts


def test_senseless_share_is_refused() -> None:
    with pytest.raises(LocalError):
        MixedCasts(6, messages=1, interval_ns=1, share=1.5, seed=1)


def test_share_of_the_matrix_falls_with_size_and_with_multicasts() -> None:
    """Around 55 % and 33 % at n = 10, 30 % at n = 20."""
    ten, multicasts, twenty = (
        percent_of_matrix(10, 1.0, 0.0, 15, 1)[0],
        percent_of_matrix(10, 1.0, 0.5, 15, 1)[0],
        percent_of_matrix(20, 1.0, 0.0, 15, 1)[0],
    )
    assert 45 < ten < 65
    assert 28 < multicasts < 42
    assert 25 < twenty < 37


def test_longer_runs_carry_the_same_at_high_rates() -> None:
    """Forty messages take eight one-way delays at rate 5: too short for logs to have filled."""
    short, long = (percent_of_matrix(10, 5.0, 0.0, each, 1) for each in (20, 200))
    assert short[0] == pytest.approx(long[0], rel=0.1)
    assert short[1] == pytest.approx(1.0, abs=0.1)


def test_every_point_of_the_grid_has_an_interval_over_its_seeds() -> None:
    effort = KsEffort(sizes=(4, 6), rates=(1.0,), shares=(0.0, 0.5), messages_each=8, seeds=3)
    shown: list[tuple[int, int, str]] = []
    rows = run_ks_experiment(effort, 1, None, lambda *told: shown.append(told))
    assert [(row.processes, row.share) for row in rows] == [(4, 0.0), (4, 0.5), (6, 0.0), (6, 0.5)]
    assert all(row.percent.samples == 3 and row.percent.half_width for row in rows)
    assert [done for done, _, _ in shown] == [0, 1, 2, 3]
    assert shown[0] == (0, 4, "ks, n = 4, rate 1, multicasts 0%")
    assert run_ks_experiment(effort, 1, 2)[0].percent.samples == 2
