"""What the documents show is what happens."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from antecede_lab.catalogue import PROTOCOLS

ROOT = Path(__file__).parent.parent

BLOCK = re.compile(r"^```(?P<language>\w+)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(document: Path, language: str) -> list[str]:
    found = BLOCK.finditer(document.read_text(encoding="utf-8"))
    return [block["body"] for block in found if block["language"] == language]


def output_of(*command: str) -> str:
    ran = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return ran.stdout


@pytest.mark.parametrize("page", ["README.md", "docs/reference/nodes.md"])
def test_an_example_prints_what_its_page_says(page: str) -> None:
    """The first one; tests/documents/test_blocks.py runs all of them."""
    code, shown = blocks(ROOT / page, "python")[0], blocks(ROOT / page, "text")[0]
    assert output_of("-c", code) == shown


def test_architecture_points_at_places_that_exist() -> None:
    text = (ROOT / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8")
    places = re.findall(r"`([a-z_]+/[a-z_/]*(?:\.py)?)`", text)
    assert len(places) > 10
    packages = [path for path in (ROOT / "src").iterdir() if path.is_dir()]
    roots = (ROOT, ROOT / "src", *packages)
    lost = [place for place in places if not any((root / place).exists() for root in roots)]
    assert [place for place in lost if not place.startswith("build/")] == []


def carol_reads(protocol: str) -> list[str]:
    lines = output_of("examples/triangle.py", protocol).splitlines()
    return [line.removeprefix("Carol reads: ") for line in lines if line.startswith("Carol")]


@pytest.mark.parametrize("protocol", ["hybrid", "hybrid-sps", "hybrid-csps"])
def test_triangle_is_ordered_by_causal_protocols(protocol: str) -> None:
    assert PROTOCOLS[protocol].ordering == "causal"
    assert carol_reads(protocol) == ["Lunch at noon?", "I am coming too!"]


def test_triangle_goes_wrong_without_order() -> None:
    assert carol_reads("none") == ["I am coming too!", "Lunch at noon?"]
