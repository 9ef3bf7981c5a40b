"""The receive buffer of protocols that deliver a message when what it depends on is delivered.

Each held packet says once what it still misses, as pairs (process, count): "that process's messages
up to this one". The room keeps a list of who waits per process, so a delivery costs what it wakes,
not a scan of the buffer. Packets that become ready in one step come out by order of arrival, which
is the order in which a scan from the start would find them, whatever the protocol.
"""

from heapq import heappop, heappush
from typing import ClassVar, Final, Generic, TypeVar, final

from mypy_extensions import i64

from antecede.core.errors import RemoteError
from antecede.core.packets import Packet

RECEIVE_LIMIT: Final = 1 << 16
"""Packets of one source that may wait; on a reliable network a refused one never comes again."""

Held = TypeVar("Held", bound=Packet)


@final
class BufferedMessage(Generic[Held]):
    """A held packet, and how many things it misses."""

    MADE_OF: ClassVar = ("packet", "source", "number", "arrival", "missing")

    __slots__ = ("arrival", "missing", "number", "packet", "source")

    def __init__(self, packet: Held, source: int, number: int, arrival: i64, missing: i64) -> None:
        self.packet: Final = packet
        self.source: Final = source
        self.number: Final = number
        self.arrival: Final[i64] = arrival
        self.missing: i64 = missing


@final
class ReceiveBuffer(Generic[Held]):
    """Holds packets, known by their source and a number that source gave them, until ready."""

    MADE_OF: ClassVar = ("limit",)

    __slots__ = ("_next_arrival", "_numbers", "_ready", "_until", "_waiters", "limit")

    def __init__(self, limit: i64) -> None:
        self.limit: Final[i64] = limit
        self._next_arrival: i64 = 0
        self._waiters: dict[int, BufferedMessage[Held]] = {}
        self._numbers: dict[int, dict[int, bool]] = {}
        self._until: dict[int, list[tuple[int, int]]] = {}
        self._ready: list[int] = []

    def check_new(self, source: int, number: int) -> None:
        """`RemoteError` if that packet is here already."""
        numbers = self._numbers.get(source)
        if numbers is not None and number in numbers:
            raise RemoteError(f"message {number} of {source} came twice")

    def has(self, source: int, number: int) -> bool:
        """Whether that packet is here."""
        numbers = self._numbers.get(source)
        return numbers is not None and number in numbers

    def count(self, source: int) -> int:
        """How many packets of `source` are here."""
        numbers = self._numbers.get(source)
        return 0 if numbers is None else len(numbers)

    def hold(self, packet: Held, source: int, number: int, missing: list[tuple[int, int]]) -> None:
        """Keep `packet` until all that is `missing` is reached; `RemoteError` if it is too much."""
        numbers = self._numbers.get(source)
        if numbers is None:
            numbers = {}
        if len(numbers) >= self.limit:
            raise RemoteError(f"{self.limit} messages of {source} wait for others already")
        numbers[number] = True
        self._numbers[source] = numbers
        arrival = self._next_arrival
        self._next_arrival += 1
        self._waiters[arrival] = BufferedMessage(packet, source, number, arrival, len(missing))
        for process, count in missing:
            heap = self._until.get(process)
            if heap is None:
                heap = self._until[process] = []
            heappush(heap, (count, arrival))

    def reached(self, process: int, count: int) -> None:
        """The messages of `process` up to `count` are delivered: note who waited for them."""
        heap = self._until.get(process)
        if heap is None:
            return
        while heap and heap[0][0] <= count:
            waiter = self._waiters[heappop(heap)[1]]
            waiter.missing -= 1
            if waiter.missing == 0:
                heappush(self._ready, waiter.arrival)
        if not heap:
            del self._until[process]

    def next_ready(self) -> Held | None:
        """Take out the packet that arrived first among those that miss nothing."""
        if not self._ready:
            return None
        waiter = self._waiters.pop(heappop(self._ready))
        numbers = self._numbers[waiter.source]
        del numbers[waiter.number]
        if not numbers:
            del self._numbers[waiter.source]
        return waiter.packet

    def state(self) -> list[Held]:
        """Equal states, equal lists: who waits for what follows from it."""
        return self.packets()

    def packets(self) -> list[Held]:
        """What is held, by order of arrival."""
        return [waiter.packet for waiter in self._waiters.values()]
