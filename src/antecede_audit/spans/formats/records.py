"""What reading a trace yields, one value per record, and the checks that all formats share.

A record that cannot be used is a `RejectRecord`, never an error: it keeps where it stood, what is
wrong with it and how it begins, and reading goes on.
"""

import json
import math
import re
from collections.abc import Iterable
from typing import Final, NamedTuple, TypeAlias

INT64_MAX: Final = (1 << 63) - 1
INT32_MAX: Final = (1 << 31) - 1

TIME_NS_MAX: Final = 1 << 62
"""No time is further from 0 than this (146 years), so that differences and offsets fit as well."""

EXCERPT_CHARACTERS: Final = 240

INSTANCE: Final = "\x1f"
"""Between the name of a service and the name of one instance of it."""

LINE: Final = "\x1f"
"""Before a label that is the number of a line: it means something in its own file only."""

Attributes: TypeAlias = list[tuple[str, str]]
"""Names and values, as text."""

KEEP_NOTHING: Final[frozenset[str]] = frozenset()
"""The attributes to keep if nobody names any."""

ZEROS: Final = re.compile(r"0+")
"""The id of nothing: what an exporter writes that has no id."""

HEXADECIMAL: Final = re.compile(r"[0-9a-fA-F]+")
CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")

CLIENT: Final = "client"
SERVER: Final = "server"
PRODUCER: Final = "producer"
CONSUMER: Final = "consumer"
INTERNAL: Final = "internal"
UNKNOWN: Final = ""
"""The kind of a span that does not say; who calls whom then follows from the shape of its trace."""

KINDS: Final = frozenset({CLIENT, SERVER, PRODUCER, CONSUMER, INTERNAL})


class SpanRecord(NamedTuple):
    """Something a process did, from start to end, on behalf of a parent."""

    trace: str
    span: str
    parent: str | None
    follows: bool
    """Whether the parent did not wait for it: what came from there is a one-way message."""
    kind: str
    process: str
    start_ns: int
    end_ns: int | None
    links: list[str]
    """Other spans that caused this one, as `span_key` writes them."""
    operation: str | None = None
    """What it calls what it did."""
    attributes: Attributes | None = None
    """Those that somebody asked for; None if it has none of them."""


class MessageRecord(NamedTuple):
    """A line of a message table: one message on its way to one of its receivers."""

    message: str
    """Equal for the copies of one multicast, different for other messages of the same sender."""
    label: str | None
    """What causes call it; None in a table without causes."""
    sender: str
    receiver: str
    sent_ns: int
    received_ns: int | None
    causes: list[str] | None
    """The labels of what it answers; None in a table without causes."""
    payload_bytes: int


class RejectRecord(NamedTuple):
    """A record that cannot be used."""

    position: str
    reason: str
    """One of a few texts, so that rejects can be counted by it; the excerpt has the details."""
    excerpt: str


class InvalidRecordError(Exception):
    """Says why the record at hand cannot be used; whoever reads the file makes a `RejectRecord`
    of it.
    """


def span_key(trace: str, span: str) -> str:
    """How links name a span."""
    return f"{trace}/{span}"


def process_key(service: str, instance: str) -> str:
    """What a process is called until it is known whether its service has other instances."""
    return service if instance in ("", service) else f"{service}{INSTANCE}{instance}"


def excerpt_of(record: object) -> str:
    """How a record begins, as text that any table can hold."""
    text = (
        record if isinstance(record, str) else json.dumps(record, ensure_ascii=False, default=str)
    )
    cut = text[:EXCERPT_CHARACTERS]
    return cut.encode("utf-8", "backslashreplace").decode("utf-8")


def object_of(value: object, what: str) -> dict[str, object]:
    """The value if it is a JSON object."""
    if value is None:
        raise InvalidRecordError(f"no {what}")
    if not isinstance(value, dict):
        raise InvalidRecordError(f"{what} is not an object")
    return value


def name_of(value: object, what: str) -> str:
    """The value if it can name something: text that is not empty, and UTF-8 in its file."""
    if not isinstance(value, str) or not value.strip():
        raise InvalidRecordError(f"no {what}")
    if not value.isascii():
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise InvalidRecordError(f"{what} is not UTF-8") from None
    if CONTROL.search(value):
        raise InvalidRecordError(f"{what} has control characters")
    return value.strip()


def identity_of(value: object, what: str) -> str:
    """A trace or span id; hexadecimal ones mean the same in upper and lower case."""
    name = name_of(value, what)
    return name.lower() if HEXADECIMAL.fullmatch(name) else name


def trace_identity(value: object, what: str) -> str:
    """A trace id; all zeros is none, and would make one trace of many."""
    name = identity_of(value, what)
    if ZEROS.fullmatch(name):
        raise InvalidRecordError(f"{what} is all zeros")
    return name


def optional_identity(value: object, what: str) -> str | None:
    """An id that may be left out, empty, or all zeros."""
    if value is None or value == "":
        return None
    name = identity_of(value, what)
    return None if ZEROS.fullmatch(name) else name


def operation_of(value: object) -> str | None:
    """What a span calls what it did, if it says so in text that any table can hold."""
    return well_formed(value) if isinstance(value, str) and value else None


def kept_attributes(found: Iterable[tuple[object, object]]) -> Attributes | None:
    """Attributes as text, whatever their type; None if there are none."""
    kept = [
        (well_formed(name), well_formed(value if isinstance(value, str) else json.dumps(value)))
        for name, value in found
        if isinstance(name, str) and value is not None
    ]
    return kept or None


def well_formed(text: str) -> str:
    """The text without what is not UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def instant_of(value: object, unit_ns: int, what: str) -> int:
    """A point in time after 1970, in nanoseconds; trace formats write 0 for an unknown one."""
    time_ns = scaled(value, unit_ns, what)
    if time_ns <= 0:
        raise InvalidRecordError(f"{what} is not after 1970")
    return time_ns


def scaled(value: object, unit_ns: int, what: str) -> int:
    """A whole number of units, given as a number or as digits, in nanoseconds."""
    if value is None:
        raise InvalidRecordError(f"no {what}")
    number = whole_number(value)
    if number is None:
        raise InvalidRecordError(f"{what} is not a whole number")
    if abs(number) * unit_ns > TIME_NS_MAX:
        raise InvalidRecordError(f"{what} is out of range")
    return number * unit_ns


def whole_number(value: object) -> int | None:
    """The value as an integer, if it is one in whatever notation."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return int(value) if math.isfinite(value) and value.is_integer() else None
    if isinstance(value, str) and len(value) <= 20 and value.isascii():
        digits = value.strip()
        return int(digits) if digits.removeprefix("-").isdigit() else None
    return None


def end_of(start_ns: int, end_ns: int) -> int:
    """The end of a span that started at `start_ns`."""
    if end_ns < start_ns:
        raise InvalidRecordError("it ends before it starts")
    return end_ns
