"""What a node writes down of all that happens to it, if it has a journal.

A `Recorder` is told what must survive a crash. The plain one keeps nothing: that is a node without
a journal, and nobody else need ask whether there is one. A `JournalRecorder` writes one record per
call, and holds what all records add up to, from which it begins a new file of the journal.
"""

from collections.abc import Sequence
from typing import Final, final

from mypy_extensions import i64

from antecede.core.records import ChangeLog, RecordReader, encode_record
from antecede.durability.losses import UnreportedLosses, loss_record
from antecede.durability.node_state import (
    DurableNodeState,
    PeerRecord,
    UnfinishedPayload,
    expulsion_record_bytes,
    life_record,
    peer_record,
    unfinished_record,
)
from antecede.durability.record_kinds import (  # fmt: skip
    CONFIRMED,
    COUNTS,
    DROPPED,
    ENDED,
    FORGOTTEN,
    FORMER,
    FRAGMENT_RECEIVED,
    FRAGMENT_SENT,
    INBOUND,
    LARGE_GONE,
    LARGE_PAYLOAD,
    LINK,
    LOSSES_REPORTED,
    NUMBERED,
    OVER,
    PUT,
    REMOVED,
)
from antecede.durability.unconfirmed import InboundMessage, UnconfirmedDeliveries
from antecede.wire.expulsions import ExpulsionRecord


class Recorder:
    """Told what must survive a crash. This one keeps nothing: a node without a journal."""

    __slots__ = ("durable", "resumed", "state")

    def __init__(self, name: str = "", order: str = "", incarnation: int = 0) -> None:
        # What is known of the life that goes on, here none.
        self.state = DurableNodeState(name, order, incarnation, UnreportedLosses())
        # Whether what happens shows only when it is on disk.
        self.durable = False
        # Whether this life was found in the journal.
        self.resumed = False

    # This node and its peers.

    def on_renumbered(self, incarnation: i64) -> None:
        """This life, in which nothing was exchanged, has another number."""

    def on_life_ended(self, why: str) -> None:
        """This life is over: the next one that opens the journal begins a new one."""

    def on_peer(self, local_id: i64, name: str, incarnation: i64, process: i64, marks: i64) -> None:
        """A peer has this id in the core, and is this incarnation if it was met."""

    def on_peer_over(self, local_id: i64) -> None:
        """That incarnation of a peer delivers nothing more."""

    def on_peer_removed(self, local_id: i64) -> None:
        """That is no peer any more."""

    def on_expelled(self, local_id: i64, record: ExpulsionRecord) -> None:
        """An incarnation is expelled."""

    # What is sent.

    def on_large_payload(self, sequence: i64, targets: list[int], size: i64) -> None:
        """The last part of a payload of this size will be that message."""

    def on_numbered(self, first: i64, last: i64, number: i64) -> None:
        """The messages with these ids are one payload, and have one number."""

    def on_fragment_sent(self, sequence: i64) -> None:
        """A message of ours is part, and not the last, of a payload."""

    def on_payload_unfinished(self, unfinished: UnfinishedPayload) -> None:
        """The rest of a payload waits for room."""

    def on_payload_withdrawn(self, last: i64) -> None:
        """Nobody is left for whom the rest of the newest payload would be, after this id."""

    def on_loss(
        self,
        name: str,
        sequences: list[int],
        expelled: i64 = 0,
        unreceived: i64 = 0,
        left_out: bool = False,
    ) -> None:
        """Messages to a peer are given up, perhaps because an incarnation is expelled."""

    # What comes.

    def on_fragment_received(self, sender: i64, payload: bytes) -> None:
        """Part of a payload was delivered, and more follows."""

    def on_payload_dropped(self, sender: i64) -> None:
        """A payload turned out too large, and is not delivered."""

    def deliver(
        self,
        sender: i64,  # noqa: ARG002 - nothing is written
        name: str,
        written_name: bytes,  # noqa: ARG002 - nothing is written
        sequence: i64,
        last: bytes,  # noqa: ARG002 - nothing is written
        whole: bytes,
    ) -> InboundMessage:
        """A payload was delivered, of which `last` came last."""
        return InboundMessage(name, sequence, whole)

    def unconfirmed_deliveries(self) -> list[InboundMessage]:
        """What was delivered before a crash, and comes again."""
        return []

    # Commits.

    def on_turn_ended(self, sent: i64) -> None:
        """Our messages have ids up to `sent` by now."""

    def changes_are_urgent(self) -> bool:
        """Whether the changes must be on disk before anything shows."""
        return False

    def take_changes(self) -> bytes:
        """What has been written down since the last call."""
        return b""

    def snapshot(self, oldest: i64, sent: i64) -> list[bytes]:  # noqa: ARG002 - nothing is kept
        """Everything, if our messages below `oldest` are delivered everywhere."""
        return []


@final
class JournalRecorder(Recorder):
    """Writes one record for each thing that it is told."""

    __slots__ = ("_changes", "_sent_written", "unconfirmed")

    def __init__(self, name: str, order: str, incarnation: int) -> None:
        super().__init__(name, order, incarnation)
        self.durable = True
        # What has been written since the last commit, and the part of it that the application
        # makes.
        self._changes: Final = ChangeLog()
        self.unconfirmed: Final = UnconfirmedDeliveries(self._changes)
        self._sent_written: i64 = 0

    # Reading a journal.

    def replay(self, records: Sequence[bytes]) -> list[bytes]:
        """Take over what a journal holds; answers with the records of the core."""
        core: list[bytes] = []
        for written in records:
            reader = RecordReader(written)
            if reader.kind < LINK:
                core.append(written)
            elif reader.kind in (INBOUND, CONFIRMED, PUT, REMOVED):
                self.unconfirmed.replay(reader, self.state.fragments)
            elif reader.kind == COUNTS:
                self.state.raise_last_id(reader.number())
                self.state.on_sent(reader.number())
                self.unconfirmed.set_delivered(reader.number())
            elif reader.kind not in FORMER:
                self.state.apply(reader)
        self.resumed = self.state.incarnation > 0
        self._sent_written = self.state.sent
        return core

    def begin_life(self, incarnation: i64) -> None:
        """A new life: of the former one only what the application needs is left."""
        self.state = self.state.next_life(incarnation)
        self.resumed = False
        self._sent_written = 0
        self._changes.take()

    # This node and its peers.

    def on_renumbered(self, incarnation: i64) -> None:
        self._write(life_record(self.state.name, self.state.order, incarnation))

    def on_life_ended(self, why: str) -> None:
        self._write(encode_record(ENDED, [], why.encode()))

    def on_peer(self, local_id: i64, name: str, incarnation: i64, process: i64, marks: i64) -> None:
        self._write(peer_record(PeerRecord(local_id, name, incarnation, process, marks)))

    def on_peer_over(self, local_id: i64) -> None:
        if self.state.is_peer(local_id):
            self._write(encode_record(OVER, [local_id]))

    def on_peer_removed(self, local_id: i64) -> None:
        self._write(encode_record(FORGOTTEN, [local_id]))

    def on_expelled(self, local_id: i64, record: ExpulsionRecord) -> None:
        self._write(expulsion_record_bytes(local_id, record))

    # What is sent.

    def on_large_payload(self, sequence: i64, targets: list[int], size: i64) -> None:
        self._write(encode_record(LARGE_PAYLOAD, [sequence, size, *targets]))

    def on_numbered(self, first: i64, last: i64, number: i64) -> None:
        self._write(encode_record(NUMBERED, [first, last, number]))

    def on_fragment_sent(self, sequence: i64) -> None:
        self._write(encode_record(FRAGMENT_SENT, [sequence]))

    def on_payload_unfinished(self, unfinished: UnfinishedPayload) -> None:
        self._write(unfinished_record(unfinished))

    def on_payload_withdrawn(self, last: i64) -> None:
        numbers = self.state.numbers
        for first in list(numbers)[-1:]:
            self.on_numbered(first, last, numbers[first][1])
        self._write(encode_record(LARGE_GONE, []))

    def on_loss(
        self,
        name: str,
        sequences: list[int],
        expelled: i64 = 0,
        unreceived: i64 = 0,
        left_out: bool = False,
    ) -> None:
        losses = self.state.losses
        loss = losses.add(name, sequences, expelled, unreceived, left_out)
        self._changes.put_urgent(loss_record(loss))

    def on_losses_reported(self, numbers: list[int]) -> None:
        """The application knows what was given up under these numbers."""
        self.state.losses.remove(numbers)
        self._changes.put_deferrable(encode_record(LOSSES_REPORTED, numbers))
        self.unconfirmed.has_changed()

    # What comes.

    def on_fragment_received(self, sender: i64, payload: bytes) -> None:
        self._write(encode_record(FRAGMENT_RECEIVED, [sender], payload))

    def on_payload_dropped(self, sender: i64) -> None:
        self._write(encode_record(DROPPED, [sender]))

    def deliver(
        self,
        sender: i64,
        name: str,
        written_name: bytes,
        sequence: i64,
        last: bytes,
        whole: bytes,
    ) -> InboundMessage:
        self.state.on_payload_delivered(sender)
        return self.unconfirmed.deliver(sender, name, written_name, sequence, last, whole)

    def unconfirmed_deliveries(self) -> list[InboundMessage]:
        return self.unconfirmed.pending()

    # Commits.

    def on_turn_ended(self, sent: i64) -> None:
        self.unconfirmed.mark_taken()
        self.state.on_sent(sent)
        if sent != self._sent_written:
            self._sent_written = sent
            self._changes.put_urgent(self._counts())

    def changes_are_urgent(self) -> bool:
        return self._changes.urgent

    def take_changes(self) -> bytes:
        return self._changes.take()

    def snapshot(self, oldest: i64, sent: i64) -> list[bytes]:
        self.on_turn_ended(sent)
        self._changes.take()
        state = self.state
        state.forget_delivered(oldest)
        # Fragments belong to the payload that comes after them, so deliveries first.
        deliveries = self.unconfirmed.snapshot()
        losses = [loss_record(loss) for loss in state.losses.by_number.values()]
        return [*state.records(self._counts()), *deliveries, *state.fragment_records(), *losses]

    def _counts(self) -> bytes:
        state = self.state
        return encode_record(COUNTS, [state.last_id, state.sent, self.unconfirmed.delivered])

    def _write(self, record: bytes) -> None:
        """Something has happened: it must be on disk before anything shows."""
        self._changes.put_urgent(record)
        self.state.apply(RecordReader(record))
