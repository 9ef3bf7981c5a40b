"""Sending: from the application's call into the core, as far as there is room.

A payload that fits a datagram is one message. A larger one becomes several, and the last of them
stands for the whole: its id is what the sender gets and what the receiver sees.
"""

from typing import Final, final

from mypy_extensions import i64

from antecede.core.process import NodeProcess, Outbox
from antecede.link.contacts import Contact
from antecede.link.directory import Directory
from antecede.link.inbox import Inbox
from antecede.link.ledger import LargePayload, Ledger
from antecede.link.limits import Limits
from antecede.link.rows import EventRows
from antecede.link.session import ME, Session

FLUSH_BYTES: Final = 64 << 10
"""So much payload is not kept until the end of the turn: it leaves at once."""


@final
class Sending:
    """The sending half of one node."""

    __slots__ = (
        "_directory",
        "_inbox",
        "_limits",
        "_outbox",
        "_process",
        "_rows",
        "_sessions",
        "copies",
        "ledger",
        "now_ns",
        "sent",
    )

    def __init__(
        self,
        process: NodeProcess,
        limits: Limits,
        directory: Directory,
        sessions: list[Session],
        inbox: Inbox,
        rows: EventRows | None,
        outbox: Outbox,
    ) -> None:
        self._process: Final = process
        self._limits: Final = limits
        self._directory: Final = directory
        self._sessions: Final = sessions
        self._inbox: Final = inbox
        self._rows: Final = rows
        self._outbox: Final = outbox
        self.ledger: Final = Ledger()
        # The time of the step under way.
        self.now_ns: i64 = 0
        self.sent: i64 = 0
        self.copies: i64 = 0

    def has_room(self, to_self: bool = False) -> bool:
        """Whether another message may be sent now; one to oneself needs room in the inbox, too."""
        return (
            self.ledger.large is None
            and self._process.buffered() < self._limits.send_limit
            and self.ledger.bytes_held < self._limits.send_bytes
            and (not to_self or self._inbox.has_room_for_own(self._limits.window))
        )

    def send(self, contacts: list[Contact], to_self: bool, payload: bytes, now_ns: i64) -> i64:
        """Send to these peers; the message's id. The caller has seen that there is room."""
        part_size: i64 = self._limits.part_size
        targets: list[int]
        if len(contacts) == 1 and not to_self:
            session = contacts[0].session
            targets = contacts[0].targets
            part_size = session.datagram_size - self._limits.frame_room
        else:
            targets = [ME] if to_self else []
            for contact in contacts:
                targets.append(contact.session.id)
                size = contact.session.datagram_size - self._limits.frame_room
                if size < part_size:
                    part_size = size
        self.sent += 1
        if len(payload) > part_size:
            large = LargePayload(list(targets), payload, part_size, self.ledger.next_sequence)
            self.ledger.large = large
            self._feed_large(now_ns)
            return large.sequence
        sequence = self._submit(targets, payload, now_ns)
        if to_self:
            self._settle_ledger()  # Where there is no peer, no arrival will.
        return sequence

    def quick_send(self, target: object, payload: object, now_ns: i64) -> i64:
        """Send to one peer if nothing stands in the way: the message's id, or 0 if something does.

        This is the path of most messages, in one call; whoever gets a 0 finds out why. The id is
        negated if so much waits to be written that it should not wait for the end of the turn.
        """
        if not isinstance(target, str) or not isinstance(payload, bytes):
            return 0
        contact = self._directory.by_name.get(target)
        if contact is None or not self.has_room():
            return 0
        session = contact.session
        if session.left or len(payload) > session.largest:
            return 0
        self.sent += 1
        sequence = self._submit(contact.targets, payload, now_ns)
        return sequence if self.ledger.unwritten <= FLUSH_BYTES else -sequence

    def last_sequence(self) -> i64:
        """The id of the last message sent so far; that of a large payload is known beforehand."""
        large = self.ledger.large
        return self.ledger.next_sequence - 1 if large is None else large.sequence

    def is_delivered(self, last: i64) -> bool:
        """Whether everything up to this id has been delivered everywhere, or given up."""
        if self._process.buffered() == 0 and self.ledger.large is None:
            return True  # A large payload may have been given up half-way.
        return self._process.oldest() > last

    def large_is_done(self) -> bool:
        """Whether no payload is waiting for room for its next part."""
        return self.ledger.large is None

    def _submit(self, targets: list[int], payload: bytes, now_ns: i64) -> i64:
        self.now_ns = now_ns
        sequence = self.ledger.enter(len(payload))
        rows = self._rows
        if rows is not None:
            for target in targets:
                session = self._sessions[target]
                if session.met or target == ME:
                    rows.submitted(sequence, session.process, len(payload), now_ns)
                else:
                    size = len(payload)
                    rows.submitted_to_stranger(target, sequence, session.process, size, now_ns)
        self.copies += len(targets)
        self._process.submit_into(targets, payload, now_ns, self._outbox)
        return sequence

    def _feed_large(self, now_ns: i64) -> None:
        """Hand parts of a large payload to the core as long as there is room."""
        ledger = self.ledger
        large = ledger.large
        while large is not None:
            ledger.large = None
            if not self.has_room():
                ledger.large = large
                return
            targets = [target for target in large.targets if not self._sessions[target].ended]
            if not targets:
                return
            last = large.is_last()
            if not last:
                ledger.parts[ledger.next_sequence] = True
                ledger.large = large
            self._submit(targets, large.next_part(), now_ns)
            if targets[0] == ME:
                self._settle_ledger()
            large.advance()
            if last:
                return

    def settle(self, now_ns: i64) -> None:
        """After anything that may have made room."""
        self._settle_ledger()
        if self.ledger.large is not None:
            self._feed_large(now_ns)

    def _settle_ledger(self) -> None:
        self.ledger.settle(self._process.oldest())
