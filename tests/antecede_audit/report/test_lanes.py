"""Bars that overlap are stacked, as low as there is room."""

from hypothesis import given
from hypothesis import strategies as st

from antecede_audit.report.spacetime.diagram import receive_bars, send_bars, stacked
from antecede_audit.report.spacetime.recording import MISSING, CopyColumns
from tests.antecede_audit.report.logs import Scribe

MS = 1_000_000


def test_bars_one_after_the_other_share_a_lane_and_others_are_stacked() -> None:
    bars = stacked([0, 5, 2, 12], [5, 9, 12, 13], [0, 0, 0, 0], None, 1)

    assert bars.lane == [0, 0, 1, 0]
    assert bars.depth == [2]


def test_what_passes_in_no_time_or_never_began_has_no_bar() -> None:
    bars = stacked([3, MISSING, 4], [3, 9, MISSING], [0, 0, 0], None, 2)

    assert bars.lane == [MISSING, MISSING, MISSING]
    assert bars.depth == [0, 0]


def test_rows_do_not_disturb_each_other() -> None:
    assert stacked([0, 0], [9, 9], [0, 1], None, 2).lane == [0, 0]


def test_copies_of_one_message_that_leave_together_have_one_bar() -> None:
    copies = CopyColumns(sender=[0, 0, 0], sequence=[1, 1, 2], target=[1, 2, 1])
    bars = stacked([0, 0, 0], [4, 4, 4], copies.sender, copies, 3)

    assert bars.lane == [0, 0, 1]


@given(
    st.lists(
        st.tuples(st.integers(0, 30), st.integers(1, 9), st.integers(0, 2)), min_size=1, max_size=40
    )
)
def test_no_two_bars_of_a_lane_ever_overlap_and_no_lane_is_in_vain(
    spans: list[tuple[int, int, int]],
) -> None:
    begins = [begin for begin, _, _ in spans]
    ends = [begin + length for begin, length, _ in spans]
    rows = [row for _, _, row in spans]
    bars = stacked(begins, ends, rows, None, 3)

    for moment in range(40):
        held = [
            (rows[bar], bars.lane[bar])
            for bar in range(len(spans))
            if begins[bar] <= moment < ends[bar]
        ]
        assert len(held) == len(set(held))
    for row in range(3):
        most = max(
            sum(rows[bar] == row and begins[bar] <= moment < ends[bar] for bar in range(len(spans)))
            for moment in range(40)
        )
        assert bars.depth[row] == most


def waiting() -> Scribe:
    """One message waits for ever at its sender, another at its receiver; the log ends at 10."""
    scribe = Scribe()
    scribe.submit(0, 0, 1, 1)
    scribe.submit(1, 0, 2, 1)
    scribe.transmit(2, 0, 1, 1, 0, 2)
    scribe.arrive(4, 1, 1, 0, 2)
    scribe.submit(10, 1, 1, 1)
    scribe.deliver(10, 1, 1, 1)
    return scribe


def test_what_is_still_in_a_buffer_at_the_end_has_a_bar_to_the_end() -> None:
    run = waiting().run()
    sending, receiving = send_bars(run), receive_bars(run)

    assert sending.lane == [0, 1, MISSING]
    assert sending.end_ns[:2] == [10 * MS, 2 * MS]
    assert receiving.lane == [MISSING, 0, MISSING]
    assert receiving.end_ns[1] == 10 * MS


def test_a_log_without_transmissions_does_not_claim_that_anything_was_buffered() -> None:
    scribe = Scribe()
    scribe.submit(0, 0, 1, 1)
    scribe.submit(1, 0, 2, 1)
    scribe.deliver(3, 1, 0, 2)
    run = scribe.run()

    assert send_bars(run).lane == [MISSING, MISSING]
    assert receive_bars(run).lane == [MISSING, MISSING]
