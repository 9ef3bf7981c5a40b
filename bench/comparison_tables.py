"""Whether the tables of docs/COMPARISON.md say what is recorded, cell by cell.

    python -m bench.comparison_tables           tell what differs
    python -m bench.comparison_tables --mend    and put what is recorded in its place

What is recorded is in bench/figures; `make reproduce` makes it again.
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.csv_table import read_table
from bench.reproduce import FIGURES, ROOT

PAGE = ROOT / "docs" / "COMPARISON.md"
NEAR = 0.006
"""Differences of rounding."""

Known = dict[tuple[str, str, float], float]
"""By protocol, quantity and number of processes or distance: the mean."""

CELL = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True, slots=True)
class Cell:
    """Figures in one cell of a table, and what is recorded of them."""

    where: str
    line: int
    column: int
    text: str
    recorded: tuple[float, ...]

    def agrees(self) -> bool:
        """Whether it says what is recorded, as far as it says it."""
        figures = [float(word.replace(",", "")) for word in re.findall(r"[\d,.]+", self.text)]
        return len(figures) == len(self.recorded) and all(
            abs(figure - known) <= max(NEAR, 0.5 / 10 ** digits_of(figure), 0.005 * abs(known))
            for figure, known in zip(figures, self.recorded, strict=True)
        )

    def mended(self) -> str:
        """The cell with what is recorded, written in the same way."""
        left = iter(self.recorded)
        return re.sub(r"[\d,.]+", lambda _: written(next(left)), self.text)


def digits_of(figure: float) -> int:
    """Decimals of a figure with three digits."""
    return 0 if figure >= 100 else 1 if figure >= 10 else 2


def written(figure: float) -> str:
    """A figure with three digits, all of those of a whole number."""
    if figure == int(figure) or figure >= 100:
        return f"{figure:,.0f}"
    return f"{figure:.{digits_of(figure)}f}"


def recorded() -> Known:
    """What is recorded; broadcast where a protocol does nothing else."""
    known: Known = {}
    for file in sorted(FIGURES.glob("comparison-*.csv")):
        for row in read_table(file):
            if row.get("situation") in ("uniform", "broadcast", "stream", "services"):
                situation = row["situation"] if row["quantity"] == "throughput" else ""
                key = row["protocol"], (row["quantity"] + " " + situation).strip(), float(row["at"])
                known[key] = float(row["mean"])
    return known


def cells(lines: list[str], known: Known) -> Iterator[Cell]:
    """Every cell about which something is recorded."""
    heading = ""
    head: list[str] = []
    for number, line in enumerate(lines):
        if line.startswith("## "):
            heading, head = line, []
        elif not line.startswith("|"):
            head = []
        elif not head:
            head = split(line)
        else:
            yield from cells_of(heading, head, split(line), number, known)


def cells_of(
    heading: str, head: list[str], row: list[str], number: int, known: Known
) -> Iterator[Cell]:
    """Those of one row."""
    for column, (title, text) in enumerate(zip(head, row, strict=True)):
        size = re.search(r"n = ([\d,]+)", title)
        quantities: tuple[str, ...] = ()
        if heading == "## Steps":
            quantities = ("sender steps", "receiver steps")
        elif heading.startswith("## Metadata per message") and row[1] in ("integers", "bytes"):
            what = "integers" if row[1] == "integers" else "metadata bytes"
            quantities = (f"{what} per message", f"most {what} per message")
        if size is None or not quantities or not re.search(r"\d", text):
            continue
        at = float(size[1].replace(",", ""))
        keys = [(row[0], quantity, at) for quantity in quantities]
        if all(key in known for key in keys):
            found = tuple(known[key] for key in keys)
            # Steps are whole in the document.
            whole = tuple(float(round(one)) for one in found)
            recorded_here = whole if heading == "## Steps" else found
            yield Cell(f"{row[0]}, {title}: {heading[3:]}", number, column, text, recorded_here)


def split(line: str) -> list[str]:
    """The cells of a row."""
    return [cell.strip() for cell in CELL.split(line.strip().strip("|"))]


def differences(page: Path = PAGE) -> tuple[int, list[Cell]]:
    """How many cells were compared, and those that say something else."""
    found = list(cells(page.read_text(encoding="utf-8").splitlines(), recorded()))
    return len(found), [cell for cell in found if not cell.agrees()]


def mend(page: Path = PAGE) -> None:
    """Put what is recorded in the place of what differs."""
    lines = page.read_text(encoding="utf-8").splitlines()
    for cell in differences(page)[1]:
        row = split(lines[cell.line])
        row[cell.column] = cell.mended()
        lines[cell.line] = f"| {' | '.join(row)} |"
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    compared, differing = differences()
    for one in differing:
        print(f"{one.where}: says {one.text}, recorded {', '.join(map(written, one.recorded))}")
    print(f"{compared} cells, {len(differing)} differ")
    if "--mend" in sys.argv:
        mend()
