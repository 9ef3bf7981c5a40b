"""Asks the nodes of a cluster how they stand, each at most once a second, and remembers a little.

Nodes come from a source (a list, a file, a DNS name), and from those that answer: a node says where
its peers serve HTTP, if they have told it. A node that does not answer is known as that.
"""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, TypeAlias

from antecede.core.errors import LocalError
from antecede.runtime.config.addresses import Address
from antecede_cli.view.answers import BadAnswer, NodeState, PeerState, read_state
from antecede_cli.view.asking import ANSWER_SECONDS, NoAnswer, get, place_in
from antecede_cli.view.happenings import Happenings
from antecede_cli.view.watched import Watched

EVERY_SECONDS: Final = 1.0
"""A node is asked once a second, never more often."""

EARLY_SECONDS: Final = 0.1
"""Rounds are a second apart, and timers are not exact: who was asked late in the last one may be
asked so much early, or it would be left out of every other round."""

ROUND_SECONDS: Final = 0.9
"""So long a round waits for answers; whoever is slower is shown with the next one."""

SOURCE_SECONDS: Final = 5.0
"""Who there is is asked every 5 s."""

NODES_MAX: Final = 1_000
"""At most 1,000 nodes are asked; what peers tell beyond that is not followed."""

AT_ONCE: Final = 64
"""At most 64 questions are under way."""

FORGET_SECONDS: Final = 600.0
"""A node that was found by asking, and that has not answered for 10 minutes, is forgotten."""

Identity: TypeAlias = tuple[str, int]
"""A name and an incarnation."""

Places: TypeAlias = Sequence[tuple[str, Address]]
"""What nodes are called, if that is known, and where they are."""
Source: TypeAlias = Callable[[], Places | Awaitable[Places]]

HERE: Final = ("here", "silent")


class Collector:
    """The nodes of one cluster, as they have answered."""

    def __init__(self, source: Source, *, follow: bool = True) -> None:
        self._source: Final = source
        self._follow: Final = follow
        self.watched: Final[dict[Address, Watched]] = {}
        """By where they are."""
        self.happenings: Final = Happenings()
        self.source_failure = ""
        """Why it is not known who there is; empty if it is."""
        self.rounds = 0
        """How often all were asked."""
        self._source_at_s = float("-inf")
        self._limit: Final = asyncio.Semaphore(AT_ONCE)
        self._asked_s: Final[dict[Address, float]] = {}
        self._asking: Final[set[asyncio.Task[None]]] = set()
        # Second addresses of nodes that answer, and which life of which node that is.
        self._doubles: Final[dict[Address, Identity]] = {}
        self._answering: dict[Identity, Watched] = {}

    async def run(self, on_round: Callable[[], object] = lambda: None) -> None:
        """Ask every second, until this is cancelled."""
        loop = asyncio.get_running_loop()
        try:
            while True:
                began = loop.time()
                await self.look(ROUND_SECONDS)
                on_round()
                await asyncio.sleep(max(0.0, began + EVERY_SECONDS - loop.time()))
        finally:
            for task in self._asking:
                task.cancel()

    async def look(self, seconds: float = 2 * ANSWER_SECONDS) -> None:
        """Ask everybody who was not asked within the last second, and those that are found by that.

        Who has not answered by then may still do: nobody waits for the slowest longer than this.
        """
        loop = asyncio.get_running_loop()
        end_s = loop.time() + seconds
        await self._ask_source()
        while self._start_asking() and loop.time() < end_s:
            await asyncio.wait(self._asking, timeout=end_s - loop.time())
            if self._follow:
                self._follow_peers()
        self._forget()
        self.rounds += 1

    def _start_asking(self) -> bool:
        """Ask all those whose turn it is; False if nobody has still to answer."""
        loop = asyncio.get_running_loop()
        now_s = loop.time()
        for place, one in self.watched.items():
            if now_s - self._asked_s.get(place, float("-inf")) >= EVERY_SECONDS - EARLY_SECONDS:
                self._asked_s[place] = now_s
                task = loop.create_task(self._ask(one))
                self._asking.add(task)
                task.add_done_callback(self._asking.discard)
        return bool(self._asking)

    async def _ask_source(self) -> None:
        now_s = asyncio.get_running_loop().time()
        if now_s - self._source_at_s < SOURCE_SECONDS:
            return
        self._source_at_s = now_s
        try:
            answer = self._source()
            found = await answer if inspect.isawaitable(answer) else answer
        except (OSError, ValueError, LocalError) as error:
            self.source_failure = getattr(error, "strerror", None) or str(error)
            return
        self.source_failure = ""
        for one in self.watched.values():
            one.list_no_more()
        for name, place in found:
            self._watch(place, name, listed=True)

    def _watch(self, place: Address, name: str, *, listed: bool) -> None:
        if self._doubles.get(place) in self._answering:
            return
        known = self.watched.get(place)
        if known is None and len(self.watched) < NODES_MAX:
            known = self.watched[place] = Watched(place, name, listed=listed)
        if known is not None:
            known.list_as(name, listed=listed)

    async def _ask(self, one: Watched) -> None:
        async with self._limit:
            try:
                body = await get(one.place, f"/state?since={one.last_event}")
                state = read_state(body)
            except (NoAnswer, BadAnswer) as error:
                self._on_failure(one, str(error))
            else:
                self._on_state(one, state)

    def _on_state(self, one: Watched, state: NodeState) -> None:
        before, now_s = one.state, time.time()
        if before is not None and before.incarnation != state.incarnation:
            self._note(state.name, "restarted", f"{state.name} was restarted")
        elif before is not None and one.failure:
            self._note(state.name, "answers", f"{state.name} answers again")
        if state.status != one.status:
            self._on_status(one.status, state)
        one.on_state(state, now_s)
        for event in state.events:
            at_s = now_s - event.ago_s
            self.happenings.add(state.name, at_s, event.kind, event.peer, event.text)

    def _on_status(self, before: str, state: NodeState) -> None:
        if state.status in ("blocked", "failing"):
            why = f": {state.reasons[0]}" if state.reasons else ""
            self._note(state.name, state.status, f"{state.name} is {state.status}{why}")
        elif before in ("blocked", "failing"):
            self._note(state.name, "ok", f"{state.name} is {before} no more")

    def _on_failure(self, one: Watched, reason: str) -> None:
        if not one.failure:
            self._note(one.name, "unreachable", f"{one.name} does not answer: {reason}")
        one.on_failure(reason, time.time())

    def _note(self, name: str, kind: str, text: str) -> None:
        self.happenings.add(name, time.time(), kind, name, text)

    def _follow_peers(self) -> None:
        """Watch also the peers of those that answer, where those have said where."""
        names = {one.name for one in self.watched.values() if one.answers}
        for one in list(self.watched.values()):
            if one.answers and one.state is not None:
                for peer in one.state.peers:
                    if not peer.http or peer.state not in HERE or peer.name in names:
                        continue
                    place = place_in(peer.http)
                    if place is not None:
                        self._watch(place, peer.name, listed=False)

    def _forget(self) -> None:
        """Forget who was found by asking and is gone for long, or is elsewhere; and doubles."""
        now_s = time.time()
        answering: dict[Identity, Watched] = {}
        names = {one.name for one in self.watched.values() if one.answers}
        for one in sorted(self.watched.values(), key=lambda one: not one.listed):
            if one.answers and one.state is not None:
                # Two addresses of one node: the one that somebody has asked for stays.
                identity = (one.state.name, one.state.incarnation)
                if answering.setdefault(identity, one) is not one:
                    self._doubles[one.place] = identity
                    self._drop(one)
            elif not one.listed and one.changed_s is not None:
                long_gone = now_s - one.changed_s > FORGET_SECONDS
                if long_gone or one.name in names:
                    self._drop(one)
        self._answering = answering

    def _drop(self, one: Watched) -> None:
        del self.watched[one.place]


def seen_of(watched: Mapping[Address, Watched]) -> dict[str, dict[str, PeerState]]:
    """For each name, how those that answer stand with it."""
    found: dict[str, dict[str, PeerState]] = {}
    for one in watched.values():
        if one.answers and one.state is not None:
            for peer in one.state.peers:
                found.setdefault(peer.name, {})[one.name] = peer
    return found


def look_twice(collector: Collector) -> None:
    """Ask everybody, and once more a second later: rates need two looks."""

    async def look() -> None:
        await collector.look()
        await asyncio.sleep(EVERY_SECONDS)
        await collector.look()

    asyncio.run(look())
