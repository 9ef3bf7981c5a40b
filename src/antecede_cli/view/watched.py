"""One node as it is watched: what it said last, what it said before, and whether it answers."""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from antecede.runtime.config.addresses import Address
from antecede_cli.view.answers import NodeState

HISTORY_MAX: Final = 300
"""Of every figure the last 300 values are known: five minutes at one a second."""

Value = Callable[[NodeState, NodeState, float], float]
"""A figure from two states of a node and the seconds between them."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of a node that is drawn over time."""

    title: str
    unit: str
    value: Value


def rate(name: str) -> Value:
    """How much a counter grows in a second."""

    def value(before: NodeState, now: NodeState, seconds: float) -> float:
        return max(0.0, (now.figures.get(name, 0) - before.figures.get(name, 0)) / seconds)

    return value


def level(name: str) -> Value:
    """How things stand."""
    return lambda _, now, __: float(now.figures.get(name, 0))


def lost_rate(before: NodeState, now: NodeState, seconds: float) -> float:
    """How many datagrams were declared lost in a second."""
    lost = sum(peer.lost for peer in now.peers) - sum(peer.lost for peer in before.peers)
    return max(0.0, lost / seconds)


def round_trip_ms(_: NodeState, now: NodeState, __: float) -> float:
    """The longest of the smoothed round trips to peers that are here."""
    return max((one.round_trip_ns for one in now.peers if one.state == "here"), default=0) / 1e6


FIGURES: Final[Mapping[str, Figure]] = {
    "sent": Figure("sent", "messages/s", rate("messages_sent")),
    "delivered": Figure("delivered", "messages/s", rate("messages_received")),
    "buffered": Figure("not yet acknowledged", "messages", level("buffered")),
    "inbox": Figure("delivered, not read", "messages", level("inbox")),
    "held_back": Figure("held back", "messages", level("held_back")),
    "requests": Figure("requests under way", "requests", level("requests")),
    "lost": Figure("lost", "datagrams/s", lost_rate),
    "round_trip": Figure("longest round trip", "ms", round_trip_ms),
}
"""What is drawn over time, in this order."""


class Watched:
    """One address at which a node answers, or should."""

    def __init__(self, place: Address, name: str, *, listed: bool) -> None:
        self.place: Final = place
        self.told_name = name
        """What others call it; empty if nobody has said."""
        self.listed = listed
        """Whether somebody has asked for it; others were found by asking."""
        self.state: NodeState | None = None
        """What it said last; None if it has never answered."""
        self.failure = ""
        """Why it does not answer; empty if it does."""
        self.changed_s: float | None = None
        """Since when its status is what it is; None if it was not asked yet."""
        self.last_event = 0
        self.history: Final[dict[str, deque[float]]] = {
            name: deque(maxlen=HISTORY_MAX) for name in FIGURES
        }
        self._answered_s = 0.0

    @property
    def status(self) -> str:
        """What it said of itself last; empty if it has never answered."""
        return "" if self.state is None else self.state.status

    @property
    def name(self) -> str:
        """What it is called: as it says, or as others do, or where it is."""
        return self.state.name if self.state is not None else self.told_name or str(self.place)

    @property
    def answers(self) -> bool:
        """Whether it has answered when it was last asked."""
        return self.state is not None and not self.failure

    def figure(self, name: str) -> float:
        """The last value of a figure."""
        values = self.history[name]
        return values[-1] if values and self.answers else 0.0

    def list_no_more(self) -> None:
        """Nobody has asked for it, unless somebody does so again."""
        self.listed = False

    def list_as(self, name: str, *, listed: bool) -> None:
        """Somebody has asked for it, or it was found by asking; under this name, if any."""
        self.listed = self.listed or listed
        self.told_name = self.told_name or name

    def on_state(self, state: NodeState, now_s: float) -> None:
        """It has answered."""
        before, seconds = self.state, now_s - self._answered_s
        if before is None or before.incarnation != state.incarnation:
            before, seconds = state, 1.0  # Nothing is known of what it did before.
        for name, figure in FIGURES.items():
            self.history[name].append(round(figure.value(before, state, max(seconds, 1e-3)), 3))
        if not self.answers or self.state is None or self.state.status != state.status:
            self.changed_s = now_s
        if self.state is not None and self.state.incarnation != state.incarnation:
            self.last_event = 0  # Its events begin again, and the question was about the last life.
        else:
            self.last_event = max([self.last_event, *(event.number for event in state.events)])
        self.state, self.failure, self._answered_s = state, "", now_s

    def on_failure(self, reason: str, now_s: float) -> None:
        """It has not answered."""
        for values in self.history.values():
            values.append(0.0)
        if not self.failure:
            self.changed_s = now_s
        self.failure = reason
