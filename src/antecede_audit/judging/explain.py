"""Findings in words a human follows.

A violation reads: who delivered what too early, what was late, and then, after a colon, the path of
events by which the late message caused the early one.
"""

from collections.abc import Mapping
from typing import Final, TypeAlias

from antecede.eventlog.schema import Event
from antecede.units import counted
from antecede_audit.judging.findings import (
    Duplicate,
    Finding,
    Invention,
    Loss,
    MessageId,
    OracleVerdict,
    SelfCause,
    Violation,
)
from antecede_audit.judging.moments import moment

Names: TypeAlias = Mapping[int, str]

SHOWN: Final = 5
"""How many findings of a verdict are told unless the caller wants more."""


def explain(finding: Finding, names: Names | None = None) -> str:
    """The finding as one sentence; processes without a name go by P and their number."""
    people = {} if names is None else names
    if isinstance(finding, Violation):
        return explain_violation(finding, people)
    message = message_name(finding.message, people)
    if isinstance(finding, Duplicate):
        return (
            f"{name(finding.process, people)} delivered {message} {times(finding.deliveries)}, "
            f"first at {moment(finding.first_delivered_ns, [finding.last_delivered_ns])} "
            f"and last at {moment(finding.last_delivered_ns, [finding.first_delivered_ns])}."
        )
    if isinstance(finding, Loss):
        return (
            f"{name(finding.target, people)} never delivered {message}, "
            f"sent to it at {moment(finding.submitted_ns)}."
        )
    if isinstance(finding, Invention):
        return (
            f"{name(finding.process, people)} delivered {message} "
            f"at {moment(finding.delivered_ns)}, but nobody had sent it there."
        )
    assert isinstance(finding, SelfCause)
    return f"According to the log {message} caused itself: its order of events cannot be right."


def explain_verdict(verdict: OracleVerdict, names: Names | None = None, shown: int = SHOWN) -> str:
    """What there was to look at, and the first few findings, a line each."""
    findings = verdict.findings
    lines = [
        f"{counted(verdict.messages, 'message')} between "
        f"{counted(verdict.processes, 'process', 'processes')}, "
        f"{counted(verdict.deliveries, 'delivery', 'deliveries')}: {tally(verdict)}"
    ]
    lines += [explain(finding, names) for finding in findings[:shown]]
    if len(findings) > shown:
        lines.append(f"… and {len(findings) - shown} more")
    return "\n".join(lines)


def tally(verdict: OracleVerdict) -> str:
    """How many findings there are of each sort."""
    counts = {
        "too early": len(verdict.violations),
        "delivered twice": len(verdict.duplicates),
        "lost": len(verdict.losses),
        "invented": len(verdict.inventions),
        "their own cause": len(verdict.self_causes),
    }
    found = [f"{count} {what}" for what, count in counts.items() if count]
    if not found and verdict.deliveries == 0:
        return "nothing to judge"
    return ", ".join(found) or "each exactly once and in causal order"


def explain_violation(violation: Violation, names: Names) -> str:
    """The verdict first, then the path that is its reason."""
    told_ns = told_times(violation)
    relation = "sent before it" if violation.kind == "fifo" else "which caused it"
    return (
        f"{name(violation.process, names)} delivered {message_name(violation.early, names)} "
        f"at {moment(violation.early_delivered_ns, told_ns)}, "
        f"but {message_name(violation.late, names)}, {relation}, "
        f"only at {moment(violation.late_delivered_ns, told_ns)}{explain_path(violation, names)}."
    )


def told_times(violation: Violation) -> list[int]:
    """The times that an explanation tells, and that must not look the same."""
    along = [event.time_ns for event in violation.witness if event.kind == "delivered"]
    return [violation.early_delivered_ns, violation.late_delivered_ns, *along]


def explain_path(violation: Violation, names: Names) -> str:
    """The witness, if there is one, as a story: who sent what, who delivered it and sent then."""
    if not violation.witness:
        return ""
    first = violation.witness[0]
    story = f": {sending(first, names)}"
    if first.target != violation.process:
        story += f" and {name(violation.process, names)}"
    before, told_ns = first, told_times(violation)
    for event in violation.witness[1:]:
        if event.kind == "delivered":
            when = moment(event.time_ns, told_ns)
            story += f"; {name(event.process, names)} delivered it at {when}"
        elif before.kind == "delivered":
            story += f" and then sent {event.sequence} to {receiver(event, names)}"
        else:
            story += f"; then {sending(event, names)}"
        before = event
    return story


def sending(event: Event, names: Names) -> str:
    """Who sent which message to whom."""
    return f"{name(event.process, names)} sent {event.sequence} to {receiver(event, names)}"


def receiver(event: Event, names: Names) -> str:
    """Whom a submission is for."""
    if event.target is None:
        return "somebody"
    return "itself" if event.target == event.process else name(event.target, names)


def message_name(message: MessageId, names: Names) -> str:
    """What to call a message."""
    return f"message {message.sequence} of {name(message.sender, names)}"


def name(process: int, names: Names) -> str:
    """What to call a process."""
    return names.get(process, f"P{process}")


def times(count: int) -> str:
    """How often, in words."""
    return "twice" if count == 2 else f"{count} times"
