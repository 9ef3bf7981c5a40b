"""Causal messaging for code without asyncio: the same node, the same words, no `await`.

    with blocking.open_node("alice", peers={"bob": "10.0.0.2:9000"}) as node:
        node.send("bob", b"hello")
        for message in node:
            print(message.sender, message.payload)

A thread in the background runs the node. Any thread may call it; as everywhere, one of them should
read. A call costs two changes of thread (tens of microseconds), which asyncio code does not pay.

Every thread that calls has one task in the loop, its *seat*, which performs its calls one after the
other. So a node sees a thread as it sees any task, and can tell that whoever waits for room is the
one who should be reading.
"""

import asyncio
import atexit
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import Any, Final, Self, TypeAlias, TypeVar, Unpack, cast

from antecede.core.errors import AntecedeError, LocalError
from antecede.durability.unconfirmed import InboundMessage
from antecede.events import NodeFenced, PeerRefused, Report, StrangerSeen
from antecede.runtime.callbacks import Callbacks
from antecede.runtime.config.addresses import Address
from antecede.runtime.config.options import Options
from antecede.runtime.config.peers import PeerState
from antecede.runtime.config.settings import (
    AddressLike,
    KeysLike,
    PathLike,
    PeersLike,
    Settings,
    gather_settings,
)
from antecede.runtime.deliveries import beside_a_handler
from antecede.runtime.errors import NodeClosed, Stranded, TimedOut, WrongProcess
from antecede.runtime.leaving import Linger
from antecede.runtime.listeners import Listener
from antecede.runtime.node import Node
from antecede.runtime.observe.explain import Explanation
from antecede.runtime.observe.stats import Health, Stats
from antecede.runtime.opening import Config, NodeOpening, given_settings
from antecede.runtime.targets import Payload, payload_bytes

T = TypeVar("T")
Work: TypeAlias = Callable[[], Coroutine[Any, Any, T]]


class LoopEnded(LocalError):  # noqa: N818 - reads as what it is
    """There is no loop any more that could perform the call."""


class PendingCall:
    """A call that waits to be performed in the loop."""

    def __init__(self, work: Work[Any]) -> None:
        self.work: Final = work
        self.result: Final[Future[Any]] = Future()


class CallerTask:
    """The task that performs the calls of one thread; to be used in the loop."""

    def __init__(self) -> None:
        self._requests: asyncio.Queue[PendingCall | None] = asyncio.Queue()
        self._current: PendingCall | None = None
        self._ending = False
        self._task = asyncio.get_running_loop().create_task(self._serve())

    @property
    def is_empty(self) -> bool:
        """Whether its thread has gone, and it performs nothing more."""
        return self._task.done()

    def ask(self, request: PendingCall | None) -> None:
        """Perform this call after those before; None: no more calls will come."""
        if self._ending and request is not None:
            request.result.set_exception(LoopEnded())
        else:
            self._requests.put_nowait(request)

    def withdraw(self, request: PendingCall) -> None:
        """Nobody waits for this call any more."""
        request.result.cancel()
        if self._current is request:
            self._task.cancel()

    async def end(self) -> None:
        """Perform nothing more; whoever still waits is told."""
        self._ending = True
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task
        while not self._requests.empty():
            request = self._requests.get_nowait()
            if request is not None and request.result.set_running_or_notify_cancel():
                request.result.set_exception(LoopEnded())

    async def _serve(self) -> None:
        while (request := await self._requests.get()) is not None:
            if request.result.set_running_or_notify_cancel():
                self._current = request
                await self._perform(request)
                self._current = None

    async def _perform(self, request: PendingCall) -> None:
        try:
            request.result.set_result(await request.work())
        except asyncio.CancelledError:
            request.result.set_exception(LoopEnded())
            task = asyncio.current_task()
            if self._ending or task is None:
                raise
            task.uncancel()  # This call alone was withdrawn.
        except Exception as error:
            request.result.set_exception(error)


class ThreadCaller:
    """A thread that calls; it has a seat from its first call on, as long as it lives."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop: Final = loop
        self._seat: CallerTask | None = None

    def ask(self, request: PendingCall, seats: list[CallerTask]) -> None:
        """Have this call performed; in the loop."""
        if self._seat is None:
            self._seat = CallerTask()
            seats[:] = [seat for seat in seats if not seat.is_empty]
            seats.append(self._seat)
        self._seat.ask(request)

    def withdraw(self, request: PendingCall) -> None:
        """Nobody waits for this call any more; in the loop."""
        if self._seat is not None:
            self._seat.withdraw(request)

    def __del__(self) -> None:
        if self._seat is not None:
            with suppress(RuntimeError):  # The loop may have gone before the thread.
                self._loop.call_soon_threadsafe(self._seat.ask, None)


class LoopThread:
    """Runs a loop until it is stopped; a daemon, so that it never keeps a program from ending."""

    def __init__(self, name: str, node: str = "") -> None:
        self._name: Final = node
        self._pid: Final = os.getpid()
        self._loop: Final = asyncio.new_event_loop()
        self._seats: Final[list[CallerTask]] = []
        self._own: Final = threading.local()
        # No call slips in behind the end: it would never be performed.
        self._gate: Final = threading.Lock()
        self._stopping = False
        self._thread: Final = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def call(self, work: Work[T]) -> T:
        """What the coroutine that `work` makes returns or raises; waits for it.

        `LoopEnded` if the loop is stopped before that.
        """
        if threading.current_thread() is self._thread:
            raise LocalError(
                "this would wait for itself: call a blocking node from a thread of your own, not "
                "from code that runs in its loop"
            )
        if os.getpid() != self._pid:
            raise WrongProcess(self._name)  # There is no thread that would answer.
        caller = self._caller()
        request = PendingCall(work)
        self._schedule(caller.ask, request, self._seats)
        try:
            return cast(T, request.result.result())
        except BaseException:
            if not request.result.done():  # Ctrl-C while waiting.
                with suppress(LoopEnded):
                    self._schedule(caller.withdraw, request)
            raise

    def stop(self) -> None:
        """End the loop and its thread; calls that still wait raise `LoopEnded`."""
        with self._gate:
            if self._stopping:
                return
            self._stopping = True
            ending = asyncio.run_coroutine_threadsafe(self._end_seats(), self._loop)
        ending.result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()

    def _schedule(self, callback: Callable[..., None], *arguments: object) -> None:
        with self._gate:
            if self._stopping:
                raise LoopEnded
            self._loop.call_soon_threadsafe(callback, *arguments)

    def _caller(self) -> ThreadCaller:
        caller: ThreadCaller | None = getattr(self._own, "caller", None)
        if caller is None:
            caller = self._own.caller = ThreadCaller(self._loop)
        return caller

    async def _end_seats(self) -> None:
        for seat in self._seats:
            await seat.end()


EVENTS_MAX: Final = 10_000
"""While 10,000 events wait for a slow listener, those that strangers can cause are left out."""

log = logging.getLogger(__name__)


def open_node(
    name: str | None = None,
    *,
    bind: AddressLike | None = None,
    peers: PeersLike | None = None,
    trace: PathLike | None = None,
    on_event: Listener | None = None,
    config: Config = None,
    settings: Mapping[str, object] | None = None,
    **options: Unpack[Options],
) -> "BlockingNode":
    """An open node, with the parameters of `antecede.open_node`; close it, or use it with `with`.

    `on_event` is called in a thread of its own, so it may use the node.
    """
    keywords = given_settings(name, bind, peers, trace, {**(settings or {}), **options})
    return BlockingNode(gather_settings(keywords, config=config), on_event)


class ListenerThread:
    """Calls listeners in a thread of its own, one event after the other."""

    def __init__(self, name: str) -> None:
        self.callbacks = Callbacks(name)
        """Counts listeners that fail; from the opening of the node on those of the node."""
        self._events: Final[SimpleQueue[tuple[Listener, Report] | None]] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def telling(self, listener: Listener) -> Listener:
        """What to give the node, so that `listener` is called from here."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="antecede-events", daemon=True)
            self._thread.start()

        def pass_on(report: Report) -> None:
            # Strangers can cause some of them, and a listener may be slow.
            if (
                isinstance(report, PeerRefused | StrangerSeen)
                and self._events.qsize() >= EVENTS_MAX
            ):
                return
            self._events.put((listener, report))

        return pass_on

    def stop(self) -> None:
        """Tell what is left to tell, and end."""
        self._events.put(None)
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        while (event := self._events.get()) is not None:
            listener, report = event
            try:
                listener(report)
            except BaseException:  # It would end this thread, and nobody would notice.
                self.callbacks.on_failure(f"an event listener, called with {report!r},")


class BlockingNode:
    """A node that any thread can use."""

    def __init__(self, settings: Settings, on_event: Listener | None = None) -> None:
        self._announcer: Final = ListenerThread(settings.name)
        told = None if on_event is None else self._announcer.telling(on_event)
        self._loop: Final = LoopThread("antecede-node", settings.name)
        try:
            self._node: Final = self._loop.call(lambda: opened(NodeOpening(settings, told)))
        except BaseException:
            self._loop.stop()
            self._announcer.stop()
            raise
        self._announcer.callbacks = self._node._callbacks
        # With a journal: what each thread took last, unless it confirms by itself.
        self._in_hand: Final = threading.local()
        self._confirms: Final = settings.journal is not None and settings.confirm == "next"
        if settings.journal is not None:
            self._in_loop(lambda node: node.journal.serve_threads())
        # What came with a message that somebody asked for; filled in the loop, emptied anywhere.
        self._read: Final[deque[InboundMessage]] = deque()
        # How many threads wait in the loop for a message: changed there.
        self._waiting = 0
        self._handler: threading.Thread | None = None
        self._closing: Final = threading.Lock()
        self._closed = False
        self._pid: Final = os.getpid()
        atexit.register(self._close_at_exit)

    # Who this is.

    def __repr__(self) -> str:
        state = "closed" if self._closed else "open"
        return f"<BlockingNode {self.name!r} at {self.address}, {state}>"

    @property
    def settings(self) -> Settings:
        """What the node was opened with."""
        return self._node.settings

    @property
    def name(self) -> str:
        """What this node is called."""
        return self._node.name

    @property
    def address(self) -> Address:
        """Where this node can be reached: host and port."""
        return self._node.address

    @property
    def incarnation(self) -> int:
        """The number of this life of the node; with a journal it stays the same after a crash."""
        return self._node.incarnation

    @property
    def fenced(self) -> NodeFenced | None:
        """Who has expelled this node, and why; None if nobody has."""
        return self._node.fenced

    @property
    def closed(self) -> bool:
        """Whether the node has left."""
        return self._closed

    @property
    def peers(self) -> Mapping[str, PeerState]:
        """All peers by name, each with its state: new, here, silent or away."""
        return self._in_loop(lambda node: node.peers)

    @property
    def online(self) -> tuple[str, ...]:
        """The names of the peers that get what is sent now: those here, also if they are silent."""
        return self._in_loop(lambda node: node.online)

    def add_peer(self, name: str, address: AddressLike | None = None, keys: KeysLike = ()) -> None:
        """Introduce a peer; without an address it has to say hello first."""
        self._in_loop(lambda node: node.add_peer(name, address, keys))

    def set_keys(self, name: str, keys: KeysLike) -> None:
        """Replace the public keys of a peer."""
        self._in_loop(lambda node: node.set_keys(name, keys))

    def reload(self, settings: Settings) -> None:
        """Take over the peers and keys of these settings, without a restart."""
        self._in_loop(lambda node: node.reload(settings))

    def remove_peer(self, name: str) -> None:
        """Forget a peer. If it has not left, it is expelled first (see `expel`)."""
        self._in_loop(lambda node: node.remove_peer(name))

    def expel(self, name: str, reason: str = "") -> None:
        """Exclude a peer for good; all other nodes are told, and exclude it too."""
        self._call(lambda node: node.expel(name, reason))

    @property
    def journal(self) -> "BlockingJournal":
        """The application's own values in the journal; `LocalError` if the node has none."""
        self._in_loop(lambda node: node.journal)
        return BlockingJournal(self)

    # Sending.

    def send(
        self, target: str | Sequence[str], payload: Payload, timeout: float | None = None
    ) -> int:
        """Send one message to one peer or to several, and return its sequence number."""
        copied = payload_bytes(payload)
        return self._call(lambda node: node.send(target, copied, timeout))

    def try_send(self, target: str | Sequence[str], payload: Payload) -> int:
        """Like `send`, but raises `BufferFull` instead of waiting."""
        copied = payload_bytes(payload)
        return self._in_loop(lambda node: node.try_send(target, copied))

    def meet(self, *names: str, timeout: float | None = None) -> None:
        """Wait until each of these peers (without names: of all peers) is here or away."""
        self._call(lambda node: node.meet(*names, timeout=timeout))

    def flush(self, timeout: float | None = None) -> None:
        """Wait until everything sent so far has been delivered to its targets, read or not.

        `TimedOut` names the peers that lack something; `Undelivered` says what had to be given up.
        """
        self._call(lambda node: node.flush(timeout))

    # Receiving.

    def receive(self, timeout: float | None = None) -> InboundMessage:
        """The next message; `TimedOut` if none comes in time, `NodeClosed` if none will."""
        self._check_asker()
        self._confirm_in_hand()
        message = self._next(timeout)
        if self._confirms:
            self._in_hand.messages = [message]
        return message

    def _check_asker(self) -> None:
        if self._handler is not None and self._handler is not threading.current_thread():
            raise LocalError(beside_a_handler(self.name))

    def _next(self, timeout: float | None) -> InboundMessage:
        """The next message: no thread holds up another while it waits for one."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            with suppress(IndexError):
                return self._read.popleft()
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            try:
                message = self._call(partial(self._take, timeout=left))
            except NodeClosed:
                if not self._read:  # Whoever closed it has left here what nobody had read.
                    raise
            except TimedOut as error:
                raise TimedOut(error.action, timeout or 0.0, error.waiting_for) from None
            else:
                if message is not None:
                    return message

    async def _take(self, node: Node, timeout: float | None) -> InboundMessage | None:
        """In the loop: the next message, and those that can be had with it at no cost.

        None if another thread has brought some meanwhile. If others wait, nothing but the message
        is taken: what is brought here they would not see.
        """
        if self._read:
            return None
        self._waiting += 1
        try:
            message = await node.receive(timeout)
        finally:
            self._waiting -= 1
        if self._waiting == 0:
            self._read.extend(node.receive_ready())
        return message

    def _confirm_in_hand(self) -> None:
        """Who asks for more is done with what it took before."""
        if self._confirms:
            for message in getattr(self._in_hand, "messages", ()):
                message.done()
            self._in_hand.messages = []

    def receive_ready(self) -> list[InboundMessage]:
        """The messages that have already been delivered, in order; perhaps none. Never waits."""
        self._check_asker()
        self._confirm_in_hand()
        ready = self._all_ready()
        if self._confirms:
            self._in_hand.messages = ready
        return ready

    def _all_ready(self) -> list[InboundMessage]:
        with suppress(NodeClosed):
            return self._in_loop(lambda node: [*self._take_read(), *node.receive_ready()])
        return self._take_read()

    def _take_read(self) -> list[InboundMessage]:
        taken = []
        with suppress(IndexError):
            while True:
                taken.append(self._read.popleft())
        return taken

    def __iter__(self) -> Iterator[InboundMessage]:
        return self

    def __next__(self) -> InboundMessage:
        try:
            return self.receive()
        except NodeClosed:
            raise StopIteration from None

    def on_message(self, handler: Callable[[InboundMessage], None]) -> None:
        """Call `handler` with every message, one at a time and in order, in a thread of its own.

        A handler that raises does not stop the next message; the exception is logged.
        """
        if self._handler is not None:
            raise LocalError("there is a handler already: one ordered point of delivery per node")
        self._handler = threading.Thread(
            target=self._feed, args=(handler,), name="antecede-handler", daemon=True
        )
        self._handler.start()

    def on_event(self, listener: Listener) -> None:
        """Call `listener` with every event (`antecede.events`), in a thread of its own."""
        told = self._announcer.telling(listener)
        self._in_loop(lambda node: node.on_event(told))

    # Looking inside.

    def stats(self) -> Stats:
        """Counters since the node was opened, and its present state."""
        return self._in_loop(lambda node: node.stats())

    def health(self) -> Health:
        """Whether the node can do its work, in a word and with reasons."""
        return self._in_loop(lambda node: node.health())

    def explain(self) -> Explanation:
        """Why messages wait, and for whom; `print` it, or read its fields."""
        return self._in_loop(lambda node: node.explain())

    # Leaving.

    def close(self, timeout: float | None = None, linger: Linger = "released") -> None:
        """Wait until everything is delivered, then leave; `Stranded` as with the asyncio node.

        What was delivered and not yet read can still be read.
        """
        if os.getpid() != self._pid:
            raise WrongProcess(self.name)
        with self._closing:
            if self._closed:
                return
            self._closed = True
            atexit.unregister(self._close_at_exit)
            try:
                self._loop.call(lambda: self._node.close(timeout, linger))
            finally:
                self._keep_unread()
                self._loop.stop()
                self._announcer.stop()
        if self._handler is not None and self._handler is not threading.current_thread():
            self._handler.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        try:
            self.close()
        except Stranded as stranded:
            if error is None:
                raise
            # What went wrong first is what the application should see.
            log.warning("%s: %s", self.name, stranded)

    # Inside.

    def _call(self, work: Callable[[Node], Coroutine[Any, Any, T]]) -> T:
        try:
            return self._loop.call(lambda: work(self._node))
        except LoopEnded:
            raise NodeClosed(self.name) from None

    def _keep_unread(self) -> None:
        """Fetch what a closed node still has, before its loop ends."""
        with suppress(NodeClosed):
            self._in_loop(lambda node: self._read.extend(node.receive_ready()))

    def _in_loop(self, work: Callable[[Node], T]) -> T:
        async def at_once(node: Node) -> T:
            return work(node)

        return self._call(at_once)

    def _feed(self, handler: Callable[[InboundMessage], None]) -> None:
        with suppress(NodeClosed):
            while True:
                message = self._next(None)
                try:
                    handler(message)
                except BaseException:  # It would end this thread, and nobody would notice.
                    log.exception("%s: the message handler failed for %r", self.name, message)
                    with suppress(NodeClosed):
                        self._in_loop(lambda node: node._deliveries.count_failure())
                else:
                    if self.settings.confirm == "next":
                        message.done()

    def _close_at_exit(self) -> None:
        if os.getpid() != self._pid:
            return  # A forked child has no loop, and nothing to say good-bye to.
        try:
            self.close()
        except AntecedeError as error:
            log.warning("%s: %s", self.name, error)


class BlockingJournal:
    """The application's own part of a journal, for any thread: see `Node.journal`."""

    def __init__(self, node: BlockingNode) -> None:
        self._node: Final = node

    def put(self, key: str, value: bytes) -> None:
        """Keep `value` under `key`; while a message is handled, with its confirmation."""
        self._node._in_loop(lambda node: node.journal.put(key, value))

    def remove(self, key: str) -> None:
        """Keep nothing under `key` any more."""
        self._node._in_loop(lambda node: node.journal.remove(key))

    def get(self, key: str, default: bytes | None = None) -> bytes | None:
        """What was put under `key` last."""
        return self._node._in_loop(lambda node: node.journal.get(key, default))

    def keys(self) -> list[str]:
        """The keys under which something is kept."""
        return self._node._in_loop(lambda node: node.journal.keys())

    def sync(self) -> None:
        """Wait until everything that has been sent, confirmed or put so far is on disk."""
        self._node._call(lambda node: node.journal.sync())


async def opened(opening: NodeOpening) -> Node:
    """The node of this opening."""
    return await opening
