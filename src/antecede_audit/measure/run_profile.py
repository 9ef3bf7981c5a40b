"""What a profile says of one run."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from antecede_audit.measure.distributions import Distribution, Fields

RECORDED: Final = "recorded"


NOMINAL: Final = "nominal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """What went on in one slice of a run."""

    start_ns: int
    messages: int
    in_flight_max: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunProfile:
    """What one run is like."""

    run_id: str
    times: str
    """`recorded`, or `nominal`: as over a network that takes no time."""
    messages: int
    copies: int
    processes: int
    """Those that have a name, send or are sent to."""
    channels: int
    """Pairs of a sender and a target."""
    conversations: int
    spontaneous: int
    """Messages without a cause."""
    stuck: int
    """Messages that can never leave: a cause is missing, or they wait for themselves."""
    first_ns: int
    last_ns: int
    slice_ns: int
    sampled: int | None
    """From how many messages the structure is estimated; None if it is that of all."""
    distributions: dict[str, Distribution]
    timeline: tuple[Point, ...]


def no_messages(source: str, run_id: str | None) -> str:
    """What is wrong with a folder that has no messages."""
    return f"{source} has no messages" + (f" of run {run_id!r}" if run_id else "")


def points_of(slices: Iterable[Fields]) -> tuple[Point, ...]:
    """The time line that these slices make."""
    return tuple(
        Point(
            start_ns=one["start_ns"],
            messages=one["messages"],
            in_flight_max=one["in_flight_max"] or 0,
        )
        for one in sorted(slices, key=lambda one: one["slice"])
    )


SLICES: Final = 240
"""Slices of a run; also the points of its time line."""
