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
        self._under_way = 0
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
            self._end({"reply": identity, "from": reply.sender, **self._payload_of(reply)})

        def fail(error: RequestFailed) -> None:
            self._end(failure(error, identity))

        number = requests.begin(name, take, fail, skips_queue=False)
        self._under_way += 1
        try:
            self._node._check_open()
            async with asyncio.timeout(timeout) as limit:
                await requests.submit(number, Content(payload), timeout)
        except TimeoutError:
            requests.give_up(number, timeout)
        except (LocalError, JournalFull, RequestFailed) as error:
            requests.forget(number)
            self._under_way -= 1
            return failure(error, identity)
        else:
            if timeout is not None and (when := limit.when()) is not None:
                loop = asyncio.get_running_loop()
                loop.call_at(when, requests.give_up, number, timeout)
        return None

    def _end(self, record: Record) -> None:
        self._put(record)
        self._under_way -= 1
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
            await self._unanswered.pop(oldest).refuse("too many requests wait for an answer there")

    async def reply(self, number: object, payload: bytes, identity: object) -> Record | None:
        """Answer a request; the record of an error, if that fails."""
        message = self._unanswered.pop(number, None) if isinstance(number, int) else None
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
