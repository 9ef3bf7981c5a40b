"""Requests and their replies: messages like any other, which somebody waits for.

A request is a causal message that asks for a reply; the reply is a causal message, too. A reply
waits its turn: the messages that were delivered before it are taken first, so that nobody sees an
effect before its cause. There are two exceptions, where nobody could take them: the task that waits
for the reply is one that reads messages (or was started by one), or nobody reads here at all.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from heapq import heapify, heappop, heappush
from math import ceil
from secrets import randbits
from typing import Final, Protocol, TypeAlias
from weakref import ref

from antecede.core.errors import AntecedeError, LocalError
from antecede.durability.unconfirmed import InboundMessage
from antecede.events import GONE, PeerExpelled, PeerLeft, PeerRestarted, Report, Undeliverable
from antecede.membership.contact import Contact
from antecede.runtime.content import Content, Headers, Payload, payload_bytes, read_headers
from antecede.runtime.deliveries import Calls, Deliveries
from antecede.runtime.errors import PeerAway, RequestFailed, UnknownPeer
from antecede.runtime.notifier import Waiter
from antecede.transport.session import Session
from antecede.wire.envelope import NO_HEADERS, NO_TARGETS, REQUEST, Envelope, seal_envelope

UNDER_WAY_MAX: Final = 65_536
"""At most 65,536 requests wait for their replies."""

LONGEST_S: Final = 1e9
"""Whoever waits longer than this (31 years) waits for ever."""

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

TakeReply: TypeAlias = Callable[[InboundMessage, bool], None]
"""Takes a reply; whether whoever waits for it may go on within the call."""

FailRequest: TypeAlias = Callable[[RequestFailed], None]

SendNow: TypeAlias = Callable[[str, bytes], int]
"""Sends a payload with its envelope and answers the message's number; 0 if something is in the
way."""


class Send(Protocol):
    """Waits until there is room, and calls `submitted` in the step in which the message is
    submitted; `PeerAway` if the target is away."""

    def __call__(
        self, target: str, content: Content, submitted: Callable[[int], None]
    ) -> Awaitable[object]: ...


class UnderWay:
    """A request that has no reply yet."""

    __slots__ = (
        "ends_at",
        "fail",
        "name",
        "number",
        "reply_came",
        "sequence",
        "session",
        "skips_queue",
        "take",
        "timeout",
    )

    def __init__(
        self,
        number: int,
        name: str,
        take: TakeReply,
        fail: FailRequest,
        timeout: float | None,
        ends_at: float,
        skips_queue: bool,
    ) -> None:
        self.number: Final = number
        # Whom it is for.
        self.name: Final = name
        # One of these two is called once, unless the request is forgotten.
        self.take: Final = take
        self.fail: Final = fail
        self.timeout: Final = timeout
        self.ends_at: Final = ends_at
        # Whether its reply is handed over as soon as it is delivered.
        self.skips_queue: Final = skips_queue
        # The message's number, and which life of the peer it was sent to; 0 until it is sent.
        self.sequence = 0
        self.session: Session | None = None
        self.reply_came = False

    def timed_out(self) -> RequestFailed:
        """Its time is over."""
        detail = NOT_HANDLED
        if self.sequence == 0:
            detail = NOT_SENT
        elif self.reply_came:
            detail = NOT_READ
        return RequestFailed(self.name, TIMED_OUT, detail, self.timeout)


class Requests(Calls):
    """The requests of one node that are under way, and its replies to those of others."""

    def __init__(
        self,
        send_now: SendNow,
        send: Send,
        contacts: Mapping[str, Contact],
        deliveries: Deliveries,
        take_ahead: Callable[[], bool],
    ) -> None:
        self._send_now: Final = send_now
        self._send: Final = send
        self._contacts: Final = contacts
        self._deliveries: Final = deliveries
        # Takes in what has come although nobody reads now, so that peers may send more.
        self._take_ahead: Final = take_ahead
        self._loop: Final = asyncio.get_running_loop()
        self._under_way: Final[dict[int, UnderWay]] = {}
        # Random, so that no reply to a former life of this node is taken for one to this.
        self._next = randbits(61)
        self._deadlines: Final = Deadlines(self._loop, self._under_way, self._on_deadline)
        self._answers: Final = Answers(self)
        self._refusals: Final[set[asyncio.Task[None]]] = set()
        self.late = 0
        """Replies that came after nobody waited for them any more."""
        deliveries.pass_calls_to(self)

    # Asking.

    async def request(
        self, name: str, payload: object, headers: Headers | None, timeout: float | None
    ) -> InboundMessage:
        """Send a request and wait for its reply; `RequestFailed` says why there is none."""
        content = payload_bytes(payload)
        reply: Waiter[InboundMessage] = Waiter(loop=self._loop)
        skips_queue = self._deliveries.is_reader()
        asked = self.begin(name, reply.give, reply.fail, timeout, skips_queue=skips_queue)
        try:
            if not self._try_submit(asked, content, headers):
                await self._submit_later(asked, content, headers)
            return await reply
        except BaseException:
            self.forget(asked)
            reply.abandon()
            raise

    def begin(
        self,
        name: str,
        take: TakeReply,
        fail: FailRequest,
        timeout: float | None,
        *,
        skips_queue: bool,
    ) -> UnderWay:
        """A new request; `take` or `fail` is called once, unless it is forgotten."""
        if len(self._under_way) >= UNDER_WAY_MAX:
            raise LocalError(
                f"{UNDER_WAY_MAX:,} requests are waiting for replies; wait for some of them first"
            )
        if not isinstance(name, str):
            raise LocalError(f"a request goes to one peer: a name, not {name!r}")
        ends_at = 0.0
        if timeout is not None:
            if not isinstance(timeout, int | float) or timeout != timeout:
                raise LocalError(f"a timeout is a number of seconds, not {timeout!r}")
            if timeout > LONGEST_S:
                timeout = None
        if timeout is not None:
            ends_at = self._loop.time() + timeout
        self._next += 1
        self.of_readers += skips_queue
        asked = UnderWay(self._next, name, take, fail, timeout, ends_at, skips_queue)
        self._under_way[self._next] = asked
        return asked

    async def submit(self, asked: UnderWay, payload: bytes) -> None:
        """Send a request that was begun; `RequestFailed` if it cannot be sent in time."""
        if not self._try_submit(asked, payload, None):
            await self._submit_later(asked, payload, None)

    def _try_submit(self, asked: UnderWay, payload: bytes, headers: Headers | None) -> bool:
        """Whether nothing was in the way."""
        given = read_headers(headers) if headers else NO_HEADERS
        wait = -1 if asked.timeout is None else milliseconds(asked.timeout)
        envelope = Envelope(REQUEST, asked.number, wait, "", NO_TARGETS, given)
        sequence = self._send_now(asked.name, seal_envelope(envelope, payload))
        if sequence == 0:
            return False
        self._was_submitted(asked, sequence)
        return True

    async def _submit_later(self, asked: UnderWay, payload: bytes, headers: Headers | None) -> None:
        """Wait for whatever is in the way."""

        def remaining_ms() -> int:
            if asked.timeout is None:
                return -1
            return milliseconds(asked.ends_at - self._loop.time())

        def submitted(sequence: int) -> None:
            self._was_submitted(asked, sequence)

        given = read_headers(headers)
        content = Content(payload, given, "", REQUEST, asked.number, remaining_ms)
        try:
            async with asyncio.timeout_at(None if asked.timeout is None else asked.ends_at):
                await self._send(asked.name, content, submitted)
        except PeerAway:
            raise RequestFailed(asked.name, AWAY) from None
        except TimeoutError:
            raise asked.timed_out() from None

    def _was_submitted(self, asked: UnderWay, sequence: int) -> None:
        asked.sequence = sequence
        contact = self._contacts.get(asked.name)
        asked.session = None if contact is None else contact.session
        if asked.timeout is not None:
            self._deadlines.add(asked.ends_at, asked.number)

    def forget(self, asked: UnderWay) -> bool:
        """Nobody waits for the reply any more; whether somebody did."""
        if self._under_way.pop(asked.number, None) is None:
            return False
        self.of_readers -= asked.skips_queue
        return True

    def count(self) -> int:
        """How many requests are under way."""
        return len(self._under_way)

    def _on_deadline(self, number: int) -> None:
        asked = self._under_way[number]
        self.forget(asked)
        asked.fail(asked.timed_out())

    # What comes.

    def on_calls(self, calls: list[InboundMessage], at_once: bool) -> None:
        deliveries, now = self._deliveries, self._loop.time()
        first = deliveries.next_to_take() if at_once and self._under_way else []
        early: list[InboundMessage] = []
        given: list[tuple[UnderWay, InboundMessage]] = []
        for message in calls:
            if message.is_request:
                self._on_request(message, now)
                continue
            asked = self._asked(message)
            if asked is None:
                self.late += 1
            elif (
                asked.skips_queue
                or not deliveries.is_read()
                or (len(early) < len(first) and first[len(early)] is message)
            ):
                given.append((asked, message))
            else:
                asked.reply_came = True
                deliveries.expect_reply()
                continue
            early.append(message)
        if early:
            deliveries.take_out(early)
            for message in early:
                message.done()
            self._give(given, at_once)

    def keep_reading(self) -> None:
        self._take_ahead()

    def _on_request(self, message: InboundMessage, now: float) -> None:
        assert message.envelope is not None, "a request has one"
        remaining_ms = int(message.envelope.remaining_ms)
        deadline = None if remaining_ms < 0 else now + remaining_ms / 1e3
        message.answer_with(self._answers, deadline)

    def _give(self, given: list[tuple[UnderWay, InboundMessage]], at_once: bool) -> None:
        """Let those who asked go on."""
        for number, (asked, message) in enumerate(given):
            try:
                self._end(asked, message, at_once)
            except BaseException:
                # It ends the program. If that goes on all the same, so do the others.
                self._loop.call_soon(self._give, given[number + 1 :], at_once)
                raise

    def on_reply(self, message: InboundMessage) -> bool:
        asked = self._asked(message)
        message.done()
        if asked is None:
            return False
        self._end(asked, message, at_once=False)
        return True

    def _end(self, asked: UnderWay, message: InboundMessage, at_once: bool) -> None:
        """Its reply is here, and it is the reply's turn."""
        if not self.forget(asked):
            return  # Whoever went on before this has cancelled it.
        if message.is_refusal:
            reason = message.payload.decode(errors="replace")
            asked.fail(RequestFailed(asked.name, REFUSED, reason))
        else:
            asked.take(message, at_once)

    def _asked(self, message: InboundMessage) -> UnderWay | None:
        """The request that this replies to, if its peer was asked."""
        asked = self._under_way.get(message.call)
        return asked if asked is not None and asked.name == message.sender else None

    # What happens to peers.

    def on_report(self, report: Report) -> None:
        """Something has happened to a peer: requests to it may have failed."""
        if not self._under_way:
            return
        if isinstance(report, PeerLeft | PeerExpelled | PeerRestarted):
            self._fail_former(report.name, ENDINGS[type(report)])
        elif isinstance(report, Undeliverable) and report.why == GONE:
            self._fail_former(report.name, LEFT)
        elif isinstance(report, Undeliverable) and report.life is None:
            name, lost, detail = report.name, set(report.sequences), report.reason or ""
            self._fail_all(
                report.why, lambda asked: asked.name == name and asked.sequence in lost, detail
            )

    def _fail_former(self, name: str, why: str) -> None:
        """Those that were sent to a life of this peer that is over."""
        self._fail_all(
            why, lambda asked: asked.name == name and asked.sequence > 0 and self._is_over(asked)
        )

    def close(self) -> None:
        """Nothing comes any more; what has come may still be read."""
        self._deadlines.stop()
        self._fail_all(CLOSED, lambda _: True)

    def end(self) -> None:
        """Nobody reads any more either."""
        for asked in list(self._under_way.values()):
            asked.reply_came = False
        self._fail_all(CLOSED, lambda _: True, NOT_READ)

    def _is_over(self, asked: UnderWay) -> bool:
        """Whether the life of the peer that got this is over: the next one may be here already."""
        contact = self._contacts.get(asked.name)
        return contact is None or contact.session is not asked.session or contact.session.is_gone()

    def _fail_all(self, why: str, concerns: Callable[[UnderWay], bool], detail: str = "") -> None:
        self._deliveries.look_at_calls()  # A reply may have come before that.
        for asked in list(self._under_way.values()):
            if concerns(asked) and not asked.reply_came:
                self.forget(asked)
                asked.fail(RequestFailed(asked.name, why, detail))

    # Replying.

    async def reply(
        self, request: InboundMessage, kind: int, payload: object, headers: Headers | None
    ) -> None:
        """Send a reply, which confirms the request; whoever asked may be gone by now."""
        if request.answered:
            raise LocalError("this request has been replied to already")
        plain = payload_bytes(payload)
        given = read_headers(headers) if headers else NO_HEADERS
        envelope = Envelope(kind, request.call, -1, "", NO_TARGETS, given)
        if self._send_now(request.sender, seal_envelope(envelope, plain)):
            request.mark_answered(True)
            request.done()
        else:
            await self._reply_later(request, Content(plain, given, "", kind, request.call))

    async def _reply_later(self, request: InboundMessage, content: Content) -> None:
        """Wait for whatever is in the way."""
        is_sent = False

        def submitted(_: int) -> None:
            nonlocal is_sent
            is_sent = True
            request.done()

        request.mark_answered(True)
        try:
            await self._send(request.sender, content, submitted)
        except (PeerAway, UnknownPeer):
            request.done()
        except BaseException:
            request.mark_answered(is_sent)  # If not, it may be tried again.
            raise

    def refuse_failed(self, request: InboundMessage) -> None:
        if request.is_answered:
            return
        task = self._loop.create_task(self._refuse(request))
        self._refusals.add(task)
        task.add_done_callback(self._refusals.discard)

    async def _refuse(self, request: InboundMessage) -> None:
        with suppress(AntecedeError):  # This node may be closed by now.
            await request.refuse(HANDLER_FAILED)


class Answers:
    """How requests are answered at one node.

    It holds the node weakly: the garbage collector does not look into messages.
    """

    __slots__ = ("_requests",)

    def __init__(self, requests: Requests) -> None:
        self._requests: Final = ref(requests)

    def answer(
        self,
        request: InboundMessage,
        kind: int,
        payload: Payload,
        headers: Mapping[str, bytes] | None,
    ) -> Awaitable[None]:
        """Reply with this, or refuse."""
        requests = self._requests()
        if requests is None:
            raise LocalError("the node of this request is closed")
        return requests.reply(request, kind, payload, headers)


class Deadlines:
    """When requests time out: one timer for all of them."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        under_way: Mapping[int, UnderWay],
        on_deadline: Callable[[int], None],
    ) -> None:
        self._loop: Final = loop
        self._under_way: Final = under_way
        self._on_deadline: Final = on_deadline
        # The earliest first; those of requests that have ended are left until it is their turn, or
        # until they are more than half.
        self._heap: list[tuple[float, int]] = []
        self._timer: asyncio.TimerHandle | None = None

    def add(self, ends_at: float, number: int) -> None:
        """This request times out then."""
        heap = self._heap
        if len(heap) > 2 * len(self._under_way) + 64:
            heap[:] = [entry for entry in heap if entry[1] in self._under_way]
            heapify(heap)
        heappush(heap, (ends_at, number))
        if self._timer is None or ends_at < self._timer.when():
            self._plan(ends_at)

    def stop(self) -> None:
        """Nothing times out any more."""
        self._heap.clear()
        if self._timer is not None:
            self._timer.cancel()

    def _plan(self, ends_at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(ends_at, self._ring)

    def _ring(self) -> None:
        self._timer = None
        heap, now = self._heap, self._loop.time()
        while heap and (heap[0][1] not in self._under_way or heap[0][0] <= now):
            number = heappop(heap)[1]
            if number in self._under_way:
                self._on_deadline(number)
        if heap and self._timer is None:
            self._plan(heap[0][0])


def milliseconds(seconds: float) -> int:
    """How long a reply is waited for, as its receiver is told."""
    return max(0, ceil(seconds * 1e3))
