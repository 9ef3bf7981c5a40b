"""Traces and metrics for OpenTelemetry: the extra `otel`.

Nothing here is imported, and nothing of it is on the wire, unless somebody wraps a node:

    traced = TracedNode(node)
    await traced.send("bob", b"hello")        # a span, whose context travels with the message
    traced.on_message(handle)                 # called inside a span whose parent is the sender's

Names are those of OpenTelemetry's conventions for messaging. A send is a span of kind producer. Its
context travels in an envelope, a few bytes before the payload, so everybody who receives from a
traced node wraps theirs, too. A delivery is a span of kind consumer, the sender's child, which
lasts as long as the handler runs.

    mark (4) | trace id (16) | span id (8) | flags (1) | length of the state (2) | state | payload

The envelope is W3C's `traceparent` and `tracestate` in binary: 31 bytes, and the state if there is
one. Without a context the payload is sent as it is. A payload that happens to begin with the mark
gets an envelope without a context, so that a receiver never mistakes one for the other.

`OtlpFile` writes spans as a collector's file exporter does: OTLP in JSON, one request per line.
`antecede ingest` reads it, as every reader of OTLP does.

    provider = TracerProvider(resource=Resource.create({"service.name": "shop"}))
    provider.add_span_processor(BatchSpanProcessor(OtlpFile("spans.jsonl")))
"""

import inspect
import json
import os
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self, TypeAlias

from antecede.durability.unconfirmed import InboundMessage
from antecede.runtime.content import Payload, payload_bytes
from antecede.runtime.errors import MissingExtra
from antecede.runtime.node import Node
from antecede.runtime.observe.metric import Metric, metric_of
from antecede.runtime.observe.stats import Stats
from antecede.version import __version__

try:
    from opentelemetry import context as contexts
    from opentelemetry import metrics, trace
    from opentelemetry.trace import NonRecordingSpan, SpanContext, SpanKind, TraceFlags, TraceState
except ModuleNotFoundError as error:
    raise MissingExtra("opentelemetry") from error

MARK: Final = b"\x00w3\x01"
TRACE_BYTES: Final = 16
SPAN_BYTES: Final = 8
STATE_BYTES_MAX: Final = 512
"""512 bytes of state must be passed on (W3C); a longer one is left out."""

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
        """Whether both ids are set: zero means none."""
        return self.trace_id != 0 and self.span_id != 0


NO_CONTEXT: Final = Context(trace_id=0, span_id=0)


def inject(context: Context, payload: bytes) -> bytes:
    """The payload with its context before it, or as it is if there is no context."""
    if not context.is_valid:
        return payload if not payload.startswith(MARK) else header_of(NO_CONTEXT) + payload
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


def extract(data: bytes) -> tuple[Context, bytes]:
    """The context and the payload that `inject` joined; data without an envelope is a payload."""
    if not data.startswith(MARK) or len(data) < HEADER_BYTES:
        return NO_CONTEXT, data
    start = len(MARK)
    trace = int.from_bytes(data[start : start + TRACE_BYTES])
    start += TRACE_BYTES
    span = int.from_bytes(data[start : start + SPAN_BYTES])
    start += SPAN_BYTES
    flags, length = data[start], int.from_bytes(data[start + 1 : start + 3])
    state = data[HEADER_BYTES : HEADER_BYTES + length]
    if length > STATE_BYTES_MAX or len(state) < length or not state.isascii():
        return NO_CONTEXT, data
    context = Context(trace_id=trace, span_id=span, flags=flags, state=state.decode("ascii"))
    return context, data[HEADER_BYTES + length :]


KINDS: Final = {
    SpanKind.INTERNAL: 1,
    SpanKind.SERVER: 2,
    SpanKind.CLIENT: 3,
    SpanKind.PRODUCER: 4,
    SpanKind.CONSUMER: 5,
}


class OtlpFile:
    """A span exporter, in OpenTelemetry's sense, that appends to a file."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path: Final = Path(path)

    def export(self, spans: Sequence[Any]) -> Any:  # noqa: ANN401 - OpenTelemetry is an extra
        """Write these; called by a span processor, and perhaps by those of several services."""
        from opentelemetry.sdk.trace.export import SpanExportResult

        lines = [json.dumps(request_of(span), separators=(",", ":")) + "\n" for span in spans]
        with self._path.open("a", encoding="utf-8") as file:
            file.write("".join(lines))
        return SpanExportResult.SUCCESS

    def force_flush(self, timeout_millis: int = 30_000) -> bool:  # noqa: ARG002 - as it is called
        """Everything is written already."""
        return True

    def shutdown(self) -> None:
        """Nothing is open."""


def request_of(span: Any) -> dict[str, Any]:  # noqa: ANN401 - OpenTelemetry is an extra
    """One span as a request of OTLP."""
    scope = span.instrumentation_scope
    scoped = {"scope": {"name": scope.name, "version": scope.version}, "spans": [fields_of(span)]}
    resource = {"attributes": attributes_of(span.resource.attributes)}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [scoped]}]}


def fields_of(span: Any) -> dict[str, Any]:  # noqa: ANN401 - OpenTelemetry is an extra
    """A span; ids are hexadecimal and times are strings, as OTLP's JSON wants it."""
    fields: dict[str, Any] = {
        "traceId": f"{span.context.trace_id:032x}",
        "spanId": f"{span.context.span_id:016x}",
        "name": span.name,
        "kind": KINDS[span.kind],
        "startTimeUnixNano": str(span.start_time),
        "endTimeUnixNano": str(span.end_time),
        "attributes": attributes_of(span.attributes or {}),
    }
    if span.parent is not None:
        fields["parentSpanId"] = f"{span.parent.span_id:016x}"
    if span.links:
        fields["links"] = [
            {
                "traceId": f"{link.context.trace_id:032x}",
                "spanId": f"{link.context.span_id:016x}",
            }
            for link in span.links
        ]
    return fields


def attributes_of(attributes: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - a mapping of theirs
    """Attributes, each wrapped in what its type is called."""
    return [{"key": key, "value": value_of(value)} for key, value in attributes.items()]


def value_of(value: object) -> dict[str, Any]:
    """One value of an attribute."""
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return {"arrayValue": {"values": [value_of(one) for one in value]}}
    return {"stringValue": str(value)}


LIBRARY: Final = "antecede"
SYSTEM: Final = "messaging.system"
OPERATION: Final = "messaging.operation.name"
OPERATION_TYPE: Final = "messaging.operation.type"
DESTINATION: Final = "messaging.destination.name"
MESSAGE_ID: Final = "messaging.message.id"
BODY_SIZE: Final = "messaging.message.body.size"
CLIENT: Final = "messaging.client.id"

SENT: Final = metric_of(Stats, "messages_sent")
CONSUMED: Final = metric_of(Stats, "messages_received")
"""The same metrics as in the Prometheus endpoint, counted here call by call."""
OPERATION_DURATION: Final = "messaging.client.operation.duration"
PROCESS_DURATION: Final = "messaging.process.duration"


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedMessage:
    """A message without its envelope; `resume()` continues the trace that it belongs to."""

    sender: str
    sequence: int
    payload: bytes
    context: Any
    """OpenTelemetry's context with the span of this delivery in it."""
    again: bool
    """Whether it may have been delivered before, by a process that crashed (redelivery)."""
    done: Callable[[], Awaitable[None]] = field(repr=False, compare=False)
    """Confirms it, where there is a journal; awaited, it waits until that is on disk."""

    @contextmanager
    def resume(self) -> Iterator[None]:
        """Inside, new spans and sends are children of this delivery."""
        token = contexts.attach(self.context)
        try:
            yield
        finally:
            contexts.detach(token)


TracedHandler: TypeAlias = Callable[[TracedMessage], Awaitable[None] | None]


class TracedNode:
    """A node with spans and metrics around what it sends and delivers; the rest is at `node`."""

    def __init__(
        self,
        node: Node,
        *,
        tracer_provider: Any = None,  # noqa: ANN401 - OpenTelemetry is an extra
        meter_provider: Any = None,  # noqa: ANN401 - OpenTelemetry is an extra
    ) -> None:
        self.node: Final = node
        self._tracer: Final = trace.get_tracer(LIBRARY, __version__, tracer_provider)
        meter = metrics.get_meter(LIBRARY, __version__, meter_provider)
        self._sent: Final = message_counter(meter, SENT)
        self._consumed: Final = message_counter(meter, CONSUMED)
        self._operations: Final = meter.create_histogram(OPERATION_DURATION, "s", "Time to send")
        self._handling: Final = meter.create_histogram(PROCESS_DURATION, "s", "Time in handlers")

    async def send(
        self, target: str | Sequence[str], payload: Payload, timeout: float | None = None
    ) -> int:
        """Like `Node.send`, in a span of its own."""
        with self._sending(target, payload_bytes(payload)) as (span, enveloped):
            sequence = await self.node.send(target, enveloped, timeout)
            span.set_attribute(MESSAGE_ID, f"{self.node.name}/{sequence}")
        return sequence

    def try_send(self, target: str | Sequence[str], payload: Payload) -> int:
        """Like `Node.try_send`, in a span of its own."""
        with self._sending(target, payload_bytes(payload)) as (span, enveloped):
            sequence = self.node.try_send(target, enveloped)
            span.set_attribute(MESSAGE_ID, f"{self.node.name}/{sequence}")
        return sequence

    def receive(self, timeout: float | None = None) -> Coroutine[None, None, TracedMessage]:
        """Like `Node.receive`; the delivery is a span, and `resume()` goes on from it."""
        return self._awaited(self.node.receive(timeout))

    def __aiter__(self) -> Self:
        return self

    def __anext__(self) -> Coroutine[None, None, TracedMessage]:
        return self._awaited(anext(self.node))

    async def _awaited(self, asked: Awaitable[InboundMessage]) -> TracedMessage:
        return self._received(await asked)

    def on_message(self, handler: TracedHandler) -> None:
        """Like `Node.on_message`; every call runs in a span, which ends when the handler does."""
        if inspect.iscoroutinefunction(handler):
            awaited = handler

            async def in_span(message: InboundMessage) -> None:
                with self._processing(message) as traced:
                    await awaited(traced)

            self.node.on_message(in_span)
            return

        def at_once(message: InboundMessage) -> Awaitable[None] | None:
            with self._processing(message) as traced:
                return handler(traced)

        self.node.on_message(at_once)

    @contextmanager
    def _sending(self, target: str | Sequence[str], payload: bytes) -> Iterator[tuple[Any, bytes]]:
        destination = target if isinstance(target, str) else ",".join(target)
        about = self._about("send", destination, len(payload))
        begun = time.perf_counter()
        with self._tracer.start_as_current_span(
            f"send {destination}", kind=SpanKind.PRODUCER, attributes=about
        ) as span:
            yield span, inject(context_of(span.get_span_context()), payload)
        few = {key: about[key] for key in (SYSTEM, OPERATION, DESTINATION)}
        self._sent.add(1, few)
        self._operations.record(time.perf_counter() - begun, few)

    def _received(self, message: InboundMessage) -> TracedMessage:
        with self._delivery("receive", message) as traced:
            return traced

    @contextmanager
    def _processing(self, message: InboundMessage) -> Iterator[TracedMessage]:
        begun = time.perf_counter()
        with self._delivery("process", message) as traced:
            yield traced
        self._handling.record(time.perf_counter() - begun, {SYSTEM: LIBRARY, OPERATION: "process"})

    @contextmanager
    def _delivery(self, operation: str, message: InboundMessage) -> Iterator[TracedMessage]:
        """A span of kind consumer, the child of the sender's."""
        cause, payload = extract(message.payload)
        about = self._about(operation, self.node.name, len(payload))
        about[MESSAGE_ID] = f"{message.sender}/{int(message.sequence)}"
        self._consumed.add(1, {SYSTEM: LIBRARY, OPERATION: operation})
        parent = contexts.Context() if cause == NO_CONTEXT else remote_context(cause)
        with self._tracer.start_as_current_span(
            f"{operation} {self.node.name}", parent, SpanKind.CONSUMER, about
        ):
            yield TracedMessage(
                sender=message.sender,
                sequence=int(message.sequence),
                payload=payload,
                context=contexts.get_current(),
                again=message.again,
                done=message.done,
            )

    def _about(self, operation: str, destination: str, size: int) -> dict[str, Any]:
        return {
            SYSTEM: LIBRARY,
            OPERATION: operation,
            OPERATION_TYPE: operation,
            DESTINATION: destination,
            BODY_SIZE: size,
            CLIENT: self.node.name,
        }


def message_counter(meter: metrics.Meter, metric: Metric) -> metrics.Counter:
    """A counter of messages, called as the statistics call it."""
    return meter.create_counter(metric.dotted_name, "{message}", metric.meaning)


def context_of(span: Any) -> Context:  # noqa: ANN401 - OpenTelemetry is an extra
    """The part of a span's context that is sent."""
    return Context(
        trace_id=span.trace_id,
        span_id=span.span_id,
        flags=int(span.trace_flags),
        state=span.trace_state.to_header() if span.trace_state else "",
    )


def remote_context(cause: Context) -> Any:  # noqa: ANN401 - OpenTelemetry is an extra
    """OpenTelemetry's context in which the sender's span is the current one."""
    state = TraceState.from_header([cause.state]) if cause.state else TraceState()
    span = SpanContext(
        cause.trace_id,
        cause.span_id,
        is_remote=True,
        trace_flags=TraceFlags(cause.flags),
        trace_state=state,
    )
    return trace.set_span_in_context(NonRecordingSpan(span), contexts.Context())
