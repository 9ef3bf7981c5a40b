"""Open-loop traffic: every process sends at a steady rate, whatever happens.

What is sent to whom is the business of a subclass; when, of this one: the times between two
messages of a process are exponential (a Poisson process).
"""

from abc import abstractmethod
from typing import Final, final

from mypy_extensions import i64, mypyc_attr

from antecede.network_model.keyed_random import WORKLOAD, KeyedRandom
from antecede_lab.simulator.workloads.workload import Agenda, Workload, check_traffic

TARGETS: Final = 1
"""Keys the draw of targets, apart from that of the waiting time."""


@final
class Sender:
    """One process's part of the traffic: how many messages it has sent."""

    __slots__ = ("sent",)

    def __init__(self) -> None:
        self.sent: i64 = 0


@mypyc_attr(allow_interpreted_subclasses=True)
class OpenLoop(Workload):
    """`messages` in all, each process sending one every `interval_ns` on average."""

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
        self._senders: Final = [Sender() for _ in range(processes)]
        # How many messages there are, with the next one, of the process whose turn it is.
        self._count: i64 = 0

    @abstractmethod
    def targets(self, process: i64) -> list[int]:
        """Whom the next message of a process goes to; `_key_targets` keys what is drawn for it."""

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
        sender = self._senders[token]
        sender.sent += 1
        self._count = sender.sent
        agenda.submit(token, self.targets(token), self._payload_bytes)
        if self._left > 0:
            self._wait(token, now_ns, agenda)

    def _key_targets(self, process: i64) -> None:
        self._chance.key(process, self._count, TARGETS)

    def _wait(self, process: i64, now_ns: i64, agenda: Agenda) -> None:
        self._chance.key(process, self._count)
        agenda.wake(now_ns + i64(self._chance.exponential(self._mean_ns)), process)
