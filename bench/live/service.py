"""What a library with requests has to be able to do to be measured, and what is asked in a round.

There are two roles, in two processes: `serve` listens, says where, and replies to every request
with its payload; `ask` sends the requests. As in `peer`, the first byte of a payload says what it
is: plain, the begin of what counts, or the end.
"""

import asyncio
import time
from abc import abstractmethod
from collections.abc import Awaitable, Callable
from queue import SimpleQueue
from typing import Final, TypeAlias, final

from bench.live.peer import (
    BEGIN,
    END,
    PLAIN,
    ContestRun,
    Library,
    Played,
    ReceiveTally,
    payload_of,
)

TIMEOUT_S: Final = 10.0
"""Whoever asks waits at most 10 s for a reply."""

WARM_UP: Final = 2_000
"""Requests before the clock starts."""

Ask: TypeAlias = Callable[[bytes], Awaitable[object]]
"""Sends a request; awaited, it ends with the reply."""

Finish: TypeAlias = Callable[[], None]
Start: TypeAlias = Callable[[bytes, Finish], None]
"""Sends a request, and has the function called when the reply is there, in any thread."""


@final
class RequestLoad:
    """Requests for some seconds, a fixed number of them under way; the time of each is taken."""

    def __init__(self, size: int, seconds: float, under_way: int) -> None:
        self._size: Final = size
        self._plain: Final = payload_of(size)
        self._seconds: Final = seconds
        self._under_way: Final = under_way
        self._times_ns: Final[list[int]] = []
        self._until_ns = 0
        self._begin_ns = 0
        self._begin_cpu_ns = 0
        self._warming = 0
        self.elapsed_ns = 0
        """From the first request that counts to the last reply."""
        self.cpu_ns = 0
        """Processor time of this process meanwhile."""

    def __len__(self) -> int:
        return len(self._times_ns)

    def quantile_us(self, share: float) -> float:
        """The time that this share of all did not exceed, in microseconds."""
        ordered = sorted(self._times_ns)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] / 1000

    async def run(self, ask: Ask) -> None:
        """Send requests from as many tasks as are to be under way."""
        self._warming = WARM_UP
        await asyncio.gather(*(self._warm_up(ask) for _ in range(self._under_way)))
        await ask(payload_of(self._size, BEGIN))
        self._begin()
        await asyncio.gather(*(self._ask_on(ask) for _ in range(self._under_way)))
        self._end()
        await ask(payload_of(self._size, END))

    def run_by_callbacks(self, start: Start) -> None:
        """The same from one thread, where replies are told by calling something."""
        for _ in range(WARM_UP):
            self._wait_for_one(start, PLAIN)
        self._wait_for_one(start, BEGIN)
        self._begin()
        finished: SimpleQueue[int] = SimpleQueue()

        def send() -> None:
            start_ns = time.perf_counter_ns()
            start(self._plain, lambda: finished.put(time.perf_counter_ns() - start_ns))

        for _ in range(self._under_way):
            send()
        left = self._under_way
        while left:
            self._times_ns.append(finished.get(timeout=TIMEOUT_S))
            if time.perf_counter_ns() < self._until_ns:
                send()
            else:
                left -= 1
        self._end()
        self._wait_for_one(start, END)

    def _begin(self) -> None:
        self._begin_cpu_ns = time.process_time_ns()
        self._begin_ns = time.perf_counter_ns()
        self._until_ns = self._begin_ns + int(self._seconds * 1e9)

    def _end(self) -> None:
        self.elapsed_ns = time.perf_counter_ns() - self._begin_ns
        self.cpu_ns = time.process_time_ns() - self._begin_cpu_ns

    async def _warm_up(self, ask: Ask) -> None:
        while self._warming > 0:
            self._warming -= 1
            await ask(self._plain)

    async def _ask_on(self, ask: Ask) -> None:
        plain, times_ns, until_ns = self._plain, self._times_ns, self._until_ns
        end_ns = 0
        while end_ns < until_ns:
            start_ns = time.perf_counter_ns()
            await ask(plain)
            end_ns = time.perf_counter_ns()
            times_ns.append(end_ns - start_ns)

    def _wait_for_one(self, start: Start, kind: int) -> None:
        finished: SimpleQueue[None] = SimpleQueue()
        start(payload_of(self._size, kind), lambda: finished.put(None))
        finished.get(timeout=TIMEOUT_S)


class Service(Library):
    """A library that has requests and replies."""

    @abstractmethod
    def serve(self, stage: ContestRun, tally: ReceiveTally) -> Played:
        """Listen, reply to each request with its payload, and count them."""

    @abstractmethod
    def ask(self, stage: ContestRun, load: RequestLoad) -> Played:
        """Send the requests."""
