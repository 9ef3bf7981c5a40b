"""Which build runs, and that the tests notice when it is not the one they are meant to test."""

import re
from pathlib import Path

import pytest

import antecede
from antecede.core import process
from tests.expected_build import stale_build, wrong_build

ACTUAL, OTHER = ("compiled", "interpreted") if antecede.compiled() else ("interpreted", "compiled")


def test_compiled_is_true_exactly_if_the_core_is_machine_code() -> None:
    assert antecede.compiled() is str(process.__file__).endswith((".so", ".pyd"))


def test_the_other_build_is_refused() -> None:
    assert wrong_build(ACTUAL) == ""
    assert f"expected the {OTHER} build" in wrong_build(OTHER)
    assert "must be compiled or interpreted" in wrong_build("fast")


def test_what_a_compiled_build_cannot_run_is_run_interpreted() -> None:
    """Or else a judge that skips on the compiled build would never judge."""
    root = Path(__file__).parent
    makefile = (root.parent / "Makefile").read_text(encoding="utf-8")
    listed = makefile.partition("TESTS_OF_COMPILED := $(addprefix tests/,")[2].partition(")")[0]
    both = [root / name for name in listed.replace("\\", " ").split()]
    needing = [
        file
        for file in root.rglob("test_*.py")
        if re.search(r"skipif\(\s*(antecede\.)?compiled\(\)", file.read_text(encoding="utf-8"))
    ]
    assert len(needing) > 3
    assert [file for file in needing if not {file, *file.parents} & set(both)] == []


@pytest.fixture
def trees(tmp_path: Path) -> tuple[Path, Path]:
    """The sources, and a build made from them."""
    source, built = tmp_path / "source", tmp_path / "built"
    for folder in (source, built):
        (folder / "core").mkdir(parents=True)
        (folder / "core" / "packets.py").write_text("ONE = 1\n")
    (built / "core" / "values.so").write_text("")
    return source, built


def test_fresh_build_is_accepted(trees: tuple[Path, Path]) -> None:
    source, built = trees
    assert stale_build(source, built) == ""
    assert stale_build(source, source) == ""


def test_build_of_edited_sources_is_refused(trees: tuple[Path, Path]) -> None:
    source, built = trees
    (source / "core" / "packets.py").write_text("ONE = 2\n")
    assert "core/packets.py" in stale_build(source, built)


@pytest.mark.parametrize("place", [0, 1])
def test_build_with_a_file_more_or_less_is_refused(trees: tuple[Path, Path], place: int) -> None:
    (trees[place] / "extra.py").write_text("")
    assert "extra.py" in stale_build(*trees)
