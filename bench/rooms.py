"""What joins cost those who talk, and what a large room costs.

    python -m bench rooms churn                  1,000 joins and leaves under 10,000 deliveries/s
    python -m bench rooms churn --delay-ms 5     the same, every datagram 5 ms under way
    python -m bench rooms fan                    a room of 100 beside NATS and zenoh

`churn`: members of a room speak at an even rate; guests join it, say a word and leave, again and
again. All are nodes on real sockets in one process. Rounds alternate: with guests and without. The
round trip, a request to a member and its reply, which wait for their causes as a join does, is
measured before every join; that of the network is what the guest has seen of datagrams. What
everybody has read goes to `antecede_audit.judge`. It ends in time, with fewer joins if need be,
and says so.

`fan`: one member speaks, all others read (`bench.room_fan`).
"""

import argparse
import asyncio
import random
import statistics
import time
from array import array
from collections.abc import Coroutine, Sequence
from contextlib import ExitStack
from typing import Final

from antecede import Address, Message
from antecede_audit import judge
from antecede_lab.chaos.proxy import Conditions, Proxy
from bench.agents_load import Agent, Load
from bench.room_fan import DEFAULTS, compare

WARM_S: Final = 1.0
JOIN_S: Final = 20.0
"""A join that takes longer has failed."""


class Churn(Load):
    """A room whose members speak while guests come and go."""

    def __init__(
        self,
        members: int,
        guests: int,
        joins: int,
        rate: float,
        seconds: float,
        rounds: int,
        delay_ms: float = 0.0,
    ) -> None:
        super().__init__(members, rate, seconds + WARM_S, 0)
        self._guest_names: Final = [f"guest{number:02}" for number in range(guests)]
        self._joins_left = joins
        self._round_s: Final = seconds / rounds / 2
        self._rounds: Final = rounds
        self._delay_ms: Final = delay_ms
        self._proxy: Proxy | None = None
        self._rng: Final = random.Random(1)
        self._join_ns: Final = array("q")
        self._round_trip_ns: Final = array("q")
        self._network_ns: Final = array("q")
        self._failed = 0

    async def run(self) -> dict[str, float]:
        """Everybody joins, speaks and stops; what was found."""
        with ExitStack() as stack:
            if self._delay_ms:
                names = dict.fromkeys([*self._names, *self._guest_names])
                delay_ns = int(self._delay_ms * 1e6)
                conditions = Conditions(latency_ns=delay_ns, latency_ns_max=delay_ns)
                self._proxy = stack.enter_context(Proxy(names, conditions))
            for name in self._names:
                await self._come(name)
                self._agents[name].node.on_message(answer)
            for name in self._guest_names:
                self._guests[name] = await self._open(name)
            outcome = await self._talk()
            for agent in self._lives:
                agent.node.abandon()
        return outcome

    async def _talk(self) -> dict[str, float]:
        speaking = [asyncio.create_task(self._speak(name)) for name in self._names]
        await asyncio.sleep(WARM_S)
        quiet, busy = [], []
        for number in range(self._rounds):
            quiet.append(await self._measure(asyncio.sleep(self._round_s)))
            joins = self._joins_left // (self._rounds - number)
            busy.append(await self._measure(self._visits(joins)))
        await asyncio.gather(*speaking)
        await self._rest()
        return self._found(quiet, busy)

    async def _measure(self, meanwhile: Coroutine[None, None, None]) -> list[int]:
        """The delays of what members have read while this was done, sorted."""
        members = [self._agents[name] for name in self._names]
        before = [len(member.delays_ns) for member in members]
        await meanwhile
        read = zip(members, before, strict=True)
        return sorted(delay for member, first in read for delay in member.delays_ns[first:])

    async def _visits(self, joins: int) -> None:
        """So many joins and leaves at an even rate, or fewer if guests are too slow."""
        begun = time.monotonic()
        tickets = iter(range(joins))

        async def visit(guest: Agent) -> None:
            for ticket in tickets:
                due = begun + self._round_s * ticket / joins
                await asyncio.sleep(max(0.0, due - time.monotonic()))
                if time.monotonic() > begun + self._round_s:
                    break
                self._joins_left -= 1
                await self._visit(guest)

        await asyncio.gather(*(visit(guest) for guest in self._guests.values()))
        await asyncio.sleep(max(0.0, begun + self._round_s - time.monotonic()))

    async def _visit(self, guest: Agent) -> None:
        """One guest comes, says something and goes."""
        known = [name for name in self._names if name in guest.node.peers]
        via = self._rng.choice(known)
        begun = time.monotonic_ns()
        await guest.node.request(via, b"", timeout=JOIN_S)
        asked = time.monotonic_ns()
        try:
            async with asyncio.timeout(JOIN_S):
                await guest.enter(via)
        except TimeoutError:
            self._failed += 1
            return
        self._round_trip_ns.append(asked - begun)
        self._join_ns.append(time.monotonic_ns() - asked)
        peers = guest.node.stats().peers
        self._network_ns.extend(peer.round_trip_ns for peer in peers if peer.name == via)
        await guest.say(self._processes, self._guests)
        await guest.leave()

    def _peers_of(self, name: str) -> dict[str, Address | str]:
        return super()._peers_of(name) if self._proxy is None else {**self._proxy.peers_of(name)}

    def _missing(self) -> int:
        """How many words, of members and guests, some members do not have."""
        return sum(
            author.said - member.last.get(author.process, 0)
            for author in self._lives
            for member in self._agents.values()
        )

    def _found(self, quiet: list[list[int]], busy: list[list[int]]) -> dict[str, float]:
        found = judge(self._log.table())
        quiet_ms = statistics.median(milliseconds(delays, 0.99) for delays in quiet)
        busy_ms = statistics.median(milliseconds(delays, 0.99) for delays in busy)
        join_ms, trip_ms, network_ms = (
            milliseconds(sorted(times), 0.5)
            for times in (self._join_ns, self._round_trip_ns, self._network_ns)
        )
        measured = sum(map(len, quiet + busy))
        return {
            "joins_and_leaves": len(self._join_ns),
            "joins_not_begun": self._joins_left,
            "joins_failed": self._failed,
            "deliveries": sum(len(agent.delays_ns) for agent in self._lives),
            "per_s": round(measured / (self._round_s * 2 * self._rounds)),
            "early": len(found.violations),
            "doubled": len(found.duplicates),
            "invented": len(found.inventions),
            "missing": self._missing(),
            "gaps": sum(agent.gaps for agent in self._lives),
            "join_ms": join_ms,
            "join_p99_ms": milliseconds(sorted(self._join_ns), 0.99),
            "round_trip_ms": trip_ms,
            "join_in_round_trips": ratio(join_ms, trip_ms),
            "network_round_trip_ms": network_ms,
            "join_in_network_trips": ratio(join_ms, network_ms),
            "p99_ms_quiet": round(quiet_ms, 2),
            "p99_ms_with_joins": round(busy_ms, 2),
            "p99_ratio": ratio(busy_ms, quiet_ms),
        }


async def answer(message: Message) -> None:
    """What a round trip is measured with."""
    await message.reply(b"")


def milliseconds(sorted_ns: Sequence[int], quantile: float) -> float:
    """A quantile of times."""
    return round(sorted_ns[int(len(sorted_ns) * quantile)] / 1e6, 2) if sorted_ns else 0.0


def ratio(one: float, other: float) -> float:
    """How many times as much; 0 if nothing was measured."""
    return round(one / other, 2) if other else 0.0


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        prog="python -m bench rooms",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    modes = parser.add_subparsers(dest="mode", required=True)
    churn = modes.add_parser("churn", help="joins and leaves while others talk")
    churn.add_argument("--members", type=int, default=10, help="who stay and talk (default 10)")
    churn.add_argument("--guests", type=int, default=4, help="who join and leave (default 4)")
    churn.add_argument("--joins", type=int, default=1000, help="at most (default 1,000)")
    churn.add_argument(
        "--rate", type=float, default=10_000, help="deliveries/s at members (default 10,000)"
    )
    churn.add_argument("--seconds", type=float, default=48.0, help="of all rounds (default 48)")
    churn.add_argument("--rounds", type=int, default=2, help="of each kind (default 2)")
    churn.add_argument("--delay-ms", type=float, default=0.0, help="of every datagram (default 0)")
    fan = modes.add_parser("fan", help="one speaks to a large room; beside NATS and zenoh")
    fan.add_argument("--members", type=int, default=DEFAULTS.members, help="default %(default)s")
    fan.add_argument("--messages", type=int, default=DEFAULTS.messages, help="default %(default)s")
    fan.add_argument("--size", type=int, default=DEFAULTS.size, help="bytes (default %(default)s)")
    fan.add_argument("--rounds", type=int, default=1, help="default %(default)s")
    asked = vars(parser.parse_args())
    if asked["members"] < 2 or min(value for value in asked.values() if value != asked["mode"]) < 0:
        parser.error("at least two members, and nothing negative")
    if asked.pop("mode") == "fan":
        compare(**asked)
        return
    for key, value in asyncio.run(Churn(**asked).run()).items():
        print(f"{key:22} {value:,}")


if __name__ == "__main__":
    main()
