"""What was measured, as rows: one figure about one protocol, in one situation, at one size.

Everything that the comparison measures ends up here, and the verdicts look at nothing else.
"""

from dataclasses import dataclass
from typing import Final, final

from antecede.core.errors import LocalError
from antecede.lab.comparison.intervals import Estimate, estimate


@final
@dataclass(frozen=True, kw_only=True)
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
    name="clean runs",
    unit=SHARE,
    against=PROCESSES,
    meaning="runs in which everything was delivered, once, in causal order",
)
INTEGERS: Final = Quantity(
    name="integers per message",
    unit="integers",
    against=PROCESSES,
    meaning="integers and process ids in a packet that carries a message, on average",
)
INTEGERS_MAX: Final = Quantity(
    name="most integers per message",
    unit="integers",
    against=PROCESSES,
    meaning="the same, in the packet that has most",
)
BYTES: Final = Quantity(
    name="metadata bytes per message",
    unit="bytes",
    against=PROCESSES,
    meaning="everything but the payload in an encoded packet that carries a message, on average",
)
BYTES_MAX: Final = Quantity(
    name="most metadata bytes per message",
    unit="bytes",
    against=PROCESSES,
    meaning="the same, in the packet that has most",
)
STATE: Final = Quantity(
    name="integers in a process",
    unit="integers",
    against=PROCESSES,
    meaning="integers in the state of a process, on average over processes and time",
)
STATE_MAX: Final = Quantity(
    name="most integers in a process",
    unit="integers",
    against=PROCESSES,
    meaning="the same, where there were most",
)
HOLDING: Final = Quantity(
    name="integers in a process by what it holds",
    unit="integers",
    against=HELD,
    meaning="integers in the state of one of four processes that holds so many of this sort",
)
CONTROL_PACKETS: Final = Quantity(
    name="control packets",
    unit="packets per message",
    against=PROCESSES,
    meaning="packets without a message, by kind (the situation), for one message submitted",
)
SENDER: Final = Quantity(
    name="sender steps",
    unit="steps per copy",
    against=PROCESSES,
    meaning="executed lines per copy: submission, and what control packets cause at a sender",
)
RECEIVER: Final = Quantity(
    name="receiver steps",
    unit="steps per copy",
    against=PROCESSES,
    meaning="executed lines per copy: arrival of messages, and of null messages",
)
LATE: Final = Quantity(
    name="non-causal latency",
    unit="RTT",
    against=LOAD,
    meaning="how much later than under RST on the same network, on average, in mean RTTs",
)
LATE_SENDER: Final = Quantity(
    name="non-causal latency at the sender",
    unit="RTT",
    against=LOAD,
    meaning="the part of it before the message left its sender",
)
LATE_RECEIVER: Final = Quantity(
    name="non-causal latency at the receiver",
    unit="RTT",
    against=LOAD,
    meaning="the part of it after the message arrived",
)
LATEST: Final = Quantity(
    name="longest non-causal latency",
    unit="greatest RTT",
    against=LOAD,
    meaning="how much later than under RST the worst copy came, in the greatest possible RTTs",
)
EARLIEST: Final = Quantity(
    name="least non-causal latency",
    unit="greatest RTT",
    against=LOAD,
    meaning="the same of the best copy: below 0 if it came earlier than under RST",
)
LATENCY: Final = Quantity(
    name="latency",
    unit="one-way delays",
    against=LOAD,
    meaning="from submission to delivery, on average over the middle half of a run's messages, in "
    "mean one-way delays; where that still grows, a rate instead",
)
STEADINESS: Final = Quantity(
    name="latency of later messages",
    unit="of that of earlier ones",
    against=LOAD,
    meaning="the mean latency of the third quarter of a run's messages, of that of the second: "
    "more than 1.2 means that nothing has settled",
)
GROWTH: Final = Quantity(
    name="growth of latency",
    unit="one-way delays per message",
    against=LOAD,
    meaning="by how much latency grows from one message of a process to its next, in the middle "
    "half of a run",
)
CARRIED: Final = Quantity(
    name="carried load",
    unit="of what is offered",
    against=LOAD,
    meaning="copies delivered while the middle half of a run was submitted, of those submitted",
)
GROUP_LATENCY: Final = Quantity(
    name="latency in groups by length of run",
    unit="one-way delays",
    against=LENGTH,
    meaning="from submission to delivery, on average, in conversations of overlapping groups",
)
GROUP_LONGEST: Final = Quantity(
    name="longest latency in groups by length of run",
    unit="one-way delays",
    against=LENGTH,
    meaning="the same of the copy that took longest",
)
TIMED: Final = Quantity(
    name="longest non-causal latency by patience",
    unit="greatest RTT",
    against=PATIENCE,
    meaning="the same at the lowest load, against the patience of the protocol's timers",
)
REPORTED: Final = Quantity(
    name="longest wait in a conversation with reports",
    unit="RTT",
    against=TURNS,
    meaning="two processes talk and report each turn to a third: the longest wait at a sender",
)
REPORTED_PER_BUFFERED: Final = Quantity(
    name="wait per message ahead in a conversation with reports",
    unit="RTT",
    against=TURNS,
    meaning="the same, divided by one more than the messages of the sender that were ahead",
)
PER_BUFFERED: Final = Quantity(
    name="sender wait per message ahead",
    unit="greatest RTT",
    against=LOAD,
    meaning="the longest wait at a sender, divided by one more than the messages that were ahead",
)
RATE: Final = Quantity(
    name="throughput",
    unit="deliveries/s",
    against=DISTANCE,
    meaning="deliveries per second of simulated time, in the middle half of a run",
)
FLYING: Final = Quantity(
    name="messages in transit",
    unit="messages",
    against=DISTANCE,
    meaning="the most messages of one sender between transmission and arrival",
)
FINISHED: Final = Quantity(
    name="finished runs",
    unit=SHARE,
    against=PROCESSES,
    meaning="runs at the end of which nothing was left undelivered",
)
STARVED: Final = Quantity(
    name="wait under the starvation script",
    unit="turns",
    against=TURNS,
    meaning="how long the message of the scenario `starvation` waited, of so many turns",
)

QUANTITIES: Final = (
    CLEAN, INTEGERS, INTEGERS_MAX, BYTES, BYTES_MAX, STATE, STATE_MAX, HOLDING, CONTROL_PACKETS,
    SENDER, RECEIVER, LATENCY, STEADINESS, GROWTH, CARRIED, LATE, LATE_SENDER, LATE_RECEIVER,
    LATEST, EARLIEST, TIMED, GROUP_LATENCY, GROUP_LONGEST, REPORTED, REPORTED_PER_BUFFERED,
    PER_BUFFERED, RATE, FLYING, FINISHED, STARVED,
)  # fmt: skip


@final
@dataclass(frozen=True, kw_only=True)
class Reading:
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
class Readings:
    """All rows of a comparison, and what was left out of it."""

    def __init__(self) -> None:
        self.rows: Final[list[Reading]] = []
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
            Reading(
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
        found = [
            (row.at, row.figure.mean)
            for row in self.rows
            if row.protocol == protocol
            and row.quantity.name == quantity.name
            and row.situation == situation
        ]
        return sorted(found)

    def tally(self, protocol: str, quantity: Quantity, situation: str) -> tuple[int, int]:
        """Of a quantity that a run has or has not: how many runs had it, of how many."""
        found = [
            row.figure
            for row in self.rows
            if row.protocol == protocol
            and row.quantity.name == quantity.name
            and row.situation == situation
        ]
        had = sum([round(figure.mean * figure.samples) for figure in found])
        return had, sum([figure.samples for figure in found])

    def situations(self, protocol: str, quantity: Quantity) -> list[str]:
        """In which situations the quantity was measured, in the order of measurement."""
        found: dict[str, bool] = {}
        for row in self.rows:
            if row.protocol == protocol and row.quantity.name == quantity.name:
                found[row.situation] = True
        return list(found)

    def protocols(self) -> list[str]:
        """Whose figures are here, in the order of measurement."""
        found: dict[str, bool] = {}
        for row in self.rows:
            found[row.protocol] = True
        return list(found)
