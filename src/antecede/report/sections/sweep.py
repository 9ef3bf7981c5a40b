"""The runs of a sweep as a table: means over seeds, with their intervals."""

from collections.abc import Callable, Iterator
from typing import Final

from antecede.lab.comparison.readings import Estimate
from antecede.report.charts.scale import plain, time_text
from antecede.report.page.markup import Markup, joined
from antecede.report.readers.sweep import Sweep
from antecede.report.sections.section import Section, folded, paragraph, table

ROWS_OPEN: Final = 60
"""Longer tables are folded away."""

COLUMNS: Final[tuple[tuple[str, str, Callable[[float], str]], ...]] = (
    ("latency", "latency_mean_ns", time_text),
    ("p99", "latency_p99_ns", time_text),
    ("added", "non_causal_mean_ns", time_text),
    ("metadata, bytes", "metadata_bytes_per_message", plain),
    ("control packets", "control_per_message", plain),
    ("send buffer", "sender_buffer_max", plain),
    ("receive buffer", "receiver_buffer_max", plain),
    ("deliveries/s", "throughput", plain),
)
"""Heading, figure, and how it is written."""


def sweep_section(sweep: Sweep, name: str, number: int) -> Section:
    """All settings and protocols of a sweep."""
    counts = ", ".join(f"{count} {status}" for status, count in sweep.by_status.items())
    head = ["scenario", "network", "n", "protocol", "seeds", *(column[0] for column in COLUMNS)]
    figures = table(head, rows_of(sweep), texts=4)
    if len(sweep.groups) > ROWS_OPEN:
        figures = folded(f"{len(sweep.groups)} rows", figures)
    return Section(
        identity=f"sweep-{number}",
        title=f"Runs of {name}",
        lead=f"{counts}. Means over seeds, ± half of a 95 % interval where there are several. "
        "Added: how much later than causal order demands; metadata and control packets: for one "
        "message; buffers: the most copies at one process.",
        body=joined([figures, unfinished(sweep)]),
    )


def rows_of(sweep: Sweep) -> Iterator[list[str | int]]:
    """A row for each protocol in each setting; what is the same as above is left out."""
    for setting in sweep.settings():
        where: list[str | int] = list(setting)
        for group in sweep.of_setting(setting):
            figures = [figure_text(group.figure(name), write) for _, name, write in COLUMNS]
            yield [*where, group.protocol, group.seeds, *figures]
            where = ["", "", ""]


def figure_text(figure: Estimate | None, write: Callable[[float], str]) -> str:
    """A mean with its interval; a dash if nothing was measured."""
    if figure is None:
        return "-"
    if not figure.half_width:
        return write(figure.mean)
    return f"{write(figure.mean)} ± {write(figure.half_width)}"


def unfinished(sweep: Sweep) -> Markup:
    """Which runs did not finish, and why."""
    if not sweep.reasons:
        return Markup()
    rows = [[status, reason, str(count)] for status, reason, count in sweep.reasons]
    return folded(
        "Runs that did not finish",
        paragraph("What could not be run, or did not come to an end, and why.", class_="quiet"),
        table(["", "why", "runs"], rows, texts=2),
    )
