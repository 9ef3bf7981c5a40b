"""Open-loop traffic: every process sends at a steady rate, whatever happens.

The times between two messages of a process are exponential (a Poisson process). Nothing waits for
anything, so this is the traffic that overloads a slow protocol. `Poisson`: to uniform peers, a few
favourites each, or popular ones (Zipf); a share may be multicasts. `Broadcast`: to all others, as
in replicated state and chat rooms, and all that the classic causal broadcasts can carry.
"""

from abc import abstractmethod
from bisect import bisect_left
from typing import Final, final

from mypy_extensions import i64, mypyc_attr

from antecede.core.errors import LocalError
from antecede.network_model.keyed_random import WORKLOAD, KeyedRandom
from antecede_lab.simulator.workloads.workload import Agenda, Workload, check_share, check_traffic

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


@final
class Broadcast(OpenLoop):
    """`messages` in all, each process sending one to all others every `interval_ns` on average."""

    # Compiled, a constructor that is inherited from a class open to interpreted ones runs twice.
    def __init__(
        self,
        processes: int,
        *,
        messages: int,
        interval_ns: int,
        seed: int,
        payload_bytes: int = 64,
    ) -> None:
        super().__init__(
            processes,
            messages=messages,
            interval_ns=interval_ns,
            seed=seed,
            payload_bytes=payload_bytes,
        )

    @property
    def multicasts(self) -> bool:
        return self.processes > 2

    @property
    def broadcasts(self) -> bool:
        return True

    def targets(self, process: i64) -> list[int]:
        return [other for other in range(self.processes) if other != process]


@final
class Poisson(OpenLoop):
    """`messages` in all, each process sending one every `interval_ns` on average."""

    def __init__(
        self,
        processes: int,
        *,
        messages: int,
        interval_ns: int,
        seed: int,
        payload_bytes: int = 64,
        favourites: int = 0,
        zipf: float = 0.0,
        multicast: float = 0.0,
        fan_out: int = 3,
    ) -> None:
        super().__init__(
            processes,
            messages=messages,
            interval_ns=interval_ns,
            seed=seed,
            payload_bytes=payload_bytes,
        )
        check_peers(favourites, zipf, fan_out)
        check_share("the multicast share", multicast)
        self._favourites: Final[i64] = min(favourites, processes - 1)
        self._multicast: Final = multicast
        self._fan_out: Final[i64] = min(fan_out, processes - 1)
        self._popularity: Final = zipf_steps(processes, zipf)
        # The targets of every message to one process alone: one list for all of them.
        self._alone: Final = [[process] for process in range(processes)]

    @property
    def multicasts(self) -> bool:
        return self._multicast > 0 and self._fan_out > 1

    def targets(self, process: i64) -> list[int]:
        self._key_targets(process)
        if self._multicast > 0 and self._chance.unit() < self._multicast:
            return self._several(process)
        return self._alone[self._peer(process)]

    def _peer(self, process: i64) -> i64:
        """Somebody else."""
        if self._popularity:
            peer: i64 = bisect_left(self._popularity, self._chance.unit())
            return peer if peer != process else (peer + 1) % self.processes
        if self._favourites > 0:
            favourite = process + 1 + self._chance.below(self._favourites)
            return favourite if favourite < self.processes else favourite - self.processes
        return (process + 1 + self._chance.below(self.processes - 1)) % self.processes

    def _several(self, process: i64) -> list[int]:
        """Distinct others, `fan_out` of them unless chance repeats itself too often."""
        targets: list[int] = []
        tries: i64 = 0
        while len(targets) < self._fan_out and tries < 4 * self._fan_out:
            peer = self._peer(process)
            if peer not in targets:
                targets.append(peer)
            tries += 1
        return targets


def zipf_steps(processes: int, exponent: float) -> list[float]:
    """The cumulated popularity of processes 0, 1, 2, … falling like rank ** -exponent."""
    if exponent <= 0:
        return []
    weights = [float(rank) ** -exponent for rank in range(1, processes + 1)]
    total = sum(weights)
    steps: list[float] = []
    cumulated = 0.0
    for weight in weights:
        cumulated += weight / total
        steps.append(cumulated)
    steps[-1] = 1.0
    return steps


def check_peers(favourites: int, zipf: float, fan_out: int) -> None:
    """`LocalError` if the choice of peers makes no sense."""
    if favourites < 0 or not 0 <= zipf <= 10:
        raise LocalError(f"favourites {favourites} or zipf {zipf} is below 0, or zipf above 10")
    if favourites > 0 and zipf > 0:
        raise LocalError("choose favourite peers or Zipf, not both")
    if fan_out < 1:
        raise LocalError(f"a multicast needs a fan-out of at least one, not {fan_out}")
