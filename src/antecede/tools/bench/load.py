"""What is sent in a round, and how it is counted: the same few lines of work for every library.

The first byte of a payload says what it is: plain, the begin of what counts (what came before was
for warming up), or the end. A receiver's loop so has one thing to test per message.
"""

import time
from collections.abc import Iterator
from itertools import repeat
from typing import Final, final

PLAIN: Final = 0
BEGIN: Final = 1
END: Final = 2

WARM_UP: Final = 2_000
"""Messages before the clock starts: connections, caches, congestion windows."""

CHUNK: Final = 256
"""Messages between two looks at the clock."""

PINGS_WARM_UP: Final = 200
PINGS_MAX: Final = 20_000


def payload_of(size: int, kind: int = PLAIN) -> bytes:
    """A payload of this size and kind."""
    return bytes([kind]) + b"x" * (size - 1)


@final
class Volley:
    """The payloads of one round, for as long as it lasts; counts them for itself."""

    def __init__(self, size: int, seconds: float, *, warm_s: float = 0.0, per_s: int = 0) -> None:
        self._size: Final = size
        self._seconds: Final = seconds
        self._warm_s: Final = warm_s
        self.per_s: Final = per_s
        """How many to send per second; 0: as many as go. Kept by whoever sends."""
        self.sent = 0
        """How many that count, the end included."""
        self.cpu_ns = 0
        """Processor time of this process while those were sent."""

    def __iter__(self) -> Iterator[bytes]:
        plain = payload_of(self._size)
        until = time.monotonic() + self._warm_s
        yield from repeat(plain, WARM_UP)
        while time.monotonic() < until:
            yield from repeat(plain, CHUNK)
        yield payload_of(self._size, BEGIN)
        begin_ns = time.process_time_ns()
        until = time.monotonic() + self._seconds
        while time.monotonic() < until:
            yield from repeat(plain, CHUNK)
            self.sent += CHUNK
        self.sent += 1
        yield payload_of(self._size, END)
        self.cpu_ns = time.process_time_ns() - begin_ns


@final
class Tally:
    """What the receiver of a volley counts."""

    def __init__(self) -> None:
        self.received = 0
        """How many that count, the end included."""
        self.elapsed_ns = 0
        self.cpu_ns = 0
        """Processor time of this process while those were received."""
        self._before = 0
        self._begin_ns = 0
        self._begin_cpu_ns = 0

    def mark(self, kind: int, count: int) -> bool:
        """A payload that is not plain has come, the `count`-th; whether it was the last one."""
        if kind == BEGIN:
            self._before = count
            self._begin_ns = time.perf_counter_ns()
            self._begin_cpu_ns = time.process_time_ns()
            return False
        self.elapsed_ns = time.perf_counter_ns() - self._begin_ns
        self.cpu_ns = time.process_time_ns() - self._begin_cpu_ns
        self.received = count - self._before
        return True


@final
class Stopwatch:
    """Round trips of one message at a time."""

    def __init__(self, size: int, seconds: float) -> None:
        self.ping: Final = payload_of(size)
        self.end: Final = payload_of(size, END)
        self._seconds: Final = seconds
        self._times_ns: list[int] = []

    def turns(self) -> Iterator[None]:
        """One turn for each ping to be sent and awaited; the time of each is taken."""
        for _ in range(PINGS_WARM_UP):
            yield
        times_ns = self._times_ns
        until_ns = time.perf_counter_ns() + int(self._seconds * 1e9)
        for _ in range(PINGS_MAX):
            start_ns = time.perf_counter_ns()
            yield
            end_ns = time.perf_counter_ns()
            times_ns.append(end_ns - start_ns)
            if end_ns > until_ns:
                return

    def quantile_us(self, share: float) -> float:
        """The round trip that this share of all did not exceed, in microseconds."""
        ordered = sorted(self._times_ns)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] / 1000

    def __len__(self) -> int:
        return len(self._times_ns)
