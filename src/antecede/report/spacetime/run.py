"""A recorded run in columns: what a spacetime diagram and the charts beside it are made of.

Times count from the start of the run, processes are numbered by the row they are drawn in, and
`MISSING` stands for what the log does not say. Copies and packets are sorted by when they begin.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

MISSING: Final = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Copies:
    """Every message to every target, a list per column."""

    sender: list[int] = field(default_factory=list)
    sequence: list[int] = field(default_factory=list)
    target: list[int] = field(default_factory=list)
    submitted_ns: list[int] = field(default_factory=list)
    transmitted_ns: list[int] = field(default_factory=list)
    arrived_ns: list[int] = field(default_factory=list)
    delivered_ns: list[int] = field(default_factory=list)
    submitted_at: list[int] = field(default_factory=list)
    """The position, at its sender, of the message's first row: one for all copies of a message."""
    delivered_at: list[int] = field(default_factory=list)
    """The position of the first delivery at the target."""
    payload_bytes: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.sender)

    def instants(self) -> Iterator[tuple[int, int, int, int]]:
        """For each copy: when it was submitted, transmitted, arrived, and delivered."""
        return zip(
            self.submitted_ns, self.transmitted_ns, self.arrived_ns, self.delivered_ns, strict=True
        )

    def first_ns(self, copy: int) -> int:
        """When the copy is first heard of."""
        submitted_ns = self.submitted_ns[copy]
        return submitted_ns if submitted_ns != MISSING else self.delivered_ns[copy]


@dataclass(frozen=True, slots=True, kw_only=True)
class Packets:
    """Every packet that was transmitted, once for each time it arrived, a list per column."""

    kind: list[int] = field(default_factory=list)
    source: list[int] = field(default_factory=list)
    target: list[int] = field(default_factory=list)
    sent_ns: list[int] = field(default_factory=list)
    arrived_ns: list[int] = field(default_factory=list)
    """`MISSING` if it was lost, or is still under way at the end of the log."""
    copy: list[int] = field(default_factory=list)
    """The copy that it carries; `MISSING` for control, and for what is relayed by others."""
    repeated: list[int] = field(default_factory=list)
    """`FIRST`, `AGAIN` for another transmission of the same copy, `DOUBLED` by the network."""
    metadata_bytes: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.kind)


FIRST: Final = 0
AGAIN: Final = 1
DOUBLED: Final = 2

IMPLIED: Final = "message (as far as the log says)"
"""The kind of packets that stand for copies of which a log knows but the two ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run, ready to be laid out."""

    name: str
    start_ns: int
    """What the log's clock said when the run began; all other times count from then."""
    span_ns: int
    processes: tuple[int, ...]
    """The ids of the processes, by row."""
    names: tuple[str, ...]
    """What they are called, by row."""
    packet_kinds: tuple[str, ...]
    copies: Copies
    packets: Packets
    labels: dict[tuple[int, int], str] = field(default_factory=dict)
    """What messages are called, by row of the sender and sequence, where they have names."""
    unmatched: int = 0
    """Arrivals of packets that, as far as the log says, nobody transmitted."""

    @property
    def people(self) -> dict[int, str]:
        """What the processes are called, by their ids."""
        return dict(zip(self.processes, self.names, strict=True))

    @property
    def messages(self) -> int:
        """How many different messages there are."""
        copies = self.copies
        return len(set(zip(copies.sender, copies.sequence, strict=True)))
