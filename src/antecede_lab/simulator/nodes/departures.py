"""Who is gone from a simulation of nodes, and what the others have said about it: for the judge.

Nodes speak of names and incarnations; the judge knows the ids of the event log, of which every
incarnation has one of its own.
"""

from typing import Final, final

from mypy_extensions import i64

from antecede.events import LEFT_OUT, NodeFenced, PeerExpelled, PeerRestarted, Report, Undeliverable
from antecede_audit.judging.departures import Departures, ExpulsionRow
from antecede_audit.judging.send_outcomes import OutcomeReport, SendOutcomes

POWER_FAILED: Final = "PowerFailed"
"""Among what is counted: not a report, since who says nothing reports nothing."""


@final
class DepartureLog:
    """What became of the processes of one run, and of what they sent."""

    __slots__ = ("_fenced", "_ids", "departures", "outcomes", "reports")

    def __init__(self, outcomes: SendOutcomes | None = None) -> None:
        # What applications have sent and received, if that is recorded.
        self.outcomes: Final = outcomes
        self.departures: Final = Departures()
        # How often nodes have said something about each other, by what it was.
        self.reports: Final[dict[str, int]] = {}
        # The incarnations of each name, and the id of each in the event log.
        self._ids: Final[dict[str, dict[int, int]]] = {}
        self._fenced: Final[set[tuple[int, int]]] = set()

    def born(self, name: str, incarnation: int, log_id: int) -> None:
        """An incarnation begins to run."""
        self._ids.setdefault(name, {})[incarnation] = log_id
        if self.outcomes is not None:
            self.outcomes.lives.setdefault(name, set()).add(log_id)

    def crashed(self, log_id: int) -> None:
        """An incarnation has ended without a bye."""
        self.departures.gone.add(log_id)
        if self.outcomes is not None:
            self.outcomes.silenced.add(log_id)

    def on_left(self, log_id: int) -> None:
        """An incarnation has stopped after all that it had sent was acknowledged."""
        self.departures.left.add(log_id)

    def power_failed(self, log_id: int) -> None:
        """A node with a journal has crashed, and will be back."""
        if self.outcomes is not None:
            self.outcomes.crashes[log_id] = self.outcomes.crashes.get(log_id, 0) + 1
        self.reports[POWER_FAILED] = self.reports.get(POWER_FAILED, 0) + 1

    def expelled(self, name: str, incarnation: int) -> None:
        """Somebody has decided to go on without an incarnation."""
        self.departures.gone.add(self._ids[name][incarnation])

    def note(self, at: int, report: Report, current: int, now_ns: i64) -> None:
        """An incarnation has reported something; `current` is whom it means by the name now."""
        kind = type(report).__name__
        self.reports[kind] = self.reports.get(kind, 0) + 1
        if isinstance(report, PeerExpelled):
            self.expelled(report.name, report.incarnation)
            self._fence(at, report.name, report.incarnation, now_ns)
            self._give_up(at, report.name, report.undelivered)
        elif isinstance(report, PeerRestarted):
            self._fence(at, report.name, current - 1, now_ns)
        elif isinstance(report, NodeFenced):
            self.departures.gone.add(at)
        elif isinstance(report, Undeliverable):
            self._told(at, report)

    def _told(self, at: int, report: Undeliverable) -> None:
        if report.why != LEFT_OUT:
            self._give_up(at, report.name, report.sequences)
        if self.outcomes is not None:
            for sequence in report.sequences:
                self.outcomes.reports.append(OutcomeReport(at, sequence, report.name, report.why))

    def _fence(self, at: int, name: str, newest: int, now_ns: i64) -> None:
        """An incarnation is out, and so are all before it."""
        for incarnation, log_id in self._ids[name].items():
            if incarnation <= newest and (at, log_id) not in self._fenced:
                self._fenced.add((at, log_id))
                self.departures.fences.append(ExpulsionRow(at=at, gone=log_id, time_ns=now_ns))

    def _give_up(self, at: int, name: str, sequences: tuple[int, ...]) -> None:
        for log_id in self._ids[name].values():
            for sequence in sequences:
                self.departures.undelivered.add((at, sequence, log_id))
