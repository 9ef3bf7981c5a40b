"""What a node finds again after a crash, beside the state of its core.

Each thing that happens to this state is a record, as in the core, whose kinds are below `LINK`: who
this node is, which number each peer has in the core and which incarnation of it was met, who is
expelled, which messages are parts of a payload, what was delivered and is not confirmed by the
application, what was given up and is not told, and what the application wrote down itself.

Not kept: tokens, keys, datagram numbers, credit, and how far anybody is in leaving. Who comes back
agrees on those anew.
"""

from collections.abc import Sequence
from typing import Final, final

from mypy_extensions import i64

from antecede.core.errors import LocalError
from antecede.core.records import ChangeLog, RecordReader, encode_record
from antecede.durability.record_kinds import (  # fmt: skip
    CONFIRMED,
    COUNTS,
    DROPPED,
    ENDED,
    EXPULSION,
    FORGOTTEN,
    FORMER,
    FRAGMENT_RECEIVED,
    FRAGMENT_SENT,
    INBOUND,
    LARGE_GONE,
    LARGE_PAYLOAD,
    LEFT_OUT,
    LIFE,
    LINK,
    LOSS,
    LOSSES_REPORTED,
    NUMBERED,
    OVER,
    PEER,
    PUT,
    REMOVED,
    SENT_BEFORE,
    UNFINISHED_PAYLOAD,
)
from antecede.durability.unconfirmed import InboundMessage, UnconfirmedDeliveries
from antecede.durability.untold import UnreportedLosses, loss_record, read_loss
from antecede.wire.expulsions import ExpulsionRecord
from antecede.wire.frames import append_part

MET_SINCE: Final = -1
"""In place of an id: the peer has been met since, so everything submitted may have left."""

STRANGER: Final = 1
EXPELLED: Final = 2
"""What may be said of a peer: nobody introduced it; the incarnation before was expelled. The bit 4
is in journals of versions in which messages waited for the next one of a name."""


@final
class PeerRecord:
    """One incarnation of a peer, as it is known in the core."""

    __slots__ = (
        "expelled",
        "id",
        "incarnation",
        "marks",
        "name",
        "over",
        "process",
        "sent_before",
        "stranger",
    )

    def __init__(
        self, local_id: i64, name: str, incarnation: i64, process: i64, marks: i64
    ) -> None:
        self.id: Final[i64] = local_id
        self.name: Final = name
        # 0 as long as nobody was met, and the peer's id in event logs.
        self.incarnation: Final[i64] = incarnation
        self.process: Final[i64] = process
        self.marks: Final[i64] = marks
        self.stranger: Final = marks & STRANGER != 0
        self.expelled: Final = marks & EXPELLED != 0
        self.over = False
        # The last of our ids that may have left for it before the last restart, as long as it was
        # not met since; `MET_SINCE` otherwise.
        self.sent_before: i64 = MET_SINCE


@final
class UnfinishedPayload:
    """A payload of which some parts have still to be submitted."""

    __slots__ = ("first", "last", "part_size", "rest", "targets")

    def __init__(
        self, targets: list[int], first: i64, last: i64, part_size: i64, rest: bytes
    ) -> None:
        self.targets: Final = targets
        # The id of the next part when this was written, that of the last part, and what follows.
        self.first: Final[i64] = first
        self.last: Final[i64] = last
        self.part_size: Final[i64] = part_size
        self.rest: Final = rest


@final
class DurableNodeState:
    """The durable state of one node beside its core; each change is also a record."""

    __slots__ = (
        "_formers",
        "_ids",
        "_large",
        "_ledger",
        "_peers",
        "_pieces",
        "_sent_written",
        "ended",
        "expulsions",
        "handling",
        "incarnation",
        "last_id",
        "name",
        "numbers",
        "order",
        "parts",
        "resumed",
        "sent",
        "untold",
        "wholes",
    )

    def __init__(self, name: str, order: str, incarnation: int) -> None:
        self.name = name
        self.order = order
        self.incarnation: i64 = incarnation
        # Whether this life was found in the journal.
        self.resumed = False
        # Why it is over, if it is: the node has left, or was expelled.
        self.ended = ""
        # Where all changes are written, and the part of them that the application makes.
        self._ledger: Final = ChangeLog()
        self.handling: Final = UnconfirmedDeliveries(self._ledger)
        # The newest incarnation of each peer, by its id in the core.
        self._peers: dict[int, PeerRecord] = {}
        self._ids: dict[str, int] = {}
        # Those that were met, have left and were never expelled, by name: they may owe permits.
        self._formers: dict[str, PeerRecord] = {}
        self.expulsions: dict[int, ExpulsionRecord] = {}
        self.last_id: i64 = 0
        # The ids of our messages so far, those that are parts, and for whom large payloads are.
        self.sent: i64 = 0
        self._sent_written: i64 = 0
        self.parts: dict[int, bool] = {}
        self.wholes: dict[int, tuple[list[int], int]] = {}
        # By its first id: the last id of a large payload, and its number.
        self.numbers: dict[int, tuple[int, int]] = {}
        self._large: UnfinishedPayload | None = None
        # Parts of the next payloads, by sender.
        self._pieces: dict[int, list[bytes]] = {}
        # What was given up and the application may not know.
        self.untold: Final = UnreportedLosses()

    # What happens.

    def on_peer(self, local_id: i64, name: str, incarnation: i64, process: i64, marks: i64) -> None:
        """A peer has this id in the core, and is this incarnation if it was met."""
        self._put_peer(PeerRecord(local_id, name, incarnation, process, marks))
        self._ledger.put_urgent(peer_record(self._peers[local_id]))

    def renumbered(self, incarnation: i64) -> None:
        """This life, in which nothing was exchanged, has another number."""
        self.incarnation = incarnation
        self._ledger.put_urgent(life_record(self.name, self.order, incarnation))

    def on_peer_over(self, local_id: i64) -> None:
        """That incarnation of a peer delivers nothing more."""
        if local_id in self._peers:
            self._peers[local_id].over = True
            self._ledger.put_urgent(encode_record(OVER, [local_id]))

    def not_met_since(self, peer: PeerRecord, sent: i64) -> i64:
        """This life goes on, with ids up to `sent` for a peer: which of them may have left for it.

        What is sent before the peer is met again has not left, however often we crash before that.
        """
        if peer.incarnation == 0:
            peer.sent_before = 0
        elif peer.sent_before == MET_SINCE:
            peer.sent_before = sent
        return peer.sent_before

    def on_peer_removed(self, local_id: i64) -> None:
        """That is no peer any more."""
        self._forget(local_id)
        self._ledger.put_urgent(encode_record(FORGOTTEN, [local_id]))

    def on_expelled(self, local_id: i64, record: ExpulsionRecord) -> None:
        """An incarnation is expelled."""
        self._put_expulsion(local_id, record)
        self._ledger.put_urgent(expulsion_record_bytes(local_id, record))

    def on_fragment_sent(self, sequence: i64) -> None:
        """A message of ours is part, and not the last, of a payload."""
        self.parts[sequence] = True
        self._ledger.put_urgent(encode_record(FRAGMENT_SENT, [sequence]))

    def on_large_payload(self, sequence: i64, targets: list[int], size: i64) -> None:
        """The last part of a payload of this size will be that message."""
        self.wholes[sequence] = (list(targets), int(size))
        self._ledger.put_urgent(encode_record(LARGE_PAYLOAD, [sequence, size, *targets]))

    def on_numbered(self, first: i64, last: i64, number: i64) -> None:
        """The messages with these ids are one payload, and have one number."""
        self.numbers[first] = (int(last), int(number))
        self._ledger.put_urgent(encode_record(NUMBERED, [first, last, number]))

    def on_payload_unfinished(self, large: UnfinishedPayload) -> None:
        """The rest of a payload waits for room."""
        self._large = large
        self._ledger.put_urgent(large_record(large))

    def on_payload_withdrawn(self, last: i64) -> None:
        """Nobody is left for whom the rest of the newest payload would be, after this id."""
        for first in list(self.numbers)[-1:]:
            self.on_numbered(first, last, self.numbers[first][1])
        if self._large is not None:
            self._large = None
            self._ledger.put_urgent(encode_record(LARGE_GONE, []))

    def on_fragment_received(self, sender: i64, payload: bytes) -> None:
        """Part of a payload was delivered, and more follows."""
        append_part(self._pieces.setdefault(int(sender), []), payload)
        self._ledger.put_urgent(encode_record(FRAGMENT_RECEIVED, [sender], payload))

    def on_payload_dropped(self, sender: i64) -> None:
        """A payload turned out too large, and is not delivered."""
        self._pieces.pop(sender, None)
        self._ledger.put_urgent(encode_record(DROPPED, [sender]))

    def deliver(
        self,
        sender: i64,
        name: str,
        written_name: bytes,
        sequence: i64,
        last: bytes,
        whole: bytes,
    ) -> InboundMessage:
        """A payload was delivered, of which `last` came last."""
        if self._pieces:
            self._pieces.pop(sender, None)
        return self.handling.deliver(sender, name, written_name, sequence, last, whole)

    def on_life_ended(self, why: str) -> None:
        """This life is over: the next one that opens the journal begins a new one."""
        self.ended = why
        self._ledger.put_urgent(encode_record(ENDED, [], why.encode()))

    def on_loss(
        self,
        name: str,
        sequences: list[int],
        expelled: i64 = 0,
        unreceived: i64 = 0,
        left_out: bool = False,
    ) -> None:
        """Messages to a peer are given up, perhaps because an incarnation is expelled."""
        loss = self.untold.add(name, sequences, expelled, unreceived, left_out)
        self._ledger.put_urgent(loss_record(loss))

    def on_losses_reported(self, numbers: list[int]) -> None:
        """The application knows what was given up under these numbers."""
        self.untold.remove(numbers)
        self._ledger.put_deferrable(encode_record(LOSSES_REPORTED, numbers))
        self.handling.has_changed()

    def peers(self) -> list[PeerRecord]:
        """Who the peers are."""
        return list(self._peers.values())

    def peer_called(self, name: str) -> PeerRecord | None:
        """The newest incarnation of that name, if it is a peer."""
        local_id = self._ids.get(name)
        return None if local_id is None else self._peers[local_id]

    def formers(self) -> list[PeerRecord]:
        """Incarnations before the newest of their names that left, and were not expelled."""
        return list(self._formers.values())

    def pieces(self, sender: i64) -> list[bytes]:
        """What has been delivered of the next payload of a sender."""
        return self._pieces.get(sender, [])

    def large(self) -> UnfinishedPayload | None:
        """The payload that waits for room, if there is one."""
        large = self._large
        return None if large is None or large.last <= self.sent else large

    # Records.

    def note_changes(self, sent: i64) -> None:
        """Write down what is not yet, if our messages have ids up to `sent` by now."""
        self.handling.mark_taken()
        self.sent = sent
        if sent != self._sent_written:
            self._sent_written = sent
            self._ledger.put_urgent(
                encode_record(COUNTS, [self.last_id, sent, self.handling.delivered])
            )

    def are_urgent(self) -> bool:
        """Whether the changes must be on disk before anything shows."""
        return self._ledger.urgent

    def take_changes(self) -> bytes:
        """What has been written down since the last call."""
        return self._ledger.take()

    def snapshot(self, oldest: i64, sent: i64) -> list[bytes]:
        """Everything, if our messages below `oldest` are delivered everywhere."""
        self.note_changes(sent)
        self._ledger.take()
        self.parts = {part: True for part in self.parts if part >= oldest}
        self.wholes = {last: whole for last, whole in self.wholes.items() if last >= oldest}
        self._forget_numbers(oldest)
        records = [life_record(self.name, self.order, self.incarnation)]
        records.append(encode_record(COUNTS, [self.last_id, sent, self.handling.delivered]))
        for peer in [*self._formers.values(), *self._peers.values()]:
            records.append(peer_record(peer))
            if peer.over:
                records.append(encode_record(OVER, [peer.id]))
            if peer.sent_before != MET_SINCE:
                records.append(encode_record(SENT_BEFORE, [peer.id, peer.sent_before]))
        records += [
            expulsion_record_bytes(process, record) for process, record in self.expulsions.items()
        ]
        records += [encode_record(FRAGMENT_SENT, [part]) for part in self.parts]
        for last, (targets, size) in self.wholes.items():
            records.append(encode_record(LARGE_PAYLOAD, [last, size, *targets]))
        for first, (last, number) in self.numbers.items():
            records.append(encode_record(NUMBERED, [first, last, number]))
        large = self.large()
        if large is not None:
            records.append(large_record(large))
        # Pieces belong to the payload that comes after them, so these first.
        records += self.handling.snapshot()
        for sender, pieces in self._pieces.items():
            records += [encode_record(FRAGMENT_RECEIVED, [sender], piece) for piece in pieces]
        records += [loss_record(loss) for loss in self.untold.losses.values()]
        return records

    def new_life(self, incarnation: i64) -> None:
        """A new life: of the former one only what the application needs is left."""
        self.untold.begin_life(self.incarnation)
        self.incarnation = incarnation
        self.resumed = False
        self.ended = ""
        self._peers = {}
        self._ids = {}
        self._formers = {}
        self.expulsions = {}
        self.last_id = 0
        self.sent = 0
        self._sent_written = 0
        self.parts = {}
        self.wholes = {}
        self.numbers = {}
        self._large = None
        self._pieces = {}
        self._ledger.take()

    def replay(self, records: Sequence[bytes]) -> list[bytes]:
        """Take over what a journal holds; answers with the records of the core."""
        core: list[bytes] = []
        for written in records:
            reader = RecordReader(written)
            if reader.kind < LINK:
                core.append(written)
            elif reader.kind not in FORMER:
                self._take(reader)
        self.resumed = self.incarnation > 0
        self._sent_written = self.sent
        return core

    # Inside.

    def _forget_numbers(self, oldest: i64) -> None:
        """Of payloads that everybody has, only the latest tells how to go on."""
        done = [first for first, (last, _) in self.numbers.items() if last < oldest]
        for first in done[:-1]:
            del self.numbers[first]

    def _put_peer(self, peer: PeerRecord) -> None:
        before = self._ids.get(peer.name)
        if before is not None and before != peer.id:
            former = self._peers[before]
            self._forget(before)
            if former.incarnation > 0 and before not in self.expulsions:
                self._formers[peer.name] = former
        self._ids[peer.name] = int(peer.id)
        self._peers[peer.id] = peer
        if peer.id > self.last_id:
            self.last_id = peer.id

    def _forget(self, local_id: i64) -> None:
        peer = self._peers.pop(local_id, None)
        if peer is not None:
            self._ids.pop(peer.name, None)
            self._formers.pop(peer.name, None)
        self._pieces.pop(local_id, None)

    def _put_expulsion(self, local_id: i64, record: ExpulsionRecord) -> None:
        self.expulsions[local_id] = record
        former = self._formers.get(record.name)
        if former is not None and former.id == local_id:
            del self._formers[record.name]
        if local_id > self.last_id:
            self.last_id = local_id

    def _take(self, reader: RecordReader) -> None:
        """One of our own records happens again."""
        kind = reader.kind
        if kind in (INBOUND, CONFIRMED, PUT, REMOVED):
            self.handling.replay(reader, self._pieces)
        elif kind == COUNTS:
            self.last_id = max(int(self.last_id), reader.number())
            self.sent = reader.number()
            self.handling.delivered = reader.number()
        elif kind == FRAGMENT_RECEIVED:
            append_part(self._pieces.setdefault(reader.number(), []), reader.rest())
        elif kind == DROPPED:
            self._pieces.pop(reader.number(), None)
        elif kind in (LIFE, ENDED):
            self._take_life(reader)
        elif kind in (PEER, OVER, FORGOTTEN, EXPULSION, SENT_BEFORE):
            self._take_peer(reader)
        elif kind in (FRAGMENT_SENT, LARGE_PAYLOAD, NUMBERED, UNFINISHED_PAYLOAD, LARGE_GONE):
            self._take_own(reader)
        elif kind in (LOSS, LEFT_OUT):
            self.untold.put(read_loss(reader))
        elif kind == LOSSES_REPORTED:
            self.untold.remove(reader.numbers())
        else:
            raise LocalError(f"a record of kind {kind}, which this version does not know")

    def _take_life(self, reader: RecordReader) -> None:
        if reader.kind == ENDED:
            self.ended = reader.rest().decode()
            return
        self.incarnation = reader.number()
        size = reader.number()
        text = reader.rest()
        self.name, self.order = text[:size].decode(), text[size:].decode()

    def _take_peer(self, reader: RecordReader) -> None:
        kind, local_id = reader.kind, reader.number()
        if kind == PEER:
            incarnation, process, marks = reader.number(), reader.number(), reader.number()
            name = reader.rest().decode()
            self._put_peer(PeerRecord(local_id, name, incarnation, process, marks))
        elif kind == FORGOTTEN:
            self._forget(local_id)
        elif kind == EXPULSION:
            self._put_expulsion(local_id, read_expulsion(reader))
        elif local_id in self._peers and kind == SENT_BEFORE:
            self._peers[local_id].sent_before = reader.number()
        elif local_id in self._peers:
            self._peers[local_id].over = True

    def _take_own(self, reader: RecordReader) -> None:
        kind = reader.kind
        if kind == LARGE_GONE:
            self._large = None
        elif kind == FRAGMENT_SENT:
            self.parts[reader.number()] = True
        elif kind == LARGE_PAYLOAD:
            last, size = reader.number(), reader.number()
            self.wholes[last] = (reader.numbers(), size)
        elif kind == NUMBERED:
            first = reader.number()
            self.numbers[first] = (reader.number(), reader.number())
        else:
            self._large = read_large(reader)


def life_record(name: str, order: str, incarnation: i64) -> bytes:
    """Who this node is."""
    written = name.encode()
    return encode_record(LIFE, [incarnation, len(written)], written + order.encode())


def peer_record(peer: PeerRecord) -> bytes:
    """Who a peer is."""
    numbers = [int(peer.id), int(peer.incarnation), int(peer.process), int(peer.marks)]
    return encode_record(PEER, numbers, peer.name.encode())


def expulsion_record_bytes(local_id: i64, record: ExpulsionRecord) -> bytes:
    """Who is expelled."""
    name, by = record.name.encode(), record.by.encode()
    numbers = [int(local_id), int(record.incarnation), len(name), len(by)]
    return encode_record(EXPULSION, numbers, name + by + record.reason.encode())


def read_expulsion(reader: RecordReader) -> ExpulsionRecord:
    """What `expulsion_record_bytes` wrote, after the id."""
    incarnation, name_size, by_size = reader.number(), reader.number(), reader.number()
    text = reader.rest()
    name, by = text[:name_size], text[name_size : name_size + by_size]
    reason = text[name_size + by_size :]
    return ExpulsionRecord(name.decode(), incarnation, by.decode(), reason.decode())


def large_record(large: UnfinishedPayload) -> bytes:
    """A payload that waits for room."""
    numbers = [int(large.first), int(large.last), int(large.part_size), len(large.targets)]
    return encode_record(UNFINISHED_PAYLOAD, numbers + large.targets, large.rest)


def read_large(reader: RecordReader) -> UnfinishedPayload:
    """What `large_record` wrote."""
    first, last, part_size = reader.number(), reader.number(), reader.number()
    targets = [reader.number() for _ in range(reader.number())]
    return UnfinishedPayload(targets, first, last, part_size, reader.rest())
