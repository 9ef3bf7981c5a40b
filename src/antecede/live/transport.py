"""What a node needs of the world: time, a way to send datagrams, and to be called.

`UdpTransport` is the usual one; TCP, a broker and the network in memory for tests are others.
"""

from abc import ABC, abstractmethod
from typing import Protocol

from antecede.link.writer import Datagram
from antecede.live.addresses import Address


class Receiver(Protocol):
    """What a transport calls."""

    def on_datagram(self, address: object, data: bytes, now_ns: int) -> None:
        """A datagram has come."""

    def on_joined(self, address: object, data: bytes, size: int, now_ns: int) -> None:
        """Several datagrams have come in one buffer, all of this size but perhaps the last."""

    def puts_aside(self) -> bool:
        """Whether what comes is only put aside now, to be read in turns."""

    def on_input_end(self, now_ns: int) -> None:
        """That was all for now."""

    def on_time(self, now_ns: int) -> None:
        """The time asked for with `wake_at` has come."""


class Transport(ABC):
    """The way out and in of one node."""

    unsendable = 0
    """Datagrams that could not be sent, for reasons that will not pass by waiting."""

    @property
    @abstractmethod
    def address(self) -> Address:
        """Where this node can be reached."""

    @property
    @abstractmethod
    def socket_bytes(self) -> int:
        """How many bytes may wait to be received before some are dropped."""

    @abstractmethod
    def start(self, receiver: Receiver) -> None:
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

    def seek(self, address: object) -> None:  # noqa: B027 - where addresses are final
        """Nobody answers at this address, which `resolve` gave: look where it leads to now."""

    def found(self, address: object) -> None:  # noqa: B027 - where addresses are final
        """Somebody answers at this address."""

    def trouble(self, address: object) -> str:  # noqa: ARG002 - where addresses are final
        """Why this address leads nowhere; empty if nothing is wrong with it."""
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

    async def gone(self) -> None:  # noqa: B027 - where closing takes no time
        """Wait until what was sent before `close` has left, or cannot."""
