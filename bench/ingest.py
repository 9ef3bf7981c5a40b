"""`python -m bench ingest`: how fast spans are ingested, beside Spark's own reader of JSON.

The spans are requests of OpenTelemetry in JSON, one on each line, as collectors write them: traces
of nine spans in five services (a gateway that calls, as client spans, four others), with three
attributes each, about 440 bytes a span. With `--hot` the gateway is one process, and has half of
all events. The files are made first, and Spark has ingested a few spans before the clock starts.

The peer is `spark.read.json` of the same files with a written schema, and a count of the spans in
them: that is decoding alone, without messages, clocks or order, by code that is compiled.

Beside time and memory it says how much disk an ingest takes at most: what Spark keeps there, and
the tables. With `--compress` the files to read are written in gzip or zstd, a tenth of their size.

`--stages` measures what Python workers do, without Spark, in processor time: reading in columns, as
they do it, and span by span, as they do it where something is odd; finding messages; and reading
the same spans in each of the formats that collectors write.
"""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from threading import Event, Thread
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 what everybody calls it

from antecede_audit.shuffle import Keyed
from antecede_audit.spans.formats import otlp
from antecede_audit.spans.formats.json_documents import documents
from antecede_audit.spans.messages import messages_of_traces
from antecede_audit.spans.partitioning import SPAN_TABLE
from antecede_audit.spans.reading import Numbered, ReadOptions, read_parts, record_batches
from antecede_audit.spans.schemas import PARTS
from antecede_audit.spans.trace_files import WHOLE
from antecede_audit.spark.ingest import ingest
from antecede_audit.spark.session import open_session
from bench.audit import Usage
from bench.span_formats import WRITERS

START_NS = 1_700_000_000_000_000_000
FILE_SPANS = 450_000
TRACES_OF_A_LINE = 8
CALLS = 4
SPANS_OF_A_TRACE = 1 + 2 * CALLS
SPANS_OF_A_LINE = TRACES_OF_A_LINE * SPANS_OF_A_TRACE
SUFFIXES = {None: "", "gzip": ".gz", "zstd": ".zst"}
BLOCK_BYTES = 512
INSTANCES = 10
WARM_SPANS = 2_000
ARROW_ROWS = 10_000
"""So many rows Spark hands to a worker at a time."""

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


def lines_for(spans: int) -> int:
    """How many lines have at least so many spans."""
    return -(-spans // SPANS_OF_A_LINE)


def write_spans(folder: Path, spans: int, hot: bool, compress: str | None = None) -> None:
    """Write files with at least so many spans."""
    chance = Random(1)
    lines, per_file = lines_for(spans), FILE_SPANS // SPANS_OF_A_LINE
    for first in range(0, lines, per_file):
        path = folder / f"{first:09}.jsonl{SUFFIXES[compress]}"
        with pa.output_stream(path, compression=compress, buffer_size=1 << 20) as file:
            for number in range(first, min(lines, first + per_file)):
                file.write(line_of(number, chance, hot).encode())


def made_spans(folder: Path, spans: int, hot: bool, compress: str | None) -> None:
    """Write a new folder with at least so many spans."""
    unfinished = folder.with_suffix(".unfinished")
    unfinished.mkdir(parents=True)
    write_spans(unfinished, spans, hot, compress)
    unfinished.rename(folder)


class Disk:
    """How much lies in some folders at most, while the context is open."""

    def __init__(self, folders: Sequence[str]) -> None:
        self.peak_bytes = 0
        self._folders = folders
        self._over = Event()

    @contextmanager
    def measured(self) -> Iterator[None]:
        """Look every second."""
        before = bytes_in(self._folders)
        watcher = Thread(target=self._watch)
        watcher.start()
        try:
            yield
        finally:
            self._over.set()
            watcher.join()
            self.peak_bytes = max(self.peak_bytes, bytes_in(self._folders)) - before

    def _watch(self) -> None:
        while not self._over.wait(1):
            self.peak_bytes = max(self.peak_bytes, bytes_in(self._folders))


def bytes_in(folders: Sequence[str]) -> int:
    """What the files in these folders take on the disk; some may go while they are looked at."""
    size = 0
    for top in folders:
        for folder, _, names in os.walk(top):
            for name in names:
                try:
                    size += os.stat(f"{folder}/{name}").st_blocks * BLOCK_BYTES
                except FileNotFoundError:
                    continue
    return size


def measure(
    session: SparkSession,
    spans: int,
    *,
    hot: bool,
    spark_files: str,
    files: str | None = None,
    compress: str | None = None,
) -> dict[str, Any]:
    """One ingest, and the peer on the same files; those in a folder that is named are left there,
    and used again."""
    with tempfile.TemporaryDirectory(prefix="antecede-bench-") as scratch:
        name = f"{spans}{'-hot' if hot else ''}{SUFFIXES[compress]}"
        traces = Path(scratch if files is None else files) / name
        if not traces.exists():
            made_spans(traces, spans, hot, compress)
        count = lines_for(spans) * SPANS_OF_A_LINE
        steps: list[tuple[str, float]] = []
        usage, disk = Usage(), Disk([f"{scratch}/out", spark_files])
        with usage.measured(), disk.measured():
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
        size, tables = bytes_in([str(traces)]), bytes_in([f"{scratch}/out"])
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
        "disk_bytes_of_a_span": round(disk.peak_bytes / count),
        "table_bytes_of_a_span": round(tables / count),
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


def stages(spans: int) -> dict[str, Any]:
    """Microseconds of processor a span, in columns and span by span."""
    with tempfile.TemporaryDirectory(prefix="antecede-bench-") as scratch:
        write_spans(Path(scratch), spans, hot=False)
        count = lines_for(spans) * SPANS_OF_A_LINE
        files = sorted(Path(scratch).iterdir())
        parts = [pa.record_batch([[0], [str(file)], [0], [WHOLE]], PARTS.names) for file in files]
        read, reading = timed(lambda: [*read_parts(parts, ReadOptions(), 1)], count)
        _, by_rows = timed(lambda: [*record_batches(in_rows(files))], count)
    found = spans_among(read)
    keys = sorted({one for keyed in found for one in keyed.rows["process"].to_pylist()})
    by_format = {name: format_us(writer, spans) for name, writer in WRITERS.items()}
    _, calling = timed(lambda: [*messages_of_traces(found, keys, 0.0)], count)
    return {
        "spans": count,
        "reading_us": {"columns": reading, "rows": by_rows},
        "messages_us": calling,
        "reading_of_formats_us": by_format,
    }


def format_us(writer: Callable[[list[str]], bytes], spans: int) -> float:
    """The same for reading spans in one of the formats."""
    chance = Random(1)
    lines = [line_of(number, chance, False) for number in range(lines_for(spans))]
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        file.write(writer(lines))
        file.flush()
        part = pa.record_batch([[0], [file.name], [0], [WHOLE]], PARTS.names)
        read, taken = timed(
            lambda: [*read_parts([part], ReadOptions(), 1)], len(lines) * SPANS_OF_A_LINE
        )
    assert sum(keyed.rows.num_rows for keyed in spans_among(read)) == len(lines) * SPANS_OF_A_LINE
    return taken


def spans_among(read: list[Keyed]) -> list[Keyed]:
    """The spans in what was read."""
    return [keyed for keyed in read if keyed.table == SPAN_TABLE]


def timed(work: Callable[[], list[Any]], count: int) -> tuple[list[Any], float]:
    """What comes of some work, and how long it takes for each of so many spans."""
    before = time.process_time()
    found = work()
    return found, round((time.process_time() - before) / count * 1e6, 2)


def in_rows(files: list[Path]) -> Iterator[Numbered]:
    """The spans of files, one by one."""
    for file in files:
        with file.open("rb") as stream:
            for where, document in documents(stream):
                for record in otlp.spans_in(document, where):
                    yield 0, 0, str(file), record


def main() -> None:
    """Measure ingests of the sizes asked for, and print the figures as JSON."""
    parser = argparse.ArgumentParser(prog="python -m bench ingest", description=__doc__)
    parser.add_argument("millions", nargs="*", type=float, default=[1])
    parser.add_argument("--hot", action="store_true", help="half of all events at one process")
    parser.add_argument("--stages", action="store_true", help="without Spark, stage by stage")
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--files", help="a folder that keeps the files, for the next time")
    parser.add_argument("--compress", choices=("gzip", "zstd"), help="the files to read")
    chosen = parser.parse_args()
    if chosen.stages:
        for millions in chosen.millions:
            print(json.dumps(stages(int(millions * 1e6))), flush=True)
        return
    with (
        tempfile.TemporaryDirectory(prefix="antecede-bench-") as spark_files,
        open_session(
            "bench", master=chosen.master, settings={"spark.local.dir": spark_files}
        ) as session,
    ):
        how: dict[str, Any] = {"hot": chosen.hot, "spark_files": spark_files}
        measure(session, WARM_SPANS, **how)
        how |= {"files": chosen.files, "compress": chosen.compress}
        for millions in chosen.millions:
            print(json.dumps(measure(session, int(millions * 1e6), **how)), flush=True)


if __name__ == "__main__":
    main()
