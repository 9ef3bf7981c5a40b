"""What was seen of each aspect of a protocol, and whether that is what the paper's table claims.

An observation puts readings into the words of the table. It knows no claim: it is made for every
protocol, also for one that no table mentions. The thresholds that turn figures into words stand
here, by name.

A bound is confirmed if what was measured grows like it, qualified if it holds and the figure grew
less (here, in our implementation, on this traffic), and refuted if the figure grew more. A word is
confirmed by the same word. What counts as a qualification, and why, is listed by name.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias, final

from antecede_lab.comparison import claims
from antecede_lab.comparison import measurements as measured
from antecede_lab.comparison.claims import Claim, claims_about
from antecede_lab.comparison.hub import HUB
from antecede_lab.comparison.latency import unsettled_text
from antecede_lab.comparison.long_runs import SERVICES, STREAM
from antecede_lab.comparison.measurements import Measurements, Quantity, exponent, name_of
from antecede_lab.comparison.space import ACKNOWLEDGED, HOLDINGS
from antecede_lab.comparison.traffic import BROADCASTS, NEIGHBOURS, UNIFORM
from antecede_lab.comparison.trials import LOSING, LOSSY, REORDERING, WITHOUT_TIMERS

STEADY_SHARE: Final = 0.8
"""Throughput counts as independent of distance if this share of it is left at the longest one."""

LIMITED_SHARE: Final = 0.5
"""It counts as limited by distance if at most half of it is left."""

BOUNDED_RTTS: Final = 3.0
"""What never waits longer than 3 round trips, whatever the traffic, waits O(r)."""

GROWS_BY: Final = 2.0
"""A wait is not bounded by round trips if it doubles over a series."""

BUFFERED_RTTS: Final = 4.0
"""A wait of at most 4 round trips for every message ahead in the buffer is O(b r)."""

STARVED_SHARE: Final = 0.9
"""A message is starved if it waits for 90 % of a run, however long the run is."""

MAIN_SHARE: Final = 0.8
"""A side has the wait if it has 80 % of it."""

NOTHING_RTTS: Final = 1e-9


@final
@dataclass(frozen=True, kw_only=True)
class Observation:
    """`word` is what a cell of the table would say; `detail` are the figures behind it."""

    word: str
    detail: str
    powers: tuple[float | None, float | None] = (None, None)
    """For growth: the power of n, when everybody has a few peers, when all are peers."""
    leak: float | None = None
    """For state: the power with which it grows with messages that are done with."""


Observe: TypeAlias = Callable[[str, Measurements], Observation | None]


def observe(aspect: str, protocol: str, readings: Measurements) -> Observation | None:
    """What was seen of this aspect; None if it was not measured."""
    return OBSERVERS[aspect](protocol, readings)


# The network.


def see_trials(
    trouble: str, needed: str, protocol: str, readings: Measurements
) -> Observation | None:
    """`any` if all runs were clean in spite of the trouble, else what would have spared it."""
    clean, runs = readings.tally(protocol, measured.CLEAN, trouble)
    if runs == 0:
        return None
    sizes = [f"{at:.0f}" for at, _ in readings.series(protocol, measured.CLEAN, trouble)]
    detail = f"{clean} of {runs} runs with {trouble} were clean ({', '.join(sizes)} processes)"
    return Observation(word="any" if clean == runs else needed, detail=detail)


# Space and computation.


def see_process_space(protocol: str, readings: Measurements) -> Observation | None:
    """How the state of a process grows."""
    seen = see_growth(measured.STATE, None, protocol, readings)
    if seen is None:
        return None
    held = {holding: readings.series(protocol, measured.HOLDING, holding) for holding in HOLDINGS}
    details = [f"{holding}: {held_text(points)}" for holding, points in held.items() if points]
    return Observation(
        word=seen.word,
        detail="; ".join([seen.detail, *details]),
        powers=seen.powers,
        leak=exponent(held[ACKNOWLEDGED]),
    )


def held_text(points: list[tuple[float, float]]) -> str:
    """How state grows with what is held."""
    (few, low), (many, high) = points[0], points[-1]
    return f"{low:,.0f} integers with {few:,.0f} messages, {high:,.0f} with {many:,.0f}"


def see_growth(
    quantity: Quantity, also: Quantity | None, protocol: str, readings: Measurements
) -> Observation | None:
    """The power of n with which a quantity grows, few peers and all peers."""
    situations = readings.situations(protocol, quantity)
    dense_situation = BROADCASTS if BROADCASTS in situations else UNIFORM
    dense_points = readings.series(protocol, quantity, dense_situation)
    dense = exponent(dense_points)
    if dense is None:
        return None
    at_hub = readings.series(protocol, quantity, HUB)
    hub = exponent(at_hub)
    sparse = exponent(readings.series(protocol, quantity, NEIGHBOURS))
    detail = f"{span_text(dense_points, quantity.unit)}: n^{dense:.2f}"
    if sparse is not None:
        few = readings.series(protocol, quantity, NEIGHBOURS)
        detail += f"; with four neighbours each {span_text(few, quantity.unit)}: n^{sparse:.2f}"
    if also is not None:
        others = readings.series(protocol, also, dense_situation)
        detail += f"; {span_text(others, also.unit)}"
    if hub is not None:
        detail += f"; made to carry all it can {span_text(at_hub, quantity.unit)}: n^{hub:.2f}"
        dense = max(dense, hub)
    word = name_of(dense)
    if sparse is not None and name_of(sparse) != word:
        word += f", few peers {name_of(sparse)}"
    return Observation(word=word, detail=detail, powers=(sparse, dense))


def span_text(points: list[tuple[float, float]], unit: str) -> str:
    """The first and the last figure of a series against n."""
    if not points:
        return f"no {unit}"
    (first, low), (last, high) = points[0], points[-1]
    return f"{low:,.1f} {unit} at n = {first:g}, {high:,.1f} at n = {last:,.0f}"


# Latency.


def see_optimal(protocol: str, readings: Measurements) -> Observation | None:
    """Whether every copy is delivered exactly when RST delivers it."""
    latest = figures(readings.series(protocol, measured.LATEST, ""))
    earliest = figures(readings.series(protocol, measured.EARLIEST, ""))
    if not latest or not earliest:
        return None
    exact = max(latest) <= NOTHING_RTTS and min(earliest) >= -NOTHING_RTTS
    detail = "every copy was delivered at the same instant as under RST"
    if not exact:
        late = readings.series(protocol, measured.LATE, "")
        detail = "later than under RST by " + series_text(late, "mean RTT, at load")
    return Observation(word="yes" if exact else "no", detail=detail)


def see_side(protocol: str, readings: Measurements) -> Observation | None:
    """Before leaving the sender, after reaching the receiver, or between the two."""
    total = sum(figures(readings.series(protocol, measured.LATE, "")))
    sender = sum(figures(readings.series(protocol, measured.LATE_SENDER, "")))
    receiver = sum(figures(readings.series(protocol, measured.LATE_RECEIVER, "")))
    latest = figures(readings.series(protocol, measured.LATEST, ""))
    if not latest:
        return None
    if max(latest) <= NOTHING_RTTS or total <= NOTHING_RTTS:
        return Observation(word="no", detail="nothing waited longer than under RST")
    shares = {"sender": sender / total, "receiver": receiver / total}
    shares["on the way"] = 1 - shares["sender"] - shares["receiver"]
    detail = ", ".join([f"{round(100 * share)} % {side}" for side, share in shares.items()])
    main = [side for side, share in shares.items() if share >= MAIN_SHARE]
    word = main[0] if main else "both"
    return Observation(word=word, detail=f"of all non-causal latency {detail}")


def see_magnitude(protocol: str, readings: Measurements) -> Observation | None:
    """`0`, `O(r)`, `O(b r)`, `unbounded`; `bounded` if it is long but does not grow."""
    loads = readings.series(protocol, measured.LATEST, "")
    if not loads:
        return None
    timed = readings.series(protocol, measured.TIMED, "")
    reported = readings.series(protocol, measured.REPORTED, "")
    starved = readings.series(protocol, measured.STARVED, "")
    worst = max(figures(loads) + figures(timed) + figures(reported))
    detail = f"the longest: {series_text(loads, 'greatest RTT, at load')}"
    if worst <= NOTHING_RTTS:
        return Observation(word="0", detail=detail)
    unsettled = unsettled_text(protocol, readings)
    if unsettled:
        detail += f"; {unsettled}"
    groups = readings.series(protocol, measured.GROUP_LATENCY, "")
    if groups:
        detail += f"; in groups {series_text(groups, 'one-way delays on average, messages')}"
    if reported:
        detail += f"; in a conversation with reports {series_text(reported, 'RTT, turns')}"
    if is_growing(timed):
        detail += f"; {series_text(timed, 'RTT, with patience in ms')}"
        return Observation(word="unbounded", detail=detail)
    if is_starved(starved):
        detail += f"; starved for {starved[-1][1]:.1f} of {starved[-1][0]:.0f} turns"
        return Observation(word="unbounded", detail=detail)
    if worst <= BOUNDED_RTTS:
        return Observation(word="O(r)", detail=detail)
    if not is_growing(loads) and not is_growing(reported):
        return Observation(word="bounded", detail=detail)
    ahead = figures(readings.series(protocol, measured.PER_BUFFERED, ""))
    ahead += figures(readings.series(protocol, measured.REPORTED_PER_BUFFERED, ""))
    detail += f"; at most {max(ahead):.1f} RTT per message ahead was seen, which is no proof"
    at_sender = see_side(protocol, readings)
    if at_sender is not None and at_sender.word == "sender" and max(ahead) <= BUFFERED_RTTS:
        return Observation(word="O(b r)", detail=detail)
    return Observation(word="unbounded", detail=detail)


def is_starved(points: list[tuple[float, float]]) -> bool:
    """Whether the message waited for nearly all of the run, however long that was."""
    return bool(points) and min([waited / turns for turns, waited in points]) >= STARVED_SHARE


def is_growing(points: list[tuple[float, float]]) -> bool:
    """Whether a series ends or begins much higher than it is elsewhere, and not by little."""
    values = figures(points)
    if not values or max(values) <= BOUNDED_RTTS:
        return False
    return max(values) >= GROWS_BY * min(values)


def figures(points: list[tuple[float, float]]) -> list[float]:
    """The figures of a series."""
    return [figure for _, figure in points]


def series_text(points: list[tuple[float, float]], unit: str) -> str:
    """A few figures, and what they stand against."""
    shown = ", ".join([f"{figure:.2f}" for _, figure in points])
    against = ", ".join([f"{at:g}" for at, _ in points])
    return f"{shown} {unit} {against}"


# Throughput.


def see_scalable(protocol: str, readings: Measurements) -> Observation | None:
    """Whether throughput survives distance, in the stream and among the services."""
    shares: list[float] = []
    details: list[str] = []
    for situation in (STREAM, SERVICES):
        points = readings.series(protocol, measured.RATE, situation)
        if len(points) < 2 or points[0][1] <= 0:
            return None
        shares.append(points[-1][1] / points[0][1])
        details.append(
            f"{situation}: {points[0][1]:,.0f}/s at {points[0][0]:g} ms one way, "
            f"{points[-1][1]:,.0f}/s at {points[-1][0]:g} ms"
        )
    word = "partly"
    if min(shares) >= STEADY_SHARE:
        word = "yes"
    elif min(shares) <= LIMITED_SHARE:
        word = "no"
    return Observation(word=word, detail="; ".join(details))


def see_in_transit(protocol: str, readings: Measurements) -> Observation | None:
    """How many messages of a sender are on their way at once."""
    stream = readings.series(protocol, measured.FLYING, STREAM)
    services = readings.series(protocol, measured.FLYING, SERVICES)
    if len(stream) < 2 or not services:
        return None
    most = max([count for _, count in stream])
    fanned = max([count for _, count in services])
    farther = stream[-1][0] / stream[0][0]
    if most <= 1:
        word = "1" if fanned <= 1 else "1/receiver"
    elif stream[-1][1] >= STEADY_SHARE * farther * stream[0][1]:
        word = "unlimited"
    else:
        word = f"at most {most:.0f}"
    detail = (
        f"to one receiver {stream[0][1]:.0f} at {stream[0][0]:g} ms one way and "
        f"{stream[-1][1]:.0f} at {stream[-1][0]:g} ms; to several at most {fanned:.0f}"
    )
    return Observation(word=word, detail=detail)


# Liveness and control.


def see_liveness(protocol: str, readings: Measurements) -> Observation | None:
    """Whether everything is delivered in the end, and whether without timers."""
    lossy = readings.series(protocol, measured.FINISHED, LOSSY)
    timeless = readings.series(protocol, measured.FINISHED, WITHOUT_TIMERS)
    starved = readings.series(protocol, measured.STARVED, "")
    if not lossy or not timeless:
        return None
    detail = (
        f"{lossy[0][1]:.0%} of runs on a lossy network finished, "
        f"{timeless[0][1]:.0%} of those without timers"
    )
    if starved:
        waits = ", ".join([f"{waited:.2f} of {turns:.0f} turns" for turns, waited in starved])
        detail += f"; under the starvation script the message waited {waits}"
    word = "yes"
    if is_starved(starved) or lossy[0][1] < 1:
        word = "no"
    elif timeless[0][1] < 1:
        word = "with timers"
    return Observation(word=word, detail=detail)


def see_control(protocol: str, readings: Measurements) -> Observation | None:
    """Which packets it sends besides those that carry messages."""
    if not readings.situations(protocol, measured.INTEGERS):
        return None
    kinds: list[str] = []
    details: list[str] = []
    for situation in readings.situations(protocol, measured.CONTROL_PACKETS):
        points = readings.series(protocol, measured.CONTROL_PACKETS, situation)
        details.append(f"{situation} {points[-1][1]:.2f} per message (n = {points[-1][0]:g})")
        if not situation.startswith(LOSSY):
            kinds.append(situation)
    word = ", ".join(sorted(kinds)) if kinds else "no"
    return Observation(word=word, detail="; ".join(details) if details else "none at all")


OBSERVERS: Final[dict[str, Observe]] = {
    claims.FAILURES: partial(see_trials, LOSING, "reliable"),
    claims.ORDER: partial(see_trials, REORDERING, "FIFO"),
    claims.MESSAGE_SPACE: partial(see_growth, measured.INTEGERS, measured.BYTES),
    claims.PROCESS_SPACE: see_process_space,
    claims.SENDER_STEPS: partial(see_growth, measured.SENDER, None),
    claims.RECEIVER_STEPS: partial(see_growth, measured.RECEIVER, None),
    claims.OPTIMAL: see_optimal,
    claims.SIDE: see_side,
    claims.MAGNITUDE: see_magnitude,
    claims.SCALABLE: see_scalable,
    claims.IN_TRANSIT: see_in_transit,
    claims.LIVENESS: see_liveness,
    claims.CONTROL: see_control,
}


CONFIRMED: Final = "confirmed"
QUALIFIED: Final = "qualified"
REFUTED: Final = "refuted"
OUTCOMES: Final = (CONFIRMED, QUALIFIED, REFUTED)
"""From best to worst."""

TOLERANCE: Final = 0.35
"""How far a measured power of n may be from the claimed one and still be the same growth."""

BY_HOLDINGS: Final = "O(i+o+b+p+u)"
"""A bound by what a process holds, so that what it is done with must not count."""

GROWTH_ASPECTS: Final = (
    claims.MESSAGE_SPACE,
    claims.PROCESS_SPACE,
    claims.SENDER_STEPS,
    claims.RECEIVER_STEPS,
)

MAGNITUDES: Final = ("0", "O(r)", "O(b r)", "unbounded")
"""From best to worst."""

QUALIFYING: Final[dict[tuple[str, str, str], str]] = {
    (claims.LIVENESS, "no", "with timers"): "only as long as no null messages are sent",
    (claims.CONTROL, "no", "null"): "without null messages it would not be live",
    (claims.SIDE, "sender", "both"): "a part of it is at the receiver",
    (claims.SIDE, "receiver", "both"): "a part of it is at the sender",
    (claims.SCALABLE, "yes", "partly"): "it falls with distance, but not in proportion",
    (claims.SCALABLE, "no", "partly"): "it falls with distance, but not in proportion",
    (claims.ORDER, "FIFO", "any"): "no run without it failed; runs that did not fail are no proof",
    (
        claims.FAILURES,
        "reliable",
        "any",
    ): "no run without it failed; runs that did not fail are no proof",
}
"""By aspect, claim and observation: what the one has to be qualified by."""


@final
@dataclass(frozen=True, kw_only=True)
class ClaimVerdict:
    """What became of a claim; `reason` says why it is not simply confirmed."""

    claim: Claim
    observation: Observation
    outcome: str
    reason: str


def verdicts_on(protocol: str, readings: Measurements) -> list[ClaimVerdict]:
    """A verdict on every claim about this protocol that was measured."""
    return [
        compare_with_claim(claim, observation)
        for claim in claims_about(protocol)
        if (observation := observe(claim.aspect, protocol, readings)) is not None
    ]


def outcomes_of_table(readings: Measurements) -> list[str]:
    """What became of each cell of the paper's table that was measured.

    A cell of a column with two algorithms is as right as what it says of the worse of them.
    """
    outcomes: dict[tuple[str, int], str] = {}
    for place, column in enumerate(claims.COLUMNS):
        for protocol in column:
            for verdict in verdicts_on(protocol, readings):
                cell = verdict.claim.aspect, place
                before = outcomes.get(cell, CONFIRMED)
                outcomes[cell] = max(before, verdict.outcome, key=OUTCOMES.index)
    return list(outcomes.values())


def compare_with_claim(claim: Claim, observation: Observation) -> ClaimVerdict:
    """Compare one claim with what was seen."""
    if claim.aspect in GROWTH_ASPECTS:
        outcome, reason = judge_growth(claim, observation)
    elif claim.aspect == claims.MAGNITUDE:
        outcome, reason = judge_magnitude(claim.says, observation.word)
    elif claim.says == observation.word:
        outcome, reason = CONFIRMED, ""
    elif (claim.aspect, claim.says, observation.word) in QUALIFYING:
        reason = QUALIFYING[(claim.aspect, claim.says, observation.word)]
        outcome = QUALIFIED
    elif claim.aspect == claims.CONTROL:
        outcome, reason = judge_control(claim.says, observation.word)
    else:
        outcome, reason = REFUTED, f"seen here: {observation.word}"
    return ClaimVerdict(claim=claim, observation=observation, outcome=outcome, reason=reason)


def judge_growth(claim: Claim, observation: Observation) -> tuple[str, str]:
    """A claimed power of n against the measured one."""
    few_claimed, all_claimed = claims.GROWTH[claim.says]
    few, everybody = observation.powers
    assert everybody is not None, "growth is observed with all peers at least"
    if few is not None and few > few_claimed + TOLERANCE:
        return REFUTED, f"it grows like n^{few:.1f} although everybody has but a few peers"
    if everybody > all_claimed + TOLERANCE:
        if few is None:
            return REFUTED, f"it grows like n^{everybody:.1f}"
        return QUALIFIED, f"only if peers are few: with all as peers it is n^{everybody:.1f}"
    if claim.says == BY_HOLDINGS and observation.leak is not None and observation.leak > TOLERANCE:
        return QUALIFIED, "it also grows with what was acknowledged, behind a message that was not"
    if everybody < all_claimed - TOLERANCE:
        return QUALIFIED, f"the bound holds; here it grew like n^{everybody:.1f} only"
    return CONFIRMED, ""


def judge_magnitude(says: str, seen: str) -> tuple[str, str]:
    """A claimed order of waiting against the observed one."""
    word = "O(r)" if seen == "bounded" else seen
    claimed, observed = MAGNITUDES.index(says), MAGNITUDES.index(word)
    if observed > claimed:
        return REFUTED, f"seen here: {seen}"
    if observed < claimed:
        return QUALIFIED, f"no worse than {seen} was seen in these runs"
    return CONFIRMED, ""


def judge_control(says: str, seen: str) -> tuple[str, str]:
    """Claimed kinds of control packets against those that were sent."""
    claimed = says.split(", ") if says != "no" else []
    sent = seen.split(", ") if seen != "no" else []
    extra = [kind for kind in sent if kind not in claimed]
    missing = [kind for kind in claimed if kind not in sent]
    if extra:
        return REFUTED, f"there is also {', '.join(extra)}"
    if missing:
        return QUALIFIED, f"no {', '.join(missing)} was sent in these runs"
    return CONFIRMED, ""
