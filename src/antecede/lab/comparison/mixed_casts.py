"""Open-loop traffic in which a share of the messages goes to many at once."""

from typing import Final, final

from mypy_extensions import i64

from antecede.sim.workloads.open_loop import OpenLoop
from antecede.sim.workloads.workload import check_share

MULTICAST_MIN: Final = 2


@final
class MixedCasts(OpenLoop):
    """Poisson traffic to uniform peers, of which a share goes to many at once."""

    def __init__(
        self, processes: int, *, messages: int, interval_ns: int, share: float, seed: int
    ) -> None:
        super().__init__(
            processes,
            messages=messages,
            interval_ns=interval_ns,
            seed=seed,
            payload_bytes=0,
        )
        check_share("the multicast share", share)
        self._share: Final = share

    @property
    def multicasts(self) -> bool:
        return self._share > 0

    def targets(self, process: i64) -> list[int]:
        """So many others, any set of them equally likely (a shuffle that stops early)."""
        self._key_targets(process)
        count: i64 = 1
        if self.processes > MULTICAST_MIN + 1 and self._chance.unit() < self._share:
            count = MULTICAST_MIN + self._chance.below(self.processes - MULTICAST_MIN)
        others = [other for other in range(self.processes) if other != process]
        place: i64 = 0
        while place < count:
            chosen = place + self._chance.below(len(others) - place)
            others[place], others[chosen] = others[chosen], others[place]
            place += 1
        return others[:count]
