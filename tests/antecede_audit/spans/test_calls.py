"""From spans to messages, one trace at a time.

What is said here of the oracle's messages is true of those in columns: they are compared each time.
"""

from collections import Counter

from antecede_audit.spans.formats.records import TIME_NS_MAX, SpanRecord
from tests.antecede_audit.spans.call_oracle import Call, calls_of_trace
from tests.antecede_audit.spans.samples import START_NS, span
from tests.antecede_audit.spans.test_call_columns import check_columns


def calls(*spans: SpanRecord) -> list[Call]:
    check_columns(list(spans))
    return list(calls_of_trace(spans, Counter()))


def tally(*spans: SpanRecord) -> dict[str, int]:
    check_columns(list(spans))
    counted: Counter[str] = Counter()
    list(calls_of_trace(spans, counted))
    return {name: count for name, count in counted.items() if count}


def routes(found: list[Call]) -> list[tuple[str, str]]:
    return [(call.sender, call.receiver) for call in found]


def sent(call: Call) -> tuple[int, int | None]:
    """When a copy was sent, and at the latest, after the start."""
    latest = call.sent_latest_ns
    return call.sent_ns - START_NS, None if latest is None else latest - START_NS


def received(call: Call) -> tuple[int | None, int | None]:
    """When a copy was received at the earliest, and when, after the start."""
    earliest, latest = call.received_earliest_ns, call.received_ns
    return (
        None if earliest is None else earliest - START_NS,
        None if latest is None else latest - START_NS,
    )


def test_a_call_through_a_client_span_is_a_request_and_a_reply_at_exact_times() -> None:
    found = calls(
        span("1", end=100),
        span("2", "1", start=10, end=90, kind="client"),
        span("3", "2", process="b", start=20, end=80, kind="server"),
    )

    assert [call.message for call in found] == ["t/3", "t/3<"]
    assert routes(found) == [("a", "b"), ("b", "a")]
    assert [sent(call) for call in found] == [(10, None), (80, None)]
    assert [received(call) for call in found] == [(None, 20), (None, 90)]
    assert [call.answers for call in found] == [None, "t/3"]


def test_a_call_from_within_a_handler_is_only_known_to_lie_inside_it() -> None:
    found = calls(span("1", end=100), span("2", "1", process="b", start=20, end=80))

    assert [sent(call) for call in found] == [(0, 100), (80, None)]
    assert [received(call) for call in found] == [(None, 20), (0, 100)]


def test_a_span_that_does_nothing_but_call_is_a_client_span_though_it_does_not_say_so() -> None:
    found = calls(
        span("1", end=100),
        span("2", "1", start=10, end=90),
        span("3", "2", process="b", start=20, end=80),
        span("4", "2", process="b", start=30, end=70),
    )

    assert [sent(call)[1] for call in found] == [None, None, None, None]


def test_a_handler_of_a_request_is_no_client_span_though_it_does_nothing_but_call() -> None:
    found = calls(
        span("1", end=100),
        span("2", "1", process="b", start=10, end=90),
        span("3", "2", process="c", start=20, end=80),
    )

    assert [sent(call) for call in found if call.answers is None] == [(0, 100), (10, 90)]


def test_a_span_that_calls_several_is_no_client_span() -> None:
    found = calls(
        span("1", end=100),
        span("2", "1", start=10, end=90),
        span("3", "2", process="b", start=20, end=80),
        span("4", "2", process="c", start=30, end=70),
    )

    assert {sent(call) for call in found if call.answers is None} == {(10, 90)}


def test_a_call_from_a_span_that_never_ended_may_have_been_made_at_any_time() -> None:
    request, reply = calls(span("1", end=None), span("2", "1", process="b", start=20, end=80))

    assert request.sent_latest_ns == TIME_NS_MAX
    assert received(reply) == (0, None)


def test_what_a_producer_starts_is_one_way_though_it_does_not_say_that_it_consumes() -> None:
    found = calls(span("1", kind="producer"), span("2", "1", process="b", start=20, end=80))

    assert [(call.message, call.one_way) for call in found] == [("t/1*", True)]


def test_what_a_third_process_does_for_a_shared_span_is_called_by_its_server() -> None:
    for order in (1, -1):
        sides = [
            span("2", "1", start=10, end=90, kind="client"),
            span("2", "1", process="b", start=20, end=80, kind="server"),
        ][::order]
        found = calls(span("1", end=100), *sides, span("3", "2", process="c", start=30, end=70))
        assert set(routes(found)) == {("a", "b"), ("b", "a"), ("b", "c"), ("c", "b")}


def test_spans_of_one_process_exchange_nothing() -> None:
    assert calls(span("1"), span("2", "1"), span("3", "2", kind="server")) == []


def test_both_sides_of_a_shared_span_are_one_call() -> None:
    """Zipkin: client and server have the same id, and children are those of the server."""
    found = calls(
        span("1", end=100, kind="server"),
        span("2", "1", start=10, end=90, kind="client"),
        span("2", "1", process="b", start=20, end=80, kind="server"),
        span("3", "2", process="b", start=30, end=70, kind="client"),
        span("3", "2", process="c", start=40, end=60, kind="server"),
    )

    assert routes(found) == [("a", "b"), ("b", "a"), ("b", "c"), ("c", "b")]
    assert [sent(call) for call in found] == [(10, None), (80, None), (30, None), (60, None)]
    assert len({call.message for call in found}) == 4


def test_a_server_whose_client_is_not_there_was_called_by_its_parent() -> None:
    found = calls(span("1", end=100), span("2", "1", process="b", start=20, kind="server"))

    assert routes(found) == [("a", "b"), ("b", "a")]


def test_a_span_without_an_end_has_no_reply() -> None:
    found = calls(span("1", kind="client"), span("1", process="b", end=None, kind="server"))

    assert [call.answers for call in found] == [None]


def test_a_client_without_an_end_leaves_open_when_the_reply_was_received() -> None:
    found = calls(span("1", end=None, kind="client"), span("2", "1", process="b", kind="server"))

    assert [received(call) for call in found] == [(None, 0), (None, None)]


def test_a_producer_and_its_consumers_are_one_one_way_message() -> None:
    found = calls(
        span("1", kind="producer", end=5),
        span("2", "1", process="b", start=20, kind="consumer"),
        span("3", "1", process="c", start=30, kind="consumer"),
        span("4", "1", start=40, kind="consumer"),
    )

    assert routes(found) == [("a", "b"), ("a", "c"), ("a", "a")]
    assert {call.message for call in found} == {"t/1*"}
    assert {sent(call) for call in found} == {(0, None)}
    assert [call.one_way for call in found] == [True, True, True]


def test_what_follows_without_being_waited_for_is_one_way() -> None:
    found = calls(span("1"), span("2", "1", process="b", follows=True))

    assert [(call.message, call.one_way, call.answers) for call in found] == [
        ("t/1*t/2", True, None)
    ]


def test_every_event_knows_whose_work_it_is_part_of() -> None:
    found = calls(
        span("1", process="a"),
        span("2", "1", process="a"),
        span("3", "2", process="b"),
        span("4", "3", process="b"),
        span("5", "4", process="c"),
    )

    assert [(call.sent_by, call.received_by) for call in found] == [
        ("1", "3"),
        ("3", "1"),
        ("3", "5"),
        ("5", "3"),
    ]


def test_duplicates_missing_parents_and_unheard_calls_are_counted() -> None:
    spans = [
        span("1"),
        span("2", "1", process="b", start=3),
        span("2", "1", process="b", start=4),
        span("3", "9"),
        span("4", "1", kind="client"),
    ]

    assert tally(*spans) == {"duplicate_spans": 1, "missing_parents": 1, "unreceived_calls": 1}
    assert received(calls(*spans)[0]) == (None, 3), "the first of two records counts"


def test_spans_that_are_their_own_ancestors_do_not_hang() -> None:
    assert calls(span("1", "1")) == []
    assert tally(span("1", "1")) == {"missing_parents": 1}
    assert calls(span("1", "2"), span("2", "3"), span("3", "1")) == []
    assert len(calls(span("1", "2"), span("2", "1", process="b"))) == 4
