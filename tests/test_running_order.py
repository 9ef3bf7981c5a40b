"""What takes long runs first, and one worker has all of Spark."""

from typing import NamedTuple

from tests.running_order import in_running_order
from tests.time_budget import read_budget


class Found(NamedTuple):
    """A test as it was collected."""

    nodeid: str
    fixturenames: tuple[str, ...] = ()


def test_files_on_spark_come_first_and_whole_then_the_largest_shares() -> None:
    tests = [
        Found("tests/core/test_a.py::test_1"),
        Found("tests/live/test_b.py::test_2"),
        Found("tests/live/test_b.py::test_1", ("tmp_path",)),
        Found("tests/new/test_c.py::test_1"),
        Found("tests/pipeline/test_d.py::test_1"),
        Found("tests/pipeline/test_e.py::test_2"),
        Found("tests/pipeline/test_e.py::test_1", ("tmp_path", "spark")),
    ]
    budget = {"tests/core": 10.0, "tests/live": 60.0, "tests/pipeline": 20.0}

    assert [test.nodeid for test in in_running_order(tests, budget)] == [
        "tests/pipeline/test_e.py::test_2",
        "tests/pipeline/test_e.py::test_1",
        "tests/live/test_b.py::test_2",
        "tests/live/test_b.py::test_1",
        "tests/pipeline/test_d.py::test_1",
        "tests/core/test_a.py::test_1",
        "tests/new/test_c.py::test_1",
    ]


def test_the_order_is_that_of_the_budget_of_every_test() -> None:
    shares = read_budget("compiled")
    tests = [Found(f"{folder}/test_x.py::test_x") for folder in sorted(shares)]
    ordered = [test.nodeid.rpartition("/")[0] for test in in_running_order(tests, shares)]
    assert [shares[folder] for folder in ordered] == sorted(shares.values(), reverse=True)
