"""What the proxy does to datagrams: the settings, and the decision about one datagram.

No socket and no clock here. The fate of a datagram depends on the seed, on the ordered pair it
travels between and on how many came before it on that pair, so a run can be repeated.
"""

from dataclasses import dataclass, fields
from typing import Any, Final, Self, final

from antecede.core.errors import LocalError, not_called
from antecede.network_model.faults import Faults, FaultyNetwork
from antecede.network_model.latency import Constant, Latency, Uniform

NS: Final = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """How bad the network is, the same for every link. The default passes everything on at once."""

    latency_ns: int = 0
    """The delay in one direction, or the least of it."""
    latency_ns_max: int = 0
    """If above `latency_ns`: delays are spread evenly between the two."""
    loss: float = 0.0
    duplication: float = 0.0
    reordering: float = 0.0
    """The share of datagrams that are late by up to `reordering_ns`."""
    reordering_ns: int = 0
    bytes_per_s: int = 0
    """The bottleneck of each link, in each direction; 0: there is none."""
    queue_bytes: int = 0
    """What waits at the bottleneck; beyond it datagrams are dropped."""
    datagram_bytes: int = 1 << 16
    """Larger datagrams vanish, as on a way whose packets are small and whose errors get lost."""

    @classmethod
    def of(cls, settings: dict[str, Any], base: Self | None = None) -> Self:
        """The settings by name, on top of `base`; `LocalError` for one that does not exist."""
        known = [field.name for field in fields(cls)]
        for name in settings:
            if name not in known:
                raise not_called("no condition", name, known)
        before = {} if base is None else {name: getattr(base, name) for name in known}
        conditions = cls(**{**before, **settings})
        conditions.check()
        return conditions

    def check(self) -> None:
        """`LocalError` if a field makes no sense."""
        self.faults().check()
        if self.bytes_per_s < 0 or self.queue_bytes < 0:
            raise LocalError("a bottleneck has a rate and a queue of at least 0 bytes")
        if self.datagram_bytes < 0:
            raise LocalError("datagrams have at least 0 bytes")
        if self.bytes_per_s > 0 and self.queue_bytes == 0:
            raise LocalError("a bottleneck needs queue_bytes: what may wait in front of it")

    def faults(self) -> Faults:
        """The same as the fault model of simulator and test network says it."""
        latency: Latency = Constant(self.latency_ns)
        if self.spread:
            latency = Uniform(self.latency_ns, self.latency_ns_max)
        return Faults(
            latency=latency,
            loss=self.loss,
            duplication=self.duplication,
            reordering=self.reordering,
            reordering_ns=self.reordering_ns,
        )

    @property
    def steady(self) -> bool:
        """Whether every datagram arrives once, after the same delay: chance plays no part."""
        return self.faults().lossless and not self.reordering and not self.spread

    @property
    def spread(self) -> bool:
        """Whether delays differ."""
        return self.latency_ns_max > self.latency_ns


@dataclass(slots=True)
class Counters:
    """What happened to the datagrams of one ordered pair. Plain numbers that only grow."""

    received: int = 0
    received_bytes: int = 0
    forwarded: int = 0
    forwarded_bytes: int = 0
    lost: int = 0
    doubled: int = 0
    overtaking: int = 0
    """Due before one that came in earlier; only counted where delays differ."""
    cut: int = 0
    oversized: int = 0
    """Dropped because they were larger than `datagram_bytes`."""
    overflowed: int = 0
    """Dropped because a queue was full: that of the bottleneck, or the proxy's own."""
    nowhere: int = 0
    """Dropped because nobody has said yet where the target is."""
    refused: int = 0
    """Dropped because the kernel would not take them."""

    def on_forwarded(self, size: int) -> None:
        """A datagram was passed on."""
        self.forwarded += 1
        self.forwarded_bytes += size

    def on_nowhere(self) -> None:
        """Nobody has said yet where the target is."""
        self.nowhere += 1

    def on_refused(self) -> None:
        """The kernel would not take a datagram."""
        self.refused += 1

    def on_overflow(self) -> None:
        """A queue was full."""
        self.overflowed += 1


@final
class DirectedLink:
    """One ordered pair as the datagrams on it see it: cut or not, and how long the queue is."""

    __slots__ = ("counters", "cut", "free_ns", "latest_ns", "source", "target")

    def __init__(self, source: int, target: int) -> None:
        self.source: Final = source
        self.target: Final = target
        self.cut = False
        self.free_ns = 0
        """When the bottleneck has passed on everything that waits at it."""
        self.latest_ns = 0
        """When the last of all datagrams so far is due."""
        self.counters: Final = Counters()

    def set_cut(self, cut: bool) -> None:
        """Nothing passes from now on, or everything again."""
        self.cut = cut


@final
class DatagramFate:
    """Decides what becomes of a datagram; the same seed and history give the same answers."""

    def __init__(self, conditions: Conditions, seed: int) -> None:
        self._seed: Final = seed
        self.change(conditions)

    def change(self, conditions: Conditions) -> None:
        """From now on the network is like this."""
        conditions.check()
        self.conditions = conditions
        self._network = FaultyNetwork(conditions.faults(), self._seed)
        self._steady = conditions.steady

    def arrivals(self, road: DirectedLink, size: int, now_ns: int) -> tuple[int, ...]:
        """When the copies of a datagram that comes in now arrive: none, one or two of them."""
        counters = road.counters
        counters.received += 1
        counters.received_bytes += size
        if road.cut:
            counters.cut += 1
            return ()
        conditions = self.conditions
        if size > conditions.datagram_bytes:
            counters.oversized += 1
            return ()
        if conditions.bytes_per_s > 0:
            if not self._queue_up(road, size, now_ns):
                counters.overflowed += 1
                return ()
            now_ns = road.free_ns
        if self._steady:
            return (now_ns + conditions.latency_ns,)
        network = self._network
        network.route(road.source, road.target, 0, counters.received, now_ns)
        first_ns, second_ns = int(network.first_ns), int(network.second_ns)
        if first_ns < 0:
            counters.lost += 1
            return ()
        if first_ns < road.latest_ns:
            counters.overtaking += 1
        else:
            road.latest_ns = first_ns
        if second_ns < 0:
            return (first_ns,)
        counters.doubled += 1
        return (first_ns, second_ns)

    def _queue_up(self, road: DirectedLink, size: int, now_ns: int) -> bool:
        """Wait at the bottleneck; False if there is no room."""
        rate = self.conditions.bytes_per_s
        free_ns = max(road.free_ns, now_ns)
        waiting_bytes = (free_ns - now_ns) * rate // NS
        if waiting_bytes + size > self.conditions.queue_bytes:
            return False
        road.free_ns = free_ns + size * NS // rate
        return True
