"""A build that tries few seeds loses no test by it."""

from pathlib import Path

import pytest

from tests.seeds import beyond_a_few, seeds

PROGRAM = """
from pathlib import Path

import pytest

@pytest.mark.parametrize("seed", range(100, 112))
@pytest.mark.parametrize("name", ["a", "b"])
def test_with_a_name(name, seed): pass

@pytest.mark.parametrize("seed", [3])
def test_with_one(seed): pass

@pytest.mark.parametrize("seed", ["x", "y"])
def test_with_words(seed): pass

@pytest.mark.skipif(False, reason="never")
@pytest.mark.parametrize("seed", range(2))
def test_that_may_skip(seed): pass

def test_without(): pass
"""


def test_of_every_test_with_seeds_the_first_stays_and_then_every_fifth(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    file = tmp_path / "test_some.py"
    file.write_text(PROGRAM)
    module = pytest.Module.from_parent(request.session, path=file)
    tests = [item for item in request.session.genitems(module) if isinstance(item, pytest.Item)]
    left = beyond_a_few(tests)

    assert [item.name for item in tests if item not in left] == [
        *("test_with_a_name[a-100]", "test_with_a_name[a-105]", "test_with_a_name[a-110]"),
        *("test_with_a_name[b-100]", "test_with_a_name[b-105]", "test_with_a_name[b-110]"),
        *("test_with_one[3]", "test_with_words[x]", "test_with_words[y]"),
        *("test_that_may_skip[0]", "test_that_may_skip[1]", "test_without"),
    ]


def test_seeds_of_a_loop_begin_with_the_first() -> None:
    assert seeds(3)[0] == 0
    assert len(seeds(60)) in (60, 12)
