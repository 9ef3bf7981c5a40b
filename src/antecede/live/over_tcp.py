"""Datagrams over TCP, where UDP does not get through: each with its length before it.

Every node listens, and dials whoever it has something for at a configured address; who has none is
answered on the connection that it came by. A connection is a road, not a promise: what it has no
room for is dropped, when it breaks what was on it is lost, and the path repeats both as on any
network. So exactly-once, order and restarts are where they were: above.
"""

import asyncio
import logging
from collections import deque
from time import monotonic_ns
from typing import Final, cast, final

from antecede.link.writer import Datagram
from antecede.live.addresses import (
    Address,
    CarriedAddress,
    is_elsewhere,
    is_loopback,
    parse_address,
)
from antecede.live.errors import BadConfiguration, CannotBind, KeyNeeded
from antecede.live.transport import CarriedTransport

CARRIER: Final = "tcp"

LENGTH_BYTES: Final = 4
DATAGRAM_MAX: Final = 65_535
"""A longer one is no datagram: whoever announces it is no node."""

SOCKET_BYTES: Final = 4 << 20
"""What a peer may have under way to us before it would fill every buffer on the way."""

ROOM_BYTES: Final = 1 << 20
"""What may wait for the kernel on one connection; what comes then is dropped."""

WAITING_MAX: Final = 64
"""Datagrams that wait for a connection to be made."""

CONNECTIONS_MAX: Final = 4096
AGAIN_SECONDS: Final = 0.1
AGAIN_SECONDS_MAX: Final = 5.0
DIAL_SECONDS: Final = 10.0
GONE_SECONDS: Final = 1.0
"""How long a node that leaves waits for its last words to be written."""

log = logging.getLogger(__name__)


@final
class Road(asyncio.Protocol):
    """One connection: datagrams in and out."""

    def __init__(self, transport: "TcpTransport", place: object) -> None:
        self._owner: Final = transport
        self.place = place
        """Where datagrams come from; None until the connection is there."""
        self._stream: asyncio.Transport | None = None
        self._rest = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._stream = cast(asyncio.Transport, transport)
        if self.place is None:
            self.place = Address(*self._stream.get_extra_info("peername")[:2])
        self._owner.on_road(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._owner.on_road_end(self, exc)

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
            self._owner.on_datagrams(self.place, found)

    def write(self, datagrams: list[bytes]) -> int:
        """Send these; how many of them had no room."""
        stream = self._stream
        assert stream is not None, "only roads that are open are written to"
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
class Dialling:
    """A configured address without a connection: what waits for one, and why there is none."""

    def __init__(self) -> None:
        self.waiting: Final[deque[bytes]] = deque(maxlen=WAITING_MAX)
        self.task: asyncio.Task[None] | None = None
        self.trouble = ""


@final
class TcpTransport(CarriedTransport):
    """All connections of one node."""

    def __init__(self, loop: asyncio.AbstractEventLoop, mtu: int | str, local_only: bool) -> None:
        super().__init__(loop, mtu, local_only, CarriedAddress(CARRIER, "127.0.0.1", 0))
        self._roads: Final[dict[object, Road]] = {}
        self._dialled: Final[dict[object, Dialling]] = {}
        self._server: asyncio.Server | None = None
        self.dropped = 0
        """Datagrams for which a connection had no room."""

    async def listen(self, bind: Address) -> None:
        """Take connections at `bind`; `CannotBind` says why not."""
        try:
            server = await self._loop.create_server(lambda: Road(self, None), bind.host, bind.port)
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise CannotBind(str(bind), reason) from error
        self._server = server
        self._address = CarriedAddress(CARRIER, *server.sockets[0].getsockname()[:2])
        if self._local_only and not is_loopback(self._address.host):
            self.close()
            raise KeyNeeded(f"it listens at {bind}")

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
            raise BadConfiguration(f"nobody can be reached at port 0 of {place.host}; name it")
        return place

    def trouble(self, address: object) -> str:
        dialling = self._dialled.get(address)
        return "" if dialling is None else dialling.trouble

    def send(self, datagrams: list[Datagram]) -> None:
        by_place: dict[object, list[bytes]] = {}
        for datagram in datagrams:
            by_place.setdefault(datagram.address, []).append(datagram.data)
        datagrams.clear()
        for place, some in by_place.items():
            road = self._roads.get(place)
            if road is not None:
                self.dropped += road.write(some)
            elif isinstance(place, CarriedAddress):
                self._dial(place, some)
            else:
                self.unsendable += len(some)  # It had called us, and has hung up.

    def close(self) -> None:
        self._closed = True
        self._timer.cancel()
        if self._server is not None:
            self._server.close()
        for dialling in self._dialled.values():
            if dialling.task is not None:
                dialling.task.cancel()
        for road in list(self._roads.values()):
            road.close()

    async def gone(self) -> None:
        deadline = self._loop.time() + GONE_SECONDS
        while self._roads and self._loop.time() < deadline:
            await asyncio.sleep(0.001)
        for road in list(self._roads.values()):
            road.break_off()

    # What roads call.

    def on_road(self, road: Road) -> None:
        """A connection is there."""
        if self._closed or len(self._roads) >= CONNECTIONS_MAX:
            road.break_off()
            return
        self._roads[road.place] = road
        dialling = self._dialled.get(road.place)
        if dialling is not None:
            dialling.trouble = ""
            self.dropped += road.write(list(dialling.waiting))
            dialling.waiting.clear()

    def on_road_end(self, road: Road, error: Exception | None) -> None:
        """A connection is no more."""
        if self._roads.get(road.place) is road:
            del self._roads[road.place]
            log.debug("the connection with %s has ended: %s", road.place, error or "closed")

    def on_datagrams(self, place: object, datagrams: list[bytes]) -> None:
        """These have come by one connection."""
        receiver = self._receiver
        if receiver is None or self._closed:
            return
        now_ns = monotonic_ns()
        for data in datagrams:
            receiver.on_datagram(place, data, now_ns)
        receiver.on_input_end(now_ns)

    # Dialling.

    def _dial(self, place: CarriedAddress, datagrams: list[bytes]) -> None:
        dialling = self._dialled.setdefault(place, Dialling())
        dialling.waiting.extend(datagrams)
        if dialling.task is None and not self._closed:
            dialling.task = self._loop.create_task(self._connect(place, dialling))

    async def _connect(self, place: CarriedAddress, dialling: Dialling) -> None:
        """Try until there is a connection; who is not there yet is waited for."""
        # A node without a key stays on this machine, whatever names lead to.
        source = (self._address.host, 0) if self._local_only else None
        pause = AGAIN_SECONDS
        try:
            while place not in self._roads:
                try:
                    async with asyncio.timeout(DIAL_SECONDS):
                        await self._loop.create_connection(
                            lambda: Road(self, place), place.host, place.port, local_addr=source
                        )
                except (OSError, UnicodeError) as error:
                    reason = getattr(error, "strerror", None) or str(error) or "no answer"
                    dialling.trouble = f"cannot connect to {place}: {reason}"
                    await asyncio.sleep(pause)
                    pause = min(2 * pause, AGAIN_SECONDS_MAX)
        finally:
            dialling.task = None
