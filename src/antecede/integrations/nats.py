"""Datagrams through a NATS broker, for nodes that cannot reach each other directly.

A node subscribes to a subject made of its name, `antecede.alice`, and puts the subject for answers
into every datagram. The broker is a network like any other: it may lose datagrams, it knows nothing
of causal order, and with keys it cannot read what it carries. A datagram that is published while
nobody subscribes is lost, and the path transmits it again.
"""

import asyncio
import logging
from collections import deque
from contextlib import suppress
from time import monotonic_ns
from typing import Any, Final, final
from urllib.parse import quote

from antecede.runtime.carriers.carrier import Carrier, StreamCarrier
from antecede.runtime.config.addresses import (
    PREFIX,
    Address,
    CarriedAddress,
    is_loopback,
    parse_address,
)
from antecede.runtime.config.settings import Settings
from antecede.runtime.errors import BadConfiguration, CannotBind, KeyNeeded, MissingExtra
from antecede.transport.datagram import Datagram
from antecede.transport.rate_limiter import RateLimiter

CARRIER: Final = "nats"

PENDING_BYTES: Final = 8 << 20
"""At most 8 MiB from the broker wait to be read; beyond that the client drops messages."""

BACKLOG_MAX: Final = 1024
"""At most 1,024 datagrams wait to be published; others are dropped, and the path slows down."""

LOG_INTERVAL_NS: Final = 30_000_000_000
"""An error that every datagram can cause is logged at most once in 30 s."""

CONNECT_SECONDS: Final = 5
RETRY_SECONDS: Final = 0.2
GONE_SECONDS: Final = 1.0

log = logging.getLogger(__name__)


async def open_carrier(settings: Settings, local_only: bool) -> Carrier:
    """A connection with the broker that these settings name; `CannotBind` says why not,
    `MissingExtra` what to install."""
    try:
        import nats  # noqa: F401 - only whether it is there
    except ModuleNotFoundError:
        raise MissingExtra("nats") from None
    broker = NatsCarrier(asyncio.get_running_loop(), settings.name, settings.mtu, local_only)
    await broker.connect(settings.bind)
    return broker


def subject_of(prefix: str, name: str) -> str:
    """The subject that a node of this name subscribes to: one word after the prefix."""
    word = quote(name, safe="").replace(".", "%2E").replace("*", "%2A").replace(">", "%3E")
    return f"{prefix}.{word}"


@final
class NatsCarrier(StreamCarrier):
    """One node's connection with a broker."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, name: str, mtu: int | str, local_only: bool
    ) -> None:
        super().__init__(loop, mtu, local_only, CarriedAddress(CARRIER, "127.0.0.1", 0, PREFIX))
        self._name: Final = name
        self._subject = ""
        self._client: Any = None  # nats-py is an extra.
        self._backlog: Final[deque[Datagram]] = deque()
        self._publishing: asyncio.Task[None] | None = None
        self._leaving: asyncio.Task[None] | None = None
        self._input_end_planned = False
        self._trouble = ""
        self._log_limiter: Final = RateLimiter(1, LOG_INTERVAL_NS)

    async def connect(self, bind: Address) -> None:
        """Connect to the broker and subscribe; `CannotBind` says why not."""
        import nats

        assert isinstance(bind, CarriedAddress), "the carrier is what chose this transport"
        if self._local_only and not is_loopback(bind.host):
            raise KeyNeeded(f"its broker is at {bind}")
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await self._subscribe(bind)
        except (OSError, TimeoutError, nats.errors.Error) as error:
            await self._hang_up()
            raise CannotBind(str(bind), str(error) or type(error).__name__) from error
        self._address = bind

    async def _subscribe(self, bind: CarriedAddress) -> None:
        from antecede.integrations.nats_client import ResilientClient

        # The client would retry for ever, so find out first whether anything listens there.
        _, probe = await asyncio.open_connection(bind.host, bind.port)
        probe.close()
        login = f"{bind.login}@" if bind.login else ""
        self._client = ResilientClient()
        await self._client.connect(
            f"nats://{login}{Address(bind.host, bind.port)}",
            name=f"antecede {self._name}",
            max_reconnect_attempts=-1,
            reconnect_time_wait=RETRY_SECONDS,
            disconnected_cb=self._on_lost,
            reconnected_cb=self._on_back,
            error_cb=self._on_error,
        )
        self._subject = subject_of(bind.path, self._name)
        limits = {"pending_msgs_limit": -1, "pending_bytes_limit": PENDING_BYTES}
        await self._client.subscribe(self._subject, cb=self._on_message, **limits)
        await self._client.flush()

    @property
    def socket_bytes(self) -> int:
        return PENDING_BYTES

    def resolve(self, address: object) -> object:
        return None if address is None else self._checked(address).path

    def locate(self, name: str, address: object) -> object:
        prefix = self._address.path if address is None else self._checked(address).path
        return subject_of(prefix, name)

    def lookup_error(self, address: object) -> str:  # noqa: ARG002 - one broker for all
        return self._trouble

    def send(self, datagrams: list[Datagram]) -> None:
        room = BACKLOG_MAX - len(self._backlog)
        self._backlog.extend(datagrams[:room])
        self.unsendable += max(0, len(datagrams) - room)
        datagrams.clear()
        if self._publishing is None and self._backlog:
            self._publishing = self._loop.create_task(self._publish())

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._timer.cancel()
            self._leaving = self._loop.create_task(self._leave())

    async def wait_closed(self) -> None:
        if self._leaving is not None:
            await self._leaving

    async def _leave(self) -> None:
        with suppress(Exception):  # Whatever nats-py says of a broker that is gone: we are, too.
            async with asyncio.timeout(GONE_SECONDS):
                if self._publishing is not None:
                    await self._publishing
                await self._client.flush(1)
        await self._hang_up()

    def _checked(self, address: object) -> CarriedAddress:
        place = parse_address(address)
        if not isinstance(place, CarriedAddress) or place.carrier != CARRIER:
            raise BadConfiguration(f"{place} cannot be reached from {self._address}: name it alone")
        return place

    async def _publish(self) -> None:
        """Hand everything to the client, in order; what it does not accept is lost."""
        import nats

        try:
            while self._backlog:
                datagram = self._backlog.popleft()
                if not self._client.is_connected:
                    self.unsendable += 1
                    continue
                try:
                    await self._client.publish(
                        str(datagram.address), bytes(datagram.data), reply=self._subject
                    )
                except (OSError, nats.errors.Error) as error:
                    self.unsendable += 1
                    log.debug("cannot publish to %s: %s", datagram.address, error)
        finally:
            self._publishing = None

    async def _hang_up(self) -> None:
        if self._client is not None:
            with suppress(Exception):  # As above: there is nobody left to tell.
                await self._client.close()

    # What the client calls.

    async def _on_message(self, message: Any) -> None:  # noqa: ANN401 - nats-py is an extra
        receiver = self._receiver
        if receiver is None or self._closed:
            return
        receiver.on_datagram(message.reply, message.data, monotonic_ns())
        if not self._input_end_planned:
            self._input_end_planned = True
            self._loop.call_soon(self._on_input_end)

    def _on_input_end(self) -> None:
        self._input_end_planned = False
        if self._receiver is not None and not self._closed:
            self._receiver.on_input_end(monotonic_ns())

    async def _on_lost(self) -> None:
        if not self._closed:
            self._trouble = f"the broker at {self._address} is gone"
            log.warning("%s: %s; waiting for it", self._name, self._trouble)

    async def _on_back(self) -> None:
        log.info("%s: the broker at %s is back", self._name, self._address)
        self._trouble = ""

    async def _on_error(self, error: Exception) -> None:
        import nats

        if isinstance(error, OSError | nats.errors.Error):
            log.debug("%s: %s", self._name, error)
        elif self._log_limiter.try_acquire(monotonic_ns()):  # Not the broker's doing, but ours.
            log.error("%s: a datagram was not taken in", self._name, exc_info=error)
