"""Tables in memory and a summary, written to a folder of this machine: all of them, or none."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import pyarrow.parquet as pq

from antecede.eventlog.atomic_files import os_errors_as_local, replace_folder_atomically
from antecede.eventlog.parquet import ArrowTable
from antecede_audit.judging.verdict_summary import SUMMARY

PART: Final = "part-00000.parquet"


def write_together(
    out: Path, tables: Mapping[str, ArrowTable], summary: object, replaced: Sequence[str]
) -> None:
    """Write tables, each under its path below `out`, and the summary.

    `replaced` are the names in `out` that change hands, all together, once everything is written.
    """
    with (
        replace_folder_atomically(out.absolute(), replaced) as stage,
        os_errors_as_local(out, "write"),
    ):
        for name, table in tables.items():
            (stage / name).mkdir(parents=True)
            pq.write_table(table, stage / name / PART, compression="zstd")
        text = json.dumps(summary, indent=2, ensure_ascii=False) + "\n"
        (stage / SUMMARY).write_text(text, encoding="utf-8")
