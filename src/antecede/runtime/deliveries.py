"""The one point at which a node hands messages to its application, in causal order.

Either a task iterates, or a handler is called. A plain function is called at once, in the turn of
the loop that received the message; a coroutine function is awaited, one message at a time. After
some messages the loop gets a turn, so that a busy consumer starves nobody. Several tasks may take
messages: each message goes to one of them.
"""

import asyncio
import inspect
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from contextvars import ContextVar
from typing import Final, Self, TypeAlias

from antecede.core.errors import LocalError
from antecede.durability.unconfirmed import InboundMessage, UnconfirmedDeliveries
from antecede.endpoint.endpoint import Endpoint
from antecede.runtime.callbacks import EXITS, check_callable, is_ending
from antecede.runtime.confirming import Confirming, InHand
from antecede.runtime.errors import NodeClosed, TimedOut
from antecede.runtime.notifier import Notifier, yield_to_loop
from antecede.transport.flow_control import MESSAGE_COST
from antecede.units import messages_text

TURN_MESSAGES: Final = 256
"""At most 256 messages are handed over before the loop gets a turn."""

Item: TypeAlias = InboundMessage
"""What is handed over in causal order."""

readers: ContextVar[frozenset[str]] = ContextVar("antecede_readers", default=frozenset())
"""At which nodes, by name, the running task takes messages, or a task that has started it."""

Handler: TypeAlias = Callable[[InboundMessage], Awaitable[None] | None]

log = logging.getLogger(__name__)


def beside_a_handler(name: str) -> str:
    """Why nobody else may receive."""
    return (
        f"{name} has a message handler, which gets every message: receive there, or do not call "
        "on_message()"
    )


class Calls:
    """Who is told of requests and replies; this one has asked nobody."""

    of_readers = 0
    """How many requests wait for replies whose askers would read what is delivered before."""

    def on_calls(self, calls: list[InboundMessage], at_once: bool) -> None:
        """Requests and replies were delivered; they stand in the queue, too.

        `at_once`: no task runs now, so whoever waits for one of these may go on within this call.
        """

    def on_reply(self, reply: InboundMessage) -> bool:  # noqa: ARG002 - nobody has asked
        """It is the turn of a reply; whether anybody still waits for it."""
        return False

    def refuse_failed(self, request: InboundMessage) -> None:
        """The handler of a request has failed."""

    def keep_reading(self) -> None:
        """A reader that waits for a reply takes nothing: what has come is taken in for it."""


class RoomWords:
    """Who takes the words of rooms from among the deliveries; this one knows no rooms."""

    in_use = False
    """Whether there are rooms."""
    holds = False
    """Whether what is delivered waits behind a word that cannot be taken yet."""

    def has_room(self) -> bool:
        """Whether more may be taken in although nobody may read it."""
        return True

    def on_words(self, words: list[InboundMessage]) -> None:
        """Words of rooms were delivered; they stand in the queue, too."""

    def sort(self, messages: list[InboundMessage]) -> int:  # noqa: ARG002 - nothing waits
        """Take the words among these, and give back the rest with `put`; how many words it were."""
        return 0

    def held(self) -> int:
        """How many messages wait behind a word that cannot be taken yet."""
        return 0

    def on_asked(self) -> None:
        """Whoever reads is done with all that was in the queue."""


class Deliveries:
    """The messages delivered at one node, in one queue, as an asynchronous iterator.

    With a journal `reader` is the iterator: it confirms, too.
    """

    def __init__(
        self,
        name: str,
        endpoint: Endpoint,
        consumed: Callable[[], None],
        confirming: Confirming | None = None,
    ) -> None:
        self._name: Final = name
        self._endpoint: Final = endpoint
        # To be called when messages were taken: their senders get credit for them.
        self._consumed: Final = consumed
        self._loop: Final = asyncio.get_running_loop()
        self.confirming: Final = confirming
        """With a journal: what is confirmed, and when."""
        # What was taken from the inbox and nobody has, and how much of it may be handed over to
        # tasks before the loop gets a turn.
        self._queue: Final[deque[Item]] = deque()
        self._share = 0
        # Told when something has come, or nothing will.
        self._changed: Final = Notifier(self._loop)
        # How many of what was delivered and not taken are replies. They have their places in the
        # queue: who asked gets them when what came before is taken.
        self._replies = 0
        self._calls = Calls()
        # How many of what is in the inbox are words of rooms.
        self._words = 0
        self._rooms = RoomWords()
        self.placed = 0
        """How many messages `put` has put into the queue."""
        # How often replies were given to tasks that have not gone on yet.
        self._letting_go = 0
        self.is_ahead = False
        """Whether more has been taken than anybody has asked for."""
        self._consumer: asyncio.Task[object] | None = None
        # A plain function, or the task that awaits one that is not.
        self._has_handler = False
        self._handler: Handler | None = None
        self._handler_task: asyncio.Task[None] | None = None
        # Whether a plain function is being called now, and whether it will be in the next pass.
        self._calling = False
        self._planned = False
        # Tasks on their way to the next message, asleep or just woken.
        self._waiting = 0
        self._ended = False
        self._stopped = False
        self.failures = 0
        """How often the handler has failed."""

    def reader(self) -> "Deliveries | ConfirmingReader":
        """Gives the messages one by one."""
        return self if self.confirming is None else ConfirmingReader(self, self.confirming)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> InboundMessage:
        if self._share or await self._refill(None):
            self._share -= 1
            return self._queue.popleft()
        raise StopAsyncIteration

    async def next_message(
        self, timeout: float | None, asked: InHand | None = None
    ) -> InboundMessage:
        """The next message; `TimedOut` if none comes in time, `NodeClosed` if none will."""
        self.check_asker()
        if self._share or await self._refill(timeout):
            self._share -= 1
            message = self._queue.popleft()
            if self.confirming is not None:
                self.confirming.hand(asked, [message])
            if self._rooms.in_use and not self._queue:
                self._loop.call_soon(self._rooms.on_asked)
            return message
        raise NodeClosed(self._name)

    def take_ready(self) -> list[InboundMessage]:
        """Everything that is there already, in order."""
        self.check_asker()
        self._consumer = asyncio.current_task(self._loop)
        asked = None if self.confirming is None else self.confirming.ask()
        self._take()
        taken = []
        while self._queue:
            self._take_replies()
            taken += [self._queue.popleft() for _ in range(self._until_reply())]
        self._share = 0
        self._on_prefetch_taken()
        if self.confirming is not None:
            self.confirming.hand(asked, taken)
        return taken

    def prefetch(self, limit: int) -> bool:
        """Take what has come although nobody asks for it yet, so that its senders get credit.

        False if there is nothing, or if already `limit` bytes of it wait for somebody to ask.
        """
        if not self._endpoint.inbox.messages:
            return False
        if sum(len(message.payload) + MESSAGE_COST for message in self._queue) >= limit:
            return False
        self._take()
        self.is_ahead = True
        return True

    def put_back(self, messages: deque[InboundMessage]) -> None:
        """These were taken, and nobody has seen them: they are the next ones again."""
        with suppress(IndexError):
            while True:  # Another thread may take the first of them meanwhile.
                self._queue.appendleft(messages.pop())

    def _take(self) -> None:
        """Take what has come, if anything has."""
        self.look_at_calls()
        if self._endpoint.inbox.messages:
            if self._words or self._rooms.holds:
                self._words -= self._rooms.sort(self._endpoint.take_inbox())
            else:
                self._queue.extend(self._endpoint.take_inbox())
            self._consumed()

    def _on_prefetch_taken(self) -> None:
        """If that is all that had been taken ahead, others may go on."""
        if self.is_ahead and self._share == len(self._queue):
            self.is_ahead = False
            self._consumed()

    # Replies.

    def pass_calls_to(self, calls: Calls) -> None:
        """Who asks and answers here."""
        self._calls = calls

    def look_at_calls(self, *, at_once: bool = False) -> None:
        """Whoever waits for a reply may have it now; requests can be replied to."""
        if not self._endpoint.inbox.calls:
            return
        calls = self._endpoint.inbox.take_calls()
        words = [one for one in calls if one.is_of_rooms]
        if words:
            self._words += len(words)
            self._rooms.on_words(words)
            calls = [one for one in calls if not one.is_of_rooms]
        if calls:
            self._calls.on_calls(calls, at_once)

    def take_calls(self) -> bool:
        """The same in a turn, where the words of rooms are taken, too; who waits for a reply
        instead of reading gets more in the end. Whether a reader may have got something by that."""
        if self._endpoint.inbox.calls:
            self.look_at_calls(at_once=asyncio.current_task(self._loop) is None)
        if self._calls.of_readers:
            self._calls.keep_reading()
        if not self._words or not self._rooms.has_room():
            return False
        self._take()
        return bool(self._queue)

    # Rooms.

    def pass_rooms_to(self, rooms: RoomWords) -> None:
        """Who takes the words of rooms."""
        self._rooms = rooms

    def put(self, message: InboundMessage) -> None:
        """This comes next: it was among words of rooms, or is what one of them has brought."""
        self.placed += 1
        self._queue.append(message)
        if self._replies and message.is_reply:
            self._loop.call_soon(self._pass_replies)

    def drop(self, room: str) -> None:
        """Nobody gets what was said in a room, and is in the queue: this node has left it."""
        left = [message for message in self._queue if message.room != room]
        for message in self._queue:
            if message.room == room:
                message.done()
        self._queue.clear()
        self._queue.extend(left)
        self._share = 0

    def take_more(self) -> None:
        """There is room for what was not taken in before."""
        if self._words:
            self._consumed()

    def is_read(self) -> bool:
        """Whether anybody has ever asked for messages here."""
        return self._consumer is not None or self._has_handler

    def is_reader(self) -> bool:
        """Whether whoever runs takes messages here, or was started by who does."""
        return self._name in readers.get()

    def next_to_take(self) -> list[InboundMessage]:
        """What would be taken next, if everything that came before is taken."""
        if self._queue or self._letting_go or self._rooms.holds:
            return []
        return self._endpoint.inbox.messages

    def take_out(self, replies: list[InboundMessage]) -> None:
        """These, of the newest, are handed over now."""
        self._endpoint.take_out(replies)
        self._consumed()

    def expect_reply(self) -> None:
        """One of what was delivered is a reply that waits for its turn."""
        self._replies += 1
        if self._replies == 1:
            self._loop.call_soon(self._pass_replies)

    def _pass_replies(self) -> None:
        """Everything before the next reply may have been taken."""
        inbox = self._endpoint.inbox.messages
        if self._replies and not self._queue and inbox and inbox[0].is_reply:
            self._take()
        self._take_replies()

    def _take_replies(self) -> bool:
        """Give the replies that are in front to who asked; whether anybody had."""
        were_wanted = False
        while self._replies and self._queue and self._queue[0].is_reply:
            self._replies -= 1
            were_wanted = self._calls.on_reply(self._queue.popleft()) or were_wanted
        if were_wanted:
            self._letting_go += 1
            self._loop.call_soon(self._have_gone)
        return were_wanted

    def _have_gone(self) -> None:
        """Who got a reply has gone on: what was delivered later may be handed over."""
        self._letting_go -= 1
        if not self._letting_go and (self._ended or self.unread()):
            self.notify()

    def _until_reply(self) -> int:
        """How many messages come before the next reply."""
        if self._replies:
            for count, message in enumerate(self._queue):
                if message.is_reply:
                    return count
        return len(self._queue)

    # A handler, and tasks that wait.

    def set_handler(self, handler: Handler) -> None:
        """Call `handler` with every message from now on."""
        if self._has_handler:
            raise LocalError("there is a handler already: one ordered point of delivery per node")
        check_callable(handler, "a message handler")
        self._handler = handler
        self._has_handler = True
        if self.confirming is not None:
            self.confirming.stop_by_asking()
        self._share = 0
        self._loop.call_soon(self._call, handler)
        self._changed.notify()  # Whoever waits for a message is told that the handler gets it.

    def check_asker(self) -> None:
        """`LocalError` if a handler gets the messages, unless it is the handler who asks."""
        if self._calling or not self._has_handler:
            return
        task = asyncio.current_task(self._loop)
        if task is None or task is not self._handler_task:
            raise LocalError(beside_a_handler(self._name))

    def count_failure(self, message: InboundMessage | None) -> None:
        """A handler has failed, and it was logged; whoever asked need not wait for it."""
        self.failures += 1
        if message is not None and message.is_request:
            self._calls.refuse_failed(message)

    def deliver_now(self) -> bool:
        """There are new messages: the handler is called, or a waiting task goes on, at once.

        True if it does that only in the next turn, as another task runs now.
        """
        if self._letting_go:
            return False
        if self._handler is not None:
            if not self._planned:  # Else it is behind, and has its share in this pass of the loop.
                self._call(self._handler)
            return False
        if not self._changed.waiters:
            return False
        if asyncio.current_task(self._loop) is not None:
            self._changed.notify()
            return True
        self._changed.resume()
        return False

    def notify(self) -> None:
        """Let whoever waits look again."""
        if self._handler is not None:
            self._loop.call_soon(self._call, self._handler)
        self._changed.notify()

    def stop_iterating(self) -> None:
        """Let whoever iterates come to an end, although more may come."""
        self._stopped = True
        self._changed.notify()

    def end(self) -> None:
        """No more will come."""
        self._ended = True
        if self.confirming is not None:
            self.confirming.end()
        unread = self.unread()
        if unread and not self._waiting and not self._has_handler:
            left = messages_text(unread)
            log.warning("%s: closed with %s that nobody has read", self._name, left)
        self.notify()

    async def handed_over(self, seconds: float) -> None:
        """After the end: wait until the handler, if any, has seen everything, or time is over."""
        task = self._handler_task
        if task is not None and task is asyncio.current_task(self._loop):
            return  # The handler itself waits here; what is left comes when it returns.
        if task is None and self._handler is None:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._handler is not None and self.unread():
                    await yield_to_loop()
                if self._handler_task is not None:
                    await asyncio.wait([self._handler_task])
                return
        log.warning("%s: closed before its handler has seen %d messages", self._name, self.unread())

    def unread(self) -> int:
        """How many messages nobody has taken."""
        return len(self._endpoint.inbox.messages) + len(self._queue) + self._rooms.held()

    def is_consumer(self, task: asyncio.Task[object] | None) -> bool:
        """Whether it is this task that takes the messages."""
        return task is not None and task is self._consumer

    async def _refill(self, timeout: float | None) -> bool:
        """Get more messages; False if there will be none."""
        self._consumer = asyncio.current_task(self._loop)
        note_reader(self._name)
        if self._is_over():
            return False
        self._waiting += 1
        try:
            if self._queue:
                await yield_to_loop()  # Another task may take all of it meanwhile.
            else:
                self._rooms.on_asked()
            if timeout is None:
                while not self._has_news() or (self._replies and await self._waits_for_more()):
                    await self._changed.wait()
            else:
                await self._news_within(timeout)
        finally:
            self._waiting -= 1
        if not self._share:  # Another task may have begun one meanwhile.
            if not self._queue:
                self._take()
            self._share = min(TURN_MESSAGES, self._until_reply())
            if self._replies:
                self._share_before_reply()
            if self.is_ahead:
                self._on_prefetch_taken()
        return self._share > 0

    def _share_before_reply(self) -> None:
        """The last message before a reply is taken alone; then it is the reply's turn.

        It does not wait until somebody asks for another message: perhaps nobody will.
        """
        if self._share > 1:
            self._share -= 1
        else:
            self._loop.call_soon(self._pass_replies)

    async def _news_within(self, timeout: float) -> None:
        """Wait for something to take; `TimedOut` if nothing comes in time."""
        deadline = self._loop.time() + timeout
        while not self._has_news() or (self._replies and await self._waits_for_more()):
            left = max(0.0, deadline - self._loop.time())
            try:
                await self._changed.wait_until(self._has_news, left, "receive", str)
            except TimedOut:
                raise TimedOut("receive", timeout) from None

    async def _waits_for_more(self) -> bool:
        """Pass on the replies that are in front; whether nothing is left to be taken then."""
        while True:
            if not self._queue:
                self._take()
            if not (self._queue and self._queue[0].is_reply):
                return not self._has_news()
            if self._take_replies():
                await yield_to_loop()  # Who asked goes on before what was delivered later is taken.

    def _has_news(self) -> bool:
        self.check_asker()
        self.look_at_calls()
        if self._letting_go:
            return False
        if not self._queue and (self._words or self._rooms.holds):
            self._take()  # Perhaps there is nothing for a reader in it.
        return bool(self._queue or self._endpoint.inbox.messages or self._ended or self._is_over())

    def _is_over(self) -> bool:
        """Whether a signal has ended the iteration; a handler goes on until the node is closed."""
        return self._stopped and self._handler_task is None

    def _plan_call(self, handler: Handler) -> None:
        """It is behind: call it again in the next pass of the loop, however many inputs come."""
        if not self._planned:
            self._planned = True
            self._loop.call_soon(self._on_planned, handler)

    def _on_planned(self, handler: Handler) -> None:
        self._planned = False
        self._call(handler)

    def _call(self, handler: Handler) -> None:
        """Call a plain function with what has been delivered; the rest waits for the next turn."""
        if self._handler is None or self._letting_go:
            return  # It has turned out not to be one since this call was planned, or comes again.
        if not self._queue:
            self._take()
        if self._replies and self._take_replies():
            self._plan_call(handler)  # Who asked goes on before.
            return
        size = min(TURN_MESSAGES, self._until_reply())
        nested, self._calling = self._calling, True
        in_context = readers.set(readers.get() | {self._name})
        try:
            if self.confirming is not None:
                handling, confirms = self.confirming.handling, self.confirming.by_returning
                self._call_confirming(handler, handling, confirms, size)
            else:
                self._call_with_each(handler, size)
        finally:
            readers.reset(in_context)
            self._calling = nested
            if not self._queue:
                self._rooms.on_asked()
            if self._handler is not None and (self._queue or self._endpoint.inbox.messages):
                self._plan_call(handler)

    def _call_with_each(self, handler: Handler, size: int) -> None:
        queue = self._queue
        for _ in range(size):
            if not queue or (self._replies and queue[0].is_reply):
                return  # The handler has taken what there was.
            message = queue.popleft()
            result: object = None
            try:
                result = handler(message)
            except EXITS:
                raise
            except BaseException:
                self._on_handler_error(message)
            if result is not None and self._try_await(handler, message, result):
                return

    def _call_confirming(
        self, handler: Handler, handling: UnconfirmedDeliveries, confirms: bool, size: int
    ) -> None:
        """The same with a journal, where what a plain function has returned from is confirmed."""
        last = len(self._queue) - size
        while self._handler is not None and (left := len(self._queue) - last) > 0:
            try:
                result = handling.call_handler(self._queue, handler, left, confirms)
            except EXITS:
                raise
            except BaseException:
                self._on_handler_error(handling.in_hand)
                continue
            message = handling.in_hand
            if message is not None and not self._try_await(handler, message, result):
                self._has_returned(message)
        handling.clear_in_hand()

    def _try_await(self, handler: Handler, message: InboundMessage, result: object) -> bool:
        """Whether it is no plain function: from now on a task awaits it for every message."""
        if result is None or not inspect.isawaitable(result):
            return False
        self._handler = None
        if self._replies:
            self._loop.call_soon(self._pass_replies)
        self._handler_task = self._loop.create_task(self._feed(handler, message, result))
        return True

    async def _feed(
        self, handler: Handler, first: InboundMessage, result: Awaitable[None] | None
    ) -> None:
        """Call `handler` with every message, and wait for it; `result` is still to be awaited."""
        self._consumer = asyncio.current_task(self._loop)
        if self.confirming is not None:
            self.confirming.hand(None, [first])
        await self._finished(first, result)
        async for message in self.reader():
            await self._finished(message, self._begun(handler, message))

    def _begun(self, handler: Handler, message: InboundMessage) -> Awaitable[None] | None:
        """Call `handler` once; if it leaves nothing to be awaited, that was all."""
        try:
            result = handler(message)
        except EXITS:
            raise
        except BaseException:
            self._on_handler_error(message)
            return None
        if result is None or not inspect.isawaitable(result):
            self._has_returned(message)
            return None
        return result

    def _on_handler_error(self, message: InboundMessage | None) -> None:
        log.exception("%s: the message handler failed for %r", self._name, message)
        self.count_failure(message)

    async def _finished(self, message: InboundMessage, result: Awaitable[None] | None) -> None:
        if result is None:
            return
        try:
            await result
        except EXITS:
            raise
        except BaseException:
            if is_ending(self._handler_task):
                raise  # It is the loop that ends, not something that the handler waited for.
            self._on_handler_error(message)
        else:
            self._has_returned(message)

    def _has_returned(self, message: InboundMessage) -> None:
        """The handler is done with this one."""
        if self.confirming is not None and self.confirming.by_returning:
            self.confirming.handling.confirm_here(message.number)


def note_reader(name: str) -> None:
    """Whoever runs takes messages at this node."""
    names = readers.get()
    if name not in names:
        readers.set(names | {name})


class ConfirmingReader:
    """The messages of a node with a journal: asking for one confirms the one before."""

    def __init__(self, deliveries: Deliveries, confirming: Confirming) -> None:
        self._deliveries: Final = deliveries
        self._confirming: Final = confirming

    def __aiter__(self) -> Self:
        return self

    def __anext__(self) -> Coroutine[None, None, InboundMessage]:
        return self._next(self._confirming.ask())

    async def _next(self, asked: InHand | None) -> InboundMessage:
        message = await self._deliveries.__anext__()
        self._confirming.hand(asked, [message])
        return message
