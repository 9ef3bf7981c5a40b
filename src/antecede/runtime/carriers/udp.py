"""A UDP socket on an asyncio loop, drained when it is readable.

asyncio's own datagram transport wakes once per datagram; here one wake-up takes up to `DRAIN` of
them, which is several times faster. What the kernel has no room for waits here, in order, until the
socket is writable: the congestion windows bound how much that can be.
"""

import asyncio
import errno
import logging
import select
import socket
from collections import deque
from collections.abc import Callable
from functools import partial
from ipaddress import ip_address
from time import monotonic_ns
from typing import Final

from antecede.runtime.carriers import segments
from antecede.runtime.carriers.busy_poll import BusyPoll
from antecede.runtime.carriers.carrier import Carrier, CarrierListener, LoopTimer
from antecede.runtime.carriers.dns import NameResolver, look_up
from antecede.runtime.config.addresses import (
    Address,
    is_elsewhere,
    is_loopback,
    is_name,
    parse_address,
)
from antecede.runtime.config.settings import Settings
from antecede.runtime.errors import BadConfiguration, CannotBind, KeyNeeded
from antecede.transport.datagram import Datagram, batches

DRAIN: Final = 64
DRAIN_BYTES: Final = 1 << 20
"""One turn of the loop receives at most 64 datagrams (joined ones count as one) or 1 MiB. Others in
the loop wait for that."""

DRAIN_ASIDE: Final = 1024
"""One turn receives 1,024 datagrams while they are only queued: the kernel's buffer is one queue
for all senders, and while one floods it the others wait behind."""

LONE_TURNS: Final = 16
"""While datagrams come one at a time, only every 16th turn asks for a second one."""

LITTLE: Final = 1024
"""A lone datagram up to this size is a question, or an answer, rather than part of a stream."""

RECEIVE_SIZE: Final = 65_536
SOCKET_BYTES: Final = 4 << 20
"""What is asked of the kernel for each direction; it may give less."""

DEFAULT_DATAGRAM: Final = 1400
LOOPBACK_DATAGRAM: Final = 60_000
DATAGRAMS_BUFFERED: Final = 16
"""A datagram is at most this fraction of the socket's buffer, or a few of them would overrun it."""

IP_MTU: Final = 14
LOOPBACK_MTU: Final = 65_535

log = logging.getLogger(__name__)


async def open_carrier(settings: Settings, local_only: bool) -> Carrier:
    """A socket where these settings say, in the running loop; `CannotBind` says why not."""
    return UdpCarrier(
        await numeric_address(settings.bind),
        settings.mtu,
        asyncio.get_running_loop(),
        settings.gso,
        busy_poll=settings.busy_poll,
        local_only=local_only,
    )


async def numeric_address(bind: Address) -> Address:
    """Where to listen, with a host name looked up; `CannotBind` says why that fails."""
    if not is_name(bind.host):
        return bind
    try:
        found = await look_up(bind, socket.AF_INET)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise CannotBind(str(bind), reason) from error
    return Address(str(found[0][0]), bind.port)


def bound_socket(address: Address) -> socket.socket:
    """A UDP socket that listens at `address`; `CannotBind` says why not."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        host = socket.getaddrinfo(address.host, address.port, family, socket.SOCK_DGRAM)[0][4]
    except OSError as error:
        raise CannotBind(str(address), error.strerror or str(error)) from error
    try:
        sock = socket.socket(family, socket.SOCK_DGRAM)
    except OSError as error:
        raise CannotBind(str(address), error.strerror or str(error)) from error
    try:
        sock.setblocking(False)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SOCKET_BYTES)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SOCKET_BYTES)
        sock.bind(host)
    except OSError as error:
        sock.close()
        raise CannotBind(str(address), error.strerror or str(error)) from error
    return sock


def readable_probe(sock: socket.socket) -> Callable[[], object]:
    """What tells whether something has come at a socket, sooner than a turn of the loop would."""
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return partial(poll.poll, 0)


def route_mtu(family: int, address: object) -> int:
    """The largest packet of the first link towards `address`, as the kernel knows it, or 0."""
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect(address)  # type: ignore[arg-type] # it came from getaddrinfo
            return probe.getsockopt(socket.IPPROTO_IP, IP_MTU)
    except OSError:  # No route, or no more files: small datagrams get through anyway.
        return 0


class UdpCarrier(Carrier):
    """The socket of one node."""

    # Asked for with every message: the clock itself, not a method around it.
    now_ns = staticmethod(monotonic_ns)

    def __init__(
        self,
        bind: Address,
        mtu: int | str,
        loop: asyncio.AbstractEventLoop,
        gso: str = "auto",
        *,
        busy_poll: bool = True,
        local_only: bool = False,
    ) -> None:
        self._socket = bound_socket(bind)
        self._address = Address(*self._socket.getsockname()[:2])
        # Without a key nothing may come from, or go to, another machine.
        self._local_only = local_only
        if local_only and not is_loopback(self._address.host):
            self._socket.close()
            raise KeyNeeded(f"it listens at {bind}")
        self._mtu = mtu
        # Whether many datagrams leave and come in one call: by default, if they are small.
        self._may_join = gso == "auto"
        self.joins = gso == "on" and segments.enable(self._socket)
        self._receives_joined = self.joins
        self._loop = loop
        self._names = NameResolver(loop, self._socket.family)
        self._busy_poll: BusyPoll | None = None
        if busy_poll:
            self._busy_poll = BusyPoll(loop, readable_probe(self._socket), self._on_readable)
        self._receiver: CarrierListener | None = None
        self._timer = LoopTimer(loop, self._on_time)
        self._backlog: deque[Datagram] = deque()
        self.unsendable = 0
        self._crowded = False
        self._turn = 0

    @property
    def address(self) -> Address:
        return self._address

    @property
    def socket_bytes(self) -> int:
        # Linux reports twice what it was asked for: its own bookkeeping is paid from it.
        return self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) // 2

    def start(self, receiver: CarrierListener) -> None:
        self._receiver = receiver
        self._loop.add_reader(self._socket.fileno(), self._on_readable)

    def resolve(self, address: object) -> object:
        if address is None:
            return None
        host, port = parse_address(address)
        if self._local_only and is_elsewhere(host):
            raise KeyNeeded(f"a peer is at {host}:{port}")
        if port == 0:
            raise BadConfiguration(f"nobody can be reached at port 0 of {host}; name its port")
        if is_name(host):
            self._names.add(Address(host, port))
            return Address(host, port)
        try:
            found = socket.getaddrinfo(host, port, self._socket.family, socket.SOCK_DGRAM)
        except OSError as error:
            kind = "IPv6" if self._socket.family == socket.AF_INET6 else "IPv4"
            raise BadConfiguration(
                f"{host} is not an address of the kind that this node is bound to, {kind}"
            ) from error
        return found[0][4]

    def relookup(self, address: object) -> None:
        self._names.seek(address)

    def stop_lookup(self, address: object) -> None:
        self._names.found(address)

    def lookup_error(self, address: object) -> str:
        return self._names.trouble(address)

    def datagram_size(self, address: object) -> int:
        size = self._route_size(address)
        if self._may_join and size < segments.LARGE_DATAGRAM:
            self._may_join = False
            self.joins = self._receives_joined = segments.enable(self._socket)
        return size

    def send(self, datagrams: list[Datagram]) -> None:
        if self._names.by_address:
            datagrams[:] = self._names.directed(datagrams)
        if self._backlog:
            self._backlog.extend(datagrams)
        elif self.joins and len(datagrams) > 1:
            self._send_joined(datagrams)
        else:
            for index, datagram in enumerate(datagrams):
                if not self._try_send(datagram):
                    self._wait_for_kernel(datagrams[index:])
                    break
        if self._busy_poll is not None:
            for datagram in datagrams:
                if datagram.answerable:
                    alone = len(datagrams) == 1 and len(datagram.data) <= LITTLE
                    self._busy_poll.sent(alone)
                    break
        datagrams.clear()

    def wake_at(self, time_ns: int) -> None:
        # Asked for after every turn, and most often late enough: one call less.
        if time_ns < self._timer.time_ns:
            self._timer.wake_at(time_ns)

    def close(self) -> None:
        if self._socket.fileno() < 0:
            return
        if self._busy_poll is not None:
            self._busy_poll.stop()
        self._timer.cancel()
        self._names.close()
        self._loop.remove_reader(self._socket.fileno())
        self._loop.remove_writer(self._socket.fileno())
        while self._backlog and self._try_send(self._backlog[0]):
            self._backlog.popleft()
        self._socket.close()

    def leave_to_parent(self) -> None:
        # The loop's selector is the parent's, too: nothing is removed from it.
        self._receiver = None
        self._socket.close()

    def _route_size(self, address: object) -> int:
        if isinstance(self._mtu, int):
            return self._mtu
        if not self._is_near(address):
            return DEFAULT_DATAGRAM
        fitting = self.socket_bytes // DATAGRAMS_BUFFERED
        return max(DEFAULT_DATAGRAM, min(LOOPBACK_DATAGRAM, fitting))

    def _is_near(self, address: object) -> bool:
        """Whether nothing but the loopback interface is between here and there."""
        if address is None or isinstance(address, Address):
            # Who is not known yet can only come from this machine if we listen nowhere else.
            return ip_address(self._address.host).is_loopback
        return route_mtu(self._socket.family, address) >= LOOPBACK_MTU

    def _wait_for_kernel(self, datagrams: list[Datagram]) -> None:
        self._backlog.extend(datagrams)
        self._loop.add_writer(self._socket.fileno(), self._on_writable)

    def _send_joined(self, datagrams: list[Datagram]) -> None:
        """Send as few times as possible; if the device refuses that, one by one from now on."""
        sent = 0
        for batch in batches(datagrams):
            count = len(batch.contents)
            try:
                segments.send_batch(self._socket, batch)
            except BlockingIOError:
                self._wait_for_kernel(datagrams[sent:])
                return
            except OSError as error:
                if count > 1 and error.errno in (errno.EIO, errno.EINVAL, errno.EMSGSIZE):
                    log.info("this route does not take several datagrams at once: %s", error)
                    self.joins = False
                    self.send(datagrams[sent:])
                    return
                self.unsendable += count
                log.debug("cannot send to %s: %s", batch.address, error)
            sent += count

    def _try_send(self, datagram: Datagram) -> bool:
        """Try to send; False if the kernel has no room for it now."""
        try:
            self._socket.sendto(datagram.data, datagram.address)  # type: ignore[call-overload] # resolved
        except BlockingIOError:
            return False
        except OSError as error:
            # No route, or no one listens: the path will notice that nothing comes back.
            self.unsendable += 1
            log.debug("cannot send to %s: %s", datagram.address, error)
        return True

    def _on_readable(self) -> None:
        receiver = self._receiver
        if receiver is None:
            return  # Left to the parent process.
        now_ns = monotonic_ns()
        received = taken = 0
        # A datagram that came alone is most often followed by others that do: asking for more in
        # the same turn would cost a call to be told that there is none.
        looks = self._crowded or self._turn % LONE_TURNS == 0
        limit = DRAIN if looks else 1
        self._turn += 1
        try:
            while taken < DRAIN_BYTES:
                if received >= limit:
                    if limit != DRAIN or not receiver.is_queueing():
                        break
                    limit = DRAIN_ASIDE
                received += 1
                if self._receives_joined:
                    taken += self._receive_joined(receiver, now_ns)
                else:
                    # Straight into new bytes: a buffer of our own would be one more copy.
                    data, address = self._socket.recvfrom(RECEIVE_SIZE)
                    if self._names.sought:
                        self._names.on_source(address)
                    taken += len(data)
                    receiver.on_datagram(address, data, now_ns)
        except BlockingIOError:
            received -= 1
        except OSError:
            # What a former datagram met on its way; it says nothing about the next one.
            pass
        if looks:
            self._crowded = received > 1
        if self._busy_poll is not None:
            self._busy_poll.heard()
        receiver.on_input_end(now_ns)

    def _receive_joined(self, receiver: CarrierListener, now_ns: int) -> int:
        """Receive one buffer, which may be several datagrams of one size and a smaller one.

        Returns how many bytes these are.
        """
        data, control, _, address = self._socket.recvmsg(RECEIVE_SIZE, segments.CONTROL_BYTES)
        if self._names.sought:
            self._names.on_source(address)
        size = segments.segment_size(control) if control else 0
        if 0 < size < len(data):
            receiver.on_joined(address, data, size, now_ns)
        else:
            receiver.on_datagram(address, data, now_ns)
        return len(data)

    def _on_writable(self) -> None:
        while self._backlog and self._try_send(self._backlog[0]):
            self._backlog.popleft()
        if not self._backlog:
            self._loop.remove_writer(self._socket.fileno())

    def _on_time(self) -> None:
        if self._receiver is not None:
            self._receiver.on_time(monotonic_ns())
