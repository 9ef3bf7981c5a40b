"""What one peer is told of expulsions, and which of its own notices are acknowledged.

Ids are this node's own, as the core knows them; on the wire an incarnation is its name and number.
Of each name only the newest expelled incarnation is told, which stands for all before it.
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
    """Expulsions that one peer has still to acknowledge, and those that it has told us of."""

    __slots__ = ("_notices_due", "_told", "acks_due", "due", "unacked")

    def __init__(self) -> None:
        # By their ids in the core.
        self.unacked: dict[int, ExpulsionRecord] = {}
        self.acks_due: dict[int, ExpulsionRecord] = {}
        # Whether to say so now though nothing else leaves, and how many of them have left.
        self._notices_due = False
        self._told: i64 = 0
        # Whether anything is to be written.
        self.due = False

    def owe(self, records: dict[int, ExpulsionRecord]) -> None:
        """The peer is to be told of these."""
        self.unacked.update(records)
        self.repeat()

    def on_acked(self, processes: list[int]) -> None:
        """The peer has acknowledged these."""
        for process in processes:
            self.unacked.pop(process, None)

    def owe_acks(self, records: dict[int, ExpulsionRecord]) -> None:
        """The peer is to be told that these are noted here."""
        self.acks_due.update(records)
        self._update()

    def repeat(self) -> None:
        """Tell the peer of everything that it has still to acknowledge."""
        self._notices_due = len(self.unacked) > 0
        self._told = 0
        self._update()

    def reset(self) -> None:
        """The peer is met again: it will repeat what it has told, and so do we."""
        self.acks_due.clear()
        self.repeat()

    def write(self, writer: BytesWriter, room: i64) -> bool:
        """Append what there is, as far as there is room; whether any of it are notices."""
        notices = self._notices_due
        if notices:
            everything = newest_records(list(self.unacked.values()))
            records = records_that_fit(everything[self._told :], room >> 1)
            write_expulsion_records(writer, EXPULSIONS, records, True)
            self._told += len(records)
            self._notices_due = self._told < len(everything)
        if self.acks_due:
            # What finds no room is said in the next datagram.
            records = records_that_fit(newest_records(list(self.acks_due.values())), room >> 1)
            write_expulsion_records(writer, EXPULSIONS_ACKED, records, False)
            names = {record.name: True for record in records}
            self.acks_due = {
                process: record
                for process, record in self.acks_due.items()
                if record.name not in names
            }
        self._update()
        return notices

    def _update(self) -> None:
        self.due = self._notices_due or len(self.acks_due) > 0


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
