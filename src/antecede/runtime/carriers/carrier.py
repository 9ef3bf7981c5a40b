"""What a node needs of the world: time, a way to send datagrams, and to be called.

`UdpCarrier` is the usual one; TCP, a broker and the network in memory for tests are others.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from time import monotonic_ns
from typing import Final, Protocol, final

from antecede.runtime.config.addresses import Address, CarriedAddress, is_loopback
from antecede.transport.datagram import Datagram

NEAR_DATAGRAM: Final = 60_000
FAR_DATAGRAM: Final = 16_384
"""The size of datagrams over connections: on this machine, and beyond it."""

NEVER_NS: Final = 1 << 62
FAR_NS: Final = NEVER_NS >> 1
"""No timer is set for later than this: a cancelled one stays in the loop until its time."""


@final
class LoopTimer:
    """A timer that rings at the earliest time that was asked for since it last rang."""

    def __init__(self, loop: asyncio.AbstractEventLoop, ring: Callable[[], None]) -> None:
        self._loop: Final = loop
        self._ring: Final = ring
        self._handle: asyncio.TimerHandle | None = None
        self.time_ns = NEVER_NS
        """When it rings next."""

    def wake_at(self, time_ns: int) -> None:
        """Ring then, or earlier, which is harmless, and cheaper than another timer."""
        if time_ns >= self.time_ns or time_ns >= FAR_NS:
            return
        self.cancel()
        self.time_ns = time_ns
        delay = max(0, time_ns - monotonic_ns()) / 1e9
        self._handle = self._loop.call_later(delay, self._on_time)

    def cancel(self) -> None:
        """Do not ring."""
        if self._handle is not None:
            self._handle.cancel()
        self._handle = None
        self.time_ns = NEVER_NS

    def _on_time(self) -> None:
        self._handle = None
        self.time_ns = NEVER_NS
        self._ring()


class CarrierListener(Protocol):
    """What a carrier calls when something arrives or time has passed."""

    def on_datagram(self, address: object, data: bytes, now_ns: int) -> None:
        """A datagram has come."""

    def on_joined(self, address: object, data: bytes, size: int, now_ns: int) -> None:
        """Several datagrams have come in one buffer, all of this size but perhaps the last."""

    def is_queueing(self) -> bool:
        """Whether arriving datagrams are only queued now, to be read in turns."""

    def sender_of(self, data: bytes) -> int:
        """The session that a datagram says it belongs to; -1 if none is known."""

    def is_over(self, session: int) -> bool:
        """Whether that session has ended."""

    def on_input_end(self, now_ns: int) -> None:
        """All that had arrived has been handed over."""

    def on_time(self, now_ns: int) -> None:
        """The time asked for with `wake_at` has come."""


class Carrier(ABC):
    """The way out and in of one node."""

    unsendable = 0
    """Datagrams that could not be sent because of permanent errors."""

    @property
    @abstractmethod
    def address(self) -> Address:
        """Where this node can be reached."""

    @property
    @abstractmethod
    def socket_bytes(self) -> int:
        """How many bytes may wait to be received before some are dropped."""

    @abstractmethod
    def start(self, receiver: CarrierListener) -> None:
        """Begin to call `receiver`."""

    @abstractmethod
    def now_ns(self) -> int:
        """The time."""

    @abstractmethod
    def resolve(self, address: object) -> object:
        """A configured address in the form in which datagrams come from it."""

    def locate(self, name: str, address: object) -> object:  # noqa: ARG002 - where names lead nowhere
        """Where a peer is of which this address was configured, or none."""
        return self.resolve(address)

    def relookup(self, address: object) -> None:  # noqa: B027 - where addresses are final
        """Nobody answers at this address, which `resolve` returned: resolve its name again."""

    def stop_lookup(self, address: object) -> None:  # noqa: B027 - where addresses are final
        """Somebody answers at this address."""

    def forget(self, address: object) -> None:
        """No peer is at this address any more: stop resolving its name."""
        self.stop_lookup(address)

    def lookup_error(self, address: object) -> str:  # noqa: ARG002 - where addresses are final
        """Why this address cannot be resolved; empty if it can."""
        return ""

    @abstractmethod
    def datagram_size(self, address: object) -> int:
        """The largest datagram that is known to get through to `address`."""

    @abstractmethod
    def send(self, datagrams: list[Datagram]) -> None:
        """Send these, in order; empties the list."""

    @abstractmethod
    def wake_at(self, time_ns: int) -> None:
        """Call `on_time` then; a later call replaces an earlier one."""

    @abstractmethod
    def close(self) -> None:
        """Send and call nothing more."""

    def leave_to_parent(self) -> None:  # noqa: B027 - where a process alone reads nothing
        """This process was forked: leave the sockets and timers of the parent alone."""

    async def wait_closed(self) -> None:  # noqa: B027 - where closing takes no time
        """Wait until what was sent before `close` is written, or cannot be."""


class StreamCarrier(Carrier):
    """What ways over connections have in common: TCP, and a broker."""

    now_ns = staticmethod(monotonic_ns)

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        mtu: int | str,
        local_only: bool,
        address: CarriedAddress,
    ) -> None:
        self._loop: Final = loop
        self._mtu: Final = mtu
        self._local_only: Final = local_only
        self._timer: Final = LoopTimer(loop, self._on_time)
        self._address = address
        self._receiver: CarrierListener | None = None
        self._closed = False

    @property
    def address(self) -> Address:
        return self._address

    def start(self, receiver: CarrierListener) -> None:
        self._receiver = receiver

    def datagram_size(self, address: object) -> int:  # noqa: ARG002 - by where this node is
        if isinstance(self._mtu, int):
            return self._mtu
        return NEAR_DATAGRAM if is_loopback(self._address.host) else FAR_DATAGRAM

    def wake_at(self, time_ns: int) -> None:
        self._timer.wake_at(time_ns)

    def _on_time(self) -> None:
        if self._receiver is not None and not self._closed:
            self._receiver.on_time(monotonic_ns())
