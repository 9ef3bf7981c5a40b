"""A network in memory for an application's own tests: the same nodes, no sockets, no waiting.

Time is the network's own: while anything is under way it jumps from one event to the next, and
while nothing is, it stands still. So a test that takes seconds of network time takes milliseconds,
and a run with the same seed, faults and application meets the same network again.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from time import time_ns
from typing import Final, Self, Unpack

from antecede.core.process import NEVER_NS
from antecede.durability.disk import Disk
from antecede.endpoint.endpoint import Endpoint
from antecede.membership.identity import TokenSource
from antecede.network_model.faults import Faults
from antecede.network_model.memory_network import MemoryNetwork
from antecede.runtime.carriers.carrier import Carrier, CarrierListener
from antecede.runtime.config.addresses import Address
from antecede.runtime.config.options import Options
from antecede.runtime.config.settings import PathLike, PeersLike, Settings, gather_settings
from antecede.runtime.errors import CannotBind, Stranded, TimedOut
from antecede.runtime.listeners import Listener
from antecede.runtime.node import Node
from antecede.runtime.opening import NodeOpening, given_settings, start_node
from antecede.transport.datagram import Datagram

DATAGRAM_SIZE: Final = 1400
SOCKET_BYTES: Final = 4 << 20
SETTLE_SECONDS: Final = 30.0
AFTERMATH_NS: Final = 10_000_000_000
"""10 s after the last delivery its acknowledgements and permits have come through."""


class CountedTokens(TokenSource):
    """Tokens that are the same in every run; lives are counted, too, unless there is a clock."""

    def __init__(self, clock: Callable[[], int] | None = None) -> None:
        self._last = 0
        self.clock = clock

    def fresh(self) -> int:
        self._last += 1
        return self._last

    def incarnation(self) -> int:
        return self.fresh() if self.clock is None else self.clock() // 1_000


class MemoryCarrier(Carrier):
    """One node's way into the network in memory."""

    def __init__(self, network: "TestNetwork", name: str, mtu: int | str) -> None:
        self._network = network
        self._name = name
        self._size = mtu if isinstance(mtu, int) else DATAGRAM_SIZE
        self.receiver: CarrierListener | None = None
        self.wake_ns: int = NEVER_NS

    @property
    def address(self) -> Address:
        return Address(self._name, 0)

    @property
    def socket_bytes(self) -> int:
        return SOCKET_BYTES

    def start(self, receiver: CarrierListener) -> None:
        self.receiver = receiver

    def now_ns(self) -> int:
        return int(self._network.now_ns)

    def resolve(self, address: object) -> object:
        return address.host if isinstance(address, Address) else address

    def datagram_size(self, address: object) -> int:  # noqa: ARG002 - the same to everybody
        return self._size

    def send(self, datagrams: list[Datagram]) -> None:
        for datagram in datagrams:
            self._network.carry(self._name, str(datagram.address), datagram.data)
        datagrams.clear()

    def wake_at(self, time_ns: int) -> None:
        self.wake_ns = time_ns
        self._network.go_on()

    def close(self) -> None:
        self.receiver = None
        self.wake_ns = NEVER_NS


class MemoryOpening(NodeOpening):
    """A node about to be opened on a network in memory."""

    def __init__(
        self, network: "TestNetwork", settings: Settings, on_event: Listener | None
    ) -> None:
        super().__init__(settings, on_event)
        self._network = network

    async def _open(self) -> Node:
        return self._network.start_node(self._settings, self._on_event)


class TestNetwork:
    """Nodes that know each other by name; faults are those of the simulator."""

    __test__ = False  # not a test case, whatever pytest thinks of its name

    def __init__(self, faults: Faults | None = None, *, seed: int = 1) -> None:
        self._post: Final = MemoryNetwork(faults, seed)
        self._tokens: Final = CountedTokens()
        self._transports: dict[str, MemoryCarrier] = {}
        self._nodes: dict[str, Node] = {}
        self._cut: set[frozenset[str]] = set()
        self._stepping = False
        self._awake_until_ns = 0
        self.clock: Callable[[], int] | None = None
        """What nodes that are opened from now on take for the time of day, in nanoseconds; None:
        the real one for keys, and lives are counted."""
        self.finds_no_peers: Final[set[str]] = set()
        """Nodes that do not know where anybody is: peers have to say hello first."""
        self.disks: Final[dict[str, Disk]] = {}
        """What nodes with a journal write to, by name, where that is not a real folder."""

    @property
    def now_ns(self) -> int:
        """The network's time."""
        return int(self._post.now_ns)

    def open_node(
        self,
        name: str,
        *,
        peers: PeersLike = (),
        trace: PathLike | None = None,
        on_event: Listener | None = None,
        settings: Mapping[str, object] | None = None,
        **options: Unpack[Options],
    ) -> NodeOpening:
        """A node that knows all others of this network, and that they know.

        To be used as `antecede.open_node` is. Further `peers` may be named, such as one that is
        opened later; what is said about their addresses has no meaning here.
        """
        given = given_settings(name, None, peers, trace, {**(settings or {}), **options})
        chosen = gather_settings(given, environment={})
        return MemoryOpening(self, chosen, on_event)

    def start_node(self, settings: Settings, on_event: Listener | None) -> Node:
        """Open a node with these settings, in the running loop."""
        name = settings.name
        if name in self._nodes and not self._nodes[name].closed:
            raise CannotBind(name, "a node of that name is open")
        # Partitions and slow links number the nodes in the order in which they are opened.
        self._post.reserve(name)
        carrier = MemoryCarrier(self, name, settings.mtu)
        self._transports[name] = carrier
        here = [other for other, peer in self._nodes.items() if not peer.closed and other != name]
        known = {other: self._address(name, other) for other in [*here, *settings.peers]}
        disk = self._disk_of(settings)
        self._tokens.clock = self.clock
        chosen = replace(settings, peers=known)
        clock = self.clock or time_ns
        node = start_node(chosen, carrier, self._tokens, on_event, disk, clock)
        for other in here:
            if name not in self._nodes[other].peers:
                self._nodes[other].add_peer(name, Address(name, 0))
        self._nodes[name] = node
        return node

    def _address(self, name: str, other: str) -> Address | None:
        """Where one node finds another."""
        return None if name in self.finds_no_peers else Address(other, 0)

    def _disk_of(self, settings: Settings) -> Disk | None:
        """Where a journal is; written without a thread, so that a run can be repeated."""
        if settings.journal is None:
            return None
        return self.disks.get(settings.name) or Disk(settings.journal)

    def kill(self, name: str) -> None:
        """Let a node vanish as a killed process does: it says nothing more to anybody."""
        self._transports[name].close()
        self._nodes[name].abandon()

    def cut(self, one: str, other: str) -> None:
        """Let nothing pass between two nodes."""
        self._cut.add(frozenset((one, other)))

    def heal(self, one: str, other: str) -> None:
        """Let datagrams pass between two nodes again."""
        self._cut.discard(frozenset((one, other)))

    async def settle(self, timeout: float = SETTLE_SECONDS) -> None:
        """Wait until everything sent is delivered and nothing is on its way; `TimedOut` if not.

        Among many nodes a heartbeat is always on its way: some time after the last delivery (of the
        network's own) that is no reason to wait.
        """
        deadline = asyncio.get_running_loop().time() + timeout
        settled_at_ns = self.now_ns + AFTERMATH_NS
        while self._is_busy() and self.now_ns < settled_at_ns:
            if any(
                not node.closed and has_undelivered(node._endpoint) for node in self._nodes.values()
            ):
                settled_at_ns = self.now_ns + AFTERMATH_NS
            if asyncio.get_running_loop().time() > deadline:
                waiting = "\n".join(f"{name}: {n.explain()}" for name, n in self._nodes.items())
                raise TimedOut("settle", timeout, waiting)
            self.go_on()
            await asyncio.sleep(0)

    async def pass_time(self, seconds: float) -> None:
        """Let so much of the network's time pass, also while nothing is under way."""
        self._awake_until_ns = self.now_ns + round(seconds * 1e9)
        while self.now_ns < self._awake_until_ns:
            self.go_on()
            await asyncio.sleep(0)

    async def close(self) -> None:
        """Close all nodes, at the same time; each lingers by the network's time, too."""
        nodes = [node for node in self._nodes.values() if not node.closed]
        begun_ns = self.now_ns
        closing = [asyncio.get_running_loop().create_task(node.close()) for node in nodes]
        while not all(task.done() for task in closing):
            await asyncio.sleep(0)
            for node in nodes:
                if not node.closed and self.now_ns - begun_ns > node.settings.linger_ns:
                    node.abandon()
        for result in await asyncio.gather(*closing, return_exceptions=True):
            if isinstance(result, BaseException) and not isinstance(result, Stranded):
                raise result

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def nodes(self) -> Mapping[str, Node]:
        """The nodes opened so far, by name."""
        return self._nodes

    def carry(self, source: str, target: str, data: bytes) -> None:
        """Take a datagram onto the network."""
        if frozenset((source, target)) not in self._cut:
            self._post.carry(source, target, data)
        self.go_on()

    def go_on(self) -> None:
        """Something may be under way: let time pass."""
        if not self._stepping:
            self._stepping = True
            asyncio.get_running_loop().call_soon(self._step)

    def _step(self) -> None:
        """Let the next thing happen, then let the application react to it."""
        self._stepping = False
        if not self._is_busy():
            return
        name, wake_ns = self._next_timer()
        arrival_ns = self._post.next_arrival_ns()
        if wake_ns == NEVER_NS and arrival_ns == NEVER_NS:
            self._post.advance_to(self._awake_until_ns)
            return
        self._post.advance_to(min(wake_ns, arrival_ns))
        if arrival_ns <= wake_ns:
            target, source, data = self._post.take_arrival()
            carrier = self._transports.get(target)
            receiver = None if carrier is None else carrier.receiver
            if receiver is not None:
                receiver.on_datagram(source, data, self.now_ns)
                receiver.on_input_end(self.now_ns)
        else:
            self._ring(self._transports[name])
        self.go_on()

    def _ring(self, carrier: MemoryCarrier) -> None:
        carrier.wake_ns = NEVER_NS
        if carrier.receiver is not None:
            carrier.receiver.on_time(self.now_ns)

    def _next_timer(self) -> tuple[str, int]:
        soonest = ("", int(NEVER_NS))
        for name, carrier in self._transports.items():
            if carrier.wake_ns < soonest[1]:
                soonest = (name, carrier.wake_ns)
        return soonest

    def _is_busy(self) -> bool:
        """Whether anything happens that is worth letting time pass for."""
        if self._post.next_arrival_ns() < NEVER_NS or self.now_ns < self._awake_until_ns:
            return True
        return any(not node.closed and is_busy(node._endpoint) for node in self._nodes.values())


def is_busy(endpoint: Endpoint) -> bool:
    """Whether anything is under way: something undelivered, unanswered, or a peer not met."""
    sessions = endpoint.sessions()
    return has_undelivered(endpoint) or any(
        s.channel.path.in_flight.eliciting > 0 for s in sessions
    )


def has_undelivered(endpoint: Endpoint) -> bool:
    """Whether something sent has not been delivered everywhere, or a peer not been met."""
    if endpoint.buffered() > 0 or not endpoint.sending.large_is_done():
        return True
    return any(
        not (contact.expelled or contact.session.met or contact.session.ended)
        for contact in endpoint.directory.by_name.values()
    )
