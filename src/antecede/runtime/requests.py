"""Requests and their replies: messages like any other, which somebody waits for.

A request is a causal message that asks for a reply; the reply is a causal message, too. A reply
waits its turn: the messages that were delivered before it are taken first, so that nobody sees an
effect before its cause. There are two exceptions, where nobody could take them: the task that waits
for the reply is one that reads messages (or was started by one), or nobody reads here at all.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from math import ceil
from secrets import randbits
from typing import Final, TypeAlias
from weakref import ref

from antecede.core.errors import AntecedeError, LocalError
from antecede.durability.unconfirmed import InboundMessage
from antecede.events import PeerExpelled, PeerLeft, PeerRestarted, Report, Undeliverable
from antecede.runtime.content import Content
from antecede.runtime.deliveries import Calls, Deliveries
from antecede.runtime.errors import PeerAway, RequestFailed
from antecede.wire.envelope import REFUSAL, REPLY, REQUEST

UNDER_WAY_MAX: Final = 65_536
"""At most 65,536 requests wait for their replies."""

REASON_BYTES: Final = 500
"""A refusal carries at most 500 bytes of its reason."""

LEFT: Final = "left"
AWAY: Final = "away"
EXPELLED: Final = "expelled"
RESTARTED: Final = "restarted"
TIMED_OUT: Final = "timed out"
REFUSED: Final = "refused"
CLOSED: Final = "closed"
"""Values of `RequestFailed.why`. `AWAY`: the peer was away already, so the request was never sent.
`LEFT`, `EXPELLED`, `RESTARTED`: the peer may have handled it before. `CLOSED`: this node was
closed."""

ENDINGS: Final = {PeerLeft: LEFT, PeerExpelled: EXPELLED, PeerRestarted: RESTARTED}

NOT_SENT: Final = "it could not be sent; explain() says what is in the way"
NOT_HANDLED: Final = "perhaps it will still be handled"
NOT_READ: Final = "the reply is here, behind messages that nobody has read yet"
"""What is known of a request that timed out."""

HANDLER_FAILED: Final = "its handler has failed"
"""Why a request is refused whose handler raised an exception."""

TakeReply: TypeAlias = Callable[[InboundMessage], None]
FailRequest: TypeAlias = Callable[[RequestFailed], None]

Send: TypeAlias = Callable[[str, Content], Awaitable[int]]
"""Answers the message's number, once it is buffered; raises `PeerAway` if the target is away."""


@dataclass(slots=True)
class UnderWay:
    """A request that has no reply yet."""

    name: str
    """Whom it was sent to."""
    take: TakeReply
    fail: FailRequest
    skips_queue: bool
    """Whether its reply is handed over as soon as it is delivered."""
    sequence: int = 0
    reply_came: bool = False


class Requests(Calls):
    """The requests of one node that are under way, and its replies to those of others."""

    def __init__(self, send: Send, deliveries: Deliveries, take_ahead: Callable[[], bool]) -> None:
        self._send: Final = send
        self._deliveries: Final = deliveries
        # Takes in what has come although nobody reads now, so that peers may send more.
        self._take_ahead: Final = take_ahead
        self._loop: Final = asyncio.get_running_loop()
        self._under_way: Final[dict[int, UnderWay]] = {}
        # Random, so that no reply to a former life of this node is taken for one to this.
        self._next = randbits(61)
        self._itself: Final = ref(self)
        self._refusals: Final[set[asyncio.Task[None]]] = set()
        self.late = 0
        """Replies that came after nobody waited for them any more."""
        deliveries.pass_calls_to(self)

    # Asking.

    async def request(self, name: str, content: Content, timeout: float | None) -> InboundMessage:
        """Send a request and wait for its reply; `RequestFailed` says why there is none."""
        reply: asyncio.Future[InboundMessage] = self._loop.create_future()

        def take(message: InboundMessage) -> None:
            if not reply.done():
                reply.set_result(message)

        def fail(error: RequestFailed) -> None:
            if not reply.done():
                reply.set_exception(error)

        number = self.begin(name, take, fail, skips_queue=self._deliveries.is_reader())
        try:
            async with asyncio.timeout(timeout):
                await self.submit(number, content, timeout)
                return await reply
        except TimeoutError:
            raise self._timed_out(number, name, timeout) from None
        finally:
            self.forget(number)
            if not reply.cancel() and not reply.cancelled():
                reply.exception()  # It came too late to be raised: nobody need hear of it.

    def begin(
        self,
        name: str,
        take: TakeReply,
        fail: FailRequest,
        *,
        skips_queue: bool,
    ) -> int:
        """The number of a new request; `take` or `fail` is called once, unless it is forgotten."""
        if len(self._under_way) >= UNDER_WAY_MAX:
            raise LocalError(
                f"{UNDER_WAY_MAX:,} requests are waiting for replies; wait for some of them first"
            )
        self._next += 1
        self.of_readers += skips_queue
        self._under_way[self._next] = UnderWay(name, take, fail, skips_queue)
        return self._next

    async def submit(self, number: int, content: Content, timeout: float | None) -> int:
        """Send a request that was begun: the message's number."""
        asked = self._under_way[number]
        milliseconds = -1 if timeout is None else ceil(min(max(0.0, timeout), 1e9) * 1e3)
        content = replace(content, kind=REQUEST, number=number, remaining_ms=milliseconds)
        try:
            asked.sequence = await self._send(asked.name, content)
        except PeerAway:
            raise RequestFailed(asked.name, AWAY) from None
        return asked.sequence

    def forget(self, number: int) -> UnderWay | None:
        """Nobody waits for the reply any more."""
        asked = self._under_way.pop(number, None)
        if asked is not None:
            self.of_readers -= asked.skips_queue
        return asked

    def give_up(self, number: int, timeout: float | None) -> None:
        """Its time is over."""
        asked = self._under_way.get(number)
        if asked is not None:
            error = self._timed_out(number, asked.name, timeout)
            self.forget(number)
            asked.fail(error)

    def count(self) -> int:
        """How many requests are under way."""
        return len(self._under_way)

    def _timed_out(self, number: int, name: str, timeout: float | None) -> RequestFailed:
        asked = self._under_way.get(number)
        detail = NOT_HANDLED
        if asked is not None and asked.sequence == 0:
            detail = NOT_SENT
        elif asked is not None and asked.reply_came:
            detail = NOT_READ
        return RequestFailed(name, TIMED_OUT, detail, timeout)

    # What comes.

    def on_calls(self, calls: list[InboundMessage]) -> None:
        replies = 0
        for message in calls:
            if message.is_request:
                self._on_request(message)
                continue
            replies += 1
            asked = self._asked(message)
            if asked is None:
                self.late += 1
                message.done()
                continue
            asked.reply_came = True
            if asked.skips_queue or not self._deliveries.is_read():
                self.on_reply(message)
        self._deliveries.expect_replies(replies)

    def keep_reading(self) -> None:
        self._take_ahead()

    def _on_request(self, message: InboundMessage) -> None:
        assert message.envelope is not None, "a request has one"
        remaining_ms = int(message.envelope.remaining_ms)
        deadline = None if remaining_ms < 0 else self._loop.time() + remaining_ms / 1e3
        message.answer_with(Reply(self._itself), deadline)

    def on_reply(self, message: InboundMessage) -> bool:
        asked = self._asked(message)
        message.done()
        if asked is None:
            return False
        self.forget(message.call)
        if message.is_refusal:
            reason = message.payload.decode(errors="replace")
            asked.fail(RequestFailed(asked.name, REFUSED, reason))
        else:
            asked.take(message)
        return True

    def on_report(self, report: Report) -> None:
        """Something has happened to a peer: requests to it may have failed."""
        why = ENDINGS.get(type(report))
        if why is not None and self._under_way:
            self._fail_all(why, lambda asked: asked.name == report.name)
        elif isinstance(report, Undeliverable) and self._under_way:
            lost = set(report.sequences)
            detail = report.reason or ""
            self._fail_all(
                report.why,
                lambda asked: asked.name == report.name and asked.sequence in lost,
                detail,
            )

    def close(self) -> None:
        """Nothing comes any more."""
        self._fail_all(CLOSED, lambda _: True)

    def _asked(self, message: InboundMessage) -> UnderWay | None:
        """The request that this replies to, if its peer was asked."""
        asked = self._under_way.get(message.call)
        return asked if asked is not None and asked.name == message.sender else None

    def _fail_all(self, why: str, concerns: Callable[[UnderWay], bool], detail: str = "") -> None:
        for number, asked in list(self._under_way.items()):
            if concerns(asked) and not asked.reply_came:
                self.forget(number)
                asked.fail(RequestFailed(asked.name, why, detail))

    # Replying.

    async def reply(self, kind: int, request: InboundMessage, payload: bytes) -> None:
        """Send a reply, which confirms the request; whoever asked may be gone by now."""
        with suppress(PeerAway):
            await self._send(request.sender, Content(payload, kind=kind, number=request.call))
        request.done()

    def refuse_failed(self, request: InboundMessage) -> None:
        if request.is_answered:
            return
        task = self._loop.create_task(self._refuse(request))
        self._refusals.add(task)
        task.add_done_callback(self._refusals.discard)

    async def _refuse(self, request: InboundMessage) -> None:
        with suppress(AntecedeError):  # This node may be closed by now.
            await request.refuse(HANDLER_FAILED)


class Reply:
    """How one request is answered, once.

    It holds the node weakly: the garbage collector does not look into messages.
    """

    __slots__ = ("_requests", "given")

    def __init__(self, requests: "ref[Requests]") -> None:
        self._requests: Final = requests
        self.given = False

    async def give(self, request: InboundMessage, payload: bytes) -> None:
        """Reply with this."""
        await self._give(REPLY, request, payload)

    async def refuse(self, request: InboundMessage, reason: str) -> None:
        """Say that there will be no reply."""
        await self._give(REFUSAL, request, reason.encode()[:REASON_BYTES])

    async def _give(self, kind: int, request: InboundMessage, payload: bytes) -> None:
        if self.given:
            raise LocalError("this request has been replied to already")
        self.given = True
        requests = self._requests()
        if requests is not None:  # Else the node is gone, and nobody could be told.
            await requests.reply(kind, request, payload)
