"""One worker has all of Spark, short tests fill gaps, and what takes long comes before the end."""

import gc
from pathlib import Path
from typing import NamedTuple

from tests.running_order import SHORT, in_running_order


class Found(NamedTuple):
    """A test as it was collected."""

    nodeid: str
    fixturenames: tuple[str, ...] = ()


def test_spark_fills_a_half_with_short_tests_and_the_rest_begins_with_what_takes_long() -> None:
    tests = [
        Found("tests/antecede/core/test_a.py::test_1"),
        Found("tests/antecede/core/test_a.py::test_2"),
        Found("tests/antecede/runtime/test_b.py::test_2"),
        Found("tests/antecede/runtime/test_b.py::test_1", ("tmp_path",)),
        Found("tests/new/test_c.py::test_1"),
        Found("tests/antecede_audit/spark/test_d.py::test_1"),
        Found("tests/antecede_audit/spark/test_e.py::test_2"),
        Found("tests/antecede_audit/spark/test_e.py::test_1", ("tmp_path", "spark")),
        Found("tests/antecede_lab/simulator/test_f.py::test_1"),
        Found("tests/antecede_lab/simulator/test_g.py::test_1"),
    ]
    budget = {
        "tests/antecede/core": 10.0,
        "tests/antecede/runtime": 20.0,
        "tests/antecede_audit/spark": 50.0,
        "tests/antecede_lab/simulator": 5.0,
    }

    assert [test.nodeid for test in in_running_order(tests, budget)] == [
        "tests/antecede_audit/spark/test_e.py::test_2",
        "tests/antecede_audit/spark/test_e.py::test_1",
        "tests/antecede/core/test_a.py::test_1",
        "tests/antecede/core/test_a.py::test_2",
        "tests/antecede_lab/simulator/test_f.py::test_1",
        "tests/antecede_audit/spark/test_d.py::test_1",
        "tests/antecede/runtime/test_b.py::test_2",
        "tests/antecede/runtime/test_b.py::test_1",
        "tests/new/test_c.py::test_1",
        "tests/antecede_lab/simulator/test_g.py::test_1",
    ]


def test_files_stay_whole_and_everything_is_run() -> None:
    short = [
        Found(f"tests/antecede_lab/simulator/test_{file}.py::test_{n}")
        for file in "abc"
        for n in range(5)
    ]
    on_java = [Found("tests/antecede_audit/spark/test_e.py::test_1", ("spark",))]
    others = [Found(f"tests/antecede/runtime/test_b.py::test_{number}") for number in range(3)]

    ordered = in_running_order([*short, *others, *on_java], {})

    assert ordered == [*on_java, *short[:10], *others, *short[10:]]
    assert in_running_order(short, {}) == short
    assert in_running_order([], {}) == []


def test_folders_of_short_tests_exist() -> None:
    assert [name for name in SHORT if not Path(__file__).parents[1].joinpath(name).is_dir()] == []


def test_garbage_is_looked_for_while_tests_run_but_not_in_what_was_collected() -> None:
    assert gc.isenabled()
    assert gc.get_freeze_count() > 10_000
