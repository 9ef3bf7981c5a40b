"""Rows that name somebody who has not been met wait until he is, and all later ones behind them."""

from antecede.eventlog.log import EventLog
from antecede.transport.event_rows import HELD_MAX, HELD_ROUNDS, EventRows

ME, BOB, SECOND_BOB, CAT = 10, 20, 21, 30
TO_BOB, TO_CAT = 1, 2


def written(log: EventLog) -> list[tuple[str, int | None, int | None]]:
    return [(event.kind, event.sequence, event.target) for event in log]


def test_a_row_to_a_stranger_is_written_when_he_is_met_and_names_him() -> None:
    log = EventLog()
    rows = EventRows(log, ME)
    rows.submitted(1, CAT, 5, 1)
    rows.submitted_to_stranger(TO_BOB, 2, BOB, 5, 2)
    rows.delivered(CAT, 7, bytes(5), 3)
    rows.submitted_to_stranger(TO_BOB, 3, BOB, 5, 4)
    assert written(log) == [("submitted", 1, CAT)]

    rows.introduced(TO_BOB, SECOND_BOB)

    assert written(log) == [
        ("submitted", 1, CAT),
        ("submitted", 2, SECOND_BOB),
        ("delivered", 7, ME),
        ("submitted", 3, SECOND_BOB),
    ]
    assert [event.time_ns for event in log] == [1, 2, 3, 4]


def test_nothing_is_written_before_all_strangers_are_known() -> None:
    log = EventLog()
    rows = EventRows(log, ME)
    rows.submitted_to_stranger(TO_BOB, 1, BOB, 5, 1)
    rows.submitted_to_stranger(TO_CAT, 1, CAT, 5, 1)
    rows.introduced(TO_CAT, CAT)
    rows.introduced(TO_CAT, SECOND_BOB)
    assert len(log) == 0
    rows.introduced(TO_BOB, SECOND_BOB)
    assert written(log) == [("submitted", 1, SECOND_BOB), ("submitted", 1, CAT)]


def test_nobody_is_waited_for_for_ever() -> None:
    log = EventLog()
    rows = EventRows(log, ME)
    rows.release_old()
    rows.submitted_to_stranger(TO_BOB, 1, BOB, 5, 1)
    for _ in range(HELD_ROUNDS):
        rows.release_old()
        assert len(log) == 0
    rows.release_old()
    assert written(log) == [("submitted", 1, BOB)]

    rows.submitted_to_stranger(TO_BOB, 2, BOB, 5, 2)
    rows.release_old()
    assert len(log) == 1, "the next one waits as long"


def test_there_is_a_limit_to_what_is_held_back() -> None:
    for to_stranger in (True, False):
        log = EventLog()
        rows = EventRows(log, ME)
        rows.submitted_to_stranger(TO_BOB, 1, BOB, 5, 1)
        for sequence in range(2, HELD_MAX + 2):
            if to_stranger:
                rows.submitted_to_stranger(TO_BOB, sequence, BOB, 5, sequence)
            else:
                rows.delivered(CAT, sequence, bytes(5), sequence)
        assert len(log) >= HELD_MAX
        rows.release()
        assert [event.sequence for event in log] == list(range(1, HELD_MAX + 2))
