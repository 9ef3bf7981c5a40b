"""What a profile measures: the name of each distribution, its unit, and what it says."""

from dataclasses import dataclass
from typing import Final

from antecede.units import duration_text, three_digits


@dataclass(frozen=True, slots=True)
class Measure:
    """A distribution that a profile has."""

    title: str
    unit: str
    """`ns`, `bytes`, or nothing for counts."""
    meaning: str


MEASURES: Final = {
    "out_degree": Measure("peers sent to", "", "processes that a process sends to"),
    "in_degree": Measure("peers heard from", "", "processes that a process hears from"),
    "process_messages": Measure("messages of a process", "", "messages that a process sends"),
    "targets": Measure("targets of a message", "", "targets of a message"),
    "effects": Measure("effects of a delivery", "", "messages that a delivery causes"),
    "causes": Measure("causes of a message", "", "deliveries that a message waits for"),
    "depth": Measure("chain of causes", "", "longest chain of causes before a message"),
    "conversation_messages": Measure("conversation: messages", "", "messages that causes connect"),
    "conversation_processes": Measure(
        "conversation: processes", "", "processes in such a conversation"
    ),
    "conversation_ns": Measure(
        "conversation: duration", "ns", "its duration, less the network's part"
    ),
    "errands_at_once": Measure("errands at once", "", "errands open at a process as one begins"),
    "think_ns": Measure("think time", "ns", "from the last cause to the message"),
    "submission_gap_ns": Measure("gap, all submissions", "ns", "between submissions, whole system"),
    "sender_gap_ns": Measure("gap, one sender", "ns", "between submissions, one process"),
    "delivery_gap_ns": Measure("gap, one receiver", "ns", "between deliveries, one process"),
    "flight_ns": Measure("flight", "ns", "from submission to delivery of a copy"),
    "in_flight": Measure("copies under way", "", "copies under way as one is submitted"),
    "payload_bytes": Measure("payload", "bytes", "size of a message"),
}

SECOND_NS: Final = 1_000_000_000
MINUTE_NS: Final = 60 * SECOND_NS
LONG_UNITS: Final = (
    ("d", 24 * 60 * MINUTE_NS),
    ("h", 60 * MINUTE_NS),
    ("min", MINUTE_NS),
)


def value_text(value: float, unit: str) -> str:
    """A value of a measure for people."""
    if unit == "ns":
        return long_duration_text(value)
    text = f"{value:,}" if isinstance(value, int) else three_digits(value)
    return f"{text} B" if unit == "bytes" else text


def long_duration_text(duration_ns: float) -> str:
    """A duration for people, which may last for days: `1.25 ms`, `25.0 h`."""
    for unit, unit_ns in LONG_UNITS:
        if duration_ns >= 2 * unit_ns:
            return f"{three_digits(duration_ns / unit_ns)} {unit}"
    return duration_text(duration_ns)


def rate_text(count: float, duration_ns: float) -> str:
    """So many in this time, for people: `4.06 a second`, `260 a day`."""
    period_ns, period = rate_period(count, duration_ns)
    return f"{three_digits(count * period_ns / max(1, duration_ns))} {period}"


def rate_period(count: float, duration_ns: float) -> tuple[int, str]:
    """The shortest period in which one of these happens on average, and what to call it."""
    periods = ((SECOND_NS, "a second"), (MINUTE_NS, "a minute"), (60 * MINUTE_NS, "an hour"))
    for period_ns, period in periods:
        if count * period_ns >= duration_ns:
            return period_ns, period
    return 24 * 60 * MINUTE_NS, "a day"
