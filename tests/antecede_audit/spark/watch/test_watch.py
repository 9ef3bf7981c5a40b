"""A log judged while it grows: the findings of the whole log, and each of them once."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 the name that all of Spark's documents use

from antecede.eventlog import Event
from antecede.eventlog.parquet import event_schema
from antecede_audit.judging import check_log
from antecede_audit.spark.schemas import EVENTS, with_run_id
from antecede_audit.spark.session import SPARK_ERRORS
from antecede_audit.spark.watch.history import read_progress, write_progress
from antecede_audit.spark.watch.progress import BatchProgress, Channel
from antecede_audit.spark.watch.state import WatchSettings, read_state, write_batch
from antecede_audit.spark.watch.watch import REMEMBERED, EventWatch, finish, watch
from tests.antecede_audit.judging.random_traffic import Log

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


def early_in(spark: SparkSession, out: Path, before: int) -> list[tuple[int, int]]:
    """The channel of each message that batches before this one found too early."""
    rows = spark.read.parquet(str(out / "violations")).where(F.col("batch") < before)
    distinct = rows.select("run_id", "early_sender", "process", "early_sequence").distinct()
    return [(row["early_sender"], row["process"]) for row in distinct.collect()]


def copies(table: DataFrame, place: str) -> list[tuple[str, int, int, int]]:
    rows = table.select("run_id", place, "sender", "sequence").collect()
    return sorted((row[0], row[1], row[2], row[3]) for row in rows)


SETTINGS = WatchSettings(
    order="process",
    patience_ns=10 * NS_PER_S,
    lost_after_ns=15 * NS_PER_S,
    horizon_ns=600 * NS_PER_S,
)

Heard = list[tuple[list[BatchProgress], list[Channel]]]


def judge_piece(spark: SparkSession, folder: Path, heard: Heard) -> None:
    def tell(progress: list[BatchProgress], channels: list[Channel]) -> None:
        heard.append((list(progress), channels))

    log, out = str(folder / "log"), str(folder / "out")
    watch(spark, log, out, SETTINGS, once=True, tell=tell).awaitTermination()


def test_piece_by_piece_is_as_at_once(spark: SparkSession, tmp_path: Path) -> None:
    """Two runs, of different lengths. A watch fails at the second piece; when it is started again,
    the third is there as well, and nothing more will come.
    """
    heard: Heard = []
    runs = {"a/b": traffic(1), "c+d": traffic(3)[:700]}
    whole = {run: check_log(events, witnesses=False) for run, events in runs.items()}
    assert all(verdict.violations for verdict in whole.values())
    assert whole["a/b"].duplicates
    assert whole["a/b"].losses
    out = tmp_path / "out"
    for number in range(3):
        for run, folder in (("a/b", "run_id=a%2Fb"), ("c+d", "run_id=c+d")):
            piece = cut(runs[run], 3)[number]
            rows = pa.Table.from_pylist([asdict(event) for event in piece], event_schema())
            (tmp_path / "log" / folder).mkdir(parents=True, exist_ok=True)
            pq.write_table(rows, tmp_path / "log" / folder / f"{number}.parquet")
        if number == 1:  # It fails where it leaves its state; after that it goes on.
            block = out / "state" / "1"
            block.write_text("in the way")
            with pytest.raises(StreamingQueryException):
                judge_piece(spark, tmp_path, heard)
            block.unlink()
        else:
            judge_piece(spark, tmp_path, heard)
    finish(spark, str(out), SETTINGS)
    progress = read_progress(spark, str(out))

    assert [one.batch for one in progress] == [0, 1, 2, 3]
    assert heard[-1][0] == progress[:3]
    worst = max(Counter(early_in(spark, out, before=3)).items(), key=lambda one: (one[1], one[0]))
    assert heard[-1][1][0].violations == worst[1]
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


def test_a_run_that_is_idle_keeps_nothing_of_the_others(
    spark: SparkSession, tmp_path: Path
) -> None:
    settings = replace(SETTINGS, horizon_ns=10 * NS_PER_S)
    watching = EventWatch(str(tmp_path), settings)
    kept = []
    for number in range(3):
        rows = [
            row
            for run in (("busy", "idle") if number == 0 else ("busy",))
            for sequence in range(1, 21)
            for row in exchange_rows(run, number * 20 + sequence, number * 1_000 * NS_PER_S)
        ]
        watching.judge(spark.createDataFrame(rows, with_run_id(EVENTS)), number)
        state = read_state(spark, f"{tmp_path}/state", number + 1, REMEMBERED)
        kept.append(sum(table.count() for table in state.tables.values()))

    assert kept[0] > 0
    assert kept[2] <= kept[0]


def exchange_rows(run: str, sequence: int, time_ns: int) -> list[dict[str, object]]:
    """A message that one process sends to another, which has it at once."""
    base = {**dict.fromkeys(EVENTS.names), "payload_bytes": 0, "metadata_bytes": 0}
    message = {"run_id": run, "sender": 0, "sequence": sequence, "target": 1, "time_ns": time_ns}
    sent = {**base, **message, "process": 0, "position": sequence, "kind": "submitted"}
    had = {**base, **message, "process": 1, "position": sequence, "kind": "delivered"}
    return [sent, had]


def test_what_a_batch_found_is_replaced_when_it_is_judged_again(
    spark: SparkSession, tmp_path: Path
) -> None:
    place = tmp_path / "violations" / "batch=1"
    rows = spark.range(3)
    for count in (3, 3):
        write_batch(rows, str(place), count)
        assert spark.read.parquet(str(place)).count() == 3
    write_batch(rows.limit(0), str(place), 0)
    assert not place.exists()


def test_a_batch_leaves_nothing_in_the_cache(spark: SparkSession, tmp_path: Path) -> None:
    """A watch goes on for days; also a batch that fails comes again."""
    rows = exchange_rows("run", 1, NS_PER_S)
    batch = spark.createDataFrame(rows, with_run_id(EVENTS))
    out = tmp_path / "out"
    before = cached(spark)
    EventWatch(str(out), SETTINGS).judge(batch, 0)
    assert cached(spark) == before
    (out / "state" / "1").write_text("in the way")
    with pytest.raises(SPARK_ERRORS):
        EventWatch(str(out), SETTINGS).judge(batch, 1)
    assert cached(spark) == before


def cached(spark: SparkSession) -> int:
    """How many tables Spark keeps."""
    java = spark.sparkContext._jsc
    assert java is not None
    return int(java.getPersistentRDDs().size())


def test_the_rows_of_many_batches_are_put_together(spark: SparkSession, tmp_path: Path) -> None:
    """So what a watch reads when it starts does not grow with the number of its batches."""
    rows = [replace(NOTHING, batch=number, events=number) for number in range(8)]
    for row in (*rows, rows[-1]):
        write_progress(spark, str(tmp_path), row, together=3)

    assert sorted(one.name for one in (tmp_path / "progress").iterdir()) == ["6", "7", "before-6"]
    assert read_progress(spark, str(tmp_path)) == rows


NOTHING = BatchProgress(
    batch=0,
    mark_ns=0,
    clock_ns=0,
    events=0,
    open_copies=0,
    violations=0,
    duplicates=0,
    losses=0,
    retracted=0,
    inventions=0,
)
