"""Honest processes on a bad network, while somebody injects packets that nobody honest sent.

Whatever is injected, `arrive` may only refuse it with `RemoteError`, unchanged. At the end the
faults stop, and what honest processes said to each other must have been delivered exactly once.
"""

from collections.abc import Sequence
from random import Random

from antecede.core import (
    BufferFull,
    CausalProcess,
    Effect,
    Message,
    Packet,
    RemoteError,
    Transmit,
)
from antecede.core.catalogue import ProtocolInfo
from antecede.core.packets import Ack, DataPacket, Permit
from antecede_lab.protocols.facts.packets import FactsAck, FactsMessage, FactsPermit
from antecede_lab.protocols.mf import MfAck, MfMessage
from antecede_lab.protocols.psync import PsyncAck, PsyncMessage

MessageId = tuple[int, int]
"""Sender and sequence."""

ROUNDS_MAX = 200
HUGE = (1 << 62) - 1


class HostileRun:
    """A group of honest processes, and what they have sent and delivered."""

    def __init__(
        self, info: ProtocolInfo, honest: Sequence[int], everyone: Sequence[int], random: Random
    ) -> None:
        self.info = info
        self.ordering = info.ordering
        self.random = random
        self.everyone = everyone
        self.processes: dict[int, CausalProcess] = {
            me: info.create(me, everyone, patience_ns=10) for me in honest
        }
        self.now_ns = 0
        self.flying: list[tuple[int, int, Packet]] = []
        self.transmitted: dict[tuple[int, int], list[Packet]] = {}
        self.targets: dict[MessageId, list[int]] = {}
        self.causes: dict[MessageId, frozenset[MessageId]] = {}
        self.past: dict[int, set[MessageId]] = {me: set() for me in honest}
        self.delivered: dict[int, list[MessageId]] = {me: [] for me in honest}

    # What honest processes and the network do.

    def submit(self, me: int) -> None:
        """`me` sends to somebody, or to several where there is multicast; the liar included.

        If it has no room, it does not.
        """
        others = [process for process in self.everyone if process != me]
        count = self.random.randint(1, len(others)) if self.info.multicast else 1
        if self.info.broadcast_only:
            count = len(others)
        targets = self.random.sample(others, count)
        try:
            effects = self.processes[me].submit(targets, b"x", self.now_ns)
        except BufferFull:
            return
        message = (me, 1 + sum(sender == me for sender, _ in self.targets))
        self.targets[message] = targets
        self.causes[message] = frozenset(self.past[me])
        self.past[me].add(message)
        self.perform(me, effects)

    def arrive(self, source: int, me: int, packet: Packet) -> bool:
        """A packet arrives, real or not; whether it was taken in."""
        before = self.processes[me].fingerprint()
        try:
            effects = self.processes[me].arrive(source, packet, self.now_ns)
        except RemoteError:
            assert self.processes[me].fingerprint() == before, f"{packet} was refused, but counted"
            return False
        self.perform(me, effects)
        return True

    def perform(self, me: int, effects: list[Effect]) -> None:
        """Put packets on the network and note deliveries."""
        for effect in effects:
            if isinstance(effect, Transmit):
                self.transmitted.setdefault((me, effect.target), []).append(effect.packet)
                self.flying.append((me, effect.target, effect.packet))
            else:
                self.deliver(me, effect.message)

    def deliver(self, me: int, message: Message) -> None:
        """Note a delivery of an honest message, and that it came neither twice nor too early."""
        sender, sequence = message.sender, message.sequence
        if sender not in self.processes:
            return
        identity = (int(sender), int(sequence))
        assert me in self.targets.get(identity, []), f"{identity} was never sent to {me}"
        assert identity not in self.delivered[me], f"{identity} was delivered twice at {me}"
        for cause in self.causes[identity]:
            promised = self.ordering == "causal" or (self.ordering == "fifo" and cause[0] == sender)
            if promised and me in self.targets[cause]:
                assert cause in self.delivered[me], f"{identity} overtook {cause} at {me}"
        self.delivered[me].append(identity)
        self.past[me] |= self.causes[identity] | {identity}

    def stir(self) -> None:
        """Something happens on a network that loses, duplicates and reorders."""
        choice = self.random.random()
        if choice < 0.3 or not self.flying:
            self.submit(self.random.choice(list(self.processes)))
        elif choice < 0.4:
            self.now_ns += 10
            self.tick()
        else:
            index = self.random.randrange(len(self.flying))
            packet = self.flying[index] if choice < 0.5 else self.flying.pop(index)
            if choice < 0.8:
                self.bring(*packet)

    def bring(self, source: int, target: int, packet: Packet) -> None:
        """Bring a real packet to its target, if that is one of the honest."""
        if target in self.processes:
            self.arrive(source, target, packet)

    def tick(self) -> None:
        """Call whoever wants to be called by now."""
        for me, process in self.processes.items():
            deadline_ns = process.deadline_ns()
            if deadline_ns is not None and deadline_ns <= self.now_ns:
                self.perform(me, process.expire(self.now_ns))

    # The end: faults stop.

    def settle(self, lies: Sequence[Packet] = ()) -> None:
        """Bring everything, with the liar giving what it owes, until nobody waits for anything."""
        for _ in range(ROUNDS_MAX):
            if not self.flying and all(p.deadline_ns() is None for p in self.processes.values()):
                break
            for me in self.processes:
                self.make_good(me, lies)
            flying, self.flying = self.flying, []
            for packet in flying:
                self.bring(*packet)
            self.now_ns += 1000
            self.tick()
        else:
            raise AssertionError(f"somebody waits for ever; not delivered: {self.undelivered()}")
        assert self.undelivered() == [], "everybody believes that it was delivered"

    def make_good(self, me: int, lies: Sequence[Packet]) -> None:
        """The liar, if there is one, acknowledges what it was sent and permits what it said."""
        for liar in self.everyone:
            if liar in self.processes:
                continue
            for packet in [*self.transmitted.get((me, liar), [])]:
                if isinstance(packet, DataPacket):
                    self.arrive(liar, me, Ack(packet.carried.sequence))
                elif isinstance(packet, FactsMessage):
                    self.arrive(liar, me, FactsAck(packet.carried.sequence))
                elif isinstance(packet, MfMessage):
                    self.arrive(liar, me, MfAck(packet.carried.sequence))
                elif isinstance(packet, PsyncMessage):
                    self.arrive(liar, me, PsyncAck(packet.carried.sequence))
            for lie in lies:
                if isinstance(lie, DataPacket):
                    self.arrive(liar, me, Permit(lie.carried.sequence))
            self.arrive(liar, me, Permit(HUGE))
            self.arrive(liar, me, FactsPermit(HUGE))

    def undelivered(self) -> list[tuple[MessageId, int]]:
        """Copies between honest processes that have not been delivered."""
        return [
            (message, target)
            for message, targets in self.targets.items()
            for target in targets
            if target in self.processes and message not in self.delivered[target]
        ]
