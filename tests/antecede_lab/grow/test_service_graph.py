"""Service graphs: what files say, and what requests must do so that every edge gets its calls."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede.core.errors import LocalError
from antecede_lab.grow.requests import firsts, graph_of, rates_of, read_graph, replicas_of

SHOP = [("web", "cart", 60), ("web", "search", 40), ("cart", "store", 120), ("search", "store", 5)]

edges = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.sampled_from("abcdef"), st.integers(1, 1000)),
    min_size=1,
    max_size=12,
)


def entries(found: list[tuple[str, str, int]]) -> str:
    return json.dumps([{"parent": p, "child": c, "callCount": n} for p, c, n in found])


def test_a_graph_is_read_plain_or_compressed(tmp_path: Path) -> None:
    plain, packed = tmp_path / "graph.json", tmp_path / "graph.json.gz"
    plain.write_text(entries(SHOP), encoding="utf-8")
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    graph = read_graph(plain)
    assert graph == read_graph(packed)
    assert graph.names == ("cart", "search", "store", "web")
    assert (graph.edges, graph.calls_in()) == (4, [60, 40, 125, 0])
    assert [graph.calls_out(service) for service in range(4)] == [120, 5, 0, 100]


def test_edges_that_stand_twice_are_added_up_and_those_without_calls_do_not_count() -> None:
    graph = graph_of([("a", "b", 1), ("a", "b", 2), ("b", "c", 0)])
    assert (graph.names, graph.children) == (("a", "b", "c"), ((1,), (), ()))
    assert graph.calls == ((3,), (), ())


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{", "is not JSON"),
        ("{}", "expected a list"),
        ("[]", "expected a list"),
        ("[1]", "entry 1: expected an object"),
        ('[{"parent": "a", "child": "b"}]', "entry 1: column 'callCount' is missing"),
        ('[{"parent": "a", "child": 2, "callCount": 1}]', "must be names"),
        ('[{"parent": "a", "child": "b", "callCount": -1}]', "outside 0"),
        ('[{"parent": "a", "child": "b", "callCount": 0}]', "nobody calls anybody"),
    ],
)
def test_a_file_that_is_no_graph_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    file = tmp_path / "graph.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(LocalError, match=complaint):
        read_graph(file)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(LocalError, match=r"cannot read .*nowhere\.json"):
        read_graph(tmp_path / "nowhere.json")


@given(found=edges, calls_outside=st.floats(1, 9), calls_inside=st.floats(1, 9))
def test_requests_make_exactly_the_calls_of_the_graph(
    found: list[tuple[str, str, int]], calls_outside: float, calls_inside: float
) -> None:
    graph = graph_of(found)
    rates = rates_of(graph, calls_outside, calls_inside)
    for service, received in enumerate(graph.calls_in()):
        made = rates.outside[service] * calls_outside + received * rates.calls[service]
        assert made == pytest.approx(graph.calls_out(service))
        assert rates.asked[service] == pytest.approx(received + rates.outside[service])
        assert 0 <= rates.calls[service] <= calls_inside * 1.0000001
        assert (rates.outside[service] > 0) == (graph.calls_out(service) > 0)


@given(asked=st.lists(st.floats(0.01, 1000), min_size=1, max_size=9), more=st.integers(0, 500))
def test_replicas_go_to_the_services_that_are_asked_most(asked: list[float], more: int) -> None:
    found = replicas_of(tuple(asked), len(asked) + more)
    assert sum(found) == len(asked) + more
    for count, requests in zip(found, asked, strict=True):
        assert abs(count - 1 - more * requests / sum(asked)) < 1.0000001


def test_every_service_needs_a_process() -> None:
    with pytest.raises(LocalError, match="3 services need as many processes, not 2"):
        replicas_of((1.0, 1.0, 1.0), 2)


def test_groups_follow_each_other() -> None:
    assert firsts((3, 1, 2)) == (0, 3, 4)
