"""The fault model: what a network may do to a packet. Every fault is a named field.

One model serves the simulator, the in-memory test network and the lossy proxy. For each packet it
says when copies of it arrive: none if it is lost, two if it is duplicated. It knows no clock:
`now_ns` is an argument.
"""

from dataclasses import dataclass
from typing import Final, final

from mypy_extensions import i64

from antecede.core.errors import LocalError
from antecede.network_model.keyed_random import NETWORK, KeyedRandom, threshold_of
from antecede.network_model.latency import DELAY_NS_MAX, Constant, Latency

DELAY: Final = 0
FATE: Final = 1
COPY: Final = 2
"""What is drawn for a packet: its delay, what happens to it, and the delay of a duplicate.

Each is a stream of its own, so that a fault that is switched on leaves the rest as it was.
"""

RECOVERY_MAX: Final = 1000.0
LOSS_MAX: Final = 0.9
"""Limits of recovery: at most 1,000 round trips, and a loss of at most 90 %, so that every packet
arrives in the end."""

STREAMS: Final = 4
"""There are 3 streams; keys leave room for a fourth."""

ONE_MILLISECOND: Final = Constant(1_000_000)


@final
@dataclass(frozen=True, kw_only=True)
class Partition:
    """From `start_ns` until `end_ns`, nothing passes between `island` and everybody else."""

    start_ns: int
    end_ns: int
    island: frozenset[int]

    def separates(self, source: i64, target: i64, now_ns: i64) -> bool:
        """Whether a packet that leaves now is cut off."""
        if now_ns < self.start_ns or now_ns >= self.end_ns:
            return False
        return (source in self.island) != (target in self.island)


@final
@dataclass(frozen=True, kw_only=True)
class CutLink:
    """From `start_ns` until `end_ns`, `source` cannot reach `target`; the other direction works."""

    start_ns: int
    end_ns: int
    source: int
    target: int

    def separates(self, source: i64, target: i64, now_ns: i64) -> bool:
        """Whether a packet that leaves now is cut off."""
        if now_ns < self.start_ns or now_ns >= self.end_ns:
            return False
        return source == self.source and target == self.target


@final
@dataclass(frozen=True, kw_only=True)
class SlowLink:
    """From `source` to `target` everything takes `extra_ns` longer."""

    source: int
    target: int
    extra_ns: int


@final
@dataclass(frozen=True, kw_only=True)
class DelayJump:
    """From `start_ns` until `end_ns`, everything that leaves takes `extra_ns` longer."""

    start_ns: int
    end_ns: int
    extra_ns: int


@final
@dataclass(frozen=True, kw_only=True)
class Faults:
    """What the network does. The default loses, duplicates and delays nothing but by `latency`."""

    latency: Latency = ONE_MILLISECOND
    fifo: bool = False
    loss: float = 0.0
    recovery: float = 0.0
    """After how many round trips a layer below the protocol sends a lost packet again; 0: never. A
    round trip is taken to be twice as long as the packet itself was under way."""
    duplication: float = 0.0
    reordering: float = 0.0
    reordering_ns: int = 0
    faults_until_ns: int = 1 << 62
    partitions: tuple[Partition, ...] = ()
    cut_links: tuple[CutLink, ...] = ()
    slow_links: tuple[SlowLink, ...] = ()
    delay_jumps: tuple[DelayJump, ...] = ()

    def check(self) -> None:
        """`LocalError` if a field makes no sense."""
        for name in ("loss", "duplication", "reordering"):
            probability = getattr(self, name)
            if not 0 <= probability <= 1:
                raise LocalError(f"{name} {probability} is not a probability")
        if not 0 <= self.recovery <= RECOVERY_MAX:
            raise LocalError(f"recovery after {self.recovery} round trips: 0 to {RECOVERY_MAX}")
        if self.recovery > 0 and self.loss > LOSS_MAX:
            raise LocalError(f"nothing recovers from the loss of more than {LOSS_MAX:.0%}")
        if not 0 <= self.reordering_ns <= DELAY_NS_MAX:
            raise LocalError(f"reordering_ns {self.reordering_ns} is outside 0 to {DELAY_NS_MAX}")
        if self.fifo and self.reordering:
            raise LocalError("a FIFO network does not reorder")
        if self.reordering > 0 and self.reordering_ns == 0:
            raise LocalError("reordering needs reordering_ns: by how much packets are late")
        for partition in self.partitions:
            if not 0 <= partition.start_ns <= partition.end_ns:
                raise LocalError("a partition ends before it starts, or starts before the run")
        for cut in self.cut_links:
            if not 0 <= cut.start_ns <= cut.end_ns:
                raise LocalError("a link is cut for less than no time, or before the run")
        for jump in self.delay_jumps:
            if not 0 <= jump.start_ns <= jump.end_ns or not 0 <= jump.extra_ns <= DELAY_NS_MAX:
                raise LocalError("a jump of delays ends before it starts, or is too large")
        for link in self.slow_links:
            if not 0 <= link.extra_ns <= DELAY_NS_MAX:
                raise LocalError(
                    f"a slow link adds {link.extra_ns} ns, which is outside 0 to {DELAY_NS_MAX}"
                )

    @property
    def lossless(self) -> bool:
        """Whether every packet arrives exactly once."""
        lost = self.loss > 0 and self.recovery == 0
        cut = self.partitions or self.cut_links
        return not lost and self.duplication == 0 and not cut


@final
class LinkState:
    """What the network remembers of one ordered pair."""

    __slots__ = ("last_arrival_ns", "last_sequence")

    def __init__(self) -> None:
        self.last_arrival_ns: i64 = 0
        self.last_sequence: i64 = 0


@final
class FaultyNetwork:
    """Decides what becomes of a packet; the answer is in `first_ns` and `second_ns`."""

    __slots__ = (
        "_calm",
        "_chance",
        "_channels",
        "_disturbs",
        "_duplication",
        "_faults",
        "_jumps",
        "_latency",
        "_loss",
        "_remembers",
        "_reordering",
        "_slow",
        "first_ns",
        "second_ns",
    )

    def __init__(self, faults: Faults, seed: int) -> None:
        faults.check()
        self._faults: Final = faults
        self._latency: Final = faults.latency
        self._chance: Final = KeyedRandom(seed, NETWORK)
        self._loss: Final[i64] = threshold_of(faults.loss)
        self._duplication: Final[i64] = threshold_of(faults.duplication)
        self._reordering: Final[i64] = threshold_of(faults.reordering)
        self._slow: Final = {
            (link.source, link.target): link.extra_ns for link in faults.slow_links
        }
        self._jumps: Final = faults.delay_jumps
        self._disturbs: Final = faults.reordering > 0 or faults.loss > 0 or not faults.lossless
        self._remembers: Final = faults.fifo or faults.loss > 0 or not faults.lossless
        # Nothing can happen to a packet but its latency.
        self._calm: Final = not (self._disturbs or self._remembers or self._slow or self._jumps)
        self._channels: Final[dict[int, LinkState]] = {}
        # When the copies of the last routed packet arrive; -1: there is no such copy.
        self.first_ns: i64 = -1
        self.second_ns: i64 = -1

    def route(self, source: i64, target: i64, sequence: i64, number: i64, now_ns: i64) -> None:
        """Decide the fate of a packet that leaves now.

        `sequence` is that of the message it carries (0: control), `number` its own among all
        packets. The first copy of a message meets the same delay whatever else was sent before.
        """
        attempt: i64 = 0
        if sequence == 0:
            attempt = number
        if self._calm:
            self._chance.key(source * STREAMS + DELAY, target, sequence, attempt)
            self.first_ns = now_ns + self._latency.draw(source, target, self._chance)
            return
        faults = self._faults
        channel: LinkState | None = None
        if self._remembers:
            channel = self._channel(source, target)
            if 0 < sequence <= channel.last_sequence:
                attempt = number
            elif sequence > 0:
                channel.last_sequence = sequence
        self.first_ns = self._arrival_ns(DELAY, source, target, sequence, attempt, now_ns)
        self.second_ns = -1
        if self._disturbs and now_ns < faults.faults_until_ns:
            self._disturb(source, target, sequence, attempt, now_ns)
        if channel is not None and faults.fifo:
            self._line_up(channel)

    def is_cut(self, one: i64, other: i64, now_ns: i64) -> bool:
        """Whether nothing passes now from one to the other, or back."""
        faults = self._faults
        if now_ns >= faults.faults_until_ns:
            return False
        for partition in faults.partitions:
            if partition.separates(one, other, now_ns):
                return True
        for link in faults.cut_links:
            if link.separates(one, other, now_ns) or link.separates(other, one, now_ns):
                return True
        return False

    def _arrival_ns(
        self, stream: i64, source: i64, target: i64, sequence: i64, attempt: i64, now_ns: i64
    ) -> i64:
        chance = self._chance
        chance.key(source * STREAMS + stream, target, sequence, attempt)
        arrival_ns = now_ns + self._latency.draw(source, target, chance)
        if self._slow:
            arrival_ns += self._slow.get((int(source), int(target)), 0)
        for jump in self._jumps:
            if jump.start_ns <= now_ns < jump.end_ns:
                arrival_ns += jump.extra_ns
        return arrival_ns

    def _disturb(self, source: i64, target: i64, sequence: i64, attempt: i64, now_ns: i64) -> None:
        faults = self._faults
        chance = self._chance
        chance.key(source * STREAMS + FATE, target, sequence, attempt)
        delayed = chance.happens(self._reordering)
        repeated = chance.happens(self._duplication)
        lost = chance.happens(self._loss)
        if delayed:
            self.first_ns += i64(chance.unit() * float(faults.reordering_ns))
        if repeated:
            self.second_ns = self._arrival_ns(COPY, source, target, sequence, attempt, now_ns)
        if lost and faults.recovery > 0:
            self._recover(now_ns)
        elif lost:
            self.first_ns = self.second_ns
            self.second_ns = -1
        for partition in faults.partitions:
            if partition.separates(source, target, now_ns):
                self.first_ns = -1
                self.second_ns = -1
        for link in faults.cut_links:
            if link.separates(source, target, now_ns):
                self.first_ns = -1
                self.second_ns = -1

    def _recover(self, now_ns: i64) -> None:
        """The packet was lost: it arrives with the first retransmission that is not lost."""
        travel_ns = self.first_ns - now_ns
        patience_ns = i64(2.0 * self._faults.recovery * float(travel_ns))
        self.first_ns += patience_ns
        while self._chance.happens(self._loss):
            self.first_ns += patience_ns

    def _line_up(self, channel: LinkState) -> None:
        """On a FIFO network no packet overtakes another."""
        if self.first_ns >= 0:
            if self.first_ns < channel.last_arrival_ns:
                self.first_ns = channel.last_arrival_ns
            channel.last_arrival_ns = self.first_ns
        if self.second_ns >= 0:
            if self.second_ns < channel.last_arrival_ns:
                self.second_ns = channel.last_arrival_ns
            channel.last_arrival_ns = self.second_ns

    def _channel(self, source: i64, target: i64) -> LinkState:
        key = (source << 31) | target
        channel = self._channels.get(key)
        if channel is None:
            channel = LinkState()
            self._channels[key] = channel
        return channel
