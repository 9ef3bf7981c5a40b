"""Sending: from the application's call into the core, as far as there is room.

A payload that fits a datagram is one message. A larger one becomes several; until the last of them
has found room nothing else is sent, so that they stay together.
"""

from typing import Final, final

from mypy_extensions import i64

from antecede.durability.node_state import UnfinishedPayload
from antecede.durability.recorder import Recorder
from antecede.endpoint.inbox import Inbox
from antecede.endpoint.limits import Limits
from antecede.endpoint.payloads import PayloadsUnderWay
from antecede.endpoint.protocol_driver import ProtocolDriver
from antecede.membership.contact import Contact
from antecede.membership.directory import Directory
from antecede.membership.target_sets import TargetSet
from antecede.transport.flow_control import MESSAGE_COST
from antecede.transport.message_fragments import MessageNumbers, OwnFragments, PayloadFragmenter
from antecede.transport.session import ME, Session
from antecede.wire.envelope import has_envelope
from antecede.wire.frames import FRAME_OVERHEAD_MAX
from antecede.wire.handshake import ENVELOPE_VERSION

FLUSH_BYTES: Final = 256 << 10
"""256 KiB are not kept until the end of the turn: they leave at once. A message counts as in a
receiver's window, so that many small ones do not make a turn long."""

SHARE: Final = 3
"""One target may have this many times as much in the buffer as is free: three quarters of it, or
three quarters of what another has left."""


def is_spacious(used: i64, limit: i64) -> bool:
    """Whether nobody can have more than its share, whoever has what is used."""
    return (SHARE + 1) * used < SHARE * limit


@final
class MessageSender:
    """The sending half of one node: what was sent, and what of it is remembered."""

    __slots__ = (
        "_core",
        "_directory",
        "_inbox",
        "_large",
        "_large_recorded",
        "_limits",
        "_next_sequence",
        "_numbering",
        "_oldest",
        "_own_fragments",
        "_payloads",
        "_process",
        "_recorder",
        "_surplus",
        "_wholes",
        "accepts",
        "copies",
        "sent",
        "unwritten",
    )

    def __init__(
        self,
        core: ProtocolDriver,
        limits: Limits,
        directory: Directory,
        inbox: Inbox,
        own_fragments: OwnFragments,
        recorder: Recorder,
    ) -> None:
        self._recorder: Final = recorder
        # The large payload whose rest is written down.
        self._large_recorded: i64 = 0
        self._core: Final = core
        self._process: Final = core.process
        self._limits: Final = limits
        self._directory: Final = directory
        self._inbox: Final = inbox
        self._own_fragments: Final = own_fragments
        self._numbering: Final[MessageNumbers] = own_fragments.numbering
        # By how much the id of the next message is larger than its number.
        self._surplus: i64 = 0
        # By the id of the last part: for whom its payload is, and how large.
        self._wholes: Final[dict[int, tuple[list[int], int]]] = {}
        self._payloads: Final = PayloadsUnderWay(core.process)
        self._large: PayloadFragmenter | None = None
        self._next_sequence: i64 = 1
        # Everybody has delivered what is below this id.
        self._oldest: i64 = 1
        # What was submitted since datagrams were written.
        self.unwritten: i64 = 0
        self.sent: i64 = 0
        self.copies: i64 = 0
        # Whether a message may just be sent: not if there is no disk for it, or we are expelled.
        self.accepts = True

    def accept(self, accepts: bool) -> None:
        """From now on a message may just be sent, or may not."""
        self.accepts = accepts

    @property
    def bytes_held(self) -> i64:
        """What somebody has not delivered yet, with what a message costs beside its payload."""
        process = self._process
        return process.buffered_bytes() + MESSAGE_COST * process.buffered()

    # What the application asks for.

    def has_room(self, to_self: bool = False) -> bool:
        """Whether another message may be sent now; one to oneself needs room in the inbox, too."""
        return (
            self._large is None
            and self._process.buffered() < self._limits.send_limit
            and not self._process.is_full()
            and self.bytes_held < self._limits.send_bytes
            and (not to_self or self._inbox.has_room_for_own(self._limits.window))
        )

    def has_room_for(self, contacts: list[Contact], to_self: bool, size: i64) -> bool:
        """Whether a message of this size may be sent to these peers now.

        Nothing else is sent until the last part of a large one has found room. So it begins only
        if all of it finds room, or if its targets have nothing else to acknowledge.
        """
        if not self.has_room(to_self):
            return False
        part_size = self._part_size(contacts)
        more: i64 = (size - 1) // part_size if size > part_size else 0
        for contact in contacts:
            session = contact.session
            if self.has_share(session, more, size if more > 0 else 0):
                continue
            if more == 0 or self._process.unacked_by(session.id) > 0:
                return False
        return True

    def has_share(self, session: Session, more: i64 = 0, size: i64 = 0) -> bool:
        """Whether a peer has less than its share of the buffer, with `more` parts and `size` bytes.

        It may have up to `SHARE` times what is free, so that there is always room for another, and
        everything if there is no other. Where sizes differ, its bytes are taken to be as large a
        part of all as its messages are.
        """
        if len(self._directory.by_name) < 2:
            return True
        limits = self._limits
        count = self._process.buffered() + more
        held = self.bytes_held + size
        if is_spacious(count, limits.send_limit) and is_spacious(held, limits.send_bytes):
            return True
        owed = self._process.unacked_by(session.id) + more
        return owed == 0 or (
            owed < SHARE * (limits.send_limit - count)
            and owed * held < SHARE * count * (limits.send_bytes - held)
        )

    def send_fast(self, target: object, payload: object, now_ns: i64, sealed: bool = False) -> i64:
        """Send to a peer, or to several, if nothing stands in the way: the message's number, or 0.

        This is the path of most messages, in one call; whoever gets a 0 finds out why. That so much
        waits to be written that it should leave first is one reason. `sealed`: the payload has an
        envelope, which its target must know.
        """
        if not isinstance(target, str) or not isinstance(payload, bytes):
            return self._send_to_several(target, payload, now_ns)
        contact = self._directory.by_name.get(target)
        if contact is None or self.unwritten > FLUSH_BYTES or not self.accepts:
            return 0
        session = contact.session
        if not self._is_spacious() and not (self.has_room() and self.has_share(session)):
            return 0
        if not contact.is_here:
            return 0
        if len(payload) > session.payload_max:
            return 0  # It has to be cut.
        if sealed:
            if session.version < ENVELOPE_VERSION:
                return 0
        elif has_envelope(payload):
            return 0  # It must not be taken for what it is not.
        self.sent += 1
        return self._submit(contact.targets, payload, now_ns) - self._surplus

    def _send_to_several(self, targets: object, payload: object, now_ns: i64) -> i64:
        """The same for a list or tuple of names, if they were looked up before."""
        if not isinstance(payload, bytes) or not isinstance(targets, (list, tuple)):
            return 0
        if len(targets) == 1:
            only = targets[0]
            return self.send_fast(only, payload, now_ns) if isinstance(only, str) else 0
        found = self._directory.target_sets.find(targets)
        if found is None or self.unwritten > FLUSH_BYTES or not self.accepts:
            return 0
        data = found.prefix + payload
        if len(data) > found.payload_max() or not self._has_room_for_all(found):
            return 0
        self.sent += 1
        sequence = self._submit(found.ids, data, now_ns)
        self.unwritten -= len(found.prefix)  # It is written once for many.
        if found.to_self:
            self._forget_delivered()
        return sequence - self._surplus

    def _has_room_for_all(self, targets: TargetSet) -> bool:
        if targets.to_self and not self._inbox.has_room_for_own(self._limits.window):
            return False
        if self._is_spacious():
            return True
        return self.has_room() and all(self.has_share(session) for session in targets.sessions)

    def wants_flush(self) -> bool:
        """Whether so much waits to be written that it should not wait for the end of the turn."""
        return self.unwritten > FLUSH_BYTES

    def send(self, contacts: list[Contact], to_self: bool, payload: bytes, now_ns: i64) -> i64:
        """Send to these peers; the message's number. The caller has seen that there is room."""
        part_size = self._part_size(contacts)
        targets: list[int] = [ME] if to_self else []
        for contact in contacts:
            targets.append(contact.session.id)
        self.sent += 1
        if len(payload) > part_size:
            large = PayloadFragmenter(targets, payload, part_size, self._next_sequence)
            self._large = large
            self._wholes[large.sequence] = (list(targets), len(payload))
            first = self._next_sequence
            number = self._numbering.payload(first, large.sequence)
            self._payloads.add(first, large.sequence, [one for one in targets if one != ME])
            self._count_surplus()
            self._recorder.on_large_payload(large.sequence, targets, len(payload))
            self._recorder.on_numbered(first, large.sequence, number)
            self._feed_large(now_ns)
            return number
        sequence = self._submit(targets, payload, now_ns)
        if to_self:
            self._forget_delivered()  # Where there is no peer, no arrival will.
        return sequence - self._surplus

    def number_of(self, sequence: i64) -> i64:
        """The number of our message with this id, or of the payload that it is a part of."""
        return self._numbering.of(sequence)

    def last_sequence(self) -> i64:
        """The id of the last message sent so far; that of a large payload is known beforehand."""
        return self._next_sequence - 1 if self._large is None else self._large.sequence

    def is_delivered(self, last: i64) -> bool:
        """Whether everything up to this id has been delivered everywhere, or given up."""
        process = self._process
        if process.buffered() == 0 and self._large is None:
            return True  # A large payload may have been given up half-way.
        return process.oldest_unacked() > last

    def large_is_done(self) -> bool:
        """Whether no payload is waiting for room for its next part."""
        return self._large is None

    def in_parts(self) -> bool:
        """Whether parts of large payloads are among what the core counts as messages."""
        return len(self._own_fragments.more) > 0 or self._large is not None

    def messages_buffered(self) -> int:
        """How many of our messages somebody has not acknowledged.

        The core counts the parts of a large one, and so does the limit of the buffer; an
        application counts it once.
        """
        count = self._process.buffered()
        if not self.in_parts():
            return count
        large = self._large
        if large is not None and any(target != ME for target in large.targets):
            count += large.sequence - self._next_sequence + 1
        return count - self._payloads.surplus(self._next_sequence)

    def messages_owed(self, session: Session) -> int:
        """How many of them a peer has not acknowledged."""
        count = self._process.unacked_by(session.id)
        if not self.in_parts():
            return count
        large = self._large
        if large is not None and session.id in large.targets:
            count += large.sequence - self._next_sequence + 1
        return count - self._payloads.owed_surplus(session.id, self._next_sequence)

    def messages_to(self, target: int, oldest: i64, count: i64) -> int:
        """How many messages to a peer `count` ids are, the oldest of which is this."""
        if not self.in_parts():
            return count
        large = self._large
        if large is not None and target in large.targets:
            count += large.sequence - self._next_sequence + 1
        return count - self._payloads.surplus_to(target, oldest)

    def messages_since(self, oldest: i64, count: i64) -> int:
        """How many messages `count` ids are from this one on, whoever they are for."""
        if not self.in_parts():
            return count
        last = self._next_sequence - 1
        surplus = (last - self.number_of(last)) - (oldest - self.number_of(oldest))
        return count - surplus if count > surplus else 1

    # What survives a crash.

    def note_changes(self) -> None:
        """Let what has changed beside the core be written down, as far as it is not yet."""
        large = self._large
        if large is not None and large.sequence != self._large_recorded:
            self._large_recorded = large.sequence
            self._recorder.on_payload_unfinished(
                UnfinishedPayload(
                    list(large.targets),
                    self._next_sequence,
                    large.sequence,
                    large.part_size(),
                    large.rest(),
                )
            )
        self._recorder.on_turn_ended(self._next_sequence - 1)

    def snapshot(self) -> list[bytes]:
        """Everything beside the core."""
        self.note_changes()
        return self._recorder.snapshot(self._process.oldest_unacked(), self._next_sequence - 1)

    def resume(self, now_ns: i64) -> None:
        """Go on where the journal ends; the core has been restored."""
        state = self._recorder.state
        self._next_sequence = state.sent + 1
        self._oldest = self._process.oldest_unacked()
        for sequence in state.fragments_sent:
            self._own_fragments.add(sequence)
        self._wholes.update(state.large_payloads)
        for first, (last, number) in state.numbers.items():
            self._numbering.recall(first, last, number)
            if last in self._wholes:
                self._payloads.add(first, last, [one for one in self._wholes[last][0] if one != ME])
        rest = state.unfinished()
        if rest is not None:
            skipped = (self._next_sequence - rest.first) * rest.part_size
            payload = rest.rest[skipped:]
            self._large_recorded = rest.last
            self._large = PayloadFragmenter(
                list(rest.targets), payload, rest.part_size, self._next_sequence
            )
            self._feed_large(now_ns)
        self._count_surplus()

    # What happens to what was sent.

    def on_room_freed(self, now_ns: i64) -> None:
        """After anything that may have made room."""
        self._forget_delivered()
        if self._large is not None:
            self._feed_large(now_ns)

    def on_written(self) -> None:
        """Everything that may leave has been written."""
        self.unwritten = 0

    def withdraw_target(self, session: Session, messages: list[int]) -> list[int]:
        """A peer gets nothing more: the numbers of the payloads that `messages` to it end."""
        self._payloads.forget(session.id)
        whole = [
            int(self.number_of(last))
            for last in messages
            if not self._own_fragments.continues(last)
        ]
        large = self._large
        if large is not None and large.withdraw(session.id):
            whole.append(int(self.number_of(large.sequence)))
            if not large.targets:
                self._give_up_large()
        return whole

    def too_large_for(self, session: Session) -> list[int]:
        """The numbers of payloads for a peer that, as it says only now, it does not take."""
        return [
            int(self.number_of(sequence))
            for sequence, (targets, size) in self._wholes.items()
            if size > session.payload_limit and session.id in targets
        ]

    def _give_up_large(self) -> None:
        """Nobody is left for whom the rest of a payload would be."""
        self._large = None
        last = self._next_sequence - 1
        self._numbering.ends_with(last)
        self._count_surplus()
        self._recorder.on_payload_withdrawn(last)

    def _count_surplus(self) -> None:
        following = self.last_sequence() + 1
        self._surplus = following - self._numbering.of(following)

    def _is_spacious(self) -> bool:
        """Whether there is room for a message to anybody, whoever has what is used."""
        process = self._process
        count: i64 = process.buffered()
        held = process.buffered_bytes() + MESSAGE_COST * count
        return (
            self._large is None
            and is_spacious(count, self._limits.send_limit)
            and is_spacious(held, self._limits.send_bytes)
            and not process.is_full()
        )

    def _part_size(self, contacts: list[Contact]) -> i64:
        """The largest message to these peers that is not cut into parts."""
        part_size: i64 = self._limits.part_size
        for contact in contacts:
            size = contact.session.datagram_size - FRAME_OVERHEAD_MAX
            if size < part_size:
                part_size = size
        return part_size

    def _submit(self, targets: list[int], payload: bytes, now_ns: i64) -> i64:
        sequence = self._next_sequence
        self._next_sequence += 1
        self.unwritten += len(payload) + MESSAGE_COST
        self.copies += len(targets)
        self._core.submit(targets, payload, sequence, now_ns)
        return sequence

    def _feed_large(self, now_ns: i64) -> None:
        """Hand parts of a large payload to the core as long as there is room."""
        large = self._large
        self._large = None
        while large is not None:
            if not self.has_room():
                self._large = large
                return
            part = large.take_part()
            if large.is_taken():
                self._submit(large.targets, part, now_ns)
                large = None
            else:
                self._own_fragments.add(self._next_sequence)
                self._recorder.on_fragment_sent(self._next_sequence)
                self._submit(large.targets, part, now_ns)
            self._forget_delivered()

    def _forget_delivered(self) -> None:
        """What is below the oldest that somebody misses need not be remembered."""
        oldest = self._process.oldest_unacked()
        if self._numbering.used:
            self._numbering.forget_below(oldest)
        if self._own_fragments.more or self._wholes:
            for sequence in range(self._oldest, oldest):
                self._own_fragments.forget(sequence)
                self._wholes.pop(sequence, None)
        self._oldest = oldest
