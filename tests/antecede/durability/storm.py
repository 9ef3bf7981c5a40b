"""Real processes with journals that are killed again and again, and a judge of what they did.

`python -m tests.antecede.durability.storm PLAN` (or `--seed 1`: a hundred kills) imports everything
once and then forks: a life costs milliseconds. Every worker sends to all others and counts what it
has sent and handled, per sender, in its journal; the counts travel with every message. A delivery
is numbered, and appended to a file before it is confirmed; after a crash the same number may be
there twice, and the last one counts.

A life ends by SIGKILL: so long after it was ready, before it is ready, or in the middle of a write
to the journal. What is drawn from the seed is who lives how long and which datagrams are lost; what
the machine does in between is its own. So nothing is judged but what must always be so: numbers
without gaps, every message once, and none before what its sender had handled when it was sent.
"""

import asyncio
import json
import os
import select
import signal
import sys
import tempfile
import time
import traceback
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random

from antecede import Message
from antecede.core.errors import BufferFull
from antecede.durability.disk import Disk, SyncedDisk
from antecede.durability.errors import JournalFull
from antecede.runtime import opening
from antecede.runtime.carriers.udp import UdpCarrier
from antecede.runtime.config.addresses import Address
from antecede.runtime.config.settings import Settings
from antecede.runtime.errors import CannotBind
from antecede.runtime.node import Node
from antecede.runtime.opening import SecretTokens, start_node
from antecede.runtime.security.keys import SecretKey
from antecede.transport.datagram import Datagram
from tests.free_ports import free_port

STATE = "state"
STOP = "stop"
PORT_TAKEN = 98
SHARED = SecretKey(bytes(range(32)))


@dataclass(frozen=True)
class Plan:
    """What a storm is like."""

    folder: str
    seed: int
    kills: int
    pause: float
    """How long a life lasts on average, once it is ready."""
    patience: float
    """How long to wait for everything to be handled, after the last kill."""
    loss: float
    duplication: float
    names: tuple[str, ...] = ("ann", "bob", "cat")
    ports: dict[str, int] = field(default_factory=dict)
    options: dict[str, object] = field(default_factory=dict)
    sealed: bool = False

    def log(self, name: str) -> Path:
        """Where a worker writes what it handles."""
        return Path(self.folder, f"{name}.log")

    def sent(self, name: str) -> Path:
        """Where it writes how much it has sent in all, when it is told to stop."""
        return Path(self.folder, f"{name}.sent")

    def settings(self, name: str) -> Settings:
        """The settings of a worker."""
        peers = {peer: f"127.0.0.1:{port}" for peer, port in self.ports.items() if peer != name}
        keys = {"cluster_key": SHARED} if self.sealed else {}
        return Settings(
            name=name,
            peers=peers,
            journal=Path(self.folder, name),
            patience=0.2,
            **self.options,  # type: ignore[arg-type] # any settings
            **keys,  # type: ignore[arg-type] # as above
        )


class BadTransport(UdpCarrier):
    """A socket that loses and repeats some of what it sends."""

    def __init__(self, plan: Plan, name: str, random: Random) -> None:
        loop = asyncio.get_running_loop()
        super().__init__(Address("127.0.0.1", plan.ports[name]), "auto", loop)
        self._plan = plan
        self._random = random

    def send(self, datagrams: list[Datagram]) -> None:
        sent: list[Datagram] = []
        for datagram in datagrams:
            if self._random.random() >= self._plan.loss:
                sent.append(datagram)
            if self._random.random() < self._plan.duplication:
                sent.append(datagram)
        datagrams[:] = sent
        super().send(datagrams)


@dataclass
class Fate:
    """In which write of its life a process dies, if in any, and how much of it is written."""

    write: int = 0
    share: float = 0.0
    so_far: int = 0

    def befall(self, descriptor: int, data: bytes) -> None:
        """A write begins."""
        self.so_far += 1
        if self.so_far == self.write:
            os.write(descriptor, data[: int(len(data) * self.share)])
            os.kill(os.getpid(), signal.SIGKILL)


FATE = Fate()


class DeadlyDisk(Disk):
    """A folder that somebody dies in."""

    def append(self, descriptor: int, data: bytes) -> None:
        FATE.befall(descriptor, data)
        super().append(descriptor, data)


class DeadlySyncedDisk(SyncedDisk):
    """The same, synced."""

    def append(self, descriptor: int, data: bytes) -> None:
        FATE.befall(descriptor, data)
        super().append(descriptor, data)


class Worker:
    """One process: sends, handles, counts."""

    def __init__(self, plan: Plan, name: str, random: Random) -> None:
        self._plan = plan
        self._name = name
        self._random = random
        transport = BadTransport(plan, name, random)
        self._node: Node = start_node(plan.settings(name), transport, SecretTokens(), None)
        found = self._node.journal.get(STATE)
        self._counts: dict[str, int] = {"handled": 0} if found is None else json.loads(found)
        self._file = os.open(plan.log(name), os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    async def run(self, ready: int) -> None:
        """Until killed; `ready` is where to say that the node is open."""
        self._node.on_message(self._handle)
        os.write(ready, b".")
        parent = os.getppid()
        stop = Path(self._plan.folder, STOP)
        while not stop.exists() and os.getppid() == parent:
            self._send_some()
            await asyncio.sleep(self._random.random() * 0.004)
        await self._node.journal.sync()
        self._plan.sent(self._name).write_text(str(self._counts.get(self._name, 0)))
        while os.getppid() == parent:
            await asyncio.sleep(0.2)

    def _send_some(self) -> None:
        others = [other for other in self._plan.names if other != self._name]
        for _ in range(self._random.randrange(1, 8)):
            counts = {**self._counts, self._name: self._counts.get(self._name, 0) + 1}
            try:
                self._node.try_send(others, json.dumps(counts).encode())
            except (BufferFull, JournalFull):
                return
            self._counts = counts
            self._node.journal.put(STATE, json.dumps(counts).encode())

    def _handle(self, message: Message) -> None:
        counts = self._counts
        counts["handled"] += 1
        counts[message.sender] = counts.get(message.sender, 0) + 1
        line = [counts["handled"], message.sender, json.loads(message.payload)]
        os.write(self._file, json.dumps(line).encode() + b"\n")
        try:
            self._node.journal.put(STATE, json.dumps(counts).encode())
        except JournalFull:
            os.kill(os.getpid(), signal.SIGKILL)  # It comes again, with the counts as they were.


def work(plan: Plan, name: str, life: int, ready: int) -> None:
    """What a forked process does."""

    async def whole() -> None:
        random = Random(f"{plan.seed} {name} {life}")
        if life <= len(plan.names) or random.random() < 0.4:
            FATE.write, FATE.share = random.randrange(1, 12), random.choice((0.0, 0.5, 1.0))
        setattr(opening, "Disk", DeadlyDisk)  # noqa: B010 mypy would have a class stay what it is
        setattr(opening, "SyncedDisk", DeadlySyncedDisk)  # noqa: B010 as above
        await Worker(plan, name, random).run(ready)

    try:
        asyncio.run(whole())
    except CannotBind:
        os._exit(PORT_TAKEN)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


@dataclass
class Life:
    """A worker that runs, and when it is to be killed."""

    name: str
    pid: int
    ready: int
    lasts: float
    hasty: bool
    """Whether not to wait until it is ready."""
    doomed_at: float | None = None


class Storm:
    """Workers, and who kills them."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._random = Random(plan.seed)
        self._lives: dict[str, Life] = {}
        self._tails = {name: Tail(plan.log(name), plan.names) for name in plan.names}
        self._born = 0
        self.kills = 0
        self.in_a_write = 0
        self.failures = 0

    def run(self) -> list[str]:
        """All of it; what is wrong."""
        try:
            self._rage()
            Path(self._plan.folder, STOP).touch()
            self._settle()
        finally:
            for life in list(self._lives.values()):
                os.kill(life.pid, signal.SIGKILL)
                self._bury(life)
        wrong = judge(self._plan)
        return [f"{self.failures} workers ended by themselves", *wrong] if self.failures else wrong

    def _start(self, name: str) -> None:
        self._born += 1
        reading, writing = os.pipe()
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            os.close(reading)
            work(self._plan, name, self._born, writing)
        os.close(writing)
        lasts = self._plan.pause * self._random.random() * 2
        hasty = self._random.random() < 0.1
        if self._born <= len(self._plan.names):  # The first of each name die in a write.
            lasts, hasty = self._plan.patience, False
        self._lives[name] = Life(name, pid, reading, lasts, hasty)
        if hasty:
            self._lives[name].doomed_at = time.monotonic() + lasts

    def _rage(self) -> None:
        for name in self._plan.names:
            self._start(name)
        while self.kills < self._plan.kills:
            self._wait()
            now = time.monotonic()
            for life in list(self._lives.values()):
                if self._is_over(life):
                    self._start(life.name)
                elif life.doomed_at is not None and life.doomed_at <= now:
                    os.kill(life.pid, signal.SIGKILL)

    def _wait(self) -> None:
        """Until somebody is ready, has ended, or is to be killed."""
        unborn = {life.ready: life for life in self._lives.values() if life.doomed_at is None}
        dooms = [life.doomed_at for life in self._lives.values() if life.doomed_at is not None]
        pause = max(0.0, min(dooms, default=time.monotonic() + 1.0) - time.monotonic())
        for descriptor in select.select(list(unborn), [], [], min(pause, 0.01))[0]:
            unborn[descriptor].doomed_at = time.monotonic() + unborn[descriptor].lasts

    def _is_over(self, life: Life) -> bool:
        """Whether a process has ended: killed by us, by itself in a write, or as it should not."""
        pid, status = os.waitpid(life.pid, os.WNOHANG)
        if pid == 0:
            return False
        self._bury(life, reaped=True)
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
            self.kills += 1
            self.in_a_write += life.doomed_at is None or life.doomed_at > time.monotonic()
        elif os.waitstatus_to_exitcode(status) != PORT_TAKEN:
            self.failures += 1
        return True

    def _bury(self, life: Life, *, reaped: bool = False) -> None:
        if not reaped:
            os.waitpid(life.pid, 0)
        os.close(life.ready)
        del self._lives[life.name]

    def _settle(self) -> None:
        """Wait until everything is handled; who dies in a write meanwhile comes back."""
        deadline = time.monotonic() + self._plan.patience
        while time.monotonic() < deadline and not self._is_complete():
            for life in list(self._lives.values()):
                if self._is_over(life):
                    self._start(life.name)
            time.sleep(0.02)

    def _is_complete(self) -> bool:
        totals = sent_in_all(self._plan)
        return len(totals) == len(self._plan.names) and all(
            tail.last() == {**totals, name: 0} for name, tail in self._tails.items()
        )


class Tail:
    """What is new in a worker's log, read once."""

    def __init__(self, path: Path, names: tuple[str, ...]) -> None:
        self._path = path
        self._at = 0
        self._last = dict.fromkeys(names, 0)

    def last(self) -> dict[str, int]:
        """The last of each sender's messages that was handled."""
        if self._path.exists():
            with self._path.open("rb") as file:
                file.seek(self._at)
                new = file.read()
            whole = new[: new.rfind(b"\n") + 1]
            self._at += len(whole)
            for line in whole.splitlines():
                _, sender, counts = json.loads(line)
                self._last[sender] = max(self._last[sender], counts[sender])
        return self._last


def sent_in_all(plan: Plan) -> dict[str, int]:
    """What each worker has sent, of those that have said so."""
    said = {name: plan.sent(name) for name in plan.names if plan.sent(name).exists()}
    texts = {name: path.read_text() for name, path in said.items()}
    return {name: int(text) for name, text in texts.items() if text}


def handled(plan: Plan, name: str) -> dict[int, tuple[str, dict[str, int]]]:
    """What a worker handled, by number; of what it handled again only the last time counts."""
    found: dict[int, tuple[str, dict[str, int]]] = {}
    if plan.log(name).exists():
        lines = plan.log(name).read_text().split("\n")[:-1]  # The last may be half a line.
        for line in lines:
            number, sender, counts = json.loads(line)
            found[number] = (sender, counts)
    return found


def judge(plan: Plan) -> list[str]:
    """Everything that is wrong with a storm: lost, doubled, out of order."""
    wrong: list[str] = []
    totals = sent_in_all(plan)
    for name in plan.names:
        log = handled(plan, name)
        others = [other for other in plan.names if other != name]
        seen = dict.fromkeys(others, 0)
        for place, number in enumerate(sorted(log), 1):
            sender, counts = log[number]
            if number != place:
                wrong.append(f"{name}: delivery {place} is missing")
                break
            if counts[sender] != seen[sender] + 1:
                wrong.append(f"{name}: {sender}'s {counts[sender]} after its {seen[sender]}")
            seen[sender] = counts[sender]
            wrong += [
                f"{name}: {sender}'s {counts[sender]} came before {cause}'s {counts[cause]}"
                for cause in others
                if counts.get(cause, 0) > seen[cause]
            ]
        wrong += [
            f"{name}: of {other}'s {totals.get(other)} messages {seen[other]} were handled"
            for other in others
            if seen[other] != totals.get(other)
        ]
    return wrong


def main() -> None:
    """One storm, as the argument says; the answer is a line of JSON."""
    if sys.argv[1] == "--seed":
        with tempfile.TemporaryDirectory() as folder:
            plan = Plan(**json.loads(as_argument(seeded(folder, int(sys.argv[2])))))
            answer = answer_of(plan)
    else:
        answer = answer_of(Plan(**json.loads(sys.argv[1])))
    print(json.dumps(answer))


def answer_of(plan: Plan) -> dict[str, object]:
    """What came of a storm."""
    storm = Storm(plan)
    wrong = storm.run()
    return {
        "kills": storm.kills,
        "in_a_write": storm.in_a_write,
        "messages": sum(sent_in_all(plan).values()),
        "wrong": wrong[:20],
    }


def seeded(folder: str, seed: int, kills: int = 100) -> Plan:
    """A storm that follows from its seed, 10 % of the datagrams lost and as many doubled: synced or
    not, sealed or not, with files that are begun anew, and under both orders."""
    options: dict[str, object] = {"durable": "sync" if seed % 2 else "process"}
    if seed % 5 == 0:
        options["order"] = "hybrid-sps"
    if seed % 4 == 0:
        options["journal_limit"] = 2 << 20
    return Plan(
        folder=folder,
        seed=seed,
        kills=kills,
        pause=0.06,
        patience=240,
        loss=0.1,
        duplication=0.1,
        options=options,
        sealed=seed % 3 == 0,
    )


def as_argument(plan: Plan) -> str:
    """The plan, for the command line."""
    ports = {name: free_port() for name in plan.names}
    return json.dumps({**asdict(plan), "ports": ports})


if __name__ == "__main__":
    main()
