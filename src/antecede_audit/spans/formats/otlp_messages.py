"""The messages of OTLP in Protocol Buffers, as far as traces need them, read by `protobuf` (upb).

They are described here at run time, not by generated code, which each release of `protobuf` refuses
from another: any release will do, also one that a cluster has for something else. Fields are called
as in OTLP's JSON; those that are not listed are passed over. Texts are bytes, since they may be no
UTF-8; so are messages that hardly anybody asks for, and who does parses them.

Measured with 200,016 spans in 39 MiB of the collector's frames (`otlp_frames` of
`bench/span_formats.py`; processor time to `SpanColumns`, alternating, on a busy machine): 3.7 to
3.9 µs a span with upb of protobuf 7.36.2, and 3.0 to 3.5 with the reader by hand that stood here
before. With attributes both take 24 µs. By hand would have had to be 1.5 times as fast to stay.
"""

from typing import Any, Final, TypeAlias

from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Proto
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from antecede_audit.spans.formats.records import InvalidRecordError

Message: TypeAlias = Any
"""A message, or a class of messages, of `protobuf`'s."""

DAMAGED: Final = "damaged message"

TEXTS: Final = frozenset(("key", "name", "stringValue"))
"""Of the fields that are bytes those that are texts; all others are ids, in hexadecimal digits."""

MESSAGES: Final[dict[str, dict[int, tuple[str, int | str]]]] = {
    "Request": {1: ("resourceSpans", "*ResourceSpans")},
    "ResourceSpans": {1: ("resource", Proto.TYPE_BYTES), 2: ("scopeSpans", "*ScopeSpans")},
    "ScopeSpans": {2: ("spans", "*Span")},
    "Span": {
        1: ("traceId", Proto.TYPE_BYTES),
        2: ("spanId", Proto.TYPE_BYTES),
        4: ("parentSpanId", Proto.TYPE_BYTES),
        5: ("name", Proto.TYPE_BYTES),
        6: ("kind", Proto.TYPE_INT64),
        7: ("startTimeUnixNano", Proto.TYPE_FIXED64),
        8: ("endTimeUnixNano", Proto.TYPE_FIXED64),
        9: ("attributes", "*"),
        13: ("links", "*Link"),
    },
    "Link": {1: ("traceId", Proto.TYPE_BYTES), 2: ("spanId", Proto.TYPE_BYTES)},
    "Resource": {1: ("attributes", "*")},
    "KeyValue": {1: ("key", Proto.TYPE_BYTES), 2: ("value", "AnyValue")},
    "AnyValue": {
        1: ("stringValue", Proto.TYPE_BYTES),
        2: ("boolValue", Proto.TYPE_BOOL),
        3: ("intValue", Proto.TYPE_INT64),
        4: ("doubleValue", Proto.TYPE_DOUBLE),
        5: ("arrayValue", "ArrayValue"),
        6: ("kvlistValue", "KeyValueList"),
        7: ("bytesValue", Proto.TYPE_BYTES),
    },
    "ArrayValue": {1: ("values", "*AnyValue")},
    "KeyValueList": {1: ("values", "*KeyValue")},
}
"""By number: a field and its type, or the message that it is; a list begins with a star."""

LISTS: Final = frozenset(
    name
    for fields in MESSAGES.values()
    for name, kind in fields.values()
    if isinstance(kind, str) and kind.startswith("*")
)


def described() -> FileDescriptorProto:
    """The messages as `protobuf` wants them described; fields that are missing can be told from
    those that are zero."""
    file = FileDescriptorProto(name="antecede_otlp.proto", package="antecede_otlp", syntax="proto2")
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for number, (called, kind) in fields.items():
            is_list = isinstance(kind, str) and kind.startswith("*")
            label = Proto.LABEL_REPEATED if is_list else Proto.LABEL_OPTIONAL
            field = message.field.add(name=called, number=number, label=label)
            inner = kind.removeprefix("*") if isinstance(kind, str) else ""
            if inner:
                field.type, field.type_name = Proto.TYPE_MESSAGE, f".antecede_otlp.{inner}"
            else:
                field.type = Proto.TYPE_BYTES if isinstance(kind, str) else kind
    return file


POOL: Final = DescriptorPool()
POOL.Add(described())
REQUEST, RESOURCE, KEY_VALUE = (
    GetMessageClass(POOL.FindMessageTypeByName(f"antecede_otlp.{name}"))
    for name in ("Request", "Resource", "KeyValue")
)


def parse(kind: Message, data: bytes) -> Message:
    """The message in these bytes; `InvalidRecordError` if it is damaged."""
    try:
        return kind.FromString(data)
    except DecodeError:
        raise InvalidRecordError(DAMAGED) from None


def resource_fields(data: bytes) -> dict[str, object]:
    """A resource as JSON has it."""
    return fields_of(parse(RESOURCE, data), with_attributes=True)


def fields_of(message: Message, *, with_attributes: bool) -> dict[str, object]:
    """A message as JSON has it; without the attributes of spans, if nobody asks for them."""
    found: dict[str, object] = {}
    for field, value in message.ListFields():
        name = field.name
        if name == "resource":
            found[name] = resource_fields(value)
        elif name == "attributes":
            if with_attributes:
                entries = (parse(KEY_VALUE, one) for one in value)
                found[name] = [fields_of(one, with_attributes=True) for one in entries]
        elif field.message_type is None:
            found[name] = plain_value(name, value)
        elif name in LISTS:
            found[name] = [fields_of(one, with_attributes=with_attributes) for one in value]
        else:
            found[name] = fields_of(value, with_attributes=with_attributes)
    return found


def plain_value(name: str, value: object) -> object:
    """The value of a field that is no message."""
    if not isinstance(value, bytes):
        return value
    return value.decode("utf-8", "surrogateescape") if name in TEXTS else value.hex()
