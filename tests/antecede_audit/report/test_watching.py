"""The page of a watch: how far it has judged, in words that suit the clock of the log."""

import re
from itertools import pairwise

import pytest

from antecede_audit.report.charts.draw import DIGIT_ROOM, LEFT
from antecede_audit.report.watch_page import lag_text, watch_page
from antecede_audit.spark.watch.progress import BatchProgress, Channel

S = 1_000_000_000
NOW_NS = 1_800_000_000 * S


def batch(number: int, mark_ns: int, violations: int = 0) -> BatchProgress:
    counts = dict.fromkeys(("duplicates", "inventions", "losses", "retracted", "open_copies"), 0)
    return BatchProgress(
        batch=number,
        mark_ns=mark_ns,
        clock_ns=NOW_NS,
        events=100,
        violations=violations,
        **counts,
    )


def judged_up_to(mark_ns: int) -> str:
    return lag_text([batch(0, mark_ns)])


def page(*progress: BatchProgress) -> str:
    return watch_page(progress, [Channel(sender=0, process=1, violations=7)], {1: "b"}, "log", 10)


@pytest.mark.parametrize(
    ("mark_ns", "text"),
    [
        (NOW_NS - 12 * S, "12.0 s before the last batch"),
        (1_700_000_000 * S, "2023-11-14 22:13:20 UTC"),
        (NOW_NS + S, "2027-01-15 08:00:01 UTC"),
        (90 * S, "90.0 s of the log's own time"),
        (-30 * S, "0 of the log's own time"),
    ],
)
def test_how_far_a_watch_has_judged(mark_ns: int, text: str) -> None:
    assert judged_up_to(mark_ns) == text


def test_a_watch_that_has_judged_nothing() -> None:
    assert lag_text([]) == "nothing yet"


def test_batches_have_whole_numbers_on_the_axis() -> None:
    found = page(batch(3, NOW_NS - S, violations=7), batch(4, NOW_NS - S))
    below = re.findall(r'text-anchor="middle">([^<]*)<', found)
    assert below == ["3", "4", "batch"] * 2


@pytest.mark.parametrize("lag_s", [0.004, 3, 47, 100, 402, 1_801, 3_599])
def test_marks_beside_the_axis_have_room_for_their_words(lag_s: float) -> None:
    found = page(*(batch(number, NOW_NS - round(lag_s * S)) for number in range(3)))
    beside = re.findall(r'text-anchor="end">([^<]*)<', found)
    assert len(beside) >= 4
    assert max(map(len, beside)) * DIGIT_ROOM <= LEFT - 6


def test_late_batches_are_told_apart_on_the_axis() -> None:
    found = page(*(batch(number, 90 * S) for number in range(12_345, 12_545)))
    below = re.findall(r' x="([^"]*)"[^>]* text-anchor="middle">([^<]*)<', found)
    *places, _ = (float(place) for place, _ in below)
    *labels, title = (label for _, label in below)
    assert title == "batch"
    assert labels[-1] == "12,544"
    assert len(set(labels)) == len(labels) > 3
    steps = [after - before for before, after in pairwise(places)]
    assert min(steps) >= len("12,544") * DIGIT_ROOM


@pytest.mark.parametrize(("mark_ns", "charts"), [(NOW_NS - S, 2), (90 * S, 1)])
def test_the_lag_is_drawn_where_the_log_is_of_these_hours(mark_ns: int, charts: int) -> None:
    assert page(batch(0, mark_ns)).count("<figure") == charts


def test_names_of_a_channel_stand_left_and_figures_right() -> None:
    found = page(batch(0, NOW_NS - S, violations=7))
    assert re.search(r'<th [^>]*class="text"[^>]*>P0</th><td class="text">b</td><td>7</td>', found)
