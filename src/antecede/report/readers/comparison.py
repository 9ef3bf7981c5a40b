"""What `antecede compare` leaves: its figures, and what they say about every protocol.

Only the figures are read; the words of the table are worked out from them again, by the same code
that judged them, so that protocols of which the paper does not speak have words too.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from antecede.core.errors import LocalError
from antecede.lab.comparison.claims import TABLE
from antecede.lab.comparison.readings import QUANTITIES, Estimate, Quantity, Reading, Readings
from antecede.lab.comparison.verdicts import Observation, Verdict, observe, verdicts_on
from antecede.report.readers.sources import COMPARISON_FILE, KS_FILE, objects_in, read_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A comparison of protocols."""

    command: str
    effort: str
    seeds: int
    protocols: tuple[str, ...]
    readings: Readings
    commands: dict[tuple[str, str], str]
    """By protocol and aspect: the command that shows it."""

    def verdicts(self, protocol: str) -> dict[str, Verdict]:
        """What became of the paper's claims about a protocol, by aspect."""
        return {one.claim.aspect: one for one in verdicts_on(protocol, self.readings)}

    def observations(self, protocol: str) -> dict[str, Observation]:
        """What was seen of a protocol, by aspect."""
        seen = {aspect: observe(aspect, protocol, self.readings) for aspect in TABLE}
        return {aspect: one for aspect, one in seen.items() if one is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class KsPoint:
    """How much metadata KS carries, as a percentage of n²."""

    processes: int
    rate: float
    share: float
    percent: float
    half_width: float | None


KNOWN: Final = {quantity.name: quantity for quantity in QUANTITIES}


def read_comparison(folder: Path) -> Comparison:
    """The comparison in this folder; `LocalError` if the file is not what it should be."""
    file = folder / COMPARISON_FILE
    content = read_json(file)
    readings = Readings()
    try:
        for fields in listed(content, "readings"):
            readings.rows.append(reading_of(fields))
        for fields in listed(content, "left_out"):
            readings.leave_out(str(fields["protocol"]), str(fields["what"]), str(fields["why"]))
        commands = {
            (str(fields["protocol"]), str(fields["aspect"])): str(fields["run"])
            for fields in listed(content, "verdicts")
        }
    except (KeyError, TypeError, ValueError) as error:
        raise LocalError(f"{file} is not what `antecede compare` writes: {error!r}") from error
    return Comparison(
        command=str(content.get("run", "")),
        effort=str(content.get("effort", "")),
        seeds=int(str(content.get("seeds") or 1)),
        protocols=tuple(readings.protocols()),
        readings=readings,
        commands=commands,
    )


def listed(content: Mapping[str, object], key: str) -> list[dict[str, object]]:
    """A list of objects, which may be missing."""
    return objects_in(content.get(key, []), key)


def reading_of(fields: Mapping[str, object]) -> Reading:
    """One figure; a quantity that is not known here still has a name and a unit."""
    name = str(fields["quantity"])
    quantity = KNOWN.get(name) or Quantity(
        name=name, unit=str(fields["unit"]), against=str(fields["against"]), meaning=""
    )
    half_width = fields["half_width"]
    return Reading(
        protocol=str(fields["protocol"]),
        quantity=quantity,
        situation=str(fields["situation"]),
        at=float(str(fields["at"])),
        figure=Estimate(
            mean=float(str(fields["mean"])),
            half_width=None if half_width is None else float(str(half_width)),
            samples=int(str(fields["samples"])),
        ),
        seed=int(str(fields["seed"])),
    )


def read_ks(folder: Path) -> list[KsPoint]:
    """The experiment with the algorithm of Kshemkalyani and Singhal."""
    file = folder / KS_FILE
    points: list[KsPoint] = []
    try:
        for fields in listed(read_json(file), "rows"):
            half_width = fields["half_width"]
            points.append(
                KsPoint(
                    processes=int(str(fields["processes"])),
                    rate=float(str(fields["rate"])),
                    share=float(str(fields["share"])),
                    percent=float(str(fields["percent"])),
                    half_width=None if half_width is None else float(str(half_width)),
                )
            )
    except (KeyError, TypeError, ValueError) as error:
        raise LocalError(f"{file} is not what `antecede compare --ks` writes: {error!r}") from error
    return points
