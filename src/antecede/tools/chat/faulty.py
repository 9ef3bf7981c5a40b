"""A transport on which the network is as bad as one likes: what leaves is lost, late, or doubled.

Real sockets on one machine lose and reorder nothing, so this stands between the node and its
socket, and has the same faults as the simulator.
"""

import asyncio
from typing import Final

from antecede.link.faults import Faults, FaultyNetwork
from antecede.link.writer import Datagram
from antecede.live.addresses import Address
from antecede.live.udp import UdpTransport

ME: Final = 0


class FaultyTransport(UdpTransport):
    """A socket, apart from what the faults do to what leaves."""

    def __init__(
        self,
        bind: Address,
        mtu: int | str,
        loop: asyncio.AbstractEventLoop,
        gso: str = "auto",
        *,
        faults: Faults,
        seed: int,
    ) -> None:
        super().__init__(bind, mtu, loop, gso)
        self._network = FaultyNetwork(faults, seed)
        self._places: dict[object, int] = {}
        self._count = 0
        self._under_way = 0
        self._closing = False
        self._empty = asyncio.Event()

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
        super().send([datagram])
        self._close_if_empty()

    def _close_if_empty(self) -> None:
        if self._closing and self._under_way == 0:
            super().close()
            self._empty.set()
