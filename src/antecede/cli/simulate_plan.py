"""From what the command line says to a run that is ready to begin, and to what came of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final

import click
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

from antecede.cli.progress import progress_bar
from antecede.core.catalogue import ProtocolInfo, find_protocol
from antecede.core.errors import LocalError
from antecede.link.faults import Faults
from antecede.sim.engine import Progress
from antecede.sim.fit import needs_link
from antecede.sim.run import RunResult, fitted, option_of
from antecede.sim.workloads.catalogue import Traffic
from antecede.sim.workloads.workload import Workload
from antecede.trace.files import read_events, record_events
from antecede.trace.log import EventLog

SECOND_NS: Final = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A run that is ready to begin."""

    title: str
    """Which workload, over which network."""
    info: ProtocolInfo
    seed: int
    run: "partial[RunResult]"
    """Asks only whether to record, and whom to tell how far it is."""


def performed(
    plan: Plan, out: str | None, judged: bool, progress: Progress | None
) -> tuple[RunResult, EventLog | None]:
    """What came of the plan, and the log if it is to be judged; `out` gets it as it grows."""
    if out is None:
        result = plan.run(record=judged, progress=progress)
        return result, result.log
    with record_events(out) as log:
        result = plan.run(record=log, progress=progress)
    return result, read_events(out) if judged else None


@contextmanager
def simulating(messages: int) -> Iterator[Progress | None]:
    """A bar on standard error if that is a terminal; it shows only when a run takes long."""
    columns = (
        TextColumn("simulating"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("messages, {task.fields[events]:,} events"),
        TimeRemainingColumn(),
    )
    with progress_bar(*columns) as bar:
        task = bar.add_task("run", total=messages, events=0)

        def show(events: int, submissions: int) -> None:
            bar.update(task, completed=min(submissions, messages), events=events)

        yield None if bar.disable else show


def interval_of(rate: float | None, interval_ns: int | None) -> int:
    """The mean time between two messages of a process, however it was given."""
    if rate is not None and interval_ns is not None:
        raise LocalError("give --rate or --interval, not both")
    if interval_ns is not None:
        return interval_ns
    if rate is None:
        return Traffic().interval_ns
    if rate <= 0:
        raise LocalError("the rate must be more than 0 messages per second")
    return max(1, round(SECOND_NS / rate))


def check_places(processes: int, faults: Faults) -> None:
    """`LocalError` if a partition or a slow link names a process that is not there."""
    named = [process for partition in faults.partitions for process in partition.island]
    for slow in faults.slow_links:
        named += [slow.source, slow.target]
    for process in named:
        if process >= processes:
            raise LocalError(f"there is no process {process}: they are 0 to {processes - 1}")


def linked(protocol: str, workload: Workload, faults: Faults, link: bool | None) -> ProtocolInfo:
    """The protocol, over a link if it needs one; that it got one unasked is said.

    `LocalError` if they do not fit each other.
    """
    check_places(workload.processes, faults)
    info = find_protocol(protocol)
    if link is None and needs_link(info, faults):
        better = "FIFO channels" if info.network == "fifo" else "a network that loses nothing"
        click.echo(f"{info.name} needs {better}: it runs over the reliable link.", err=True)
    return fitted(info, workload, faults, link=link is not False)


def limits(
    info: ProtocolInfo, send_limit: int | None, receive_limit: int | None
) -> dict[str, object]:
    """The bounds of buffers as options of the protocol."""
    options: dict[str, object] = {}
    if send_limit is not None:
        options |= option_of(info, "send_limit", send_limit)
    if receive_limit is not None:
        options |= option_of(info, "receive_limit", receive_limit)
    return options
