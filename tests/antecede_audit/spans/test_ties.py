"""Order inside equal times: a linear order where there is one, mutual senders together."""

from hypothesis import given
from hypothesis import strategies as st

from antecede_audit.spans.ties import rank_rows, ranks_of

edges = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=14)


def reachable(graph: list[tuple[int, int]]) -> set[tuple[int, int]]:
    """Who reaches whom: by repeating until nothing is new."""
    reached = set(graph)
    while True:
        further = {(a, d) for a, b in reached for c, d in reached if b == c}
        if further <= reached:
            return reached
        reached |= further


@given(graph=edges)
def test_ranks_rise_along_messages_unless_they_come_back(graph: list[tuple[int, int]]) -> None:
    ranks = ranks_of(graph)
    reached = reachable(graph)

    assert set(ranks) == {process for edge in graph for process in edge}
    for sender, receiver in reached:
        if (receiver, sender) in reached:
            assert ranks[sender] == ranks[receiver]
        else:
            assert ranks[sender] < ranks[receiver]


def test_ranks_are_given_only_at_times_at_which_somebody_receives_and_sends() -> None:
    rows = [(5, 1, 2), (5, 1, 3), (7, 1, 2), (7, 2, 3), (8, 4, 4), (9, 0, 1), (9, 1, 0)]
    found = list(rank_rows(rows))

    assert {time for time, _, _ in found} == {7, 8, 9}
    at_seven = {process: rank for time, process, rank in found if time == 7}
    assert at_seven[1] < at_seven[2] < at_seven[3]
    assert len({rank for time, _, rank in found if time == 9}) == 1
