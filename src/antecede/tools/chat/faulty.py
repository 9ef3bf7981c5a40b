"""A transport on which the network is as bad as one likes: what leaves is lost, late, or doubled.

Real sockets on one machine lose and reorder nothing, so this stands between the node and its
socket, and has the same faults as the simulator.
"""

import asyncio
from typing import Final

from antecede.link.faults import Faults, FaultyNetwork
from antecede.link.writer import Datagram
from antecede.live.addresses import Address
from antecede.live.transport import Receiver, Transport

ME: Final = 0


class FaultyTransport(Transport):
    """Passes on what another transport does, apart from what the faults do to what leaves."""

    def __init__(self, inner: Transport, faults: Faults, seed: int) -> None:
        self._inner = inner
        self._network = FaultyNetwork(faults, seed)
        self._loop = asyncio.get_running_loop()
        self._places: dict[object, int] = {}
        self._count = 0
        self._under_way = 0
        self._closing = False
        self._empty = asyncio.Event()

    @property
    def address(self) -> Address:
        return self._inner.address

    @property
    def socket_bytes(self) -> int:
        return self._inner.socket_bytes

    def start(self, receiver: Receiver) -> None:
        self._inner.start(receiver)

    def now_ns(self) -> int:
        return self._inner.now_ns()

    def resolve(self, address: object) -> object:
        return self._inner.resolve(address)

    def seek(self, address: object) -> None:
        self._inner.seek(address)

    def found(self, address: object) -> None:
        self._inner.found(address)

    def trouble(self, address: object) -> str:
        return self._inner.trouble(address)

    def datagram_size(self, address: object) -> int:
        return self._inner.datagram_size(address)

    def wake_at(self, time_ns: int) -> None:
        self._inner.wake_at(time_ns)

    def send(self, datagrams: list[Datagram]) -> None:
        now_ns = self.now_ns()
        for datagram in datagrams:
            place = self._places.setdefault(datagram.address, len(self._places) + 1)
            self._count += 1
            self._network.route(ME, place, 0, self._count, now_ns)
            for arrival_ns in (int(self._network.first_ns), int(self._network.second_ns)):
                if arrival_ns >= 0:
                    self._under_way += 1
                    self._loop.call_later((arrival_ns - now_ns) / 1e9, self._pass_on, datagram)
        datagrams.clear()

    def close(self) -> None:
        """Send nothing more; what is under way still arrives, so wait for `gone`."""
        self._closing = True
        self._close_if_empty()

    async def gone(self) -> None:
        """Until a closed transport has nothing under way any more."""
        await self._empty.wait()

    def _pass_on(self, datagram: Datagram) -> None:
        self._under_way -= 1
        self._inner.send([datagram])
        self._close_if_empty()

    def _close_if_empty(self) -> None:
        if self._closing and self._under_way == 0:
            self._inner.close()
            self._empty.set()
