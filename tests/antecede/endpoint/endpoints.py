"""Nodes without sockets for tests: built by name, and driven in memory or by hand.

`Group` lets time pass on a `MemoryNetwork`, with consumers that take what is delivered. `Post`
leaves every datagram in the hands of the test, which may lose, delay, repeat or forge it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from antecede.core.process import NodeProcess
from antecede.core.retransmission import PATIENCE_NS
from antecede.durability.recorder import Recorder
from antecede.durability.unconfirmed import InboundMessage
from antecede.endpoint.endpoint import Endpoint
from antecede.endpoint.limits import Limits
from antecede.eventlog.log import EventLog
from antecede.events import Report
from antecede.membership.handshake_crypto import HandshakeCrypto
from antecede.membership.identity import Identity, TokenSource
from antecede.network_model.faults import Faults
from antecede.network_model.memory_network import Bottleneck, MemoryNetwork
from antecede.transport.event_rows import EventRows
from antecede.transport.flow_control import MESSAGE_COST
from antecede.transport.session import Session
from antecede_audit.judging.oracle import check_log
from antecede_lab.catalogue import find_protocol

MS = 1_000_000
SECOND = 1_000 * MS
MTU = 1_400

ANN, BOB, CAT, DAN, EVE, FAY = NAMES = ("ann", "bob", "cat", "dan", "eve", "fay")


def process_of(name: str) -> int:
    """A node's id in the event log."""
    return 1 + NAMES.index(name)


def address_of(name: str) -> str:
    """Where a node is found unless a test says otherwise."""
    return f"at {name}"


class SeededTokens(TokenSource):
    """Tokens that are the same in every run."""

    def __init__(self, seed: object) -> None:
        self._random = Random(repr(seed))

    def fresh(self) -> int:
        return self._random.randrange(1, 1 << 62)


def make_endpoint(
    name: str,
    *,
    incarnation: int = 1,
    limits: Limits | None = None,
    log: EventLog | None = None,
    payload_limit: int = 1 << 26,
    socket_bytes: int = 1 << 22,
    order: str = "hybrid",
    patience_ns: int = PATIENCE_NS,
    guard: HandshakeCrypto | None = None,
) -> Endpoint:
    """A node that knows nobody yet."""
    limits = Limits() if limits is None else limits
    tokens = SeededTokens((name, incarnation))
    me = Identity(
        name,
        incarnation=incarnation,
        process=process_of(name),
        window=int(limits.window),
        payload_limit=payload_limit,
        socket_bytes=socket_bytes,
        order=order,
    )
    info = find_protocol(order)
    core = info.create(
        0,
        range(1 << 31),
        # Whatever the credit lets through must find room.
        receive_limit=max(1, int(limits.window) // MESSAGE_COST),
        payload_limit=1 << 16,
        patience_ns=patience_ns,
    )
    assert isinstance(core, NodeProcess)
    rows = None if log is None else EventRows(log, process_of(name))
    return Endpoint(me, core, tokens, limits, rows, order != "none", guard, Recorder())


def introduce(endpoint: Endpoint, name: str, now_ns: int, *, mtu: int = MTU) -> None:
    """Tell a node where another one is."""
    endpoint.add_peer(name, address_of(name), process_of(name), mtu, now_ns)


def session_of(endpoint: Endpoint, name: str) -> Session:
    """The session with a peer that is known."""
    session = endpoint.session_of(name)
    assert session is not None, f"{name} is not known"
    return session


def submit(endpoint: Endpoint, targets: Sequence[str], payload: bytes, now_ns: int) -> int:
    """Send to peers by name; one's own name stands for oneself."""
    by_name = endpoint.directory.by_name
    contacts = [by_name[name] for name in targets if name in by_name]
    return int(endpoint.sending.send(contacts, len(contacts) < len(targets), payload, now_ns))


Consumer = Callable[[str, InboundMessage], None]


class Group:
    """Nodes that all know each other, on a network in memory, their events in one log."""

    def __init__(
        self,
        names: Sequence[str],
        faults: Faults | None = None,
        *,
        seed: int = 1,
        bottleneck: Bottleneck | None = None,
        limits: Limits | None = None,
        mtu: int = MTU,
        log: bool = True,
        order: str = "hybrid",
        patience_ns: int = PATIENCE_NS,
        guards: Mapping[str, HandshakeCrypto] | None = None,
    ) -> None:
        self.network = MemoryNetwork(faults, seed, bottleneck)
        self.log = EventLog() if log else None
        self.nodes: dict[str, Endpoint] = {}
        self.got: dict[str, list[InboundMessage]] = {}
        self.on_message: Consumer | None = None
        # Nodes whose applications take nothing for the time being.
        self.asleep: set[str] = set()
        for name in names:
            node = make_endpoint(
                name,
                limits=limits,
                log=self.log,
                order=order,
                patience_ns=patience_ns,
                guard=None if guards is None else guards[name],
            )
            self.add(name, node)
        for name in names:
            for other in names:
                if other != name:
                    introduce(self.nodes[name], other, self.now_ns, mtu=mtu)

    @property
    def now_ns(self) -> int:
        return int(self.network.now_ns)

    def add(self, name: str, endpoint: Endpoint) -> None:
        """Put a node on the network, in place of an earlier one of that name."""
        self.nodes[name] = endpoint
        self.got.setdefault(name, [])
        self.network.attach(address_of(name), endpoint)

    def kill(self, name: str) -> None:
        """A node stops without a word."""
        del self.nodes[name]
        self.network.detach(address_of(name))

    def send(self, source: str, targets: Sequence[str], payload: bytes) -> int:
        """Send, whether there is room or not."""
        sequence = submit(self.nodes[source], targets, payload, self.now_ns)
        self.network.collect(address_of(source))
        self.consume()
        return sequence

    def consume(self) -> None:
        """Let every application that is awake take what was delivered."""
        for name, node in list(self.nodes.items()):
            if name not in self.asleep and node.inbox.messages:
                for message in node.take_inbox():
                    self.got[name].append(message)
                    if self.on_message is not None:
                        self.on_message(name, message)
                self.network.collect(address_of(name))

    def step(self) -> bool:
        """Let the next thing happen."""
        moved = self.network.step()
        self.consume()
        return moved

    def run_for(self, duration_ns: int) -> int:
        """Let time pass; how many steps that took."""
        end_ns = self.now_ns + duration_ns
        steps = 0
        while self.network.next_ns() <= end_ns:
            self.step()
            steps += 1
        self.network.now_ns = end_ns
        return steps

    def run_until(self, reached: Callable[[], bool], within_ns: int = 600 * SECOND) -> None:
        """Let time pass until something is so; fail if it never is."""
        end_ns = self.now_ns + within_ns
        while not reached():
            assert self.network.next_ns() <= end_ns, self.state()
            self.step()

    def drained(self) -> bool:
        """Whether everything sent has been delivered, as far as its senders know."""
        return all(
            node.buffered() == 0 and node.sending.large_is_done() for node in self.nodes.values()
        )

    def payloads(self, name: str) -> list[bytes]:
        """What a node's application has got."""
        return [message.payload for message in self.got[name]]

    def reports(self, name: str) -> list[Report]:
        """What a node has to report since it was last asked."""
        reports = list(self.nodes[name].reports)
        self.nodes[name].reports.clear()
        return reports

    def datagrams_sent(self) -> int:
        """By all nodes together."""
        return sum(int(s.datagrams_out) for node in self.nodes.values() for s in node.sessions())

    def assert_all_is_well(self) -> None:
        """Everything delivered exactly once, in causal order, and nothing kept anywhere."""
        assert self.log is not None
        verdict = check_log(self.log, witnesses=False)
        assert verdict.ok, verdict.findings[:5]
        for name, node in self.nodes.items():
            assert node.buffered() == 0, name
            assert node.held_back() == [], name
            assert node.malformed == 0, (name, node.last_malformed)
            assert node.sending.bytes_held == 0, name
            assert not node.sending._own_fragments.more, name
            for session in node.sessions():
                assert node.expected(session)[1] == 0, (name, session.name)
                assert session.channel.send_queue.queued() == 0, (name, session.name)
                assert session.payload_assembler.is_empty(), (name, session.name)

    def state(self) -> str:
        """Where everything stands, for a test that fails."""
        lines = [
            f"{name}>{session.name}: met={session.met} "
            f"queued={session.channel.send_queue.queued()} "
            f"credit={session.channel.flow_control.spent}/{session.channel.flow_control.limit} "
            f"flight={session.channel.path.in_flight.eliciting} expected={node.expected(session)}"
            for name, node in self.nodes.items()
            for session in node.sessions()
        ]
        return "\n".join([f"after {self.now_ns} ns", *lines])


@dataclass(frozen=True)
class Letter:
    """A datagram under way."""

    source: str
    target: str
    data: bytes


@dataclass
class Post:
    """Nodes whose datagrams wait here until the test delivers them."""

    now_ns: int = SECOND
    nodes: dict[str, Endpoint] = field(default_factory=dict)
    waiting: list[Letter] = field(default_factory=list)
    carried: list[Letter] = field(default_factory=list)

    def add(self, name: str, endpoint: Endpoint | None = None, address: str = "") -> Endpoint:
        """Put a node at its address, or at another one."""
        endpoint = make_endpoint(name) if endpoint is None else endpoint
        self.nodes[address or address_of(name)] = endpoint
        return endpoint

    def collect(self) -> list[Letter]:
        """What the nodes have to send, which now waits here too."""
        written = []
        for address, node in self.nodes.items():
            node.write(self.now_ns)
            for datagram in node.out:
                written.append(Letter(address, str(datagram.address), datagram.data))
            node.out.clear()
        self.waiting += written
        return written

    def deliver(self, letter: Letter, *, after_ns: int = 0) -> None:
        """Let a datagram arrive, whether it waited here or not."""
        self.now_ns += after_ns
        self.carried.append(letter)
        node = self.nodes.get(letter.target)
        if node is not None:
            node.receive(letter.source, letter.data, self.now_ns)

    def carry(self, *, lose: Callable[[Letter], bool] | None = None) -> None:
        """Deliver what waits, and what that leads to, until nothing moves at this time."""
        self.collect()
        while self.waiting:
            batch = self.waiting
            self.waiting = []
            for letter in batch:
                if lose is None or not lose(letter):
                    self.deliver(letter, after_ns=MS)
            self.collect()

    def pass_time(self, duration_ns: int, *, lose: Callable[[Letter], bool] | None = None) -> None:
        """Let timers ring, and carry what they lead to."""
        end_ns = self.now_ns + duration_ns
        self.carry(lose=lose)
        while (next_ns := min(int(node.wake_ns()) for node in self.nodes.values())) <= end_ns:
            self.now_ns = max(self.now_ns, next_ns)
            for node in list(self.nodes.values()):
                node.expire(self.now_ns)
            self.carry(lose=lose)
        self.now_ns = max(self.now_ns, end_ns)


def pair(first: str = ANN, second: str = BOB) -> tuple[Post, Endpoint, Endpoint]:
    """Two nodes that know each other's addresses and have not met."""
    post = Post()
    one, other = post.add(first), post.add(second)
    introduce(one, second, post.now_ns)
    introduce(other, first, post.now_ns)
    return post, one, other


def met_pair() -> tuple[Post, Endpoint, Endpoint]:
    """Two nodes that have met, and have nothing to say."""
    post, one, other = pair()
    post.pass_time(200 * MS)
    assert session_of(one, BOB).met
    assert session_of(other, ANN).met
    one.reports.clear()
    other.reports.clear()
    return post, one, other
