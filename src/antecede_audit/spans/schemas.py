"""The tables between the stages of ingest, and those it leaves: written here, never inferred.

`RECORDS` is what reading yields, `MESSAGES` what messages are known by before they are in order.
`STORED_SPANS`, `STORED_LINES`, `REJECTS` and `FILES` together are the records of all batches.
"""

from typing import Final

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
)

TEXT: Final = StringType()
LONG: Final = LongType()
TEXTS: Final = ArrayType(TEXT)


def table(**columns: DataType) -> StructType:
    """A table with these columns; Spark takes every one of them to be nullable."""
    return StructType([StructField(name, kind) for name, kind in columns.items()])


PARTS: Final = table(number=IntegerType(), path=TEXT, start=LONG, end=LONG)

SPAN: Final = table(
    trace=TEXT,
    span=TEXT,
    parent=TEXT,
    follows=BooleanType(),
    kind=TEXT,
    process=TEXT,
    start_ns=LONG,
    end_ns=LONG,
    links=TEXTS,
    operation=TEXT,
    attributes=MapType(TEXT, TEXT),
)

COPY: Final = table(
    message=TEXT,
    label=TEXT,
    sender=TEXT,
    receiver=TEXT,
    sent_ns=LONG,
    received_ns=LONG,
    causes=TEXTS,
    payload_bytes=IntegerType(),
)

SPANS: Final = table(
    trace_id=TEXT,
    span_id=TEXT,
    process=IntegerType(),
    operation=TEXT,
    attributes=MapType(TEXT, TEXT),
)
"""What the steps of requests are called, and the attributes of them that somebody asked for."""

STORED_SPANS: Final = StructType(
    [
        *SPANS.fields,
        *table(
            parent_id=TEXT,
            follows=BooleanType(),
            kind=TEXT,
            process_key=TEXT,
            start_ns=LONG,
            end_ns=LONG,
            links=TEXTS,
            part=IntegerType(),
            ordinal=LONG,
        ).fields,
    ]
)
"""The same with all else that was read, so that a later batch can be added: what records call the
process, its own times, and where it stood."""

STORED_AS: Final = {"trace": "trace_id", "span": "span_id", "parent": "parent_id"}
"""What the columns of spans are called outside."""

STORED_LINES: Final = StructType(
    [*table(part=IntegerType(), ordinal=LONG, source=TEXT).fields, *COPY.fields]
)
"""The lines of message tables, for the same reason."""

REJECT: Final = table(position=TEXT, reason=TEXT, excerpt=TEXT)

FILE: Final = table(format=TEXT, records=LONG, fingerprint=TEXT, damage=TEXT)
"""`damage` is null but in the row that says why a file was not read to its end."""

RECORDS: Final = table(
    part=IntegerType(), ordinal=LONG, source=TEXT, span=SPAN, copy=COPY, reject=REJECT, file=FILE
)
"""One of span, copy, reject and file is there. The first two columns say in which order they came;
a file comes after its records and counts them."""

REJECTS: Final = table(source=TEXT, position=TEXT, reason=TEXT, excerpt=TEXT)
"""What could not be used: in which file, where in it, why, and how it begins."""

FILES: Final = StructType([*table(part=IntegerType(), source=TEXT).fields, *FILE.fields])
"""Every file that was read, and every file in an archive; large ones part by part."""

MESSAGES: Final = table(
    message=LONG,
    sender=IntegerType(),
    receiver=IntegerType(),
    sent_ns=LONG,
    sent_latest_ns=LONG,
    received_ns=LONG,
    received_earliest_ns=LONG,
    sent_in=TEXT,
    sent_by=LONG,
    received_in=TEXT,
    received_by=LONG,
    answers=LONG,
    one_way=BooleanType(),
    label=TEXT,
    causes=TEXTS,
    payload_bytes=IntegerType(),
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
