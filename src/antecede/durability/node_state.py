"""What a node finds again after a crash, beside the state of its core.

Each thing that happens to this state is a record, as in the core, whose kinds are below `LINK`: who
this node is, which number each peer has in the core and which incarnation of it was met, who is
expelled, which messages are parts of a payload, what was delivered and is not confirmed by the
application, what was given up and is not told, and what the application wrote down itself.

Not kept: tokens, keys, datagram numbers, credit, and how far anybody is in leaving. Who comes back
agrees on those anew.
"""

from typing import Final, final

from mypy_extensions import i64

from antecede.core.errors import LocalError
from antecede.core.records import RecordReader, encode_record
from antecede.durability.losses import UnreportedLosses, read_loss
from antecede.durability.record_kinds import (  # fmt: skip
    DROPPED,
    ENDED,
    EXPULSION,
    FORGOTTEN,
    FRAGMENT_RECEIVED,
    FRAGMENT_SENT,
    LARGE_GONE,
    LARGE_PAYLOAD,
    LEFT_OUT,
    LIFE,
    LOSS,
    LOSSES_REPORTED,
    NUMBERED,
    OVER,
    PEER,
    SENT_BEFORE,
    UNFINISHED_PAYLOAD,
)
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

    def end(self) -> None:
        """That incarnation delivers nothing more."""
        self.over = True

    def set_sent_before(self, sent: i64) -> None:
        """Ids up to this one may have left for it before the last restart."""
        self.sent_before = sent

    def limit_sent(self, sent: i64) -> i64:
        """This life goes on, with ids up to `sent` for it: which of them may have left for it.

        What is sent before the peer is met again has not left, however often we crash before that.
        """
        if self.incarnation == 0:
            self.sent_before = 0
        elif self.sent_before == MET_SINCE:
            self.sent_before = sent
        return self.sent_before


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
    """What the records of one node add up to; only records change it."""

    __slots__ = (
        "_formers",
        "_ids",
        "_peers",
        "_unfinished",
        "ended",
        "expulsions",
        "fragments",
        "fragments_sent",
        "incarnation",
        "large_payloads",
        "last_id",
        "losses",
        "name",
        "numbers",
        "order",
        "sent",
    )

    def __init__(self, name: str, order: str, incarnation: i64, losses: UnreportedLosses) -> None:
        self.name = name
        self.order = order
        self.incarnation: i64 = incarnation
        # Why this life is over, if it is: the node has left, or was expelled.
        self.ended = ""
        # The newest incarnation of each peer, by its id in the core.
        self._peers: Final[dict[int, PeerRecord]] = {}
        self._ids: Final[dict[str, int]] = {}
        # Those that were met, have left and were never expelled, by name: they may owe permits.
        self._formers: Final[dict[str, PeerRecord]] = {}
        self.expulsions: Final[dict[int, ExpulsionRecord]] = {}
        self.last_id: i64 = 0
        # The ids of our messages so far, those that are parts, and, by the id of its last part,
        # for whom a large payload is and how large.
        self.sent: i64 = 0
        self.fragments_sent: dict[int, bool] = {}
        self.large_payloads: dict[int, tuple[list[int], int]] = {}
        # By its first id: the last id of a large payload, and its number.
        self.numbers: Final[dict[int, tuple[int, int]]] = {}
        self._unfinished: UnfinishedPayload | None = None
        # Parts of the next payloads, by sender.
        self.fragments: Final[dict[int, list[bytes]]] = {}
        # What was given up and the application may not know.
        self.losses: Final = losses

    def next_life(self, incarnation: i64) -> "DurableNodeState":
        """A new life, which knows of this one only what was given up in it."""
        losses = self.losses.of_former_life(self.incarnation)
        return DurableNodeState(self.name, self.order, incarnation, losses)

    # What it knows.

    def peers(self) -> list[PeerRecord]:
        """Who the peers are."""
        return list(self._peers.values())

    def is_peer(self, local_id: i64) -> bool:
        """Whether this is the newest incarnation of a peer."""
        return local_id in self._peers

    def peer_called(self, name: str) -> PeerRecord | None:
        """The newest incarnation of that name, if it is a peer."""
        local_id = self._ids.get(name)
        return None if local_id is None else self._peers[local_id]

    def formers(self) -> list[PeerRecord]:
        """Incarnations before the newest of their names that left, and were not expelled."""
        return list(self._formers.values())

    def fragments_of(self, sender: i64) -> list[bytes]:
        """What has been delivered of the next payload of a sender."""
        return self.fragments.get(sender, [])

    def unfinished(self) -> UnfinishedPayload | None:
        """The payload that waits for room, if there is one."""
        unfinished = self._unfinished
        return None if unfinished is None or unfinished.last <= self.sent else unfinished

    # What happens without a record of its own.

    def on_sent(self, sent: i64) -> None:
        """Our messages have ids up to `sent`."""
        self.sent = sent

    def raise_last_id(self, local_id: i64) -> None:
        """Ids in the core up to this one were used."""
        if local_id > self.last_id:
            self.last_id = local_id

    def on_payload_delivered(self, sender: i64) -> None:
        """The parts of a payload have become a whole, or are dropped."""
        if self.fragments:
            self.fragments.pop(sender, None)

    def forget_delivered(self, oldest: i64) -> None:
        """Our messages below `oldest` are delivered everywhere."""
        self.fragments_sent = {one: True for one in self.fragments_sent if one >= oldest}
        self.large_payloads = {
            last: large for last, large in self.large_payloads.items() if last >= oldest
        }
        # Of payloads that everybody has, only the latest tells how to go on.
        done = [first for first, (last, _) in self.numbers.items() if last < oldest]
        for first in done[:-1]:
            del self.numbers[first]

    # Records.

    def records(self, counts: bytes) -> list[bytes]:
        """All of it but the fragments that have come, and the losses."""
        records = [life_record(self.name, self.order, self.incarnation), counts]
        for peer in [*self._formers.values(), *self._peers.values()]:
            records.append(peer_record(peer))
            if peer.over:
                records.append(encode_record(OVER, [peer.id]))
            if peer.sent_before != MET_SINCE:
                records.append(encode_record(SENT_BEFORE, [peer.id, peer.sent_before]))
        records += [
            expulsion_record_bytes(process, record) for process, record in self.expulsions.items()
        ]
        records += [encode_record(FRAGMENT_SENT, [one]) for one in self.fragments_sent]
        for last, (targets, size) in self.large_payloads.items():
            records.append(encode_record(LARGE_PAYLOAD, [last, size, *targets]))
        for first, (last, number) in self.numbers.items():
            records.append(encode_record(NUMBERED, [first, last, number]))
        unfinished = self.unfinished()
        if unfinished is not None:
            records.append(unfinished_record(unfinished))
        return records

    def fragment_records(self) -> list[bytes]:
        """The parts of payloads that have come without the rest."""
        records: list[bytes] = []
        for sender, pieces in self.fragments.items():
            records += [encode_record(FRAGMENT_RECEIVED, [sender], piece) for piece in pieces]
        return records

    def apply(self, reader: RecordReader) -> None:
        """Something happens, now or again: this record says what."""
        kind = reader.kind
        if kind == FRAGMENT_RECEIVED:
            append_part(self.fragments.setdefault(reader.number(), []), reader.rest())
        elif kind == DROPPED:
            self.on_payload_delivered(reader.number())
        elif kind in (LIFE, ENDED):
            self._apply_life(reader)
        elif kind in (PEER, OVER, FORGOTTEN, EXPULSION, SENT_BEFORE):
            self._apply_peer(reader)
        elif kind in (FRAGMENT_SENT, LARGE_PAYLOAD, NUMBERED, UNFINISHED_PAYLOAD, LARGE_GONE):
            self._apply_own(reader)
        elif kind in (LOSS, LEFT_OUT):
            self.losses.put(read_loss(reader))
        elif kind == LOSSES_REPORTED:
            self.losses.remove(reader.numbers())
        else:
            raise LocalError(f"a record of kind {kind}, which this version does not know")

    def _apply_life(self, reader: RecordReader) -> None:
        if reader.kind == ENDED:
            self.ended = reader.rest().decode()
            return
        self.incarnation = reader.number()
        size = reader.number()
        text = reader.rest()
        self.name, self.order = text[:size].decode(), text[size:].decode()

    def _apply_peer(self, reader: RecordReader) -> None:
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
            self._peers[local_id].set_sent_before(reader.number())
        elif local_id in self._peers:
            self._peers[local_id].end()

    def _apply_own(self, reader: RecordReader) -> None:
        kind = reader.kind
        if kind == LARGE_GONE:
            self._unfinished = None
        elif kind == FRAGMENT_SENT:
            self.fragments_sent[reader.number()] = True
        elif kind == LARGE_PAYLOAD:
            last, size = reader.number(), reader.number()
            self.large_payloads[last] = (reader.numbers(), size)
        elif kind == NUMBERED:
            first = reader.number()
            self.numbers[first] = (reader.number(), reader.number())
        else:
            self._unfinished = read_unfinished(reader)

    def _put_peer(self, peer: PeerRecord) -> None:
        before = self._ids.get(peer.name)
        if before is not None and before != peer.id:
            former = self._peers[before]
            self._forget(before)
            if former.incarnation > 0 and before not in self.expulsions:
                self._formers[peer.name] = former
        self._ids[peer.name] = int(peer.id)
        self._peers[peer.id] = peer
        self.raise_last_id(peer.id)

    def _forget(self, local_id: i64) -> None:
        peer = self._peers.pop(local_id, None)
        if peer is not None:
            self._ids.pop(peer.name, None)
            self._formers.pop(peer.name, None)
        self.fragments.pop(local_id, None)

    def _put_expulsion(self, local_id: i64, record: ExpulsionRecord) -> None:
        self.expulsions[local_id] = record
        former = self._formers.get(record.name)
        if former is not None and former.id == local_id:
            del self._formers[record.name]
        self.raise_last_id(local_id)


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


def unfinished_record(large: UnfinishedPayload) -> bytes:
    """A payload that waits for room."""
    numbers = [int(large.first), int(large.last), int(large.part_size), len(large.targets)]
    return encode_record(UNFINISHED_PAYLOAD, numbers + large.targets, large.rest)


def read_unfinished(reader: RecordReader) -> UnfinishedPayload:
    """What `unfinished_record` wrote."""
    first, last, part_size = reader.number(), reader.number(), reader.number()
    targets = [reader.number() for _ in range(reader.number())]
    return UnfinishedPayload(targets, first, last, part_size, reader.rest())
