"""Replays a workload table: every message leaves when all its causes have been delivered.

A message with causes leaves `delay_ns` after the last of them was delivered at its sender, one
without leaves `delay_ns` after the start. So a replay keeps the causality of what was recorded and
lets the protocol decide the times.

Messages that causes connect are a conversation: a request with everything that it leads to. A
replay notes how long each takes, from its first submission to its last delivery, because waiting
compounds: a reply that is late makes all that waits for it late.
"""

from collections.abc import Sequence
from typing import Final, final

from mypy_extensions import i64

from antecede.core.checks import PAYLOAD_LIMIT
from antecede.core.errors import LocalError
from antecede.core.packets import Message
from antecede_audit.eventlog.workload import WorkloadRow, check_workload
from antecede_lab.simulator.workloads.workload import Agenda, Workload

PROCESSES_LIMIT: Final = 1 << 20
"""Process ids are below this: every id up to the highest becomes a simulated process."""

DELAY_NS_LIMIT: Final = 1 << 60
"""Delays are below this (36 years), so that no sum of them overflows."""


@final
class PlannedMessage:
    """A row of the table, and how many of its causes are not delivered at its sender yet."""

    __slots__ = ("delay_ns", "missing", "payload_bytes", "sender", "targets")

    def __init__(self, row: WorkloadRow) -> None:
        self.sender: Final[i64] = row.sender
        self.targets: Final = list(row.targets)
        self.delay_ns: Final[i64] = row.delay_ns
        self.payload_bytes: Final[i64] = row.payload_bytes
        self.missing: i64 = 0


@final
class Replay(Workload):
    """The messages of a workload table; there are as many processes as the highest id asks for."""

    def __init__(self, rows: Sequence[WorkloadRow], *, processes: int = 0) -> None:
        check_replay(rows)
        super().__init__(max(processes, highest_process(rows) + 1))
        self._planned: Final = [PlannedMessage(row) for row in rows]
        # By cause and process: the rows that wait for its delivery there.
        self._effects: Final[dict[tuple[int, int], list[int]]] = {}
        self._left: i64 = len(rows)
        self._conversation_of: Final = conversations(rows)
        self._begun_ns: Final[dict[int, int]] = {}
        self._ended_ns: Final[dict[int, int]] = {}
        widths = [len(remote(planned)) for planned in self._planned]
        self._widest: Final = max(widths)
        self._narrowest: Final = min(widths)
        self._link_causes(rows)

    @property
    def reacts(self) -> bool:
        return True

    @property
    def multicasts(self) -> bool:
        return self._widest > 1

    @property
    def broadcasts(self) -> bool:
        return self._narrowest == self.processes - 1

    def conversation_times_ns(self) -> list[int]:
        """How long each conversation took that has begun and had a delivery, in order of beginning.

        One that is not over counts with its last delivery so far.
        """
        ended = self._ended_ns
        return [ended[one] - begun for one, begun in self._begun_ns.items() if one in ended]

    def remaining(self) -> int:
        return self._left

    def start(self, agenda: Agenda) -> None:
        for number, planned in enumerate(self._planned):
            if planned.missing == 0:
                agenda.wake(planned.delay_ns, number)

    def woken(self, token: i64, now_ns: i64, agenda: Agenda) -> None:
        planned = self._planned[token]
        conversation = self._conversation_of[token]
        if conversation not in self._begun_ns:
            self._begun_ns[conversation] = int(now_ns)
        self._left -= 1
        agenda.submit(planned.sender, planned.targets, planned.payload_bytes, token)

    def delivered(
        self, process: i64, message: Message, tag: i64, now_ns: i64, agenda: Agenda
    ) -> None:
        self._ended_ns[self._conversation_of[tag]] = int(now_ns)
        for number in self._effects.pop((int(tag), int(process)), []):
            planned = self._planned[number]
            planned.missing -= 1
            if planned.missing == 0:
                agenda.wake(now_ns + planned.delay_ns, number)

    def _link_causes(self, rows: Sequence[WorkloadRow]) -> None:
        number_of = {row.message_id: number for number, row in enumerate(rows)}
        for number, row in enumerate(rows):
            for cause in row.causes:
                self._planned[number].missing += 1
                key = number_of[cause], row.sender
                self._effects.setdefault(key, []).append(number)


def conversations(rows: Sequence[WorkloadRow]) -> list[int]:
    """For each row the number of the first row of its conversation."""
    number_of = {row.message_id: number for number, row in enumerate(rows)}
    first = list(range(len(rows)))
    for number, row in enumerate(rows):
        for cause in row.causes:
            one, other = root(first, number), root(first, number_of[cause])
            if one < other:
                first[other] = one
            else:
                first[one] = other
    return [root(first, number) for number in range(len(rows))]


def root(first: list[int], number: int) -> int:
    """The representative of a row; the way there is made shorter for those who follow."""
    while first[number] != number:
        first[number] = first[first[number]]
        number = first[number]
    return number


def remote(planned: PlannedMessage) -> list[int]:
    """The targets other than the sender."""
    return [target for target in planned.targets if target != planned.sender]


def highest_process(rows: Sequence[WorkloadRow]) -> int:
    """The highest process id in the table."""
    return max([max(row.sender, *row.targets) for row in rows])


def check_replay(rows: Sequence[WorkloadRow]) -> None:
    """`LocalError` if the table is empty, or no simulation can perform it."""
    if not rows:
        raise LocalError("there is nothing to replay: the workload has no rows")
    check_workload(rows)
    if highest_process(rows) >= PROCESSES_LIMIT:
        raise LocalError(f"process ids must be below {PROCESSES_LIMIT}: number them from 0")
    for row in rows:
        if row.payload_bytes > PAYLOAD_LIMIT:
            raise LocalError(
                f"message {row.message_id} has {row.payload_bytes} bytes; at most {PAYLOAD_LIMIT}"
            )
        if row.delay_ns >= DELAY_NS_LIMIT:
            raise LocalError(f"message {row.message_id} waits {row.delay_ns} ns: too long")
