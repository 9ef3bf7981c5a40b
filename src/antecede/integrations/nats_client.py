"""The client of a NATS broker, made to survive what anybody may publish.

nats-py stops reading for good, and still calls itself connected, if a message cannot be read: one
reply subject that is not UTF-8 is enough, and whoever may publish can send it. Here such a message
is dropped, and a client that has stopped reading for any other reason connects again.
"""

import logging
from time import monotonic_ns
from typing import Final, final

from nats.aio.client import Client
from nats.errors import UnexpectedEOF

from antecede.transport.rate_limiter import RateLimiter

TELL_NS: Final = 30_000_000_000
"""What strangers can cause is logged at most once in 30 s."""

log = logging.getLogger(__name__)


@final
class SturdyClient(Client):  # type: ignore[misc] # nats-py is an extra, and without types
    """nats-py's client; these two of its methods are the places where it gives up."""

    def __init__(self) -> None:
        super().__init__()
        self.unreadable = 0
        """Messages that were dropped because nats-py cannot read them."""
        self._may_tell: Final = RateLimiter(1, TELL_NS)

    async def _process_msg(
        self, sid: int, subject: bytes, reply: bytes, data: bytes, headers: bytes
    ) -> None:
        try:
            await super()._process_msg(sid, subject, reply, data, headers)
        except Exception as error:  # Whatever it is about: the next message can be read.
            self.unreadable += 1
            if self._may_tell.try_acquire(monotonic_ns()):
                log.warning("a message that cannot be read was dropped: %s", error)

    async def _read_loop(self) -> None:
        await super()._read_loop()
        if self.is_connected:
            log.warning("reading from the broker has ended unexpectedly; connecting again")
            await self._process_op_err(UnexpectedEOF())
