"""Agents that discuss in rooms, over four ways to talk: what each does to causes and effects.

    python -m bench agents                        8 agents, 8 topics, every way
    python -m bench agents --only rooms,nats      some of them

The agents are scripts. Somebody proposes a topic; others comment on what they have read, nudge each
other directly, settle details in a side room, report, vote; the first one decides. One agent comes
late, one crashes and comes back. Every way between two processes takes 1 to 40 ms.

    rooms     rooms of antecede: real nodes, real sockets, through a proxy that delays
    parents   every word names the words its author has read, and waits for them where it arrives
    pubsub    channels of two brokers, as a cluster of Redis has them: one order per channel
    nats      subjects of a real NATS server, which is one place for everything

Counted by `antecede_audit.judge` from what every agent has said and read: `early`, effects that
were read before their cause. Beside it: `held`, words that arrived and wait for ever; `lost`, words
that a member never got; `stale`, words from before it came that an agent does not know at the end.
"""

import argparse
import asyncio
import json
import random
import sys
import time
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Final, TypeAlias

import pyarrow as pa

from antecede import Node, open_node
from antecede.eventlog import Event
from antecede.eventlog.parquet import event_schema
from antecede.runtime.room import Room
from antecede_audit import judge
from antecede_lab.chaos.proxy import Conditions, Proxy
from bench.live.peer import package
from bench.live.peers.nats_client import Nats as NatsServer
from bench.live.peers.nats_client import subscribe

AGENTS_MAX: Final = 40
LATE: Final = "late"
ROOM, SIDE = "plan", "side"
DELAY_S: Final = (0.001, 0.040)
THINK_S: Final = 0.005
REST_S: Final = 2.0
"""After the last topic everybody has two seconds to read what is under way."""

WordId: TypeAlias = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Word:
    """What an agent says."""

    author: str
    number: int
    kind: str
    topic: int
    room: str = ""
    parents: tuple[WordId, ...] = ()

    @property
    def id(self) -> WordId:
        """By which others name it."""
        return self.author, self.number

    def packed(self) -> bytes:
        """As a payload."""
        return json.dumps(asdict(self)).encode()

    @staticmethod
    def unpacked(data: bytes) -> "Word":
        """What `packed` has made."""
        fields = json.loads(data)
        parents = tuple((author, number) for author, number in fields.pop("parents"))
        return Word(**fields, parents=parents)


class Log:
    """What everybody has said and read, as an event log."""

    def __init__(self) -> None:
        self.rows: Final[list[dict[str, object]]] = []
        self._processes: Final[dict[str, int]] = {}
        self._positions: Final[dict[int, int]] = defaultdict(int)
        # Who has said a word: somebody who comes back is another process.
        self._authors: Final[dict[WordId, int]] = {}

    def come(self, name: str) -> None:
        """An agent is there, with nothing in its memory."""
        self._processes[name] = len(self._positions)
        self._positions[self._processes[name]] = 0

    def add(self, kind: str, who: str, word: Word, target: str) -> None:
        """Somebody has said or read something."""
        process = self._processes[who]
        event = Event(
            process=process,
            position=self._positions[process],
            kind=kind,
            sender=self._authors.setdefault(word.id, process),
            sequence=word.number,
            target=self._processes[target],
            time_ns=time.monotonic_ns(),
        )
        self._positions[process] += 1
        self.rows.append(asdict(event))


class Way(ABC):
    """One way to talk. Words arrive at `Agent.read`, which it is given with the agent."""

    name: str

    def __init__(self) -> None:
        self.readers: Final[dict[str, Callable[[Word], None]]] = {}
        self.known: Final[dict[str, set[WordId]]] = defaultdict(set)
        """What each agent was told when it came."""

    def objection(self) -> str | None:
        """Why this way cannot be gone on this machine."""
        return None

    async def __aenter__(self) -> "Way":
        return self

    async def __aexit__(self, *_: object) -> None:
        for name in list(self.readers):
            await self.crash(name)

    @abstractmethod
    async def come(self, name: str) -> None:
        """An agent is there; it is in no room."""

    @abstractmethod
    async def enter(self, name: str, room: str) -> None:
        """An agent enters a room."""

    @abstractmethod
    async def say(self, word: Word, to: Sequence[str]) -> None:
        """To the members of its room, or to one agent."""

    @abstractmethod
    async def crash(self, name: str) -> None:
        """An agent is gone, without a word."""

    def held(self) -> int:
        """How many words have arrived, and wait for others."""
        return 0


class Line:
    """From one process to another, as TCP has it: in order, each word 1 to 40 ms under way."""

    def __init__(self, rng: random.Random) -> None:
        self._rng: Final = rng
        self._free_at = 0.0

    def after(self, action: Callable[[], None]) -> None:
        """Do this at the other end."""
        loop = asyncio.get_running_loop()
        self._free_at = max(self._free_at, loop.time() + self._rng.uniform(*DELAY_S))
        loop.call_at(self._free_at, action)


class Lines:
    """All of them, made when they are needed."""

    def __init__(self, seed: int) -> None:
        self._rng: Final = random.Random(seed)
        self._lines: Final[dict[tuple[str, str], Line]] = {}

    def between(self, source: str, target: str) -> Line:
        """The way between these two."""
        if (source, target) not in self._lines:
            self._lines[source, target] = Line(random.Random(self._rng.random()))
        return self._lines[source, target]


class Parents(Way):
    """Words name those that their author has read, and wait for them at each reader."""

    name = "parents"

    def __init__(self) -> None:
        super().__init__()
        self._lines: Final = Lines(1)
        self._read: Final[dict[str, set[WordId]]] = {}
        self._waiting: Final[dict[str, list[Word]]] = {}

    async def come(self, name: str) -> None:
        self._read[name] = set()
        self._waiting[name] = []

    async def enter(self, name: str, room: str) -> None:
        """Who is in a room is what the sender says."""

    async def say(self, word: Word, to: Sequence[str]) -> None:
        self._read[word.author].add(word.id)
        for name in to:
            line = self._lines.between(word.author, name)
            line.after(partial(self._arrive, name, self._waiting[name], word))

    async def crash(self, name: str) -> None:
        self._read.pop(name)
        self._waiting.pop(name)

    def _arrive(self, name: str, waiting: list[Word], word: Word) -> None:
        if waiting is not self._waiting.get(name):
            return  # It was for somebody who has crashed.
        waiting.append(word)
        read, progress = self._read[name], True
        while progress:
            ready = [one for one in waiting if read.issuperset(one.parents)]
            progress = bool(ready)
            for one in ready:
                waiting.remove(one)
                read.add(one.id)
                self.readers[name](one)

    def held(self) -> int:
        return sum(map(len, self._waiting.values()))


class PubSub(Way):
    """A channel for each room and each agent; half of the channels are at another broker."""

    name = "pubsub"

    def __init__(self) -> None:
        super().__init__()
        self._lines: Final = Lines(2)
        self._channels: Final[dict[str, dict[str, None]]] = defaultdict(dict)

    async def come(self, name: str) -> None:
        self._channels[f"to {name}"][name] = None

    async def enter(self, name: str, room: str) -> None:
        self._channels[room][name] = None

    async def say(self, word: Word, to: Sequence[str]) -> None:
        channel = word.room or f"to {to[0]}"
        broker = f"broker {sum(channel.encode()) % 2}"
        line = self._lines.between(word.author, broker)
        line.after(lambda: self._publish(broker, channel, word))

    def _publish(self, broker: str, channel: str, word: Word) -> None:
        for name in self._channels[channel]:
            if name != word.author:
                line = self._lines.between(broker, name)
                line.after(partial(self.readers[name], word))

    async def crash(self, name: str) -> None:
        for members in self._channels.values():
            members.pop(name, None)


class Nats(Way):
    """Subjects of a real server; its clients are as far from it as agents are from each other."""

    name = "nats"

    def __init__(self) -> None:
        super().__init__()
        self._lines: Final = Lines(3)
        self._stack: Final = ExitStack()
        self._clients: Final[dict[str, Any]] = {}
        self._tasks: Final[list[asyncio.Future[None]]] = []

    def objection(self) -> str | None:
        return NatsServer().objection()

    async def __aenter__(self) -> "Way":
        self._server = self._stack.enter_context(NatsServer().broker())
        return self

    async def __aexit__(self, *_: object) -> None:
        for name in list(self._clients):
            await self.crash(name)
        self._stack.close()

    async def come(self, name: str) -> None:
        self._clients[name] = await package("nats").connect(self._server)
        await self.enter(name, f"to.{name}")

    async def enter(self, name: str, room: str) -> None:
        reader = self.readers[name]

        async def arrive(message: Any) -> None:  # noqa: ANN401 of a package that may not be installed
            word = Word.unpacked(message.data)
            if word.author != name:
                self._lines.between("server", name).after(partial(reader, word))

        await subscribe(self._clients[name], room, arrive)

    async def say(self, word: Word, to: Sequence[str]) -> None:
        subject, client = word.room or f"to.{to[0]}", self._clients[word.author]
        line = self._lines.between(word.author, "server")

        def publish() -> None:
            if not client.is_closed:
                self._tasks.append(asyncio.ensure_future(client.publish(subject, word.packed())))

        line.after(publish)

    async def crash(self, name: str) -> None:
        await self._clients.pop(name).close()


class Rooms(Way):
    """Rooms of antecede."""

    name = "rooms"

    def __init__(self) -> None:
        super().__init__()
        self._stack: Final = ExitStack()
        self._nodes: Final[dict[str, Node]] = {}
        self._minutes: Final[dict[str, dict[WordId, None]]] = defaultdict(dict)
        self._rooms: Final[dict[tuple[str, str], Room]] = {}
        self._reading: Final[dict[str, asyncio.Task[None]]] = {}

    async def __aenter__(self) -> "Way":
        conditions = Conditions(
            latency_ns=int(DELAY_S[0] * 1e9), latency_ns_max=int(DELAY_S[1] * 1e9)
        )
        names = [*agent_names(AGENTS_MAX), LATE]
        self._proxy = self._stack.enter_context(Proxy(dict.fromkeys(names), conditions))
        return self

    async def __aexit__(self, *_: object) -> None:
        for name in list(self._nodes):
            await self.crash(name)
        self._stack.close()

    async def come(self, name: str) -> None:
        peers = self._proxy.peers_of(name)
        self._nodes[name] = await open_node(name, peers=peers, settings={"meet_within": 0.5})
        self._minutes[name] = {}
        self._reading[name] = asyncio.create_task(self._read(name))

    async def _read(self, name: str) -> None:
        reader = self.readers[name]
        async for message in self._nodes[name]:
            word = Word.unpacked(message.payload)
            self._minutes[name][word.id] = None
            reader(word)

    async def enter(self, name: str, room: str) -> None:
        others = [one for one, entered in self._rooms if entered == room and one != name]
        minutes = self._minutes[name]

        def restore(state: bytes) -> None:
            minutes.update(dict.fromkeys(map(tuple, json.loads(state))))
            self.known[name].update(minutes)

        self._rooms[name, room] = await self._nodes[name].join(
            room,
            via=others[0] if others else None,
            snapshot=lambda: json.dumps(list(minutes)).encode(),
            restore=restore,
            in_node=True,
        )

    async def say(self, word: Word, to: Sequence[str]) -> None:
        self._minutes[word.author][word.id] = None
        if word.room:
            await self._rooms[word.author, word.room].send(word.packed())
        else:
            await self._nodes[word.author].send(to[0], word.packed())

    async def crash(self, name: str) -> None:
        self._reading.pop(name).cancel()
        self._nodes.pop(name).abandon()
        for entered in [entry for entry in self._rooms if entry[0] == name]:
            del self._rooms[entered]


# What agents do.


class Discussion:
    """The agents and what they do, the same whatever the way."""

    def __init__(self, way: Way, agents: int, topics: int, seed: int) -> None:
        self.way: Final = way
        self.log: Final = Log()
        self.names: Final = agent_names(agents)
        self.topics: Final = topics
        self._rng: Final = random.Random(seed)
        self._members: Final[dict[str, dict[str, None]]] = {ROOM: {}, SIDE: {}}
        self._said: Final[dict[str, int]] = defaultdict(int)
        # What each has read since it spoke last, and the words of all rooms by when they were said.
        self._frontier: Final[dict[str, list[WordId]]] = defaultdict(list)
        self._read: Final[dict[str, set[WordId]]] = defaultdict(set)
        self._words: Final[list[Word]] = []
        self._owed: Final[dict[tuple[WordId, str], None]] = {}
        self._came: Final[dict[str, int]] = {}
        # How often each has come and crashed: odd while it is there.
        self._lives: Final[dict[str, int]] = defaultdict(int)
        self._votes: Final[dict[int, int]] = defaultdict(int)
        self._decided = asyncio.Event()
        self._tasks: Final[set[asyncio.Task[None]]] = set()
        self._sent_ns: Final[dict[WordId, int]] = {}
        self.delays_ms: Final[list[float]] = []

    async def run(self) -> None:
        """All topics, then a rest."""
        for name in self.names:
            await self._come(name)
        for topic in range(self.topics):
            self._decided.clear()
            await self._say(self.names[0], "propose", topic, ROOM)
            with suppress(TimeoutError):
                async with asyncio.timeout(REST_S):
                    await self._decided.wait()
            if topic == self.topics // 3:
                await self._come(LATE)
            if topic == self.topics // 2:
                await self._come_back(self.names[-1])
        await asyncio.sleep(REST_S)
        for task in self._tasks:
            task.cancel()

    async def _come(self, name: str) -> None:
        life = self._lives[name] = self._lives[name] + 1
        self.log.come(name)
        self.way.readers[name] = partial(self._on_word, name, life)
        await self.way.come(name)
        self._came[name] = len(self._words)
        for room in self._rooms_of(name):
            await self.way.enter(name, room)
            self._members[room][name] = None

    async def _come_back(self, name: str) -> None:
        """Crash, and come again with an empty memory, as another process of the log."""
        for members in self._members.values():
            members.pop(name, None)
        self._lives[name] += 1
        await self.way.crash(name)
        self._owed_by_none(name)
        self._read[name].clear()
        self._frontier[name].clear()
        await self._come(name)

    def _rooms_of(self, name: str) -> list[str]:
        in_side = name in self.names and self.names.index(name) % 2 == 1
        return [ROOM, SIDE] if in_side else [ROOM]

    def _owed_by_none(self, name: str) -> None:
        for debt in [debt for debt in self._owed if debt[1] == name]:
            del self._owed[debt]

    def _on_word(self, name: str, life: int, word: Word) -> None:
        if self._lives[name] != life:
            return
        self.log.add("delivered", name, word, name)
        self.delays_ms.append((time.monotonic_ns() - self._sent_ns[word.id]) / 1e6)
        self._owed.pop((word.id, name), None)
        self._read[name].add(word.id)
        self._frontier[name].append(word.id)
        task = asyncio.create_task(self._react(name, word))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _react(self, name: str, word: Word) -> None:
        """What an agent says to what it has read."""
        chance = random.Random(f"{name} {word.id}").random()
        await asyncio.sleep(THINK_S * chance)
        me, count = self.names.index(name) if name in self.names else -1, len(self.names)
        if word.kind == "propose":
            await self._say(name, "vote" if name == LATE else "comment", word.topic, ROOM)
            if me > 0:
                await self._say(name, "nudge", word.topic, "", [self.names[me % (count - 1) + 1]])
            if me == 1:
                await self._say(name, "detail", word.topic, SIDE)
        elif word.kind == "nudge":
            await self._say(name, "comment", word.topic, ROOM)
        elif word.kind == "detail" and me == 3:
            await self._say(name, "report", word.topic, ROOM)
        elif word.kind == "report":
            await self._say(name, "vote", word.topic, ROOM)
        elif word.kind == "vote" and me == 0:
            self._votes[word.topic] += 1
            if self._votes[word.topic] == count - 2:
                await self._say(name, "decide", word.topic, ROOM)
                self._decided.set()

    async def _say(
        self, name: str, kind: str, topic: int, room: str, to: Sequence[str] = ()
    ) -> None:
        if self._lives[name] % 2 == 0:
            return
        self._said[name] += 1
        frontier, self._frontier[name] = tuple(self._frontier[name]), []
        word = Word(name, self._said[name], kind, topic, room, frontier)
        self._frontier[name].append(word.id)
        targets = [one for one in (self._members[room] if room else to) if one != name]
        self._sent_ns[word.id] = time.monotonic_ns()
        if room:
            self._words.append(word)
        for target in targets:
            if self._lives[target] % 2 == 1:
                self.log.add("submitted", name, word, target)
                self._owed[word.id, target] = None
        with suppress(Exception):  # Who crashes while it speaks has not said it.
            await self.way.say(word, targets)

    def outcome(self) -> dict[str, float]:
        """What went wrong, by kind."""
        found = judge(pa.Table.from_pylist(self.log.rows, schema=event_schema()))
        held = self.way.held()
        stale = 0
        for name, since in self._came.items():
            before = {w.id for w in self._words[:since] if w.room in self._rooms_of(name)}
            mine = {word for word in before if word[0] == name}
            stale += len(before - mine - self._read[name] - self.way.known[name])
        return {
            "words": len(self._sent_ns),
            "read": len(self.delays_ms),
            "early": len(found.violations),
            "held": held,
            "lost": max(0, len(self._owed) - held),
            "stale": stale,
            "p99_ms": round(sorted(self.delays_ms)[int(len(self.delays_ms) * 0.99)], 1),
        }


def agent_names(count: int) -> list[str]:
    """What agents are called."""
    return [f"agent{number:02}" for number in range(count)]


WAYS: Final[dict[str, type[Way]]] = {way.name: way for way in (Rooms, Parents, PubSub, Nats)}


async def discuss(way: Way, agents: int, topics: int, seed: int) -> dict[str, float]:
    """One discussion; what went wrong."""
    async with way:
        discussion = Discussion(way, agents, topics, seed)
        await discussion.run()
        return discussion.outcome()


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        prog="python -m bench agents",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--agents", type=int, default=8, help="how many (4 to 40; default 8)")
    parser.add_argument("--topics", type=int, default=8, help="what they decide (default 8)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help=f"some of {', '.join(WAYS)}, separated by commas")
    asked = parser.parse_args()
    names = asked.only.split(",") if asked.only else list(WAYS)
    if not set(names) <= set(WAYS) or not 4 <= asked.agents <= AGENTS_MAX:
        parser.error(f"the ways are {', '.join(WAYS)}, for 4 to {AGENTS_MAX} agents")
    for name in names:
        way = WAYS[name]()
        if why := way.objection():
            print(f"{name:8} not here: {why}", file=sys.stderr)
            continue
        outcome = asyncio.run(discuss(way, asked.agents, asked.topics, asked.seed))
        print(f"{name:8} " + "  ".join(f"{key} {value}" for key, value in outcome.items()))


if __name__ == "__main__":
    main()
