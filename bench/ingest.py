"""`python -m bench.ingest`: how fast spans are ingested, beside Spark's own reader of JSON.

The spans are requests of OpenTelemetry in JSON, one on each line, as collectors write them: traces
of nine spans in five services (a gateway that calls, as client spans, four others), with three
attributes each, about 440 bytes a span. With `--hot` the gateway is one process, and has half of
all events. The files are made first, and Spark has ingested a few spans before the clock starts.

The peer is `spark.read.json` of the same files with a written schema, and a count of the spans in
them: that is decoding alone, without messages, clocks or order, by code that is compiled.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path
from random import Random
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 what everybody calls it

from antecede.pipeline.ingest.job import ingest
from antecede.pipeline.session import open_session
from bench.audit import Usage

START_NS = 1_700_000_000_000_000_000
FILE_SPANS = 450_000
TRACES_OF_A_LINE = 8
CALLS = 4
SPANS_OF_A_TRACE = 1 + 2 * CALLS
INSTANCES = 10
WARM_SPANS = 2_000

PEER_SCHEMA = (
    "resourceSpans array<struct<scopeSpans: array<struct<spans: array<struct<"
    "traceId: string, spanId: string, parentSpanId: string, kind: int, startTimeUnixNano: string, "
    "endTimeUnixNano: string, name: string>>>>>>"
)


def span_text(
    trace: str, name: int, parent: int | None, kind: int, start_ns: int, end_ns: int
) -> str:
    """A span in JSON."""
    above = "" if parent is None else f"{parent:016x}"
    return (
        f'{{"traceId":"{trace}","spanId":"{name:016x}","parentSpanId":"{above}",'
        f'"name":"GET /orders/{{id}}","kind":{kind},"startTimeUnixNano":"{start_ns}",'
        f'"endTimeUnixNano":"{end_ns}","attributes":['
        f'{{"key":"http.route","value":{{"stringValue":"/orders/{{id}}"}}}},'
        f'{{"key":"http.response.status_code","value":{{"intValue":"200"}}}},'
        f'{{"key":"net.peer.name","value":{{"stringValue":"orders.internal"}}}}],"status":{{}}}}'
    )


def resource_text(service: str, instance: int, spans: list[str]) -> str:
    """The spans of one process."""
    return (
        f'{{"resource":{{"attributes":[{{"key":"service.name","value":{{"stringValue":"{service}"}}'
        f'}},{{"key":"host.name","value":{{"stringValue":"host-{instance}"}}}}]}},"scopeSpans":'
        f'[{{"scope":{{"name":"library"}},"spans":[{",".join(spans)}]}}]}}'
    )


def line_of(number: int, chance: Random, hot: bool) -> str:
    """A request with a few traces."""
    by_process: dict[tuple[str, int], list[str]] = {}
    for turn in range(TRACES_OF_A_LINE):
        trace = f"{number * TRACES_OF_A_LINE + turn + 1:032x}"
        first = (number * TRACES_OF_A_LINE + turn) * SPANS_OF_A_TRACE + 1
        start_ns = START_NS + (number * TRACES_OF_A_LINE + turn) * 50_000
        gateway = ("gateway", 0 if hot else chance.randrange(INSTANCES))
        root = by_process.setdefault(gateway, [])
        root.append(span_text(trace, first, None, 2, start_ns, start_ns + 40_000_000))
        for call in range(CALLS):
            sent_ns = start_ns + 1_000_000 + chance.randrange(20_000_000)
            name = first + 1 + 2 * call
            taken_ns = chance.randrange(1_000_000, 9_000_000)
            root.append(span_text(trace, name, first, 3, sent_ns, sent_ns + taken_ns))
            worker = (f"service-{call}", chance.randrange(INSTANCES))
            begun_ns, ended_ns = sent_ns + taken_ns // 4, sent_ns + taken_ns * 3 // 4
            by_process.setdefault(worker, []).append(
                span_text(trace, name + 1, name, 2, begun_ns, ended_ns)
            )
    resources = [resource_text(*process, spans) for process, spans in by_process.items()]
    return f'{{"resourceSpans":[{",".join(resources)}]}}\n'


def write_spans(folder: Path, spans: int, hot: bool) -> int:
    """Write files with at least so many spans; how many there are."""
    chance = Random(1)
    lines = -(-spans // (TRACES_OF_A_LINE * SPANS_OF_A_TRACE))
    per_file = FILE_SPANS // (TRACES_OF_A_LINE * SPANS_OF_A_TRACE)
    for first in range(0, lines, per_file):
        with (folder / f"{first:09}.jsonl").open("w") as file:
            for number in range(first, min(lines, first + per_file)):
                file.write(line_of(number, chance, hot))
    return lines * TRACES_OF_A_LINE * SPANS_OF_A_TRACE


def measure(session: SparkSession, spans: int, hot: bool) -> dict[str, Any]:
    """One ingest, and the peer on the same files."""
    with tempfile.TemporaryDirectory(prefix="antecede-bench-") as scratch:
        traces = Path(scratch) / "traces"
        traces.mkdir()
        count = write_spans(traces, spans, hot)
        steps: list[tuple[str, float]] = []
        usage = Usage()
        with usage.measured():
            start = time.perf_counter()
            summary = ingest(
                session,
                [str(traces)],
                f"{scratch}/out",
                tell=lambda step: steps.append((step, time.perf_counter())),
            )
            end = time.perf_counter()
        assert summary.read[0].records == count
        peer_s = peer_seconds(session, traces, count)
        size = sum(file.stat().st_size for file in traces.iterdir())
    ends = [when for _, when in steps[1:]] + [end]
    return {
        "spans": count,
        "megabytes": size >> 20,
        "messages": summary.messages,
        "seconds": round(end - start, 2),
        "spans_per_s": round(count / (end - start)),
        "spans_per_core_s": round(count / usage.cpu_s),
        "steps_s": {
            step: round(after - before, 2)
            for (step, before), after in zip(steps, ends, strict=True)
        },
        "peak_mb": usage.peak_bytes >> 20,
        "peer_s": round(peer_s, 2),
        "ratio": round((end - start) / peer_s, 2),
    }


def peer_seconds(session: SparkSession, traces: Path, count: int) -> float:
    """How long Spark takes to decode the same spans, and to count them."""
    start = time.perf_counter()
    requests = session.read.schema(PEER_SCHEMA).json(str(traces))
    spans = requests.select(F.explode("resourceSpans").alias("one"))
    spans = spans.select(F.explode("one.scopeSpans").alias("one"))
    spans = spans.select(F.explode("one.spans").alias("one"))
    found = spans.agg(F.count("one.traceId"), F.max("one.endTimeUnixNano")).collect()
    assert found[0][0] == count
    return time.perf_counter() - start


def main() -> None:
    """Measure ingests of the sizes asked for, and print the figures as JSON."""
    parser = argparse.ArgumentParser(prog="python -m bench.ingest", description=__doc__)
    parser.add_argument("millions", nargs="*", type=float, default=[1])
    parser.add_argument("--hot", action="store_true", help="half of all events at one process")
    parser.add_argument("--master", default="local[2]")
    chosen = parser.parse_args()
    with open_session("bench", master=chosen.master) as session:
        measure(session, WARM_SPANS, chosen.hot)
        for millions in chosen.millions:
            print(json.dumps(measure(session, int(millions * 1e6), chosen.hot)), flush=True)


if __name__ == "__main__":
    main()
