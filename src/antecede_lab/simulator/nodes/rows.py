"""What observers of a simulation see of its nodes; with a journal, once it is on disk."""

from typing import Final, final

from mypy_extensions import i64, mypyc_attr

from antecede.core.packets import Message, Packet
from antecede.transport.event_rows import EventSink
from antecede_audit.judging.send_outcomes import Send, SendOutcomes
from antecede_lab.simulator.observer import MetadataSize, Observer

MEETING_NS: Final = 10_000_000_000
"""Nodes have 10 s to meet before the traffic begins, where no policy says otherwise."""


@final
@mypyc_attr(acyclic=True)
class SeenPacket(Packet):
    """A packet as observers see it: with the ids of the simulation, not those of a node."""

    __slots__ = ("_carried", "_integers", "_kind")

    def __init__(self, packet: Packet, sender: i64) -> None:
        self._kind: Final = packet.kind
        self._integers: Final = packet.metadata_integers
        message = packet.message
        self._carried: Final = (
            None if message is None else Message(sender, message.sequence, message.payload)
        )

    @property
    def kind(self) -> str:
        return self._kind

    @property
    def message(self) -> Message | None:
        return self._carried

    @property
    def metadata_integers(self) -> int:
        return self._integers


@final
class ObservedNode(EventSink):
    """Tells the observers of a simulation what happens at one node."""

    def __init__(
        self,
        me: int,
        observers: list[Observer],
        metadata_size: MetadataSize,
        meeting_ns: i64 = MEETING_NS,
        outcomes: SendOutcomes | None = None,
        *,
        holds_back: bool = False,
    ) -> None:
        super().__init__(me)
        self._meeting_ns: Final[i64] = meeting_ns
        # What the application has sent, if somebody records that.
        self.outcomes: Final = outcomes
        self._sends: list[Send] = []
        self._observers: Final = observers
        self._metadata_size: Final = metadata_size
        self.packets: i64 = 0
        # With a journal: what happened in a turn, until that is on disk.
        self.holds_back: Final = holds_back
        self._held: list[HeldRow] = []

    def show(self) -> None:
        """What was held back is on disk, and has happened."""
        held = self._held
        self._held = []
        if self.outcomes is not None:
            self.outcomes.sends.extend(self._sends)
            self._sends.clear()
        for row in held:
            if row.packet is not None:
                self._metadata_size.note(row.packet, row.metadata_bytes)
            for observer in self._observers:
                row.tell(observer, self.me)

    def drop(self) -> None:
        """The power has failed: it never happened."""
        self._held.clear()
        self._sends.clear()

    def sends(self, send: Send) -> None:
        """The application has called `send`."""
        if self.holds_back:
            self._sends.append(send)
        elif self.outcomes is not None:
            self.outcomes.sends.append(send)

    def announce(self, message: Message, targets: list[int], now_ns: i64) -> None:
        """A message is submitted, to all of its targets at once."""
        if self.holds_back:
            self._held.append(HeldRow(now_ns, message=message, targets=targets))
            return
        for observer in self._observers:
            observer.submitted(self.me, message, targets, now_ns)

    def submitted(self, sequence: i64, target: i64, size: i64, now_ns: i64) -> None:
        """The simulation itself tells of submissions, all targets at once."""

    def submitted_to_stranger(
        self, session: i64, sequence: i64, target: i64, size: i64, now_ns: i64
    ) -> None:
        """As above."""

    def introduced(self, session: i64, process: i64) -> None:
        """Nothing was held back for this."""

    def transmitted(
        self, packet: Packet, target: i64, identity: i64, frame_size: i64, now_ns: i64
    ) -> None:
        self.packets += 1
        seen = self._seen(packet, self.me, frame_size)
        if self.holds_back:
            size = self._metadata_bytes(seen, frame_size)
            self._held.append(
                HeldRow(now_ns - self._meeting_ns, seen, size, target, identity, True)
            )
            return
        for observer in self._observers:
            observer.transmitted(self.me, target, seen, identity, now_ns - self._meeting_ns)

    def arrived(
        self, packet: Packet, sender: i64, identity: i64, frame_size: i64, now_ns: i64
    ) -> None:
        seen = self._seen(packet, sender, frame_size)
        if self.holds_back:
            size = self._metadata_bytes(seen, frame_size)
            self._held.append(HeldRow(now_ns - self._meeting_ns, seen, size, sender, identity))
            return
        for observer in self._observers:
            observer.arrived(self.me, sender, seen, identity, now_ns - self._meeting_ns)

    def delivered(self, sender: i64, sequence: i64, payload: bytes, now_ns: i64) -> None:
        message = Message(sender, sequence, payload)
        if self.holds_back:
            self._held.append(HeldRow(now_ns - self._meeting_ns, message=message))
            return
        for observer in self._observers:
            observer.delivered(self.me, message, now_ns - self._meeting_ns)

    def _seen(self, packet: Packet, sender: i64, frame_size: i64) -> SeenPacket:
        seen = SeenPacket(packet, sender)
        self._metadata_size.note(seen, self._metadata_bytes(seen, frame_size))
        return seen

    def _metadata_bytes(self, seen: SeenPacket, frame_size: i64) -> i64:
        carried = seen.message
        return frame_size if carried is None else frame_size - len(carried.payload)


@final
class HeldRow:
    """Something that happened: to a packet, if there is one, or else to a message.

    A packet leaves or arrives; a message is submitted if there are targets, or else delivered.
    """

    __slots__ = (
        "_identity", "_leaves", "_message", "_now_ns", "_other", "_targets", "metadata_bytes",
        "packet",
    )  # fmt: skip

    def __init__(
        self,
        now_ns: i64,
        packet: SeenPacket | None = None,
        metadata_bytes: i64 = 0,
        other: i64 = 0,
        identity: i64 = 0,
        leaves: bool = False,
        *,
        message: Message | None = None,
        targets: list[int] | None = None,
    ) -> None:
        self._now_ns: Final[i64] = now_ns
        self.packet: Final = packet
        self.metadata_bytes: Final[i64] = metadata_bytes
        # Where a packet goes to, or comes from.
        self._other: Final[i64] = other
        self._identity: Final[i64] = identity
        self._leaves: Final = leaves
        self._message: Final = message
        self._targets: Final = targets

    def tell(self, observer: Observer, me: i64) -> None:
        """Let an observer know of it."""
        packet, message = self.packet, self._message
        if packet is not None and self._leaves:
            observer.transmitted(me, self._other, packet, self._identity, self._now_ns)
        elif packet is not None:
            observer.arrived(me, self._other, packet, self._identity, self._now_ns)
        elif message is not None and self._targets is not None:
            observer.submitted(me, message, self._targets, self._now_ns)
        elif message is not None:
            observer.delivered(me, message, self._now_ns)
