"""Where the time goes: latencies as distributions, and what they consist of."""

from collections.abc import Sequence
from typing import Final

from antecede_audit.report.charts.scale import time_text
from antecede_audit.report.charts.spec import (
    WAIT_CLASSES,
    WAITS,
    Axis,
    LineChart,
    Look,
    Series,
    StackChart,
)
from antecede_audit.report.page.markup import Markup, element, joined
from antecede_audit.report.page.section import Section, chart_grid, legend, waits_legend
from antecede_audit.report.parts import ReportContents
from antecede_audit.report.recordings import NamedRecording
from antecede_audit.report.spacetime.times import cdf_of, latencies_ns, parts_of

SHARE_AXIS: Final = Axis(title="share of messages", unit="share", low=0.0, high=1.0)
LATENCY_AXIS: Final = Axis(title="from submission to delivery", unit="time", log=True)

FEW: Final = 200
"""With so few messages a smooth line would promise more than is known: steps are drawn."""


def recorded_latency_sections(contents: ReportContents) -> list[Section | None]:
    """The latencies of recorded runs."""
    return [latency_section(recorded_latencies(contents.recordings))]


def latency_section(pieces: Sequence[Markup]) -> Section | None:
    """The section on latency: what each part has to say about it goes into the same one."""
    body = joined([piece for piece in pieces if piece])
    if not body:
        return None
    return Section(
        identity="latency",
        title="Latency",
        lead="From submission to delivery: in the send buffer, on the way, in the receive buffer. "
        "Causal order is paid for in one of the two buffers.",
        body=body,
    )


def run_look(number: int) -> Look:
    """How the runs of a report are drawn, by their number."""
    return Look(colour=(1, 2, 5, 3, 6, 7)[number % 6], dash=number // 6)


def recorded_latencies(recordings: Sequence[NamedRecording]) -> list[Markup]:
    """The latencies of all recorded runs in one chart, and what they consist of in one each."""
    all_latencies = [latencies_ns(recording.run) for recording in recordings]
    lines = tuple(
        Series(name=recording.run.name, points=cdf_of(values), look=run_look(number), dots=False)
        for number, (recording, values) in enumerate(zip(recordings, all_latencies, strict=True))
        if values
    )
    if not lines:
        return []
    slowest_ns = max(values[-1] for values in all_latencies if values)
    stacks = [
        stack
        for recording, values in zip(recordings, all_latencies, strict=True)
        if (stack := stack_of(recording, values, slowest_ns)) is not None
    ]
    chart = LineChart(
        title="Recorded runs",
        note="share of messages delivered after at most so long",
        x=LATENCY_AXIS,
        y=SHARE_AXIS,
        series=lines,
        stairs=any(0 < len(values) < FEW for values in all_latencies),
    )
    pieces = [element("h3", "Recorded runs"), legend((line.name, line.look) for line in lines)]
    if stacks:
        pieces.append(waits_legend())
    return [*pieces, chart_grid([chart, *stacks])]


def stack_of(
    recording: NamedRecording, own_ns: Sequence[int], slowest_ns: int
) -> StackChart | None:
    """Messages from the quickest to the slowest: what their time consisted of.

    The axis goes to the slowest of all runs, so that runs can be compared by looking; a run that
    is much quicker than another lies flat on it, so its own slowest message is told in words.
    """
    parts = parts_of(recording.run)
    if parts is None:
        return None
    return StackChart(
        title=recording.run.name,
        note="messages from the quickest to the slowest: where each spent its time; "
        f"the slowest took {time_text(own_ns[-1])}",
        x=SHARE_AXIS,
        y=Axis(title="latency", unit="time", high=float(slowest_ns)),
        places=parts.shares,
        parts=WAITS,
        classes=WAIT_CLASSES,
        layers=(parts.sender_wait_ns, parts.channel_ns, parts.receiver_wait_ns),
    )
