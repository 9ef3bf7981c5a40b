"""Recorded workloads, ready to be replayed: a whole table, or a stretch of it, faster if wanted.

Reading and checking a table takes longer than many a run, so a Python worker keeps the last few.
What it keeps depends on nothing but the plan.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Final

from antecede.core.errors import LocalError
from antecede.pipeline.sweep.plans import DIGEST_BYTES, ReplayPlan
from antecede.trace.datasets import common_source, find_run, suffix_of
from antecede.trace.parquet import load, reading
from antecede.trace.workload import WorkloadRow, read_workload

KEPT_TABLES: Final = 2
KEPT_SELECTIONS: Final = 2
CHUNK_BYTES: Final = 1 << 20


def plan_replay(path: Path, run_id: str | None = None) -> ReplayPlan:
    """A plan for all that the table at `path` holds; it is looked at, not read."""
    files = find_run(path, run_id)
    processes, messages = extent(files)
    return ReplayPlan(
        path=str(path.resolve()),
        run_id=run_id,
        content=contents_of(files),
        processes=processes,
        messages=messages,
    )


def extent(files: Sequence[Path]) -> tuple[int, int]:
    """The number of processes and of messages of a workload table."""
    if suffix_of(files[0]) != ".parquet":
        rows = read_workload(files[0])
        return 1 + max((max(row.sender, *row.targets) for row in rows), default=-1), len(rows)
    pq = load("pyarrow.parquet")
    pc = load("pyarrow.compute")
    highest = -1
    messages = 0
    for file in files:
        with reading(file):
            table = pq.read_table(file, columns=["sender", "targets"], partitioning=None)
            messages += len(table)
            for column in (table["sender"], pc.list_flatten(table["targets"])):
                highest = max(highest, pc.max(column).as_py() if len(column) else -1)
    if messages == 0:
        raise LocalError(f"{common_source(list(files))} has no messages to replay")
    return 1 + highest, messages


def contents_of(files: Sequence[Path]) -> str:
    """A digest of the bytes in these files."""
    digest = blake2b(digest_size=DIGEST_BYTES)
    for file in files:
        try:
            with file.open("rb") as source:
                while chunk := source.read(CHUNK_BYTES):
                    digest.update(chunk)
        except OSError as error:
            raise LocalError(f"cannot read {file}: {error.strerror}") from error
    return digest.hexdigest()


def replayed_rows(plan: ReplayPlan) -> list[WorkloadRow]:
    """The rows that the plan asks for; not to be changed, as others may get them too."""
    return selected_rows(plan)


@lru_cache(maxsize=KEPT_TABLES)
def table_rows(path: str, run_id: str | None, content: str) -> list[WorkloadRow]:  # noqa: ARG001 a changed file is another table
    """All rows of a table."""
    return read_workload(path, run_id)


@lru_cache(maxsize=KEPT_SELECTIONS)
def selected_rows(plan: ReplayPlan) -> list[WorkloadRow]:
    """The rows of the table, with everything done to them that the plan says."""
    rows = table_rows(plan.path, plan.run_id, plan.content)
    if plan.start_ns > 0 or plan.span_ns > 0:
        rows = within(rows, plan.start_ns, plan.span_ns)
    if not rows:
        raise LocalError(f"nothing in {plan.path} is sent in the stretch that is to be replayed")
    if plan.unicast:
        rows = unicasts(rows)
    if plan.compress != 1.0:
        rows = [replace(row, delay_ns=round(row.delay_ns / plan.compress)) for row in rows]
    return rows


def within(rows: Sequence[WorkloadRow], start_ns: int, span_ns: int) -> list[WorkloadRow]:
    """What is sent in a stretch of time; its start becomes time 0.

    The time of a message is that over a network which takes no time. A cause from before the
    stretch counts as delivered; what then waits for nothing is sent at its own time.
    """
    times = sending_times(rows)
    end_ns = start_ns + span_ns if span_ns > 0 else None
    kept: list[WorkloadRow] = []
    for row in rows:
        sent_ns = times[row.message_id]
        if sent_ns < start_ns or (end_ns is not None and sent_ns >= end_ns):
            continue
        causes = tuple(cause for cause in row.causes if times[cause] >= start_ns)
        since_ns = max((times[cause] for cause in causes), default=start_ns)
        kept.append(replace(row, causes=causes, delay_ns=sent_ns - since_ns))
    return kept


def sending_times(rows: Sequence[WorkloadRow]) -> dict[int, int]:
    """When each message would be sent if the network took no time; the table has no circles."""
    effects: dict[int, list[WorkloadRow]] = {}
    missing: dict[int, int] = {}
    times: dict[int, int] = {}
    for row in rows:
        missing[row.message_id] = len(row.causes)
        for cause in row.causes:
            effects.setdefault(cause, []).append(row)
    ready = [row for row in rows if not row.causes]
    while ready:
        row = ready.pop()
        since_ns = max((times[cause] for cause in row.causes), default=0)
        times[row.message_id] = since_ns + row.delay_ns
        for effect in effects.get(row.message_id, ()):
            missing[effect.message_id] -= 1
            if missing[effect.message_id] == 0:
                ready.append(effect)
    return times


def unicasts(rows: Sequence[WorkloadRow]) -> list[WorkloadRow]:
    """Every multicast as messages to one target each, sent at once in the order of the targets."""
    number_of: dict[tuple[int, int], int] = {}
    for row in rows:
        for target in row.targets:
            number_of[row.message_id, target] = len(number_of)
    return [
        replace(
            row,
            message_id=number_of[row.message_id, target],
            targets=(target,),
            causes=tuple(number_of[cause, row.sender] for cause in row.causes),
        )
        for row in rows
        for target in row.targets
    ]
