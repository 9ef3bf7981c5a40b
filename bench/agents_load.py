"""Many agents in one room for minutes: what comes too early, is lost, doubled, or waits for ever.

    python -m bench agents-load                            50 agents, 10^6 deliveries at 5,000/s
    python -m bench agents-load --agents 20 --seconds 10   a small one

All agents are nodes on real sockets in one process. Each says its words at an even rate; now and
then one of them crashes and comes back as a new process, with the state of whoever lets it in.
Every word has a number of its author, and `antecede_audit.judge` has the causal order of everything
that was read. What must be read: each living agent has the last words of all living ones in the
end, and misses no number between the state it began with and those.
"""

import argparse
import asyncio
import json
import struct
import time
from array import array
from collections import defaultdict
from collections.abc import Collection
from typing import Final

import pyarrow as pa

from antecede import Address, Message, Node, Room, open_node
from antecede_audit import judge

ROOM: Final = "all"
REST_S: Final = 60.0
"""After the last word everybody has at most a minute to read what is under way."""

SAID: Final = struct.Struct("<iqq")
"""The author's process, the number of the word, and when it was said."""

COLUMNS: Final = ("process", "position", "sender", "sequence", "target", "time_ns")


class Log:
    """What was said and read, in columns."""

    def __init__(self) -> None:
        self.columns: Final = {name: array("q") for name in COLUMNS}
        self.kinds: Final = array("b")
        self._positions: Final[dict[int, int]] = defaultdict(int)

    def add(self, *, read: bool, process: int, sender: int, sequence: int, target: int) -> None:
        """One event of a process."""
        values = (process, self._positions[process], sender, sequence, target, time.monotonic_ns())
        for name, value in zip(COLUMNS, values, strict=True):
            self.columns[name].append(value)
        self.kinds.append(read)
        self._positions[process] += 1

    def table(self) -> pa.Table:
        """As the judge takes it."""
        kinds = pa.DictionaryArray.from_arrays(
            pa.array(self.kinds, pa.int8()), ["submitted", "delivered"]
        )
        columns = {name: pa.array(values, pa.int64()) for name, values in self.columns.items()}
        return pa.table({**columns, "kind": kinds.cast(pa.string())})


class Agent:
    """One life of one agent."""

    room: Room

    def __init__(self, process: int, node: Node, log: Log) -> None:
        self.process: Final = process
        self.node: Final = node
        self._log: Final = log
        # The last number of each author that this agent knows.
        self.last: Final[dict[int, int]] = {}
        self.said = 0
        self.gaps = 0
        self.delays_ns: Final = array("q")

    async def enter(self, via: str | None) -> None:
        """Join the room."""
        self.room = await self.node.join(
            ROOM,
            via=via,
            snapshot=lambda: json.dumps(list(self.last.items())).encode(),
            restore=lambda state: self.last.update(json.loads(state)),
        )
        self._reading = asyncio.create_task(self._read())

    async def say(self, processes: dict[str, int], joiners: Collection[str] = ()) -> None:
        """One word to all who are in the room when it leaves, and those who are on their way in."""
        number = self.said + 1
        await self.room.send(SAID.pack(self.process, number, time.monotonic_ns()))
        self.said = self.last[self.process] = number
        for name in {*self.room.members, *joiners}:
            if name != self.node.name:
                self._log.add(
                    read=False,
                    process=self.process,
                    sender=self.process,
                    sequence=number,
                    target=processes[name],
                )

    async def _read(self) -> None:
        async for message in self.room:
            self._take(message)

    def _take(self, message: Message) -> None:
        author, number, said_ns = SAID.unpack(message.payload)
        self._log.add(
            read=True, process=self.process, sender=author, sequence=number, target=self.process
        )
        self.gaps += number != self.last.get(author, 0) + 1
        self.last[author] = number
        self.delays_ns.append(time.monotonic_ns() - said_ns)

    async def leave(self) -> None:
        """Be in the room no more."""
        await self.room.leave()
        await self._reading

    def crash(self) -> None:
        """Gone without a word."""
        self._reading.cancel()
        self.node.abandon()


class Load:
    """All of them, and what becomes of what they say."""

    def __init__(self, agents: int, rate: float, seconds: float, restarts: int) -> None:
        self._names: Final = [f"agent{number:02}" for number in range(agents)]
        self._rate: Final = rate
        self._seconds: Final = seconds
        self._restarts: Final = restarts
        self._log: Final = Log()
        self._agents: Final[dict[str, Agent]] = {}
        self._processes: Final[dict[str, int]] = {}
        self._lives: Final[list[Agent]] = []
        self._guests: Final[dict[str, Agent]] = {}

    async def run(self) -> dict[str, float]:
        """Everybody joins, speaks and stops; what was found."""
        for name in self._names:
            await self._come(name)
        begun = time.monotonic()
        speaking = [asyncio.create_task(self._speak(name)) for name in self._names]
        for number in range(self._restarts):
            await asyncio.sleep(self._seconds / (self._restarts + 1))
            await self._come_back(self._names[1 + number % (len(self._names) - 1)])
        await asyncio.gather(*speaking)
        taken = time.monotonic() - begun
        await self._rest()
        outcome = self._outcome(taken)
        for agent in self._agents.values():
            agent.crash()
        return outcome

    async def _come(self, name: str) -> None:
        known = next(iter(self._agents), None)
        agent = await self._open(name)
        await agent.enter(known)
        self._agents[name] = agent

    async def _open(self, name: str) -> Agent:
        """A node that is in no room yet."""
        node = await open_node(name, peers=self._peers_of(name), accept_unknown="anybody")
        self._processes[name] = len(self._lives)
        agent = Agent(len(self._lives), node, self._log)
        self._lives.append(agent)
        return agent

    def _peers_of(self, _name: str) -> dict[str, Address | str]:
        known = next(iter(self._agents.values()), None)
        return {} if known is None else {known.node.name: known.node.address}

    async def _come_back(self, name: str) -> None:
        self._agents.pop(name).crash()
        await self._come(name)

    async def _speak(self, name: str) -> None:
        """One agent's words, at an even rate; those that it is late with it says at once."""
        words_per_s = self._rate / (len(self._names) * (len(self._names) - 1))
        loop = asyncio.get_running_loop()
        begin = loop.time() + self._names.index(name) / len(self._names) / words_per_s
        for number in range(int(self._seconds * words_per_s)):
            await asyncio.sleep(max(0.0, begin + number / words_per_s - loop.time()))
            if name in self._agents:
                await self._agents[name].say(self._processes, self._guests)

    async def _rest(self) -> None:
        until = time.monotonic() + REST_S
        while self._missing() and time.monotonic() < until:
            await asyncio.sleep(0.1)

    def _missing(self) -> int:
        """How many words of the living some of the living do not have."""
        return sum(
            author.said - reader.last.get(author.process, 0)
            for author in self._agents.values()
            for reader in self._agents.values()
        )

    def _outcome(self, taken: float) -> dict[str, float]:
        found = judge(self._log.table())
        delays = sorted(delay for agent in self._lives for delay in agent.delays_ns)
        return {
            "deliveries": len(delays),
            "per_s": round(len(delays) / taken),
            "restarts": len(self._lives) - len(self._names),
            "early": len(found.violations),
            "doubled": len(found.duplicates),
            "missing": self._missing(),
            "gaps": sum(agent.gaps for agent in self._agents.values()),
            "p50_ms": round(delays[len(delays) // 2] / 1e6, 1),
            "p99_ms": round(delays[len(delays) * 99 // 100] / 1e6, 1),
        }


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        prog="python -m bench agents-load",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--agents", type=int, default=50, help="default 50")
    parser.add_argument("--rate", type=float, default=5000.0, help="deliveries/s (default 5,000)")
    parser.add_argument("--seconds", type=float, default=200.0, help="default 200")
    parser.add_argument("--restarts", type=int, default=10, help="default 10")
    asked = parser.parse_args()
    if asked.agents < 2 or asked.rate <= 0 or asked.seconds <= 0 or asked.restarts < 0:
        parser.error("at least 2 agents, more than 0 deliveries, and no negative restarts")
    load = Load(asked.agents, asked.rate, asked.seconds, asked.restarts)
    for key, value in asyncio.run(load.run()).items():
        print(f"{key:10} {value:,}")


if __name__ == "__main__":
    main()
