"""What the readings say about one aspect of one protocol, in the words of the paper's table.

An observation knows no claim: it is made for every protocol, also for one that no table mentions.
The thresholds that turn figures into words stand here, by name.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias, final

from antecede.lab.comparison import readings as measured
from antecede.lab.comparison.claims import (
    CONTROL,
    FAILURES,
    IN_TRANSIT,
    LIVENESS,
    MAGNITUDE,
    MESSAGE_SPACE,
    OPTIMAL,
    ORDER,
    PROCESS_SPACE,
    RECEIVER_STEPS,
    SCALABLE,
    SENDER_STEPS,
    SIDE,
)
from antecede.lab.comparison.distance import SERVICES, STREAM
from antecede.lab.comparison.growth import exponent, name_of
from antecede.lab.comparison.holdings import ACKNOWLEDGED, HOLDINGS
from antecede.lab.comparison.latency_words import (
    how_late,
    how_optimal,
    is_starved,
    where_late,
)
from antecede.lab.comparison.readings import Quantity, Readings
from antecede.lab.comparison.traffic import BROADCASTS, NEIGHBOURS, UNIFORM
from antecede.lab.comparison.trials import LOSING, LOSSY, REORDERING, WITHOUT_TIMERS

STEADY_SHARE: Final = 0.8
"""Throughput counts as independent of distance if so much of it is left at the longest one."""

LIMITED_SHARE: Final = 0.5
"""It counts as limited by distance if at most so much is left."""


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


Observe: TypeAlias = Callable[[str, Readings], Observation | None]


def observe(aspect: str, protocol: str, readings: Readings) -> Observation | None:
    """What was seen of this aspect; None if it was not measured."""
    return OBSERVERS[aspect](protocol, readings)


# The network.


def see_failures(protocol: str, readings: Readings) -> Observation | None:
    """Whether it puts up with loss and duplication."""
    return see_trials(protocol, readings, LOSING, "reliable")


def see_order(protocol: str, readings: Readings) -> Observation | None:
    """Whether it puts up with packets that overtake each other."""
    return see_trials(protocol, readings, REORDERING, "FIFO")


def see_trials(protocol: str, readings: Readings, trouble: str, needed: str) -> Observation | None:
    """`any` if all runs were clean in spite of the trouble, else what would have spared it."""
    clean, runs = readings.tally(protocol, measured.CLEAN, trouble)
    if runs == 0:
        return None
    sizes = [f"{at:.0f}" for at, _ in readings.series(protocol, measured.CLEAN, trouble)]
    detail = f"{clean} of {runs} runs with {trouble} were clean ({', '.join(sizes)} processes)"
    return Observation(word="any" if clean == runs else needed, detail=detail)


# Space and computation.


def see_message_space(protocol: str, readings: Readings) -> Observation | None:
    """How metadata grows."""
    return see_growth(protocol, readings, measured.INTEGERS, measured.BYTES)


def see_process_space(protocol: str, readings: Readings) -> Observation | None:
    """How the state of a process grows."""
    seen = see_growth(protocol, readings, measured.STATE, None)
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


def see_sender(protocol: str, readings: Readings) -> Observation | None:
    """How the sender's work grows."""
    return see_growth(protocol, readings, measured.SENDER, None)


def see_receiver(protocol: str, readings: Readings) -> Observation | None:
    """How the receiver's work grows."""
    return see_growth(protocol, readings, measured.RECEIVER, None)


def see_growth(
    protocol: str, readings: Readings, quantity: Quantity, also: Quantity | None
) -> Observation | None:
    """The power of n with which a quantity grows, few peers and all peers."""
    situations = readings.situations(protocol, quantity)
    dense_situation = BROADCASTS if BROADCASTS in situations else UNIFORM
    dense_points = readings.series(protocol, quantity, dense_situation)
    dense = exponent(dense_points)
    if dense is None:
        return None
    sparse = exponent(readings.series(protocol, quantity, NEIGHBOURS))
    detail = f"{span_text(dense_points, quantity.unit)}: n^{dense:.2f}"
    if sparse is not None:
        few = readings.series(protocol, quantity, NEIGHBOURS)
        detail += f"; with four neighbours each {span_text(few, quantity.unit)}: n^{sparse:.2f}"
    if also is not None:
        others = readings.series(protocol, also, dense_situation)
        detail += f"; {span_text(others, also.unit)}"
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


def see_optimal(protocol: str, readings: Readings) -> Observation | None:
    """Whether it delivers when RST does."""
    return in_words(how_optimal(protocol, readings))


def see_side(protocol: str, readings: Readings) -> Observation | None:
    """Where messages wait longer than they must."""
    return in_words(where_late(protocol, readings))


def see_magnitude(protocol: str, readings: Readings) -> Observation | None:
    """How long."""
    return in_words(how_late(protocol, readings))


def in_words(found: tuple[str, str] | None) -> Observation | None:
    """An observation that is a word and its figures."""
    return None if found is None else Observation(word=found[0], detail=found[1])


# Throughput.


def see_scalable(protocol: str, readings: Readings) -> Observation | None:
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


def see_in_transit(protocol: str, readings: Readings) -> Observation | None:
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


def see_liveness(protocol: str, readings: Readings) -> Observation | None:
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
        detail += f"; under the starvation script the message waited {turns_text(starved)}"
    word = "yes"
    if is_starved(starved) or lossy[0][1] < 1:
        word = "no"
    elif timeless[0][1] < 1:
        word = "with timers"
    return Observation(word=word, detail=detail)


def turns_text(points: list[tuple[float, float]]) -> str:
    """How long the message waited, of how many turns."""
    return ", ".join([f"{waited:.2f} of {turns:.0f} turns" for turns, waited in points])


def see_control(protocol: str, readings: Readings) -> Observation | None:
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
    FAILURES: see_failures,
    ORDER: see_order,
    MESSAGE_SPACE: see_message_space,
    PROCESS_SPACE: see_process_space,
    SENDER_STEPS: see_sender,
    RECEIVER_STEPS: see_receiver,
    OPTIMAL: see_optimal,
    SIDE: see_side,
    MAGNITUDE: see_magnitude,
    SCALABLE: see_scalable,
    IN_TRANSIT: see_in_transit,
    LIVENESS: see_liveness,
    CONTROL: see_control,
}
