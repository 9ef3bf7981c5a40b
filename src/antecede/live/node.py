"""A node: what an application sees of causal messaging.

One task of the application's may send while another receives; everything runs in one loop, and
messages are handed over at one point only, in causal order. `send` returns when the message is
buffered, and waits only when there is no room. What has to leave does so at the end of the loop's
turn, many messages to a datagram.
"""

import asyncio
import logging
import signal
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Literal, Self, TypeAlias

from antecede.core.errors import BufferFull, Fenced, LocalError
from antecede.link.contacts import Contact
from antecede.link.endpoint import Endpoint
from antecede.link.inbound import InboundMessage
from antecede.link.reports import NodeFenced, Report, Stranger
from antecede.link.standing import LEAVE_AFTER_BYE, LEAVE_WHEN_RELEASED
from antecede.live.addresses import Address
from antecede.live.deliveries import Deliveries, Handler
from antecede.live.errors import (
    NodeClosed,
    Stranded,
    TimedOut,
    Undelivered,
    UnknownPeer,
    fenced_sentence,
)
from antecede.live.expelling import Expelling
from antecede.live.explaining import Explanation, blocked_by, explain, obstacles
from antecede.live.keeping import AppJournal, Keeper, Parts
from antecede.live.listeners import Listener, Listeners
from antecede.live.names import checked_name, process_id
from antecede.live.peers import read_keys
from antecede.live.reading import ReadingInTurns
from antecede.live.room import Room
from antecede.live.security.choosing import check_reload, give_keys, ring_of
from antecede.live.security.guarding import KeyGuard
from antecede.live.seeking import follow
from antecede.live.settings import AddressLike, KeysLike, Settings
from antecede.live.stats import Figures, Health, Stats, health_of
from antecede.live.targets import chosen_targets
from antecede.live.tracing import LiveTrace, TraceKeeping
from antecede.live.transport import Transport
from antecede.live.waiting import Notifier, one_turn

Linger: TypeAlias = Literal["released", "bye"]

log = logging.getLogger(__name__)


class Node:
    """One process among others; open one with `open_node`."""

    def __init__(
        self,
        settings: Settings,
        endpoint: Endpoint,
        transport: Transport,
        trace: LiveTrace | None,
        guard: KeyGuard | None = None,
        keeper: Keeper | None = None,
    ) -> None:
        self._guard: Final = guard
        self._keeper: Final = keeper
        # Whose peers and keys are in use: the settings, or what was loaded since.
        self._configured = settings
        self.settings: Final = settings
        self._endpoint: Final = endpoint
        self._transport: Final = transport
        self._loop: Final = asyncio.get_running_loop()
        self._now: Final = transport.now_ns
        # On the way of every message: looked up once.
        self._quick_send: Final = endpoint.sending.quick_send
        # The transport hands datagrams to whoever reads them in turns, peer by peer.
        self._turns: Final = ReadingInTurns(self, endpoint, transport.now_ns, self._loop)
        kept = None if keeper is None else keeper.kept
        self._deliveries: Final = Deliveries(settings.name, endpoint, self._on_consumed, kept)
        self._expelling: Final = Expelling(settings.expel, endpoint, settings.name)
        self._progress = Notifier(self._loop)
        self._room: Final = Room(
            settings, endpoint, self._deliveries, self._progress, self._check_open
        )
        self._flush_planned = False
        self._skipped: list[str] = []
        self._closing = False
        self._closed = False
        self._listeners: Final = Listeners(settings.name)
        self._figures: Final = Figures(
            settings,
            endpoint,
            self._deliveries,
            self._listeners,
            transport,
            self._turns.intake,
            keeper,
        )
        self._trace: Final = TraceKeeping(trace, self._loop)
        transport.start(self._turns)
        for name in settings.peers:
            self._introduce(name, settings.address_of(name))
        self._journal: Final = self._begin_journal()
        self._trace.begin()
        self._plan_flush()

    # Who this is.

    @property
    def name(self) -> str:
        """What this node is called."""
        return self.settings.name

    @property
    def incarnation(self) -> int:
        """Which life of this name it is: with a journal the same after a crash, else a new one."""
        return self._endpoint.incarnation

    @property
    def address(self) -> Address:
        """Where this node can be reached: host and port."""
        return self._transport.address

    @property
    def fenced(self) -> NodeFenced | None:
        """Who has expelled this node, and why; None if nobody has."""
        return self._endpoint.fenced

    @property
    def journal(self) -> AppJournal:
        """What the application keeps in the journal; `LocalError` if the node has none."""
        if self._journal is None:
            raise LocalError(f"{self.name} has no journal: open it with journal=FOLDER")
        return self._journal

    @property
    def closed(self) -> bool:
        """Whether the node has left."""
        return self._closed

    @property
    def peers(self) -> tuple[str, ...]:
        """The names of all peers, met or not."""
        return tuple(self._endpoint.directory.by_name)

    def add_peer(self, name: str, address: AddressLike | None = None, keys: KeysLike = ()) -> None:
        """Introduce a peer; without an address it has to say hello first.

        Where nodes have keys of their own, `keys` are the public ones that this peer may have.
        """
        self._check_open()
        before = () if self._guard is None else self._guard.ring.known_keys(checked_name(name))
        give_keys(self._guard, self.settings, name, read_keys(keys))
        try:
            self._introduce(name, address)
        except Exception:
            if self._guard is not None:
                self._guard.ring.set_keys(name, before)
            raise
        self._plan_flush()

    def remove_peer(self, name: str) -> None:
        """Forget a peer that has left; one that has not is expelled first (see `expel`)."""
        if name not in self._endpoint.directory.by_name:
            raise UnknownPeer(name, self.peers)
        self._transport.found(self._endpoint.directory.by_name[name].address)
        self._endpoint.remove_peer(name, self._now())
        self._after_step()
        self._plan_flush()

    def set_keys(self, name: str, keys: KeysLike) -> None:
        """From now on a peer has these public keys, and no others.

        As by `reload`: one that is talked to under another is expelled, and may come back with one
        of these. Nothing has changed if this raises.
        """
        self._check_open()
        if name not in self._endpoint.directory.by_name:
            raise UnknownPeer(name, self.peers)
        give_keys(self._guard, self.settings, name, read_keys(keys))
        self._endpoint.follow_keys(self._now())
        self._after_step()
        self._plan_flush()

    def reload(self, settings: Settings) -> None:
        """Take over the peers and the keys that these settings name, without a restart.

        New peers are introduced; those that the settings named before and do not any more are
        forgotten, as by `remove_peer`. New keys count for every greeting from now on. A peer that
        is talked to under a key that it does not have any more is expelled, and may come back
        with another. Nothing has changed if this raises.
        """
        self._check_open()
        check_reload(self._configured, settings)
        for name in settings.peers:
            self._transport.resolve(settings.address_of(name))
        if self._guard is not None:
            ring = ring_of(settings)
            assert ring is not None, "a node with keys is reloaded with keys"
            ring.adopt(self._guard.ring, [p for p in self.peers if p not in self._configured.peers])
            self._guard.use(ring)
            self._endpoint.follow_keys(self._now())
        before, self._configured = self._configured, settings
        for name in before.peers:
            if name not in settings.peers and name in self.peers:
                self.remove_peer(name)
        for name in settings.peers:
            if name not in self.peers:
                self._introduce(name, settings.address_of(name))
        self._after_step()
        self._plan_flush()

    async def expel(self, name: str, reason: str = "") -> None:
        """Go on without a peer, for ever and whatever it does; all others are told, and follow.

        For a peer that is dead or cannot be reached: what it owed counts as given, so nothing waits
        for it any more. Should it live after all, it is told to stop (`Fenced` there); causal order
        is kept everywhere, rightly or wrongly suspected. A new node of its name may come back.
        """
        self._check_open()
        if name not in self._endpoint.directory.by_name:
            raise UnknownPeer(name, self.peers)
        self._endpoint.expel(name, reason, self._now())
        self._after_step()
        self._plan_flush()

    # Sending.

    async def send(self, target: str | Sequence[str], payload: bytes) -> int:
        """Send to one peer or, as one message, to several; the message's id.

        Returns when the message is buffered: it will be delivered, exactly once and in causal
        order, as long as its targets live. Waits only for room and, with a journal, for the disk.
        """
        if self._keeper is not None:
            sequence = await self.send_buffered(target, payload)
            await self._keeper.kept_so_far()
            return sequence
        sequence = 0 if self._room.careful else self._quick_send(target, payload, self._now())
        if sequence == 0:
            return await self._send_with_care(target, payload)
        if not self._flush_planned:
            self._plan_flush()
        return sequence

    async def send_buffered(self, target: str | Sequence[str], payload: bytes) -> int:
        """Like `send`, but it does not wait for the disk: `journal.sync` does, for many at once."""
        sequence = 0 if self._room.careful else self._quick_send(target, payload, self._now())
        if sequence == 0:
            return await self._send_with_care(target, payload)
        if not self._flush_planned:
            self._plan_flush()
        return sequence

    def when_kept(self, action: Callable[[], None]) -> None:
        """Do this once everything done so far is on disk; at once without a journal."""
        if self._keeper is None:
            action()
        else:
            self._keeper.when_kept(action)
            self._plan_flush()

    def try_send(self, target: str | Sequence[str], payload: bytes) -> int:
        """Like `send`, but `BufferFull` where that would wait; it does not wait for the disk."""
        sequence = 0 if self._closing else self._quick_send(target, payload, self._now())
        if sequence == 0:
            contacts, to_self = self._resolve(target, payload)
            if not self._room.has_room_for(payload, to_self):
                raise BufferFull(
                    f"{self._room.fullness(to_self)}; try later, or use send(), which waits"
                )
            sequence = self._hand_over(contacts, to_self, payload)
            if to_self:
                self._deliveries.notify()
            if self._endpoint.sending.wants_flush():
                self._write_out()
        if not self._flush_planned:
            self._plan_flush()
        return sequence

    async def flush(self, timeout: float | None = None) -> None:
        """Wait until everything sent so far has been delivered; `TimedOut` names who has not.

        `Undelivered`, once, if messages had to be given up since the last call.
        """
        self._check_open()
        await self._drained(timeout, "flush")
        if self._closed and self._endpoint.buffered() > 0:
            raise NodeClosed(self.name)
        if given_up := self._listeners.take_untold():
            raise Undelivered(given_up)

    # Receiving.

    def __aiter__(self) -> Deliveries:
        return self._deliveries

    def __anext__(self) -> Awaitable[InboundMessage]:
        return self._deliveries.__anext__()

    async def receive(self, timeout: float | None = None) -> InboundMessage:
        """The next message; `TimedOut` if none comes in time, `NodeClosed` if none will."""
        try:
            return await self._deliveries.next_message(timeout)
        except TimedOut as error:
            known = "; ".join(self.obstacles(self.peers))
            raise TimedOut(error.action, error.seconds, known) from None

    def receive_ready(self) -> list[InboundMessage]:
        """Messages that are there already, in order; empty if none are. Never waits."""
        return self._deliveries.take_ready()

    def on_message(self, handler: Handler) -> None:
        """Call `handler` with every message: one at a time, in order, awaited if it is async.

        A handler that raises does not stop the next message; the exception is logged.
        """
        self._check_open()
        self._deliveries.hand_to(handler)

    def on_event(self, listener: Listener) -> None:
        """Call `listener` with everything worth knowing about peers: `antecede.link.reports`."""
        self._listeners.add(listener)
        if self._keeper is not None:
            self._keeper.tell_untold()

    # Looking inside.

    def stats(self) -> Stats:
        """What has been counted so far, and how things stand."""
        return self._figures.stats()

    async def stats_in_turns(self) -> Stats:
        """The same, with a turn of the loop after some peers: for nodes that have many."""
        return await self._figures.stats_in_turns()

    def health(self, stats: Stats | None = None) -> Health:
        """Whether the node can do its work, in a word and with reasons; `stats` saves counting."""
        return health_of(
            self.stats() if stats is None else stats,
            closed=self._closed,
            trace_failure=self._trace.failure,
            journal_failure=None if self._keeper is None else self._keeper.failure(),
            takes_no_news=self._endpoint.directory.takes_no_news(),
            blocked=blocked_by(self._endpoint),
        )

    def explain(self) -> Explanation:
        """Why is something waiting? Print it."""
        return explain(self._endpoint, self._now())

    def obstacles(self, names: Sequence[str]) -> list[str]:
        """Why these peers are not talked to, as far as is known: who refuses, who was never met."""
        known = obstacles(self._endpoint, names)
        for name in names:
            contact = self._endpoint.directory.by_name.get(name)
            if contact is not None and (trouble := self._transport.trouble(contact.address)):
                known.append(f"{name}: {trouble}")
        return known

    def check_journal(self) -> None:
        """Raise why the journal made this node stop, if it did."""
        if self._keeper is not None and self._keeper.failed is not None:
            raise self._keeper.failed

    def is_busy(self) -> bool:
        """Whether anything is under way: something undelivered, unanswered, or a peer not met."""
        sessions = self._endpoint.sessions()
        return self.has_undelivered() or any(s.path.flight.eliciting > 0 for s in sessions)

    def has_undelivered(self) -> bool:
        """Whether something sent has not been delivered everywhere, or a peer not been met."""
        endpoint = self._endpoint
        if endpoint.buffered() > 0 or not endpoint.sending.large_is_done():
            return True
        return any(
            not (contact.expelled or contact.session.met or contact.session.ended)
            for contact in endpoint.directory.by_name.values()
        )

    # Leaving.

    def leave_on_signals(self, *signals: signal.Signals) -> None:
        """Let SIGTERM and Ctrl-C (or these) end the iteration over messages, so that the program
        goes on after its `async for` and leaves as it should; a second signal interrupts it."""
        for number in signals or (signal.SIGTERM, signal.SIGINT):
            self._loop.add_signal_handler(number, self._on_signal, number)

    def stranded(self) -> list[str]:
        """The peers that may miss something if this node stopped now, or had when it stopped."""
        return self._endpoint.stranded()

    def abandon(self) -> None:
        """Stop at once, as if the process had been killed: peers hear nothing more."""
        self._closing = True
        self._room.close()
        self._stop()
        self._close_files(write=False)

    async def close(self, timeout: float | None = None, linger: Linger = "released") -> None:
        """Deliver everything, say bye, and leave when the handler has seen what was delivered.

        `linger="released"` leaves when no peer has anything more for this node; `"bye"` stays, and
        goes on receiving, until every peer has said bye too. `Stranded` names the peers that are
        left without, if the time (the setting `linger` by default) is over before.
        """
        if self._closed:
            return
        limit = self.settings.linger if timeout is None else timeout
        deadline = self._loop.time() + limit
        self._closing = True
        self._room.close()
        stranded: list[str] = []
        reasons: list[str] = []
        try:
            stranded = await self._say_bye(deadline, linger)
            reasons = self.obstacles(stranded)
            if self._keeper is not None and not self._closed:
                await self._keeper.end_life()
            self._flush()
            self._say_last_word()
            self._stop()
            await self._deliveries.handed_over(deadline - self._loop.time())
        finally:
            self._stop()
            self._close_files(write=True)
            await self._transport.gone()
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

    # What the transport calls.

    def on_input_end(self, now_ns: int) -> None:
        """Everything that had come has been taken in, or waits for its turn."""
        if self._closed:
            return
        if self._keeper is None and self._endpoint.inbox.messages:
            # What a handler or a waiting task answers rides with the acknowledgements, in the
            # flush below.
            planned, self._flush_planned = self._flush_planned, True
            try:
                resumes_later = self._deliveries.hand_over()
            finally:
                self._flush_planned = planned
            if resumes_later:
                self._plan_flush()
            if resumes_later or self._closed:
                self._after_step()
                return
        self._flush_at(now_ns)
        self._after_step()

    def on_time(self, now_ns: int) -> None:
        """A timer has rung."""
        self._endpoint.expire(now_ns)
        self._expelling.look(now_ns)
        self._after_step()
        self._flush_at(now_ns)

    # Sending, inside.

    async def _send_with_care(self, target: str | Sequence[str], payload: bytes) -> int:
        """Send what is not an ordinary message to one peer with room for it."""
        sending = self._endpoint.sending
        if sending.wants_flush():
            self._flush()
            await one_turn()
        contacts, to_self = self._resolve(target, payload)
        if self._room.careful or not sending.has_room(to_self):
            await self._room.wait(to_self)
            # A target may have left meanwhile, or have been removed.
            contacts, to_self = self._resolve(target, payload)
        sequence = self._hand_over(contacts, to_self, payload)
        self._plan_flush()
        if not sending.large_is_done():
            await self._room.wait_for_large()
        if to_self:
            self._deliveries.notify()
        return sequence

    def _introduce(self, name: str, address: object, seen_at: object = None) -> None:
        checked_name(name)
        resolved = self._transport.locate(name, address)
        size = self._transport.datagram_size(resolved if seen_at is None else seen_at)
        process = process_id(name)
        self._trace.note_process(process, name)
        stranger = seen_at is not None
        self._endpoint.add_peer(name, resolved, process, size, self._now(), stranger)
        self._transport.seek(resolved)

    def _check_open(self) -> None:
        self.check_journal()
        if self._endpoint.fenced is not None:
            raise Fenced(fenced_sentence(self.name, self._endpoint.fenced))
        if self._closing:
            raise NodeClosed(self.name)

    def _resolve(self, target: object, payload: object) -> tuple[list[Contact], bool]:
        """Whom a message is for, if it can be sent."""
        self._check_open()
        if self._keeper is not None:
            self._keeper.check()
        self._skipped = []
        directory = self._endpoint.directory
        return chosen_targets(directory, target, payload, self.settings, self._skipped)

    def _hand_over(self, contacts: list[Contact], to_self: bool, payload: bytes) -> int:
        """Send, and report targets that get nothing: they do not keep it from the others."""
        now_ns = self._now()
        for contact in contacts:
            if contact.session.is_gone() and contact.address is not None:
                self._transport.seek(contact.address)
        self._endpoint.await_return(contacts, now_ns)
        sequence = self._endpoint.sending.send(contacts, to_self, payload, now_ns)
        for name in self._skipped:
            self._endpoint.losses.tell(name, [sequence])
        if self._skipped:
            self._skipped = []
            self._after_step()
        return sequence

    # Output, inside.

    def _plan_flush(self) -> None:
        if not self._flush_planned and not self._closed:
            self._flush_planned = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._flush_planned = False
        if not self._closed:
            self._flush_at(self._now())

    def _write_out(self) -> None:
        """So much was sent in this turn that it leaves; with a journal a turn is one commit."""
        if self._keeper is None:
            self._flush()
        else:
            self._endpoint.write(self._now())

    def _flush_at(self, now_ns: int) -> None:
        endpoint = self._endpoint
        endpoint.write(now_ns)
        if self._keeper is not None:
            self._keeper.collect(endpoint.reports)
        elif endpoint.out:
            self._transport.send(endpoint.out)
        self._transport.wake_at(endpoint.wake_ns())

    def _on_consumed(self) -> None:
        """Messages were taken: peers get credit for theirs, and there is room for our own."""
        self._plan_flush()
        if self._progress.waiters:
            self._progress.notify()

    def _after_step(self) -> None:
        """Tell everybody who waits for something that may have happened."""
        if self._progress.waiters:
            self._progress.notify()
        if not self._endpoint.reports:
            return
        if self._keeper is None:
            self._announce()
        else:
            self._plan_flush()

    def _announce(self) -> None:
        reports = list(self._endpoint.reports)
        self._endpoint.reports.clear()
        self._tell(reports)

    def _tell(self, reports: list[Report]) -> None:
        for report in reports:
            if isinstance(report, NodeFenced):
                self._closing = True
                self._loop.call_soon(self._stop_fenced)
            follow(report, self._endpoint.directory, self._transport)
            if not isinstance(report, Stranger) or self._has_let_in(report):
                self._listeners.tell(report)

    def _has_let_in(self, stranger: Stranger) -> bool:
        """Introduce a stranger, who will say hello again and then be welcome; False if known."""
        if stranger.name in self._endpoint.directory.by_name:
            return False  # It had said hello twice before it could be introduced.
        try:
            self._introduce(stranger.name, None, stranger.address)
        except LocalError as error:
            log.info("%s: a stranger cannot be let in: %s", self.name, error)
            return False
        return True

    # Leaving, inside.

    def _on_signal(self, number: signal.Signals) -> None:
        log.info("%s: %s: leaving", self.name, number.name)
        self._loop.remove_signal_handler(number)
        self._deliveries.stop_iterating()

    async def _drained(self, timeout: float | None, action: str) -> None:
        sending = self._endpoint.sending
        last = sending.last_sequence()
        await self._progress.wait_until(
            lambda: self._closed or sending.is_delivered(last),
            timeout,
            action,
            lambda: str(self.explain()),
        )

    async def _say_bye(self, deadline: float, linger: Linger) -> list[str]:
        """Drain, say bye, and wait to be let go; who has not by the deadline."""
        endpoint = self._endpoint
        mode = LEAVE_AFTER_BYE if linger == "bye" else LEAVE_WHEN_RELEASED
        try:
            try:
                await self._drained(deadline - self._loop.time(), "close")
            finally:
                # Too late or not: nobody should wait for a node that is gone. One with a journal
                # is not gone as long as somebody misses something of it.
                if self._keeper is None or endpoint.buffered() == 0:
                    endpoint.say_bye(mode, self._now())
                    self._flush()
            await self._progress.wait_until(
                lambda: self._closed or not endpoint.awaited(),
                deadline - self._loop.time(),
                "close",
                str,
            )
        except TimedOut:
            return endpoint.stranded()
        return endpoint.stranded() if self._closed else []  # Another call had less patience.

    def _say_last_word(self) -> None:
        """Nothing is delivered here from now on: nobody need wait for that."""
        if not self._closed:
            self._endpoint.stop(self._now())
            self._transport.send(self._endpoint.out)

    def _stop(self) -> None:
        if self._closed:
            return
        self._closed = self._room.closed = True
        self._transport.close()
        self._deliveries.end()
        self._progress.notify()
        self._trace.stop()

    def _stop_fenced(self) -> None:
        """Others go on without this node: nothing that it did now would count."""
        self._stop()
        self._close_files(write=True)

    def _close_files(self, *, write: bool) -> None:
        if self._keeper is not None:
            self._keeper.close(write=write)
        self._trace.close()

    # The journal, inside.

    def _begin_journal(self) -> AppJournal | None:
        """Restore what is in the journal; from now on everything is written before it shows."""
        keeper = self._keeper
        if keeper is None:
            return None
        for known in keeper.kept.peers():
            if known.name not in self._endpoint.directory.by_name:
                # It was added later, or let in: it will say hello.
                seen_at = (self.address.host, 0) if known.stranger else None
                self._introduce(known.name, None, seen_at)
                self._endpoint.directory.by_name[known.name].recalled = True
        self._deliveries.confirms_by_asking = self.settings.confirm == "next"
        keeper.begin(
            Parts(
                endpoint=self._endpoint,
                transport=self._transport,
                deliveries=self._deliveries,
                progress=self._progress,
                tell=self._tell,
                stop=self.abandon,
            )
        )
        keeper.kept.handling.wake = self._plan_flush
        return AppJournal(keeper, self._deliveries, self._plan_flush)
