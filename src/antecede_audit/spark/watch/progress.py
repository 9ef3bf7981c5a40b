"""What each batch of a watch came to, for those who look on."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchProgress:
    """The figures of one batch."""

    batch: int
    mark_ns: int
    """Up to when the log is judged."""
    clock_ns: int
    """When it was judged, by the clock of the watch."""
    events: int
    open_copies: int
    """Copies that are under way."""
    violations: int
    duplicates: int
    losses: int
    retracted: int
    """Losses that came after all."""
    inventions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """Who sent messages that came too early, to whom, and how many did."""

    sender: int
    process: int
    violations: int
