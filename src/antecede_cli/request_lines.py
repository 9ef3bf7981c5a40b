"""Requests and replies in the lines of a node.

    in   {"request": "bob", "text": "how many?", "id": "a1", "timeout": 5}
    out  {"reply": "a1", "from": "bob", "text": "three"}

and at bob, whose node numbers the requests that come:

    out  {"request": 1, "from": "alice", "text": "how many?"}
    in   {"reply": 1, "text": "three"}

A reply is written in its place among the deliveries, so the lines keep causal order. With a journal
a request is confirmed by its reply: until then it comes again after a crash, with a new number.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Final, TypeAlias

from antecede.core.errors import AntecedeError, LocalError
from antecede.durability.errors import JournalFull
from antecede.durability.unconfirmed import InboundMessage
from antecede.runtime.content import Content
from antecede.runtime.errors import RequestFailed
from antecede.runtime.node import Node

Record: TypeAlias = dict[str, object]

UNANSWERED_MAX: Final = 65_536
"""At most 65,536 requests wait for the line that answers them; the node refuses what comes then."""

TOO_MANY: Final = "too many requests wait for an answer there"


class RequestLines:
    """What one node has asked and was asked, by lines."""

    def __init__(
        self,
        node: Node,
        put: Callable[[Record], None],
        payload_of: Callable[[InboundMessage], Record],
    ) -> None:
        self._node: Final = node
        self._put: Final = put
        # A payload as part of a record.
        self._payload_of: Final = payload_of
        self._unanswered: Final[dict[int, InboundMessage]] = {}
        self._last_number = 0
        # The requests that have no reply yet, by number, and when they are given up.
        self._under_way: Final[dict[int, asyncio.TimerHandle | None]] = {}
        self._finished: Final = asyncio.Event()
        self.count = 0
        """How many requests have got their replies, or failed."""

    # Asking.

    async def ask(
        self, name: str, payload: bytes, timeout: float | None, identity: object
    ) -> Record | None:
        """Send a request, whose reply comes later; the record of an error, if that fails."""
        requests = self._node._requests

        def take(reply: InboundMessage) -> None:
            record = {"reply": identity, "from": reply.sender, **self._payload_of(reply)}
            self._end(number, record)

        def fail(error: RequestFailed) -> None:
            self._end(number, failure(error, identity))

        try:
            number = requests.begin(name, take, fail, skips_queue=False)
        except LocalError as error:
            return failure(error, identity)
        self._under_way[number] = None
        try:
            self._node._check_open()
            async with asyncio.timeout(timeout) as limit:
                await requests.submit(number, Content(payload), timeout)
        except TimeoutError:
            requests.give_up(number, timeout)
        except (LocalError, JournalFull, RequestFailed) as error:
            if requests.forget(number) is None:
                return None  # It has failed before it could be sent, and that was said.
            del self._under_way[number]
            return failure(error, identity)
        if number in self._under_way and (when := limit.when()) is not None:
            loop = asyncio.get_running_loop()
            self._under_way[number] = loop.call_at(when, requests.give_up, number, timeout)
        return None

    def _end(self, number: int, record: Record) -> None:
        timer = self._under_way.pop(number)
        if timer is not None:
            timer.cancel()
        self._put(record)
        self.count += 1
        self._finished.set()

    async def answered(self) -> None:
        """Wait until every request has got its reply, or failed."""
        while self._under_way:
            self._finished.clear()
            await self._finished.wait()

    # Being asked.

    def on_request(self, message: InboundMessage) -> Record:
        """The record of a request that was delivered."""
        self._last_number += 1
        self._unanswered[self._last_number] = message
        record: Record = {"request": self._last_number, "from": message.sender}
        record |= self._payload_of(message)
        if message.again:
            record["again"] = True
        return record

    async def make_room(self) -> None:
        """Refuse the oldest request if too many wait for an answer."""
        if len(self._unanswered) > UNANSWERED_MAX:
            oldest = next(iter(self._unanswered))
            with suppress(AntecedeError):  # This node may be leaving.
                await self._unanswered.pop(oldest).refuse(TOO_MANY)

    async def reply(self, number: object, payload: bytes, identity: object) -> Record | None:
        """Answer a request; the record of an error, if that fails."""
        message = self._unanswered.pop(number, None) if type(number) is int else None
        if message is None:
            why = LocalError(f"no request {number!r} waits for an answer here")
            return failure(why, identity)
        try:
            await message.reply(payload)
        except (LocalError, JournalFull) as error:
            return failure(error, identity)
        return None


def failure(error: AntecedeError, identity: object) -> Record:
    """What is answered to a line that could not be done."""
    record: Record = {"error": str(error)}
    if identity is not None:
        record["id"] = identity
    return record
