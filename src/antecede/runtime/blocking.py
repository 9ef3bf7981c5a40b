"""Causal messaging for code without asyncio: the same node, the same words, no `await`.

    with blocking.open_node("alice", peers={"bob": "10.0.0.2:9000"}) as node:
        node.send("bob", b"hello")
        for message in node:
            print(message.sender, message.payload)

A thread in the background runs the node. Any thread may call it; as everywhere, one of them should
read. A call costs two changes of thread (tens of microseconds), which asyncio code does not pay.
"""

import atexit
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import Any, Final, Self, TypeVar, Unpack

from antecede.core.errors import AntecedeError, LocalError
from antecede.durability.unconfirmed import InboundMessage
from antecede.events import NodeFenced, PeerRefused, Report, StrangerSeen
from antecede.runtime.blocking_room import BlockingRoom
from antecede.runtime.callbacks import Callbacks, check_callable
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
from antecede.runtime.content import Headers, Payload, payload_bytes
from antecede.runtime.deliveries import beside_a_handler
from antecede.runtime.errors import NodeClosed, Stranded, TimedOut, WrongProcess
from antecede.runtime.leaving import Linger
from antecede.runtime.listeners import Listener
from antecede.runtime.loop_thread import LoopEnded, LoopThread
from antecede.runtime.node import Node
from antecede.runtime.observe.explain import Explanation
from antecede.runtime.observe.recent_events import RecentEvent
from antecede.runtime.observe.stats import Health, Stats
from antecede.runtime.opening import Config, NodeOpening, given_settings

T = TypeVar("T")

EVENTS_MAX: Final = 10_000
"""If 10,000 events wait for a slow listener, events that strangers can cause are left out."""

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

    def forwarding_to(self, listener: Listener) -> Listener:
        """What to give the node, so that this thread calls `listener`."""
        check_callable(listener, "an event listener")
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
        """Call the listeners for the events that are left, and end."""
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


class InHand(threading.local):
    """What the calling thread took last and has not confirmed; each thread has its own."""

    def __init__(self) -> None:
        self.messages: list[InboundMessage] = []


class BlockingNode:
    """A node that any thread can use."""

    def __init__(self, settings: Settings, on_event: Listener | None = None) -> None:
        self._listener_thread: Final = ListenerThread(settings.name)
        forwarding = None if on_event is None else self._listener_thread.forwarding_to(on_event)
        self._loop: Final = LoopThread("antecede-node", settings.name)
        try:
            self._node: Final = self._loop.call(lambda: opened(NodeOpening(settings, forwarding)))
        except BaseException:
            self._loop.stop()
            self._listener_thread.stop()
            raise
        self._listener_thread.callbacks = self._node._callbacks
        # With a journal: what each thread took last, unless it confirms by itself.
        self._in_hand: Final = InHand()
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
        self,
        target: str | Sequence[str],
        payload: Payload,
        timeout: float | None = None,
        *,
        headers: Headers | None = None,
        reply_to: str | None = None,
    ) -> int:
        """Send one message to one peer or to several, and return its sequence number."""
        copied = payload_bytes(payload)
        return self._call(
            lambda node: node.send(target, copied, timeout, headers=headers, reply_to=reply_to)
        )

    def try_send(
        self,
        target: str | Sequence[str],
        payload: Payload,
        *,
        headers: Headers | None = None,
        reply_to: str | None = None,
    ) -> int:
        """Like `send`, but raises `BufferFull` instead of waiting."""
        copied = payload_bytes(payload)
        return self._in_loop(
            lambda node: node.try_send(target, copied, headers=headers, reply_to=reply_to)
        )

    def request(
        self,
        name: str,
        payload: Payload,
        timeout: float | None = None,
        *,
        headers: Headers | None = None,
    ) -> InboundMessage:
        """Send a request to one peer, wait for its reply, and return that.

        `RequestFailed` says why there is none. A thread that also receives gets its reply at once,
        others when what was delivered before it has been received.
        """
        copied = payload_bytes(payload)

        async def ask(node: Node) -> InboundMessage:
            # What was brought here and not read is in front of the reply again.
            node._deliveries.put_back(self._read)
            return await node.request(name, copied, timeout, headers=headers)

        return self._call(ask)

    def reply(
        self, request: InboundMessage, payload: Payload, headers: Headers | None = None
    ) -> None:
        """Answer a request that was received here, once; that also confirms it."""
        copied = payload_bytes(payload)
        self._call(lambda _: awaiting(request.reply(copied, headers)))

    def refuse(self, request: InboundMessage, reason: str) -> None:
        """Answer a request with a refusal, once."""
        self._call(lambda _: awaiting(request.refuse(reason)))

    def meet(self, *names: str, timeout: float | None = None) -> None:
        """Wait until each of these peers (without names: of all peers) is here or away."""
        self._call(lambda node: node.meet(*names, timeout=timeout))

    def flush(self, timeout: float | None = None) -> None:
        """Wait until everything sent so far has been delivered to its targets, read or not.

        `TimedOut` names the peers that lack something; `Undelivered` says what had to be given up.
        """
        self._call(lambda node: node.flush(timeout))

    # Rooms.

    def join(
        self,
        room: str,
        via: str | None = None,
        *,
        snapshot: Callable[[], bytes] | None = None,
        restore: Callable[[bytes], None] | None = None,
        timeout: float | None = None,
    ) -> BlockingRoom:
        """Join a room through one of its members, by name or address; without one, found it.

        `snapshot` and `restore` are called in the thread of the node: they must be quick, and must
        not call the node.
        """
        joined = self._call(
            lambda node: node.join(room, via, snapshot=snapshot, restore=restore, timeout=timeout)
        )
        return BlockingRoom(joined, self._run, confirms=self._confirms)

    def _run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        return self._call(lambda _: work())

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
        if self._waiting == 0 and not node._awaits_replies:
            # A reply among them would be handed over before what is brought here is read.
            self._read.extend(node.receive_ready())
        return message

    def _confirm_in_hand(self) -> None:
        """Who asks for more is done with what it took before."""
        if self._confirms:
            for message in self._in_hand.messages:
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
            raise LocalError(
                "there is a handler already: one ordered point of delivery per node; let it call "
                "others"
            )
        check_callable(handler, "a message handler")
        self._handler = threading.Thread(
            target=self._feed, args=(handler,), name="antecede-handler", daemon=True
        )
        self._handler.start()

    def on_event(self, listener: Listener) -> None:
        """Call `listener` with every event (`antecede.events`), in a thread of its own."""
        forwarding = self._listener_thread.forwarding_to(listener)
        self._in_loop(lambda node: node.on_event(forwarding))

    # Looking inside.

    @property
    def rooms(self) -> Mapping[str, tuple[str, ...]]:
        """The rooms of this node by name, each with its members; none while it still joins."""
        return self._in_loop(lambda node: node.rooms)

    def stats(self) -> Stats:
        """Counters since the node was opened, and its present state."""
        return self._in_loop(lambda node: node.stats())

    def health(self) -> Health:
        """Whether the node can do its work, in a word and with reasons."""
        return self._in_loop(lambda node: node.health())

    def explain(self) -> Explanation:
        """Why messages wait, and for whom; `print` it, or read its fields."""
        return self._in_loop(lambda node: node.explain())

    def recent_events(self, since: int = 0) -> list[RecentEvent]:
        """What has lately happened, the oldest first: events with a number above `since`."""
        return self._in_loop(lambda node: node.recent_events(since))

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
                self._listener_thread.stop()
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
                        self._in_loop(partial(count_failure, message=message))
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


def count_failure(node: Node, *, message: InboundMessage) -> None:
    """In the loop: a handler has failed, and it was logged."""
    node._deliveries.count_failure(message)


async def awaiting(answer: Awaitable[None]) -> None:
    """In the loop: answer a request."""
    await answer


class BlockingJournal:
    """The application's own part of a journal, for any thread: see `Node.journal`."""

    def __init__(self, node: BlockingNode) -> None:
        self._node: Final = node

    def put(self, key: str, value: bytes) -> None:
        """Store `value` under `key`; while a message is handled, with its confirmation."""
        self._node._in_loop(lambda node: node.journal.put(key, value))

    def remove(self, key: str) -> None:
        """Remove the value of `key`."""
        self._node._in_loop(lambda node: node.journal.remove(key))

    def get(self, key: str, default: bytes | None = None) -> bytes | None:
        """The value that was put under `key` last."""
        return self._node._in_loop(lambda node: node.journal.get(key, default))

    def keys(self) -> list[str]:
        """The keys that have a value."""
        return self._node._in_loop(lambda node: node.journal.keys())

    def sync(self) -> None:
        """Wait until everything that has been sent, confirmed or put so far is on disk."""
        self._node._call(lambda node: node.journal.sync())


async def opened(opening: NodeOpening) -> Node:
    """The node of this opening."""
    return await opening
