"""What a chart shows: plain values, which `antecede_audit.report.charts.draw` turns into SVG."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias, get_args

Unit: TypeAlias = Literal["number", "count", "time", "share"]

DASHES: Final = ("", "6 3", "2 3", "8 3 2 3", "1 2", "12 4", "4 2 1 2 1 2")
"""So that lines can be told apart without colours too."""


Marker: TypeAlias = Literal[
    "circle", "square", "triangle", "diamond", "wedge", "plus", "cross", "ring"
]

MARKERS: Final[tuple[Marker, ...]] = get_args(Marker)
"""One for each colour: whoever cannot tell the colours apart goes by these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """The colour of a line, by its number in the page's palette, its dashes and its points."""

    colour: int
    dash: int = 0
    shape: Marker | None = None
    """The shape of its points, where colour alone would not tell lines apart."""

    @property
    def dashes(self) -> str:
        """The dashes as SVG writes them."""
        return DASHES[self.dash % len(DASHES)]

    @property
    def marker(self) -> Marker:
        """The shape of its points."""
        return self.shape or MARKERS[(self.colour - 1) % len(MARKERS)]


FAMILIES: Final[dict[str, Look]] = {
    "hybrid": Look(colour=1),
    "hybrid-sps": Look(colour=1, dash=5),
    "hybrid-csps": Look(colour=1, dash=1),
    "hybrid-facts": Look(colour=1, dash=6),
    "paper-basic": Look(colour=1, dash=2),
    "paper-sps": Look(colour=1, dash=3),
    "paper-multicast": Look(colour=1, dash=4),
    "rst": Look(colour=2),
    "ks": Look(colour=3),
    "prs": Look(colour=2, dash=1),
    "ses": Look(colour=2, dash=2),
    "bss": Look(colour=6),
    "newtop": Look(colour=4),
    "mf": Look(colour=5),
    "cykas": Look(colour=7),
    "tree": Look(colour=8),
    "piggyback": Look(colour=6, dash=1),
    "psync": Look(colour=6, dash=2),
    "separators": Look(colour=8, dash=3),
    "topology": Look(colour=2, dash=3),
    "blocking": Look(colour=5, dash=1),
    "saturn": Look(colour=8, dash=4),
    "baldoni": Look(colour=6, dash=3),
    "fifo": Look(colour=8, dash=1),
    "none": Look(colour=8, dash=2),
}
"""Protocols look the same in every chart; those of one family share a colour."""

OTHERS: Final = tuple(Look(colour=colour, dash=1 + colour % 4) for colour in (4, 5, 6, 7, 3, 2))


def look_of(name: str, number: int = 0) -> Look:
    """How a protocol is drawn; one that is not in the catalogue goes by its number."""
    known = FAMILIES.get(name.partition("+")[0])
    return OTHERS[number % len(OTHERS)] if known is None else known


def distinct_looks(names: Iterable[str]) -> dict[str, Look]:
    """Looks of protocols whose points stand alone: shapes differ, and beyond eight the colours."""
    looks: dict[str, Look] = {}
    family = list(FAMILIES)
    every = list(dict.fromkeys(names))
    known = [name for name in every if name in FAMILIES]
    others = [name for name in every if name not in FAMILIES]
    for number, name in enumerate([*sorted(known, key=family.index), *others]):
        look = look_of(name, number)
        shapes = (look.marker, *MARKERS)
        taken = {one.marker for one in looks.values()}
        alike = {one.marker for one in looks.values() if one.colour == look.colour}
        free = [shape for shape in shapes if shape not in taken]
        free += [shape for shape in shapes if shape not in alike]
        looks[name] = replace(look, shape=free[0] if free else look.marker)
    return looks


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """What one direction of a chart means."""

    title: str
    unit: Unit = "number"
    log: bool = False
    low: float | None = None
    high: float | None = None
    marks: tuple[float, ...] = ()
    """The values that get a mark; none: round ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """A line: points from left to right, each possibly with half the width of its interval."""

    name: str
    points: tuple[tuple[float, float], ...]
    look: Look
    spread: tuple[float, ...] = ()
    dots: bool = True
    """Whether single points are marked: they are measurements, not a curve."""
    label: str = ""
    """What stands beside the last point."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineChart:
    """Lines over two axes."""

    title: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    note: str = ""
    stairs: bool = False
    """Whether a value holds until the next one."""
    named: bool = False
    """Whether the lines have their names at their right ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One bar: a name, and the parts that follow each other in it."""

    name: str
    parts: tuple[float, ...]
    text: str = ""
    """What stands at its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BarChart:
    """Horizontal bars, each of the same parts."""

    title: str
    x: Axis
    parts: tuple[str, ...]
    """What the parts are called, and the classes that give them their colours."""
    classes: tuple[str, ...]
    bars: tuple[Bar, ...]
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StackChart:
    """Layers on top of each other: the heights of each at the same places."""

    title: str
    x: Axis
    y: Axis
    places: tuple[float, ...]
    parts: tuple[str, ...]
    classes: tuple[str, ...]
    layers: tuple[tuple[float, ...], ...]
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DotChart:
    """Points in rows: what many measured in the same settings, each setting a row."""

    title: str
    x: Axis
    rows: tuple[str, ...]
    """What the rows are called; a line break makes two lines of a name."""
    series: tuple[Series, ...]
    """A point is a value and the number of its row; spread is along the axis."""
    note: str = ""


Chart: TypeAlias = LineChart | BarChart | StackChart | DotChart

WAITS: Final = ("send buffer", "on the way", "receive buffer")
"""Where a message spends its time, in the words of the page."""

WAIT_CLASSES: Final = ("in-send", "on-way", "in-receive")
