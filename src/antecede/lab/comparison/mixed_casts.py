"""Open-loop traffic in which a share of the messages goes to many at once."""

from typing import Final, final

from mypy_extensions import i64

from antecede.link.keyed_random import WORKLOAD, KeyedRandom
from antecede.sim.workloads.workload import Agenda, Workload, check_share, check_traffic

TARGETS: Final = 1
"""Keys the draw of targets, apart from that of the waiting time."""

MULTICAST_MIN: Final = 2


@final
class MixedCasts(Workload):
    """Poisson traffic to uniform peers, of which a share goes to many at once."""

    def __init__(
        self, processes: int, *, messages: int, interval_ns: int, share: float, seed: int
    ) -> None:
        super().__init__(processes)
        check_traffic(processes, messages, interval_ns, 0)
        check_share("the multicast share", share)
        self._left: i64 = messages
        self._mean_ns: Final = float(interval_ns)
        self._share: Final = share
        self._chance: Final = KeyedRandom(seed, WORKLOAD)
        self._sent: Final = [0] * processes

    @property
    def multicasts(self) -> bool:
        return self._share > 0

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
        self._chance.key(token, self._sent[token], TARGETS)
        count: i64 = 1
        if self.processes > MULTICAST_MIN + 1 and self._chance.unit() < self._share:
            count = MULTICAST_MIN + self._chance.below(self.processes - MULTICAST_MIN)
        agenda.submit(token, self._others(token, count), 0)
        if self._left > 0:
            self._wait(token, now_ns, agenda)

    def _others(self, process: i64, count: i64) -> list[int]:
        """So many others, any set of them equally likely (a shuffle that stops early)."""
        others = [other for other in range(self.processes) if other != process]
        place: i64 = 0
        while place < count:
            chosen = place + self._chance.below(len(others) - place)
            others[place], others[chosen] = others[chosen], others[place]
            place += 1
        return others[:count]

    def _wait(self, process: i64, now_ns: i64, agenda: Agenda) -> None:
        self._chance.key(process, self._sent[process])
        agenda.wake(now_ns + i64(self._chance.exponential(self._mean_ns)), process)
