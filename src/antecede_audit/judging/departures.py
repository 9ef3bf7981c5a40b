"""What may be missing when processes crash or are expelled, and what may not.

Whoever is suspected, rightly or wrongly: at every process order is causal, nothing comes twice and
nothing is invented. `check_log` judges that. Beyond it, and knowing nothing of how it is done:

- A message between two processes that are not gone is delivered.
- One to a process that is gone or has left is delivered, or its sender was told that perhaps it
  was not.
- Who goes on without a process delivers nothing more of it.
- Nor does anybody who has delivered a message that was sent after its sender went on without it,
  and so on along chains of messages; and no such message is delivered at that process itself.

Messages of a process that is gone may be missing anywhere, without a word.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias, final

from antecede.eventlog.schema import Event
from antecede_audit.judging.definition import History, causal_order, message_of
from antecede_audit.judging.findings import Loss, MessageId, OracleVerdict
from antecede_audit.judging.oracle import check_log

Copy: TypeAlias = tuple[int, int, int]
"""A message for one of its targets: sender, sequence, target."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ExpulsionRow:
    """At `time_ns` the process `at` has said that it goes on without `gone`."""

    at: int
    gone: int
    time_ns: int


@final
@dataclass(slots=True, kw_only=True)
class Departures:
    """Who is gone from a run, and what the others have said about it."""

    gone: set[int] = field(default_factory=set)
    """Processes that have crashed, or that anybody has expelled."""
    left: set[int] = field(default_factory=set)
    """Processes that have stopped after all that they had sent was acknowledged."""
    fences: list[ExpulsionRow] = field(default_factory=list)
    undelivered: set[Copy] = field(default_factory=set)
    """What senders were told may not have been delivered."""
    reports_in_place: bool = True
    """Whether the time of a fence tells which deliveries at that process came before it.

    An application may read of it before it reads what was delivered earlier; what it sends then was
    sent after the fence all the same.
    """


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LateFromExpelled:
    """At `process` came a `message` that it must not take any more, because `gone` is expelled."""

    process: int
    message: MessageId
    gone: int


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class DepartureVerdict:
    """Everything that was found in a run in which processes may be gone."""

    verdict: OracleVerdict
    """Of its losses only those below are held against it."""
    lost: list[Loss]
    """Between processes that are not gone."""
    unreported: list[Loss]
    """To a process that is gone, and the sender was never told."""
    stale: list[LateFromExpelled]

    def findings(self) -> dict[str, int]:
        """How many of each kind; of kinds without any, nothing."""
        verdict = self.verdict
        counts = {
            "violations": len(verdict.violations),
            "duplicates": len(verdict.duplicates),
            "inventions": len(verdict.inventions) + len(verdict.self_causes),
            "lost": len(self.lost),
            "unreported": len(self.unreported),
            "stale": len(self.stale),
        }
        return {kind: count for kind, count in counts.items() if count}

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.findings()


def judge_departures(events: Iterable[Event], departures: Departures) -> DepartureVerdict:
    """Judge a run by its log, and by what was said of those who are gone."""
    history = History(events)
    verdict = check_log(history, witnesses=False)
    gone = departures.gone
    over = gone | departures.left
    missing = [loss for loss in verdict.losses if loss.message.sender not in gone]
    return DepartureVerdict(
        verdict=verdict,
        lost=[loss for loss in missing if loss.target not in over],
        unreported=[
            loss
            for loss in missing
            if loss.target in over and (*loss.message, loss.target) not in departures.undelivered
        ],
        stale=find_stale(history, departures),
    )


def find_stale(history: History, departures: Departures) -> list[LateFromExpelled]:
    """What was delivered although the process, or the sender, goes on without somebody.

    Events at the very time of a fence count as before it.
    """
    own: dict[int, list[ExpulsionRow]] = {}
    for fence in departures.fences:
        own.setdefault(fence.at, []).append(fence)
    told: dict[int, set[int]] = {}
    carried: dict[MessageId, frozenset[int]] = {}
    found: list[LateFromExpelled] = []
    for event in causal_order(history):
        process, message = event.process, message_of(event)
        heard = told.setdefault(process, set())
        said = {f.gone for f in own.get(process, ()) if f.time_ns < event.time_ns}
        if event.kind == "submitted":
            carried[message] = frozenset(heard | said)
            continue
        out = heard | said if departures.reports_in_place else heard
        news = carried.get(message, frozenset())
        if message.sender in out:
            found.append(LateFromExpelled(process=process, message=message, gone=message.sender))
        if process in news:
            found.append(LateFromExpelled(process=process, message=message, gone=process))
        heard |= news
    return found
