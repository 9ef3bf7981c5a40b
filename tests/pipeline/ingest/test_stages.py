"""The stages that are Spark's own work, on small tables."""

import random
from contextlib import ExitStack

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 what everybody calls it

from antecede.audit.oracle import find_self_causes, find_violations
from antecede.pipeline.ingest.clocks import compacted, gaps, instants, with_medians
from antecede.pipeline.ingest.constraints import Gap
from antecede.pipeline.ingest.job import in_order, numbers_of, stretches_of
from antecede.pipeline.ingest.layouts import COPIES
from antecede.pipeline.ingest.order import sequenced, stretches
from antecede.pipeline.ingest.spans import first_receptions, linked_calls
from antecede.pipeline.ingest.ties import ranked, ranks, unranked
from antecede.pipeline.schemas import EVENTS
from antecede.pipeline.spark_settings import configured
from antecede.trace.events import Event
from antecede.trace.restore import log_of
from tests.pipeline.ingest.samples import START_NS, span

Row = tuple[object, ...]

LABEL = COPIES.names.index("label")

WORLDS = 60
WORLD_PROCESSES = 5


def copy(sender: str, receiver: str, sent: int, received: int | None, **more: object) -> Row:
    """A row of COPIES."""
    fields = dict.fromkeys(COPIES.names) | {
        "message": f"{sender}{sent}",
        "sender": sender,
        "receiver": receiver,
        "sent_ns": sent,
        "received_ns": received,
        "one_way": True,
        "payload_bytes": 0,
    }
    return tuple((fields | more).values())


def copies(spark: SparkSession, *rows: object) -> DataFrame:
    """Copies between the processes a, b and c, whose numbers are 0, 1 and 2."""
    return compacted(spark.createDataFrame(rows, COPIES), numbers_of(spark, "abc"))


def test_gaps_are_measured_for_every_ordered_pair(spark: SparkSession) -> None:
    table = copies(
        spark,
        copy("a", "b", 0, 5),
        copy("a", "b", 10, 8),
        copy("a", "b", 20, 29),
        copy("b", "a", 0, 7),
        copy("b", "a", 3, None),
        copy("a", "a", 0, -4),
    )
    measured = with_medians(gaps(table, "abc"), table, "abc")
    found = sorted(measured, key=lambda gap: gap.sender)

    assert found == [
        Gap(sender="a", receiver="b", smallest_ns=-2, median_ns=5, copies=3, negative=1),
        Gap(sender="b", receiver="a", smallest_ns=7, median_ns=7, copies=1, negative=0),
    ]


def test_instants_are_moved_chosen_within_their_ranges_and_clamped(spark: SparkSession) -> None:
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
    labelled = [(*row[:LABEL], name, *row[LABEL + 1 :]) for name, row in rows.items()]
    found = {
        row["label"]: (row["submitted_ns"], row["delivered_ns"], row["backwards"], row["clamped"])
        for row in instants(copies(spark, *labelled), {0: 0, 1: 100}).collect()
    }

    assert found == {
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


def test_a_one_way_message_counts_once_for_each_receiver(spark: SparkSession) -> None:
    table = copies(
        spark,
        copy("a", "b", 0, 7, message="m", received_span="handle"),
        copy("a", "b", 0, 5, message="m", received_span="poll"),
        copy("a", "c", 0, 9, message="m"),
        copy("a", "b", 0, 9, message="n"),
    )
    found = first_receptions(table).collect()

    assert sorted((row["receiver"], row["received_ns"]) for row in found) == [
        (1, 5),
        (1, 9),
        (2, 9),
    ]


def test_links_between_traces_are_one_way_messages(spark: SparkSession) -> None:
    spans = [
        span("1", kind="producer", trace="x", start=1, end=4),
        span("2", process="b", kind="consumer", trace="y", start=9, links=["x/1", "gone/1"]),
        span("3", process="c", trace="z", start=8, links=["x/4"]),
        span("4", trace="x", start=2, end=6),
        span("5", trace="w", links=["x/4"]),
    ]
    records = spark.createDataFrame([(one,) for one in spans], "span " + SPAN_TYPE)
    found = {row["message"]: row for row in linked_calls(records).collect()}

    assert set(found) == {"x/1*", "x/4*z/3"}, "the last stays in its process"
    published, followed = found["x/1*"], found["x/4*z/3"]
    assert (published["sender"], published["receiver"]) == ("a", "b")
    assert (published["sent_ns"], published["sent_latest_ns"]) == (START_NS + 1, None)
    assert (published["sent_in"], published["received_in"]) == ("x", "y")
    assert (followed["sent_ns"], followed["sent_latest_ns"]) == (START_NS + 2, START_NS + 6)


SPAN_TYPE = (
    "struct<trace: string, span: string, parent: string, follows: boolean, kind: string, "
    "process: string, start_ns: bigint, end_ns: bigint, links: array<string>, "
    "operation: string, attributes: map<string, string>>"
)

PLACED = (
    "message bigint, sender int, receiver int, submitted_ns bigint, delivered_ns bigint, "
    "backwards boolean, clamped boolean, sent_in string, sent_span string, received_in string, "
    "received_span string, sent_by bigint, received_by bigint, answers bigint, label string, "
    "causes array<string>, payload_bytes int"
)


def placed(message: int, sender: int, receiver: int, submitted: int, delivered: int) -> Row:
    """A copy whose instants are known."""
    context = [None] * 9
    return (message, sender, receiver, submitted, delivered, False, False, *context, 3)


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


def events_of(spark: SparkSession, rows: list[Row]) -> list[Event]:
    """The event log that the stages make of copies with known instants."""
    table = spark.createDataFrame(rows, PLACED)
    with ExitStack() as stack:
        found = in_order(ranked(table, ranks(table)), len(rows), stack)
        log = [Event(**row.asDict()) for row in found.log.select(*EVENTS.names).collect()]
        placing = found.placing
    submitted = {(event.sender, event.sequence) for event in log}
    assert (placing.messages, sum(placing.copies.values())) == (len(submitted), len(rows))
    return log


def by_world(events: list[Event]) -> list[list[Event]]:
    worlds: list[list[Event]] = [[] for _ in range(2 * WORLDS)]
    for event in sorted(events, key=lambda event: (event.process, event.position)):
        worlds[event.process // WORLD_PROCESSES].append(event)
    return worlds


def test_ties_never_make_a_message_its_own_cause_nor_look_like_overtaking(
    spark: SparkSession,
) -> None:
    """Against the oracle: worlds full of equal times, half of them without flight times."""
    rows = [row for number in range(WORLDS) for row in random_world(number, 0)]
    rows += [row for number in range(WORLDS, 2 * WORLDS) for row in random_world(number, 2)]
    worlds = by_world(events_of(spark, rows))

    assert sum(len(world) for world in worlds) == 2 * len(rows)
    for world in worlds:
        assert len(log_of(world)) == len(world), "positions and times are in order"
        assert find_self_causes(world) == []
    assert [find_violations(world) for world in worlds[:WORLDS]] == [[]] * WORLDS


def test_deliveries_come_before_submissions_at_one_time(spark: SparkSession) -> None:
    events = events_of(
        spark,
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


def test_messages_are_numbered_by_sender_and_multicasts_once(spark: SparkSession) -> None:
    """A multicast takes as many numbers as it has copies, and goes by the first of them."""
    events = events_of(
        spark,
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
    tied = unranked(spark.createDataFrame(rows, PLACED))
    by_sender, _ = stretches_of(tied, copies, 8)
    sent = sequenced(tied, by_sender)
    with ExitStack() as stack, configured(spark, {"spark.sql.shuffle.partitions": "8"}):
        log = in_order(tied, copies, stack).log
        for table, total in ((sent, copies), (log, 2 * copies)):
            spread = table.groupBy(F.spark_partition_id()).count().collect()
            sizes = [row["count"] for row in spread]
            assert sum(sizes) == total
            assert len(sizes) == 8
            assert max(sizes) < total // 4
    plan = sent._jdf.queryExecution().executedPlan().toString()
    assert plan.count("Exchange") == 1, "the copies of a message are together already"


def test_tasks_are_found_for_any_process_and_time(spark: SparkSession) -> None:
    """The first and the last times there can be, and many more cuts than rows in some stretch."""
    chance = random.Random(1)
    moments = [-(1 << 62), 1 << 62, *(chance.randrange(10**6) for _ in range(400))]
    rows = [(chance.choice([0, 1, 7]), moment) for moment in moments]
    process, time_ns = (np.array(column) for column in zip(*rows, strict=True))
    for tasks in (1, 2, 9, 64):
        cut = stretches(process, time_ns, tasks)
        table = spark.createDataFrame(rows, "process int, time_ns long")
        found = cut.with_task(table, "process", "time_ns").collect()
        by_key = sorted(found, key=lambda row: (row["process"], row["time_ns"]))
        assert [row["task"] for row in by_key] == sorted(row["task"] for row in found)
        assert [row["along"] for row in by_key] == sorted(row["along"] for row in found)
        assert {row["task"] for row in found} == set(range(cut.tasks))
