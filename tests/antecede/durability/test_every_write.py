"""Nodes without sockets and disks in virtual time: a crash at every write of a journal.

What a turn of a node changes is one write, and nothing of the turn shows before it. At the write
that it is told to fail at the process crashes: the turn has never been. It comes back as the same
incarnation, from what was written before. The judge gets the merged log of all lives.
"""

from dataclasses import dataclass, field
from random import Random

import pytest

from antecede.core.process import NodeProcess
from antecede.core.records import split_records
from antecede.durability.recorder import JournalRecorder
from antecede.endpoint.endpoint import Endpoint
from antecede.endpoint.limits import Limits
from antecede.eventlog.log import DELIVERED, NULL, SUBMITTED, EventLog
from antecede.membership.identity import Identity
from antecede.network_model.faults import Faults
from antecede.network_model.latency import Uniform
from antecede.network_model.memory_network import MemoryNetwork
from antecede.transport.flow_control import MESSAGE_COST
from antecede_audit.judging.oracle import check_log
from antecede_lab.catalogue import find_protocol
from tests.antecede.endpoint.endpoints import MS, MTU, SECOND, SeededTokens

NAMES = ("ann", "bob", "cat")
BAD = Faults(latency=Uniform(MS, 20 * MS), loss=0.1, duplication=0.1)
AWAY_NS = 30 * MS
MESSAGES = 24
STEPS_MOST = 100_000


@dataclass
class Life:
    """One node, however often it crashes."""

    name: str
    recorder: JournalRecorder
    fails_at: list[int]
    records: list[bytes] = field(default_factory=list)
    endpoint: Endpoint | None = None
    processes: int = 0
    writes: int = 0
    back_ns: int = 0
    seen: set[tuple[str, int]] = field(default_factory=set)
    submitted: list[tuple[int, list[str]]] = field(default_factory=list)
    """In this turn: the numbers of messages, and their targets."""


class Cluster:
    """The nodes, the network, and the log of what was on disk."""

    def __init__(self, order: str, seed: int, fails_at: dict[str, list[int]]) -> None:
        self._order = order
        self._post = MemoryNetwork(BAD, seed)
        self._random = Random(seed)
        self.log = EventLog()
        self._rows = 0
        self.crashes = 0
        self.lives = {
            name: Life(name, JournalRecorder(name, order, 1), sorted(fails_at.get(name, ())))
            for name in NAMES
        }
        for life in self.lives.values():
            self._post.reserve(life.name)
            self._open(life)
        self._due = [SECOND + number * 10 * MS for number in range(MESSAGES)]

    def run(self) -> None:
        """Until everything is sent, delivered and known to be."""
        for _ in range(STEPS_MOST):
            if not self._due and all(self._is_idle(life) for life in self.lives.values()):
                return
            self._step()
        raise AssertionError("no end")

    def _is_idle(self, life: Life) -> bool:
        return life.endpoint is not None and life.endpoint.buffered() == 0

    def _open(self, life: Life) -> None:
        """A process begins, from what there is."""
        core = life.recorder.replay(life.records) if life.records else []
        life.processes += 1
        endpoint = life.endpoint = self._made(life)
        now_ns = int(self._post.now_ns)
        for number, other in enumerate(NAMES, 1):
            if other != life.name:
                endpoint.add_peer(other, other, number, MTU, now_ns)
        if life.records:
            endpoint.crash_recovery.resume(core, endpoint.sessions(), now_ns)
        life.records = endpoint.crash_recovery.snapshot()
        self._end_turn(life)

    def _made(self, life: Life) -> Endpoint:
        limits = Limits()
        info = find_protocol(self._order)
        core = info.create(
            0,
            range(1 << 16),
            receive_limit=int(limits.window) // MESSAGE_COST,
            payload_limit=1 << 16,
            patience_ns=200 * MS,
        )
        assert isinstance(core, NodeProcess)
        me = Identity(
            life.name,
            incarnation=1,
            process=1 + NAMES.index(life.name),
            window=int(limits.window),
            payload_limit=1 << 16,
            socket_bytes=1 << 22,
            order=self._order,
            has_journal=True,
        )
        tokens = SeededTokens((life.name, life.processes))
        return Endpoint(me, core, tokens, limits, None, True, None, life.recorder)

    def _step(self) -> None:
        """The next thing happens: an arrival, a timer, a message to send, or somebody is back."""
        wakes = [
            (life.back_ns if life.endpoint is None else int(life.endpoint.wake_ns()), life)
            for life in self.lives.values()
        ]
        wake_ns, life = min(wakes, key=lambda wake: wake[0])
        arrival_ns = int(self._post.next_arrival_ns())
        due_ns = self._due[0] if self._due else arrival_ns + wake_ns
        now_ns = self._post.now_ns = max(int(self._post.now_ns), min(wake_ns, arrival_ns, due_ns))
        if due_ns <= now_ns:
            self._submit(now_ns)
        elif arrival_ns <= now_ns:
            target, source, data = self._post.take_arrival()
            there = self.lives[target]
            if there.endpoint is not None:
                there.endpoint.receive(source, data, now_ns)
                self._end_turn(there)
        elif life.endpoint is None:
            life.recorder = JournalRecorder(life.name, self._order, 0)
            self._open(life)
        else:
            life.endpoint.expire(now_ns)
            self._end_turn(life)

    def _submit(self, now_ns: int) -> None:
        """Somebody writes to one or both others; who is not there does so later."""
        self._due.pop(0)
        life = self.lives[self._random.choice(NAMES)]
        others = [name for name in NAMES if name != life.name]
        targets = self._random.sample(others, self._random.choice((1, 1, 2)))
        if life.endpoint is None:
            self._due.append(now_ns + 2 * AWAY_NS)
            return
        contacts = [life.endpoint.directory.by_name[name] for name in targets]
        number = int(life.endpoint.sending.send(contacts, False, b"x", now_ns))
        life.submitted.append((number, targets))
        self._end_turn(life)

    def _end_turn(self, life: Life) -> None:
        """Write what has changed; then it shows, or the process has crashed."""
        endpoint = life.endpoint
        assert endpoint is not None
        endpoint.write(self._post.now_ns)
        submitted, life.submitted = life.submitted, []
        written = split_records(endpoint.crash_recovery.changes())
        assert written is not None
        if written:
            life.writes += 1
            if life.fails_at and life.writes >= life.fails_at[0]:
                life.fails_at.pop(0)
                self.crashes += 1
                life.endpoint = None
                life.back_ns = int(self._post.now_ns) + AWAY_NS
                return
            life.records += written
        endpoint.inbox.release_committed(endpoint.inbox.uncommitted())
        for number, targets in submitted:
            for target in targets:
                self._note(life.name, SUBMITTED, life.name, number, target)
        for message in endpoint.take_inbox():
            key = (message.sender, int(message.sequence))
            if not (message.again and key in life.seen):
                self._note(life.name, DELIVERED, message.sender, key[1], life.name)
            life.seen.add(key)
            message.done()
        for datagram in endpoint.out:
            self._post.carry(life.name, str(datagram.address), datagram.data)
        endpoint.out.clear()

    def _note(self, process: str, kind: int, sender: str, number: int, target: str) -> None:
        self._rows += 1
        ids = [NAMES.index(name) for name in (process, sender, target)]
        self.log.append(ids[0], kind, ids[1], number, ids[2], NULL, NULL, self._rows, 0, 0)


def judged(order: str, seed: int, fails_at: dict[str, list[int]]) -> Cluster:
    """A run, of which nothing is lost, doubled or out of order."""
    cluster = Cluster(order, seed, fails_at)
    cluster.run()
    verdict = check_log(cluster.log, witnesses=False)
    assert verdict.ok, (order, seed, fails_at, verdict.findings[:3])
    return cluster


@pytest.mark.parametrize("order", ["hybrid", "hybrid-sps"])
def test_a_crash_at_every_write_of_one_node(order: str) -> None:
    writes = judged(order, 1, {}).lives["bob"].writes
    assert writes > 20
    crashes = sum(judged(order, 1, {"bob": [at]}).crashes for at in range(1, writes))
    assert crashes >= writes // 2


@pytest.mark.parametrize("order", ["hybrid", "hybrid-sps"])
def test_crashes_at_writes_of_all_nodes(order: str) -> None:
    for seed in range(20):
        random = Random(seed)
        fails_at = {name: random.sample(range(1, 60), 4) for name in NAMES}
        assert judged(order, seed, fails_at).crashes > 0
