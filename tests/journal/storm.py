"""Real processes with journals that are killed again and again, and a judge of what they did.

Every worker sends to all others and counts what it has sent and handled, per sender, in its
journal; the counts travel with every message. A delivery is numbered, and appended to a file before
it is confirmed; after a crash the same number may be there twice, and the last one counts. The
judge knows nothing of the protocol: numbers without gaps, every message once, and none before what
its sender had handled when it was sent.
"""

import asyncio
import json
import multiprocessing
import os
import time
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path
from random import Random

from antecede import Message
from antecede.link.writer import Datagram
from antecede.live.addresses import Address
from antecede.live.node import Node
from antecede.live.opening import SecretTokens, start_node
from antecede.live.settings import Settings
from antecede.live.udp import UdpTransport
from tests.free_ports import free_port

STATE = "state"


@dataclass(frozen=True)
class Plan:
    """What a storm is like."""

    folder: Path
    names: tuple[str, ...]
    messages: int
    """What each worker sends to all others."""
    loss: float
    duplication: float
    ports: dict[str, int] = field(default_factory=dict)
    options: dict[str, object] = field(default_factory=dict)

    def log(self, name: str) -> Path:
        """Where a worker writes what it handles."""
        return self.folder / f"{name}.log"


class BadTransport(UdpTransport):
    """A socket that loses and repeats some of what it sends."""

    def __init__(self, plan: Plan, name: str) -> None:
        loop = asyncio.get_running_loop()
        super().__init__(Address("127.0.0.1", plan.ports[name]), "auto", loop)
        self._plan = plan
        self._rng = Random()

    def send(self, datagrams: list[Datagram]) -> None:
        sent: list[Datagram] = []
        for datagram in datagrams:
            if self._rng.random() >= self._plan.loss:
                sent.append(datagram)
            if self._rng.random() < self._plan.duplication:
                sent.append(datagram)
        datagrams[:] = sent
        super().send(datagrams)


class Worker:
    """One process: sends, handles, counts."""

    def __init__(self, plan: Plan, name: str) -> None:
        self._plan = plan
        self._name = name
        peers = {other: f"127.0.0.1:{plan.ports[other]}" for other in plan.names if other != name}
        settings = Settings(
            name=name,
            peers=peers,
            journal=plan.folder / name,
            patience=0.2,
            **plan.options,  # type: ignore[arg-type] # any settings
        )
        transport = BadTransport(plan, name)
        self._node: Node = start_node(settings, transport, SecretTokens(), None)
        found = self._node.journal.get(STATE)
        self._counts: dict[str, int] = {"handled": 0} if found is None else json.loads(found)
        self._file = os.open(plan.log(name), os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    async def run(self) -> None:
        """Until killed."""
        self._node.on_message(self._handle)
        others = [other for other in self._plan.names if other != self._name]
        rng = Random()
        while self._counts.get(self._name, 0) < self._plan.messages:
            for _ in range(rng.randrange(1, 8)):
                if self._counts.get(self._name, 0) < self._plan.messages:
                    self._counts[self._name] = self._counts.get(self._name, 0) + 1
                    self._node.try_send(others, json.dumps(self._counts).encode())
                    self._node.journal.put(STATE, json.dumps(self._counts).encode())
            await asyncio.sleep(rng.random() * 0.004)
        await asyncio.sleep(600)

    def _handle(self, message: Message) -> None:
        counts = self._counts
        counts["handled"] += 1
        counts[message.sender] = counts.get(message.sender, 0) + 1
        line = [counts["handled"], message.sender, json.loads(message.payload), message.again]
        os.write(self._file, json.dumps(line).encode() + b"\n")
        self._node.journal.put(STATE, json.dumps(counts).encode())


def work(plan: Plan, name: str) -> None:
    """What a forked process does."""

    async def whole() -> None:
        await Worker(plan, name).run()

    try:
        asyncio.run(whole())
    finally:
        os._exit(1)


class Storm:
    """Workers, and who kills them."""

    def __init__(self, plan: Plan, seed: int) -> None:
        ports = [free_port() for _ in plan.names]
        plan.ports.update(zip(plan.names, ports, strict=True))
        self._plan = plan
        self._rng = Random(seed)
        self._fork = multiprocessing.get_context("fork")
        self._workers: dict[str, BaseProcess] = {}
        self.kills = 0

    def start(self, name: str) -> None:
        """Start a worker, again or for the first time."""
        process = self._fork.Process(target=work, args=(self._plan, name), daemon=True)
        process.start()
        self._workers[name] = process

    def kill(self, name: str) -> None:
        """End a worker as suddenly as can be."""
        worker = self._workers.pop(name)
        worker.kill()
        worker.join()
        self.kills += 1

    def rage(self, kills: int, pause: float) -> None:
        """Kill one or two at a time, now and then, and let them come back."""
        for name in self._plan.names:
            self.start(name)
        while self.kills < kills:
            time.sleep(pause * self._rng.random() * 2)
            victims = self._rng.sample(self._plan.names, self._rng.choice((1, 1, 2)))
            for name in victims:
                self.kill(name)
            for name in victims:
                self.start(name)

    def settle(self, seconds: float) -> None:
        """Wait until everything is handled; then end all."""
        deadline = time.monotonic() + seconds
        try:
            while time.monotonic() < deadline and not self._is_complete():
                time.sleep(0.05)
        finally:
            for name in list(self._workers):
                self.kill(name)

    def _is_complete(self) -> bool:
        expected = (len(self._plan.names) - 1) * self._plan.messages
        return all(len(handled(self._plan, name)) >= expected for name in self._plan.names)


def handled(plan: Plan, name: str) -> dict[int, tuple[str, dict[str, int]]]:
    """What a worker handled, by number; of what it handled again only the last time counts."""
    found: dict[int, tuple[str, dict[str, int]]] = {}
    if plan.log(name).exists():
        for line in plan.log(name).read_text().splitlines():
            number, sender, counts, _ = json.loads(line)
            found[number] = (sender, counts)
    return found


def judge(plan: Plan) -> list[str]:
    """Everything that is wrong with a storm: lost, doubled, out of order."""
    wrong: list[str] = []
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
            f"{name}: of {other}'s {plan.messages} messages {seen[other]} were handled"
            for other in others
            if seen[other] != plan.messages
        ]
    return wrong
