"""Kshemkalyani and Singhal's algorithm: carry only what somebody may still have to wait for.

A message carries a log of earlier messages and of the targets at which each may still be missing.
A target is forgotten as soon as it cannot matter: when the message is known to be delivered there,
or when a later message to the same target, which has to wait for it anyway, is in the same past.
A receiver delivers a message when it has delivered everything that the log says is meant for it.

Paper: A. D. Kshemkalyani, M. Singhal, "Necessary and sufficient conditions on information for
causal message ordering and their optimal implementation", Distributed Computing 11(2), 1998.
Cost: no algorithm with optimal latency can carry fewer facts; n*n integers at worst, far fewer in
practice. Steps in proportion to the log, times the targets of a multicast: each copy has its own.
FIFO channels are not needed.
"""

from collections.abc import Sequence
from typing import ClassVar, Final, final

from mypy_extensions import mypyc_attr

from antecede.core.checks import PAYLOAD_LIMIT
from antecede.core.effects import Effect, Transmit
from antecede.core.errors import RemoteError
from antecede.core.packets import Message, MessagePacket, Packet
from antecede_lab.protocols.group_process import ReceiverBuffering
from antecede_lab.protocols.ks_log import Log, Sends, adding, log_integers, merged, without
from antecede_lab.protocols.members import Members
from antecede_lab.protocols.receive_buffer import RECEIVE_LIMIT


@final
@mypyc_attr(acyclic=True)
class KsPacket(MessagePacket):
    """A message, all its targets, and the part of its sender's log that this target needs."""

    __slots__ = ("log", "targets")

    FIELDS: ClassVar = ("carried", "targets", "log")

    def __init__(self, carried: Message, targets: tuple[int, ...], log: Log) -> None:
        super().__init__(carried)
        self.targets: Final = targets
        self.log: Final = log

    @property
    def metadata_integers(self) -> int:
        """Its own time and targets, and 2 + |targets| for every entry of the log."""
        return 1 + len(self.targets) + log_integers(self.log)


@final
class KsProcess(ReceiverBuffering[KsPacket]):
    """One process's side; messages to it arrive exactly once, in any order.

    A process's clock is the sequence of its latest message.
    """

    PACKET: ClassVar[type[Packet]] = KsPacket
    STATE: ClassVar[tuple[str, ...]] = ("_members", "_sequence", "_delivered", "_log", "_room")

    # Compiled, a constructor that is inherited from a class open to interpreted ones runs twice.
    def __init__(
        self,
        me: int,
        processes: Sequence[int],
        *,
        receive_limit: int = RECEIVE_LIMIT,
        payload_limit: int = PAYLOAD_LIMIT,
    ) -> None:
        super().__init__(me, processes, receive_limit=receive_limit, payload_limit=payload_limit)

    def _begin(self) -> None:
        self._delivered: dict[int, int] = {}
        self._log: Log = {}

    def log(self) -> Log:
        """What this process would have to tell others; not to be changed."""
        return self._log

    def _copies(self, message: Message, remote: list[int]) -> list[Effect]:
        if not remote:
            return []
        everyone = frozenset(remote)
        listed = tuple(sorted(remote))
        copies: list[Effect] = []
        for target in remote:
            # This message makes all others of its targets wait for what is in the log.
            told = without(self._log, everyone - {target})
            copies.append(Transmit(target, KsPacket(message, listed, told)))
        rest = without(self._log, everyone)
        self._log = adding(rest, self._members.me, message.sequence, everyone)
        return copies

    def _check(self, source: int, packet: KsPacket) -> int:
        members = self._members
        sequence: int = packet.carried.sequence
        members.check_message(source, packet.carried, packet.targets)
        if sequence <= self._delivered.get(source, 0):
            raise RemoteError(f"message {sequence} of {source} came again")
        self._room.check_new(source, sequence)
        for sender, sends in packet.log.items():
            if sends is not self._log.get(sender):
                check_sends(members, sender, sends)
        of_source = packet.log.get(source)
        if of_source is not None and of_source.newest >= sequence:
            raise RemoteError(f"{source} logs its message {of_source.newest} in {sequence}")
        of_mine = packet.log.get(members.me)
        if of_mine is not None and of_mine.newest > self._sequence:
            raise RemoteError(f"{source} logs a message that {members.me} never sent")
        return sequence

    def _missing_before(self, packet: KsPacket) -> list[tuple[int, int]]:
        return missing_before(packet, self._delivered, self._members.me)

    def _take_in(self, packet: KsPacket) -> None:
        source: int = packet.carried.sender
        sequence: int = packet.carried.sequence
        self._delivered[source] = sequence
        theirs = adding(packet.log, source, sequence, frozenset(packet.targets))
        self._log = merged(self._log, theirs, frozenset((self._members.me,)))
        self._room.reached(source, sequence)


def missing_before(packet: KsPacket, delivered: dict[int, int], me: int) -> list[tuple[int, int]]:
    """Whose message, and which, `me` must deliver before `packet`; nothing: deliver it."""
    missing: list[tuple[int, int]] = []
    for sender, sends in packet.log.items():
        if me in sends.targets:
            for time, targets in sends.entries.items():
                if me in targets and delivered.get(sender, 0) < time:
                    missing.append((sender, time))
    return missing


def check_sends(members: Members, sender: int, sends: Sends) -> None:
    """`RemoteError` unless `sender` may have sent these."""
    if not members.knows(sender) or not sends.orderly:
        raise RemoteError(f"the log of {sender} makes no sense: {sends}")
    if sender in sends.targets or not members.knows_each(sends.targets):
        raise RemoteError(f"messages of {sender} to {sorted(sends.targets)} are logged")
