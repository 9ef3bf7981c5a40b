"""Findings in words a human follows.

A violation reads: who delivered what too early, what was late, and then, after a colon, the path of
events by which the late message caused the early one. Times have three digits, or as many as it
takes to tell them apart.
"""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
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

Names: TypeAlias = Mapping[int, str]

SHOWN: Final = 5
"""5 findings of a verdict are told unless the caller wants more."""

DATES_FROM_NS: Final = 10**17
DATES_TO_NS: Final = 10**19
"""No run lasts for years, so a time in between is one since 1970: from 1973 to 2286."""

DIGITS: Final = 3
NS_DIGITS: Final = 9
"""Digits of a second after the point."""

UNITS: Final = (("s", 10**9), ("ms", 10**6), ("µs", 10**3), ("ns", 1))


def explain(finding: Finding, names: Names | None = None) -> str:
    """The finding as one sentence; processes without a name go by P and their number."""
    people = {} if names is None else names
    if isinstance(finding, Violation):
        return explain_violation(finding, people)
    message = message_name(finding.message, people)
    if isinstance(finding, Duplicate):
        return (
            f"{name(finding.process, people)} delivered {message} {times(finding.deliveries)}, "
            f"first at {time_text(finding.first_delivered_ns, [finding.last_delivered_ns])} "
            f"and last at {time_text(finding.last_delivered_ns, [finding.first_delivered_ns])}."
        )
    if isinstance(finding, Loss):
        return (
            f"{name(finding.target, people)} never delivered {message}, "
            f"sent to it at {time_text(finding.submitted_ns)}."
        )
    if isinstance(finding, Invention):
        return (
            f"{name(finding.process, people)} delivered {message} "
            f"at {time_text(finding.delivered_ns)}, but nobody had sent it there."
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
    early_at, late_at = (
        time_text(time_ns, told_ns)
        for time_ns in (violation.early_delivered_ns, violation.late_delivered_ns)
    )
    return (
        f"{name(violation.process, names)} delivered {message_name(violation.early, names)} "
        f"at {early_at}, but {message_name(violation.late, names)}, {relation}, "
        f"only at {late_at}{explain_path(violation, names)}."
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
            when = time_text(event.time_ns, told_ns)
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


def time_text(time_ns: int, among: Collection[int] = ()) -> str:
    """A time for people: a date if it can only be one, else how long after the run began.

    It has three digits; if it is shown `among` others, as many as tell all of them apart.
    """
    times_ns = {time_ns, *among}
    digits = DIGITS
    while len({with_digits(one, digits) for one in times_ns}) < len(times_ns):
        digits += 1
    return with_digits(time_ns, digits)


def with_digits(time_ns: int, digits: int) -> str:
    """A time with this number of digits: all of it, or of a date those after the point."""
    if DATES_FROM_NS <= time_ns < DATES_TO_NS:
        decimals = min(digits, NS_DIGITS)
        whole, rest = divmod(rounded(time_ns, NS_DIGITS - decimals), 10**NS_DIGITS)
        fraction = f"{rest:0{NS_DIGITS}d}"[:decimals]
        return f"{datetime.fromtimestamp(whole, UTC):%Y-%m-%d %H:%M:%S}.{fraction} UTC"
    size_ns = abs(time_ns)
    size_ns = rounded(size_ns, min(len(str(size_ns)) - digits, NS_DIGITS))
    unit, length = next((one for one in UNITS if size_ns >= one[1]), ("ms", 10**6))
    whole, rest = divmod(size_ns, length)
    fraction = f"{rest:0{len(str(length)) - 1}d}".rstrip("0") if rest else ""
    sign = "-" if time_ns < 0 and size_ns else ""
    return f"{sign}{whole}{'.' if fraction else ''}{fraction} {unit}"


def rounded(number: int, zeros: int) -> int:
    """The nearest number that ends in this number of zeros."""
    if zeros <= 0:
        return number
    step: int = 10**zeros
    return (number + step // 2) // step * step
