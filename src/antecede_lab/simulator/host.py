"""One simulated process: the protocol object, and what its driver has to remember about it."""

from typing import Final, final

from mypy_extensions import i64

from antecede.core.packets import Message, Packet
from antecede.core.process import NEVER_NS, CausalProcess
from antecede.core.sliding import SlidingArray
from antecede_lab.simulator.workloads.workload import Submission


@final
class Arrived:
    """A packet that came while its process was busy."""

    __slots__ = ("packet", "source")

    def __init__(self, source: i64, packet: Packet) -> None:
        self.source: Final[i64] = source
        self.packet: Final = packet


@final
class Host:
    """A process and its place in the simulation."""

    __slots__ = ("blocked", "handling", "id", "inbox", "process", "submitted", "timer_ns")

    def __init__(self, number: i64, process: CausalProcess) -> None:
        self.id: Final[i64] = number
        self.process: Final = process
        self.submitted: i64 = 0
        self.timer_ns: i64 = NEVER_NS
        # Submissions that the protocol had no room for; delivered messages not yet handled, and
        # packets that wait for that. None until there is one: most runs have none.
        self.blocked: SlidingArray[Submission] | None = None
        self.handling: SlidingArray[Message] | None = None
        self.inbox: SlidingArray[Arrived] | None = None

    def busy(self) -> bool:
        """Whether a delivered message is being handled."""
        return self.handling is not None and self.handling.first < self.handling.next
