"""The tables between the stages of ingest, and those it leaves: written here, never inferred.

`RECORDS` is what reading yields, `MESSAGES` what messages are known by before they are in order.
`STORED_SPANS`, `STORED_LINES`, `REJECTS` and `FILES` together are the records of all batches.
"""

from typing import Final

import pyarrow as pa

from antecede.eventlog.parquet import event_schema
from antecede_audit.columns.arrow_rows import DataType, Schema

TEXT: Final = pa.string()
LONG: Final = pa.int64()
INTEGER: Final = pa.int32()
FLAG: Final = pa.bool_()
TEXTS: Final = pa.list_(TEXT)
ATTRIBUTES: Final = pa.map_(TEXT, TEXT)


def table(**columns: DataType) -> Schema:
    """A table with these columns; every one of them may be null."""
    return pa.schema([*columns.items()])


PARTS: Final = table(number=INTEGER, path=TEXT, start=LONG, end=LONG)

SPAN: Final = table(
    trace=TEXT,
    span=TEXT,
    parent=TEXT,
    follows=FLAG,
    kind=TEXT,
    process=TEXT,
    start_ns=LONG,
    end_ns=LONG,
    links=TEXTS,
    operation=TEXT,
    attributes=ATTRIBUTES,
)

COPY: Final = table(
    message=TEXT,
    label=TEXT,
    sender=TEXT,
    receiver=TEXT,
    sent_ns=LONG,
    received_ns=LONG,
    causes=TEXTS,
    payload_bytes=INTEGER,
)

SPANS: Final = table(
    trace_id=TEXT,
    span_id=TEXT,
    process=INTEGER,
    operation=TEXT,
    attributes=ATTRIBUTES,
)
"""What the steps of requests are called, and the attributes of them that somebody asked for."""

STORED_SPANS: Final = pa.schema(
    [
        *SPANS,
        *table(
            parent_id=TEXT,
            follows=FLAG,
            kind=TEXT,
            process_key=TEXT,
            start_ns=LONG,
            end_ns=LONG,
            links=TEXTS,
            part=INTEGER,
            ordinal=LONG,
        ),
    ]
)
"""The same with all else that was read, so that a later batch can be added: what records call the
process, its own times, and where it stood."""

STORED_AS: Final = {"trace": "trace_id", "span": "span_id", "parent": "parent_id"}
"""What the columns of spans are called outside."""

STORED_LINES: Final = pa.schema([*table(part=INTEGER, ordinal=LONG, source=TEXT), *COPY])
"""The lines of message tables, for the same reason."""

REJECT: Final = table(position=TEXT, reason=TEXT, excerpt=TEXT)

FILE: Final = table(format=TEXT, records=LONG, fingerprint=TEXT, damage=TEXT)
"""`damage` is null but in the row that says why a file was not read to its end."""

RECORDS: Final = table(
    part=INTEGER,
    ordinal=LONG,
    source=TEXT,
    span=pa.struct([*SPAN]),
    copy=pa.struct([*COPY]),
    reject=pa.struct([*REJECT]),
    file=pa.struct([*FILE]),
)
"""One of span, copy, reject and file is there. The first two columns say in which order they came;
a file comes after its records and counts them."""

REJECTS: Final = table(source=TEXT, position=TEXT, reason=TEXT, excerpt=TEXT)
"""What could not be used: in which file, where in it, why, and how it begins."""

FILES: Final = pa.schema([*table(part=INTEGER, source=TEXT), *FILE])
"""Every file that was read, and every file in an archive; large ones part by part."""

MESSAGES: Final = table(
    message=LONG,
    sender=INTEGER,
    receiver=INTEGER,
    sent_ns=LONG,
    sent_latest_ns=LONG,
    received_ns=LONG,
    received_earliest_ns=LONG,
    sent_in=TEXT,
    sent_by=LONG,
    received_in=TEXT,
    received_by=LONG,
    answers=LONG,
    one_way=FLAG,
    label=TEXT,
    causes=TEXTS,
    payload_bytes=INTEGER,
    sent_span=TEXT,
    received_span=TEXT,
)
"""One row per message and destination, by the clocks of the machines they were recorded on.

`message` names it among those of its sender. It was sent at `sent_ns` exactly, or, where
`sent_latest_ns` is there, not before the first and not after the second; it was received at
`received_ns` exactly (null: not recorded) or between `received_earliest_ns` and that. `…_in` is the
trace (null: received in the one it was sent in), `…_span` the span that the event is the start or
the end of, and `…_by` the span whose handling of a request it belongs to. A reply `answers` a
message.

Processes are numbers, and names nobody wants to see again are hashes, which sort and travel faster.
Should two of 64 bits ever be equal, two messages at one time may count as one, or a message may
wait for one of another trace.
"""

NUMBERED: Final = ("sender", "receiver")
HASHED: Final = ("message", "sent_by", "received_by", "answers")

EVENTS: Final = table(**{field.name: field.type for field in event_schema()})
"""The event log of one run; `antecede.eventlog.schema` explains the columns."""

WORKLOAD: Final = table(
    message_id=LONG,
    sender=INTEGER,
    targets=pa.list_(INTEGER),
    causes=pa.list_(LONG),
    delay_ns=LONG,
    payload_bytes=INTEGER,
)
"""Who sends what to whom, and after what; `antecede_audit.eventlog.workload` explains the
columns."""
