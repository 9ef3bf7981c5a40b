"""What is written to one peer of expulsions.

Who has still to acknowledge what is decided in the core; these are the records of it, by name and
number, to be written and written again. Of each name only the newest expelled incarnation is told,
which stands for all before it.
"""

from typing import final

from librt.strings import BytesWriter
from mypy_extensions import i64

from antecede.wire.expulsions import (
    EXPULSIONS_MAX,
    ExpulsionRecord,
    expulsion_records_size,
    write_expulsion_records,
)
from antecede.wire.frames import EXPULSIONS, EXPULSIONS_ACKED
from antecede.wire.handshake import cut_text


@final
class Notices:
    """What is to be written to one peer of expulsions: notices, and acknowledgements of its own."""

    __slots__ = ("_acks", "_unacked", "_unwritten", "due")

    def __init__(self) -> None:
        # What the peer has still to acknowledge, as the core says, and what of it is to be written
        # now though nothing else leaves.
        self._unacked: list[ExpulsionRecord] = []
        self._unwritten: list[ExpulsionRecord] = []
        # What it has told us of, and has to hear that we know, by name.
        self._acks: dict[str, ExpulsionRecord] = {}
        # Whether anything is to be written.
        self.due = False

    def is_empty(self) -> bool:
        """Whether everything was acknowledged, on both sides."""
        return not self._unacked and not self._acks

    def tell(self, records: list[ExpulsionRecord]) -> None:
        """The peer has to acknowledge these: write all of them."""
        self._unacked = newest_records(records)
        self.repeat()

    def on_acked(self, left: list[ExpulsionRecord]) -> None:
        """Only these are left to be acknowledged."""
        self._unacked = newest_records(left)
        names = {record.name: True for record in self._unacked}
        self._unwritten = [record for record in self._unwritten if record.name in names]
        self._update()

    def acknowledge(self, records: list[ExpulsionRecord]) -> None:
        """The peer is to be told that these are expelled here, too."""
        for record in newest_records([*self._acks.values(), *records]):
            self._acks[record.name] = record
        self._update()

    def repeat(self) -> None:
        """Tell the peer of everything that it has still to acknowledge."""
        self._unwritten = list(self._unacked)
        self._update()

    def reset(self) -> None:
        """The peer is met again: it will repeat what it has told, and so do we."""
        self._acks.clear()
        self.repeat()

    def write(self, writer: BytesWriter, room: i64) -> bool:
        """Append what there is, as far as there is room; whether any of it are notices."""
        notices = len(self._unwritten) > 0
        if notices:
            records = records_that_fit(self._unwritten, room >> 1)
            write_expulsion_records(writer, EXPULSIONS, records, True)
            del self._unwritten[: len(records)]
        if self._acks:
            # What finds no room is said in the next datagram.
            records = records_that_fit(list(self._acks.values()), room >> 1)
            write_expulsion_records(writer, EXPULSIONS_ACKED, records, False)
            for record in records:
                del self._acks[record.name]
        self._update()
        return notices

    def _update(self) -> None:
        self.due = len(self._unwritten) > 0 or len(self._acks) > 0


def newest_records(records: list[ExpulsionRecord]) -> list[ExpulsionRecord]:
    """Of each name the newest of these, which stands for all before it."""
    newest: dict[str, ExpulsionRecord] = {}
    for record in records:
        known = newest.get(record.name)
        if known is None or known.incarnation < record.incarnation:
            newest[record.name] = record
    return list(newest.values())


def records_that_fit(records: list[ExpulsionRecord], room: i64) -> list[ExpulsionRecord]:
    """As many of these as there is room for, and at least one, without words if need be."""
    chosen: list[ExpulsionRecord] = []
    for record in records:
        size = expulsion_records_size([record])
        if size > room and chosen:
            break
        chosen.append(record)
        room -= size
        if room < 0:
            chosen[-1] = ExpulsionRecord(record.name, record.incarnation, "", "")
            break
        if len(chosen) == EXPULSIONS_MAX:
            break
    return chosen


def shortened(record: ExpulsionRecord, room: i64) -> ExpulsionRecord:
    """The record with as many of its words as there is room for; there is room for the rest."""
    room -= expulsion_records_size([ExpulsionRecord(record.name, record.incarnation, "", "")])
    by = record.by if len(record.by.encode()) <= room else ""
    room -= len(by.encode())
    return ExpulsionRecord(record.name, record.incarnation, by, cut_text(record.reason, room))
