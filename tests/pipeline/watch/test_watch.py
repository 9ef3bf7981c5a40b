"""A log judged while it grows: the findings of the whole log, and each of them once."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 the name that all of Spark's documents use

from antecede.audit import check_log
from antecede.audit.progress import Progress
from antecede.pipeline.watch.job import watch
from antecede.pipeline.watch.state import Settings, read_progress
from antecede.trace import Event
from antecede.trace.parquet import event_schema
from tests.audit.random_traffic import Log

NS_PER_S = 10**9


def traffic(seed: int) -> list[Event]:
    """Four processes that talk to each other; every message takes anything up to two seconds."""
    random = Random(seed)
    log = Log(4)
    due: list[tuple[int, int, tuple[int, int]]] = []
    sent = [0] * 4
    for step in range(600):
        now_ns = step * NS_PER_S // 10
        for arrival in sorted(one for one in due if one[0] <= now_ns):
            due.remove(arrival)
            when_ns, target, message = arrival
            if random.random() > 0.02:
                log.add(target, "delivered", message, target, when_ns)
            if random.random() < 0.02:
                due.append((when_ns + 40 * NS_PER_S, target, message))
        sender = random.randrange(4)
        sent[sender] += 1
        for target in random.sample([n for n in range(4) if n != sender], random.randint(1, 2)):
            log.add(sender, "submitted", (sender, sent[sender]), target, now_ns)
            delay_ns = random.randint(1, 20) * NS_PER_S // 10 + step
            due.append((now_ns + delay_ns, target, (sender, sent[sender])))
    return log.events


def cut(events: Sequence[Event], pieces: int) -> list[list[Event]]:
    """Each process's rows in a few pieces, cut at other times than those of the others."""
    ends = max(event.time_ns for event in events) + 1
    found: list[list[Event]] = [[] for _ in range(pieces)]
    for event in events:
        shifted = event.time_ns + event.process * 2 * NS_PER_S
        found[min(pieces - 1, shifted * pieces // ends)].append(event)
    return found


def violations_of(spark: SparkSession, out: Path) -> dict[str, set[tuple[int, ...]]]:
    """By run: of each message that came too early, the latest finding."""
    columns = ("process", "early_sender", "early_sequence", "late_sender", "late_sequence")
    table = spark.read.parquet(str(out / "violations"))
    latest: dict[tuple[object, ...], tuple[int, tuple[int, ...]]] = {}
    for row in table.collect():
        key = tuple(row[name] for name in columns)
        found = (row["late_delivered_ns"], key)
        early = (row["run_id"], *key[:3])
        latest[early] = max(latest.get(early, found), found)
    runs: dict[str, set[tuple[int, ...]]] = {}
    for (run, *_), (_, key) in latest.items():
        runs.setdefault(str(run), set()).add(key)
    return runs


def copies(table: DataFrame, place: str) -> list[tuple[str, int, int, int]]:
    rows = table.select("run_id", place, "sender", "sequence").collect()
    return sorted((row[0], row[1], row[2], row[3]) for row in rows)


def judge_piece(spark: SparkSession, folder: Path, *, finished: bool = False) -> list[Progress]:
    settings = Settings(
        order="process",
        patience_ns=10 * NS_PER_S,
        lost_after_ns=15 * NS_PER_S,
        horizon_ns=600 * NS_PER_S,
        finished=finished,
    )
    out = folder / "out"
    query = watch(spark, str(folder / "log"), str(out), settings, once=True)
    query.awaitTermination()
    return read_progress(spark, str(out))


def test_piece_by_piece_is_as_at_once(spark: SparkSession, tmp_path: Path) -> None:
    """Two runs, of different lengths; the second piece is judged twice, the first time in vain."""
    runs = {"a/b": traffic(1), "c+d": traffic(3)[:700]}
    whole = {run: check_log(events, witnesses=False) for run, events in runs.items()}
    assert all(verdict.violations for verdict in whole.values())
    assert whole["a/b"].duplicates
    assert whole["a/b"].losses
    out = tmp_path / "out"
    for number in range(2):
        for run, folder in (("a/b", "run_id=a%2Fb"), ("c+d", "run_id=c+d")):
            piece = cut(runs[run], 2)[number]
            rows = pa.Table.from_pylist([asdict(event) for event in piece], event_schema())
            (tmp_path / "log" / folder).mkdir(parents=True, exist_ok=True)
            pq.write_table(rows, tmp_path / "log" / folder / f"{number}.parquet")
        if number == 1:  # It fails where it leaves its state; after that it goes on.
            block = out / "state" / "1"
            block.write_text("in the way")
            with pytest.raises(StreamingQueryException):
                judge_piece(spark, tmp_path)
            block.unlink()
        progress = judge_piece(spark, tmp_path, finished=number == 1)

    assert [one.batch for one in progress] == [0, 1]
    assert sum(one.events for one in progress) == sum(map(len, runs.values()))
    assert progress[0].violations > 0
    assert violations_of(spark, out) == {
        run: {(one.process, *one.early, *one.late) for one in verdict.violations}
        for run, verdict in whole.items()
    }
    losses = spark.read.parquet(str(out / "losses"))
    back = spark.read.parquet(str(out / "retracted")) if (out / "retracted").exists() else None
    lost = copies(losses, "target")
    taken_back = [] if back is None else copies(back, "target")
    assert sorted(set(lost) - set(taken_back)) == sorted(
        (run, one.target, *one.message) for run in runs for one in whole[run].losses
    )
    assert len(lost) == len(set(lost))
    twice = spark.read.parquet(str(out / "duplicates"))
    assert sorted(set(copies(twice, "process"))) == sorted(
        (run, one.process, *one.message) for run in runs for one in whole[run].duplicates
    )
    assert not (out / "inventions").exists()
    assert twice.where(F.col("deliveries") > 1).count() == twice.count()
