"""What was measured, as rows: one figure about one protocol, in one situation, at one size.

Everything that the comparison measures ends up here, and the verdicts look at nothing else.

A figure is a mean over runs with several seeds. Its interval is Student's, for 95 %: that mean is
taken to be normal, its standard error is estimated from those very runs, and the quantile of the t
distribution makes up for there being only a few. One run alone has no interval.

How a figure grows with the number of processes is told by the slope of a straight line through the
larger half of the sizes, both axes logarithmic (least squares): what is constant at small sizes
fades there, and one odd point does not decide. It says how a figure grew in these runs, not how it
must.
"""

from dataclasses import dataclass
from math import log, sqrt
from typing import Final, final

from antecede.core.errors import LocalError

T_95: Final = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
"""Two-sided 95 % quantiles of Student's t for 1, 2, 3, … degrees of freedom."""

NORMAL_95: Final = 1.960
"""The same for very many."""


@final
@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A mean, and half the width of its 95 % interval (None: one sample says nothing of that)."""

    mean: float
    half_width: float | None
    samples: int

    def text(self, digits: int = 1) -> str:
        """For people: `12.3 ± 0.4`."""
        if self.half_width is None:
            return f"{self.mean:.{digits}f}"
        return f"{self.mean:.{digits}f} ± {self.half_width:.{digits}f}"


def estimate(samples: list[float]) -> Estimate:
    """The mean of at least one sample, with its interval."""
    count = len(samples)
    mean = sum(samples) / count
    if count < 2:
        return Estimate(mean=mean, half_width=None, samples=count)
    variance = sum([(sample - mean) ** 2 for sample in samples]) / (count - 1)
    return Estimate(mean=mean, half_width=t_95(count - 1) * sqrt(variance / count), samples=count)


def t_95(degrees: int) -> float:
    """The two-sided 95 % quantile of Student's t."""
    return T_95[degrees - 1] if degrees <= len(T_95) else NORMAL_95


@final
@dataclass(frozen=True)
class Quantity:
    """Something that is measured: its name, its unit, and what it is measured against."""

    name: str
    unit: str
    against: str
    meaning: str


PROCESSES: Final = "processes"
LOAD: Final = "sends per process and one-way delay"
DISTANCE: Final = "one-way delay in ms"
TURNS: Final = "turns"
PATIENCE: Final = "patience in ms"
HELD: Final = "messages held of that sort"
LENGTH: Final = "messages in a run"

SHARE: Final = "share"
"""The unit of what a run does or does not do."""

CLEAN: Final = Quantity(
    "clean runs", SHARE, PROCESSES, "runs in which everything was delivered, once, in causal order"
)
INTEGERS: Final = Quantity(
    "integers per message",
    "integers",
    PROCESSES,
    "integers and process ids in a packet that carries a message, on average",
)
INTEGERS_MAX: Final = Quantity(
    "most integers per message", "integers", PROCESSES, "the same, in the packet that has most"
)
BYTES: Final = Quantity(
    "metadata bytes per message",
    "bytes",
    PROCESSES,
    "everything but the payload in an encoded packet that carries a message, on average",
)
BYTES_MAX: Final = Quantity(
    "most metadata bytes per message", "bytes", PROCESSES, "the same, in the packet that has most"
)
STATE: Final = Quantity(
    "integers in a process",
    "integers",
    PROCESSES,
    "integers in the state of a process, on average over processes and time",
)
STATE_MAX: Final = Quantity(
    "most integers in a process", "integers", PROCESSES, "the same, where there were most"
)
HOLDING: Final = Quantity(
    "integers in a process by what it holds",
    "integers",
    HELD,
    "integers in the state of one of four processes, by how many of this sort it holds",
)
CONTROL_PACKETS: Final = Quantity(
    "control packets",
    "packets per message",
    PROCESSES,
    "packets without a message, by kind (the situation), for one message submitted",
)
SENDER: Final = Quantity(
    "sender steps",
    "steps per copy",
    PROCESSES,
    "executed lines per copy: submission, and what control packets cause at a sender",
)
RECEIVER: Final = Quantity(
    "receiver steps",
    "steps per copy",
    PROCESSES,
    "executed lines per copy: arrival of messages, and of null messages",
)
LATE: Final = Quantity(
    "non-causal latency",
    "RTT",
    LOAD,
    "how much later than under RST on the same network, on average, in mean RTTs",
)
LATE_SENDER: Final = Quantity(
    "non-causal latency at the sender",
    "RTT",
    LOAD,
    "the part of it before the message left its sender",
)
LATE_RECEIVER: Final = Quantity(
    "non-causal latency at the receiver", "RTT", LOAD, "the part of it after the message arrived"
)
LATEST: Final = Quantity(
    "longest non-causal latency",
    "greatest RTT",
    LOAD,
    "how much later than under RST the worst copy came, in the greatest possible RTTs",
)
EARLIEST: Final = Quantity(
    "least non-causal latency",
    "greatest RTT",
    LOAD,
    "the same of the best copy: below 0 if it came earlier than under RST",
)
LATENCY: Final = Quantity(
    "latency",
    "one-way delays",
    LOAD,
    "from submission to delivery, on average over the middle half of a run's messages, in "
    "mean one-way delays; where that still grows, a rate instead",
)
STEADINESS: Final = Quantity(
    "latency of later messages",
    "of that of earlier ones",
    LOAD,
    "the mean latency of the third quarter of a run's messages, of that of the second: "
    "more than 1.2 means that nothing has settled",
)
GROWTH: Final = Quantity(
    "growth of latency",
    "one-way delays per message",
    LOAD,
    "by how much latency grows from one message of a process to its next, in the middle "
    "half of a run",
)
CARRIED: Final = Quantity(
    "carried load",
    "of what is offered",
    LOAD,
    "copies delivered while the middle half of a run was submitted, of those submitted",
)
GROUP_LATENCY: Final = Quantity(
    "latency in groups by length of run",
    "one-way delays",
    LENGTH,
    "from submission to delivery, on average, in conversations of overlapping groups",
)
GROUP_LONGEST: Final = Quantity(
    "longest latency in groups by length of run",
    "one-way delays",
    LENGTH,
    "the same of the copy that took longest",
)
TIMED: Final = Quantity(
    "longest non-causal latency by patience",
    "greatest RTT",
    PATIENCE,
    "the same at the lowest load, against the patience of the protocol's timers",
)
REPORTED: Final = Quantity(
    "longest wait in a conversation with reports",
    "RTT",
    TURNS,
    "two processes talk and report each turn to a third: the longest wait at a sender",
)
REPORTED_PER_BUFFERED: Final = Quantity(
    "wait per message ahead in a conversation with reports",
    "RTT",
    TURNS,
    "the same, divided by one more than the messages of the sender that were ahead",
)
PER_BUFFERED: Final = Quantity(
    "sender wait per message ahead",
    "greatest RTT",
    LOAD,
    "the longest wait at a sender, divided by one more than the messages that were ahead",
)
RATE: Final = Quantity(
    "throughput",
    "deliveries/s",
    DISTANCE,
    "deliveries per second of simulated time, in the middle half of a run",
)
FLYING: Final = Quantity(
    "messages in transit",
    "messages",
    DISTANCE,
    "the most messages of one sender between transmission and arrival",
)
FINISHED: Final = Quantity(
    "finished runs", SHARE, PROCESSES, "runs at the end of which nothing was left undelivered"
)
STARVED: Final = Quantity(
    "wait under the starvation script",
    "turns",
    TURNS,
    "how long the message of the scenario `starvation` waited, in turns",
)

QUANTITIES: Final = (
    CLEAN, INTEGERS, INTEGERS_MAX, BYTES, BYTES_MAX, STATE, STATE_MAX, HOLDING, CONTROL_PACKETS,
    SENDER, RECEIVER, LATENCY, STEADINESS, GROWTH, CARRIED, LATE, LATE_SENDER, LATE_RECEIVER,
    LATEST, EARLIEST, TIMED, GROUP_LATENCY, GROUP_LONGEST, REPORTED, REPORTED_PER_BUFFERED,
    PER_BUFFERED, RATE, FLYING, FINISHED, STARVED,
)  # fmt: skip


@final
@dataclass(frozen=True, kw_only=True)
class Measurement:
    """A figure: `at` is what the quantity is measured against, `seed` the first one used."""

    protocol: str
    quantity: Quantity
    situation: str
    at: float
    figure: Estimate
    seed: int


@final
@dataclass(frozen=True, kw_only=True)
class Omission:
    """What was left out, and why."""

    protocol: str
    what: str
    reason: str


@final
class Measurements:
    """All rows of a comparison, and what was left out of it."""

    def __init__(self) -> None:
        self.rows: Final[list[Measurement]] = []
        self.omissions: Final[list[Omission]] = []
        self._places: Final[dict[tuple[str, str, str, float], int]] = {}

    def add(
        self,
        protocol: str,
        quantity: Quantity,
        situation: str,
        at: float,
        samples: list[float],
        seed: int = 1,
    ) -> None:
        """A figure from one sample per run."""
        place = (protocol, quantity.name, situation, at)
        if place in self._places:
            raise LocalError(f"{quantity.name} of {protocol} in {situation} at {at} stands here")
        self._places[place] = len(self.rows)
        self.rows.append(
            Measurement(
                protocol=protocol,
                quantity=quantity,
                situation=situation,
                at=at,
                figure=estimate(samples),
                seed=seed,
            )
        )

    def leave_out(self, protocol: str, what: str, reason: str) -> None:
        """Note what was not measured; once is enough."""
        omission = Omission(protocol=protocol, what=what, reason=reason)
        if omission not in self.omissions:
            self.omissions.append(omission)

    def series(
        self, protocol: str, quantity: Quantity, situation: str
    ) -> list[tuple[float, float]]:
        """The means of a quantity in one situation, against what it is measured against."""
        rows = self._of(protocol, quantity)
        return sorted([(row.at, row.figure.mean) for row in rows if row.situation == situation])

    def tally(self, protocol: str, quantity: Quantity, situation: str) -> tuple[int, int]:
        """Of a quantity that a run has or has not: how many runs had it, of how many."""
        rows = self._of(protocol, quantity)
        found = [row.figure for row in rows if row.situation == situation]
        had = sum([round(figure.mean * figure.samples) for figure in found])
        return had, sum([figure.samples for figure in found])

    def situations(self, protocol: str, quantity: Quantity) -> list[str]:
        """In which situations the quantity was measured, in the order of measurement."""
        return list(dict.fromkeys([row.situation for row in self._of(protocol, quantity)]))

    def protocols(self) -> list[str]:
        """Whose figures are here, in the order of measurement."""
        return list(dict.fromkeys([row.protocol for row in self.rows]))

    def _of(self, protocol: str, quantity: Quantity) -> list[Measurement]:
        return [
            row
            for row in self.rows
            if row.protocol == protocol and row.quantity.name == quantity.name
        ]


CONSTANT_BELOW: Final = 0.2
"""A figure that grows with a smaller power of n counts as constant."""

NEAR: Final = 0.2
"""How far from a whole power an exponent may be to bear its name."""

NAMES: Final = {0: "O(1)", 1: "O(n)", 2: "O(n²)", 3: "O(n³)"}

POINTS_MIN: Final = 2


def exponent(points: list[tuple[float, float]]) -> float | None:
    """The power of the size with which the figure grows; None if that cannot be told."""
    positive = sorted([point for point in points if point[0] > 0 and point[1] > 0])
    if len(points) >= POINTS_MIN and not positive:
        return 0.0
    if len(positive) < POINTS_MIN:
        return None
    chosen = positive[min(len(positive) // 2, len(positive) - POINTS_MIN) :]
    return slope([(log(size), log(figure)) for size, figure in chosen])


def slope(points: list[tuple[float, float]]) -> float | None:
    """The slope of the least-squares line, or None if all points have the same abscissa."""
    count = len(points)
    middle_x = sum([x for x, _ in points]) / count
    middle_y = sum([y for _, y in points]) / count
    spread = sum([(x - middle_x) ** 2 for x, _ in points])
    if spread == 0:
        return None
    return sum([(x - middle_x) * (y - middle_y) for x, y in points]) / spread


def name_of(power: float) -> str:
    """The usual name of a growth, where one is near: `O(n)`; else the power itself: `n^1.4`."""
    if power < CONSTANT_BELOW:
        return NAMES[0]
    whole = round(power)
    if abs(power - whole) <= NEAR and whole in NAMES:
        return NAMES[whole]
    return f"n^{power:.1f}"
