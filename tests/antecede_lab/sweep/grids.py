"""Grids written as text, and datasets for them to replay."""

from pathlib import Path

from antecede_audit.eventlog.workload import WorkloadRow, write_workload
from antecede_lab.sweep.grid import Grid, read_grid


def grid_file(folder: Path, text: str) -> Path:
    file = folder / "grid.toml"
    file.write_text(text, encoding="utf-8")
    return file


def grid_of(folder: Path, text: str) -> Grid:
    return read_grid(grid_file(folder, text))


def small_trace() -> list[WorkloadRow]:
    """Three conversations; one begins with a multicast, and one message joins two others."""
    return [
        WorkloadRow(message_id=10, sender=0, targets=(1, 2), delay_ns=1_000_000, payload_bytes=5),
        WorkloadRow(message_id=11, sender=1, targets=(3,), causes=(10,), delay_ns=2_000),
        WorkloadRow(message_id=12, sender=2, targets=(3,), causes=(10,), delay_ns=4_000),
        WorkloadRow(message_id=13, sender=3, targets=(0,), causes=(11, 12), delay_ns=6_000),
        WorkloadRow(message_id=20, sender=4, targets=(0,), delay_ns=5_000_000),
        WorkloadRow(message_id=21, sender=0, targets=(4,), causes=(20,), delay_ns=8_000),
        WorkloadRow(message_id=30, sender=1, targets=(2,), delay_ns=9_000_000),
    ]


def trace_file(folder: Path) -> Path:
    file = folder / "trace.parquet"
    write_workload(file, small_trace())
    return file
