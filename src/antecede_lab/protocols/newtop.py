"""Newtop: causal (indeed totally ordered) broadcast with one Lamport clock per message.

Every broadcast carries its sender's Lamport clock, and links are FIFO, so whoever has sent clock c
will never send c or less again. A receiver keeps a message until it has heard at least that clock
from everybody else, and then delivers in the order (clock, sender); causes have lower clocks than
their effects, so they come first. A process with nothing to say would hold everybody up: after a
silence it sends a *null* message, but only if a data message has a higher clock than its own last
one, or nulls would answer nulls for ever.

Our own messages are delivered inside `submit`, as everywhere here: that keeps causal order, while
the total order holds among the messages of others.

Paper: P. D. Ezhilchelvan, R. A. Macêdo, S. K. Shrivastava, "Newtop: A Fault-Tolerant Group
Communication Protocol", ICDCS 1995.
Cost: a clock (and its id) per message; a process keeps one record per other process, and looks at
all of them to deliver; delivery waits for the slowest, and n - 1 processes answer a lone broadcast
with nulls to everybody.
"""

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import ClassVar, Final, final

from mypy_extensions import i64, mypyc_attr

from antecede.core.checks import PAYLOAD_LIMIT
from antecede.core.effects import Deliver, Effect, Transmit
from antecede.core.errors import RemoteError
from antecede.core.packets import Message, MessagePacket, Packet
from antecede.core.process import NEVER_NS
from antecede_lab.protocols.group_process import GroupProcess

RECEIVE_LIMIT: Final = 1 << 16
"""Messages of one source that may wait here; more are refused as `RemoteError`."""

SILENCE_NS: Final = 100_000_000
"""How long a process that others wait for stays silent before it sends a null message."""


@final
@mypyc_attr(acyclic=True)
class NewtopMessage(MessagePacket):
    """A message and its sender's Lamport clock."""

    __slots__ = ("clock",)

    FIELDS: ClassVar = ("carried", "clock")

    def __init__(self, carried: Message, clock: i64) -> None:
        super().__init__(carried)
        self.clock: Final[i64] = clock

    @property
    def metadata_integers(self) -> int:
        """The id and the clock."""
        return 2


@final
@mypyc_attr(acyclic=True)
class NewtopNull(Packet):
    """Nothing but a clock: its sender will never send that clock or a lower one again."""

    __slots__ = ("clock",)

    KIND: ClassVar[str] = "null"
    FIELDS: ClassVar = ("clock",)

    def __init__(self, clock: i64) -> None:
        self.clock: Final[i64] = clock


@final
class Heard:
    """What has been heard of one other process."""

    MADE_OF: ClassVar = ()

    __slots__ = ("clock", "sequence", "waiting")

    def __init__(self) -> None:
        self.clock: i64 = 0
        self.sequence: i64 = 0
        self.waiting: i64 = 0


@final
class NewtopProcess(GroupProcess):
    """One member of the group; every message goes to all the others."""

    STATE: ClassVar[tuple[str, ...]] = (
        "_heard",
        "_sequence",
        "_clock",
        "_clock_sent",
        "_clock_of_data",
        "_waiting",
        "_null_due_ns",
    )
    OPTIONS: ClassVar[tuple[str, ...]] = ("receive_limit", "payload_limit", "patience_ns")

    def __init__(
        self,
        me: int,
        processes: Sequence[int],
        *,
        receive_limit: int = RECEIVE_LIMIT,
        payload_limit: int = PAYLOAD_LIMIT,
        patience_ns: int = SILENCE_NS,
    ) -> None:
        super().__init__(me, processes, payload_limit)
        self._receive_limit: Final[i64] = receive_limit
        self._patience_ns: Final[i64] = patience_ns
        self._heard: dict[int, Heard] = {}
        self._clock: i64 = 0
        self._clock_sent: i64 = 0
        self._clock_of_data: i64 = 0
        self._waiting: list[tuple[int, int, NewtopMessage]] = []
        self._null_due_ns: i64 = NEVER_NS
        for process in self._members.ids():
            if process != me:
                self._heard[process] = Heard()

    def _check_targets(self, remote: list[int]) -> None:
        self._members.check_all(remote)

    def _send(self, message: Message, remote: list[int], now_ns: i64) -> list[Effect]:  # noqa: ARG002 - only silence is timed
        packet = NewtopMessage(message, self._tick())
        return [Transmit(target, packet) for target in remote]

    def arrive(self, source: int, packet: Packet, now_ns: int) -> list[Effect]:
        heard = self._heard.get(source)
        if heard is None:
            raise RemoteError(f"{packet.kind} from {source}, which is not one of the others")
        if isinstance(packet, NewtopMessage):
            self._members.check_message(source, packet.carried, (self._members.me,))
            check_order(packet, heard, source)
            if heard.waiting >= self._receive_limit:
                raise RemoteError(f"{self._receive_limit} messages of {source} wait already")
            self._keep(source, packet, heard, now_ns)
            clock = packet.clock
        elif isinstance(packet, NewtopNull):
            check_clock(packet.clock, heard, source)
            clock = packet.clock
        else:
            raise RemoteError(f"a {packet.kind} from {source} has no meaning here")
        heard.clock = clock
        if self._clock < clock:
            self._clock = clock
        return self._drain()

    def deadline_ns(self) -> int | None:
        return None if self._null_due_ns == NEVER_NS else self._null_due_ns

    def expire(self, now_ns: int) -> list[Effect]:
        if now_ns < self._null_due_ns:
            return []
        packet = NewtopNull(self._tick())
        return [Transmit(target, packet) for target in self._heard]

    def _tick(self) -> i64:
        """The clock of the packet that leaves now; whoever waited for us waits no longer."""
        self._clock += 1
        self._clock_sent = self._clock
        self._null_due_ns = NEVER_NS
        return self._clock

    def _keep(self, source: int, packet: NewtopMessage, heard: Heard, now_ns: int) -> None:
        heard.sequence = packet.carried.sequence
        heard.waiting += 1
        heappush(self._waiting, (packet.clock, source, packet))
        if packet.clock > self._clock_of_data:
            self._clock_of_data = packet.clock
        if self._clock_of_data > self._clock_sent and self._null_due_ns == NEVER_NS:
            self._null_due_ns = now_ns + self._patience_ns

    def _drain(self) -> list[Effect]:
        effects: list[Effect] = []
        everyone = list(self._heard.values())
        while self._waiting and is_ready(self._waiting[0][0], everyone):
            _, source, packet = heappop(self._waiting)
            self._heard[source].waiting -= 1
            effects.append(Deliver(packet.carried))
        return effects

    def fingerprint(self) -> bytes:
        clocks = (self._clock, self._clock_sent, self._clock_of_data)
        heard = [(process, h.clock, h.sequence) for process, h in self._heard.items()]
        waiting = sorted(self._waiting, key=in_order)
        return repr((self._members.me, self._sequence, clocks, heard, waiting)).encode()


def is_ready(clock: i64, everyone: list[Heard]) -> bool:
    """Whether everybody else has sent at least this clock, so that nothing lower can still come."""
    for heard in everyone:  # noqa: SIM110 - compiled, a loop is faster than a generator
        if heard.clock < clock:
            return False
    return True


def in_order(item: tuple[int, int, NewtopMessage]) -> tuple[int, int]:
    """The order of delivery: clock, then sender."""
    return item[0], item[1]


def check_clock(clock: i64, heard: Heard, source: int) -> None:
    """`RemoteError` if clocks of `source` do not grow, as they must over a FIFO link."""
    if clock <= heard.clock:
        raise RemoteError(f"clock {clock} of {source} came after its clock {heard.clock}")


def check_order(packet: NewtopMessage, heard: Heard, source: int) -> None:
    """`RemoteError` if a FIFO link does not bring this message after what it has brought."""
    check_clock(packet.clock, heard, source)
    if packet.carried.sequence <= heard.sequence:
        raise RemoteError(
            f"message {packet.carried.sequence} of {source} came after {heard.sequence}"
        )
