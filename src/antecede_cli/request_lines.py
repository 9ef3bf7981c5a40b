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
from antecede.runtime.errors import RequestFailed
from antecede.runtime.node import Node
from antecede.runtime.requests import UnderWay

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
        asked: UnderWay | None = None

        def take(reply: InboundMessage, _at_once: bool) -> None:
            self._end({"reply": identity, "from": reply.sender, **self._payload_of(reply)})

        def fail(error: RequestFailed) -> None:
            self._end(failure(error, identity))

        self._under_way += 1
        try:
            self._node._check_open()
            asked = requests.begin(name, take, fail, timeout, skips_queue=False)
            await requests.submit(asked, payload)
        except (LocalError, JournalFull, RequestFailed) as error:
            if asked is None or requests.forget(asked):  # Else it has been told already.
                self._under_way -= 1
                return failure(error, identity)
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
            with suppress(AntecedeError):  # This node may be leaving.
                await self._unanswered.pop(oldest).refuse(TOO_MANY)

    async def reply(self, number: object, payload: bytes, identity: object) -> Record | None:
        """Answer a request; the record of an error, if that fails."""
        asked = number if isinstance(number, int) and number is not True else 0
        message = self._unanswered.get(asked)
        if message is None:
            why = LocalError(f"no request {number!r} waits for an answer here")
            return failure(why, identity)
        try:
            await message.reply(payload)
        except (LocalError, JournalFull) as error:
            return failure(error, identity)  # Another line may do better.
        self._unanswered.pop(asked, None)
        return None


def failure(error: AntecedeError, identity: object) -> Record:
    """What is answered to a line that could not be done."""
    record: Record = {"error": str(error)}
    if identity is not None:
        record["id"] = identity
    return record
