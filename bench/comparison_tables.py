"""The tables of docs/COMPARISON.md: whether they say what is recorded, cell by cell."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.results import Row, read_results
from bench.two_builds import ROOT

PAGE = ROOT / "docs" / "COMPARISON.md"
NEAR = 0.001
"""What is recorded was rounded, too."""

Key = tuple[str, str, str, float]
"""Protocol, quantity, situation, and what the quantity is plotted against."""

Known = dict[Key, float]

CELL = re.compile(r"(?<!\\)\|")
FIGURE = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?")
WIDTH = re.compile(r" ± [\d.]+")
"""Intervals are not recorded for all that has one."""

EVERYBODY = ("uniform", "broadcast")
"""Traffic of the tables that name none: those that do nothing else broadcast."""

PEERS = {"everybody": "uniform", "4 neighbours": "neighbours", "broadcast": "broadcast"}
SIX_DIGITS = 5e-6
"""As many as are recorded."""

MARKS = {"confirmed": "✓", "qualified": "~", "refuted": "✗"}
FOOTNOTES = "¹²³"
WHOLE = ("## Steps", "## Throughput")
"""Where the document has whole figures."""


@dataclass(frozen=True, slots=True)
class Cell:
    """Figures in one cell of a table, and what is recorded of them."""

    where: str
    line: int
    column: int
    text: str
    recorded: tuple[float, ...]
    verdict: str = ""
    """What the cell says if it is not of figures."""

    def agrees(self) -> bool:
        """Whether it says what is recorded, as far as it says it."""
        if self.verdict:
            return self.text == self.verdict
        words = FIGURE.findall(WIDTH.sub("", self.text))
        return len(words) == len(self.recorded) and all(
            abs(float(word.replace(",", "")) - known) <= rounding(word) + SIX_DIGITS * known
            for word, known in zip(words, self.recorded, strict=True)
        )

    def mended(self) -> str:
        """The cell with what is recorded, written in the same way."""
        if self.verdict:
            return self.verdict
        left = iter(self.recorded)
        parts = re.split(f"({WIDTH.pattern})", self.text)
        parts[::2] = [FIGURE.sub(lambda _: written(next(left)), part) for part in parts[::2]]
        return "".join(parts)


def rounding(word: str) -> float:
    """How far a figure may be from what it was rounded from."""
    return NEAR + 0.5 * 0.1 ** len(word.partition(".")[2])


@dataclass(frozen=True, slots=True)
class Asked:
    """A cell whose figures are looked for: its row, the title of its column, and what it says."""

    row: list[str]
    title: str
    text: str


def digits_of(figure: float) -> int:
    """Decimals of a figure with three digits."""
    return 0 if figure >= 100 else 1 if figure >= 10 else 2


def written(figure: float) -> str:
    """A figure with three digits, all of those of a whole number."""
    if figure == int(figure) or figure >= 100:
        return f"{figure:,.0f}"
    return f"{figure:.{digits_of(figure)}f}"


def rows_of(prefix: str) -> Iterator[Row]:
    """The recorded rows of all claims whose names begin like this."""
    for name, rows in read_results().items():
        if name.startswith(prefix):
            yield from rows


def recorded() -> Known:
    """What is recorded."""
    known: Known = {}
    for row in rows_of("comparison-"):
        if "quantity" in row:
            key = row["protocol"], row["quantity"], row["situation"], float(row["at"])
            known[key] = float(row["mean"])
    for row in rows_of("ks-"):
        situation = f"{row['processes']} {float(row['rate']):g}"
        known["ks", "share of n²", situation, float(row["share"])] = float(row["percent"])
    return known


def verdicts() -> dict[tuple[str, str], str]:
    """What a table says about an aspect of a protocol: the claim, and what was seen instead."""
    said: dict[tuple[str, str], str] = {}
    for row in rows_of("comparison-"):
        if "verdict" in row:
            claim, seen = row["claim"], row["seen"]
            other = "" if seen == claim.rstrip(FOOTNOTES) else f" → {seen}"
            said[row["protocol"], row["aspect"]] = f"{MARKS[row['verdict']]} {claim}{other}"
    return said


def cells(lines: list[str], known: Known) -> Iterator[Cell]:
    """Every cell about which something is recorded."""
    judged = verdicts()
    heading = ""
    head: list[str] = []
    for number, line in enumerate(lines):
        if line.startswith("## "):
            heading, head = line, []
        elif not line.startswith("|"):
            head = []
        elif not head:
            head = split(line)
        elif heading == "## The table":
            yield from verdict_cells(head, split(line), number, judged)
        elif heading in SECTIONS:
            yield from cells_of(heading, head, split(line), number, known)


def verdict_cells(
    head: list[str], row: list[str], number: int, judged: dict[tuple[str, str], str]
) -> Iterator[Cell]:
    """Those of one aspect."""
    for column, (protocol, text) in enumerate(zip(head, row, strict=True)):
        if said := judged.get((protocol, row[0])):
            yield Cell(f"{protocol}, {row[0]}", number, column, text, (), said)


def cells_of(
    heading: str, head: list[str], row: list[str], number: int, known: Known
) -> Iterator[Cell]:
    """Those of one row."""
    for column, (title, text) in enumerate(zip(head, row, strict=True)):
        if column == 0 or not FIGURE.search(text):
            continue
        keys = SECTIONS[heading](Asked(row, title, text))
        if keys and all(key in known for key in keys):
            found = tuple(known[key] for key in keys)
            whole = tuple(float(round(one)) for one in found)
            shown = whole if heading.startswith(WHOLE) else found
            yield Cell(f"{row[0]}, {title}: {heading[3:]}", number, column, text, shown)


def number_in(title: str, pattern: str) -> float | None:
    """The number that a heading names."""
    found = re.search(pattern, title)
    return None if found is None else float(found[1].replace(",", ""))


def of_traffic(protocol: str, quantities: tuple[str, ...], at: float) -> list[Key]:
    """Quantities under the traffic that the tables are about."""
    situation = EVERYBODY[1] if protocol in BROADCASTING else EVERYBODY[0]
    return [(protocol, quantity, situation, at) for quantity in quantities]


BROADCASTING = ("bss", "newtop", "psync", "baldoni")


def metadata(cell: Asked) -> list[Key]:
    """Integers or bytes per message: mean and most."""
    at = number_in(cell.title, r"n = ([\d,]+)")
    what = "integers" if cell.row[1] == "integers" else "metadata bytes"
    quantities = (f"{what} per message", f"most {what} per message")
    protocol = cell.row[0].partition(",")[0]
    return [] if at is None else of_traffic(protocol, quantities, at)


def state(cell: Asked) -> list[Key]:
    """Integers in a process, by the number of processes or by what it holds."""
    at = number_in(cell.title, r"n = ([\d,]+)")
    if at is not None:
        return [(cell.row[0], "integers in a process", PEERS[cell.row[1]], at)]
    held = "integers in a process by what it holds"
    return [(cell.row[0], held, cell.title, float(count)) for count in (10, 100, 1000)]


def steps(cell: Asked) -> list[Key]:
    """Steps of the sender and of the receiver."""
    at = number_in(cell.title, r"n = ([\d,]+)")
    return [] if at is None else of_traffic(cell.row[0], ("sender steps", "receiver steps"), at)


def latency(cell: Asked) -> list[Key]:
    """Latency and how it grows, the longest, and what was carried of the load."""
    load = number_in(cell.title, r"load ([\d.]+)")
    if load is None:
        return []
    quantity = "carried load"
    if cell.title.startswith("mean"):
        quantity = "growth of latency" if cell.text.startswith("grows") else "latency"
    elif cell.title.startswith("longest"):
        quantity = "longest non-causal latency"
    return [(cell.row[0], quantity, "", load)]


def waits(cell: Asked) -> list[Key]:
    """Waits in a conversation with reports, and latencies in groups."""
    turns = number_in(cell.title, r"([\d,]+) turns")
    if turns is not None:
        return [(cell.row[0], "longest wait in a conversation with reports", "", turns)]
    messages = number_in(cell.title, r"([\d,]+) messages")
    quantities = (
        "latency in groups by length of run",
        "longest latency in groups by length of run",
    )
    return [] if messages is None else [(cell.row[0], one, "", messages) for one in quantities]


def throughput(cell: Asked) -> list[Key]:
    """Deliveries a second, or messages in transit: of a stream, and of services."""
    at = number_in(cell.title, r"([\d,]+) ms")
    quantity = "messages in transit" if "in transit" in cell.title else "throughput"
    if at is None:
        return []
    return [(cell.row[0], quantity, situation, at) for situation in ("stream", "services")]


def control(cell: Asked) -> list[Key]:
    """Control packets of each kind, per message."""
    before, at = ("", 100.0) if cell.title == "the network it needs" else ("lossy network: ", 4.0)
    kinds = re.findall(r"([a-z-]+) [\d.]+", cell.text)
    return [(cell.row[0], "control packets", f"{before}{kind}", at) for kind in kinds]


def ks_share(cell: Asked) -> list[Key]:
    """How much of n² KS carries."""
    share = number_in(cell.title, r"multicasts (\d+)%")
    situation = f"{cell.row[0]} {float(cell.row[1]):g}"
    return [] if share is None else [("ks", "share of n²", situation, share / 100)]


SECTIONS: dict[str, Callable[[Asked], list[Key]]] = {
    "## Optimal in every decision, unbounded in latency": waits,
    "## Latency under load": latency,
    "## Metadata per message against n": metadata,
    "## State of a process": state,
    "## Steps": steps,
    "## Throughput against distance": throughput,
    "## Control packets per message": control,
    "## How much of n² does KS carry?": ks_share,
    "## The other systems that the paper names": metadata,
}
"""By heading: which figures a cell is made of."""


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
