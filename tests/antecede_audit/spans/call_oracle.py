"""What `call_columns` explains, done span by span for one trace: slower, and nothing in common."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, final

from antecede_audit.columns.arrow_rows import Batch, Column, batch_of_rows
from antecede_audit.spans.formats.records import SpanRecord
from antecede_audit.spans.messages import compacted
from antecede_audit.spans.schemas import HASHED, MESSAGES, NUMBERED, TEXT, table

CLIENT, SERVER, PRODUCER, CONSUMER, UNKNOWN = "client", "server", "producer", "consumer", ""
TIME_NS_MAX: Final = 1 << 62

SENDING_SIDE: Final = {SERVER: CLIENT, CONSUMER: PRODUCER}
NOBODY: Final = -1
MIXED: Final = "\x00"

DUPLICATES: Final = "duplicate_spans"
ORPHANS: Final = "missing_parents"
UNHEARD: Final = "unreceived_calls"


class Call(NamedTuple):
    """A copy of a message, as the table `MESSAGES` has it, but for numbers and hashes."""

    message: str
    sender: str
    receiver: str
    sent_ns: int
    sent_latest_ns: int | None
    received_ns: int | None
    received_earliest_ns: int | None
    sent_in: str | None
    sent_by: str | None
    received_in: str | None
    received_by: str | None
    answers: str | None
    one_way: bool
    label: str | None = None
    causes: list[str] | None = None
    payload_bytes: int = 0
    sent_span: str | None = None
    received_span: str | None = None


def messages_of(calls: Sequence[Call], keys: Column) -> Batch:
    """Calls as rows of `MESSAGES`, between processes that are called so."""
    named = (*HASHED, *NUMBERED)
    kinds = {one.name: TEXT if one.name in named else one.type for one in MESSAGES}
    rows = batch_of_rows(calls, table(**kinds))
    return compacted({name: rows[name] for name in kinds}, keys)


def span_key(trace: str, span: str) -> str:
    return f"{trace}/{span}"


def calls_of_trace(spans: Sequence[SpanRecord], tally: Counter[str]) -> Iterator[Call]:
    """The messages of a trace; what else is worth counting goes to `tally`.

    Of spans that are there twice the first counts, so they must come in the order of their files.
    """
    trace = Trace(spans, tally)
    for place, span in enumerate(trace.spans):
        if trace.is_received(place):
            parent = trace.spans[trace.parent[place]]
            if span.follows or span.kind == CONSUMER or parent.kind == PRODUCER:
                yield trace.one_way(place)
            else:
                yield trace.request(place)
                if span.end_ns is not None:
                    yield trace.reply(place)
    tally[UNHEARD] += trace.unheard()


@final
class Trace:
    """The spans of a trace, each with its place, its parent and its handler."""

    def __init__(self, spans: Sequence[SpanRecord], tally: Counter[str]) -> None:
        first: dict[tuple[str, str], SpanRecord] = {}
        for span in spans:
            first.setdefault((span.span, span.process), span)
        self.spans: Final = list(first.values())
        tally[DUPLICATES] += len(spans) - len(self.spans)
        self._places: Final[dict[str, list[int]]] = {}
        for place, span in enumerate(self.spans):
            self._places.setdefault(span.span, []).append(place)
        self.parent: Final = [self._find_parent(place, tally) for place in range(len(self.spans))]
        self._called: Final = self._find_called()
        self._handlers: Final = self._find_handlers()

    def is_received(self, place: int) -> bool:
        """Whether the span started because a message came in."""
        if self.parent[place] == NOBODY:
            return False
        span, parent = self.spans[place], self.spans[self.parent[place]]
        if span.process != parent.process:
            return True
        return span.kind == CONSUMER and parent.kind == PRODUCER

    def request(self, place: int) -> Call:
        """The message that started a span."""
        span, parent = self.spans[place], self.spans[self.parent[place]]
        return Call(
            message=self._key(place),
            sender=parent.process,
            receiver=span.process,
            sent_ns=parent.start_ns,
            sent_latest_ns=self._sent_latest(self.parent[place]),
            received_ns=span.start_ns,
            received_earliest_ns=None,
            sent_in=span.trace,
            sent_by=self._handlers[self.parent[place]],
            received_in=span.trace,
            received_by=self._handlers[place],
            answers=None,
            one_way=False,
            sent_span=parent.span,
            received_span=span.span,
        )

    def reply(self, place: int) -> Call:
        """The message that a span's end is, back to whoever started it."""
        span, parent = self.spans[place], self.spans[self.parent[place]]
        assert span.end_ns is not None, "a span without an end has no reply"
        exact = self._is_client(self.parent[place])
        return Call(
            message=self._key(place) + "<",
            sender=span.process,
            receiver=parent.process,
            sent_ns=span.end_ns,
            sent_latest_ns=None,
            received_ns=parent.end_ns,
            received_earliest_ns=None if exact else parent.start_ns,
            sent_in=span.trace,
            sent_by=self._handlers[place],
            received_in=span.trace,
            received_by=self._handlers[self.parent[place]],
            answers=self._key(place),
            one_way=False,
            sent_span=span.span,
            received_span=parent.span,
        )

    def one_way(self, place: int) -> Call:
        """The message that started a span whose parent does not wait for it."""
        span, parent = self.spans[place], self.spans[self.parent[place]]
        message = span_key(parent.trace, parent.span) + "*"
        if parent.kind != PRODUCER:
            message += span_key(span.trace, span.span)
        return self.request(place)._replace(message=message, one_way=True)

    def unheard(self) -> int:
        """How many calls nobody is known to have received."""
        return sum(
            span.kind in (CLIENT, PRODUCER) and place not in self._called
            for place, span in enumerate(self.spans)
        )

    def _find_parent(self, place: int, tally: Counter[str]) -> int:
        span = self.spans[place]
        sending = SENDING_SIDE.get(span.kind)
        for other in self._places[span.span]:
            if self.spans[other].kind == sending:
                return other
        if span.parent is None:
            return NOBODY
        candidates = [other for other in self._places.get(span.parent, []) if other != place]
        if not candidates:
            tally[ORPHANS] += 1
            return NOBODY
        return min(candidates, key=lambda other: self._distance(span, self.spans[other]))

    def _distance(self, span: SpanRecord, parent: SpanRecord) -> tuple[bool, bool]:
        """Of the sides of a shared span the one in the same process, or the server, is closer."""
        return parent.process != span.process, parent.kind not in SENDING_SIDE

    def _find_called(self) -> dict[int, str]:
        """For every parent the process of its children, or MIXED."""
        called: dict[int, str] = {}
        for place, parent in enumerate(self.parent):
            if parent != NOBODY:
                process = self.spans[place].process
                called[parent] = process if called.get(parent, process) == process else MIXED
        return called

    def _find_handlers(self) -> list[str]:
        """For every span the span whose work it is part of: itself, if a message started it."""
        handlers: list[str | None] = [None] * len(self.spans)
        for start in range(len(self.spans)):
            path: list[int] = []
            place = start
            # A span that is its own ancestor is met again while its handler is still open.
            while handlers[place] is None:
                path.append(place)
                handlers[place] = self.spans[place].span
                if self.is_received(place) or self.parent[place] == NOBODY:
                    break
                place = self.parent[place]
            for passed in path:
                handlers[passed] = handlers[place]
        return [handler or "" for handler in handlers]

    def _is_client(self, place: int) -> bool:
        """Whether the span is exactly one call, from the request to the reply."""
        span = self.spans[place]
        if span.kind != UNKNOWN:
            return span.kind in (CLIENT, PRODUCER)
        if self.parent[place] == NOBODY or self.is_received(place):
            return False
        return self._called.get(place, MIXED) not in (MIXED, span.process)

    def _sent_latest(self, place: int) -> int | None:
        if self._is_client(place):
            return None
        end_ns = self.spans[place].end_ns
        return TIME_NS_MAX if end_ns is None else end_ns

    def _key(self, place: int) -> str:
        """What the request that started a span is called; sides of shared spans have their own."""
        span = self.spans[place]
        key = span_key(span.trace, span.span)
        return key if len(self._places[span.span]) == 1 else f"{key}@{span.process}"
