"""Whether a sender knows what became of every message to every target that it named.

Nodes that are away get nothing, nodes that are expelled perhaps something. Whatever happens, the
sender's application is never left without an answer. For every target of every `send`:

- It has delivered the message, or the sender was told that it was left out or is undeliverable.
- Who was left out has not delivered it, in any of its lives.
- The sender is told once; with a journal, once more for every crash.
- Messages from one sender to one target have ids that grow in the order of the calls.

Nothing is asked of a sender whose application has died with it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, TypeAlias, final

from antecede.eventlog.schema import Event

LEFT_OUT: Final = "left out"

Named: TypeAlias = tuple[int, int, str]
"""A sender, the id of its message, and the name of a target."""


@final
@dataclass(frozen=True, slots=True)
class Send:
    """A call of `send` that was accepted: the calls of one sender are numbered."""

    sender: int
    sequence: int
    call: int
    targets: tuple[str, ...]


@final
@dataclass(frozen=True, slots=True)
class OutcomeReport:
    """A sender was told that a target did not get a message, or perhaps not."""

    sender: int
    sequence: int
    target: str
    why: str


@final
@dataclass(slots=True)
class SendOutcomes:
    """What applications have sent, and what they were told about it."""

    sends: list[Send] = field(default_factory=list)
    reports: list[OutcomeReport] = field(default_factory=list)
    crashes: dict[int, int] = field(default_factory=dict)
    """How often each sender has crashed and gone on from its journal."""
    silenced: set[int] = field(default_factory=set)
    """Senders whose applications cannot be told anything: they have died."""
    lives: dict[str, set[int]] = field(default_factory=dict)
    """The processes that ever had each name."""


def judge_outcomes(events: Iterable[Event], outcomes: SendOutcomes) -> dict[str, list[Named]]:
    """What is wrong, by its kind; nothing of kinds without any."""
    delivered = {
        (event.sender, event.sequence, event.process)
        for event in events
        if event.kind == "delivered"
    }
    told: dict[Named, list[str]] = {}
    for told_once in outcomes.reports:
        key = (told_once.sender, told_once.sequence, told_once.target)
        told.setdefault(key, []).append(told_once.why)
    found: dict[str, list[Named]] = {}
    for send in outcomes.sends:
        for target in send.targets:
            reached = any(
                (send.sender, send.sequence, life) in delivered
                for life in outcomes.lives.get(target, ())
            )
            key = (send.sender, send.sequence, target)
            kind = wrong_with(told.pop(key, []), reached, outcomes, send.sender)
            if kind:
                found.setdefault(kind, []).append(key)
    if told:
        found["never sent"] = list(told)
    if swapped := out_of_turn(outcomes.sends):
        found["out of turn"] = swapped
    return found


def wrong_with(reasons: list[str], reached: bool, outcomes: SendOutcomes, sender: int) -> str:
    """What is wrong with what was said about one target of one message; empty if nothing is."""
    if len(set(reasons)) > 1:
        return "told two things"
    if LEFT_OUT in reasons and reached:
        return "left out, and delivered"
    if len(reasons) > 1 + outcomes.crashes.get(sender, 0):
        return "told too often"
    if not reasons and not reached and sender not in outcomes.silenced:
        return "neither delivered nor told"
    return ""


def out_of_turn(sends: Iterable[Send]) -> list[Named]:
    """Messages to a target whose ids do not grow with the numbers of the calls."""
    found: list[Named] = []
    last: dict[tuple[int, str], int] = {}
    for send in sorted(sends, key=order_of):
        for target in send.targets:
            if last.get((send.sender, target), -1) >= send.call:
                found.append((send.sender, send.sequence, target))
            last[send.sender, target] = send.call
    return found


def order_of(send: Send) -> tuple[int, int]:
    """By sender, and by the ids of its messages."""
    return (send.sender, send.sequence)
