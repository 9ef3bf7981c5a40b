"""A node: what an application sees of causal messaging.

One task of the application's may send while another receives; everything runs in one loop, and
messages are handed over at one point only, in causal order. `send` returns when the message is
buffered, and waits only when there is no room. What has to leave does so at the end of the loop's
turn, many messages to a datagram.
"""

import asyncio
import logging
import signal
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from functools import partial
from threading import get_ident
from typing import Final, Self, get_args

from antecede.core.errors import Fenced, LocalError
from antecede.durability.unconfirmed import InboundMessage
from antecede.endpoint.endpoint import Endpoint
from antecede.events import NodeFenced, Report, StrangerSeen
from antecede.membership.contact import STATES
from antecede.runtime.app_journal import AppJournal
from antecede.runtime.backpressure import Backpressure
from antecede.runtime.callbacks import Callbacks
from antecede.runtime.carriers.carrier import Carrier
from antecede.runtime.committer import Committer
from antecede.runtime.config.addresses import Address
from antecede.runtime.config.expulsion_policy import ExpulsionEnforcer
from antecede.runtime.config.peers import PeerState, read_keys
from antecede.runtime.config.settings import AddressLike, KeysLike, Settings
from antecede.runtime.confirming import Confirming, InHand
from antecede.runtime.content import Content, Headers, Payload, payload_bytes, read_content
from antecede.runtime.deliveries import ConfirmingReader, Deliveries, Handler, note_reader
from antecede.runtime.errors import NodeClosed, Stranded, TimedOut, fenced_sentence
from antecede.runtime.journal_committer import JournalCommitter, OpenJournal
from antecede.runtime.known_peers import KnownPeers
from antecede.runtime.leaving import Leaving, Linger
from antecede.runtime.listeners import Listener, Listeners
from antecede.runtime.live_room import MakeState, TakeState
from antecede.runtime.notifier import Notifier
from antecede.runtime.observe.event_recorder import EventRecorder, EventRecorderOwner
from antecede.runtime.observe.explain import (
    Explanation,
    blocked_by,
    explain,
    no_majority,
    reasons_unmet,
)
from antecede.runtime.observe.http_listener import HttpServer
from antecede.runtime.observe.http_server import NodePages
from antecede.runtime.observe.recent_events import RecentEvent
from antecede.runtime.observe.stalls import Stalls
from antecede.runtime.observe.stats import Health, Stats
from antecede.runtime.observe.stats_reader import StatsReader, health_of
from antecede.runtime.outbound import Outbound
from antecede.runtime.requests import Requests
from antecede.runtime.room import Room
from antecede.runtime.room_contacts import RoomContacts
from antecede.runtime.rooms import Rooms
from antecede.runtime.security.noise_handshake import NoiseCrypto
from antecede.runtime.thread_guard import ThreadGuard
from antecede.runtime.turn import Turn

log = logging.getLogger(__name__)


class Node:
    """One process that exchanges messages with its peers; open one with `open_node`."""

    def __init__(
        self,
        settings: Settings,
        endpoint: Endpoint,
        carrier: Carrier,
        trace: EventRecorder | None,
        crypto: NoiseCrypto | None = None,
        opened: OpenJournal | None = None,
        http: HttpServer | None = None,
    ) -> None:
        self.settings: Final = settings
        self._endpoint: Final = endpoint
        self._carrier: Final = carrier
        self._loop: Final = asyncio.get_running_loop()
        self._now: Final = carrier.now_ns
        self._guard: Final = ThreadGuard(settings.name, self._leave_to_parent)
        # On the way of every message: looked up once.
        self._send_fast: Final = endpoint.sending.send_fast
        self._progress: Final = Notifier(self._loop)
        self._turn: Final = Turn(endpoint, carrier, self._progress)
        confirming = None if opened is None else make_confirming(settings, opened)
        self._deliveries: Final = Deliveries(settings.name, endpoint, self._turn.soon, confirming)
        self._callbacks: Final = Callbacks(settings.name)
        self._journal: AppJournal | None = None
        self._http: Final = http
        self._committer: Final = self._make_committer(opened, confirming)
        self._waits_for_disk: Final = self._committer.durable
        enforcer = ExpulsionEnforcer(settings.policy, endpoint, self._callbacks, carrier.now_ns())
        self._enforcer: Final = enforcer
        self._pressure: Final = Backpressure(
            settings, endpoint, self._deliveries, self._progress, self._check_open
        )
        self._outbound: Final = Outbound(
            settings,
            endpoint,
            self._pressure,
            self._progress,
            self._now,
            self._turn,
            self._check_may_send,
            self._obstacles,
        )
        self._requests: Final = Requests(
            self._send_call_now,
            self._send_call,
            endpoint.directory.by_name,
            self._deliveries,
            self._pressure.take_ahead,
        )
        self._leaving: Final = Leaving(
            endpoint,
            self._pressure,
            self._progress,
            self._now,
            self._turn,
            has_journal=self._committer.durable,
        )
        self._closing = False
        self._closed = False
        self._listeners: Final = Listeners(settings.name, self._callbacks)
        self._stalls: Final = Stalls(endpoint, self._deliveries.unread, self._listeners.recent)
        self._trace: Final = EventRecorderOwner(trace, self._loop)
        self._known: Final = KnownPeers(settings, endpoint, carrier, crypto, self._trace)
        self._rooms: Final = Rooms(
            settings,
            endpoint,
            self._deliveries,
            self._pressure,
            self._progress,
            self._turn,
            RoomContacts(settings, endpoint, self._known, carrier),
            self._now,
            self._tell,
            self._callbacks,
            self._committer,
            self._check_may_send,
            partial(self._outbound.send, timeout=None),
        )
        self._stats_reader: Final = StatsReader(
            settings,
            endpoint,
            self._deliveries,
            self._pressure,
            self._listeners,
            self._callbacks,
            carrier,
            self._turn.queue,
            self._committer,
            self._requests,
            self._stalls.durations,
            self._now,
            self._rooms.count,
        )
        self._turn.begin(self._deliveries, self._committer, enforcer, self._stalls)
        self._known.introduce_configured()
        if opened is not None:
            self._known.introduce_recalled(opened.recorder.state.peers())
        self._committer.begin()
        self._deliveries.take_calls()
        self._trace.begin()
        self._turn.soon()
        if http is not None:
            http.answer_with(NodePages(self).answer)

    # Who this is.

    def __repr__(self) -> str:
        state = "closed" if self._closed else "closing" if self._closing else "open"
        return f"<Node {self.name!r} at {self.address}, {state}>"

    @property
    def name(self) -> str:
        """What this node is called."""
        return self.settings.name

    @property
    def incarnation(self) -> int:
        """The number of this life of the node; with a journal it stays the same after a crash."""
        return self._endpoint.incarnation

    @property
    def address(self) -> Address:
        """Where this node can be reached: host and port."""
        return self._carrier.address

    @property
    def fenced(self) -> NodeFenced | None:
        """Who has expelled this node, and why; None if nobody has."""
        return self._endpoint.fenced

    @property
    def journal(self) -> AppJournal:
        """The application's own values in the journal; `LocalError` if the node has none."""
        self._guard.check()
        if self._journal is None:
            raise LocalError(f"{self.name} has no journal: open it with journal=FOLDER")
        return self._journal

    @property
    def closed(self) -> bool:
        """Whether the node has left."""
        return self._closed

    @property
    def peers(self) -> Mapping[str, PeerState]:
        """All peers by name, each with its state: new, here, silent or away."""
        contacts = self._endpoint.directory.by_name
        return {name: STATES[contact.state] for name, contact in contacts.items()}

    @property
    def online(self) -> tuple[str, ...]:
        """The names of the peers that get what is sent now: those here, also if they are silent."""
        contacts = self._endpoint.directory.by_name
        return tuple(name for name, contact in contacts.items() if contact.is_here)

    def add_peer(self, name: str, address: AddressLike | None = None, keys: KeysLike = ()) -> None:
        """Introduce a peer; without an address it has to say hello first.

        Where nodes have keys of their own, `keys` are the public ones that this peer may have.
        """
        self._check_open()
        self._known.add(name, address, read_keys(keys))
        self._turn.soon()

    def remove_peer(self, name: str) -> None:
        """Forget a peer. If it has not left, it is expelled first (see `expel`)."""
        self._guard.check()
        self._known.remove(name)
        self._turn.changed()

    def set_keys(self, name: str, keys: KeysLike) -> None:
        """Replace the public keys of a peer.

        If the peer uses a key that is not among these, it is expelled, and may come back with one
        of them. Nothing has changed if this raises.
        """
        self._check_open()
        self._known.set_keys(name, read_keys(keys))
        self._turn.changed()

    def reload(self, settings: Settings) -> None:
        """Take over the peers and keys of these settings, without a restart.

        New peers are introduced; peers that the settings no longer name are forgotten, as by
        `remove_peer`. New keys count for every handshake from now on. A peer that uses a key it no
        longer has is expelled, and may come back with another. Nothing has changed if this raises.
        """
        self._check_open()
        self._known.reload(settings)
        self._turn.changed()

    async def expel(self, name: str, reason: str = "") -> None:
        """Exclude a peer for good; all other nodes are told, and exclude it too.

        For a peer that is dead or cannot be reached: nothing waits for it any more. If it is alive
        after all, it is told to stop (`Fenced` there), and causal order is kept everywhere. A new
        node of its name may join.
        """
        self._expel(name, reason)

    def _expel(self, name: str, reason: str) -> None:
        self._check_open()
        self._known.check_known(name)
        if not isinstance(reason, str):
            raise LocalError(f"a reason is a text, not {reason!r}")
        self._endpoint.expel(name, reason, self._now())
        self._turn.changed()

    # Sending.

    async def send(
        self,
        target: str | Sequence[str],
        payload: Payload,
        timeout: float | None = None,
        headers: Headers | None = None,
        reply_to: str | None = None,
    ) -> int:
        """Send one message to one peer or to several, and return its sequence number.

        Returns when the message is buffered: it will be delivered, exactly once and in causal
        order, as long as its targets live. `send` waits for room in the buffer, for peers that were
        just added (`meet_within`) and, with a journal, for the disk. If room or a peer does not
        come within `timeout` seconds, it raises `TimedOut`. Targets that are away are left out, and
        the event `Undeliverable` names them; if all are away, `PeerAway` is raised.

        Receivers see `headers` beside the payload, which they count against the payload limit with,
        and in `message.reply_to` whom to answer, where that is not the sender.
        """
        # Not keyword-only, which would cost a look-up in a dictionary at every call.
        if get_ident() != self._guard.owner:
            self._guard.refuse()
        if self._waits_for_disk or headers is not None or reply_to is not None:
            content = read_content(payload, headers, reply_to)
            sequence = (await self._send_naming(target, content, timeout))[0]
            await self._committer.wait_durable()
            return sequence
        sequence = 0 if self._pressure.slow_path else self._send_fast(target, payload, self._now())
        if sequence == 0:
            return (await self._outbound.send(target, Content(payload_bytes(payload)), timeout))[0]
        if not self._turn.is_planned:
            self._turn.soon()
        return sequence

    async def send_buffered(
        self, target: str | Sequence[str], payload: Payload, timeout: float | None = None
    ) -> int:
        """Like `send`, without waiting for the disk: `journal.sync` does that for many messages."""
        self._guard.check()
        return (await self._send_naming(target, Content(payload_bytes(payload)), timeout))[0]

    async def _send_naming(
        self, target: str | Sequence[str], content: Content, timeout: float | None = None
    ) -> tuple[int, list[str]]:
        """Like `send_buffered`; also returns the names of the targets that were left out."""
        sequence = 0
        if not (self._pressure.slow_path or content.needs_envelope):
            sequence = self._send_fast(target, content.payload, self._now())
        if sequence == 0:
            return await self._outbound.send(target, content, timeout)
        if not self._turn.is_planned:
            self._turn.soon()
        return sequence, []

    def try_send(
        self,
        target: str | Sequence[str],
        payload: Payload,
        headers: Headers | None = None,
        reply_to: str | None = None,
    ) -> int:
        """Like `send`, but raises `BufferFull` instead of waiting; it never waits for the disk."""
        if get_ident() != self._guard.owner:
            self._guard.refuse()
        sequence = 0
        if not (self._pressure.slow_path or headers or reply_to):
            sequence = self._send_fast(target, payload, self._now())
        if sequence == 0:
            return self._outbound.try_send(target, read_content(payload, headers, reply_to))
        if not self._turn.is_planned:
            self._turn.soon()
        return sequence

    def request(
        self,
        name: str,
        payload: Payload,
        timeout: float | None = None,
        *,
        headers: Headers | None = None,
    ) -> Coroutine[None, None, InboundMessage]:
        """Send a request to one peer, wait for its reply, and return that.

        The other side answers with `await message.reply(...)`. `RequestFailed` says why there is no
        reply: the peer was away, has left, was restarted or expelled meanwhile, refuses, or did not
        reply within `timeout` seconds, which it is told of (`message.deadline`). The reply waits
        its turn behind what was delivered here before it, unless the task that asks is the one
        that would read that, or nobody reads.
        """
        self._guard.check()
        return self._requests.request(name, payload, headers, timeout)

    @property
    def _awaits_replies(self) -> bool:
        """Whether requests of this node are under way."""
        return self._requests.count() > 0

    def _send_call_now(self, target: str, data: bytes) -> int:
        """Send a request or a reply with its envelope: its number, or 0 if it has to wait."""
        if get_ident() != self._guard.owner:
            self._guard.refuse()
        if self._pressure.slow_path:
            return 0
        if self._endpoint.sending.wants_flush():
            self._turn.write_early()
        sequence = self._send_fast(target, data, self._now(), True)
        if sequence and not self._turn.is_planned:
            self._turn.soon()
        return sequence

    def _send_call(
        self, target: str, content: Content, submitted: Callable[[int], None]
    ) -> Awaitable[object]:
        """The same, which waits; `PeerAway` if its target is away."""
        return self._outbound.send(target, content, None, submitted)

    async def meet(self, *names: str, timeout: float | None = None) -> None:
        """Wait until each of these peers (without names: of all peers) is here or away.

        That takes at most `meet_within`. A program whose handler uses `try_send` calls this first.
        """
        self._check_open()
        await self._outbound.meet(names, timeout)

    async def flush(self, timeout: float | None = None) -> None:
        """Wait until everything sent so far has been delivered to its targets, read or not.

        `TimedOut` names the peers that lack something. `Undelivered` says, once, which messages had
        to be given up since the last call.
        """
        self._check_open()
        await self._leaving.drained(timeout, "flush")
        if self._closed and self._endpoint.buffered() > 0:
            raise NodeClosed(self.name)
        if undelivered := self._listeners.take_undelivered():
            raise undelivered

    # Rooms.

    async def join(
        self,
        room: str,
        via: str | None = None,
        *,
        snapshot: MakeState | None = None,
        restore: TakeState | None = None,
        in_node: bool = False,
        timeout: float | None = None,
    ) -> Room:
        """Join a room through one of its members, by name or address; without one, found it.

        Returns when this node is a member: nothing of the room is shown before. `snapshot` is asked
        for the application's state when this node takes somebody in: bytes, perhaps awaited.
        `restore` is given those of another member, once, before the first message. With `in_node`
        the messages of the room come with those of the node, all in one order.
        """
        self._check_open()
        return await self._rooms.join(
            room, via, snapshot, restore, in_node=in_node, timeout=timeout
        )

    # Receiving.

    def __aiter__(self) -> Deliveries | ConfirmingReader:
        self._guard.check()
        note_reader(self.name)
        self._deliveries.check_asker()
        return self._deliveries.reader()

    def __anext__(self) -> Coroutine[None, None, InboundMessage]:
        self._guard.check()
        note_reader(self.name)
        return self._deliveries.reader().__anext__()

    def receive(self, timeout: float | None = None) -> Coroutine[None, None, InboundMessage]:
        """The next message; `TimedOut` if none comes in time, `NodeClosed` if none will.

        With a journal, calling this confirms the message that the calling task took before,
        whichever task awaits the result.
        """
        self._guard.check()
        note_reader(self.name)
        confirming = self._deliveries.confirming
        return self._received(timeout, None if confirming is None else confirming.ask())

    async def _received(self, timeout: float | None, asked: InHand | None) -> InboundMessage:
        try:
            return await self._deliveries.next_message(timeout, asked)
        except TimedOut as error:
            known = "; ".join(self._obstacles(tuple(self.peers)))
            raise TimedOut(error.action, error.seconds, known) from None

    def receive_ready(self) -> list[InboundMessage]:
        """The messages that have already been delivered, in order; perhaps none. Never waits."""
        self._guard.check()
        return self._deliveries.take_ready()

    def on_message(self, handler: Handler) -> None:
        """Call `handler` with every message: one at a time, in order, awaited if it is async.

        A handler that raises does not stop the next message; the exception is logged.
        """
        self._check_open()
        self._deliveries.set_handler(handler)

    def on_event(self, listener: Listener) -> None:
        """Call `listener` with every event; `antecede.events` has their classes."""
        self._guard.check()
        self._listeners.add(listener)
        self._committer.report_unreported()

    # Looking inside.

    @property
    def rooms(self) -> Mapping[str, tuple[str, ...]]:
        """The rooms of this node by name, each with its members; none while it still joins."""
        return {name: room.members() for name, room in self._rooms.by_name.items()}

    def stats(self) -> Stats:
        """Counters since the node was opened, and its present state."""
        return self._stats_reader.stats()

    async def stats_in_turns(self) -> Stats:
        """The same, without blocking the loop of a node with many peers."""
        return await self._stats_reader.stats_in_turns()

    def health(self, stats: Stats | None = None) -> Health:
        """Whether the node can do its work, in a word and with reasons (going by `stats`)."""
        return health_of(
            self.stats() if stats is None else stats,
            closed=self._closed,
            trace_failure=self._trace.failure,
            journal_failure=self._committer.failure(),
            takes_no_news=self._endpoint.refuses_expulsions(),
            fenced=self._endpoint.fenced,
            policy_failure=self._enforcer.failure,
            blocked=blocked_by(
                self._endpoint, self._now(), self._stalls.durations, no_majority(self._endpoint)
            ),
            held_up=self._endpoint.inbox.held_up(),
            splits=self._endpoint.directory.splits(),
        )

    def explain(self) -> Explanation:
        """Why messages wait, and for whom; `print` it, or read its fields."""
        return explain(
            self._endpoint,
            self._now(),
            self._deliveries.unread(),
            self._stalls.durations,
            self._rooms.explain(),
        )

    def recent_events(self, since: int = 0) -> list[RecentEvent]:
        """What has lately happened, the oldest first: events with a number above `since`."""
        return self._listeners.recent.since(since)

    def _obstacles(self, names: Sequence[str]) -> list[str]:
        """Why these peers are not talked to, as far as is known: who refuses, who was never met."""
        endpoint = self._endpoint
        return reasons_unmet(endpoint, names) + self._known.lookup_errors(names)

    def _check_journal(self) -> None:
        """Raise why the journal made this node stop, if it did."""
        if self._committer.failed is not None:
            raise self._committer.failed

    # Leaving.

    def leave_on_signals(self, *signals: signal.Signals) -> None:
        """Let SIGTERM and Ctrl-C (or these signals) end the iteration over messages.

        The program goes on after its `async for` and closes the node in order. A second signal
        interrupts it as usual."""
        for number in signals or (signal.SIGTERM, signal.SIGINT):
            self._loop.add_signal_handler(number, self._on_signal, number)

    def abandon(self) -> None:
        """Stop at once, as if the process had been killed: peers are told nothing."""
        self._guard.check()
        self._closing = True
        self._pressure.close()
        self._stop()
        self._end_http()
        self._requests.end()
        self._close_files(write=False)

    async def close(self, timeout: float | None = None, linger: Linger = "released") -> None:
        """Wait until everything is delivered and the handler has seen what came, then leave.

        `linger="released"` leaves when no peer has anything more for this node; `"bye"` goes on
        receiving until every peer has said bye, too. If that takes longer than `timeout` seconds
        (by default the setting `linger`), `Stranded` names the peers that still miss something.
        """
        self._guard.check()
        if linger not in get_args(Linger):
            raise LocalError(f"linger is one of {', '.join(get_args(Linger))}, not {linger!r}")
        if self._closed:
            self._end_http()
            await self._carrier.wait_closed()  # It has stopped by itself: nobody has waited yet.
            return
        limit = self.settings.linger if timeout is None else timeout
        deadline = self._loop.time() + limit
        self._closing = True
        self._pressure.close()
        stranded: list[str] = []
        reasons: list[str] = []
        try:
            await self._rooms.leave_all(deadline - self._loop.time())
            stranded = await self._leaving.say_bye(deadline, linger)
            reasons = self._obstacles(stranded)
            if not self._closed:
                await self._committer.end_life()
            self._turn.end()
            self._send_stopped()
            self._stop()
            await self._deliveries.handed_over(deadline - self._loop.time())
        finally:
            self._stop()
            self._requests.end()
            self._close_files(write=True)
            self._end_http()
            await self._carrier.wait_closed()
        if stranded:
            raise Stranded(stranded, limit, reasons)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, error: type[BaseException] | None, *_: object) -> None:
        try:
            await self.close()
        except Stranded as stranded:
            if error is None:
                raise
            # What went wrong first is what the application should see.
            log.warning("%s: %s", self.name, stranded)

    # Sending, inside.

    def _check_may_send(self) -> None:
        self._check_open()
        self._committer.check()

    def _check_open(self) -> None:
        self._guard.check()
        self._check_journal()
        if self._endpoint.fenced is not None:
            raise Fenced(fenced_sentence(self.name, self._endpoint.fenced))
        if self._closing:
            raise NodeClosed(self.name)

    # Telling, inside.

    def _tell(self, report: Report) -> None:
        """Tell the application, and the carrier, what has happened."""
        if isinstance(report, NodeFenced):
            self._closing = True
            self._loop.call_soon(self._stop_fenced)
        self._known.follow(report)
        self._requests.on_report(report)
        self._rooms.on_report(report)
        if not isinstance(report, StrangerSeen) or self._known.try_admit(report):
            self._listeners.tell(report)

    # Leaving, inside.

    def _on_signal(self, number: signal.Signals) -> None:
        log.info("%s: %s: leaving", self.name, number.name)
        self._loop.remove_signal_handler(number)
        self._deliveries.stop_iterating()

    def _send_stopped(self) -> None:
        """Nothing is delivered here from now on: nobody need wait for that."""
        if not self._closed:
            self._endpoint.stop(self._now())
            self._carrier.send(self._endpoint.out)

    def _stop(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._pressure.end()
        self._turn.close()
        self._carrier.close()
        self._deliveries.end()
        self._requests.close()
        self._rooms.close()
        self._progress.notify()
        self._trace.stop()

    def _leave_to_parent(self) -> None:
        """This is a forked process: nothing that it does may show."""
        self._closed = self._closing = True
        self._pressure.end()
        self._turn.close()
        self._carrier.leave_to_parent()
        self._committer.leave_to_parent()
        if self._http is not None:
            self._http.leave_to_parent()

    def _end_http(self) -> None:
        """Serve no more. A node that was expelled goes on saying so until it is closed."""
        if self._http is not None:
            self._http.end()

    def _stop_fenced(self) -> None:
        """Others go on without this node: nothing that it did now would count."""
        self._stop()
        self._requests.end()
        self._close_files(write=True)

    def _close_files(self, *, write: bool) -> None:
        self._committer.close(write=write)
        self._trace.close()

    # The journal, inside.

    def _make_committer(
        self, opened: OpenJournal | None, confirming: Confirming | None
    ) -> Committer:
        if opened is None or confirming is None:
            return Committer(self._endpoint, self._carrier, self._tell)
        committer = JournalCommitter(
            opened,
            self._endpoint,
            self._carrier,
            self._turn,
            self._callbacks,
            self._tell,
            self.abandon,
        )
        self._journal = AppJournal(committer, confirming, self._turn.soon)
        return committer


def make_confirming(settings: Settings, opened: OpenJournal) -> Confirming:
    """What is confirmed in this journal, and when."""
    by_hand = settings.confirm != "next"
    return Confirming(settings.name, opened.recorder.unconfirmed, by_hand=by_hand)
