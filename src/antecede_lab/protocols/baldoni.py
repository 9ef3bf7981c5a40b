"""Baldoni's positive acknowledgements: vector clocks whose counters are counted modulo k.

A process broadcasts to all, and takes no further message until everybody has acknowledged the
last one, which each does after delivering it; until then `submit` raises `BufferFull`. Over FIFO
links that keeps everybody close together: a counter in a message that arrives is at most one below
and at most one above what the receiver has delivered. So three values tell them apart, and a
counter takes two bits instead of a number that grows for ever. A receiver delivers as in `bss`.

Why one below is enough: let i send m when it had delivered x messages of j. Before j completes its
message x+1, i acknowledges it, behind m on their link; and every process acknowledges it behind
whatever of m's past it sent to j. So j has delivered m before it sends x+2, and nobody delivers
x+2 before m. By the same argument a window of w messages has counters from w below to w above.

`window` and `carried_acks` are the article's two extensions as far as abstracts tell them, and not
live: with a window of w, fewer than 2w+1 values (`modulus`) let a message of the past be taken for
one of the future; acknowledgements that ride in the vectors of messages never leave a process that
has nothing to say, or may not.

Paper: R. Baldoni, "A Positive Acknowledgment Protocol for Causal Broadcasting", IEEE Transactions
on Computers 47(12), 1998. A reconstruction: the text leaves its abstract, and what others say.
Cost: n counters of two bits and an id per message, n-1 acknowledgements; n integers per process,
n steps per delivery. A sender waits a round trip to the slowest for each message.
"""

from collections.abc import Sequence
from typing import ClassVar, Final, final

from mypy_extensions import i64, mypyc_attr

from antecede.core.checks import PAYLOAD_LIMIT
from antecede.core.effects import Deliver, Effect, Transmit
from antecede.core.errors import BufferFull, LocalError, RemoteError
from antecede.core.packets import IdPacket, Message, MessagePacket, Packet
from antecede_lab.protocols.group_process import ReceiverBuffering, to_each


@final
@mypyc_attr(acyclic=True)
class BaldoniMessage(MessagePacket):
    """A message to everybody else, and a counter of each process, ascending, modulo k."""

    __slots__ = ("counters",)

    FIELDS: ClassVar = ("carried", "counters")

    def __init__(self, carried: Message, counters: tuple[int, ...]) -> None:
        super().__init__(carried)
        self.counters: Final = counters

    @property
    def metadata_integers(self) -> int:
        """The id, and the counters, however few bits one takes."""
        return 1 + len(self.counters)


@final
@mypyc_attr(acyclic=True)
class BaldoniAck(IdPacket):
    """The message with this id has been delivered."""

    __slots__ = ()

    KIND: ClassVar[str] = "ack"

    # Compiled, a constructor that is inherited from a class open to interpreted ones runs twice.
    def __init__(self, sequence: i64) -> None:
        super().__init__(sequence)


@final
class BaldoniProcess(ReceiverBuffering[BaldoniMessage]):
    """One member; messages to it arrive exactly once, in the order in which they were sent."""

    PACKET: ClassVar[type[Packet]] = BaldoniMessage
    STATE: ClassVar[tuple[str, ...]] = (
        "_members",
        "_sequence",
        "_delivered",
        "_acknowledged",
        "_room",
    )
    OPTIONS: ClassVar[tuple[str, ...]] = ("window", "modulus", "carried_acks", "payload_limit")

    def __init__(
        self,
        me: int,
        processes: Sequence[int],
        *,
        window: int = 1,
        modulus: int | None = None,
        carried_acks: bool = False,
        payload_limit: int = PAYLOAD_LIMIT,
    ) -> None:
        if window < 1 or (modulus is not None and modulus <= window):
            raise LocalError(f"{window} messages and {modulus} values: at least 1, and one more")
        # Nobody sends more than a window, so no more than that of one process can wait here.
        super().__init__(me, processes, receive_limit=window, payload_limit=payload_limit)
        self._window: Final = window
        self._modulus: Final[int] = 2 * window + 1 if modulus is None else modulus
        self._carried_acks: Final = carried_acks

    def _begin(self) -> None:
        # By process, how many of its messages are delivered here, and of ours there.
        self._delivered: dict[int, int] = dict.fromkeys(self._members.ids(), 0)
        others = [process for process in self._members.ids() if process != self._members.me]
        self._acknowledged: dict[int, int] = dict.fromkeys(others, 0)
        self._places = {process: place for place, process in enumerate(self._delivered)}

    def _check_targets(self, remote: list[int]) -> None:
        self._members.check_all(remote)
        for process, acknowledged in self._acknowledged.items():
            if self._sequence - acknowledged >= self._window:
                raise BufferFull(f"{process} has not acknowledged message {acknowledged + 1} yet")

    def _copies(self, message: Message, remote: list[int]) -> list[Effect]:
        self._delivered[self._members.me] = message.sequence
        counters = tuple([count % self._modulus for count in self._delivered.values()])
        return to_each(remote, BaldoniMessage(message, counters))

    def arrive(self, source: int, packet: Packet, now_ns: int) -> list[Effect]:
        if isinstance(packet, BaldoniAck):
            self._check_ack(source, packet)
            self._acknowledged[source] = packet.sequence
            return []
        effects: list[Effect] = []
        for effect in super().arrive(source, packet, now_ns):
            effects.append(effect)
            if isinstance(effect, Deliver) and not self._carried_acks:
                message = effect.message
                effects.append(Transmit(message.sender, BaldoniAck(message.sequence)))
        if self._carried_acks and isinstance(packet, BaldoniMessage):
            self._acknowledged[source] += self._newly_acknowledged(source, packet)
        return effects

    def buffered(self) -> int:
        """How many of our messages somebody has not acknowledged."""
        return self._sequence - min(self._acknowledged.values(), default=self._sequence)

    def _missing_before(self, packet: BaldoniMessage) -> list[tuple[int, int]]:
        sender: int = packet.carried.sender
        missing: list[tuple[int, int]] = []
        if self._delivered[sender] < packet.carried.sequence - 1:
            missing.append((sender, packet.carried.sequence - 1))
        for process, place in self._places.items():
            delivered = self._delivered[process]
            ahead = (packet.counters[place] - delivered) % self._modulus
            if process not in (sender, self._members.me) and 1 <= ahead <= self._window:
                missing.append((process, delivered + ahead))
        return missing

    def _take_in(self, packet: BaldoniMessage) -> None:
        sender: int = packet.carried.sender
        self._delivered[sender] = packet.carried.sequence
        self._room.reached(sender, packet.carried.sequence)

    def _check(self, source: int, packet: BaldoniMessage) -> int:
        self._members.check_message(source, packet.carried, (self._members.me,))
        sequence: int = packet.carried.sequence
        waiting = self._room.count(source)
        if sequence != self._delivered[source] + waiting + 1:
            raise RemoteError(f"message {sequence} of {source} is not its next one")
        if len(packet.counters) != self._members.size or max(packet.counters) >= self._modulus:
            raise RemoteError(f"{source} sent bad counters: {packet.counters}")
        if min(packet.counters) < 0 or packet.counters[self._places[source]] != (
            sequence % self._modulus
        ):
            raise RemoteError(f"message {sequence} of {source} has counters {packet.counters}")
        if self._newly_acknowledged(source, packet) > self._sequence - self._acknowledged[source]:
            raise RemoteError(f"{source} knows a message that {self._members.me} never sent")
        if waiting >= self._window:
            raise RemoteError(f"{source} sent more than a window of {self._window}")
        return sequence

    def _check_ack(self, source: int, packet: BaldoniAck) -> None:
        """`RemoteError` unless that is the next one that `source` owes."""
        acknowledged = self._acknowledged.get(source, self._sequence)
        due = self._sequence > acknowledged and not self._carried_acks
        if not due or packet.sequence != acknowledged + 1:
            raise RemoteError(f"{source} acknowledges {packet.sequence} after {acknowledged}")

    def _newly_acknowledged(self, source: int, packet: BaldoniMessage) -> int:
        """How many of ours `source` had delivered, beyond those that we know of."""
        mine = packet.counters[self._places[self._members.me]]
        return (mine - self._acknowledged[source]) % self._modulus
