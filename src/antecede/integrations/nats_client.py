"""The client of a NATS broker, made to survive malformed messages.

If nats-py cannot parse a message, it stops reading for good and still reports that it is connected:
one reply subject that is not UTF-8 is enough, and anybody who may publish can send it. Here such a
message is dropped, and a client that has stopped reading for any other reason reconnects.
"""

import logging
from time import monotonic_ns
from typing import Final, final

from nats.aio.client import Client
from nats.errors import UnexpectedEOF

from antecede.transport.rate_limiter import RateLimiter

LOG_INTERVAL_NS: Final = 30_000_000_000
"""An error that strangers can cause is logged at most once in 30 s."""

log = logging.getLogger(__name__)


@final
class ResilientClient(Client):  # type: ignore[misc] # nats-py is an extra, and without types
    """nats-py's client, with the two methods overridden in which it gives up."""

    def __init__(self) -> None:
        super().__init__()
        self.unreadable = 0
        """Messages that were dropped because nats-py cannot parse them."""
        self._log_limiter: Final = RateLimiter(1, LOG_INTERVAL_NS)

    async def _process_msg(
        self, sid: int, subject: bytes, reply: bytes, data: bytes, headers: bytes
    ) -> None:
        try:
            await super()._process_msg(sid, subject, reply, data, headers)
        except Exception as error:  # Whatever it is about: the next message can be read.
            self.unreadable += 1
            if self._log_limiter.try_acquire(monotonic_ns()):
                log.warning("a message that cannot be read was dropped: %s", error)

    async def _read_loop(self) -> None:
        await super()._read_loop()
        if self.is_connected:
            log.warning("reading from the broker has ended unexpectedly; connecting again")
            await self._process_op_err(UnexpectedEOF())
