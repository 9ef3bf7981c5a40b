"""A small comparison of protocols in the simulator, as `antecede compare` would make it."""

from dataclasses import dataclass
from typing import final

from antecede.cli.demonstration.plan import Places, Plan
from antecede.lab.comparison import readings as measured
from antecede.lab.comparison.campaign import Campaign, Show
from antecede.lab.comparison.documents import write_comparison
from antecede.lab.comparison.plan import entrants_of
from antecede.lab.comparison.traffic import UNIFORM


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """The one figure that the summary has room for."""

    processes: int
    metadata_bytes: dict[str, float]
    """By protocol: on one message, everybody talking to everybody."""


def compare(plan: Plan, places: Places, show: Show | None) -> Compared:
    """Run it, and write what the report reads."""
    campaign = Campaign(entrants_of(list(plan.protocols)), plan.effort, plan.families)
    campaign.run(show)
    options = f"--protocols {','.join(plan.protocols)} --only {','.join(plan.families)}"
    write_comparison(places.comparison, campaign, f"antecede compare {options}{plan.effort.option}")
    points = {
        protocol: campaign.readings.series(protocol, measured.BYTES, UNIFORM)
        for protocol in plan.protocols
    }
    largest = max(int(size) for series in points.values() for size, _ in series)
    return Compared(
        processes=largest,
        metadata_bytes={
            protocol: figure
            for protocol, series in points.items()
            for size, figure in series
            if size == largest
        },
    )
