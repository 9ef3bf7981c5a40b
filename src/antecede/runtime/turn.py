"""What a node does after every input: hand over, write, send or commit, set the timer.

Inputs are datagrams, the timer, a call of the application, and a commit that is on disk. Whatever
an input has changed shows at the end of its turn, and nowhere else: the messages it delivered are
handed over first, so that what the application answers leaves in one datagram with the
acknowledgements; then the time is read once, datagrams are written, and the committer lets them
show. The timer is set even if any of this fails.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from antecede.core.process import NEVER_NS
from antecede.endpoint.endpoint import Endpoint
from antecede.endpoint.receive_queue import FairReceiveQueue
from antecede.runtime.carriers.carrier import Carrier
from antecede.runtime.committer import Committer
from antecede.runtime.config.expulsion_policy import ExpulsionEnforcer
from antecede.runtime.deliveries import Deliveries
from antecede.runtime.notifier import Notifier
from antecede.runtime.observe.stalls import Stalls

READING_NS: Final = 100_000
MESSAGES: Final = 64
"""Queued datagrams are read, one round of peers after another, for at most 100 µs or until 64
messages wait to be handed over; then the socket is read again."""

PEERS_AT_ONCE: Final = 8
"""Datagrams to 8 peers are sent before others are written."""

AFTER_FAILURE_NS: Final = 100_000_000
"""After a failure the timer rings 100 ms later, rather than at once for ever."""

ASLEEP_NS: Final = 1_000_000_000
"""A timer that rings more than 1 s late means that the loop was blocked or the process stopped."""


class Turn:
    """What a carrier calls, and what calls of the application plan."""

    _deliveries: Deliveries
    _committer: Committer
    _enforcer: ExpulsionEnforcer
    _stalls: Stalls

    def __init__(self, endpoint: Endpoint, carrier: Carrier, progress: Notifier) -> None:
        self._endpoint: Final = endpoint
        self._carrier: Final = carrier
        self._progress: Final = progress
        self._loop: Final = asyncio.get_running_loop()
        self._now: Final = carrier.now_ns
        self._inbox: Final = endpoint.inbox
        self.queue: Final = FairReceiveQueue(endpoint)
        # On the way of every datagram: looked up once.
        self.on_datagram: Final = self.queue.receive
        self.on_joined: Final = self.queue.receive_joined
        self.is_queueing: Final = self.queue.has_waiting
        self.sender_of: Final = self.queue.sender_of
        self.is_over: Final = endpoint.is_over
        self.is_planned = False
        """Whether the end of a turn will come without being asked for."""
        # Whether more is read in a later pass of the loop, and whether something came meanwhile.
        self._reads_on = False
        self._came = False
        # When the timer was to ring: one that rings much later was asleep.
        self._wake_ns = NEVER_NS
        self._closed = False

    def begin(
        self,
        deliveries: Deliveries,
        committer: Committer,
        enforcer: ExpulsionEnforcer,
        stalls: Stalls,
    ) -> None:
        """From now on inputs are taken from the carrier."""
        self._deliveries = deliveries
        self._committer = committer
        self._enforcer = enforcer
        self._stalls = stalls
        self._carrier.start(self)

    def close(self) -> None:
        """Nothing is written and no timer is set any more."""
        self._closed = True

    # Inputs.

    def on_input_end(self, now_ns: int) -> None:
        """The carrier has passed on what had come: read for a while."""
        self._came = True
        self._run(self._read, now_ns)

    def on_time(self, now_ns: int) -> None:
        """The timer has rung."""
        self._run(self._expire, now_ns)

    def soon(self) -> None:
        """A call has changed something: one turn for all calls of this pass of the loop."""
        if not (self.is_planned or self._closed):
            self.is_planned = True
            self._loop.call_soon(self._on_calls)

    def changed(self) -> None:
        """A call has changed what others wait for: they are told now, and it shows soon."""
        if self._progress.waiters:
            self._progress.notify()
        self._committer.report_early()
        self.soon()

    def on_commit(self) -> None:
        """Messages may be among what is on disk now; what the application answers is a new turn."""
        self._hand_over()
        if self._progress.waiters:
            self._progress.notify()

    def _on_calls(self) -> None:
        if self.is_planned:  # Else another input has ended the turn.
            self.is_planned = False
            self._run(nothing, 0)

    def _run(self, step: Callable[[int], None], now_ns: int) -> None:
        """One input, and the end of its turn."""
        if self._closed:
            return
        planned, self.is_planned = self.is_planned, True  # What is called here need not plan it.
        try:
            step(now_ns)
            resumes_later = self._hand_over()
        except BaseException:
            self.is_planned = planned
            self._wake_at(self._now() + AFTER_FAILURE_NS)
            raise
        if resumes_later:
            # The acknowledgements leave with what a task answers in the next pass of the loop.
            self._loop.call_soon(self._on_calls)
        else:
            self.end()

    def _hand_over(self) -> bool:
        """Give the application what has come; True if it takes it only in the next pass."""
        placed = self._deliveries.take_calls()
        return (placed or bool(self._inbox.messages)) and self._deliveries.deliver_now()

    def _read(self, now_ns: int) -> None:
        """Read for a while, then look for what else has come."""
        queue = self.queue
        if not queue.has_waiting():
            return
        until_ns = now_ns + READING_NS
        queue.drain_round(now_ns)
        now_ns = self._now()
        while queue.peer_waits() and now_ns < until_ns and len(self._inbox.messages) < MESSAGES:
            queue.drain_round(now_ns)
            now_ns = self._now()
        if queue.has_waiting() and not self._reads_on:
            self._reads_on = True
            self._loop.call_soon(self._read_on)

    def _read_on(self) -> None:
        """Read on if nothing comes in this pass of the loop: what comes is told after this."""
        if self._came:
            # More is likely to come, and then it is read on. Twice in a pass would be twice as
            # long before it is looked for somebody else.
            self._came = False
            self._loop.call_soon(self._read_on)
            return
        self._reads_on = False
        self._run(self._read, self._now())

    def _expire(self, now_ns: int) -> None:
        """Do what is due."""
        late_ns, self._wake_ns = now_ns - self._wake_ns, NEVER_NS
        if late_ns > ASLEEP_NS:
            self._endpoint.has_slept(late_ns, now_ns)
        self._endpoint.expire(now_ns)
        self._enforcer.enforce(now_ns)
        self._stalls.look(now_ns)

    # The end of a turn.

    def end(self) -> None:
        """Write, send or commit, set the timer, and wake who waits for progress."""
        self.is_planned = False
        if self._closed:
            return
        now_ns = self._now()
        wake_ns = now_ns + AFTER_FAILURE_NS
        try:
            self._write(now_ns)
            self._committer.end_turn()
            wake_ns = self._endpoint.wake_ns()
        finally:
            self._wake_at(wake_ns)
            if self._progress.waiters:
                self._progress.notify()

    def write_early(self) -> None:
        """So much was sent in this turn that it is written now; with a journal it leaves later."""
        self._write(self._now())
        self._committer.send_early()

    def _write(self, now_ns: int) -> None:
        """Write to some peers at a time: what leaves before the rest is written needs no memory of
        its own, and is read meanwhile."""
        self._endpoint.write(now_ns, PEERS_AT_ONCE)
        while self._endpoint.has_more_to_write():
            self._committer.send_early()
            self._endpoint.write(now_ns, PEERS_AT_ONCE)

    def _wake_at(self, time_ns: int) -> None:
        """Let the timer ring then, or earlier."""
        if not self._closed:
            self._wake_ns = min(self._wake_ns, time_ns)
            self._carrier.wake_at(time_ns)


def nothing(_now_ns: int) -> None:
    """The application has called: what it changed is there."""
