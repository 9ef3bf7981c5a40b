"""What the state of a process follows: messages buffered, permits missing, unacknowledged ones.

The number of processes stays the same, and what a process holds of one sort grows. One peer is so
far away that nothing which is sent to it arrives during a run. A process whose oldest message is
for that peer has everything behind it acknowledged and, if its state is what it should be, keeps
nothing of that.
"""

from typing import Final, final

from mypy_extensions import i64

from antecede.core.catalogue import ProtocolInfo
from antecede.lab.comparison.footprint import integers_in
from antecede.link.faults import Faults, SlowLink
from antecede.link.latency import Constant
from antecede.sim.engine import Simulation
from antecede.sim.workloads.workload import Agenda, Workload

ACKNOWLEDGED: Final = "acknowledged, behind one that is not"
UNACKNOWLEDGED: Final = "unacknowledged"
PERMITS: Final = "permits missing"
BUFFERED: Final = "buffered"
HOLDINGS: Final = (ACKNOWLEDGED, UNACKNOWLEDGED, PERMITS, BUFFERED)
"""What grows; it stands for the variables u, p and b of the paper's table, and for none of them."""

TALKER: Final = 0
FAR: Final = 1
LISTENER: Final = 2
OTHER: Final = 3
PROCESSES: Final = 4

DELAY_NS: Final = 1_000_000
FAR_NS: Final = 3_000_000_000_000
"""Nearly an hour: a run is over long before."""

STEP_NS: Final = 10_000
"""Between two messages of a run."""


@final
class Planned(Workload):
    """Messages to one target each, one after the other, as a list says: (sender, target)."""

    def __init__(self, sends: list[tuple[int, int]], pause_after: int) -> None:
        super().__init__(PROCESSES)
        self._sends: Final = sends
        self._pause_after: Final[i64] = pause_after
        self._next: i64 = 0

    def remaining(self) -> int:
        return len(self._sends) - int(self._next)

    def start(self, agenda: Agenda) -> None:
        agenda.wake(0, 0)

    def woken(self, token: i64, now_ns: i64, agenda: Agenda) -> None:
        sender, target = self._sends[self._next]
        self._next += 1
        agenda.submit(sender, [target], 0)
        if self._next < len(self._sends):
            pause_ns = 3 * DELAY_NS if self._next == self._pause_after else STEP_NS
            agenda.wake(now_ns + pause_ns, token)


def planned(holding: str, count: int) -> tuple[list[tuple[int, int]], int]:
    """Who sends to whom so that `count` are held of this sort, and who holds them."""
    if holding == ACKNOWLEDGED:
        return [(TALKER, FAR)] + [(TALKER, LISTENER)] * count, TALKER
    if holding == UNACKNOWLEDGED:
        return [(TALKER, FAR)] * count, TALKER
    if holding == PERMITS:
        return [(TALKER, FAR)] + [(TALKER, LISTENER)] * count, LISTENER
    # The listener may not pass on what it knows, so its messages to others wait.
    return [(TALKER, FAR), (TALKER, LISTENER)] + [(LISTENER, OTHER)] * count, LISTENER


def state_holding(info: ProtocolInfo, holding: str, count: int) -> int:
    """Integers in the state of a process that holds so many of this sort."""
    sends, holder = planned(holding, count)
    workload = Planned(sends, pause_after=2)
    faults = Faults(
        latency=Constant(DELAY_NS),
        fifo=info.network == "fifo",
        slow_links=(SlowLink(source=TALKER, target=FAR, extra_ns=FAR_NS),),
    )
    simulation = Simulation(info, workload, faults=faults, seed=1)
    simulation.run(until_ns=len(sends) * STEP_NS + 20 * DELAY_NS)
    return integers_in(simulation.hosts[holder].process.fingerprint())
