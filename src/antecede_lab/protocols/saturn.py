"""Saturn: labels through a tree order what travels directly.

A message leaves for its targets at once and by itself, with nothing but its id. Its *label*, which
says no more than whose message it is and whom it is for, travels along a tree of FIFO links and is
passed on in the step in which it comes. So labels come to every process in an order that respects
causality, as the messages themselves do in `tree`, and a process delivers what it has received in
the order of its labels: a message waits for its label, and for the messages of the labels before.

Here every process is a data centre with its serializer: a node of the tree. A serializer without a
data centre is a process that neither sends nor is sent to; `parents` says who hangs on whom.

Paper: M. Bravo, L. Rodrigues, P. Van Roy, "Saturn: a Distributed Metadata Service for Causal
Consistency", EuroSys 2017. Left out: artificial delays at serializers, which let labels come when
the bulk of the data does, batches of labels, and a search for the best tree. A label orders all
that comes after it; the paper also applies updates at once whose labels show that they are
concurrent.
Cost: one integer per message and, for every link of the tree that it crosses, a label of two and
the targets further on; state is one integer per origin, and labels and messages that wait for each
other. A message waits for the slower of its own way and that of its label.
"""

from collections import deque
from collections.abc import Sequence
from typing import ClassVar, Final, final

from mypy_extensions import i64, mypyc_attr

from antecede.core.checks import PAYLOAD_LIMIT
from antecede.core.effects import Deliver, Effect, Transmit
from antecede.core.errors import RemoteError
from antecede.core.packets import Message, MessagePacket, Packet
from antecede_lab.protocols.tree import RoutedProcess

RECEIVE_LIMIT: Final = 1 << 16
"""Messages of one source that may wait here, and labels in all; more are refused."""


@final
@mypyc_attr(acyclic=True)
class SaturnData(MessagePacket):
    """A message, straight from its sender."""

    __slots__ = ()

    # Compiled, a constructor that is inherited from a class open to interpreted ones runs twice.
    def __init__(self, carried: Message) -> None:
        super().__init__(carried)


@final
@mypyc_attr(acyclic=True)
class SaturnLabel(Packet):
    """Whose message it is, which, and its targets beyond this link, ascending."""

    __slots__ = ("origin", "sequence", "targets")

    KIND: ClassVar[str] = "label"
    FIELDS: ClassVar = ("origin", "sequence", "targets")

    def __init__(self, origin: i64, sequence: i64, targets: tuple[int, ...]) -> None:
        self.origin: Final[i64] = origin
        self.sequence: Final[i64] = sequence
        self.targets: Final = targets

    @property
    def metadata_integers(self) -> int:
        """The origin, the id and the remaining targets."""
        return 2 + len(self.targets)


@final
class SaturnProcess(RoutedProcess):
    """A data centre and its serializer; labels come in order, messages in any."""

    STATE: ClassVar[tuple[str, ...]] = ("_members", "_sequence", "_heard", "_labels", "_data")
    OPTIONS: ClassVar[tuple[str, ...]] = ("parents", "receive_limit", "payload_limit")

    def __init__(
        self,
        me: int,
        processes: Sequence[int],
        *,
        parents: dict[int, int] | None = None,
        receive_limit: int = RECEIVE_LIMIT,
        payload_limit: int = PAYLOAD_LIMIT,
    ) -> None:
        super().__init__(me, processes, parents=parents, payload_limit=payload_limit)
        self._receive_limit: Final[i64] = receive_limit
        # Labels of messages to us that are not delivered, oldest first.
        self._labels: deque[tuple[int, int]] = deque()
        # By source, what is not delivered: what has come, and None where only the label has.
        self._data: dict[int, dict[int, Message | None]] = {}

    def _send(self, message: Message, remote: list[int], now_ns: i64) -> list[Effect]:  # noqa: ARG002 - it has no timer
        """The label leaves first: it has the longer way."""
        effects = self._pass_on(message.sender, message.sequence, remote)
        data = SaturnData(message)
        return effects + [Transmit(target, data) for target in remote]

    def arrive(self, source: int, packet: Packet, now_ns: int) -> list[Effect]:  # noqa: ARG002 - it has no timer
        if isinstance(packet, SaturnData):
            self._keep(source, packet.carried)
            return self._deliver_chain()
        if not isinstance(packet, SaturnLabel):
            raise RemoteError(f"a {packet.kind} from {source} has no meaning here")
        if len(self._labels) >= self._receive_limit:
            raise RemoteError(f"{self._receive_limit} labels wait here already")
        self._hear(source, packet.origin, packet.sequence, packet.targets)
        effects = self._pass_on(packet.origin, packet.sequence, packet.targets)
        if self._members.me in packet.targets:
            self._labels.append((packet.origin, packet.sequence))
            self._data.setdefault(packet.origin, {}).setdefault(packet.sequence, None)
            effects += self._deliver_chain()
        return effects

    def _pass_on(self, origin: int, sequence: int, targets: Sequence[int]) -> list[Effect]:
        effects: list[Effect] = []
        for neighbour, further in self._parts(targets).items():
            effects.append(Transmit(neighbour, SaturnLabel(origin, sequence, further)))
        return effects

    def _keep(self, source: int, message: Message) -> None:
        """Keep what came until its label is the oldest; `RemoteError` if it came before."""
        self._members.check_message(source, message, (self._members.me,))
        here = self._data.get(source, {})
        if here.get(message.sequence) is not None:
            raise RemoteError(f"message {message.sequence} of {source} came twice")
        if message.sequence not in here:
            if message.sequence <= self._heard.get(source, 0):
                raise RemoteError(f"message {message.sequence} of {source} is not for us any more")
            if len(here) >= self._receive_limit:
                raise RemoteError(f"{self._receive_limit} messages of {source} wait already")
        here[message.sequence] = message
        self._data[source] = here

    def _deliver_chain(self) -> list[Effect]:
        """Deliver while the message of the oldest label is here."""
        effects: list[Effect] = []
        while self._labels:
            origin, sequence = self._labels[0]
            here = self._data[origin]
            message = here[sequence]
            if message is None:
                break
            self._labels.popleft()
            del here[sequence]
            if not here:
                del self._data[origin]
            effects.append(Deliver(message))
        return effects
