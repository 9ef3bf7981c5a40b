"""Two processes talk, and each reports every turn to a third: how long do the reports wait?

On delivery of the other's word a process first sends a report to the third process, then its own
word to the other. Every report depends on the one before it, which another process sent. Whoever
buffers at the sender until what a message depends on is delivered, but lets words overtake
reports, falls further behind with every turn: words take half a round trip, reports one and a half.
"""

from dataclasses import dataclass
from typing import Final, final

from mypy_extensions import i64

from antecede.core.catalogue import ProtocolInfo
from antecede.core.values import Message
from antecede.lab.comparison.copy_times import CopyTimes
from antecede.link.faults import Faults
from antecede.link.latency import Constant
from antecede.sim.engine import Simulation
from antecede.sim.workloads.workload import Agenda, Workload

ONE_WAY_NS: Final = 1_000_000
RTT_NS: Final = 2 * ONE_WAY_NS

LISTENER: Final = 2
WORD: Final = 1
"""The third process, and the tag of what the two say to each other."""


@final
@dataclass(frozen=True, kw_only=True)
class Waits:
    """The longest wait at a sender, in RTTs, and divided by one more than what was ahead."""

    longest: float
    per_buffered: float


@final
class Conversation(Workload):
    """`turns` of two processes, each with a report to a third one."""

    def __init__(self, turns: int) -> None:
        super().__init__(3)
        self._left: i64 = turns

    @property
    def reacts(self) -> bool:
        return True

    def remaining(self) -> int:
        return self._left

    def start(self, agenda: Agenda) -> None:
        agenda.wake(0, 0)

    def woken(self, token: i64, now_ns: i64, agenda: Agenda) -> None:
        self._speak(token, agenda)

    def delivered(
        self, process: i64, message: Message, tag: i64, now_ns: i64, agenda: Agenda
    ) -> None:
        if tag == WORD:
            self._speak(process, agenda)

    def _speak(self, process: i64, agenda: Agenda) -> None:
        if self._left > 0:
            self._left -= 1
            agenda.submit(process, [LISTENER], 0)
            agenda.submit(process, [1 - process], 0, WORD)


def conversation_waits(info: ProtocolInfo, turns: int) -> Waits:
    """Hold the conversation; nothing about it is left to chance."""
    times = CopyTimes(3)
    Simulation(
        info,
        Conversation(turns),
        faults=Faults(latency=Constant(ONE_WAY_NS), fifo=info.network == "fifo"),
        seed=1,
        observers=[times],
    ).run()
    waits = [(copy.sender_wait_ns(), int(copy.ahead)) for copy in times.finished()]
    return Waits(
        longest=max([wait for wait, _ in waits]) / RTT_NS,
        per_buffered=max([wait / (1 + ahead) for wait, ahead in waits]) / RTT_NS,
    )
