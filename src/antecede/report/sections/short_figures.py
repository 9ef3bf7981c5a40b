"""The figure or two that a cell of the comparison table has room for."""

from collections.abc import Callable
from typing import Final, TypeAlias

from antecede.lab.comparison import claims
from antecede.lab.comparison import readings as measured
from antecede.lab.comparison.long_runs import STREAM
from antecede.lab.comparison.readings import Quantity, Readings
from antecede.lab.comparison.traffic import BROADCASTS, UNIFORM
from antecede.lab.comparison.trials import LOSING, LOSSY, REORDERING
from antecede.lab.comparison.verdicts import is_starved
from antecede.report.charts.scale import plain

Figure: TypeAlias = Callable[[str, Readings], str]


def short_figure(aspect: str, protocol: str, readings: Readings) -> str:
    """The figures behind a word of the table, in a few letters; empty if there are none."""
    return FIGURES[aspect](protocol, readings)


def clean_in(trouble: str) -> Figure:
    """How many runs were clean in spite of this trouble."""

    def figure(protocol: str, readings: Readings) -> str:
        clean, runs = readings.tally(protocol, measured.CLEAN, trouble)
        return f"{clean} of {runs} runs clean" if runs else ""

    return figure


def at_largest(quantity: Quantity, unit: str, also: Quantity | None = None) -> Figure:
    """A quantity where there are most processes, everybody talking to everybody."""

    def figure(protocol: str, readings: Readings) -> str:
        situations = readings.situations(protocol, quantity)
        dense = BROADCASTS if BROADCASTS in situations else UNIFORM
        points = readings.series(protocol, quantity, dense)
        if not points:
            return ""
        size, value = points[-1]
        text = f"{plain(value)} {unit}"
        others = [] if also is None else readings.series(protocol, also, dense)
        if others:
            text += f", {plain(others[-1][1])} {also.unit if also else ''}"
        return f"{text} at n = {plain(size)}"

    return figure


def at_highest_load(quantity: Quantity, unit: str) -> Figure:
    """A quantity where the load was highest."""

    def figure(protocol: str, readings: Readings) -> str:
        points = readings.series(protocol, quantity, "")
        if not points:
            return ""
        load, value = points[-1]
        return f"{plain(max(value, 0.0))} {unit} at load {plain(load)}"

    return figure


def share_at_sender(protocol: str, readings: Readings) -> str:
    """How much of the waiting that causal order does not ask for is at the sender."""
    total = sum(late for _, late in readings.series(protocol, measured.LATE, ""))
    sender = sum(late for _, late in readings.series(protocol, measured.LATE_SENDER, ""))
    return f"{100 * sender / total:.0f} % at the sender" if total > 1e-9 else ""


def left_at_distance(protocol: str, readings: Readings) -> str:
    """How much of the throughput is left where the way is longest."""
    points = readings.series(protocol, measured.RATE, STREAM)
    if len(points) < 2 or points[0][1] <= 0:
        return ""
    (near, fast), (far, slow) = points[0], points[-1]
    return f"{100 * slow / fast:.0f} % left at {plain(far / near)} times the distance"


def most_in_transit(protocol: str, readings: Readings) -> str:
    """The most messages of one sender under way at once."""
    points = readings.series(protocol, measured.FLYING, STREAM)
    return f"{plain(max(count for _, count in points))} under way" if points else ""


def finished(protocol: str, readings: Readings) -> str:
    """How many runs on a bad network came to an end, unless a message was starved."""
    starved = readings.series(protocol, measured.STARVED, "")
    if is_starved(starved):
        turns, waited = starved[-1]
        return f"starved for {plain(waited)} of {plain(turns)} turns"
    points = readings.series(protocol, measured.FINISHED, LOSSY)
    return f"{100 * points[0][1]:.0f} % of lossy runs ended" if points else ""


def control_packets(protocol: str, readings: Readings) -> str:
    """Packets without a message, for each message."""
    situations = readings.situations(protocol, measured.CONTROL_PACKETS)
    counts = [
        readings.series(protocol, measured.CONTROL_PACKETS, situation)[-1][1]
        for situation in situations
        if not situation.startswith(LOSSY)
    ]
    return f"{plain(sum(counts))} per message" if counts else ""


FIGURES: Final[dict[str, Figure]] = {
    claims.FAILURES: clean_in(LOSING),
    claims.ORDER: clean_in(REORDERING),
    claims.MESSAGE_SPACE: at_largest(measured.INTEGERS, "integers", measured.BYTES),
    claims.PROCESS_SPACE: at_largest(measured.STATE, "integers"),
    claims.SENDER_STEPS: at_largest(measured.SENDER, "steps"),
    claims.RECEIVER_STEPS: at_largest(measured.RECEIVER, "steps"),
    claims.OPTIMAL: at_highest_load(measured.LATENCY, "delays"),
    claims.SIDE: share_at_sender,
    claims.MAGNITUDE: at_highest_load(measured.LATEST, "RTT"),
    claims.SCALABLE: left_at_distance,
    claims.IN_TRANSIT: most_in_transit,
    claims.LIVENESS: finished,
    claims.CONTROL: control_packets,
}
"""By aspect of the table."""

MEANINGS: Final = {
    claims.FAILURES: "May the network lose and repeat packets?",
    claims.ORDER: "May packets overtake each other, or must channels be first in, first out?",
    claims.MESSAGE_SPACE: "How much a message carries besides its payload, as n grows.",
    claims.PROCESS_SPACE: "How much every process keeps, as n grows.",
    claims.SENDER_STEPS: "Work at the sender for one copy of a message.",
    claims.RECEIVER_STEPS: "Work at the receiver for one copy of a message.",
    claims.OPTIMAL: "Is everything delivered as soon as causal order allows?",
    claims.SIDE: "Where messages wait for longer than causal order asks.",
    claims.MAGNITUDE: "How much longer, at worst. r: a round trip, b: messages in the buffer.",
    claims.SCALABLE: "Does throughput survive a longer way?",
    claims.IN_TRANSIT: "How many messages of one sender may be on their way at once.",
    claims.LIVENESS: "Is everything delivered in the end?",
    claims.CONTROL: "Packets that carry no message.",
}
"""What each row of the table is about, for somebody who has not read the paper."""
