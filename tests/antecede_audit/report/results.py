"""Results of other commands as they leave them, small enough to check by hand."""

import json
from pathlib import Path
from typing import Any

from antecede.eventlog.parquet import load_pyarrow
from antecede_audit.judging.findings import VIOLATION_COLUMNS


def reading(
    protocol: str,
    quantity: str,
    unit: str,
    against: str,
    at: float,
    mean: float,
    situation: str = "uniform",
    samples: int = 3,
) -> dict[str, object]:
    return {
        "protocol": protocol,
        "quantity": quantity,
        "unit": unit,
        "situation": situation,
        "against": against,
        "at": at,
        "mean": mean,
        "half_width": mean / 10,
        "samples": samples,
        "seed": 1,
    }


def write_comparison(folder: Path) -> None:
    """Metadata of two protocols against n, and how a third, unheard-of one fared."""
    readings = []
    for size in (5.0, 10.0, 20.0):
        readings += [
            reading("rst", "integers per message", "integers", "processes", size, size**2),
            reading("rst", "metadata bytes per message", "bytes", "processes", size, size**2 + 9),
            reading("hybrid", "integers per message", "integers", "processes", size, 2.0),
            reading("mine", "integers per message", "integers", "processes", size, size),
            reading("mine", "sparkle", "sparks", "processes", size, 1.0),
        ]
    for delay in (1.0, 4.0):
        for protocol, rate in (("rst", 9000.0), ("hybrid", 9000.0), ("mine", 500 / delay)):
            readings.append(
                reading(
                    protocol,
                    "throughput",
                    "deliveries/s",
                    "one-way delay in ms",
                    delay,
                    rate,
                    situation="stream",
                )
            )
    content = {
        "run": "antecede lab compare --quick",
        "effort": "quick",
        "seeds": 3,
        "readings": readings,
        "verdicts": [
            {
                "protocol": "rst",
                "aspect": "space: message",
                "run": "antecede lab compare --only space",
            }
        ],
        "left_out": [{"protocol": "mine", "what": "steps", "why": "nobody asked"}],
    }
    folder.mkdir(parents=True)
    (folder / "comparison.json").write_text(json.dumps(content))


def swept_run(protocol: str, seed: int, processes: int = 4, **more: object) -> dict[str, Any]:
    """A row of a sweep's table."""
    latency_ns = 1_000_000 * (seed + (1 if protocol == "hybrid" else 0))
    row = {
        "digest": f"{protocol}{seed}{processes}",
        "run_id": f"chat-{protocol}-n{processes}-s{seed}",
        "protocol": protocol,
        "scenario": "chat",
        "network": "lan",
        "processes": processes,
        "seed": seed,
        "status": "finished",
        "reason": None,
        "messages": 100,
        "latency_mean_ns": float(latency_ns),
        "latency_p99_ns": 5 * latency_ns,
        "sender_wait_mean_ns": latency_ns / 4,
        "channel_mean_ns": latency_ns / 2,
        "receiver_wait_mean_ns": latency_ns / 4,
        "non_causal_mean_ns": 100.0,
        "metadata_bytes_per_message": 10.0 * processes,
        "control_per_message": 1.5,
        "throughput": 100.0,
        "sender_buffer_max": 3,
        "receiver_buffer_max": 2,
        "buckets": [
            {"delay": "latency", "low_ns": 0, "high_ns": latency_ns, "copies": 3},
            {
                "delay": "latency",
                "low_ns": latency_ns + 1,
                "high_ns": 4 * latency_ns,
                "copies": 1,
            },
        ],
    }
    return {**row, **more}


def write_sweep(folder: Path, rows: list[dict[str, Any]]) -> None:
    pa, pq = load_pyarrow("pyarrow"), load_pyarrow("pyarrow.parquet")
    (folder / "runs").mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows), folder / "runs" / "part-00001-x.parquet")


def write_audit(folder: Path, rows: list[tuple[Any, ...]], **summary: object) -> None:
    """The tables of an audit; a row is a run id and a row of violations."""
    pa, pq = load_pyarrow("pyarrow"), load_pyarrow("pyarrow.parquet")
    columns = ("run_id", *VIOLATION_COLUMNS)
    kinds = {"run_id": pa.string(), "kind": pa.string()}
    table = pa.table(
        {
            name: pa.array([row[place] for row in rows], kinds.get(name, pa.int64()))
            for place, name in enumerate(columns)
        }
    )
    for name in ("violations", "duplicates", "losses"):
        (folder / name).mkdir(parents=True)
        (folder / name / "_SUCCESS").write_text("")
    pq.write_table(table, folder / "violations" / "part-00000.parquet")
    losses = pa.table({"run_id": ["none"], "process": [1]})
    pq.write_table(losses, folder / "losses" / "part-00000.parquet")
    pq.write_table(losses.slice(0, 0), folder / "duplicates" / "part-00000.parquet")
    (folder / "summary.json").write_text(json.dumps(summary))


def write_evaluation(folder: Path) -> None:
    """Two protocols on one trace."""
    answers = [
        {
            "scenario": "shop",
            "network": "wan",
            "processes": 4,
            "protocol": protocol,
            "seeds": 3,
            "finished": protocol != "mf",
            "latency_ns": 2e6,
            "latency_ns_half_width": 1e5,
            "added_ns": added_ns,
            "added_ns_half_width": 1e5,
            "metadata_bytes": metadata,
            "metadata_bytes_half_width": None,
            "metadata_times": None,
        }
        for protocol, added_ns, metadata in (("rst", 0.0, 130.0), ("hybrid", 8e5, 7.0))
    ]
    traces = [
        {
            "name": "shop",
            "origin": "recorded",
            "processes": 4,
            "messages": 240,
            "copies": 250,
            "span_ns": 10**9,
            "real": ["everything"],
            "grown": [],
        }
    ]
    (folder / "tables").mkdir(parents=True)
    (folder / "evaluation.json").write_text(
        json.dumps({"title": "What does it cost?", "command": "antecede lab evaluate x.toml"})
    )
    (folder / "tables" / "answers.json").write_text(json.dumps(answers))
    (folder / "tables" / "traces.json").write_text(json.dumps(traces))
