"""Everybody tells everybody: open-loop Poisson traffic in which every message goes to all others.

The traffic of replicated state and of chat rooms, and the only one that the classic causal
broadcasts (BSS, Newtop) can carry.
"""

from typing import Final, final

from mypy_extensions import i64

from antecede.link.keyed_random import WORKLOAD, KeyedRandom
from antecede.sim.workloads.workload import Agenda, Workload, check_traffic


@final
class Broadcast(Workload):
    """`messages` in all, each process sending one to all others every `interval_ns` on average."""

    def __init__(
        self,
        processes: int,
        *,
        messages: int,
        interval_ns: int,
        seed: int,
        payload_bytes: int = 64,
    ) -> None:
        check_traffic(processes, messages, interval_ns, payload_bytes)
        super().__init__(processes)
        self._left: i64 = messages
        self._mean_ns: Final = float(interval_ns)
        self._payload_bytes: Final[i64] = payload_bytes
        self._chance: Final = KeyedRandom(seed, WORKLOAD)
        self._sent: Final = [0] * processes

    @property
    def multicasts(self) -> bool:
        return self.processes > 2

    @property
    def broadcasts(self) -> bool:
        return True

    def remaining(self) -> int:
        return self._left

    def start(self, agenda: Agenda) -> None:
        process: i64 = 0
        while process < self.processes:
            self._wait(process, 0, agenda)
            process += 1

    def woken(self, token: i64, now_ns: i64, agenda: Agenda) -> None:
        if self._left <= 0:
            return
        self._left -= 1
        self._sent[token] += 1
        others = [process for process in range(self.processes) if process != token]
        agenda.submit(token, others, self._payload_bytes)
        if self._left > 0:
            self._wait(token, now_ns, agenda)

    def _wait(self, process: i64, now_ns: i64, agenda: Agenda) -> None:
        self._chance.key(process, self._sent[process])
        agenda.wake(now_ns + i64(self._chance.exponential(self._mean_ns)), process)
