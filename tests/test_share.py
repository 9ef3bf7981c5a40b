"""A build may try a fifth of the seeds, or half, and loses no test by it."""

import pytest

from tests.share import in_a_fifth, in_a_half, left_out, seeds

PROGRAM = """
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

@pytest.mark.parametrize(("name", "program"), [(n, p) for n in "ab" for p in "tuvwxyz"])
def test_with_programs(name, program): pass

def test_without(): pass
"""


@pytest.fixture
def tests(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> list[pytest.Item]:
    file = tmp_path_factory.mktemp("share") / "test_some.py"
    file.write_text(PROGRAM)
    module = pytest.Module.from_parent(request.session, path=file)
    return [item for item in request.session.genitems(module) if isinstance(item, pytest.Item)]


def test_of_every_test_with_seeds_the_first_stays_and_then_every_fifth(
    tests: list[pytest.Item],
) -> None:
    left = left_out(tests, "fifth")

    assert [item.name for item in tests if item not in left] == [
        *("test_with_a_name[a-100]", "test_with_a_name[a-105]", "test_with_a_name[a-110]"),
        *("test_with_a_name[b-100]", "test_with_a_name[b-105]", "test_with_a_name[b-110]"),
        *("test_with_one[3]", "test_with_words[x]", "test_with_words[y]"),
        *("test_that_may_skip[0]", "test_that_may_skip[1]"),
        *("test_with_programs[a-t]", "test_with_programs[a-y]"),
        *("test_with_programs[b-t]", "test_with_programs[b-y]", "test_without"),
    ]


def test_or_the_first_three_and_then_two_of_five_and_every_program(
    tests: list[pytest.Item],
) -> None:
    left = {item.name for item in left_out(tests, "half")}

    assert left == {
        f"test_with_a_name[{name}-{seed}]" for name in "ab" for seed in (103, 104, 107, 108, 109)
    }


def test_both_shares_have_what_is_done_every_other_or_every_third_time() -> None:
    assert {place % 6 for place in range(30) if in_a_fifth(place)} == set(range(6))
    assert {place % 2 for place in range(3) if in_a_half(place)} == {0, 1}
    assert {place % 3 for place in range(3) if in_a_half(place)} == {0, 1, 2}
    assert all(in_a_half(place) for place in range(100) if in_a_fifth(place))


def test_seeds_of_a_loop_begin_with_the_first() -> None:
    assert seeds(3)[0] == 0
    assert len(seeds(60)) in (60, 25, 12)
