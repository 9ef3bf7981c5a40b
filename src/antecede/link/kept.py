"""What the link of a node finds again after a crash, beside the state of its core.

Each thing that happens to this state is a record, as in the core, whose kinds are below `LINK`: who
this node is, which number each peer has in the core and which incarnation of it was met, who is
expelled, which messages are parts of a payload, what was delivered and is not confirmed by the
application, and what the application wrote down itself.

Not kept: tokens, keys, datagram numbers, credit, and how far anybody is in leaving. Who comes back
agrees on those anew.
"""

from collections.abc import Callable, Sequence
from typing import Final, final

from mypy_extensions import i64

from antecede.core.errors import LocalError
from antecede.core.records import RecordReader, record, record_of_four
from antecede.wire.fence import Tombstone

LINK: Final = 64
"""Records of the core have kinds below this one."""

LIFE: Final = 64
PEER: Final = 65
OVER: Final = 66
FORGOTTEN: Final = 67
STONE: Final = 68
COUNTS: Final = 69
PART: Final = 70
WHOLE: Final = 71
LARGE: Final = 72
LARGE_GONE: Final = 73
PIECE: Final = 74
DROPPED: Final = 75
INBOUND: Final = 76
CONFIRMED: Final = 77
PUT: Final = 78
REMOVED: Final = 79
ENDED: Final = 80
NUMBERED: Final = 81
"""Kinds of records."""


@final
class KeptPeer:
    """One incarnation of a peer, as it is known in the core."""

    __slots__ = ("id", "incarnation", "name", "over", "process", "stranger")

    def __init__(
        self, local_id: i64, name: str, incarnation: i64, process: i64, stranger: bool
    ) -> None:
        self.id: Final[i64] = local_id
        self.name: Final = name
        # 0 as long as nobody was met, and the peer's id in event logs.
        self.incarnation: Final[i64] = incarnation
        self.process: Final[i64] = process
        self.stranger: Final = stranger
        self.over = False


@final
class KeptLarge:
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
class KeptMessage:
    """A message that was delivered and not confirmed."""

    __slots__ = ("number", "payload", "sender", "sender_id", "sequence")

    def __init__(
        self, number: i64, sender_id: i64, sender: str, sequence: i64, payload: bytes
    ) -> None:
        self.number: Final[i64] = number
        self.sender_id: Final[i64] = sender_id
        self.sender: Final = sender
        self.sequence: Final[i64] = sequence
        self.payload: Final = payload


@final
class Kept:
    """The durable state of one link; each change is also a record."""

    __slots__ = (
        "_confirmed_from",
        "_confirmed_to",
        "_formers",
        "_held",
        "_ids",
        "_large",
        "_peers",
        "_pending",
        "_pieces",
        "_quiet",
        "_records",
        "_sent_written",
        "delivered",
        "ended",
        "incarnation",
        "last_id",
        "name",
        "numbers",
        "order",
        "parts",
        "pass_on",
        "resumed",
        "sent",
        "stones",
        "values",
        "wake",
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
        # To be called when something changes that nobody else would notice.
        self.wake: Callable[[], None] | None = None
        self._quiet = True
        # Where other threads confirm: passes a number on to the thread in which everything runs.
        self.pass_on: Callable[[int], None] | None = None
        self._records: list[bytes] = []
        # The newest incarnation of each peer, by its id in the core.
        self._peers: dict[int, KeptPeer] = {}
        self._ids: dict[str, int] = {}
        # Those that were met, have left and were never expelled, by name: they may owe permits.
        self._formers: dict[str, KeptPeer] = {}
        self.stones: dict[int, Tombstone] = {}
        self.last_id: i64 = 0
        # The ids of our messages so far, those that are parts, and for whom large payloads are.
        self.sent: i64 = 0
        self._sent_written: i64 = 0
        self.parts: dict[int, bool] = {}
        self.wholes: dict[int, tuple[list[int], int]] = {}
        # By its first id: the last id of a large payload, and its number.
        self.numbers: dict[int, tuple[int, int]] = {}
        self._large: KeptLarge | None = None
        # How many payloads were delivered, parts of the next ones by sender, and by its number
        # each that is not confirmed: the very record that brings it back.
        self.delivered: i64 = 0
        self._pieces: dict[int, list[bytes]] = {}
        self._pending: dict[int, bytes] = {}
        self._confirmed_from: i64 = 0
        self._confirmed_to: i64 = 0
        # What the application wrote down.
        self.values: dict[str, bytes] = {}
        # What is to be written with the next confirmation; None: struck out.
        self._held: dict[str, bytes | None] = {}

    # What happens.

    def met(self, local_id: i64, name: str, incarnation: i64, process: i64, stranger: bool) -> None:
        """A peer has this id in the core, and is this incarnation if it was met."""
        self._put_peer(KeptPeer(local_id, name, incarnation, process, stranger))
        self._records.append(peer_record(self._peers[local_id]))

    def over(self, local_id: i64) -> None:
        """That incarnation of a peer delivers nothing more."""
        if local_id in self._peers:
            self._peers[local_id].over = True
            self._records.append(record(OVER, [local_id]))

    def forgotten(self, local_id: i64) -> None:
        """That is no peer any more."""
        self._forget(local_id)
        self._records.append(record(FORGOTTEN, [local_id]))

    def expelled(self, local_id: i64, stone: Tombstone) -> None:
        """An incarnation is expelled."""
        self._put_stone(local_id, stone)
        self._records.append(stone_record(local_id, stone))

    def part(self, sequence: i64) -> None:
        """A message of ours is part, and not the last, of a payload."""
        self.parts[sequence] = True
        self._records.append(record(PART, [sequence]))

    def whole(self, sequence: i64, targets: list[int], size: i64) -> None:
        """The last part of a payload of this size will be that message."""
        self.wholes[sequence] = (list(targets), int(size))
        self._records.append(record(WHOLE, [sequence, size, *targets]))

    def numbered(self, first: i64, last: i64, number: i64) -> None:
        """The messages with these ids are one payload, and have one number."""
        self.numbers[first] = (int(last), int(number))
        self._records.append(record(NUMBERED, [first, last, number]))

    def unfinished(self, large: KeptLarge) -> None:
        """The rest of a payload waits for room."""
        self._large = large
        self._records.append(large_record(large))

    def withdrawn(self, last: i64) -> None:
        """Nobody is left for whom the rest of the newest payload would be, after this id."""
        for first in list(self.numbers)[-1:]:
            self.numbered(first, last, self.numbers[first][1])
        if self._large is not None:
            self._large = None
            self._records.append(record(LARGE_GONE, []))

    def piece(self, sender: i64, payload: bytes) -> None:
        """Part of a payload was delivered, and more follows."""
        self._pieces.setdefault(int(sender), []).append(payload)
        self._records.append(record(PIECE, [sender], payload))

    def dropped(self, sender: i64) -> None:
        """A payload turned out too large, and is not delivered."""
        self._pieces.pop(sender, None)
        self._records.append(record(DROPPED, [sender]))

    def inbound(self, sender: i64, name: str, sequence: i64, last: bytes, whole: bytes) -> i64:
        """A payload was delivered, of which `last` came last; its number."""
        self.delivered += 1
        number = self.delivered
        written = inbound_record(number, sender, sequence, name, last)
        self._records.append(written)
        if self._pieces and self._pieces.pop(sender, None) is not None:
            written = inbound_record(number, sender, sequence, name, whole)
        self._pending[number] = written
        return number

    def confirm(self, number: i64) -> None:
        """The application is done with a payload; once is enough."""
        if self.pass_on is not None:
            self.pass_on(number)
        else:
            self.confirm_here(number)

    def confirm_here(self, number: i64) -> None:
        """The same, in the thread in which everything runs."""
        if self._pending.pop(number, None) is None:
            return
        if number != self._confirmed_to + 1:
            self._write_confirmed()
            self._confirmed_from = number
        self._confirmed_to = number
        if self._held:
            self._write_held()
        self._has_changed()

    def put(self, key: str, value: bytes | None, during: i64) -> None:
        """The application writes something down, or strikes it out with None.

        If it does so during the handling of a payload (its number, or 0), that is written when it
        confirms one.
        """
        self._held[key] = value
        if during == 0 or during not in self._pending:
            self._write_held()

    def value(self, key: str) -> bytes | None:
        """What the application wrote down last."""
        return self._held[key] if key in self._held else self.values.get(key)

    def keys(self) -> list[str]:
        """All keys under which something is written down."""
        names = [key for key in self.values if key not in self._held]
        return names + [key for key, value in self._held.items() if value is not None]

    def end(self, why: str) -> None:
        """This life is over: the next one that opens the journal begins a new one."""
        self.ended = why
        self._records.append(record(ENDED, [], why.encode()))

    def pending(self) -> list[KeptMessage]:
        """What was delivered and is not confirmed, in order."""
        return [read_inbound(RecordReader(found)) for found in self._pending.values()]

    def peers(self) -> list[KeptPeer]:
        """Who the peers are."""
        return list(self._peers.values())

    def peer_called(self, name: str) -> KeptPeer | None:
        """The newest incarnation of that name, if it is a peer."""
        local_id = self._ids.get(name)
        return None if local_id is None else self._peers[local_id]

    def former(self, name: str) -> KeptPeer | None:
        """The incarnation of that name before the newest, if it left and was not expelled."""
        return self._formers.get(name)

    def pieces(self, sender: i64) -> list[bytes]:
        """What has been delivered of the next payload of a sender."""
        return self._pieces.get(sender, [])

    def large(self) -> KeptLarge | None:
        """The payload that waits for room, if there is one."""
        large = self._large
        return None if large is None or large.last <= self.sent else large

    # Records.

    def changes(self, sent: i64) -> list[bytes]:
        """What has changed since the last call, if our messages have ids up to `sent` by now."""
        self._write_confirmed()
        self._quiet = True
        self.sent = sent
        if sent != self._sent_written:
            self._sent_written = sent
            self._records.append(record(COUNTS, [self.last_id, sent, self.delivered]))
        records = self._records
        self._records = []
        return records

    def snapshot(self, oldest: i64, sent: i64) -> list[bytes]:
        """Everything, if our messages below `oldest` are delivered everywhere."""
        self.changes(sent)
        self.parts = {part: True for part in self.parts if part >= oldest}
        self.wholes = {last: whole for last, whole in self.wholes.items() if last >= oldest}
        self._forget_numbers(oldest)
        records = [life_record(self.name, self.order, self.incarnation)]
        records.append(record(COUNTS, [self.last_id, sent, self.delivered]))
        for peer in [*self._formers.values(), *self._peers.values()]:
            records.append(peer_record(peer))
            if peer.over:
                records.append(record(OVER, [peer.id]))
        records += [stone_record(process, stone) for process, stone in self.stones.items()]
        records += [record(PART, [part]) for part in self.parts]
        for last, (targets, size) in self.wholes.items():
            records.append(record(WHOLE, [last, size, *targets]))
        for first, (last, number) in self.numbers.items():
            records.append(record(NUMBERED, [first, last, number]))
        large = self.large()
        if large is not None:
            records.append(large_record(large))
        for sender, pieces in self._pieces.items():
            records += [record(PIECE, [sender], piece) for piece in pieces]
        records += self._pending.values()
        records += [value_record(key, value) for key, value in self.values.items()]
        return records

    def begin_anew(self, incarnation: i64) -> None:
        """A new life: of the former one only what the application needs is left."""
        self.incarnation = incarnation
        self.resumed = False
        self.ended = ""
        self._peers = {}
        self._ids = {}
        self._formers = {}
        self.stones = {}
        self.last_id = 0
        self.sent = 0
        self._sent_written = 0
        self.parts = {}
        self.wholes = {}
        self.numbers = {}
        self._large = None
        self._pieces = {}
        self._records = []

    def replay(self, records: Sequence[bytes]) -> list[bytes]:
        """Take over what a journal holds; answers with the records of the core."""
        core: list[bytes] = []
        for written in records:
            reader = RecordReader(written)
            if reader.kind < LINK:
                core.append(written)
            else:
                self._take(reader, written)
        self.resumed = self.incarnation > 0
        self._sent_written = self.sent
        return core

    # Inside.

    def _forget_numbers(self, oldest: i64) -> None:
        """Of payloads that everybody has, only the latest tells how to go on."""
        done = [first for first, (last, _) in self.numbers.items() if last < oldest]
        for first in done[:-1]:
            del self.numbers[first]

    def _write_held(self) -> None:
        for key, value in self._held.items():
            if value is None:
                self.values.pop(key, None)
                self._records.append(record(REMOVED, [], key.encode()))
            else:
                self.values[key] = value
                self._records.append(value_record(key, value))
        self._held = {}
        self._has_changed()

    def _has_changed(self) -> None:
        """Nobody else notices: say so, once until it is asked for."""
        if self._quiet and self.wake is not None:
            self._quiet = False
            self.wake()

    def _write_confirmed(self) -> None:
        if self._confirmed_from > 0:
            self._records.append(record(CONFIRMED, [self._confirmed_from, self._confirmed_to]))
        self._confirmed_from = 0
        self._confirmed_to = -1

    def _put_peer(self, peer: KeptPeer) -> None:
        before = self._ids.get(peer.name)
        if before is not None and before != peer.id:
            former = self._peers[before]
            self._forget(before)
            if former.incarnation > 0 and before not in self.stones:
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

    def _put_stone(self, local_id: i64, stone: Tombstone) -> None:
        self.stones[local_id] = stone
        former = self._formers.get(stone.name)
        if former is not None and former.id == local_id:
            del self._formers[stone.name]
        if local_id > self.last_id:
            self.last_id = local_id

    def _take(self, reader: RecordReader, written: bytes) -> None:
        """One of our own records happens again."""
        kind = reader.kind
        if kind == INBOUND:
            self._take_inbound(reader, written)
        elif kind == CONFIRMED:
            first, last = reader.number(), reader.number()
            for number in range(first, last + 1):
                self._pending.pop(number, None)
        elif kind == COUNTS:
            self.last_id = max(int(self.last_id), reader.number())
            self.sent = reader.number()
            self.delivered = reader.number()
        elif kind == PIECE:
            self._pieces.setdefault(reader.number(), []).append(reader.rest())
        elif kind == DROPPED:
            self._pieces.pop(reader.number(), None)
        elif kind in (LIFE, ENDED):
            self._take_life(reader)
        elif kind in (PEER, OVER, FORGOTTEN, STONE):
            self._take_peer(reader)
        elif kind in (PART, WHOLE, NUMBERED, LARGE, LARGE_GONE):
            self._take_own(reader)
        elif kind in (PUT, REMOVED):
            self._take_value(reader)
        else:
            raise LocalError(f"a record of kind {kind}, which this version does not know")

    def _take_inbound(self, reader: RecordReader, written: bytes) -> None:
        message = read_inbound(reader)
        pieces = self._pieces.pop(message.sender_id, None)
        if pieces is not None:
            whole = b"".join(pieces) + message.payload
            written = inbound_record(
                message.number, message.sender_id, message.sequence, message.sender, whole
            )
        self._pending[int(message.number)] = written
        self.delivered = message.number

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
            incarnation, process, stranger = reader.number(), reader.number(), reader.number()
            name = reader.rest().decode()
            self._put_peer(KeptPeer(local_id, name, incarnation, process, stranger == 1))
        elif kind == FORGOTTEN:
            self._forget(local_id)
        elif kind == STONE:
            self._put_stone(local_id, read_stone(reader))
        elif local_id in self._peers:
            self._peers[local_id].over = True

    def _take_own(self, reader: RecordReader) -> None:
        kind = reader.kind
        if kind == LARGE_GONE:
            self._large = None
        elif kind == PART:
            self.parts[reader.number()] = True
        elif kind == WHOLE:
            last, size = reader.number(), reader.number()
            targets: list[int] = []
            while reader.left() > 0:
                targets.append(reader.number())
            self.wholes[last] = (targets, size)
        elif kind == NUMBERED:
            first = reader.number()
            self.numbers[first] = (reader.number(), reader.number())
        else:
            self._large = read_large(reader)

    def _take_value(self, reader: RecordReader) -> None:
        if reader.kind == REMOVED:
            self.values.pop(reader.rest().decode(), None)
            return
        size = reader.number()
        text = reader.rest()
        self.values[text[:size].decode()] = text[size:]


def life_record(name: str, order: str, incarnation: i64) -> bytes:
    """Who this node is."""
    written = name.encode()
    return record(LIFE, [incarnation, len(written)], written + order.encode())


def value_record(key: str, value: bytes) -> bytes:
    """What the application wrote down."""
    name = key.encode()
    return record(PUT, [len(name)], name + value)


def peer_record(peer: KeptPeer) -> bytes:
    """Who a peer is."""
    numbers = [int(peer.id), int(peer.incarnation), int(peer.process), 1 if peer.stranger else 0]
    return record(PEER, numbers, peer.name.encode())


def stone_record(local_id: i64, stone: Tombstone) -> bytes:
    """Who is expelled."""
    name, by = stone.name.encode(), stone.by.encode()
    numbers = [int(local_id), int(stone.incarnation), len(name), len(by)]
    return record(STONE, numbers, name + by + stone.reason.encode())


def read_stone(reader: RecordReader) -> Tombstone:
    """What `stone_record` wrote, after the id."""
    incarnation, name_size, by_size = reader.number(), reader.number(), reader.number()
    text = reader.rest()
    name, by = text[:name_size], text[name_size : name_size + by_size]
    reason = text[name_size + by_size :]
    return Tombstone(name.decode(), incarnation, by.decode(), reason.decode())


def large_record(large: KeptLarge) -> bytes:
    """A payload that waits for room."""
    numbers = [int(large.first), int(large.last), int(large.part_size), len(large.targets)]
    return record(LARGE, numbers + large.targets, large.rest)


def read_large(reader: RecordReader) -> KeptLarge:
    """What `large_record` wrote."""
    first, last, part_size = reader.number(), reader.number(), reader.number()
    targets = [reader.number() for _ in range(reader.number())]
    return KeptLarge(targets, first, last, part_size, reader.rest())


def inbound_record(number: i64, sender: i64, sequence: i64, name: str, payload: bytes) -> bytes:
    """A payload that was delivered, or its last part."""
    written = name.encode()
    return record_of_four(INBOUND, number, sender, sequence, len(written), written + payload)


def read_inbound(reader: RecordReader) -> KeptMessage:
    """What `inbound_record` wrote."""
    number, sender, sequence, size = [reader.number() for _ in range(4)]
    text = reader.rest()
    return KeptMessage(number, sender, text[:size].decode(), sequence, text[size:])
