"""The page of a watch: how far it has judged, in words that suit the clock of the log."""

import pytest

from antecede.audit.progress import Progress
from antecede.report.watching import lag_text

S = 1_000_000_000
NOW_NS = 1_800_000_000 * S


def judged_up_to(mark_ns: int) -> str:
    counts = dict.fromkeys(
        (
            "events",
            "violations",
            "duplicates",
            "inventions",
            "losses",
            "retracted",
            "open_copies",
        ),
        0,
    )
    return lag_text([Progress(batch=0, mark_ns=mark_ns, clock_ns=NOW_NS, **counts)])


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
