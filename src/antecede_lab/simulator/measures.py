"""What a run cost: where the time went, what was sent, how full the buffers were. Plain values."""

from dataclasses import dataclass
from typing import final

from antecede_lab.simulator.histogram import Histogram


@final
@dataclass(frozen=True, kw_only=True)
class PacketTotals:
    """All packets of one kind that were transmitted."""

    kind: str
    packets: int
    carrying: int
    """Those of them that carried a message; the rest were pure control."""
    payload_bytes: int
    metadata_bytes: int
    metadata_integers: int
    """Integers and process ids beside the payload, as papers count them."""


@final
@dataclass(frozen=True, kw_only=True)
class Delays:
    """Where the time of each delivered copy went, from one of its four instants to the next.

    Copies to oneself do not travel and are not in here.
    """

    sender_wait: Histogram
    """From submitted to first transmitted."""
    channel: Histogram
    """From first transmitted to first arrived: losses and retransmissions are in here."""
    receiver_wait: Histogram
    """From first arrived to delivered."""
    latency: Histogram
    """From submitted to delivered."""


@final
@dataclass(frozen=True, kw_only=True)
class Occupancy:
    """How many copies were where, by process; passing through in no time does not count."""

    sender_buffer_max: tuple[int, ...]
    """Submitted here, not yet transmitted."""
    receiver_buffer_max: tuple[int, ...]
    """Arrived here, not yet delivered."""
    in_transit_max: tuple[int, ...]
    """Transmitted by this sender, not yet arrived."""
    in_transit_mean: tuple[float, ...]
    """The same, on average over the time from the first to the last event."""


@final
@dataclass(frozen=True, kw_only=True)
class RunMeasures:
    """Everything that was measured in a run."""

    messages: int
    copies: int
    """Messages times targets, without copies to oneself."""
    delivered: int
    """Those of them that were delivered."""
    copies_to_self: int
    delivered_to_self: int
    unexpected: int
    """Deliveries of copies that did not exist or had been delivered before: 0, or a bug."""
    delays: Delays
    packets: tuple[PacketTotals, ...]
    occupancy: Occupancy
    makespan_ns: int
    """From the first submission to the last delivery."""

    @property
    def throughput(self) -> float:
        """Copies delivered per second of simulated time."""
        return per(self.delivered * 1_000_000_000, self.makespan_ns)

    @property
    def packets_total(self) -> int:
        """All packets transmitted."""
        return sum([totals.packets for totals in self.packets])

    @property
    def packets_per_message(self) -> float:
        """Packets transmitted for one message, on average."""
        return per(self.packets_total, self.messages)

    @property
    def control_per_message(self) -> float:
        """Packets without a message for one with, on average."""
        carrying = sum([totals.carrying for totals in self.packets])
        return per(self.packets_total - carrying, self.messages)

    @property
    def metadata_bytes_per_message(self) -> float:
        """Bytes that are not payload, in all packets together, for one message."""
        return per(sum([totals.metadata_bytes for totals in self.packets]), self.messages)


def per(total: int, count: int) -> float:
    """A ratio, or 0 if there is nothing to divide by."""
    return total / count if count else 0.0
