"""One room at one node: it does what the rule of `antecede.groups` asks, and tells it what came.

The rule is asked for one thing after the other, and what it answers is done before the next word is
taken. Only the application may take its time: when it gives its state, or takes one.
"""

import asyncio
import inspect
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from antecede import events
from antecede.durability.unconfirmed import InboundMessage
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
    Refused,
    RestoreSnapshot,
    Send,
    Show,
    SplitSeen,
    Word,
)
from antecede.groups import Room as Rule
from antecede.runtime.callbacks import EXITS
from antecede.runtime.content import Payload
from antecede.runtime.room import RoomKeeper, RoomLane
from antecede.runtime.room_states import Fetching
from antecede.units import size_text
from antecede.wire.envelope import has_envelope, open_envelope

if TYPE_CHECKING:
    from antecede.runtime.rooms import Rooms

MakeState: TypeAlias = Callable[[], bytes | Awaitable[bytes]]
TakeState: TypeAlias = Callable[[bytes], Awaitable[None] | None]
Observe: TypeAlias = Callable[[str, bytes], None]
"""Told who has said what, in the order in which this node takes it, its own words among it."""

ASK_AGAIN_DOUBLINGS: Final = 6
"""Whoever is refused waits twice as long each time before it asks again, six times at most."""

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

    def front(self) -> Word | ExpelledIn | None:
        """What waits longest."""
        return self._waiting[0][1] if self._waiting else None

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
        observe: Observe | None,
    ) -> None:
        self.name: Final = name
        self._rooms: Final = rooms
        self.rule = rule
        self._snapshot: Final = snapshot
        self._restore: Final = restore
        self._observe: Final = observe
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
        self._tries = 0
        self._words = 0
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
        durable = self._rooms.is_durable()
        return await self._rooms.publish(self, payload, timeout, waits_for_disk=durable)

    async def leave(self) -> None:
        await self._rooms.leave(self)

    def is_settled(self) -> bool:
        """Whether the application may be asked for its state: it is done with all it was given."""
        if self._snapshot is None or self._observe is not None:
            return True
        if self.sends:
            return False
        return self._rooms.is_read() if self.lane is None else self.lane.is_finished()

    def enter_through(self, via: str) -> None:
        """This one is asked when no member is known."""
        self.via = via

    def activity(self) -> tuple[int, int]:
        """What changes while a join gets on: words taken, and bytes of the state that have come."""
        key = (self.name, self.rule.me, int(self.rule.attempt))
        return self._words, self._rooms.states.received(key)

    def next_try(self) -> int:
        """How many were asked before, when the rule knew nobody better."""
        self._tries += 1
        return self._tries - 1

    def begin_send(self) -> None:
        """The application says something."""
        self.sends += 1

    def end_send(self) -> None:
        """It learns that it has been said, or not, before anything else happens."""
        self.sends -= 1

    def begin_again(self, rule: Rule) -> None:
        """Nobody has heard of this room, or of this node in it: it is another one now."""
        self.rule = rule

    def is_free(self) -> bool:
        """Whether the next word may be taken."""
        return not self._waits

    # What the rule wants.

    def perform_word(self, effects: list[Effect], message: InboundMessage) -> None:
        """Do what follows on a word, which is confirmed with that unless it is shown."""
        self._words += 1
        self.perform(effects, message)
        if self._message is not None:
            message.done()
            self._message = None

    def perform(self, effects: list[Effect], message: InboundMessage | None = None) -> None:
        """Do this; what follows on something that waits for the application is done after it."""
        self._effects.extend(effects)
        self._message = message
        while self._effects and not self._waits:
            self._do(self._effects.popleft())

    def _do(self, effect: Effect) -> None:
        if isinstance(effect, Send):
            self._rooms.outbox.submit(effect.word, effect.to)
            if isinstance(effect.word, Ask) and not self._rooms.outbox.here(effect.to):
                self._rooms.ask_later(self, ASK_AGAIN_DOUBLINGS // 2)  # It will never answer.
        elif isinstance(effect, Show):
            self.observe(effect.publication.sender.name, effect.publication.payload)
            # What was kept during the join comes without a message of its own.
            self._rooms.show(self, effect.publication, self._message)
            self._message = None
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

    def observe(self, sender: str, data: bytes) -> None:
        """This was said."""
        if self._observe is not None:
            self._observe(sender, open_envelope(data)[1] if has_envelope(data) else data)

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
            known_by = self._rooms.states.offer((self.name, joiner, int(attempt)), state)
            effects = self.rule.snapshot_made(len(state), known_by)
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
                effects = self.rule.snapshot_lost(attempt, "its state was lost, or came damaged")
            else:
                self._state = (attempt, state)
                effects = self.rule.snapshot_fetched(attempt)
            self._rooms.notifying(lambda: self.perform(effects))
            self._rooms.go_on()

        fetching = Fetching(sponsor, int(wanted.length), progress, done)
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
            self._rooms.notifying(lambda: self.perform([]))
            self._rooms.go_on()

        self._waits = True
        self._rooms.run(wait())
