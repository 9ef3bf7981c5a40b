"""With a journal: which messages each task has in hand, and what confirms them.

A task that asks for the next message is done with what it took before. It is the task that *calls*
`receive()` that counts, not the one that runs it: `asyncio.wait_for` and `create_task` run it in a
task of its own, which ends with the message. Where it cannot be known what a task is done with,
nothing is confirmed: the message comes again after a restart, and a warning says so, once.
"""

import asyncio
import logging
from typing import Final
from weakref import WeakKeyDictionary

from antecede.durability.unconfirmed import InboundMessage, UnconfirmedDeliveries

log = logging.getLogger(__name__)


class InHand:
    """What one task has taken and not confirmed."""

    __slots__ = ("ambiguous", "messages")

    def __init__(self) -> None:
        self.messages: list[InboundMessage] = []
        self.ambiguous = False
        """Whether these came to several calls at a time."""


class Confirming:
    """What is in hand at one node."""

    def __init__(
        self,
        name: str,
        handling: UnconfirmedDeliveries,
        *,
        by_hand: bool,
    ) -> None:
        self._name: Final = name
        self.handling: Final = handling
        self._loop: Final = asyncio.get_running_loop()
        self._in_hand: WeakKeyDictionary[asyncio.Task[object], InHand] = WeakKeyDictionary()
        self.by_asking = not by_hand
        """Whether who asks for the next message is done with the one before."""
        self.by_returning: Final = not by_hand
        """Whether a handler that returns is done with its message."""
        self._has_warned = False
        self._ended = False

    def stop_by_asking(self) -> None:
        """From now on asking for the next message confirms nothing."""
        self.by_asking = False

    def ask(self) -> InHand | None:
        """The running task asks for a message; None if no task runs. To be called when it asks."""
        task = asyncio.current_task(self._loop)
        if task is None:
            return None
        in_hand = self._in_hand.get(task)
        if in_hand is None:
            in_hand = self._in_hand[task] = InHand()
            if self.by_asking and not self._ended:
                task.add_done_callback(self._task_has_ended)
        elif self.by_asking:
            if not in_hand.ambiguous:
                for message in in_hand.messages:
                    self.handling.confirm_here(message.number)
            in_hand.messages = []
            in_hand.ambiguous = False
        return in_hand

    def hand(self, in_hand: InHand | None, messages: list[InboundMessage]) -> None:
        """These are handed to whoever has asked."""
        if in_hand is None:
            in_hand = self.ask()  # Nobody that is known has: whoever runs.
        if in_hand is None or not messages:
            return
        if in_hand.messages and self.by_asking:
            in_hand.ambiguous = True
            self._warn("a task receives several times at once, so asking again confirms nothing")
            in_hand.messages = in_hand.messages + messages
        else:
            in_hand.messages = messages

    def number_in_hand(self) -> int:
        """The number of the message that whoever runs is handling, or 0."""
        task = asyncio.current_task(self._loop)
        if task is None:
            called_with = self.handling.in_hand
            return 0 if called_with is None else called_with.number
        in_hand = self._in_hand.get(task)
        return in_hand.messages[-1].number if in_hand is not None and in_hand.messages else 0

    def end(self) -> None:
        """The node is closed: tasks that go on have nothing to do with it."""
        self._ended = True
        for task in list(self._in_hand):
            task.remove_done_callback(self._task_has_ended)

    def _task_has_ended(self, task: "asyncio.Task[object]") -> None:
        in_hand = self._in_hand.pop(task, None)
        if in_hand is None or not self.by_asking or task.cancelled():
            return
        if any(self.handling.is_unconfirmed(message.number) for message in in_hand.messages):
            self._warn("a task has taken a message and ended, which confirms nothing")

    def _warn(self, what: str) -> None:
        if not self._has_warned:
            self._has_warned = True
            log.warning(
                "%s: %s: the message comes again when the node is opened next. Call message.done() "
                "when it is handled, or receive one at a time in a task that goes on, for "
                "instance with await node.receive(timeout=5)",
                self._name,
                what,
            )
