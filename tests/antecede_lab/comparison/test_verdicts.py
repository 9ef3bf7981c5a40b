"""Verdicts follow the measurements: each flips when what it rests on is another."""

from collections.abc import Callable

import pytest

from antecede_lab.comparison import claims
from antecede_lab.comparison import measurements as measured
from antecede_lab.comparison.measurements import Quantity
from antecede_lab.comparison.space import ACKNOWLEDGED
from antecede_lab.comparison.verdicts import CONFIRMED, QUALIFIED, REFUTED, verdicts_on
from tests.antecede_lab.comparison.synthetic import SIZES, Made


def outcome(made: Made, aspect: str) -> str:
    [verdict] = [
        one for one in verdicts_on(made.protocol, made.readings) if one.claim.aspect == aspect
    ]
    return verdict.outcome


def judged(protocol: str, aspect: str, make: Callable[[Made], None]) -> str:
    made = Made(protocol)
    make(made)
    return outcome(made, aspect)


def test_nothing_measured_is_no_verdict() -> None:
    assert verdicts_on("hybrid", Made("hybrid").readings) == []


@pytest.mark.parametrize(
    ("protocol", "clean", "expected"),
    [
        ("ks", 10, QUALIFIED),
        ("ks", 9, CONFIRMED),
        ("newtop", 0, CONFIRMED),
        ("hybrid", 10, CONFIRMED),
        ("hybrid", 9, REFUTED),
    ],
)
def test_order_is_needed_if_runs_fail_without(protocol: str, clean: int, expected: str) -> None:
    def make(made: Made) -> None:
        made.trials(losing=10, reordering=clean)

    assert judged(protocol, claims.ORDER, make) == expected


@pytest.mark.parametrize(
    ("protocol", "clean", "expected"),
    [("rst", 0, CONFIRMED), ("rst", 10, QUALIFIED), ("mf", 10, CONFIRMED), ("mf", 7, REFUTED)],
)
def test_reliability_is_needed_if_runs_fail_without(
    protocol: str, clean: int, expected: str
) -> None:
    def make(made: Made) -> None:
        made.trials(losing=clean, reordering=10)

    assert judged(protocol, claims.FAILURES, make) == expected


GROWTHS = [
    ("rst", claims.MESSAGE_SPACE, measured.INTEGERS, 2.0, CONFIRMED),
    ("rst", claims.MESSAGE_SPACE, measured.INTEGERS, 2.6, REFUTED),
    ("ks", claims.MESSAGE_SPACE, measured.INTEGERS, 1.2, QUALIFIED),
    ("hybrid", claims.MESSAGE_SPACE, measured.INTEGERS, 0.1, CONFIRMED),
    ("hybrid", claims.MESSAGE_SPACE, measured.INTEGERS, 0.6, REFUTED),
    ("cykas", claims.SENDER_STEPS, measured.SENDER, 0.0, QUALIFIED),
    ("cykas", claims.SENDER_STEPS, measured.SENDER, 2.0, CONFIRMED),
    ("hybrid", claims.SENDER_STEPS, measured.SENDER, 1.0, REFUTED),
    ("newtop", claims.RECEIVER_STEPS, measured.RECEIVER, 0.9, CONFIRMED),
    ("newtop", claims.RECEIVER_STEPS, measured.RECEIVER, 0.2, QUALIFIED),
]


@pytest.mark.parametrize(("protocol", "aspect", "quantity", "power", "expected"), GROWTHS)
def test_bound_is_judged_by_the_power_of_n(
    protocol: str, aspect: str, quantity: Quantity, power: float, expected: str
) -> None:
    def make(made: Made) -> None:
        made.grows(quantity, power)

    assert judged(protocol, aspect, make) == expected


@pytest.mark.parametrize(
    ("protocol", "dense", "sparse", "expected"),
    [
        ("hybrid", 1.0, 0.0, CONFIRMED),
        ("hybrid", 1.0, 0.9, REFUTED),
        ("hybrid", 2.0, 0.0, QUALIFIED),
        ("mf", 0.0, 0.0, CONFIRMED),
        ("mf", 1.0, 0.0, QUALIFIED),
        ("cykas", 1.0, 0.0, QUALIFIED),
        ("rst", 2.0, 1.0, CONFIRMED),
    ],
)
def test_state_is_judged_with_few_peers_and_with_all(
    protocol: str, dense: float, sparse: float, expected: str
) -> None:
    def make(made: Made) -> None:
        made.grows(measured.STATE, dense, sparse)

    assert judged(protocol, claims.PROCESS_SPACE, make) == expected


@pytest.mark.parametrize(
    ("protocol", "kept", "expected"),
    [("hybrid", 0.0, CONFIRMED), ("hybrid", 1.0, QUALIFIED), ("rst", 1.0, CONFIRMED)],
)
def test_state_bound_by_what_is_held_excludes_what_is_done_with(
    protocol: str, kept: float, expected: str
) -> None:
    """Only the bound that counts messages says that acknowledged ones cost nothing."""

    def make(made: Made) -> None:
        dense, sparse = (2.0, 1.0) if protocol == "rst" else (1.0, 0.0)
        made.grows(measured.STATE, dense, sparse)
        made.series(measured.HOLDING, ACKNOWLEDGED, SIZES, *(50 * size**kept for size in SIZES))

    assert judged(protocol, claims.PROCESS_SPACE, make) == expected


@pytest.mark.parametrize(
    ("protocol", "longest", "expected"),
    [
        ("rst", (0.0, 0.0), CONFIRMED),
        ("rst", (0.0, 0.1), REFUTED),
        ("hybrid", (0.0, 0.1), CONFIRMED),
        ("hybrid", (0.0, 0.0), REFUTED),
    ],
)
def test_optimal_is_whoever_is_never_late(
    protocol: str, longest: tuple[float, float], expected: str
) -> None:
    def make(made: Made) -> None:
        made.late(longest=longest, sender=1.0)

    assert judged(protocol, claims.OPTIMAL, make) == expected


@pytest.mark.parametrize(
    ("sender", "receiver", "expected"),
    [(1.0, 0.0, CONFIRMED), (0.5, 0.5, QUALIFIED), (0.0, 1.0, REFUTED), (0.0, 0.0, REFUTED)],
)
def test_side_is_where_most_of_the_lateness_is(
    sender: float, receiver: float, expected: str
) -> None:
    def make(made: Made) -> None:
        made.late(longest=(0.5, 1.0), sender=sender, receiver=receiver)

    assert judged("hybrid", claims.SIDE, make) == expected


@pytest.mark.parametrize(
    ("protocol", "longest", "reports", "per_buffered", "expected"),
    [
        ("hybrid", (0.5, 1.8), (1.0, 1.0), 1.0, CONFIRMED),
        ("hybrid", (0.5, 1.8), (9.0, 19.0), 3.0, REFUTED),
        ("hybrid", (0.5, 30.0), (1.0, 1.0), 3.0, REFUTED),
        ("mf", (1.0, 30.0), (1.0, 1.0), 1.0, CONFIRMED),
        ("mf", (1.0, 30.0), (1.0, 1.0), 9.0, REFUTED),
        ("mf", (1.0, 2.0), (1.0, 1.0), 1.0, QUALIFIED),
        ("cykas", (1.0, 30.0), (1.0, 1.0), 9.0, CONFIRMED),
        ("cykas", (1.0, 2.0), (1.0, 1.0), 1.0, QUALIFIED),
        ("rst", (0.0, 0.0), (0.0, 0.0), 0.0, CONFIRMED),
        ("rst", (0.0, 0.5), (0.0, 0.0), 0.5, REFUTED),
    ],
)
def test_magnitude_is_judged_by_the_longest_waits_and_their_growth(
    protocol: str,
    longest: tuple[float, float],
    reports: tuple[float, float],
    per_buffered: float,
    expected: str,
) -> None:
    def make(made: Made) -> None:
        made.late(longest=longest, sender=1.0, per_buffered=per_buffered)
        made.reported(*reports, per_buffered=per_buffered)

    assert judged(protocol, claims.MAGNITUDE, make) == expected


def test_wait_that_grows_with_the_patience_of_timers_is_unbounded() -> None:
    def make(made: Made, *timed: float) -> None:
        made.late(longest=(30.0, 30.0), receiver=1.0)
        made.series(measured.TIMED, "", (20.0, 100.0), *timed)

    assert judged("newtop", claims.MAGNITUDE, lambda made: make(made, 7.0, 34.0)) == CONFIRMED
    assert judged("newtop", claims.MAGNITUDE, lambda made: make(made, 30.0, 30.0)) == QUALIFIED


@pytest.mark.parametrize(
    ("protocol", "stream", "services", "expected"),
    [
        ("hybrid", (9.0, 9.0), (9.0, 8.0), CONFIRMED),
        ("hybrid", (9.0, 9.0), (9.0, 6.0), QUALIFIED),
        ("hybrid", (9.0, 1.0), (9.0, 9.0), REFUTED),
        ("mf", (9.0, 1.0), (9.0, 2.0), CONFIRMED),
        ("mf", (9.0, 9.0), (9.0, 9.0), REFUTED),
    ],
)
def test_throughput_scales_if_distance_does_not_lower_it(
    protocol: str, stream: tuple[float, float], services: tuple[float, float], expected: str
) -> None:
    def make(made: Made) -> None:
        made.flows(stream=stream, services=services)

    assert judged(protocol, claims.SCALABLE, make) == expected


@pytest.mark.parametrize(
    ("protocol", "stream", "services", "expected"),
    [
        ("mf", (1.0, 1.0), 1.0, CONFIRMED),
        ("mf", (1.0, 1.0), 3.0, REFUTED),
        ("cykas", (1.0, 1.0), 3.0, CONFIRMED),
        ("hybrid", (10.0, 80.0), 9.0, CONFIRMED),
        ("hybrid", (10.0, 12.0), 9.0, REFUTED),
    ],
)
def test_in_transit_is_unlimited_if_it_follows_the_distance(
    protocol: str, stream: tuple[float, float], services: float, expected: str
) -> None:
    def make(made: Made) -> None:
        made.flying(stream=stream, services=services)

    assert judged(protocol, claims.IN_TRANSIT, make) == expected


@pytest.mark.parametrize(
    ("protocol", "lossy", "timeless", "starved", "expected"),
    [
        ("hybrid", 1.0, 1.0, 0.05, CONFIRMED),
        ("hybrid", 0.9, 1.0, 0.05, REFUTED),
        ("hybrid", 1.0, 1.0, 0.99, REFUTED),
        ("cykas", 1.0, 1.0, 0.99, CONFIRMED),
        ("cykas", 1.0, 1.0, 0.05, REFUTED),
        ("newtop", 1.0, 0.0, None, QUALIFIED),
        ("newtop", 0.5, 0.0, None, CONFIRMED),
        ("newtop", 1.0, 1.0, None, REFUTED),
    ],
)
def test_liveness_is_finishing_with_and_without_timers_and_not_starving(
    protocol: str, lossy: float, timeless: float, starved: float | None, expected: str
) -> None:
    def make(made: Made) -> None:
        made.ends(lossy=lossy, timeless=timeless, starved=starved)

    assert judged(protocol, claims.LIVENESS, make) == expected


@pytest.mark.parametrize(
    ("protocol", "kinds", "expected"),
    [
        ("rst", (), CONFIRMED),
        ("rst", ("ack",), REFUTED),
        ("rst", ("lossy network: link-ack",), CONFIRMED),
        ("newtop", ("null",), QUALIFIED),
        ("hybrid", ("ack", "permit"), CONFIRMED),
        ("hybrid", ("ack",), QUALIFIED),
        ("hybrid", ("ack", "gossip", "permit"), REFUTED),
    ],
)
def test_control_is_judged_by_the_kinds_that_are_sent(
    protocol: str, kinds: tuple[str, ...], expected: str
) -> None:
    assert judged(protocol, claims.CONTROL, lambda made: made.control(*kinds)) == expected


def test_verdict_shows_its_figures() -> None:
    made = Made("ks")
    made.trials(losing=3, reordering=10)
    by_aspect = {one.claim.aspect: one for one in verdicts_on("ks", made.readings)}
    assert (
        "3 of 10 runs with packets lost and doubled were clean"
        in by_aspect[claims.FAILURES].observation.detail
    )
    assert by_aspect[claims.ORDER].outcome == QUALIFIED
    assert "no proof" in by_aspect[claims.ORDER].reason
