"""What has happened, one value per row of the event log.

The log of a run is a table; `Event` is a row of it as Python sees it, with None where the table has
a null. Kinds are past participles because a trace event has already taken place:

    submitted --sender buffer--> transmitted --channel--> arrived --receiver buffer--> delivered

`submitted` has one row per target, so a multicast to three processes is three rows and one message.
Every transmission and every arrival is a row, retransmissions and control packets included.
"""

from dataclasses import dataclass
from typing import Final

KINDS: Final = ("submitted", "transmitted", "arrived", "delivered")
"""The kinds of events; the index of a kind is its code in a packed row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One row of the event log."""

    process: int
    """Where it happened."""
    position: int
    """Its place among the events of that process: 0, 1, 2, … without gaps."""
    kind: str
    """One of `KINDS`."""
    sender: int | None = None
    """Who submitted the message; None for a pure control packet."""
    sequence: int | None = None
    """Which message of that sender; None for a pure control packet."""
    target: int | None = None
    """The target of the message or packet."""
    packet: int | None = None
    """The id of the packet within its sender; None where no packet is involved."""
    packet_kind: str | None = None
    """What sort of packet: "message", "ack", …; None where no packet is involved."""
    time_ns: int
    """The time; it never decreases along `position`."""
    payload_bytes: int = 0
    """The size of the payload."""
    metadata_bytes: int = 0
    """The size of the rest of the packet."""
    trace_id: str | None = None
    """The request that it is part of; None if nobody knows."""
    span_id: str | None = None
    """The step of that request."""


ALL_COLUMNS: Final = tuple(Event.__dataclass_fields__)
COLUMNS: Final = ALL_COLUMNS[:-2]
"""The columns of the event log, in the order of a packed row."""

TRACE_COLUMNS: Final = ALL_COLUMNS[-2:]
"""Two more columns that a log may have: which request an event belongs to, and which step of it."""
