"""Psync: every message names the messages it follows directly, and what is missing is asked for.

A group holds one conversation, and every message goes to all. What a process has delivered forms a
graph: each message hangs on those that were the *leaves*, the ones nobody had followed yet, of its
sender's view. A message carries the ids of these leaves and nothing else, at most one of each
process. A receiver delivers it when it has delivered them; if one is missing, it asks whoever the
message came from, who must have it, and gets it with its own leaves, and so on backwards. So a lost
message is repaired by anybody, as soon as something follows it.

What nothing follows cannot be missed, and what nobody says is done with must be kept for ever. The
paper leaves both to the application; here receivers acknowledge to the sender, which transmits
again on a timer. When a message is acknowledged by all, whatever it follows has been delivered by
all too, and is no longer kept for those who might ask.

Paper: L. Peterson, N. Buchholz, R. Schlichting, "Preserving and Using Context Information in
Interprocess Communication", ACM Transactions on Computer Systems 7(3), 1989; without its handling
of failures.
Cost: two integers and two for each leaf, from one when processes speak in turn to n when all speak
at once; the same per process, besides the messages kept. Latency is optimal on a network that loses
nothing. One acknowledgement per copy; requests and answers where packets are lost or overtaken.
"""

from collections.abc import Sequence
from typing import ClassVar, Final, TypeAlias, final

from mypy_extensions import i64, mypyc_attr

from antecede.core.checks import PAYLOAD_LIMIT, check_room
from antecede.core.effects import Deliver, Effect, Transmit
from antecede.core.errors import RemoteError
from antecede.core.packets import IdPacket, Message, MessagePacket, Packet
from antecede.core.process import NEVER_NS
from antecede.core.retransmission import PATIENCE_NS, RetransmissionTimer, RetransmissionTimers
from antecede_lab.protocols.group_process import GroupProcess
from antecede_lab.protocols.receive_buffer import RECEIVE_LIMIT, ReceiveBuffer

SEND_LIMIT: Final = 1 << 16
"""Messages that may be unacknowledged at once; beyond it `submit` raises BufferFull."""

KEEP_LIMIT: Final = 1 << 12
"""Messages of others that are kept for those who ask; beyond it the oldest is forgotten."""

Ids: TypeAlias = tuple[tuple[int, int], ...]
"""Messages: of some processes, in ascending order, one id each."""


@final
@mypyc_attr(acyclic=True)
class PsyncMessage(MessagePacket):
    """A message of anybody's (its `sender` is who submitted it) and what it directly follows."""

    __slots__ = ("follows",)

    FIELDS: ClassVar = ("carried", "follows")

    def __init__(self, carried: Message, follows: Ids) -> None:
        super().__init__(carried)
        self.follows: Final = follows

    @property
    def metadata_integers(self) -> int:
        """Its sender and id, and those of the messages it follows."""
        return 2 + 2 * len(self.follows)


@final
@mypyc_attr(acyclic=True)
class PsyncAck(IdPacket):
    """Your messages up to this one have been delivered."""

    __slots__ = ()

    KIND: ClassVar[str] = "ack"

    # Compiled, a constructor that is inherited from a class open to interpreted ones runs twice.
    def __init__(self, sequence: i64) -> None:
        super().__init__(sequence)


@final
@mypyc_attr(acyclic=True)
class PsyncRequest(Packet):
    """You sent something that follows these messages: please send them, too."""

    __slots__ = ("missing",)

    KIND: ClassVar[str] = "request"
    FIELDS: ClassVar = ("missing",)

    def __init__(self, missing: Ids) -> None:
        self.missing: Final = missing

    @property
    def metadata_integers(self) -> int:
        """Sender and id of each."""
        return 2 * len(self.missing)


@final
class Own:
    """A message of ours that somebody may not have, and how much was kept when it left."""

    __slots__ = ("kept", "packet")

    def __init__(self, packet: PsyncMessage, kept: i64) -> None:
        self.packet: Final = packet
        self.kept: Final[i64] = kept


@final
class Other:
    """Another process: how many of our messages it has delivered, and we of its messages."""

    MADE_OF: ClassVar = ("id",)

    __slots__ = ("acked", "alarm", "delivered", "id")

    def __init__(self, process: i64) -> None:
        self.id: Final[i64] = process
        self.alarm = RetransmissionTimer(process)
        self.acked: i64 = 0
        self.delivered: i64 = 0


@final
class PsyncProcess(GroupProcess):
    """One participant; every message goes to all the others."""

    STATE: ClassVar[tuple[str, ...]] = (
        "_sequence",
        "_others",
        "_leaves",
        "_own",
        "_retained",
        "_delivered_ever",
        "_asked",
        "_room",
        "_alarms",
    )
    OPTIONS: ClassVar[tuple[str, ...]] = (
        "send_limit",
        "keep_limit",
        "receive_limit",
        "payload_limit",
        "patience_ns",
    )

    def __init__(
        self,
        me: int,
        processes: Sequence[int],
        *,
        send_limit: int = SEND_LIMIT,
        keep_limit: int = KEEP_LIMIT,
        receive_limit: int = RECEIVE_LIMIT,
        payload_limit: int = PAYLOAD_LIMIT,
        patience_ns: int = PATIENCE_NS,
    ) -> None:
        super().__init__(me, processes, payload_limit)
        self._send_limit: Final[i64] = send_limit
        self._keep_limit: Final[i64] = keep_limit
        self._receive_limit: Final[i64] = receive_limit
        self._patience_ns: Final[i64] = patience_ns
        self._others: dict[int, Other] = {}
        # Of each process at most one message that nothing we have delivered follows.
        self._leaves: dict[int, int] = {}
        self._own: dict[int, Own] = {}
        # Messages of others in order of delivery, and how many there ever were, with those dropped.
        self._retained: dict[tuple[int, int], PsyncMessage] = {}
        self._delivered_ever: i64 = 0
        # Whom we asked for a message, until it is delivered.
        self._asked: dict[tuple[int, int], list[int]] = {}
        self._room: ReceiveBuffer[PsyncMessage] = ReceiveBuffer(receive_limit)
        self._alarms = RetransmissionTimers(patience_ns)
        for process in self._members.ids():
            if process != me:
                self._others[process] = Other(process)

    def _check_targets(self, remote: list[int]) -> None:
        self._members.check_all(remote)
        check_room(len(self._own), self._send_limit)

    def _send(self, message: Message, remote: list[int], now_ns: i64) -> list[Effect]:
        effects: list[Effect] = []
        if remote:
            me = self._members.me
            packet = PsyncMessage(message, tuple(sorted(self._leaves.items())))
            self._leaves = {me: message.sequence}
            self._own[message.sequence] = Own(packet, self._delivered_ever)
            for target in remote:
                self._alarms.start(self._others[target].alarm, now_ns)
                effects.append(Transmit(target, packet))
        return effects

    def arrive(self, source: int, packet: Packet, now_ns: int) -> list[Effect]:
        if source not in self._others:
            raise RemoteError(f"{packet.kind} from {source}, which is not one of the others")
        if isinstance(packet, PsyncMessage):
            self._check(source, packet)
            return self._on_message(source, packet)
        if isinstance(packet, PsyncAck):
            self._on_ack(source, packet.sequence, now_ns)
            return []
        if isinstance(packet, PsyncRequest):
            return self._on_request(source, packet.missing)
        raise RemoteError(f"a {packet.kind} from {source} has no meaning here")

    def deadline_ns(self) -> int | None:
        wake_ns = self._alarms.next_ns()
        return None if wake_ns == NEVER_NS else wake_ns

    def expire(self, now_ns: int) -> list[Effect]:
        effects: list[Effect] = []
        for alarm in self._alarms.expired(now_ns):
            target = self._others[alarm.owner]
            for sequence, own in self._own.items():
                if sequence > target.acked:
                    effects.append(Transmit(alarm.owner, own.packet))
            self._alarms.restart_with_backoff(alarm, now_ns)
        return effects

    def buffered(self) -> int:
        """How many of our messages are not acknowledged by all."""
        return len(self._own)

    # A message arrives: from its sender, or from somebody whom we asked for it.

    def _on_message(self, source: int, packet: PsyncMessage) -> list[Effect]:
        sender: int = packet.carried.sender
        sequence: int = packet.carried.sequence
        if sequence <= self._others[sender].delivered:
            delivered = self._others[sender].delivered
            return [Transmit(source, PsyncAck(delivered))] if source == sender else []
        missing = self._missing_before(packet)
        if not missing:
            return self._deliver_from(packet)
        if self._room.has(sender, sequence):
            # It comes again, so asking has not helped. What waits here may be a liar's version of
            # what its other receivers have: ask for that, too.
            return self._ask(source, missing)
        if self._room.count(sender) >= self._room.limit:
            return []  # It will come again.
        self._room.hold(packet, sender, sequence, missing)
        return self._ask(source, [key for key in missing if not self._room.has(key[0], key[1])])

    def _missing_before(self, packet: PsyncMessage) -> list[tuple[int, int]]:
        """What must be delivered here first; of its sender, at least everything before it."""
        sender: int = packet.carried.sender
        needed = dict(packet.follows)
        before = packet.carried.sequence - 1
        if before > needed.get(sender, 0):
            needed[sender] = before
        return [
            (process, sequence)
            for process, sequence in sorted(needed.items())
            if process != self._members.me and self._others[process].delivered < sequence
        ]

    def _deliver_from(self, packet: PsyncMessage) -> list[Effect]:
        """Deliver it, and what waited for nothing else; then tell the senders."""
        effects: list[Effect] = []
        senders: dict[int, bool] = {}
        ready: PsyncMessage | None = packet
        while ready is not None:
            sender: int = ready.carried.sender
            sequence: int = ready.carried.sequence
            # A liar may have sent two versions, of which one has been delivered.
            if sequence > self._others[sender].delivered:
                self._take_in(ready)
                effects.append(Deliver(ready.carried))
                senders[sender] = True
            ready = self._room.next_ready()
        for sender in senders:
            effects.append(Transmit(sender, PsyncAck(self._others[sender].delivered)))
        return effects

    def _take_in(self, packet: PsyncMessage) -> None:
        sender: int = packet.carried.sender
        sequence: int = packet.carried.sequence
        self._others[sender].delivered = sequence
        for process, followed in packet.follows:
            if self._leaves.get(process, 0) == followed:
                del self._leaves[process]
        self._leaves[sender] = sequence
        self._asked.pop((sender, sequence), None)
        self._retained[sender, sequence] = packet
        self._delivered_ever += 1
        if len(self._retained) > self._keep_limit:
            del self._retained[next(iter(self._retained))]
        self._room.reached(sender, sequence)

    def _ask(self, source: int, missing: list[tuple[int, int]]) -> list[Effect]:
        """Ask whoever sent us something for what it follows and we miss."""
        for key in missing:
            if key[0] != source:
                asked = self._asked.setdefault(key, [])
                if source not in asked:
                    asked.append(source)
        return [Transmit(source, PsyncRequest(tuple(missing)))] if missing else []

    # Control packets.

    def _on_ack(self, source: int, sequence: int, now_ns: int) -> None:
        other = self._others[source]
        if sequence < 1 or sequence > self._sequence:
            raise RemoteError(f"{source} acknowledges {sequence}, which was never sent")
        if sequence <= other.acked:
            return
        other.acked = sequence
        other.alarm.progress(now_ns)
        if sequence == self._sequence:
            other.alarm.stop()
        lowest: int = self._sequence
        for one in self._others.values():
            if one.acked < lowest:
                lowest = one.acked
        while self._own and next(iter(self._own)) <= lowest:
            own = self._own.pop(next(iter(self._own)))
            self._forget_up_to(own.kept)

    def _forget_up_to(self, count: i64) -> None:
        """Everybody has delivered the first `count` messages that we ever retained."""
        while self._retained and self._delivered_ever - len(self._retained) < count:
            del self._retained[next(iter(self._retained))]

    def _on_request(self, source: int, missing: Ids) -> list[Effect]:
        self._check_ids(source, missing)
        effects: list[Effect] = []
        for process, sequence in missing:
            packet = self._retained.get((process, sequence))
            if process == self._members.me and sequence in self._own:
                packet = self._own[sequence].packet
            if packet is not None and process != source:
                effects.append(Transmit(source, packet))
        return effects

    # What no correct process sends.

    def _check(self, source: int, packet: PsyncMessage) -> None:
        sender: int = packet.carried.sender
        sequence: int = packet.carried.sequence
        if sender == self._members.me or sender not in self._others or sequence < 1:
            raise RemoteError(f"{source} sent message {sequence} of {sender}")
        delivered = sequence <= self._others[sender].delivered or self._room.has(sender, sequence)
        if source != sender and not delivered and not self._was_asked(source, sender, sequence):
            raise RemoteError(f"{source} sent a message of {sender} that it was not asked for")
        self._check_ids(source, packet.follows)
        for process, followed in packet.follows:
            if process == sender and followed >= sequence:
                raise RemoteError(f"message {sequence} of {sender} cannot follow {followed}")

    def _was_asked(self, source: int, sender: int, sequence: int) -> bool:
        return source in self._asked.get((sender, sequence), [])

    def _check_ids(self, source: int, ids: Ids) -> None:
        before = -1
        for process, sequence in ids:
            if process <= before or not self._members.knows(process) or sequence < 1:
                raise RemoteError(f"{source} names messages that nobody can have sent: {ids}")
            if process == self._members.me and sequence > self._sequence:
                raise RemoteError(f"{source} knows a message that {process} never sent")
            before = process

    def fingerprint(self) -> bytes:
        others = [(process, int(o.acked), int(o.delivered)) for process, o in self._others.items()]
        own = [(own.packet, int(own.kept - self._delivered_ever)) for own in self._own.values()]
        views = sorted(self._leaves.items()), list(self._retained.values())
        asked = sorted([(key, sorted(whom)) for key, whom in self._asked.items()])
        state = (self._members.me, int(self._sequence), others, own, views, asked)
        return repr((state, self._room.state())).encode()
