"""What makes a field of the statistics a metric: its name, its kind and its meaning.

They stand with the field, and nowhere else. `/metrics`, `NodeCollector`, OpenTelemetry's counters
and the table in `docs/operations/metrics.md` are made from them. Where OpenTelemetry's conventions
for messaging have a name for a figure, it is used as Prometheus spells it (dots become underscores,
a counter ends in `_total`); all others begin with `antecede_`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Final, Literal, TypeAlias, TypeVar

Kind: TypeAlias = Literal["counter", "gauge"]

METRIC: Final = "metric"
"""Where the metadata of a field have its metric, and a computed figure has it."""

Computed = TypeVar("Computed", bound=Callable[..., object])


@dataclass(frozen=True, slots=True)
class Metric:
    """Something to say about a node, or about every peer of it."""

    kind: Kind
    name: str
    meaning: str
    operation: str = ""
    """For names of OpenTelemetry's: which operation of the messaging client is counted."""
    label: str = ""
    """What tells several values of one figure apart; empty if there is one value."""

    @property
    def written_name(self) -> str:
        """Its name in the text format of Prometheus."""
        return f"{self.name}_total" if self.kind == "counter" else self.name

    @property
    def dotted_name(self) -> str:
        """Its name as OpenTelemetry spells it."""
        return self.name.replace("_", ".")


def counter(name: str, meaning: str, operation: str = "") -> dict[str, Metric]:
    """The metadata of a field that only grows."""
    return {METRIC: Metric("counter", name, meaning, operation)}


def gauge(name: str, meaning: str) -> dict[str, Metric]:
    """The metadata of a field that says how things stand now."""
    return {METRIC: Metric("gauge", name, meaning)}


def computed(name: str, meaning: str, label: str = "") -> Callable[[Computed], Computed]:
    """Below `@property`: a gauge that is computed from other figures."""

    def mark(function: Computed) -> Computed:
        setattr(function, METRIC, Metric("gauge", name, meaning, label=label))
        return function

    return mark


@dataclass(frozen=True, slots=True)
class Figure:
    """A metric and the attribute that has its value."""

    metric: Metric
    attribute: str

    def values(self, of: object) -> Iterator[tuple[str, float]]:
        """Its values, each with that of the label; of several things their number."""
        found = getattr(of, self.attribute)
        if isinstance(found, dict):
            yield from ((word, float(value)) for word, value in found.items())
        else:
            yield "", self.value(of)

    def value(self, of: object) -> float:
        """Its only value; of several things their number, and times in seconds."""
        found = getattr(of, self.attribute)
        if isinstance(found, tuple):
            return float(len(found))
        return float(found / 1e9 if self.attribute.endswith("_ns") else found)


def figures_of(kind: type) -> tuple[Figure, ...]:
    """The metrics of a class, in the order of its fields and then of its properties."""
    found = [Figure(f.metadata[METRIC], f.name) for f in fields(kind) if METRIC in f.metadata]
    for name, thing in vars(kind).items():
        metric = getattr(getattr(thing, "fget", None), METRIC, None)
        if isinstance(metric, Metric):
            found.append(Figure(metric, name))
    return tuple(found)


def metric_of(kind: type, attribute: str) -> Metric:
    """The metric of this field."""
    return next(one.metric for one in figures_of(kind) if one.attribute == attribute)
