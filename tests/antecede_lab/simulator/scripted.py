"""Workloads written out by hand, for tests that must know exactly what is sent."""

from dataclasses import dataclass, field

from antecede.core.packets import Message
from antecede_lab.simulator.workloads.workload import Agenda, Workload


@dataclass(frozen=True, kw_only=True)
class Line:
    """At `time_ns`, `sender` submits so many bytes to `targets`."""

    time_ns: int
    sender: int
    targets: list[int]
    payload_bytes: int = 8
    tag: int = -1


@dataclass(frozen=True)
class Seen:
    """What the workload was told about a delivery."""

    process: int
    sender: int
    sequence: int
    tag: int
    time_ns: int


@dataclass
class Notes:
    """What a scripted workload has seen."""

    deliveries: list[Seen] = field(default_factory=list)


class Scripted(Workload):
    """Sends exactly these lines and notes what is delivered."""

    def __init__(self, processes: int, lines: list[Line]) -> None:
        super().__init__(processes)
        self.lines = lines
        self.notes = Notes()

    @property
    def reacts(self) -> bool:
        return True

    @property
    def multicasts(self) -> bool:
        return any(len(line.targets) > 1 for line in self.lines)

    def start(self, agenda: Agenda) -> None:
        for number, line in enumerate(self.lines):
            agenda.wake(line.time_ns, number)

    def woken(self, token: int, now_ns: int, agenda: Agenda) -> None:
        line = self.lines[token]
        assert now_ns == line.time_ns
        agenda.submit(line.sender, line.targets, line.payload_bytes, line.tag)

    def delivered(
        self,
        process: int,
        message: Message,
        tag: int,
        now_ns: int,
        agenda: Agenda,  # noqa: ARG002 it only notes
    ) -> None:
        seen = Seen(process, message.sender, message.sequence, tag, now_ns)
        self.notes.deliveries.append(seen)


def one_message(time_ns: int = 0) -> Scripted:
    """Process 0 sends one message to process 1."""
    return Scripted(2, [Line(time_ns=time_ns, sender=0, targets=[1])])
