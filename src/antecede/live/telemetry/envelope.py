"""What carries a trace context with a message: a few bytes before its payload.

    mark (4) | trace id (16) | span id (8) | flags (1) | length of the state (2) | state | payload

It is W3C's `traceparent` and `tracestate` in binary: 31 bytes, and the state if there is one. Who
has no context to tell sends the payload as it is; one that happens to begin with the mark gets an
envelope without a context, so that nothing is ever taken for what it is not.
"""

from dataclasses import dataclass
from typing import Final

MARK: Final = b"\x00w3\x01"
TRACE_BYTES: Final = 16
SPAN_BYTES: Final = 8
STATE_BYTES_MAX: Final = 512
"""What W3C asks everybody to pass on; a longer state is left out."""

HEADER_BYTES: Final = len(MARK) + TRACE_BYTES + SPAN_BYTES + 1 + 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Which span of which trace a message was sent in."""

    trace_id: int
    span_id: int
    flags: int = 0
    state: str = ""

    @property
    def is_valid(self) -> bool:
        """Whether it says anything: ids that are zero do not."""
        return self.trace_id != 0 and self.span_id != 0


NOTHING: Final = Context(trace_id=0, span_id=0)


def put_in(context: Context, payload: bytes) -> bytes:
    """The payload with its context before it, or as it is if there is none to tell."""
    if not context.is_valid:
        return payload if not payload.startswith(MARK) else header_of(NOTHING) + payload
    return header_of(context) + payload


def header_of(context: Context) -> bytes:
    """A context as bytes."""
    state = context.state.encode("ascii", "ignore")
    if len(state) > STATE_BYTES_MAX:
        state = b""
    return b"".join(
        (
            MARK,
            context.trace_id.to_bytes(TRACE_BYTES),
            context.span_id.to_bytes(SPAN_BYTES),
            bytes([context.flags & 0xFF]),
            len(state).to_bytes(2),
            state,
        )
    )


def take_out(data: bytes) -> tuple[Context, bytes]:
    """What `put_in` was given; whatever has no envelope is a payload."""
    if not data.startswith(MARK) or len(data) < HEADER_BYTES:
        return NOTHING, data
    start = len(MARK)
    trace = int.from_bytes(data[start : start + TRACE_BYTES])
    start += TRACE_BYTES
    span = int.from_bytes(data[start : start + SPAN_BYTES])
    start += SPAN_BYTES
    flags, length = data[start], int.from_bytes(data[start + 1 : start + 3])
    state = data[HEADER_BYTES : HEADER_BYTES + length]
    if length > STATE_BYTES_MAX or len(state) < length or not state.isascii():
        return NOTHING, data
    context = Context(trace_id=trace, span_id=span, flags=flags, state=state.decode("ascii"))
    return context, data[HEADER_BYTES + length :]
