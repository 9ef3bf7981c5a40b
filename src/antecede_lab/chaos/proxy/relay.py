"""The proxy's sockets: a port for every ordered pair of nodes, and one loop that passes things on.

What `alice` sends to `bob` goes to the port "alice to bob" and leaves from the port "bob to alice",
which is where `bob` believes `alice` to be. So neither needs to know of the proxy, and answers take
the same way back.

One thread and one epoll. Sockets are drained, datagrams are copied only if they must wait, and
those that wait are in a heap by the time they are due; epoll counts in milliseconds, so they may be
that much late.
"""

import select
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from heapq import heappop, heappush
from typing import Final, TypeAlias, final

from antecede.core.errors import LocalError
from antecede_lab.chaos.proxy.conditions import NS, Conditions, Counters, DatagramFate, DirectedLink

Address: TypeAlias = tuple[str, int]

DATAGRAM_BYTES_MAX: Final = 1 << 16
DRAIN_MAX: Final = 64
"""Datagrams taken from one socket before the others have their turn."""

SOCKET_BUFFER_BYTES: Final = 8 << 20
HELD_BYTES_MAX: Final = 1 << 30
"""What may wait for its time in all; beyond it datagrams are dropped, and counted."""

SO_RCVBUFFORCE: Final = 33
SO_SNDBUFFORCE: Final = 32
"""Linux: like SO_RCVBUF and SO_SNDBUF, beyond the system's limit for those who may."""


@final
class RelayNode:
    """A node: its name, and where it really is (None: not yet known)."""

    __slots__ = ("address", "name")

    def __init__(self, name: str, address: Address | None) -> None:
        self.name: Final = name
        self.address = address


@final
class RelayLink:
    """An ordered pair of nodes: the sockets at which `source` believes `target` to be."""

    __slots__ = ("back", "road", "sockets", "source", "target")

    def __init__(
        self, source: RelayNode, target: RelayNode, road: DirectedLink, inlet: socket.socket
    ) -> None:
        self.source: Final = source
        self.target: Final = target
        self.road: Final = road
        self.sockets: Final = [inlet]
        self.back: RelayLink = self
        """The other direction, out of whose last socket this one's datagrams leave."""

    @property
    def address(self) -> Address:
        """The address of `target`, as `source` has to know it."""
        host, port = self.sockets[0].getsockname()
        return str(host), int(port)


@final
class Relay:
    """All links between some nodes, and the datagrams that wait on them."""

    def __init__(
        self,
        nodes: Mapping[str, Address | None],
        conditions: Conditions | None = None,
        *,
        seed: int = 1,
        host: str = "127.0.0.1",
    ) -> None:
        if len(nodes) < 2:
            raise LocalError("a proxy stands between at least two nodes")
        self.fates: Final = DatagramFate(conditions or Conditions(), seed)
        self._host: Final = host
        self._epoll: Final = select.epoll()
        self._nodes: Final = [RelayNode(name, address) for name, address in nodes.items()]
        self._links: Final[dict[tuple[str, str], RelayLink]] = {}
        self._by_descriptor: Final[dict[int, tuple[socket.socket, RelayLink]]] = {}
        self._buffer: Final = bytearray(DATAGRAM_BYTES_MAX)
        self._held: Final[list[tuple[int, int, RelayLink, bytes]]] = []
        self._held_bytes = 0
        self._serial = 0
        for i, source in enumerate(self._nodes):
            for j, target in enumerate(self._nodes):
                if i != j:
                    link = RelayLink(source, target, DirectedLink(i, j), self._open())
                    self._links[source.name, target.name] = link
                    self._watch(link)
        for (source_name, target_name), link in self._links.items():
            link.back = self._links[target_name, source_name]

    def addresses(self) -> dict[str, dict[str, Address]]:
        """Per node, where it has to believe each of the others to be."""
        answer: dict[str, dict[str, Address]] = {node.name: {} for node in self._nodes}
        for (source, target), link in self._links.items():
            answer[source][target] = link.address
        return answer

    def counters(self) -> dict[str, dict[str, Counters]]:
        """What happened so far, per source and target."""
        answer: dict[str, dict[str, Counters]] = {node.name: {} for node in self._nodes}
        for (source, target), link in self._links.items():
            answer[source][target] = link.road.counters
        return answer

    def cut(self, first: str, second: str, *, cut: bool = True) -> None:
        """Let nothing pass between two nodes, in either direction; or again everything."""
        for pair in ((first, second), (second, first)):
            self._link(*pair).road.set_cut(cut)

    def isolate(self, island: list[str]) -> None:
        """Let nothing pass between these nodes and all the others."""
        for name in island:
            self._node(name)
        for (source, target), link in self._links.items():
            if (source in island) != (target in island):
                link.road.set_cut(True)

    def heal(self) -> None:
        """Let everything pass again."""
        for link in self._links.values():
            link.road.set_cut(False)

    def rebind(self, source: str, target: str) -> None:
        """What `source` sends to `target` comes from another port, as after a change of address."""
        link = self._link(target, source)
        link.sockets.append(self._open())
        self._watch(link)

    def place(self, name: str, address: Address) -> None:
        """Say where a node really is; it is also learnt from whatever the node sends."""
        self._node(name).address = address

    def watch(self, descriptor: int) -> None:
        """Let `step` end also when this file descriptor can be read."""
        self._epoll.register(descriptor, select.EPOLLIN)

    def step(self, timeout_s: float) -> list[int]:
        """Pass on what comes in, and what is due; the other descriptors that can be read."""
        others = []
        for descriptor, _ in self._epoll.poll(self._patience_s(timeout_s)):
            entry = self._by_descriptor.get(descriptor)
            if entry is None:
                others.append(descriptor)
            else:
                self._drain(*entry)
            if self._held:
                self._release()
        if self._held:
            self._release()
        return others

    def close(self) -> None:
        """Give all ports back; what still waits is gone."""
        for inlet, _ in self._by_descriptor.values():
            inlet.close()
        self._by_descriptor.clear()
        self._epoll.close()

    def _patience_s(self, timeout_s: float) -> float:
        if not self._held:
            return timeout_s
        due_s = (self._held[0][0] - time.monotonic_ns()) / NS
        return min(timeout_s, max(0.0, due_s))

    def _drain(self, inlet: socket.socket, link: RelayLink) -> None:
        buffer = self._buffer
        view = memoryview(buffer)
        source = link.source
        arrivals = self.fates.arrivals
        for _ in range(DRAIN_MAX):
            try:
                size, address = inlet.recvfrom_into(buffer)
            except BlockingIOError:
                return
            except OSError:
                continue  # An earlier datagram met a closed port: nothing to do with this one.
            if address != source.address:
                source.address = address
            now_ns = time.monotonic_ns()
            for due_ns in arrivals(link.road, size, now_ns):
                if due_ns <= now_ns:
                    self._forward(link, view[:size])
                else:
                    self._hold(link, due_ns, bytes(view[:size]))

    def _forward(self, link: RelayLink, datagram: memoryview | bytes) -> None:
        counters = link.road.counters
        address = link.target.address
        if address is None:
            counters.on_nowhere()
            return
        try:
            link.back.sockets[-1].sendto(datagram, address)
        except OSError:
            counters.on_refused()
            return
        counters.on_forwarded(len(datagram))

    def _hold(self, link: RelayLink, due_ns: int, datagram: bytes) -> None:
        if self._held_bytes + len(datagram) > HELD_BYTES_MAX:
            link.road.counters.on_overflow()
            return
        self._serial += 1
        self._held_bytes += len(datagram)
        heappush(self._held, (due_ns, self._serial, link, datagram))

    def _release(self) -> None:
        """Forward what is due; those due at one time leave in the order in which they came."""
        held = self._held
        now_ns = time.monotonic_ns()
        while held and held[0][0] <= now_ns:
            _, _, link, datagram = heappop(held)
            self._held_bytes -= len(datagram)
            self._forward(link, datagram)

    def _open(self) -> socket.socket:
        inlet = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        inlet.setblocking(False)
        for option in (socket.SO_RCVBUF, SO_RCVBUFFORCE, socket.SO_SNDBUF, SO_SNDBUFFORCE):
            with suppress(OSError):  # Forcing needs a privilege; the plain one is cut off silently.
                inlet.setsockopt(socket.SOL_SOCKET, option, SOCKET_BUFFER_BYTES)
        inlet.bind((self._host, 0))
        return inlet

    def _watch(self, link: RelayLink) -> None:
        inlet = link.sockets[-1]
        self._by_descriptor[inlet.fileno()] = (inlet, link)
        self._epoll.register(inlet, select.EPOLLIN)

    def _node(self, name: str) -> RelayNode:
        for node in self._nodes:
            if node.name == name:
                return node
        known = ", ".join(node.name for node in self._nodes)
        raise LocalError(f"the proxy knows no node {name!r}; it knows {known}")

    def _link(self, source: str, target: str) -> RelayLink:
        self._node(source)
        self._node(target)
        if source == target:
            raise LocalError(f"there is no link from {source} to itself")
        return self._links[source, target]
