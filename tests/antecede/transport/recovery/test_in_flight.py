"""What is on the way: acknowledged, lost by count or by time, found after all, forgotten."""

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from antecede.core.process import NEVER_NS
from antecede.transport.recovery.ack_ranges import AckRanges
from antecede.transport.recovery.in_flight import (
    ACKED,
    IN_FLIGHT,
    LOST,
    REORDERING_LEAST,
    REORDERING_MAX,
    InFlight,
    SentDatagram,
)

PATIENCE_NS = 100
KEEP_NS = 1_000
SIZE = 10


def launched(count: int, *, every_ns: int = 1) -> InFlight:
    """So many datagrams have left, at times 1, 2, 3, … (or further apart)."""
    flight = InFlight()
    for number in range(1, count + 1):
        launch(flight, number * every_ns)
    return flight


def launch(
    flight: InFlight, now_ns: int, *, eliciting: bool = True, size: int = SIZE
) -> SentDatagram:
    sent = SentDatagram(flight.records.next, now_ns)
    sent.size = size
    sent.eliciting = eliciting
    flight.add(sent)
    return sent


def ack(*numbers: int) -> AckRanges:
    """An acknowledgement of these, given oldest first."""
    acked = AckRanges()
    for number in sorted(numbers, reverse=True):
        if acked.firsts and acked.firsts[-1] == number + 1:
            acked.firsts[-1] = number
        else:
            acked.firsts.append(number)
            acked.lasts.append(number)
    return acked


def lost(flight: InFlight, now_ns: int) -> list[int]:
    """The numbers that are now taken for lost."""
    return numbers(flight.find_lost(now_ns, PATIENCE_NS, KEEP_NS) or [])


def numbers(records: Iterable[SentDatagram]) -> list[int]:
    return [int(sent.number) for sent in records]


def test_what_is_acknowledged_is_not_on_the_way_any_more() -> None:
    flight = launched(5)
    assert (flight.size, flight.eliciting) == (5 * SIZE, 5)

    assert flight.acknowledge(ack(1, 2, 4))
    assert (flight.size, flight.eliciting, flight.acked_size) == (2 * SIZE, 2, 3 * SIZE)
    assert flight.largest_acked == 4

    assert not flight.acknowledge(ack(1, 2, 4)), "that is not news"
    assert (flight.size, flight.acked_size) == (2 * SIZE, 0)


def test_only_a_new_largest_number_tells_how_long_an_answer_took() -> None:
    flight = launched(5, every_ns=10)
    flight.acknowledge(ack(2, 3))
    assert (flight.acked_sent_ns, flight.acked_eliciting) == (30, True)
    flight.acknowledge(ack(1, 2, 3))
    assert flight.acked_sent_ns == -1
    flight.acknowledge(ack(1, 2, 3, 4, 5))
    assert flight.acked_sent_ns == 50


def test_control_that_has_arrived_is_known() -> None:
    flight = launched(3)
    flight.records.at(1).controls = 1
    flight.records.at(2).controls = 2
    flight.records.at(3).controls = 4
    flight.acknowledge(ack(1, 3))
    assert flight.settled_controls == 5
    flight.acknowledge(ack(1, 2, 3))
    assert flight.settled_controls == 2


def test_a_datagram_is_lost_when_enough_later_ones_have_arrived() -> None:
    flight = launched(10)
    flight.acknowledge(ack(REORDERING_LEAST))
    assert lost(flight, 20) == []
    flight.acknowledge(ack(REORDERING_LEAST, REORDERING_LEAST + 2))
    assert lost(flight, 20) == [1, 2]
    assert (flight.lost_count, flight.size) == (2, 6 * SIZE)
    assert lost(flight, 20) == [], "each is lost once"


def test_a_datagram_is_lost_when_a_later_one_has_arrived_long_ago() -> None:
    flight = launched(3)
    assert lost(flight, 10**9) == [], "nothing later has arrived"
    assert flight.loss_check_ns == NEVER_NS

    flight.acknowledge(ack(3))
    assert lost(flight, 50) == []
    assert flight.loss_check_ns == 1 + PATIENCE_NS
    assert lost(flight, PATIENCE_NS) == []
    assert lost(flight, 1 + PATIENCE_NS) == [1]
    assert flight.loss_check_ns == 2 + PATIENCE_NS
    assert lost(flight, 2 + PATIENCE_NS) == [2]
    assert flight.loss_check_ns == NEVER_NS


def test_what_was_taken_for_lost_and_arrives_makes_it_more_tolerant() -> None:
    flight = launched(8)
    flight.acknowledge(ack(8))
    assert lost(flight, 20) == [1, 2, 3, 4, 5]
    size = int(flight.size)

    flight.acknowledge(ack(2, 8))
    assert (flight.spurious, flight.reordering) == (1, 2 * REORDERING_LEAST)
    assert (flight.size, flight.acked_size) == (size, 0), "it was not counted any more"
    for number in range(1, 6):
        flight.acknowledge(ack(number, 8))
    assert flight.spurious == 5
    assert flight.reordering <= 2 * REORDERING_MAX


def test_the_threshold_is_the_one_that_was_learnt() -> None:
    flight = launched(30)
    flight.acknowledge(ack(4))
    assert lost(flight, 20) == [1]
    flight.acknowledge(ack(1, 4))
    flight.acknowledge(ack(1, 4, 8))
    assert lost(flight, 20) == [2], "6 later ones have arrived, not 3"


def test_acknowledged_datagrams_are_forgotten_in_order() -> None:
    flight = launched(6)
    flight.acknowledge(ack(2, 3))
    lost(flight, 7)
    assert flight.records.first == 1
    flight.acknowledge(ack(1, 2, 3))
    lost(flight, 7)
    assert flight.records.first == 4


def test_lost_datagrams_are_remembered_for_a_while() -> None:
    flight = launched(5)
    flight.acknowledge(ack(5))
    assert lost(flight, 7) == [1, 2]
    flight.acknowledge(ack(3, 4, 5))
    lost(flight, KEEP_NS)
    assert (flight.records.first, flight.records.at(1).state) == (1, LOST)
    lost(flight, KEEP_NS + 2)
    assert flight.records.first == 6
    assert not flight.acknowledge(ack(1, 5)), "what is forgotten is not found again"


def test_what_asks_for_no_answer_is_not_on_the_way() -> None:
    flight = InFlight()
    launch(flight, 1, eliciting=False)
    assert (flight.size, flight.eliciting, flight.records.first) == (0, 0, 2)

    launch(flight, 2)
    launch(flight, 3, eliciting=False)
    assert (flight.size, flight.records.first) == (SIZE, 2)
    assert not flight.acknowledge(ack(1, 3)), "that is no news"
    assert flight.largest_acked == 3
    assert lost(flight, 2 + PATIENCE_NS) == [2]


def test_an_acknowledgement_of_what_was_never_sent_is_not_plausible() -> None:
    flight = launched(3)
    assert flight.is_plausible(ack(1, 3))
    assert not flight.is_plausible(ack(1, 4))


def test_the_take_oldest_with_messages_is_what_a_probe_repeats() -> None:
    flight = launched(5)
    assert flight.take_oldest_with_messages() is None
    flight.records.at(2).first = 7
    flight.records.at(4).again = [3]
    found = flight.take_oldest_with_messages()
    assert found is not None
    assert found.number == 2

    found = flight.take_oldest_with_messages()
    assert found is not None
    assert found.number == 4
    flight.acknowledge(ack(4))
    assert flight.take_oldest_with_messages() is None


events = st.lists(
    st.one_of(
        st.tuples(st.just("launch"), st.booleans()),
        st.tuples(st.just("ack"), st.sets(st.integers(1, 40), min_size=1, max_size=6)),
        st.tuples(st.just("wait"), st.integers(0, 60)),
    ),
    max_size=80,
)


@given(events)
def test_the_books_always_agree_with_the_records(events: list[tuple[str, object]]) -> None:
    """However acknowledgements come, everything is in flight, acknowledged or lost, and counted."""
    flight = InFlight()
    now_ns = 0
    told: dict[int, bool] = {}
    for what, detail in events:
        now_ns += 1
        if what == "launch":
            sent = launch(flight, now_ns, eliciting=bool(detail))
            told[int(sent.number)] = bool(detail)
        elif what == "ack":
            assert isinstance(detail, set)
            named = [number for number in detail if number in told]
            if named:
                flight.acknowledge(ack(*named))
                assert flight.largest_acked >= max(named)
        else:
            assert isinstance(detail, int)
            now_ns += detail
        lost(flight, now_ns)
        in_flight = [sent for sent in flight.records if sent.state == IN_FLIGHT]
        assert flight.eliciting == len(in_flight)
        assert flight.size == SIZE * len(in_flight)
        assert all(told[int(sent.number)] for sent in in_flight)
        assert all(
            sent.number + flight.reordering > flight.largest_acked
            and (sent.number > flight.largest_acked or sent.sent_ns + PATIENCE_NS > now_ns)
            for sent in in_flight
        )
        if flight.records.first < flight.records.next:
            assert flight.records.peek().state != ACKED
