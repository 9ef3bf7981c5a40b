"""Measures a run while it goes on, in memory proportional to the copies that are under way.

What comes out are plain values: where the time went, what was sent, how full the buffers were.
"""

from dataclasses import dataclass
from typing import Final, final

from mypy_extensions import i64, mypyc_attr

from antecede.core.packets import Message, Packet
from antecede_lab.simulator.histogram import Histogram
from antecede_lab.simulator.observer import MetadataSize, Observer


@final
class Gauge:
    """A level that goes up and down; what it is for no time at all does not count."""

    __slots__ = ("_area", "_level", "_since_ns", "greatest")

    def __init__(self) -> None:
        self.greatest: i64 = 0
        self._level: i64 = 0
        self._since_ns: i64 = 0
        # Level times nanoseconds: a plain integer, because it need not fit 64 bits.
        self._area: int = 0

    def change(self, by: i64, now_ns: i64) -> None:
        """From now on there are `by` more."""
        if now_ns > self._since_ns:
            self.settle(now_ns)
        self._level += by

    def settle(self, now_ns: i64) -> None:
        """Take note of the level as it has been until now."""
        if self._level > self.greatest:
            self.greatest = self._level
        self._area += int(self._level) * int(now_ns - self._since_ns)
        self._since_ns = now_ns

    def mean(self, span_ns: int) -> float:
        """The mean level over a span that covers all changes settled so far."""
        return 0.0 if span_ns <= 0 else self._area / span_ns


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


NOT_YET: Final = -1


@final
@mypyc_attr(acyclic=True)
class MeteredCopy:
    """A message on its way to one target: the instants of it that have passed."""

    __slots__ = ("arrived_ns", "submitted_ns", "transmitted_ns")

    def __init__(self, submitted_ns: i64) -> None:
        self.submitted_ns: Final[i64] = submitted_ns
        self.transmitted_ns: i64 = NOT_YET
        self.arrived_ns: i64 = NOT_YET


@final
class KindCount:
    """What was transmitted of one kind of packet."""

    __slots__ = ("carrying", "integers", "metadata_bytes", "packets", "payload_bytes")

    def __init__(self) -> None:
        self.packets: i64 = 0
        self.carrying: i64 = 0
        self.payload_bytes: i64 = 0
        self.metadata_bytes: i64 = 0
        self.integers: i64 = 0


@final
class Meter(Observer):
    """Watches a run of `processes` processes; `measures` tells what it has seen so far."""

    def __init__(self, processes: int, metadata_size: MetadataSize) -> None:
        self._processes: Final = processes
        self._metadata_size: Final = metadata_size
        self._copies: Final[dict[int, MeteredCopy]] = {}
        self._kinds: Final[dict[str, KindCount]] = {}
        self._sender_wait: Final = Histogram()
        self._channel: Final = Histogram()
        self._receiver_wait: Final = Histogram()
        self._latency: Final = Histogram()
        self._unsent: Final = [Gauge() for _ in range(processes)]
        self._in_transit: Final = [Gauge() for _ in range(processes)]
        self._undelivered: Final = [Gauge() for _ in range(processes)]
        self._messages: i64 = 0
        self._submitted: i64 = 0
        self._submitted_to_self: i64 = 0
        self._delivered_to_self: i64 = 0
        self._unexpected: i64 = 0
        self._first_ns: i64 = NOT_YET
        self._delivered_ns: i64 = 0
        self._now_ns: i64 = 0

    # What happens.

    def submitted(self, process: i64, message: Message, targets: list[int], now_ns: i64) -> None:
        if self._first_ns == NOT_YET:
            self._first_ns = now_ns
        self._now_ns = now_ns
        self._messages += 1
        for target in targets:
            self._copies[self._key(message, target)] = MeteredCopy(now_ns)
            if target == process:
                self._submitted_to_self += 1
            else:
                self._submitted += 1
                self._unsent[process].change(1, now_ns)

    def transmitted(
        self,
        process: i64,  # noqa: ARG002 a relay may transmit what somebody else submitted
        target: i64,
        packet: Packet,
        number: i64,  # noqa: ARG002 copies count, not packets
        now_ns: i64,
    ) -> None:
        self._now_ns = now_ns
        message = packet.message
        self._count(packet, message)
        if message is None:
            return
        copy = self._copies.get(self._key(message, target))
        if copy is not None and copy.transmitted_ns == NOT_YET:
            copy.transmitted_ns = now_ns
            self._unsent[message.sender].change(-1, now_ns)
            self._in_transit[message.sender].change(1, now_ns)

    def arrived(
        self,
        process: i64,
        source: i64,  # noqa: ARG002 a relay may have sent what somebody else submitted
        packet: Packet,
        number: i64,  # noqa: ARG002 copies count, not packets
        now_ns: i64,
    ) -> None:
        self._now_ns = now_ns
        message = packet.message
        if message is None:
            return
        copy = self._copies.get(self._key(message, process))
        if copy is not None and copy.arrived_ns == NOT_YET:
            copy.arrived_ns = now_ns
            self._in_transit[message.sender].change(-1, now_ns)
            self._undelivered[process].change(1, now_ns)

    def delivered(self, process: i64, message: Message, now_ns: i64) -> None:
        self._now_ns = now_ns
        copy = self._copies.pop(self._key(message, process), None)
        if copy is None:
            self._unexpected += 1
            return
        self._delivered_ns = now_ns
        if process == message.sender:
            self._delivered_to_self += 1
            return
        self._latency.add(now_ns - copy.submitted_ns)
        if copy.arrived_ns != NOT_YET:
            self._undelivered[process].change(-1, now_ns)
            self._sender_wait.add(copy.transmitted_ns - copy.submitted_ns)
            self._channel.add(copy.arrived_ns - copy.transmitted_ns)
            self._receiver_wait.add(now_ns - copy.arrived_ns)
        elif copy.transmitted_ns != NOT_YET:
            self._in_transit[message.sender].change(-1, now_ns)
        else:
            self._unsent[message.sender].change(-1, now_ns)

    def _key(self, message: Message, target: i64) -> int:
        """One number for a copy; a plain integer, which has no greatest value."""
        processes = self._processes
        number = int(message.sequence) * processes + int(message.sender)
        return number * processes + int(target)

    def _count(self, packet: Packet, message: Message | None) -> None:
        kind = packet.kind
        count = self._kinds.get(kind)
        if count is None:
            count = KindCount()
            self._kinds[kind] = count
        count.packets += 1
        count.metadata_bytes += self._metadata_size.of(packet)
        count.integers += packet.metadata_integers
        if message is not None:
            count.carrying += 1
            count.payload_bytes += len(message.payload)

    # What has happened.

    def undelivered(self) -> list[tuple[int, int, int]]:
        """The copies that are still under way, oldest first: sender, sequence, target."""
        found: list[tuple[int, int, int]] = []
        for key in self._copies:
            message, target = divmod(key, self._processes)
            sequence, sender = divmod(message, self._processes)
            found.append((sender, sequence, target))
        return found

    def measures(self) -> RunMeasures:
        """What was measured until now."""
        return RunMeasures(
            messages=self._messages,
            copies=self._submitted,
            delivered=self._latency.count,
            copies_to_self=self._submitted_to_self,
            delivered_to_self=self._delivered_to_self,
            unexpected=self._unexpected,
            delays=Delays(
                sender_wait=self._sender_wait,
                channel=self._channel,
                receiver_wait=self._receiver_wait,
                latency=self._latency,
            ),
            packets=self._packet_totals(),
            occupancy=self._occupancy(),
            makespan_ns=max(0, self._delivered_ns - max(0, self._first_ns)),
        )

    def _packet_totals(self) -> tuple[PacketTotals, ...]:
        return tuple(
            [
                PacketTotals(
                    kind=kind,
                    packets=count.packets,
                    carrying=count.carrying,
                    payload_bytes=count.payload_bytes,
                    metadata_bytes=count.metadata_bytes,
                    metadata_integers=count.integers,
                )
                for kind, count in sorted(self._kinds.items(), key=kind_of)
            ]
        )

    def _occupancy(self) -> Occupancy:
        for gauges in (self._unsent, self._in_transit, self._undelivered):
            for gauge in gauges:
                gauge.settle(self._now_ns)
        span_ns = int(self._now_ns) - max(0, int(self._first_ns))
        return Occupancy(
            sender_buffer_max=greatest(self._unsent),
            receiver_buffer_max=greatest(self._undelivered),
            in_transit_max=greatest(self._in_transit),
            in_transit_mean=tuple([gauge.mean(span_ns) for gauge in self._in_transit]),
        )


def greatest(gauges: list[Gauge]) -> tuple[int, ...]:
    """The greatest level of each."""
    return tuple([int(gauge.greatest) for gauge in gauges])


def kind_of(entry: tuple[str, KindCount]) -> str:
    """The kinds of packets are listed in alphabetical order."""
    return entry[0]
