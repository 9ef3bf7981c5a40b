"""The rooms of one node: they drive the rule of `antecede.groups`, one word after the other.

Words of rooms, what is said in rooms and the reports of expulsions stand in the one queue of what
is delivered, in the order in which the core gave them. They are taken from it in that order, as
soon as they come, also if nobody reads. What is said waits for readers behind that: in the lane of
its room, or among the messages of the node. A word waits in two cases, and all that belongs behind
it does, too: somebody whom it names has to be met first, or somebody asks for the state of the
application, which has first to be done with everything before.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import Final

from antecede import events
from antecede.core.errors import LocalError, RemoteError
from antecede.durability.unconfirmed import InboundMessage
from antecede.endpoint.endpoint import Endpoint
from antecede.events import PeerLeft, PeerSilent, Report
from antecede.groups import (
    Ask,
    MemberId,
    Publication,
    RoomId,
    Send,
    Word,
    answer_outside,
    decode_word,
)
from antecede.groups import Room as Rule
from antecede.groups.words import named_in
from antecede.membership.contact import ContactState
from antecede.runtime.backpressure import Backpressure
from antecede.runtime.callbacks import Callbacks
from antecede.runtime.committer import Committer
from antecede.runtime.config.settings import Settings
from antecede.runtime.content import Content, Payload, payload_bytes
from antecede.runtime.deliveries import Deliveries, RoomWords
from antecede.runtime.errors import JoinFailed, NodeClosed, NotInRoom, PayloadTooLarge, TimedOut
from antecede.runtime.live_room import (
    ASK_AGAIN_DOUBLINGS,
    ExpelledIn,
    Line,
    LiveRoom,
    MakeState,
    Observe,
    TakeState,
)
from antecede.runtime.notifier import Notifier
from antecede.runtime.room import Room, RoomLane
from antecede.runtime.room_contacts import RoomContacts
from antecede.runtime.room_outbox import RoomOutbox
from antecede.runtime.room_states import RoomStates
from antecede.runtime.targets import Targets
from antecede.runtime.turn import Turn
from antecede.transport.flow_control import MESSAGE_COST
from antecede.units import listing
from antecede.wire.envelope import (
    EXPULSION,
    ROOM,
    ROOM_STATE,
    TEXT_LIMIT,
    escaped,
)

OVERHEAD: Final = 1024
"""What a room needs of the payload limit beside what is said in it, and more than that."""

ASK_AGAIN_SECONDS: Final = 0.05
"""Whoever is refused asks again after 50 ms, or twice, four times, … as long."""

STALL_SECONDS: Final = 5.0
STALL_SECONDS_MAX: Final = 600.0
"""If nothing comes for twice 5 s, somebody else is asked; then after twice as long, up to 600 s."""

LOOK_SECONDS: Final = 0.02
"""Whether all have got their states is looked at every 20 ms by a node that closes."""

ROOMS_LEFT_MAX: Final = 256
"""256 rooms that were left are remembered, so that others are answered as they should be."""

PUBLISHED: Final = b"\0"
"""The first byte of most words: something that was said, which names nobody."""

RECORD: Final = "\0room "
"""What the journal keeps of a room is kept under this and its name."""

STOPPED: Final = "it was closed without leaving a room"
"""Why a member is expelled that says itself that it is over."""

log = logging.getLogger(__name__)


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
        committer: Committer,
        check_may_send: Callable[[], None],
        send: Callable[[str, Content], Awaitable[object]],
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
        self._committer: Final = committer
        self._check_may_send: Final = check_may_send
        self._loop: Final = asyncio.get_running_loop()
        self.states: Final = RoomStates(
            settings.name,
            send,
            contacts.host_here(),
            contacts.host_of,
            sealed=settings.key is not None or settings.cluster_key is not None,
        )
        self.line: Final = Line(self.try_take)
        """What cannot be taken yet of the node's own messages, and of rooms read with them."""
        self.by_name: Final[dict[str, LiveRoom]] = {}
        self._left: Final[dict[str, LiveRoom]] = {}
        self._joins = 0
        self.outbox: Final = RoomOutbox(
            endpoint, contacts, progress, turn, now, self._run_and_go_on
        )
        self._tasks: Final[set[asyncio.Task[None]]] = set()
        self._timer: asyncio.TimerHandle | None = None
        # How much was taken that nobody has read, about; and whether whoever reads the node has
        # all of what was said in rooms that are read with it.
        self._ahead_bytes = 0
        self._is_read = True
        # By room: the members whose marks joiners of this node wait for.
        self._owing: Final[dict[str, list[str]]] = {}
        # Who has closed its node, and perhaps not left a room.
        self._stopped: Final[list[str]] = []
        self._is_leaving = False
        self._closed = False
        self._former: Final = self._read_former()
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
        timeout: float | None = None,
        observe: Observe | None = None,
    ) -> Room:
        """Join a room through a member, or found one; returns when that is complete."""
        self._check_may_send()
        check_room_name(name)
        await self._make_way(name)
        self._endpoint.inbox.report_expulsions()
        lane = None
        if not in_node:
            lane = RoomLane(self._deliveries.confirming, partial(self.on_read, name))
        room = self._add(name, snapshot, restore, lane, observe, founds=via is None)
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

    async def _make_way(self, name: str) -> None:
        """Wait until this node has left the room as a member; a join that was given up ends."""
        while (before := self.by_name.get(name)) is not None:
            if not before.rule.is_leaving:
                raise LocalError(f"this node is in the room {name!r} already, or about to join it")
            if before.rule.is_complete:
                await asyncio.shield(before.over)
            else:
                self.on_over(before)  # Whoever asks again has left as who it was before.

    def _add(
        self,
        name: str,
        snapshot: MakeState | None,
        restore: TakeState | None,
        lane: RoomLane | None,
        observe: Observe | None,
        *,
        founds: bool,
    ) -> LiveRoom:
        self._joins += 1
        if self._deliveries.confirming is not None:
            # With a journal this incarnation may have joined before, in another process.
            self._joins = max(self._joins, time.time_ns() // 1_000_000)
        me = self._me(self._joins)
        contact, expelled = self._contacts.own(), self._endpoint.expelled_names()
        if founds:
            rule = Rule.found(RoomId(name, me.name, me.incarnation), me, contact, expelled)
        else:
            rule = Rule(RoomId(name), me, contact, expelled)
        room = LiveRoom(name, self, rule, snapshot, restore, lane, observe)
        self.by_name[name] = room
        self.in_use = True
        self._write_down(name, f"{me.incarnation} {me.joins}".encode())
        return room

    def _write_down(self, name: str, life: bytes | None) -> None:
        """With a journal: which member this node is, so that it can leave after a crash."""
        if self._deliveries.confirming is not None:
            self._deliveries.confirming.handling.put(RECORD + name, life, 0)

    def _read_former(self) -> dict[str, MemberId]:
        """Which members this node was before a crash; it is none of them any more."""
        if self._deliveries.confirming is None:
            return {}
        former: dict[str, MemberId] = {}
        for key, value in self._deliveries.confirming.handling.values.items():
            if key.startswith(RECORD):
                incarnation, joins = map(int, value.split())
                former[key[len(RECORD) :]] = MemberId(self.settings.name, incarnation, joins)
        return former

    def _me(self, joins: int) -> MemberId:
        return MemberId(self.settings.name, self._endpoint.incarnation, joins)

    async def _enter(self, room: LiveRoom, via: str) -> None:
        """Ask until somebody takes this node in."""
        via = await self._contacts.meet(via, self._progress)
        room.enter_through(via)
        if room.rule.me.incarnation != self._endpoint.incarnation:
            # The number may change until the first peer is met.
            me, rule = self._me(int(room.rule.me.joins)), room.rule
            room.begin_again(Rule(rule.room, me, self._contacts.own(), rule.expelled))
        room.perform(room.rule.ask(via))
        self._turn.soon()
        patience, before = STALL_SECONDS, (-1, -1)
        while not room.joined.done():
            try:
                async with asyncio.timeout(patience):
                    await asyncio.shield(room.joined)
            except TimeoutError:
                if room.activity() == before and not room.rule.is_complete:
                    # Its member may have forgotten it, or never gives its state.
                    patience = min(2 * patience, STALL_SECONDS_MAX)
                    self._ask_another(room)
                before = room.activity()
        room.joined.result()

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

    def room(self, name: str) -> LiveRoom:
        """The room of this name; `NotInRoom` if this node is not in it."""
        room = self.by_name.get(name)
        if room is None:
            raise NotInRoom(name)
        return room

    async def leave(self, room: LiveRoom) -> None:
        """Leave, and wait until those whom this node takes in have all they need of it."""
        if room.lane is not None:
            room.lane.end(drop=True)
        room.perform(room.rule.leave())
        self.go_on()
        if room.lane is None:
            self._deliveries.drop(room.name)
        self._turn.soon()
        await asyncio.shield(room.over)

    async def leave_all(self, seconds: float) -> None:
        """Leave all rooms, for the node is closing; at once those that take longer."""
        self._is_leaving = True
        members = [room for room in self.by_name.values() if room.rule.is_complete]
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, seconds) / 2):
                await asyncio.gather(*(self.leave(room) for room in members))
                while self.states.bytes_held():
                    await asyncio.sleep(LOOK_SECONDS)
        for room in list(self.by_name.values()):
            room.perform(room.rule.leave(at_once=True))

    def is_durable(self) -> bool:
        """Whether what is said has to be on disk first."""
        return self._committer.durable

    async def publish(
        self,
        room: LiveRoom,
        payload: Payload,
        timeout: float | None = None,
        *,
        waits_for_disk: bool = False,
    ) -> int:
        """Say something in a room: the number of what this node has said there."""
        data = escaped(payload_bytes(payload))
        targets = self._targets(room, data)
        try:
            paced = self._endpoint.sending.wants_flush()
            if paced:
                self._turn.end()
            if paced or self.outbox.is_waiting() or self._backpressure.must_wait(targets):
                async with asyncio.timeout(timeout):
                    await self._backpressure.wait(partial(self._targets, room, data), paced)
        except TimeoutError:
            assert timeout is not None, "or it would not be over"
            raise TimedOut("send", timeout, f"to the room {room.name!r}") from None
        # In one step: the view, the number, and the submission.
        effects = room.rule.publish(data)
        room.observe(self.settings.name, data)
        room.perform(effects)
        number = int(room.rule.cnt[room.rule.me])
        self._turn.soon()
        if not self._endpoint.sending.large_is_done() or waits_for_disk:
            room.begin_send()
            try:
                await self._backpressure.wait_for_large()
                if waits_for_disk:
                    await self._committer.wait_durable()
            finally:
                room.end_send()
                self._loop.call_soon(self.go_on)
        return number

    def _targets(self, room: LiveRoom, data: bytes) -> Targets:
        """Whom something said in a room is for, as things stand."""
        self._check_may_send()
        if room.rule.is_over or room.rule.is_leaving:
            raise NotInRoom(room.name)
        contacts = self.outbox.here(room.rule.names())
        limit = self.settings.payload_limit
        for contact in contacts:
            limit = min(limit, contact.session.payload_limit)
        if len(data) > limit - OVERHEAD:
            raise PayloadTooLarge(len(data), max(0, limit - OVERHEAD))
        waits = self.outbox.is_waiting() or not room.rule.may_publish()
        return Targets(contacts, False, [], [room.name] if waits else [], data)

    # What is delivered.

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
                    self._introduce(word)

    def _introduce(self, word: Word) -> None:
        """Whom a member names is a peer from now on, and may say hello."""
        room = self.by_name.get(word.room.name)
        if room is not None:
            rule = room.rule
            if word.sender.name in rule.names() or word.sender.name == rule.sponsor:
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

    def _room_of(self, name: str) -> LiveRoom | None:
        found = self.by_name.get(name)
        return self._left.get(name) if found is None else found

    def try_take(self, message: InboundMessage, word: Word | ExpelledIn | None) -> bool:
        """Take the first of a line; False if it has to wait."""
        if word is None:
            self._ahead_bytes += MESSAGE_COST + len(message.payload)
            self._deliveries.put(message)
            return True
        if self.outbox.is_waiting():
            return False
        if isinstance(word, ExpelledIn):
            room = word.room
            if not room.is_free():
                return False
            room.perform(room.rule.on_expelled(word.name, word.incarnation))
            self._expect_marks(room)
            return True
        return self._take_word(message, word)

    def _take_word(self, message: InboundMessage, word: Word) -> bool:
        room = self._room_of(word.room.name)
        if room is None:
            for effect in answer_outside(word, self._former.get(word.room.name, self._me(0))):
                if isinstance(effect, Send):
                    self.outbox.submit(effect.word, effect.to)
            message.done()
        elif not room.is_free() or not self._is_ready(room, word):
            return False
        else:
            try:
                effects = room.rule.on_word(word)
            except LocalError as error:  # No word may stop those behind it.
                log.error("%s: %s: %r: %s", self.settings.name, room.name, word, error)
                message.done()
                return True
            room.perform_word(effects, message)
            if not isinstance(word, Publication):
                self._expect_marks(room)
        return True

    def _expect_marks(self, room: LiveRoom) -> None:
        """Who has not marked a joiner of this node's owes an answer: it may be expelled."""
        owing = [member.name for member in room.rule.waits_for()]
        if owing or room.name in self._owing:
            self._owing[room.name] = owing
            names = dict.fromkeys(name for some in self._owing.values() for name in some)
            self._endpoint.detector.expect(list(names))
            if not owing:
                del self._owing[room.name]

    def _is_ready(self, room: LiveRoom, word: Word) -> bool:
        """Whether all are met whom it names, and the application can give its state."""
        if isinstance(word, Publication) or room.rule.is_over:
            return True
        named = named_in(word)
        joining = not room.rule.is_complete
        if named and self._contacts.unsettled(named, self._now(), joining=joining):
            self._introduce(word)
            self._wake_for_unmet()
            return False
        if isinstance(word, Ask):
            self._renew(room)
            return not room.rule.is_complete or room.is_settled()
        return True

    def _renew(self, room: LiveRoom) -> None:
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
        self, room: LiveRoom, publication: Publication, message: InboundMessage | None
    ) -> None:
        """Something was said in a room: whoever reads gets it after what came before."""
        if message is None:
            message = InboundMessage(publication.sender.name, 0, b"")
        shown = message.in_room(
            room.name, publication.sender.name, publication.number, publication.payload
        )
        self._ahead_bytes += MESSAGE_COST + len(shown.payload)
        if room.rule.is_leaving:
            shown.done()  # Nobody will read it.
        elif room.lane is not None:
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

    def on_read(self, name: str, freed: int) -> None:
        """A reader of a room has taken a message of this size, or is done with one."""
        was_full = not self.has_room()
        self._ahead_bytes -= freed
        room = self.by_name.get(name)
        if room is not None and len(room.line):
            self._loop.call_soon(self.notifying, room.line.go_on)
        if was_full and self.has_room():
            self._deliveries.take_more()

    def go_on(self) -> None:
        """Something has changed: perhaps more can be taken now."""
        self.notifying(self._go_on)

    def notifying(self, work: Callable[[], None]) -> None:
        """Do this outside of a turn, and wake who reads the node if there is something for it."""
        if self._closed:
            return
        before = self._deliveries.placed
        work()
        if self._deliveries.placed != before:
            self._deliveries.notify()

    def _go_on(self) -> None:
        self.line.go_on()
        for room in list(self.by_name.values()):
            if room.lane is not None and len(room.line):
                room.line.go_on()
        if self._stopped and not self._is_leaving:
            self._expel_who_stopped()

    # What the rule wants.

    def ask_later(self, room: LiveRoom, doublings: int) -> None:
        """Ask again, or somebody else, after a while."""
        delay = ASK_AGAIN_SECONDS * (1 << doublings)
        self._loop.call_later(delay, self._ask_again, room, int(room.rule.attempt))

    def _ask_again(self, room: LiveRoom, attempt: int) -> None:
        if self._closed or room.rule.is_complete or room.rule.is_over:
            return
        if self.by_name.get(room.name) is not room or room.rule.attempt != attempt:
            return  # Somebody has been asked meanwhile.
        if room.rule.is_leaving and not room.rule.names():
            self.on_over(room)  # Nobody has ever heard of it.
            return
        late = self._loop.time() > room.since + self.settings.meet_within
        if late and not room.rule.names() and room.refusal:
            self.give_up(room, room.refusal)
        else:
            self._ask_another(room)

    def _ask_another(self, room: LiveRoom) -> None:
        """Ask the next of those who may be members: the known ones first, then whoever was named,
        then others that are here. A member that is known may have left meanwhile."""
        by_name = self._endpoint.directory.by_name
        here = [one.name for one in by_name.values() if one.state == ContactState.HERE]
        known = [name for name in (*room.rule.names(), room.via) if name in here]
        candidates = list(dict.fromkeys([*known, *here]))
        if candidates:
            room.perform(room.rule.ask(candidates[room.next_try() % len(candidates)]))
            self.go_on()
        else:
            self.ask_later(room, ASK_AGAIN_DOUBLINGS)

    def on_over(self, room: LiveRoom) -> None:
        """This node has left."""
        if self.by_name.get(room.name) is room:
            del self.by_name[room.name]
            self.in_use = bool(self.by_name)
            self._left[room.name] = room
            self._write_down(room.name, None)
            if len(self._left) > ROOMS_LEFT_MAX:
                del self._left[next(iter(self._left))]
        if room.lane is not None:
            room.lane.end(drop=False)
        if room.joined.done() and not room.over.done() and room.joined.exception() is None:
            self.tell(events.Left(name=self.settings.name, room=room.name))
        if not room.over.done():
            room.over.set_result(None)
        self._loop.call_soon(self.notifying, room.line.go_on)

    def on_failure(self, what: str, error: BaseException) -> None:
        """The application has failed."""
        try:
            raise error
        except BaseException:
            self._callbacks.on_failure(what)

    def _run_and_go_on(self, work: Coroutine[None, None, None]) -> None:
        async def run() -> None:
            await work
            self.go_on()

        self.run(run())

    def run(self, work: Coroutine[None, None, None]) -> None:
        """Do this beside everything else."""
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def count(self) -> tuple[int, int, int]:
        """In how many rooms this node is, how many members these have, how many are joining."""
        rooms = [room.rule for room in self.by_name.values() if room.rule.is_complete]
        members = sum(len(rule.members()) for rule in rooms)
        return len(rooms), members, sum(len(rule.jobs) for rule in rooms)

    def explain(self) -> list[str]:
        """What somebody who joins waits for, in words."""
        said = []
        for room in self.by_name.values():
            where = f"the room {room.name!r}"
            if not room.rule.is_complete:
                whom = room.rule.sponsor or room.refusal or "a member"
                said.append(f"joining {where} waits for {whom}")
            elif waiting := room.rule.waits_for():
                names = listing([member.name for member in waiting])
                said.append(f"a joiner of {where} waits for a mark of {names}")
            front = room.line.front()
            if front is not None and not isinstance(front, ExpelledIn):
                said.append(f"{where}: {self._blocked_text(front)}")
        return said

    def _blocked_text(self, word: Word) -> str:
        unsettled = [one for one in named_in(word) if not self._contacts.is_settled(one)]
        if unsettled:
            return f"{listing([one.name for one in unsettled])} has to be met first"
        if isinstance(word, Ask):
            return (
                f"{word.sender.name} waits to join until the application has read what was said "
                "before, and is done with it"
            )
        return f"a word of {word.sender.name} waits"

    # What happens to peers.

    def on_report(self, report: Report) -> None:
        """Something has happened to a peer, or to this node."""
        if not self.by_name and not len(self.line):
            return
        if isinstance(report, PeerLeft):
            self._stopped.append(report.name)
        if isinstance(report, PeerLeft | PeerSilent):
            for room in list(self.by_name.values()):
                if not room.rule.is_complete and room.rule.sponsor == report.name:
                    self._ask_another(room)
        self._loop.call_soon(self.go_on)

    def _expel_who_stopped(self) -> None:
        """Who closes its node while others count it in is expelled: it gets nothing any more.

        Its leave may be there, and not be taken yet.
        """
        for name in self._stopped:
            for room in self.by_name.values():
                if len(room.line):
                    return
                for member in room.rule.view():
                    if member.name == name and not self.outbox.here([name]):
                        life, now_ns = member.incarnation, self._now()
                        self._endpoint.expel_incarnation(name, life, STOPPED, now_ns)
                        self._turn.soon()
        self._stopped.clear()

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
