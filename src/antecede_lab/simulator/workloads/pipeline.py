"""A pipeline: items enter at the first stage, and every stage hands what it gets to the next.

Each process is a stage and talks to one other only, so causal order costs nothing that FIFO does
not; what a protocol adds here is pure overhead.
"""

from typing import Final, final

from mypy_extensions import i64

from antecede.core.packets import Message
from antecede.network_model.keyed_random import WORKLOAD, KeyedRandom
from antecede_lab.simulator.workloads.workload import Agenda, Workload, check_traffic


@final
class Pipeline(Workload):
    """`items` go through all `stages`, a new one every `interval_ns` on average."""

    def __init__(
        self, stages: int, *, items: int, interval_ns: int, seed: int, payload_bytes: int = 64
    ) -> None:
        check_traffic(stages, items, interval_ns, payload_bytes)
        super().__init__(stages)
        self._items: Final[i64] = items
        self._entered: i64 = 0
        self._mean_ns: Final = float(interval_ns)
        self._payload_bytes: Final[i64] = payload_bytes
        self._chance: Final = KeyedRandom(seed, WORKLOAD)

    @property
    def reacts(self) -> bool:
        return True

    def remaining(self) -> int:
        return self._items - self._entered

    def start(self, agenda: Agenda) -> None:
        self._wait(0, agenda)

    def woken(self, token: i64, now_ns: i64, agenda: Agenda) -> None:
        self._entered += 1
        agenda.submit(0, [1], self._payload_bytes, token)
        if self._entered < self._items:
            self._wait(now_ns, agenda)

    def delivered(
        self, process: i64, message: Message, tag: i64, now_ns: i64, agenda: Agenda
    ) -> None:
        if tag >= 0 and process + 1 < self.processes:
            agenda.submit(process, [process + 1], len(message.payload), tag)

    def _wait(self, now_ns: i64, agenda: Agenda) -> None:
        self._chance.key(self._entered)
        agenda.wake(now_ns + i64(self._chance.exponential(self._mean_ns)), self._entered)
