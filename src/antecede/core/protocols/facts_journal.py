"""What a process of `hybrid-facts` writes down, so that another can go on for it after a crash.

Its state hangs together in many ways: permits owed, parked copies and the past refer to the same
reports. So it is not told record by record what it was, but by what happened: the same calls have
the same effects, and calls are what is recorded, messages without their payloads once they are
delivered. A snapshot is a dump of everything, in JSON: containers and records by number, so that
what is shared stays shared. Timers are not in it, nor is what came too early: it will come again.
"""

import json
from collections import deque
from typing import Any, Final, final

from antecede.core.alarms import Alarm
from antecede.core.errors import LocalError
from antecede.core.fact_packets import (
    Fact,
    FactsAck,
    FactsAsk,
    FactsMessage,
    FactsPermit,
    Mark,
    Report,
    Watermark,
)
from antecede.core.fence import Fence
from antecede.core.packets import Expulsion, Noted, Notice
from antecede.core.protocols.facts_filter import Filter
from antecede.core.protocols.facts_inbox import Inbox
from antecede.core.protocols.facts_owed import OwedPermit, OwedPermits, OwedQueue
from antecede.core.protocols.facts_parking import Parking
from antecede.core.protocols.facts_past import Known, Past, Wanted
from antecede.core.protocols.facts_reports import PastReport
from antecede.core.protocols.facts_truths import ExceptMark, Standing, Truths
from antecede.core.protocols.facts_window import Copy, Entry, Front, Peer, Window
from antecede.core.protocols.facts_writing import Writer
from antecede.core.reports import Expelled, Refused, Stopped, Unconfirmed
from antecede.core.sliding import SlidingArray
from antecede.core.state import fields_of
from antecede.core.values import Message

VALUES: Final[dict[str, Any]] = {
    "message": Message,
    "mark": Mark,
    "fact": Fact,
    "report": Report,
    "watermark": Watermark,
    "facts-message": FactsMessage,
    "facts-ack": FactsAck,
    "facts-permit": FactsPermit,
    "facts-ask": FactsAsk,
    "notice": Notice,
    "noted": Noted,
    "expulsion": Expulsion,
    "expelled": Expelled,
    "unconfirmed": Unconfirmed,
    "refused": Refused,
    "stopped": Stopped,
}
"""What never changes once it is made: it is told by its `FIELDS`."""

RECORDS: Final[tuple[type, ...]] = (
    Alarm, Copy, Entry, ExceptMark, Fence, Front, Inbox, Known, OwedPermit, OwedPermits, OwedQueue,
    Parking, Past, PastReport, Peer, SlidingArray, Standing, Truths, Wanted, Window, Writer,
)  # fmt: skip

VALUE_NAMES: Final = {kind: name for name, kind in VALUES.items()}
RECORD_KINDS: Final = {kind.__name__: kind for kind in RECORDS}

BYTES, TUPLE, REFERENCE, VALUE, FILTER = "b", "t", "r", "v", "f"
LIST, DICT, QUEUE, RECORD = "l", "d", "q", "c"
"""How things stand in a dump: in place, and in its table of what may be shared."""


@final
class Writing:
    """Turns objects into what JSON can say."""

    def __init__(self, with_payloads: bool) -> None:
        self._with_payloads = with_payloads
        self._numbers: dict[int, int] = {}
        self.table: list[Any] = []

    def said(self, value: Any) -> Any:  # noqa: ANN401 - anything that is part of a state
        """One object."""
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if kind is bytes:
            return [BYTES, value.hex() if self._with_payloads else ""]
        if kind is tuple:
            return [TUPLE, [self.said(item) for item in value]]
        if kind is Filter:
            return [FILTER]
        name = VALUE_NAMES.get(kind)
        if name is not None:
            fields = [self.said(getattr(value, field)) for field in VALUES[name].FIELDS]
            return [VALUE, name, fields]
        return [REFERENCE, self._number(value, kind)]

    def _number(self, value: Any, kind: type) -> int:  # noqa: ANN401 - as above
        known = self._numbers.get(id(value))
        if known is not None:
            return known
        number = self._numbers[id(value)] = len(self.table)
        self.table.append(None)
        if kind is list:
            self.table[number] = [LIST, [self.said(item) for item in value]]
        elif kind is deque:
            self.table[number] = [QUEUE, [self.said(item) for item in value]]
        elif kind is dict:
            pairs = [[self.said(key), self.said(item)] for key, item in value.items()]
            self.table[number] = [DICT, pairs]
        else:
            self.table[number] = [RECORD, kind.__name__, *self._record(value, kind)]
        return number

    def _record(self, value: Any, kind: type) -> tuple[list[Any], list[Any]]:  # noqa: ANN401 - as above
        fields = fields_of(kind)
        assert fields is not None, f"{kind} is neither a value nor a record"
        made_of = [self.said(getattr(value, name)) for name in fields.made_of]
        # Compiled classes list what they could have, a dictionary among it.
        others = [name for name in fields.all if name not in fields.made_of and name[:2] != "__"]
        return made_of, [[name, self.said(getattr(value, name))] for name in others]


@final
class Reading:
    """Makes the objects again."""

    def __init__(self, table: list[Any], own_filter: Filter) -> None:
        self._table = table
        self._filter = own_filter
        self._made: dict[int, Any] = {}

    def made(self, said: Any) -> Any:  # noqa: ANN401 - anything that is part of a state
        """One object."""
        if not isinstance(said, list):
            return said
        kind = said[0]
        if kind == BYTES:
            return bytes.fromhex(said[1])
        if kind == TUPLE:
            return tuple(self.made(item) for item in said[1])
        if kind == FILTER:
            return self._filter
        if kind == VALUE:
            return VALUES[said[1]](*[self.made(item) for item in said[2]])
        return self._shared(said[1])

    def _shared(self, number: int) -> Any:  # noqa: ANN401 - as above
        if number in self._made:
            return self._made[number]
        entry = self._table[number]
        if entry[0] == RECORD:
            return self._record(number, entry)
        container: Any = {LIST: list, DICT: dict, QUEUE: deque}[entry[0]]()
        self._made[number] = container
        if entry[0] == DICT:
            for key, item in entry[1]:
                container[self.made(key)] = self.made(item)
        else:
            container.extend(self.made(item) for item in entry[1])
        return container

    def _record(self, number: int, entry: list[Any]) -> Any:  # noqa: ANN401 - as above
        kind = RECORD_KINDS[entry[1]]
        record = kind(*[self.made(item) for item in entry[2]])
        self._made[number] = record
        fields = fields_of(kind)
        assert fields is not None, f"{kind} is a record"
        settable = fields.settable(record)
        for name, said in entry[3]:
            if name in settable:
                setattr(record, name, self.made(said))
        return record


def dumped(process: object, names: tuple[str, ...]) -> bytes:
    """These fields of a process, in bytes."""
    writing = Writing(with_payloads=True)
    fields = [[name, writing.said(getattr(process, name))] for name in names]
    return json.dumps([fields, writing.table], separators=(",", ":")).encode()


def load(process: object, own_filter: Filter, dump: bytes) -> None:
    """Give a fresh process the fields of a dump."""
    try:
        fields, table = json.loads(dump)
    except ValueError as error:
        raise LocalError("a snapshot that cannot be read") from error
    reading = Reading(table, own_filter)
    for name, said in fields:
        setattr(process, name, reading.made(said))


def written(value: object) -> bytes:
    """A packet, without its payload."""
    writing = Writing(with_payloads=False)
    return json.dumps([writing.said(value), writing.table], separators=(",", ":")).encode()


def read(data: bytes, own_filter: Filter) -> Any:  # noqa: ANN401 - whatever packet it was
    """What `written` wrote."""
    said, table = json.loads(data)
    return Reading(table, own_filter).made(said)
