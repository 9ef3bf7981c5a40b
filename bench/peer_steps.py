"""How much work a message makes for a node with many peers, counted in executed lines.

A hub writes to all its peers in turn, a few messages at a time, and everything that follows (acks,
permits, timers) counts, on both sides: all of the core and of the link. Processor time would also
count how cold the caches are; that is what `python -m bench study crowd` measures.
"""

import json
from heapq import heappop, heappush
from typing import Final

import antecede.core
import antecede.durability
import antecede.endpoint
import antecede.membership
import antecede.network_model
import antecede.runtime
import antecede.transport
from antecede.core.process import NodeProcess
from antecede.durability.recorder import Recorder
from antecede.endpoint.endpoint import Endpoint
from antecede.endpoint.limits import Limits
from antecede.membership.contact import Contact
from antecede.membership.identity import Identity, TokenSource
from antecede.runtime.config.settings import Settings
from antecede.runtime.content import Content
from antecede.runtime.targets import chosen_targets
from antecede_lab.catalogue import find_protocol
from bench.steps import Measured, StepCounter, spread

LAYERS: Final = (antecede.core, antecede.durability, antecede.endpoint, antecede.membership)
FOLDERS: Final = tuple(
    layer.__path__[0] for layer in (*LAYERS, antecede.transport, antecede.network_model)
)
PEERS: Final = (2, 8, 32, 128, 500)
MESSAGES: Final = 2_000
TOGETHER: Final = 4
TARGETS: Final = (1, 8, 32, 128)
MULTICASTS: Final = 20
HUB: Final = "hub"
SETTINGS: Final = Settings(name=HUB)
DATAGRAM: Final = 1_400
SECOND_NS: Final = 1_000_000_000


class CountedTokens(TokenSource):
    """Tokens that are only different from each other, which is enough here."""

    def __init__(self) -> None:
        self._last = 0

    def fresh(self) -> int:
        self._last += 1
        return self._last


class Star:
    """A hub and its peers; datagrams arrive at once, and only who has a reason to is looked at."""

    def __init__(self, peers: int, datagram: int = DATAGRAM) -> None:
        self._tokens = CountedTokens()
        # Nobody is idle for so long that heartbeats would be among what is counted.
        self._limits = Limits(heartbeat_ns=3_600 * SECOND_NS)
        self._nodes: dict[str, Endpoint] = {}
        self._wakes: list[tuple[int, str]] = []
        self._now_ns = SECOND_NS
        self.hub = self._add(HUB, 1)
        for number in range(peers):
            name = f"n{number}"
            other = self._add(name, number + 2)
            other.add_peer(HUB, HUB, 1, datagram, self._now_ns)
            self.hub.add_peer(name, name, number + 2, datagram, self._now_ns)
        self.contacts = list(self.hub.directory.by_name.values())
        for name in self._nodes:
            self._ring(name)
        self.pass_time(3 * SECOND_NS)

    def _add(self, name: str, process: int) -> Endpoint:
        me = Identity(
            name,
            incarnation=self._tokens.fresh(),
            process=process,
            window=int(self._limits.window),
            payload_limit=1 << 20,
            socket_bytes=1 << 20,
        )
        core = find_protocol("hybrid").create(0, range(1 << 16), payload_limit=1 << 16)
        assert isinstance(core, NodeProcess)
        self._nodes[name] = Endpoint(
            me, core, self._tokens, self._limits, None, True, None, Recorder()
        )
        return self._nodes[name]

    def _ring(self, name: str) -> None:
        """Let a node do what is due, and everybody what follows."""
        self._nodes[name].expire(self._now_ns)
        concerned = [name]
        while concerned:
            name = concerned.pop()
            node = self._nodes[name]
            node.take_inbox()
            node.write(self._now_ns)
            for datagram in node.out:
                target = str(datagram.address)
                self._nodes[target].receive(name, datagram.data, self._now_ns)
                concerned.append(target)
            node.out.clear()
            heappush(self._wakes, (int(node.wake_ns()), name))

    def pass_time(self, duration_ns: int) -> None:
        """Let timers ring for so long."""
        end_ns = self._now_ns + duration_ns
        while self._wakes[0][0] <= end_ns:
            due_ns, name = heappop(self._wakes)
            self._now_ns = max(self._now_ns, due_ns)
            if self._nodes[name].wake_ns() <= self._now_ns:
                self._ring(name)
        self._now_ns = end_ns

    def write_to(self, contact: Contact) -> None:
        """A few messages to one peer, and time for what follows from them."""
        for _ in range(TOGETHER):
            self.hub.sending.send([contact], False, b"", self._now_ns)
        self._ring(HUB)
        self.pass_time(SECOND_NS // 1_000)

    def multicast(
        self, names: str | list[str], payload: bytes = b"", count: int = TOGETHER
    ) -> None:
        """A few messages to all of these, as `send` does it, and time for what follows."""
        sending = self.hub.sending
        for _ in range(count):
            if sending.send_fast(names, payload, self._now_ns) == 0:
                chosen = chosen_targets(self.hub.directory, names, Content(payload), SETTINGS)
                sending.send(chosen.contacts, chosen.to_self, chosen.data, self._now_ns)
        self._ring(HUB)
        self.pass_time(SECOND_NS // 1_000)


def steps_with_peers(peers: int) -> Measured:
    """Steps per message of a hub that has so many peers."""
    star = Star(peers)
    turns = [star.contacts[turn % peers] for turn in range(MESSAGES // TOGETHER)]
    for contact in turns[:peers]:
        star.write_to(contact)
    with StepCounter(FOLDERS) as counter:
        for contact in turns:
            star.write_to(contact)
    return Measured(
        situation="hub, n peers", size=peers, steps_per_message=counter.steps / MESSAGES
    )


def steps_of_a_multicast(targets: int) -> Measured:
    """Steps per copy of messages to so many at once: whom they are for, and all that follows."""
    star = Star(targets)
    names = [contact.name for contact in star.contacts]
    star.multicast(names)
    with StepCounter((*FOLDERS, antecede.runtime.__path__[0])) as counter:
        for _ in range(MULTICASTS):
            star.multicast(names)
    return Measured(
        situation="multicast to n",
        size=targets,
        steps_per_message=counter.steps / MULTICASTS / TOGETHER / targets,
    )


def main() -> None:
    """Print the series, and how flat it is, as JSON."""
    series = [steps_with_peers(peers) for peers in PEERS]
    copies = [steps_of_a_multicast(targets) for targets in TARGETS]
    answer = {
        "steps_per_message_by_peers": {point.size: point.steps_per_message for point in series},
        "spread_by_peers": round(spread(series), 3),
        "steps_per_copy_by_targets": {point.size: point.steps_per_message for point in copies},
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
