"""The stages between what was read and what is written, on small tables."""

import random
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 what everybody calls it
from pyspark.sql.pandas.types import from_arrow_schema

from antecede.eventlog.schema import Event
from antecede_audit.columns.arrow_rows import Batch, batch_of_rows
from antecede_audit.columns.clock_offsets import Gap
from antecede_audit.columns.hashing import hash_texts
from antecede_audit.eventlog.reader import log_of
from antecede_audit.judging.oracle import find_self_causes, find_violations
from antecede_audit.shuffle import Keyed, LocalShuffle, Shuffle, chunks
from antecede_audit.spans.clocks import (
    MEASURE_TABLE,
    MEASURES,
    MESSAGE_TABLE,
    gap_rows,
    instants,
    repair_clocks,
)
from antecede_audit.spans.messages import deduplicated, link_messages
from antecede_audit.spans.order import (
    PLACED,
    PLACED_TABLE,
    SENT,
    SENT_TABLE,
    RangePartitioning,
    range_partitioning,
    sort_by_sender,
)
from antecede_audit.spans.partitioning import ALL_OF_A_SPAN, CALL_SPANS, effects_in
from antecede_audit.spans.schemas import EVENTS
from antecede_audit.spans.steps import number_and_order
from antecede_audit.spark.outputs import SparkOutputTables
from antecede_audit.spark.shuffle import SparkShuffle, pack_rows
from tests.antecede_audit.spans.call_oracle import Call, messages_of
from tests.antecede_audit.spans.samples import START_NS, span

Row = tuple[object, ...]

KEYS = ["a", "b", "c"]
"""The processes 0, 1 and 2."""

WORLDS = 60
WORLD_PROCESSES = 5


def copy(sender: str, receiver: str, sent: int, received: int | None, **more: object) -> Call:
    """A copy of a message; what is not said is not known."""
    fields = dict.fromkeys(Call._fields) | {
        "message": f"{sender}{sent}",
        "sender": sender,
        "receiver": receiver,
        "sent_ns": sent,
        "received_ns": received,
        "one_way": True,
        "payload_bytes": 0,
    }
    return Call(**(fields | more))  # type: ignore[arg-type]  # of many kinds


def copies(*calls: Call) -> Batch:
    """Rows of MESSAGES."""
    return messages_of(calls, pa.array(KEYS))


def on_spark(spark: SparkSession, *rows: Keyed) -> SparkShuffle:
    """Rows that Spark has."""
    packed = [batch for keyed in rows for batch in pack_rows(keyed)]
    tables = {keyed.table.name: keyed.table for keyed in rows}
    return SparkShuffle(spark.createDataFrame(pa.Table.from_batches(packed)), [*tables.values()])


@pytest.fixture(params=["on Spark", "here"])
def moving(request: pytest.FixtureRequest) -> type[Shuffle]:
    """Once each way."""
    return SparkShuffle if request.param == "on Spark" else LocalShuffle


def test_gaps_are_measured_for_every_ordered_pair(
    request: pytest.FixtureRequest, moving: type[Shuffle]
) -> None:
    """Medians where they contradict each other: of an even number the lower one."""
    table = copies(
        copy("a", "b", 0, 5),
        copy("a", "b", 10, 8),
        copy("a", "b", 20, 29),
        copy("b", "a", 0, -7),
        copy("b", "a", 1, -2),
        copy("b", "a", 3, None),
        copy("a", "a", 0, -4),
    )
    rows = [
        *(Keyed(MEASURE_TABLE, gap_rows(some)) for some in (table[:2], table[2:])),
        Keyed(MESSAGE_TABLE, table),
    ]
    if moving is LocalShuffle:
        gaps, clocks = repair_clocks(LocalShuffle([rows[:1], rows[1:]]), KEYS)
    else:
        spark = request.getfixturevalue("spark")
        gaps, clocks = repair_clocks(on_spark(spark, *rows), KEYS)

    assert sorted(gaps, key=lambda gap: gap.sender) == [
        Gap(sender="a", receiver="b", smallest_ns=-2, median_ns=5, copies=3, negative=1),
        Gap(sender="b", receiver="a", smallest_ns=-7, median_ns=-7, copies=2, negative=2),
    ]
    assert sorted(clocks.contradictory) == [("a", "b"), ("b", "a")]


def test_instants_are_moved_chosen_within_their_ranges_and_clamped() -> None:
    """b's clock is put 100 forward."""
    rows = {
        "exact": copy("a", "b", 10, 20),
        "back": copy("b", "a", 10, 120),
        "before": copy("b", "a", 10, 20),
        "untimed": copy("a", "b", 10, None),
        "send as late as it was received": copy("a", "b", 10, -60, sent_latest_ns=90),
        "send as late as its span ended": copy("a", "b", 10, 20, sent_latest_ns=90),
        "send after all": copy("a", "b", 10, -95, sent_latest_ns=90),
        "reply as early as it was sent": copy("b", "a", 10, 190, received_earliest_ns=0),
        "reply as early as its span began": copy("b", "a", 10, 190, received_earliest_ns=150),
        "reply after all": copy("b", "a", 10, 50, received_earliest_ns=0),
    }
    found = instants(copies(*rows.values()), np.array([0, 100]))
    names = ("submitted_ns", "delivered_ns", "backwards", "clamped")
    told = zip(*(found[name].to_pylist() for name in names), strict=True)

    assert dict(zip(rows, told, strict=True)) == {
        "exact": (10, 120, False, False),
        "back": (110, 120, False, False),
        "before": (110, 110, False, True),
        "untimed": (10, 10, False, False),
        "send as late as it was received": (40, 40, True, False),
        "send as late as its span ended": (90, 120, False, False),
        "send after all": (10, 10, True, True),
        "reply as early as it was sent": (110, 110, False, False),
        "reply as early as its span began": (110, 150, False, False),
        "reply after all": (110, 110, False, True),
    }


def test_a_one_way_message_counts_once_for_each_receiver() -> None:
    table = copies(
        copy("a", "b", 0, 7, message="m", received_span="handle"),
        copy("a", "b", 0, 5, message="m", received_span="poll"),
        copy("a", "c", 0, 9, message="m"),
        copy("a", "b", 0, 9, message="n"),
    )
    found = deduplicated(table).to_pylist()

    assert sorted((row["receiver"], row["received_ns"]) for row in found) == [
        (1, 5),
        (1, 9),
        (2, 9),
    ]


def test_links_between_traces_are_one_way_messages() -> None:
    spans = [
        span("1", kind="producer", trace="x", start=1, end=4),
        span("2", process="b", kind="consumer", trace="y", start=9, links=["x/1", "gone/1"]),
        span("3", process="c", trace="z", start=8, links=["x/4"]),
        span("4", trace="x", start=2, end=6),
        span("5", trace="w", links=["x/4"]),
    ]
    table = batch_of_rows([(*one, 0, place) for place, one in enumerate(spans)], ALL_OF_A_SPAN)
    moved = table.select(CALL_SPANS.names)
    [messages] = link_messages(moved, effects_in(table), pa.array(KEYS))
    found = {row["message"]: row for row in messages.to_pylist()}
    names = hash_texts(pa.array(["x/1*", "x/4*z/3"])).tolist()

    assert set(found) == set(names), "the last stays in its process"
    published, followed = (found[name] for name in names)
    assert (published["sender"], published["receiver"]) == (0, 1)
    assert (published["sent_ns"], published["sent_latest_ns"]) == (START_NS + 1, None)
    assert (published["sent_in"], published["received_in"]) == ("x", "y")
    assert (followed["sent_ns"], followed["sent_latest_ns"]) == (START_NS + 2, START_NS + 6)


def placed(message: int, sender: int, receiver: int, submitted: int, delivered: int) -> Row:
    """A row of PLACED: a copy whose instants are known."""
    known = {
        "message": message,
        "sender": sender,
        "receiver": receiver,
        "submitted_ns": submitted,
        "delivered_ns": delivered,
        "backwards": False,
        "clamped": False,
        "payload_bytes": 3,
    }
    return tuple(known.get(name) for name in PLACED.names)


def cut(rows: list[Row], tasks: int) -> tuple[Keyed, int, RangePartitioning]:
    """The rows keyed for so many tasks, how many of these there are, and cuts for events."""
    table = batch_of_rows(rows, PLACED)
    sender, receiver, submitted, delivered = (
        table[name].to_numpy() for name in ("sender", "receiver", "submitted_ns", "delivered_ns")
    )
    by_sender = range_partitioning(sender, submitted, tasks)
    times = np.append(submitted, delivered)
    by_process = range_partitioning(np.append(sender, receiver), times, tasks)
    copies = Keyed(PLACED_TABLE, table, by_sender.task(sender, submitted))
    return copies, by_sender.tasks, by_process


def random_world(number: int, flights: int) -> list[Row]:
    """Few processes that write to each other at few times; some messages take some time."""
    chance = random.Random(number)
    first = number * WORLD_PROCESSES
    rows: dict[tuple[int, int, int], Row] = {}
    for _ in range(chance.randint(1, 14)):
        sender = first + chance.randrange(WORLD_PROCESSES)
        submitted = chance.randrange(4)
        for _ in range(chance.randint(1, 3)):
            receiver = first + chance.randrange(WORLD_PROCESSES)
            delivered = submitted + chance.randint(0, flights)
            row = placed(submitted, sender, receiver, submitted, delivered)
            rows[sender, submitted, receiver] = row
    return list(rows.values())


def events_of(rows: list[Row]) -> list[Event]:
    """The event log that the stages make of copies with known instants, in three tasks."""
    copies, tasks, by_process = cut(rows, 3)
    with ExitStack() as stack:
        found = number_and_order(LocalShuffle([[copies]]), tasks, by_process, stack)
    log = [Event(**row) for row in found.ends().collect_last(found.stage(), EVENTS).to_pylist()]
    submitted = {(event.sender, event.sequence) for event in log}
    placing = found.placing
    assert (placing.messages, sum(placing.copies.values())) == (len(submitted), len(rows))
    return log


def by_world(events: list[Event]) -> list[list[Event]]:
    worlds: list[list[Event]] = [[] for _ in range(2 * WORLDS)]
    for event in sorted(events, key=lambda event: (event.process, event.position)):
        worlds[event.process // WORLD_PROCESSES].append(event)
    return worlds


def test_ties_never_make_a_message_its_own_cause_nor_look_like_overtaking() -> None:
    """Against the oracle: worlds full of equal times, half of them without flight times."""
    rows = [row for number in range(WORLDS) for row in random_world(number, 0)]
    rows += [row for number in range(WORLDS, 2 * WORLDS) for row in random_world(number, 2)]
    worlds = by_world(events_of(rows))

    assert sum(len(world) for world in worlds) == 2 * len(rows)
    for world in worlds:
        assert len(log_of(world)) == len(world), "positions and times are in order"
        assert find_self_causes(world) == []
    assert [find_violations(world) for world in worlds[:WORLDS]] == [[]] * WORLDS


def test_deliveries_come_before_submissions_at_one_time() -> None:
    events = events_of(
        [
            placed(1, 0, 1, 5, 5),
            placed(2, 1, 2, 5, 5),
            placed(2, 1, 3, 5, 6),
            placed(3, 2, 2, 5, 5),
        ],
    )
    told = [(event.process, event.position, event.kind, event.sender) for event in events]

    assert sorted(told) == [
        (0, 0, "submitted", 0),
        (1, 0, "delivered", 0),
        (1, 1, "submitted", 1),
        (1, 2, "submitted", 1),
        (2, 0, "delivered", 1),
        (2, 1, "submitted", 2),
        (2, 2, "delivered", 2),
        (3, 0, "delivered", 1),
    ]


def test_messages_are_numbered_by_sender_and_multicasts_once() -> None:
    """A multicast takes as many numbers as it has copies, and goes by the first of them."""
    events = events_of(
        [
            placed(12, 0, 1, 7, 8),
            placed(11, 0, 1, 7, 8),
            placed(11, 0, 2, 7, 8),
            placed(13, 0, 1, 2, 3),
            placed(11, 1, 2, 9, 9),
        ],
    )
    sent = [event for event in events if event.kind == "submitted"]

    assert sorted((one.sender, one.time_ns, one.target, one.sequence) for one in sent) == [
        (0, 2, 1, 1),
        (0, 7, 1, 2),
        (0, 7, 1, 4),
        (0, 7, 2, 2),
        (1, 9, 2, 1),
    ]


def test_no_task_has_more_than_its_share_of_a_hot_process(spark: SparkSession) -> None:
    """Half of all copies are sent by one process: windows by process had made that one task."""
    copies = 6_000
    rows = [placed(n, 0 if n % 2 else n % 7, 1 + n % 5, n // 3, n // 3 + 9) for n in range(copies)]
    keyed, tasks, by_process = cut(rows, 8)
    placed_copies = on_spark(spark, keyed)
    sending = partial(sort_by_sender, by_process=by_process)
    sent = placed_copies.exchange([PLACED_TABLE], tasks).map(sending).select(SENT_TABLE)
    with ExitStack() as stack:
        events = number_and_order(placed_copies, tasks, by_process, stack)
        ends = events.ends()
        assert isinstance(ends, SparkShuffle)
        copies_sent = sent.last(chunks, SENT)
        log = ends.last(events.stage(), EVENTS)
        for table, total in ((copies_sent, copies), (log, 2 * copies)):
            spread = table.groupBy(F.spark_partition_id()).count().collect()
            sizes = [row["count"] for row in spread]
            assert sum(sizes) == total
            assert len(sizes) == 8
            assert max(sizes) < total // 4
    plan = copies_sent._jdf.queryExecution().executedPlan().toString()
    assert plan.count("Exchange") == 1, "the copies of a message are together already"


def test_tasks_are_found_for_any_process_and_time() -> None:
    """The first and the last times there can be, and many more cuts than rows in some stretch."""
    chance = random.Random(1)
    moments = [-(1 << 62), 1 << 62, *(chance.randrange(10**6) for _ in range(400))]
    rows = sorted((chance.choice([0, 1, 7]), moment) for moment in moments)
    process, time_ns = (np.array(column) for column in zip(*rows, strict=True))
    for tasks in (1, 2, 9, 64):
        found = range_partitioning(process, time_ns, tasks)
        task = found.task(process, time_ns)
        assert (np.diff(found.key(process, time_ns)) >= 0).all()
        assert (np.diff(task) >= 0).all()
        assert set(task.tolist()) == set(range(found.tasks))


def test_a_table_has_the_files_of_finished_tasks_alone(spark: SparkSession, tmp_path: Path) -> None:
    """A task that is done again leaves what the first attempt had written."""
    folder = tmp_path / "gaps" / "run_id=r"

    def stage(keyed: Iterable[Keyed]) -> Iterator[Batch]:
        (folder / ".part-00000.zstd.parquet.7").touch()
        return chunks(keyed)

    rows = batch_of_rows([(0, 1, -2, 3, 1), (1, 0, 7, 1, 4)], MEASURES)
    measures = on_spark(spark, Keyed(MEASURE_TABLE, rows))
    columns = from_arrow_schema(pa.schema([*MEASURES][:4]))
    outputs = SparkOutputTables(spark, str(tmp_path), "r")
    sums = outputs.write_stage(outputs.of_run("gaps"), measures, stage, columns, ["negative"])

    assert sums == {"negative": 5}
    [file] = folder.iterdir()
    assert pq.read_table(file).to_pylist() == rows.select(columns.names).to_pylist()
