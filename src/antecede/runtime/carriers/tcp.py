"""Datagrams over TCP, for networks that block UDP: each with its length before it.

Every node listens, and dials whoever it has something for at a configured address; who has none is
answered on the connection that it came by. A connection is a way, not a promise: what it has no
room for is dropped, when it breaks what was on it is lost, and the path repeats both as on any
network. So exactly-once, order and restarts are where they were: above.

Anybody can connect. A connection counts as a peer's once a datagram of a session has come by it;
all others are strangers'. They are few, their time is short, and the next caller takes the place
of one of them.
"""

import asyncio
import logging
import socket
from collections import Counter, deque
from time import monotonic_ns
from typing import Final, cast, final

from antecede.runtime.carriers.accepting import Callers, listen
from antecede.runtime.carriers.carrier import Carrier, CarrierListener, StreamCarrier
from antecede.runtime.config.addresses import (
    Address,
    CarriedAddress,
    is_elsewhere,
    is_loopback,
    parse_address,
)
from antecede.runtime.config.settings import Settings
from antecede.runtime.errors import BadConfiguration, CannotBind, KeyNeeded
from antecede.transport.datagram import Datagram
from antecede.transport.rate_limiter import RateLimiter

CARRIER: Final = "tcp"

LENGTH_BYTES: Final = 4
DATAGRAM_MAX: Final = 65_535
"""A peer that announces a longer datagram is not a node: the connection ends."""

SOCKET_BYTES: Final = 4 << 20
"""A peer may have 4 MiB on the way to us before every buffer on the way is full."""

ROOM_BYTES: Final = 1 << 20
"""At most 1 MiB waits for the kernel on one connection; further datagrams are dropped."""

WAITING_MAX: Final = 64
"""At most 64 datagrams wait for a connection to be made."""

STRANGERS_MAX: Final = 64
"""At most 64 connections belong to no known session."""

STRANGER_SECONDS: Final = 10.0
"""Such a connection may last 10 s: a handshake takes two round trips."""

LOG_INTERVAL_NS: Final = 30_000_000_000
"""An error that strangers can cause is logged at most once in 30 s."""

RETRY_SECONDS: Final = 0.1
RETRY_SECONDS_MAX: Final = 5.0
"""Back-off of attempts to reach a peer: 0.1 s, doubled after every failure, at most 5 s. A
connection that brings nothing and ends within 5 s is a failure."""

WANTED_SECONDS: Final = 30.0
"""A peer for which there was nothing to send for 30 s is not dialled any more."""

DIAL_SECONDS: Final = 10.0
GONE_SECONDS: Final = 1.0
"""An attempt to connect takes at most 10 s; a node that leaves waits at most 1 s for its last
datagrams to be written."""

NOBODY: Final = -1
NEVER: Final = float("inf")

log = logging.getLogger(__name__)


async def open_carrier(settings: Settings, local_only: bool) -> Carrier:
    """A listener where these settings say, in the running loop; `CannotBind` says why not."""
    tcp = TcpCarrier(asyncio.get_running_loop(), settings.mtu, local_only)
    await tcp.listen(settings.bind)
    return tcp


@final
class TcpConnection(asyncio.Protocol):
    """One connection: datagrams in and out."""

    def __init__(self, carrier: "TcpCarrier", place: Address) -> None:
        self._owner: Final = carrier
        self.place: Final = place
        """Where datagrams come from."""
        self.peer = NOBODY
        """The session that datagrams of came by this; always nobody's if this node has dialled."""
        self.brought = False
        """Whether any datagram has come by this."""
        self.began: Final = carrier.seconds()
        self.ends_at = NEVER
        """When a stranger's time is over."""
        self._stream: asyncio.Transport | None = None
        self._rest = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._stream = cast(asyncio.Transport, transport)
        self._owner.on_connection(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._owner.on_connection_end(self, exc)

    def data_received(self, data: bytes) -> None:
        rest = self._rest
        rest += data
        start, found = 0, []
        while len(rest) - start >= LENGTH_BYTES:
            begin = start + LENGTH_BYTES
            length = int.from_bytes(rest[start:begin])
            if length > DATAGRAM_MAX:
                self.break_off()
                return
            if len(rest) - begin < length:
                break
            found.append(bytes(rest[begin : begin + length]))
            start = begin + length
        del rest[:start]
        if found:
            self.brought = True
            self._owner.on_datagrams(self, found)

    def write(self, datagrams: list[bytes]) -> int:
        """Send these; the number of those that had no room."""
        stream = self._stream
        assert stream is not None, "only connections that are open are written to"
        room = ROOM_BYTES - stream.get_write_buffer_size()
        taken: list[bytes] = []
        for data in datagrams:
            room -= len(data)
            if room < 0:
                break
            taken += (len(data).to_bytes(LENGTH_BYTES), data)
        if taken:
            stream.write(b"".join(taken))
        return len(datagrams) - len(taken) // 2

    def close(self) -> None:
        """Write what waits, then end."""
        if self._stream is not None:
            self._stream.close()

    def break_off(self) -> None:
        """End at once."""
        if self._stream is not None:
            self._stream.abort()


@final
class PendingDial:
    """A configured address: what waits for a connection, why there is none, when to try again."""

    def __init__(self) -> None:
        self.waiting: Final[deque[bytes]] = deque(maxlen=WAITING_MAX)
        self.task: asyncio.Task[None] | None = None
        self.trouble = ""
        self.wanted_at = 0.0
        """When there was last something to send."""
        self._pause = RETRY_SECONDS
        self._next_at = 0.0

    def pause(self, now: float) -> float:
        """How long to wait before the next attempt."""
        return max(0.0, self._next_at - now)

    def failed(self, now: float) -> None:
        """An attempt has failed: the next one is later (back-off)."""
        self._next_at = now + self._pause
        self._pause = min(2 * self._pause, RETRY_SECONDS_MAX)

    def ended(self, connection: TcpConnection, now: float) -> None:
        """The connection is no more."""
        if connection.brought or now - connection.began > RETRY_SECONDS_MAX:
            self._pause = RETRY_SECONDS
        self.failed(now)


@final
class TcpCarrier(StreamCarrier):
    """All connections of one node."""

    def __init__(self, loop: asyncio.AbstractEventLoop, mtu: int | str, local_only: bool) -> None:
        super().__init__(loop, mtu, local_only, CarriedAddress(CARRIER, "127.0.0.1", 0))
        self.seconds: Final = loop.time
        self._connections: Final[dict[object, TcpConnection]] = {}
        self._dialled: Final[dict[object, PendingDial]] = {}
        self._strangers: Final[dict[TcpConnection, None]] = {}
        self._by_peer: Final[dict[int, TcpConnection]] = {}
        self._callers: Callers | None = None
        self._entering: Final[set[asyncio.Task[None]]] = set()
        self._sweeping: asyncio.TimerHandle | None = None
        self._log_limiter: Final = RateLimiter(1, LOG_INTERVAL_NS)
        self.dropped = 0
        """Datagrams for which a connection had no room."""

    async def listen(self, bind: Address) -> None:
        """Take connections at `bind`; `CannotBind` says why not."""
        try:
            listening = await listen(bind)
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise CannotBind(str(bind), reason) from error
        self._callers = Callers(listening, self._on_caller, self._on_no_room)
        self._address = CarriedAddress(CARRIER, *self._callers.address)
        if self._local_only and not is_loopback(self._address.host):
            self.close()
            raise KeyNeeded(f"it listens at {bind}")

    def start(self, receiver: CarrierListener) -> None:
        super().start(receiver)
        assert self._callers is not None, "it listens before it is started"
        self._callers.start()

    @property
    def socket_bytes(self) -> int:
        return SOCKET_BYTES

    def resolve(self, address: object) -> object:
        if address is None:
            return None
        place = parse_address(address)
        if not isinstance(place, CarriedAddress) or place.carrier != CARRIER:
            raise BadConfiguration(f"{place} cannot be reached from {self._address}: say tcp://")
        if self._local_only and is_elsewhere(place.host):
            raise KeyNeeded(f"a peer is at {place}")
        if place.port == 0:
            raise BadConfiguration(
                f"nobody can be reached at port 0 of {place.host}; name its port"
            )
        return place

    def relookup(self, address: object) -> None:
        if isinstance(address, CarriedAddress):
            self._dialled.setdefault(address, PendingDial())
            connection = self._connections.get(address)
            if connection is not None:
                self._strangers.pop(connection, None)

    def forget(self, address: object) -> None:
        dialling = self._dialled.pop(address, None)
        if dialling is not None and dialling.task is not None:
            dialling.task.cancel()
        connection = self._connections.get(address)
        if connection is not None:  # There may be last words for it.
            self._hold_as_stranger(connection)

    def lookup_error(self, address: object) -> str:
        dialling = self._dialled.get(address)
        return "" if dialling is None else dialling.trouble

    def send(self, datagrams: list[Datagram]) -> None:
        by_place: dict[object, list[bytes]] = {}
        for datagram in datagrams:
            by_place.setdefault(datagram.address, []).append(datagram.data)
        datagrams.clear()
        for place, some in by_place.items():
            connection = self._connections.get(place)
            if connection is not None:
                self.dropped += connection.write(some)
            elif isinstance(place, CarriedAddress) and place in self._dialled:
                self._dial(place, some)
            else:
                self.unsendable += len(some)  # It had called us and has hung up, or was removed.

    def close(self) -> None:
        self._closed = True
        self._timer.cancel()
        if self._sweeping is not None:
            self._sweeping.cancel()
        if self._callers is not None:
            self._callers.close()
        for dialling in self._dialled.values():
            if dialling.task is not None:
                dialling.task.cancel()
        for connection in list(self._connections.values()):
            connection.close()

    async def wait_closed(self) -> None:
        deadline = self._loop.time() + GONE_SECONDS
        while (self._connections or self._entering) and self._loop.time() < deadline:
            await asyncio.sleep(0.001)
        for connection in list(self._connections.values()):
            connection.break_off()

    # What connections call.

    def on_connection(self, connection: TcpConnection) -> None:
        """A connection is there."""
        if self._closed:
            connection.break_off()
            return
        self._connections[connection.place] = connection
        dialling = self._dialled.get(connection.place)
        if dialling is not None:
            dialling.trouble = ""
            self.dropped += connection.write(list(dialling.waiting))
            dialling.waiting.clear()
        else:
            self._hold_as_stranger(connection)

    def on_connection_end(self, connection: TcpConnection, error: Exception | None) -> None:
        """A connection is no more."""
        self._strangers.pop(connection, None)
        if self._by_peer.get(connection.peer) is connection:
            del self._by_peer[connection.peer]
        if self._connections.get(connection.place) is connection:
            del self._connections[connection.place]
            dialling = self._dialled.get(connection.place)
            if dialling is not None:
                dialling.ended(connection, self.seconds())
            log.debug("the connection with %s has ended: %s", connection.place, error or "closed")

    def on_datagrams(self, connection: TcpConnection, datagrams: list[bytes]) -> None:
        """These have come by one connection."""
        receiver = self._receiver
        if receiver is None or self._closed:
            return
        now_ns = monotonic_ns()
        for data in datagrams:
            receiver.on_datagram(connection.place, data, now_ns)
        receiver.on_input_end(now_ns)
        if connection in self._strangers:
            self._recognise(connection, receiver.sender_of(datagrams[-1]))

    # Callers.

    def _on_caller(self, caller: socket.socket, address: Address) -> None:
        keep_alive(caller)
        task = self._loop.create_task(self._enter(TcpConnection(self, address), caller))
        self._entering.add(task)
        task.add_done_callback(self._entering.discard)
        if len(self._strangers) + len(self._entering) > STRANGERS_MAX:
            self._make_room("more strangers call than there is room for")

    def _on_no_room(self, error: OSError) -> bool:
        """The system has no room for a caller: a stranger's is taken, or the caller waits."""
        return self._make_room(f"no room for callers: {error.strerror or error}")

    def _make_room(self, reason: str) -> bool:
        """Hang up on a stranger; False if there is none.

        Of those whose host has the most of them one that has said nothing, and of these the oldest.
        """
        if self._log_limiter.try_acquire(monotonic_ns()):
            log.warning("%s: %s; strangers are hung up on", self._address, reason)
        if not self._strangers:
            return False
        hosts = Counter(connection.place.host for connection in self._strangers)
        goes = min(
            self._strangers,
            key=lambda connection: (
                -hosts[connection.place.host],
                connection.brought,
                connection.began,
            ),
        )
        self._hang_up(goes)
        return True

    def _hang_up(self, stranger: TcpConnection) -> None:
        # The end of a connection is reported later, and until then it would be chosen again.
        del self._strangers[stranger]
        stranger.break_off()

    async def _enter(self, connection: TcpConnection, caller: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(lambda: connection, caller)
        except OSError as error:
            caller.close()
            log.debug("%s was gone before it was let in: %s", connection.place, error)

    def _hold_as_stranger(self, connection: TcpConnection) -> None:
        """No session is known of this connection, or not any more: it has some time."""
        connection.peer = NOBODY
        connection.ends_at = self.seconds() + STRANGER_SECONDS
        self._strangers[connection] = None
        self._plan_sweep()

    def _recognise(self, connection: TcpConnection, peer: int) -> None:
        """A datagram of a session has come by this connection: it is where that peer is now.

        Each has one: whoever has seen a token of its session gains nothing by many connections.
        """
        if peer == NOBODY or connection.place in self._dialled:
            return
        del self._strangers[connection]
        former = self._by_peer.get(peer)
        if former is not None:
            self._hold_as_stranger(former)
        connection.peer, connection.ends_at = peer, NEVER
        self._by_peer[peer] = connection
        self._plan_sweep()

    def _plan_sweep(self) -> None:
        if self._sweeping is None and not self._closed:
            self._sweeping = self._loop.call_later(STRANGER_SECONDS, self._sweep)

    def _sweep(self) -> None:
        """Hang up on strangers whose time is over; a peer without a session is one, too."""
        self._sweeping = None
        receiver, now = self._receiver, self.seconds()
        for peer, connection in list(self._by_peer.items()):
            if receiver is not None and receiver.is_over(peer):
                del self._by_peer[peer]
                self._hold_as_stranger(connection)
        for connection in [
            connection for connection in self._strangers if connection.ends_at <= now
        ]:
            self._hang_up(connection)
        if self._strangers or self._by_peer:
            self._plan_sweep()

    # Dialling.

    def _dial(self, place: CarriedAddress, datagrams: list[bytes]) -> None:
        dialling = self._dialled[place]
        dialling.waiting.extend(datagrams)
        dialling.wanted_at = self.seconds()
        if dialling.task is None and not self._closed:
            dialling.task = self._loop.create_task(self._connect(place, dialling))

    async def _connect(self, place: CarriedAddress, dialling: PendingDial) -> None:
        """Try until there is a connection, or nobody wants one."""
        # A node without a key stays on this machine, whatever names lead to.
        source = (self._address.host, 0) if self._local_only else None
        try:
            while place not in self._connections:
                await asyncio.sleep(dialling.pause(self.seconds()))
                if self.seconds() - dialling.wanted_at > WANTED_SECONDS:
                    return
                try:
                    async with asyncio.timeout(DIAL_SECONDS):
                        stream, _ = await self._loop.create_connection(
                            lambda: TcpConnection(self, place),
                            place.host,
                            place.port,
                            local_addr=source,
                        )
                    keep_alive(stream.get_extra_info("socket"))
                except (OSError, UnicodeError) as error:
                    reason = getattr(error, "strerror", None) or str(error) or "no answer"
                    dialling.trouble = f"cannot connect to {place}: {reason}"
                    dialling.failed(self.seconds())
        finally:
            dialling.task = None


def keep_alive(connection: socket.socket) -> None:
    """Let the kernel find out whether a connection on which nothing moves has another end."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, option):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
