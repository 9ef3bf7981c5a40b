"""What has settled has a mean; what has not has a rate."""

import pytest

from antecede_lab.catalogue import PROTOCOLS
from antecede_lab.comparison import measurements as measured
from antecede_lab.comparison.documents import series_table
from antecede_lab.comparison.effort import QUICK
from antecede_lab.comparison.latency import (
    UNSETTLED_FROM,
    TimedCopy,
    is_unsettled,
    lateness,
    trend,
    unsettled_text,
)
from antecede_lab.comparison.measurements import Measurements


def copies_with(latencies: list[int], interval_ns: int = 10) -> list[TimedCopy]:
    """One after the other, delivered after these times."""
    copies = []
    for place, latency_ns in enumerate(latencies):
        copy = TimedCopy(0, place * interval_ns, 0)
        copy.delivered_ns = place * interval_ns + latency_ns
        copies.append(copy)
    return copies


def test_steady_latency_has_no_growth_and_everything_is_carried() -> None:
    found = trend(copies_with([30] * 400), 400)
    assert (found.latency_ns, found.steadiness, found.growth_ns) == (30, 1.0, 0.0)
    assert found.carried == pytest.approx(1.0, abs=0.02)


def test_queue_that_takes_every_other_message_grows_by_the_rest() -> None:
    """One leaves every 20 ns, one comes every 10: each waits 10 ns longer than the last."""
    found = trend(copies_with([30 + 10 * place for place in range(400)]), 400)
    assert found.growth_ns == pytest.approx(10)
    assert found.steadiness > 1.5
    assert found.carried == pytest.approx(0.5, abs=0.02)


def test_start_and_end_of_a_run_do_not_count() -> None:
    calm = [30] * 400
    calm[:100] = [0] * 100
    calm[-100:] = [10_000] * 100
    found = trend(copies_with(calm), 400)
    assert (found.latency_ns, found.steadiness) == (30, 1.0)


@pytest.mark.parametrize(("name", "load"), [("rst", 1.0), ("mf", 0.1)])
def test_what_can_be_carried_settles(name: str, load: float) -> None:
    found = lateness(PROTOCOLS[name], load, QUICK, 1).trend
    assert found.steadiness < UNSETTLED_FROM
    assert found.carried > 0.9


def test_mf_carries_one_message_per_round_trip_and_falls_behind_at_one_per_one_way_delay() -> None:
    found = lateness(PROTOCOLS["mf"], 1.0, QUICK, 1).trend
    assert found.steadiness > UNSETTLED_FROM
    assert 0.35 < found.carried < 0.65


def made(steadiness: float) -> Measurements:
    readings = Measurements()
    for quantity, samples in (
        (measured.LATENCY, [10.0, 30.0]),
        (measured.LATE, [4.0, 6.0]),
        (measured.STEADINESS, [steadiness]),
        (measured.GROWTH, [1.25]),
        (measured.CARRIED, [0.5]),
    ):
        readings.add("x", quantity, "", 2.0, samples)
    return readings


def test_unsettled_latency_is_shown_as_a_rate_without_an_interval() -> None:
    readings = made(UNSETTLED_FROM)
    assert is_unsettled("x", 2.0, readings)
    assert not is_unsettled("x", 1.0, readings), "nobody looked"
    tables = [series_table(one, readings) for one in (measured.LATENCY, measured.LATE)]
    assert [table.rows[0][2] for table in tables if table] == ["grows by 1.25 a message", "grows"]
    assert "grows by 1.25 one-way delays" in unsettled_text("x", readings)
    assert "50% of what is offered" in unsettled_text("x", readings)


def test_settled_latency_has_its_interval() -> None:
    readings = made(1.0)
    table = series_table(measured.LATENCY, readings)
    assert table is not None
    assert table.rows[0][2] == "20 ± 127"
    assert unsettled_text("x", readings) == ""
