"""A network in memory: real endpoints, the simulator's fault model, and virtual time.

Datagrams meet the same faults as a simulated packet would, and, if asked for, a bottleneck: one
queue of limited length that drains at a limited rate, and drops what does not fit. Same seed, same
calls: the same run.
"""

from heapq import heappop, heappush
from typing import Final, final

from mypy_extensions import i64

from antecede.core.process import NEVER_NS
from antecede.endpoint.endpoint import Endpoint
from antecede.network_model.faults import Faults, FaultyNetwork


@final
class Bottleneck:
    """A queue that drains at `bytes_per_second` and holds at most `queue_bytes`."""

    __slots__ = ("_busy_until_ns", "bytes_per_second", "dropped", "queue_bytes")

    def __init__(self, bytes_per_second: int, queue_bytes: int) -> None:
        self.bytes_per_second: i64 = bytes_per_second
        self.queue_bytes: i64 = queue_bytes
        self.dropped: i64 = 0
        self._busy_until_ns: i64 = 0

    def pass_through(self, size: i64, now_ns: i64) -> i64:
        """When a datagram that comes now has gone through; -1 if there is no room for it."""
        start_ns = self._busy_until_ns if self._busy_until_ns > now_ns else now_ns
        queued = (start_ns - now_ns) * self.bytes_per_second // 1_000_000_000
        if queued + size > self.queue_bytes:
            self.dropped += 1
            return -1
        self._busy_until_ns = start_ns + size * 1_000_000_000 // self.bytes_per_second
        return self._busy_until_ns


@final
class MemoryNetwork:
    """Endpoints that talk to each other without sockets; an address is any string."""

    __slots__ = (
        "_arrivals",
        "_bottleneck",
        "_count",
        "_endpoints",
        "_faulty",
        "_places",
        "_seed",
        "largest",
        "now_ns",
    )

    def __init__(
        self, faults: Faults | None = None, seed: int = 1, bottleneck: Bottleneck | None = None
    ) -> None:
        self._seed: Final = seed
        self._faulty = FaultyNetwork(Faults() if faults is None else faults, seed)
        self._bottleneck: Final = bottleneck
        self._endpoints: dict[str, Endpoint] = {}
        # The order of attachment: faults depend on it, not on the address.
        self._places: dict[str, int] = {}
        self._arrivals: list[tuple[int, int, str, str, bytes]] = []
        self._count: i64 = 0
        self.now_ns: i64 = 1_000_000_000
        # Larger datagrams are lost.
        self.largest: i64 = 1 << 40

    def attach(self, address: str, endpoint: Endpoint) -> None:
        """From now on `endpoint` is what answers at `address`."""
        self._endpoints[address] = endpoint
        self.reserve(address)

    def change(self, faults: Faults) -> None:
        """From now on the network does this to datagrams."""
        self._faulty = FaultyNetwork(faults, self._seed)

    def reserve(self, address: str) -> None:
        """Give an address the next number: 0, 1, 2, …, by which faults speak of it."""
        self._places.setdefault(address, len(self._places))

    def detach(self, address: str) -> None:
        """Nobody answers at `address` any more, and what was on its way there is lost."""
        del self._endpoints[address]

    def collect(self, address: str) -> None:
        """Let the endpoint at `address` write, and take its datagrams onto the network."""
        endpoint = self._endpoints[address]
        endpoint.write(self.now_ns)
        for datagram in endpoint.out:
            self.carry(address, str(datagram.address), datagram.data)
        endpoint.out.clear()

    def carry(self, source: str, target: str, data: bytes) -> None:
        """Take one datagram onto the network."""
        if len(data) > self.largest:
            return
        self._count += 1
        left_ns = self.now_ns
        if self._bottleneck is not None:
            left_ns = self._bottleneck.pass_through(len(data), left_ns)
            if left_ns < 0:
                return
        faulty = self._faulty
        place = self._places.setdefault(source, len(self._places))
        to = self._places.setdefault(target, len(self._places))
        faulty.route(place, to, 0, self._count, left_ns)
        second_ns = faulty.second_ns
        if faulty.first_ns >= 0:
            heappush(self._arrivals, (faulty.first_ns, self._count, target, source, data))
        if second_ns >= 0:
            self._count += 1
            heappush(self._arrivals, (second_ns, self._count, target, source, data))

    def next_arrival_ns(self) -> i64:
        """When the next datagram arrives; `NEVER_NS` if none is on its way."""
        return self._arrivals[0][0] if self._arrivals else NEVER_NS

    def take_arrival(self) -> tuple[str, str, bytes]:
        """The next datagram: where it arrives, where it came from, and what it is."""
        _, _, target, source, data = heappop(self._arrivals)
        return target, source, data

    def next_ns(self) -> i64:
        """When something will happen next; `NEVER_NS` if nothing will."""
        soonest = self.next_arrival_ns()
        for endpoint in self._endpoints.values():
            wake_ns = endpoint.wake_ns()
            if wake_ns < soonest:
                soonest = wake_ns
        return soonest

    def step(self) -> bool:
        """Let time pass until something happens, and let it happen; False if nothing will."""
        next_ns = self.next_ns()
        if next_ns == NEVER_NS:
            return False
        self.advance_to(next_ns)
        touched: dict[str, bool] = {}
        while self._arrivals and self._arrivals[0][0] <= self.now_ns:
            _, _, target, source, data = heappop(self._arrivals)
            endpoint = self._endpoints.get(target)
            if endpoint is not None:
                endpoint.receive(source, data, self.now_ns)
                touched[target] = True
        for address, endpoint in self._endpoints.items():
            if endpoint.wake_ns() <= self.now_ns:
                endpoint.expire(self.now_ns)
                touched[address] = True
        for address in touched:
            self.collect(address)
        return True

    def advance_to(self, time_ns: i64) -> None:
        """Let time pass until then; it never runs back."""
        if time_ns > self.now_ns:
            self.now_ns = time_ns

    def run_for(self, duration_ns: int) -> None:
        """Let everything happen that will happen within `duration_ns`."""
        end_ns = self.now_ns + duration_ns
        while self.next_ns() <= end_ns:
            self.step()
        self.now_ns = end_ns
