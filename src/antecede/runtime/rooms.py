"""The rooms of one node: they drive the rule of `antecede.groups`, one word after the other.

Words of rooms, what is said in rooms and the reports of expulsions stand in the one queue of what
is delivered, in the order in which the core gave them. They are taken from it in that order, as
soon as they come, also if nobody reads. What is said waits for readers behind that: in the lane of
its room, or among the messages of the node. A word waits in two cases, and all that belongs behind
it does, too: somebody whom it names has to be met first, or somebody asks for the state of the
application, which has first to be done with everything before.
"""

import asyncio
import inspect
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from functools import partial
from typing import Final, NamedTuple, TypeAlias

from antecede import events
from antecede.core.errors import LocalError, RemoteError
from antecede.durability.unconfirmed import InboundMessage
from antecede.endpoint.endpoint import Endpoint
from antecede.events import PeerLeft, PeerSilent, Report
from antecede.groups import (
    Ask,
    AskLater,
    Completed,
    Dropped,
    Effect,
    FetchSnapshot,
    ForgetSnapshot,
    Joined,
    Left,
    MakeSnapshot,
    MemberId,
    NobodyToAsk,
    Over,
    Publication,
    Refused,
    RestoreSnapshot,
    RoomId,
    Send,
    Show,
    SplitSeen,
    Word,
    answer_outside,
    decode_word,
    encode_word,
)
from antecede.groups import Room as Rule
from antecede.groups.words import named_in
from antecede.membership.contact import Contact as Peer
from antecede.runtime.backpressure import Backpressure
from antecede.runtime.callbacks import EXITS, Callbacks
from antecede.runtime.config.settings import Settings
from antecede.runtime.content import Content, Payload, payload_bytes
from antecede.runtime.deliveries import Deliveries, RoomWords
from antecede.runtime.errors import JoinFailed, NodeClosed, NotInRoom, PayloadTooLarge, TimedOut
from antecede.runtime.notifier import Notifier, yield_to_loop
from antecede.runtime.room import Room, RoomKeeper, RoomLane
from antecede.runtime.room_contacts import RoomContacts
from antecede.runtime.room_states import Fetching, RoomStates, digest_of
from antecede.runtime.targets import Targets
from antecede.runtime.turn import Turn
from antecede.transport.flow_control import MESSAGE_COST
from antecede.units import size_text
from antecede.wire.envelope import (
    EXPULSION,
    ROOM,
    ROOM_STATE,
    TEXT_LIMIT,
    Envelope,
    escaped,
    seal_envelope,
)

MakeState: TypeAlias = Callable[[], bytes | Awaitable[bytes]]
TakeState: TypeAlias = Callable[[bytes], Awaitable[None] | None]

OVERHEAD: Final = 1024
"""What a room needs of the payload limit beside what is said in it, and more than that."""

ASK_AGAIN_SECONDS: Final = 0.05
ASK_AGAIN_DOUBLINGS: Final = 6
"""Whoever is refused asks again after 50 ms, which doubles six times at most: 3.2 s."""

ROOMS_LEFT_MAX: Final = 256
"""256 rooms that were left are remembered, so that others are answered as they should be."""

PUBLISHED: Final = b"\0"
"""The first byte of most words: something that was said, which names nobody."""

STOPPED: Final = "it was closed without leaving a room"
"""Why a member is expelled that says itself that it is over."""

log = logging.getLogger(__name__)


class ExpelledIn(NamedTuple):
    """The place of an expulsion in the line of one room."""

    room: "LiveRoom"
    name: str
    incarnation: int


class Line:
    """What was delivered and cannot be taken yet, in order."""

    def __init__(self, take: Callable[[InboundMessage, Word | ExpelledIn | None], bool]) -> None:
        # Whether it could be taken.
        self._take: Final = take
        self._waiting: Final[deque[tuple[InboundMessage, Word | ExpelledIn | None]]] = deque()
        self._busy = False

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, message: InboundMessage, word: Word | ExpelledIn | None) -> None:
        """The next; it is taken if it can be."""
        self._waiting.append((message, word))
        if len(self._waiting) == 1:
            self.go_on()

    def go_on(self) -> None:
        """Take what can be taken."""
        if self._busy:
            return  # It is being done, further up in the stack.
        self._busy = True
        try:
            while self._waiting and self._take(*self._waiting[0]):
                self._waiting.popleft()
        finally:
            self._busy = False


class LiveRoom(RoomKeeper):
    """One room at one node."""

    def __init__(
        self,
        name: str,
        rooms: "Rooms",
        rule: Rule,
        snapshot: MakeState | None,
        restore: TakeState | None,
        lane: RoomLane | None,
    ) -> None:
        self.name: Final = name
        self._rooms: Final = rooms
        self.rule = rule
        self._snapshot: Final = snapshot
        self._restore: Final = restore
        self.lane = lane
        self.line: Final = rooms.line if lane is None else Line(rooms.try_take)
        # What the rule wants done, and whether that waits for the application.
        self._effects: Final[deque[Effect]] = deque()
        self._waits = False
        self._message: InboundMessage | None = None
        # The state that has come, by attempt.
        self._state: tuple[int, bytes | None] | None = None
        self.via = ""
        """Whom to ask when no member is known."""
        self.sends = 0
        """Calls of `send` that have not returned: the application may not know of theirs yet."""
        loop = asyncio.get_running_loop()
        self.joined: Final[asyncio.Future[None]] = loop.create_future()
        self.over: Final[asyncio.Future[None]] = loop.create_future()
        self.refusal = ""
        """Why the last sponsor refused; empty if none has since one took us in."""
        self.since: Final = loop.time()
        """When the join began."""

    # What the application wants.

    def members(self) -> tuple[str, ...]:
        if self.rule.is_over or not self.joined.done():
            return ()
        return (self.rule.me.name, *self.rule.names())

    async def send(self, payload: Payload, timeout: float | None) -> int:
        return await self._rooms.publish(self, payload, timeout)

    async def leave(self) -> None:
        await self._rooms.leave(self)

    def is_settled(self) -> bool:
        """Whether the application may be asked for its state: it is done with all it was given."""
        if self._snapshot is None:
            return True
        if self.sends:
            return False
        return self._rooms.is_read() if self.lane is None else self.lane.is_finished()

    def begin_again(self, rule: Rule) -> None:
        """Nobody has heard of this room, or of this node in it: it is another one now."""
        self.rule = rule

    def is_free(self) -> bool:
        """Whether the next word may be taken."""
        return not self._waits

    # What the rule wants.

    def perform(self, effects: list[Effect], message: InboundMessage | None = None) -> None:
        """Do this; what follows on something that waits for the application is done after it."""
        self._effects.extend(effects)
        self._message = message
        while self._effects and not self._waits:
            self._do(self._effects.popleft())

    def _do(self, effect: Effect) -> None:
        if isinstance(effect, Send):
            self._rooms.submit(effect.word, effect.to)
        elif isinstance(effect, Show):
            self._rooms.show(self, effect.publication, self._message)
            self._effects.extendleft(reversed(self.rule.finished()))
        elif isinstance(effect, MakeSnapshot):
            self._make(effect.joiner, effect.attempt)
        elif isinstance(effect, ForgetSnapshot):
            self._rooms.states.forget((self.name, effect.joiner, effect.attempt))
        elif isinstance(effect, FetchSnapshot):
            self._fetch(effect)
        elif isinstance(effect, RestoreSnapshot):
            self._give_back(effect.attempt)
        else:
            self._on_news(effect)

    def _on_news(self, effect: Effect) -> None:
        me = self.rule.me.name
        if isinstance(effect, Completed):
            self._rooms.tell(events.Joined(name=me, room=self.name))
            if not self.joined.done():
                self.joined.set_result(None)
        elif isinstance(effect, Joined):
            self._rooms.tell(events.Joined(name=effect.member.name, room=self.name))
        elif isinstance(effect, Left):
            self._rooms.states.forget_of(self.name, effect.member)
            self._rooms.tell(events.Left(name=effect.member.name, room=self.name))
        elif isinstance(effect, Refused):
            self.refusal = f"{effect.sponsor}: {effect.why}"
            log.debug("%s: %s: refused by %s", me, self.name, self.refusal)
        elif isinstance(effect, AskLater):
            self._rooms.ask_later(self, min(effect.refusals, ASK_AGAIN_DOUBLINGS))
        elif isinstance(effect, NobodyToAsk):
            self._rooms.ask_later(self, ASK_AGAIN_DOUBLINGS // 2)
        elif isinstance(effect, Dropped):
            log.warning("%s: %s: %s is no member, and speaks", me, self.name, effect.sender.name)
        elif isinstance(effect, SplitSeen):
            self._rooms.tell(events.RoomSplit(name=effect.peer, room=self.name))
        elif isinstance(effect, Over):
            self._rooms.on_over(self)

    # States.

    def _make(self, joiner: MemberId, attempt: int) -> None:
        """Ask the application for its state."""
        if self._snapshot is None:
            self._effects.extendleft(reversed(self.rule.snapshot_made(0, b"")))
            return
        try:
            answer = self._snapshot()
        except EXITS:
            raise
        except BaseException as error:
            self._made(joiner, attempt, error)
            return
        if inspect.isawaitable(answer):
            self._wait_for(answer, partial(self._made, joiner, attempt))
        else:
            self._made(joiner, attempt, answer)

    def _made(self, joiner: MemberId, attempt: int, state: object) -> None:
        if isinstance(state, BaseException):
            self._rooms.on_failure(f"snapshot= of the room {self.name!r}", state)
            effects = self.rule.snapshot_failed("its application has failed to give its state")
        elif not isinstance(state, bytes):
            log.error("%s: snapshot= must return bytes, not %r", self.name, type(state).__name__)
            effects = self.rule.snapshot_failed("its application gives no bytes for its state")
        elif len(state) > (limit := self._rooms.settings.snapshot_limit):
            why = f"its state of {size_text(len(state))} is beyond {size_text(limit)}"
            log.error("%s: %s (snapshot_limit)", self.name, why)
            effects = self.rule.snapshot_failed(why)
        else:
            self._rooms.states.offer((self.name, joiner, int(attempt)), state)
            effects = self.rule.snapshot_made(len(state), digest_of(state))
        self._effects.extendleft(reversed(effects))

    def _fetch(self, wanted: FetchSnapshot) -> None:
        """Get the bytes of the state, beside the words."""
        attempt = int(wanted.attempt)
        self.refusal = ""
        if not wanted.digest:
            self._state = (attempt, None)
            self._effects.extend(self.rule.snapshot_fetched(attempt))
            return
        name, sponsor = self.name, wanted.sponsor.name

        def progress(received: int, size: int) -> None:
            self._rooms.tell(
                events.SnapshotProgress(name=sponsor, room=name, received=received, size=size)
            )

        def done(state: bytes | None) -> None:
            if state is None:
                self.perform(self.rule.snapshot_lost(attempt, "its state came damaged"))
            else:
                self._state = (attempt, state)
                self.perform(self.rule.snapshot_fetched(attempt))

        fetching = Fetching(sponsor, int(wanted.length), wanted.digest, progress, done)
        self._rooms.states.fetch((name, self.rule.me, attempt), fetching)

    def _give_back(self, attempt: int) -> None:
        """Give the application the state that it begins with."""
        state = self._state
        self._state = None
        if self._restore is None or state is None or state[1] is None or state[0] != attempt:
            return
        try:
            answer = self._restore(state[1])
        except EXITS:
            raise
        except BaseException as error:
            self._restored(error)
            return
        if inspect.isawaitable(answer):
            self._wait_for(answer, self._restored)

    def _restored(self, outcome: object) -> None:
        if isinstance(outcome, BaseException):
            self._rooms.on_failure(f"restore= of the room {self.name!r}", outcome)
            self._rooms.give_up(self, f"restore= has failed: {outcome!r}")

    def _wait_for(self, answer: Awaitable[object], then: Callable[[object], None]) -> None:
        """Do nothing else of this room until the application has answered."""

        async def wait() -> None:
            try:
                outcome: object = await answer
            except asyncio.CancelledError:
                raise
            except EXITS:
                raise
            except BaseException as error:
                outcome = error
            self._waits = False
            then(outcome)
            self.perform([])
            self._rooms.go_on()

        self._waits = True
        self._rooms.run(wait())


class Rooms(RoomWords):
    """The rooms of one node."""

    def __init__(
        self,
        settings: Settings,
        endpoint: Endpoint,
        deliveries: Deliveries,
        backpressure: Backpressure,
        progress: Notifier,
        turn: Turn,
        contacts: RoomContacts,
        now: Callable[[], int],
        tell: Callable[[Report], None],
        callbacks: Callbacks,
        check_may_send: Callable[[], None],
        send: Callable[[str, Content], Awaitable[int]],
    ) -> None:
        self.settings: Final = settings
        self._endpoint: Final = endpoint
        self._deliveries: Final = deliveries
        self._backpressure: Final = backpressure
        self._progress: Final = progress
        self._turn: Final = turn
        self._contacts: Final = contacts
        self._now: Final = now
        self.tell: Final = tell
        self._callbacks: Final = callbacks
        self._check_may_send: Final = check_may_send
        self._loop: Final = asyncio.get_running_loop()
        self.states: Final = RoomStates(settings.name, send)
        self.line: Final = Line(self.try_take)
        """What cannot be taken yet of the node's own messages, and of rooms read with them."""
        self.by_name: Final[dict[str, LiveRoom]] = {}
        self._left: Final[dict[str, LiveRoom]] = {}
        self._joins = 0
        # What must be submitted before anything else of rooms, and found no room.
        self._outbox: Final[deque[tuple[bytes, tuple[str, ...]]]] = deque()
        self._tasks: Final[set[asyncio.Task[None]]] = set()
        self._timer: asyncio.TimerHandle | None = None
        # How much was taken that nobody has read, about; and whether whoever reads the node has
        # all of what was said in rooms that are read with it.
        self._ahead_bytes = 0
        self._is_read = True
        self._closed = False
        deliveries.pass_rooms_to(self)

    # What the application wants.

    async def join(
        self,
        name: str,
        via: str | None,
        snapshot: MakeState | None,
        restore: TakeState | None,
        *,
        in_node: bool,
        timeout: float | None,
    ) -> Room:
        """Join a room through a member, or found one; returns when that is complete."""
        self._check_may_send()
        check_room_name(name)
        before = self.by_name.get(name)
        if before is not None and not before.rule.is_leaving:
            raise LocalError(f"this node is in the room {name!r} already, or about to join it")
        self._endpoint.inbox.report_expulsions()
        lane = None
        if not in_node:
            lane = RoomLane(self._deliveries.confirming, self.on_read)
        room = self._add(name, snapshot, restore, lane, founds=via is None)
        self._left.pop(name, None)
        if via is None:
            room.joined.set_result(None)
            self.tell(events.Joined(name=self.settings.name, room=name))
            return Room(name, room)
        try:
            async with asyncio.timeout(timeout):
                await self._enter(room, via)
        except TimeoutError:
            raise self._join_timed_out(room, timeout) from None
        finally:
            if not room.joined.done() or room.joined.exception() is not None:
                self._abandon(room)
        return Room(name, room)

    def _add(
        self,
        name: str,
        snapshot: MakeState | None,
        restore: TakeState | None,
        lane: RoomLane | None,
        *,
        founds: bool,
    ) -> LiveRoom:
        self._joins += 1
        me = self._me(self._joins)
        contact, expelled = self._contacts.own(), self._endpoint.expelled_names()
        if founds:
            rule = Rule.found(RoomId(name, me.name, me.incarnation), me, contact, expelled)
        else:
            rule = Rule(RoomId(name), me, contact, expelled)
        room = LiveRoom(name, self, rule, snapshot, restore, lane)
        self.by_name[name] = room
        return room

    def _me(self, joins: int) -> MemberId:
        return MemberId(self.settings.name, self._endpoint.incarnation, joins)

    async def _enter(self, room: LiveRoom, via: str) -> None:
        """Ask until somebody takes this node in."""
        room.via = via = await self._contacts.meet(via, self._progress)
        if room.rule.me.incarnation != self._endpoint.incarnation:
            # The number may change until the first peer is met.
            me, rule = self._me(int(room.rule.me.joins)), room.rule
            room.begin_again(Rule(rule.room, me, self._contacts.own(), rule.expelled))
        room.perform(room.rule.ask(via))
        self._turn.soon()
        await asyncio.shield(room.joined)

    def _join_timed_out(self, room: LiveRoom, timeout: float | None) -> TimedOut:
        assert timeout is not None, "or it would not be over"
        return TimedOut(
            "join", timeout, room.refusal or f"{room.rule.sponsor or room.via} is asked"
        )

    def _abandon(self, room: LiveRoom) -> None:
        """Nobody waits for this join any more: it goes on, to be left at once."""
        if not self._closed:
            room.perform(room.rule.leave())
            if room.rule.sponsor == "" and not room.rule.view():
                self.on_over(room)  # Nobody has ever heard of it.
            self._turn.soon()

    def give_up(self, room: LiveRoom, why: str) -> None:
        """This join comes to nothing."""
        if not room.joined.done():
            room.joined.set_exception(JoinFailed(room.name, why))
            room.joined.exception()
        else:
            room.perform(room.rule.leave())

    async def leave(self, room: LiveRoom) -> None:
        """Leave, and wait until those whom this node takes in have all they need of it."""
        if room.lane is not None:
            room.lane.end(drop=True)
        room.perform(room.rule.leave())
        self.go_on()
        self._turn.soon()
        await asyncio.shield(room.over)

    async def leave_all(self, seconds: float) -> None:
        """Leave all rooms, for the node is closing; at once those that take longer."""
        members = [room for room in self.by_name.values() if room.rule.is_complete]
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, seconds) / 2):
                await asyncio.gather(*(self.leave(room) for room in members))
                while self.states.bytes_held():
                    await self._progress.wait()
        for room in list(self.by_name.values()):
            room.perform(room.rule.leave(at_once=True))

    async def publish(self, room: LiveRoom, payload: Payload, timeout: float | None) -> int:
        """Say something in a room: the number of what this node has said there."""
        data = escaped(payload_bytes(payload))
        targets = self._targets(room, data)
        room.sends += 1
        try:
            paced = self._endpoint.sending.wants_flush()
            if paced:
                self._turn.end()
            if paced or self._outbox or self._backpressure.must_wait(targets):
                async with asyncio.timeout(timeout):
                    await self._backpressure.wait(partial(self._targets, room, data), paced)
            # In one step: the view, the number, and the submission.
            room.perform(room.rule.publish(data))
            number = room.rule.cnt[room.rule.me]
            self._turn.soon()
            if not self._endpoint.sending.large_is_done():
                await self._backpressure.wait_for_large()
            return int(number)
        except TimeoutError:
            assert timeout is not None, "or it would not be over"
            raise TimedOut("send", timeout, f"to the room {room.name!r}") from None
        finally:
            room.sends -= 1
            self._loop.call_soon(self.go_on)

    def _targets(self, room: LiveRoom, data: bytes) -> Targets:
        """Whom something said in a room is for, as things stand."""
        self._check_may_send()
        if room.rule.is_over or room.rule.is_leaving:
            raise NotInRoom(room.name)
        contacts = self._here(room.rule.names())
        limit = self.settings.payload_limit
        for contact in contacts:
            limit = min(limit, contact.session.payload_limit)
        if len(data) > limit - OVERHEAD:
            raise PayloadTooLarge(len(data), max(0, limit - OVERHEAD))
        waits = self._outbox or not room.rule.may_publish()
        return Targets(contacts, False, [], [room.name] if waits else [], data)

    def _here(self, names: Sequence[str]) -> list[Peer]:
        by_name = self._endpoint.directory.by_name
        return [by_name[name] for name in names if name in by_name and by_name[name].is_here]

    # What is delivered.

    @property
    def in_use(self) -> bool:  # type: ignore[override]  # the queue only asks
        """Whether there are rooms."""
        return bool(self.by_name)

    @property
    def holds(self) -> bool:  # type: ignore[override]  # the queue only asks
        """Whether what is delivered waits behind a word that cannot be taken yet."""
        return len(self.line) > 0

    def held(self) -> int:
        waiting = len(self.line)
        for room in self.by_name.values():
            if room.lane is not None:
                waiting += len(room.line) + len(room.lane)
        return waiting

    def has_room(self) -> bool:
        peers = 1 + len(self._endpoint.directory.by_name)
        return self._ahead_bytes < peers * self.settings.receive_window

    def on_words(self, words: list[InboundMessage]) -> None:
        for message in words:
            assert message.envelope is not None, "a word has one"
            if message.envelope.kind == ROOM_STATE:
                self.states.on_message(message.sender, message.payload)
            elif message.envelope.kind == ROOM and message.payload[:1] != PUBLISHED:
                with suppress(RemoteError):
                    word = decode_word(message.payload, message.sender)
                    if word.room.name in self.by_name:
                        self._contacts.introduce(named_in(word))

    def sort(self, messages: list[InboundMessage]) -> int:
        words = 0
        for message in messages:
            envelope = message.envelope
            if envelope is None or envelope.kind < ROOM:
                self.line.put(message, None)
            else:
                words += 1
                self._sort_word(message, int(envelope.kind))
        return words

    def _sort_word(self, message: InboundMessage, kind: int) -> None:
        if kind == ROOM:
            try:
                word = decode_word(message.payload, message.sender)
            except RemoteError as error:
                log.debug("%s: from %s: %s", self.settings.name, message.sender, error)
                message.done()
                return
            room = self._room_of(word.room.name)
            (self.line if room is None else room.line).put(message, word)
            return
        if kind == EXPULSION and message.sender == self.settings.name:
            assert message.envelope is not None, "it has a kind"
            name, incarnation = message.payload.decode(), int(message.envelope.number)
            for room in list(self.by_name.values()):
                room.line.put(message, ExpelledIn(room, name, incarnation))
        message.done()

    def _room_of(self, name: str) -> "LiveRoom | None":
        found = self.by_name.get(name)
        return self._left.get(name) if found is None else found

    def try_take(self, message: InboundMessage, word: "Word | ExpelledIn | None") -> bool:
        """Take the first of a line; False if it has to wait."""
        if word is None:
            self._ahead_bytes += MESSAGE_COST + len(message.payload)
            self._deliveries.put(message)
            return True
        if self._outbox:
            return False
        if isinstance(word, ExpelledIn):
            room = word.room
            if not room.is_free():
                return False
            room.perform(room.rule.on_expelled(word.name, word.incarnation))
            return True
        return self._take_word(message, word)

    def _take_word(self, message: InboundMessage, word: Word) -> bool:
        room = self._room_of(word.room.name)
        if room is None:
            for effect in answer_outside(word, self._me(self._joins)):
                if isinstance(effect, Send):
                    self.submit(effect.word, effect.to)
        elif not room.is_free() or not self._is_ready(room, word):
            return False
        else:
            room.perform(room.rule.on_word(word), message)
        if not isinstance(word, Publication):
            message.done()
        return True

    def _is_ready(self, room: "LiveRoom", word: Word) -> bool:
        """Whether all are met whom it names, and the application can give its state."""
        if isinstance(word, Publication) or room.rule.is_over:
            return True
        named = named_in(word)
        if named and self._contacts.unsettled(named, self._now()):
            self._contacts.introduce(named)
            self._wake_for_unmet()
            return False
        if isinstance(word, Ask):
            self._renew(room)
            return not room.rule.is_complete or room.is_settled()
        return True

    def _renew(self, room: "LiveRoom") -> None:
        """Nobody has met this node before whoever asks: only now its incarnation is certain."""
        rule = room.rule
        if rule.me.incarnation != self._endpoint.incarnation and len(rule.known) == 1:
            room.begin_again(
                Rule.found(
                    RoomId(room.name, rule.me.name, self._endpoint.incarnation),
                    self._me(int(rule.me.joins)),
                    self._contacts.own(),
                    rule.expelled,
                )
            )

    def show(
        self, room: "LiveRoom", publication: Publication, message: InboundMessage | None
    ) -> None:
        """Something was said in a room: whoever reads gets it after what came before."""
        if message is None:
            message = InboundMessage(publication.sender.name, 0, b"")
        shown = message.in_room(
            room.name, publication.sender.name, publication.number, publication.payload
        )
        self._ahead_bytes += MESSAGE_COST + len(shown.payload)
        if room.lane is not None:
            room.lane.put(shown)
        else:
            self._is_read = False
            self._deliveries.put(shown)

    # What the application has read.

    def is_read(self) -> bool:
        """Whether whoever reads the node is done with all that was said in its rooms."""
        return self._is_read

    def on_asked(self) -> None:
        self._is_read = True
        if self.by_name:
            self._ahead_bytes = sum(
                room.lane.bytes for room in self.by_name.values() if room.lane is not None
            )
        if len(self.line):
            self.line.go_on()

    def on_read(self, freed: int) -> None:
        """A reader of a room has taken a message of this size, or is done with one."""
        was_full = not self.has_room()
        self._ahead_bytes -= freed
        self._loop.call_soon(self.go_on)
        if was_full and self.has_room():
            self._deliveries.take_more()

    def go_on(self) -> None:
        """Something has changed: perhaps more can be taken now."""
        if self._closed:
            return
        before = self._deliveries.placed
        self.line.go_on()
        for room in list(self.by_name.values()):
            if room.lane is not None and len(room.line):
                room.line.go_on()
        if self._deliveries.placed != before:
            self._deliveries.notify()

    # What the rule wants.

    def submit(self, word: Word, to: Sequence[str]) -> None:
        """Send a word of a room; what is submitted later leaves later."""
        body = encode_word(self._contacts.with_addresses(word))
        data = seal_envelope(Envelope(ROOM), body)
        if self._outbox or not self._endpoint.sending.has_room():
            if not self._outbox:
                self.run(self._drain())
            self._outbox.append((data, tuple(to)))
        else:
            self._submit(data, to)

    def _submit(self, data: bytes, to: Sequence[str]) -> None:
        contacts = self._here(to)
        if contacts and self._endpoint.fenced is None:
            self._endpoint.sending.send(contacts, False, data, self._now())
            self._turn.soon()

    async def _drain(self) -> None:
        """Send what had found no room."""
        await yield_to_loop()
        while self._outbox:
            if self._endpoint.sending.has_room():
                self._submit(*self._outbox.popleft())
            else:
                await self._progress.wait()
        self.go_on()

    def ask_later(self, room: "LiveRoom", doublings: int) -> None:
        """Ask again, or somebody else, after a while."""
        delay = ASK_AGAIN_SECONDS * (1 << doublings)
        self._loop.call_later(delay, self._ask_again, room)

    def _ask_again(self, room: "LiveRoom") -> None:
        if self._closed or room.rule.is_complete or room.rule.is_over or room.rule.sponsor:
            return
        if self.by_name.get(room.name) is not room:
            return
        if room.rule.is_leaving and not room.rule.names():
            self.on_over(room)  # Nobody has ever heard of it.
            return
        late = self._loop.time() > room.since + self.settings.meet_within
        if late and not room.rule.names() and room.refusal:
            self.give_up(room, room.refusal)
        elif room.rule.names() or self._here([room.via]):
            room.perform(room.rule.ask("" if room.rule.names() else room.via))
            self.go_on()
        else:
            self.ask_later(room, ASK_AGAIN_DOUBLINGS)

    def on_over(self, room: "LiveRoom") -> None:
        """This node has left."""
        if self.by_name.get(room.name) is room:
            del self.by_name[room.name]
            self._left[room.name] = room
            if len(self._left) > ROOMS_LEFT_MAX:
                del self._left[next(iter(self._left))]
        if room.lane is not None:
            room.lane.end(drop=False)
        if room.joined.done() and not room.over.done() and room.joined.exception() is None:
            self.tell(events.Left(name=self.settings.name, room=room.name))
        if not room.over.done():
            room.over.set_result(None)
        self._loop.call_soon(room.line.go_on)

    def on_failure(self, what: str, error: BaseException) -> None:
        """The application has failed."""
        try:
            raise error
        except BaseException:
            self._callbacks.on_failure(what)

    def run(self, work: Coroutine[None, None, None]) -> None:
        """Do this beside everything else."""
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # What happens to peers.

    def on_report(self, report: Report) -> None:
        """Something has happened to a peer, or to this node."""
        if not self.by_name and not len(self.line):
            return
        if isinstance(report, PeerLeft):
            self._expel_who_left(report.name)
        if isinstance(report, PeerLeft | PeerSilent):
            for room in list(self.by_name.values()):
                rule = room.rule
                if not rule.is_complete and rule.sponsor == report.name and rule.names():
                    room.perform(rule.ask())
        self._loop.call_soon(self.go_on)

    def _expel_who_left(self, name: str) -> None:
        """Who closes its node while others count it in is expelled: it gets nothing any more."""
        for room in self.by_name.values():
            for member in room.rule.view():
                if member.name == name:
                    self._endpoint.expel_incarnation(name, member.incarnation, STOPPED, self._now())
                    self._turn.soon()

    def _wake_for_unmet(self) -> None:
        """Look again when somebody has been waited for long enough."""
        if self._timer is None:
            delay = (self._contacts.next_ns() - self._now()) / 1e9
            self._timer = self._loop.call_later(max(0.0, delay) + 0.01, self._on_unmet)

    def _on_unmet(self) -> None:
        self._timer = None
        self.go_on()
        if self._contacts.is_waiting() and not self._closed:
            self._wake_for_unmet()
        self._turn.soon()

    # The end.

    def close(self) -> None:
        """Nothing is delivered any more."""
        self._closed = True
        self.states.close()
        if self._timer is not None:
            self._timer.cancel()
        for task in self._tasks:
            task.cancel()
        for room in list(self.by_name.values()):
            if room.lane is not None:
                room.lane.end(drop=False)
            if not room.joined.done():
                room.joined.set_exception(NodeClosed(self.settings.name))
                room.joined.exception()
            if not room.over.done():
                room.over.set_result(None)
        self.by_name.clear()


def check_room_name(name: object) -> None:
    """`LocalError` unless a room may be called that."""
    if not isinstance(name, str) or not name or not name.isprintable():
        raise LocalError(f"{name!r} is not the name of a room")
    if len(name.encode()) > TEXT_LIMIT:
        raise LocalError(f"the name of a room has at most {TEXT_LIMIT} bytes")
