"""Protocols with one thing wrong each, small enough to see what it is.

All of them start from `Eager`, which delivers whatever arrives, once, as soon as it arrives. That
is right wherever nothing is promised but delivery, and the network neither loses nor duplicates.
"""
# ruff: noqa: ARG002 the contract has more arguments than careless protocols look at

from collections.abc import Callable, Sequence
from typing import Self

from antecede.core.catalogue import Network, Ordering, ProtocolInfo
from antecede.core.effects import Deliver, Effect, Transmit
from antecede.core.errors import BufferFull, RemoteError
from antecede.core.packets import Ack, DataPacket, Message, Packet
from antecede.core.process import CausalProcess


class Eager(CausalProcess):
    """Transmits at once and delivers at once."""

    def __init__(self, me: int, processes: Sequence[int]) -> None:
        self.me = me
        self.processes = list(processes)
        self.submitted = 0
        self.heard: list[tuple[int, int]] = []
        self.unacked: list[tuple[int, Message]] = []

    def submit(self, targets: Sequence[int], payload: bytes, now_ns: int) -> list[Effect]:
        self.submitted += 1
        message = Message(self.me, self.submitted, payload)
        effects: list[Effect] = [
            Deliver(message) if target == self.me else Transmit(target, packet_of(message))
            for target in targets
        ]
        self.after_submit(message, [target for target in targets if target != self.me])
        return effects

    def after_submit(self, message: Message, targets: list[int]) -> None:
        """Most have nothing to remember."""

    def arrive(self, source: int, packet: Packet, now_ns: int) -> list[Effect]:
        message = packet.message
        if message is None:
            return self.on_control(source, packet)
        return self.on_message(source, message)

    def on_message(self, source: int, message: Message) -> list[Effect]:
        self.heard.append((source, message.sequence))
        return [Deliver(message)]

    def on_control(self, source: int, packet: Packet) -> list[Effect]:
        raise RemoteError(f"{packet!r} from {source} has no meaning here")

    def clone(self) -> Self:
        twin = type(self)(self.me, self.processes)
        twin.submitted = self.submitted
        twin.heard = self.heard.copy()
        twin.unacked = self.unacked.copy()
        return twin

    def fingerprint(self) -> bytes:
        return repr((self.submitted, sorted(self.heard), self.unacked)).encode()


def packet_of(message: Message) -> DataPacket:
    """The message, with a tag that says nothing."""
    return DataPacket(message, 0, False)


class FullAfterOne(Eager):
    """Has room for one message, and never again."""

    def submit(self, targets: Sequence[int], payload: bytes, now_ns: int) -> list[Effect]:
        if self.submitted:
            raise BufferFull("try later")
        return super().submit(targets, payload, now_ns)


class CountingRefusals(Eager):
    """Takes every message at the second attempt: it changes when it refuses."""

    def submit(self, targets: Sequence[int], payload: bytes, now_ns: int) -> list[Effect]:
        if not self.unacked:
            self.unacked.append((0, Message(self.me, 1, b"refused")))
            raise BufferFull("try later")
        self.unacked.clear()
        return super().submit(targets, payload, now_ns)


class Forgetful(Eager):
    """Drops the second message it hears."""

    def on_message(self, source: int, message: Message) -> list[Effect]:
        self.heard.append((source, message.sequence))
        return [] if len(self.heard) == 2 else [Deliver(message)]


class Echoing(Eager):
    """Delivers everything twice."""

    def on_message(self, source: int, message: Message) -> list[Effect]:
        return [Deliver(message), Deliver(message)]


class Garbling(Eager):
    """Delivers something other than what was submitted."""

    def on_message(self, source: int, message: Message) -> list[Effect]:
        return [Deliver(Message(message.sender, message.sequence, message.payload.upper()))]


class Gossiping(Eager):
    """Sends everything to everybody."""

    def submit(self, targets: Sequence[int], payload: bytes, now_ns: int) -> list[Effect]:
        return super().submit(self.processes, payload, now_ns)


class Breaking(Eager):
    """Breaks down at the second message it hears."""

    def on_message(self, source: int, message: Message) -> list[Effect]:
        self.heard.append((source, message.sequence))
        if len(self.heard) > 1:
            raise IndexError("outside the window")
        return [Deliver(message)]


class Refusing(Eager):
    """Takes a message that overtakes another for an attack."""

    def on_message(self, source: int, message: Message) -> list[Effect]:
        if message.sequence > 1 and (source, message.sequence - 1) not in self.heard:
            raise RemoteError(f"message {message.sequence} before {message.sequence - 1}")
        return super().on_message(source, message)


class Acknowledging(Eager):
    """Transmits again until acknowledged: right on a lossy network, if no order is promised."""

    def after_submit(self, message: Message, targets: list[int]) -> None:
        self.unacked += [(target, message) for target in targets]

    def on_message(self, source: int, message: Message) -> list[Effect]:
        known = (source, message.sequence) in self.heard
        ack = Transmit(source, Ack(message.sequence))
        return [ack] if known else [*super().on_message(source, message), ack]

    def on_control(self, source: int, packet: Packet) -> list[Effect]:
        assert isinstance(packet, Ack)
        self.unacked = [
            x for x in self.unacked if (x[0], x[1].sequence) != (source, packet.sequence)
        ]
        return []

    def deadline_ns(self) -> int | None:
        return 1 if self.unacked else None

    def expire(self, now_ns: int) -> list[Effect]:
        return [Transmit(target, packet_of(message)) for target, message in self.unacked]


class GivingUp(Acknowledging):
    """Never transmits anything again."""

    def deadline_ns(self) -> int | None:
        return None


class SilentAboutDuplicates(Acknowledging):
    """Acknowledges only what is new, so a lost acknowledgement is lost for ever."""

    def on_message(self, source: int, message: Message) -> list[Effect]:
        effects = super().on_message(source, message)
        return effects if len(effects) > 1 else []


class Thanking(Acknowledging):
    """Acknowledges acknowledgements."""

    def on_control(self, source: int, packet: Packet) -> list[Effect]:
        return [*super().on_control(source, packet), Transmit(source, packet)]


class ThankingTwice(Acknowledging):
    """Acknowledges an acknowledgement of what is acknowledged already."""

    def on_control(self, source: int, packet: Packet) -> list[Effect]:
        before = self.unacked
        super().on_control(source, packet)
        return [Transmit(source, packet)] if self.unacked == before else []


class Outbidding(Acknowledging):
    """Answers every acknowledgement with a higher one."""

    def on_control(self, source: int, packet: Packet) -> list[Effect]:
        assert isinstance(packet, Ack)
        return [*super().on_control(source, packet), Transmit(source, Ack(packet.sequence + 1))]


class TrustingTheFirstAck(Acknowledging):
    """Takes one target's acknowledgement for everybody's."""

    def on_control(self, source: int, packet: Packet) -> list[Effect]:
        assert isinstance(packet, Ack)
        self.unacked = [x for x in self.unacked if x[1].sequence != packet.sequence]
        return []


class WaitingForAcks(Acknowledging):
    """One message at a time: causal for unicast, but not for multicast."""

    def submit(self, targets: Sequence[int], payload: bytes, now_ns: int) -> list[Effect]:
        before = len(self.unacked)
        effects = super().submit(targets, payload, now_ns)
        local: list[Effect] = [effect for effect in effects if isinstance(effect, Deliver)]
        return self.head() + local if before == 0 else local

    def on_control(self, source: int, packet: Packet) -> list[Effect]:
        assert isinstance(packet, Ack)
        before = self.in_transit()
        super().on_control(source, packet)
        return self.head() if self.in_transit() != before else []

    def expire(self, now_ns: int) -> list[Effect]:
        return self.head()

    def in_transit(self) -> int:
        return self.unacked[0][1].sequence if self.unacked else 0

    def head(self) -> list[Effect]:
        return [
            Transmit(target, packet_of(message))
            for target, message in self.unacked
            if message.sequence == self.in_transit()
        ]


class AcknowledgingTooEarly(WaitingForAcks):
    """Acknowledges a message on arrival, but delivers it later, and newest first."""

    def __init__(self, me: int, processes: Sequence[int]) -> None:
        super().__init__(me, processes)
        self.kept: list[Message] = []

    def on_message(self, source: int, message: Message) -> list[Effect]:
        if (source, message.sequence) in self.heard:
            return [Transmit(source, Ack(message.sequence))]
        self.heard.append((source, message.sequence))
        self.kept.append(message)
        return [Transmit(source, Ack(message.sequence))]

    def deadline_ns(self) -> int | None:
        return 1 if self.unacked or self.kept else None

    def expire(self, now_ns: int) -> list[Effect]:
        late: list[Effect] = [Deliver(message) for message in reversed(self.kept)]
        self.kept = []
        return late + super().expire(now_ns)

    def clone(self) -> Self:
        twin = super().clone()
        twin.kept = self.kept.copy()
        return twin

    def fingerprint(self) -> bytes:
        return super().fingerprint() + repr(self.kept).encode()


class SharingItsState(Eager):
    """A clone of it is not a copy."""

    def clone(self) -> Self:
        twin = super().clone()
        twin.heard = self.heard
        return twin


class ForgettingInClones(Eager):
    """A clone of it is in another state."""

    def clone(self) -> Self:
        twin = super().clone()
        twin.heard = []
        return twin


class UnclonableAtTheEnd(Eager):
    """Cannot be cloned when it has heard something."""

    def clone(self) -> Self:
        if self.heard:
            raise IndexError("outside the window")
        return super().clone()


class WithoutFingerprint(Forgetful):
    """All its states look alike."""

    def fingerprint(self) -> bytes:
        return b""


def info_of(
    create: Callable[..., CausalProcess],
    *,
    ordering: Ordering = "none",
    network: Network = "reliable",
    multicast: bool = True,
) -> ProtocolInfo:
    """What such a protocol claims to be."""
    name = getattr(create, "__name__", "careless").lower()
    return ProtocolInfo(
        name, create, ordering=ordering, multicast=multicast, network=network, paper="none"
    )
