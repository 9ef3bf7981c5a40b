"""Piggybacking the predecessors themselves: a message brings along whatever it depends on.

Every process keeps the messages of its past that somebody may not have delivered yet, and sends
them along, payloads and all, with whatever it sends to someone who may not have them. A receiver
delivers those meant for it, in order, and then the message: nothing ever waits, and a message
may arrive with another one before it arrives itself. The price is bandwidth, and knowing when to
stop. Two sorts of knowledge end it here. A receiver acknowledges every packet to whoever sent it,
so that one learns who has what, and carries a message neither to those who have it nor for the
sake of targets that have it. And every sender knows from the acknowledgements of its own copies up
to which of its messages all are delivered everywhere; this *stable* id is passed on to whoever may
still keep older ones.

Paper: K. Birman, T. Joseph, "Reliable Communication in the Presence of Failures", ACM Transactions
on Computer Systems 5(1), 1987: its CBCAST, without failures, and to any targets.
Cost: everything in its past that is not known to be delivered, with every message; the same in
every process. One acknowledgement per copy. Latency is optimal, at times better than that of the
message's own copy. Work grows with what is carried.
"""

from collections.abc import Sequence
from typing import ClassVar, Final, TypeAlias, final

from mypy_extensions import i64, mypyc_attr

from antecede.core.checks import PAYLOAD_LIMIT, check_room
from antecede.core.effects import Deliver, Effect, Transmit
from antecede.core.errors import RemoteError
from antecede.core.packets import IdPacket, Message, MessagePacket, Packet, Value
from antecede_lab.protocols.group_process import GroupProcess

SEND_LIMIT: Final = 1 << 16
"""Messages that may be unacknowledged at once; beyond it `submit` raises BufferFull."""

CARRY_LIMIT: Final = 1 << 16
"""Predecessors in one packet; more are refused as `RemoteError`."""

Key: TypeAlias = tuple[int, int]
"""A message: its sender and its id."""


@final
@mypyc_attr(acyclic=True)
class Predecessor(Value):
    """A message that is carried along, and which of its targets may not have it, ascending."""

    __slots__ = ("message", "targets")

    FIELDS: ClassVar = ("message", "targets")

    def __init__(self, message: Message, targets: tuple[int, ...]) -> None:
        self.message: Final = message
        self.targets: Final = targets


@final
@mypyc_attr(acyclic=True)
class PiggybackMessage(MessagePacket):
    """A message, all its targets, what comes before it, and up to which ids senders are stable."""

    __slots__ = ("before", "stable", "targets")

    FIELDS: ClassVar = ("carried", "targets", "before", "stable")

    def __init__(
        self,
        carried: Message,
        targets: tuple[int, ...],
        before: tuple[Predecessor, ...],
        stable: tuple[tuple[int, int], ...],
    ) -> None:
        super().__init__(carried)
        self.targets: Final = targets
        self.before: Final = before
        self.stable: Final = stable

    @property
    def metadata_integers(self) -> int:
        """Id and targets; two and its targets for each predecessor; two for each stable id.

        The payloads of predecessors come on top: they are in the bytes of the wire.
        """
        total = 1 + len(self.targets) + 2 * len(self.stable)
        for predecessor in self.before:
            total += 2 + len(predecessor.targets)
        return total


@final
@mypyc_attr(acyclic=True)
class PiggybackAck(IdPacket):
    """The message with this id, and all that came with it, has been delivered or kept."""

    __slots__ = ()

    KIND: ClassVar[str] = "ack"

    # Compiled, a constructor that is inherited from a class open to interpreted ones runs twice.
    def __init__(self, sequence: i64) -> None:
        super().__init__(sequence)


@final
class CarriedMessage:
    """A message of the past: which of its targets may not have it, and who is known to."""

    MADE_OF: ClassVar = ("message", "pending", "had")

    __slots__ = ("had", "message", "pending")

    def __init__(self, message: Message, pending: list[int], had: dict[int, bool]) -> None:
        self.message: Final = message
        self.pending: list[int] = pending
        self.had: Final = had


@final
class PiggybackPeer:
    """What passed between us and another process, by the senders it is about."""

    MADE_OF: ClassVar = ()

    __slots__ = ("announced", "shared")

    def __init__(self) -> None:
        # The highest id of each sender whose message we exchanged, and the highest stable id.
        self.shared: dict[int, int] = {}
        self.announced: dict[int, int] = {}


@final
class PiggybackProcess(GroupProcess):
    """One process's side; packets to it arrive exactly once, in any order."""

    STATE: ClassVar[tuple[str, ...]] = (
        "_sequence",
        "_delivered",
        "_past",
        "_unacked",
        "_stable",
        "_peers",
    )
    OPTIONS: ClassVar[tuple[str, ...]] = ("send_limit", "carry_limit", "payload_limit")

    def __init__(
        self,
        me: int,
        processes: Sequence[int],
        *,
        send_limit: int = SEND_LIMIT,
        carry_limit: int = CARRY_LIMIT,
        payload_limit: int = PAYLOAD_LIMIT,
    ) -> None:
        super().__init__(me, processes, payload_limit)
        self._send_limit: Final[i64] = send_limit
        self._carry_limit: Final[i64] = carry_limit
        self._delivered: dict[int, int] = {}
        # What is carried along, causes before effects.
        self._past: dict[Key, CarriedMessage] = {}
        # Our messages by id; of each the targets that have not acknowledged it, and what they got.
        self._unacked: dict[int, dict[int, list[Key]]] = {}
        self._stable: dict[int, int] = {}
        self._peers: dict[int, PiggybackPeer] = {}

    def _check_targets(self, remote: list[int]) -> None:  # noqa: ARG002 - to anybody
        check_room(len(self._unacked), self._send_limit)

    def _send(self, message: Message, remote: list[int], now_ns: i64) -> list[Effect]:  # noqa: ARG002 - no timers
        if not remote:
            return []
        me = self._members.me
        self._unacked[message.sequence] = {}
        listed = tuple(sorted(remote))
        effects: list[Effect] = []
        for target in remote:
            effects.append(Transmit(target, self._packet_for(target, message, listed)))
        self._past[me, message.sequence] = CarriedMessage(message, list(listed), {me: True})
        return effects

    def arrive(self, source: int, packet: Packet, now_ns: int) -> list[Effect]:  # noqa: ARG002 - no timers
        if isinstance(packet, PiggybackAck):
            self._on_ack(source, packet.sequence)
            return []
        if not isinstance(packet, PiggybackMessage):
            raise RemoteError(f"a {packet.kind} from {source} has no meaning here")
        self._check(source, packet)
        self._learn(source, packet.stable)
        effects: list[Effect] = []
        for predecessor in packet.before:
            if self._take(source, predecessor.message, predecessor.targets):
                effects.append(Deliver(predecessor.message))
        if self._take(source, packet.carried, packet.targets):
            effects.append(Deliver(packet.carried))
        effects.append(Transmit(source, PiggybackAck(packet.carried.sequence)))
        return effects

    def buffered(self) -> int:
        """How many of our messages are not acknowledged by all."""
        return len(self._unacked)

    def _packet_for(
        self, target: int, message: Message, targets: tuple[int, ...]
    ) -> PiggybackMessage:
        """The message with everything before it that `target` is not known to have."""
        peer = self._peer(target)
        before: list[Predecessor] = []
        keys: list[Key] = []
        for key, kept in self._past.items():
            if target not in kept.had:
                before.append(Predecessor(kept.message, tuple(kept.pending)))
                keys.append(key)
                note_highest(peer.shared, key)
        self._unacked[message.sequence][target] = keys
        note_highest(peer.shared, (self._members.me, message.sequence))
        return PiggybackMessage(message, targets, tuple(before), self._news_for(target))

    def _news_for(self, target: int) -> tuple[tuple[int, int], ...]:
        """The stable ids that let `target` forget something, and that it has not been sent."""
        peer = self._peer(target)
        news: list[tuple[int, int]] = []
        for process in sorted(peer.shared):
            if process == target:
                continue
            stable = self._stable.get(process, 0)
            announced = peer.announced.get(process, 0)
            if stable > announced and peer.shared[process] > announced:
                news.append((process, stable))
                peer.announced[process] = stable
        return tuple(news)

    def _take(self, source: int, message: Message, targets: tuple[int, ...]) -> bool:
        """Keep a message that others may not have; whether it is to be delivered here and now."""
        me = self._members.me
        key: Key = (message.sender, message.sequence)
        note_highest(self._peer(source).shared, key)
        fresh = me in targets and key[1] > self._delivered.get(key[0], 0)
        if fresh:
            self._delivered[key[0]] = key[1]
        if key[1] <= self._stable.get(key[0], 0):
            return fresh
        kept = self._past.get(key)
        if kept is None:
            pending = [target for target in targets if target not in (me, source)]
            if pending:
                had = {key[0]: True, source: True, me: True}
                self._past[key] = CarriedMessage(message, pending, had)
            return fresh
        kept.pending = [target for target in kept.pending if target in targets]
        self._has(source, key)
        return fresh

    def _has(self, process: int, key: Key) -> None:
        """`process` has that message; once no target is without it, nobody has to carry it."""
        kept = self._past.get(key)
        if kept is None:
            return
        kept.had[process] = True
        kept.pending = [target for target in kept.pending if target != process]
        if not kept.pending:
            del self._past[key]

    def _learn(self, source: int, stable: tuple[tuple[int, int], ...]) -> None:
        announced = self._peer(source).announced
        raised: dict[int, int] = {}
        for process, sequence in stable:
            if sequence > announced.get(process, 0):
                announced[process] = sequence
            if sequence > self._stable.get(process, 0):
                self._stable[process] = sequence
                raised[process] = sequence
        if raised:
            self._past = {
                key: kept for key, kept in self._past.items() if key[1] > raised.get(key[0], 0)
            }

    def _on_ack(self, source: int, sequence: int) -> None:
        waited_for = self._unacked.get(sequence)
        if waited_for is None or source not in waited_for:
            raise RemoteError(f"{source} acknowledges {sequence}, which was not sent to it")
        me = self._members.me
        for key in waited_for.pop(source):
            self._has(source, key)
        self._has(source, (me, sequence))
        if not waited_for:
            del self._unacked[sequence]
            self._stable[me] = next(iter(self._unacked), int(self._sequence) + 1) - 1

    def _check(self, source: int, packet: PiggybackMessage) -> None:
        """`RemoteError` if no correct process sends this."""
        members = self._members
        members.check_message(source, packet.carried, packet.targets)
        if len(packet.before) > self._carry_limit:
            raise RemoteError(f"{source} sent {len(packet.before)} messages with another one")
        for predecessor in packet.before:
            message = predecessor.message
            own = message.sender == source
            if message.sequence < 1 or (own and message.sequence >= packet.carried.sequence):
                raise RemoteError(f"{source} carries {message.sequence} of {message.sender}")
            if message.sender == members.me or not members.knows(message.sender):
                raise RemoteError(f"{source} carries a message of {message.sender}")
            self._check_pending(source, message.sender, predecessor.targets)
        before = -1
        for process, sequence in packet.stable:
            if process <= before or not members.knows(process) or sequence < 1:
                raise RemoteError(f"{source} sent bad stable ids: {packet.stable}")
            if process == members.me and sequence > self._stable.get(process, 0):
                raise RemoteError(f"{source} knows more of {process} than that itself")
            before = process

    def _check_pending(self, source: int, sender: int, targets: tuple[int, ...]) -> None:
        before = -1
        for target in targets:
            if target <= before or not self._members.knows(target) or target in (source, sender):
                raise RemoteError(f"{source} carries a message for {targets}")
            before = target
        if before < 0:
            raise RemoteError(f"{source} carries a message that everybody has")

    def _peer(self, process: int) -> PiggybackPeer:
        peer = self._peers.get(process)
        if peer is None:
            peer = self._peers[process] = PiggybackPeer()
        return peer

    def fingerprint(self) -> bytes:
        past = [(kept.message, kept.pending, sorted(kept.had)) for kept in self._past.values()]
        unacked = [(n, sorted(waited_for.items())) for n, waited_for in self._unacked.items()]
        peers = [
            (process, sorted(peer.shared.items()), sorted(peer.announced.items()))
            for process, peer in sorted(self._peers.items(), key=first_of)
            if peer.shared or peer.announced
        ]
        known = sorted(self._delivered.items()), sorted(self._stable.items())
        return repr((self._members.me, int(self._sequence), past, unacked, known, peers)).encode()


def note_highest(highest: dict[int, int], key: Key) -> None:
    """Remember the highest id of each sender."""
    if key[1] > highest.get(key[0], 0):
        highest[key[0]] = key[1]


def first_of(item: tuple[int, PiggybackPeer]) -> int:
    """Peers are told in the order of their ids."""
    return item[0]
