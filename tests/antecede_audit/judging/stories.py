"""Logs by hand: who sent what to whom, and who delivered it, in the order in which it is told."""

from antecede.eventlog import DELIVERED, NULL, SUBMITTED, EventLog
from antecede_audit.judging import MessageId

ALICE, BOB, CAROL, DAVE = range(4)
NAMES = {ALICE: "Alice", BOB: "Bob", CAROL: "Carol", DAVE: "Dave"}


class Story:
    """A log in the making; times are in microseconds and default to one more than the last."""

    def __init__(self) -> None:
        self.log = EventLog()
        self._now_us = 0
        self._sent: dict[int, int] = {}

    def send(self, sender: int, *targets: int, at: int | None = None) -> MessageId:
        """A new message of `sender`, one row per target."""
        sequence = self._sent.get(sender, 0) + 1
        self._sent[sender] = sequence
        time_ns = self._time_ns(at)
        for target in targets:
            self.log.append(sender, SUBMITTED, sender, sequence, target, NULL, NULL, time_ns, 0, 0)
        return MessageId(sender, sequence)

    def deliver(self, process: int, *messages: MessageId, at: int | None = None) -> None:
        """Deliver messages, one after the other."""
        for message in messages:
            time_ns = self._time_ns(at)
            sender, sequence = message
            self.log.append(
                process, DELIVERED, sender, sequence, process, NULL, NULL, time_ns, 0, 0
            )

    def _time_ns(self, at: int | None) -> int:
        self._now_us = self._now_us + 1 if at is None else at
        return self._now_us * 1000
