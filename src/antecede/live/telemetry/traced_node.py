"""A node whose messages carry a trace context, and whose sends and deliveries are spans.

Names are those of OpenTelemetry's conventions for messaging. A send is a span of kind producer; its
context travels in an envelope before the payload, so everybody who receives from a traced node
wraps theirs, too. A delivery is a span of kind consumer, the sender's child, which lasts as long as
the handler runs.
"""

import inspect
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Self, TypeAlias

from opentelemetry import context as contexts
from opentelemetry import metrics, trace
from opentelemetry.trace import NonRecordingSpan, SpanContext, SpanKind, TraceFlags, TraceState

from antecede import __version__
from antecede.link.inbound import InboundMessage
from antecede.live.node import Node
from antecede.live.telemetry.envelope import NOTHING, Context, put_in, take_out

LIBRARY: Final = "antecede"
SYSTEM: Final = "messaging.system"
OPERATION: Final = "messaging.operation.name"
OPERATION_TYPE: Final = "messaging.operation.type"
DESTINATION: Final = "messaging.destination.name"
MESSAGE_ID: Final = "messaging.message.id"
BODY_SIZE: Final = "messaging.message.body.size"
CLIENT: Final = "messaging.client.id"

SENT: Final = "messaging.client.sent.messages"
CONSUMED: Final = "messaging.client.consumed.messages"
OPERATION_DURATION: Final = "messaging.client.operation.duration"
PROCESS_DURATION: Final = "messaging.process.duration"


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedMessage:
    """A message without its envelope; `resume()` goes on in the trace that it belongs to."""

    sender: str
    sequence: int
    payload: bytes
    context: Any
    """OpenTelemetry's context with the span of this delivery in it."""
    again: bool
    """Whether it may have been handed over before, by a process that crashed."""
    done: Callable[[], None] = field(repr=False, compare=False)
    """Confirms it, where there is a journal."""

    @contextmanager
    def resume(self) -> Iterator[None]:
        """Inside, new spans and sends belong to what caused this message."""
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
        self._sent: Final = meter.create_counter(SENT, "{message}", "Messages sent")
        self._consumed: Final = meter.create_counter(CONSUMED, "{message}", "Messages delivered")
        self._operations: Final = meter.create_histogram(OPERATION_DURATION, "s", "Time to send")
        self._handling: Final = meter.create_histogram(PROCESS_DURATION, "s", "Time in handlers")

    async def send(self, target: str | Sequence[str], payload: bytes) -> int:
        """Like `Node.send`, in a span of its own."""
        with self._sending(target, payload) as (span, enveloped):
            sequence = await self.node.send(target, enveloped)
            span.set_attribute(MESSAGE_ID, f"{self.node.name}/{sequence}")
        return sequence

    def try_send(self, target: str | Sequence[str], payload: bytes) -> int:
        """Like `Node.try_send`, in a span of its own."""
        with self._sending(target, payload) as (span, enveloped):
            sequence = self.node.try_send(target, enveloped)
            span.set_attribute(MESSAGE_ID, f"{self.node.name}/{sequence}")
        return sequence

    async def receive(self, timeout: float | None = None) -> TracedMessage:
        """Like `Node.receive`; the delivery is a span, and `resume()` goes on from it."""
        return self._received(await self.node.receive(timeout))

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> TracedMessage:
        return self._received(await anext(self.node))

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
            yield span, put_in(context_of(span.get_span_context()), payload)
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
        cause, payload = take_out(message.payload)
        about = self._about(operation, self.node.name, len(payload))
        about[MESSAGE_ID] = f"{message.sender}/{int(message.sequence)}"
        self._consumed.add(1, {SYSTEM: LIBRARY, OPERATION: operation})
        parent = contexts.Context() if cause == NOTHING else remote_context(cause)
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


def context_of(span: Any) -> Context:  # noqa: ANN401 - OpenTelemetry is an extra
    """What of a span's context travels."""
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
