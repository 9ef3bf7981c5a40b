"""The stages between spans and copies: trace by trace in Python, links between traces in SQL."""

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 what everybody calls it

from antecede.pipeline.ingest.call_columns import CALLING, call_batches
from antecede.pipeline.ingest.formats.records import CONSUMER, LINE, PRODUCER
from antecede.pipeline.ingest.layouts import CALLS, COPIES, SPAN, STORED_SPANS

STORED_AS: Final = {"trace": "trace_id", "span": "span_id", "parent": "parent_id"}
"""What the columns of spans are called outside."""

RECEPTIONS: Final = ("received_ns", "received_span", "sender", "sent_ns", "sent_latest_ns")
"""How receptions of one message by one process are sorted. Spans that share an id may both be the
sender: then who is chosen must not depend on how Spark has spread them."""


def calls_of_spans(records: DataFrame) -> DataFrame:
    """The messages that spans stand for, and rows that count what was met on the way.

    In:  part, ordinal, span.
    Out: the columns of COPIES, tally, count.
    """
    spans = records.where(F.col("span").isNotNull()).select("part", "ordinal", "span.*")
    # Sorting by a hash first compares numbers: ids of traces may begin alike.
    order = (F.xxhash64("trace"), "trace", "part", "ordinal")
    by_trace = spans.select(*CALLING, "part", "ordinal").repartition("trace")
    return by_trace.sortWithinPartitions(*order).select(*CALLING).mapInArrow(call_batches, CALLS)


def linked_calls(records: DataFrame) -> DataFrame:
    """The one-way messages from spans to those that name them as a cause besides their parent.

    In:  span.
    Out: the columns of COPIES.
    """
    spans = records.where(F.col("span").isNotNull()).select("span.*")
    effects = (
        spans.where(F.size("links") > 0)
        .withColumn("link", F.explode("links"))
        .select([F.col(name).alias(f"effect_{name}") for name in SPAN.names] + [F.col("link")])
    )
    causes = spans.withColumn("link", key_of("trace", "span"))
    pairs = effects.join(causes, on="link", how="inner")
    is_message = (F.col("process") != F.col("effect_process")) | (
        (F.col("kind") == PRODUCER) & (F.col("effect_kind") == CONSUMER)
    )
    produced = F.col("kind") == PRODUCER
    effect = key_of("effect_trace", "effect_span")
    known = {
        "message": F.when(produced, F.concat("link", F.lit("*"))).otherwise(
            F.concat("link", F.lit("*"), effect)
        ),
        "sender": F.col("process"),
        "receiver": F.col("effect_process"),
        "sent_ns": F.col("start_ns"),
        "sent_latest_ns": F.when(~produced, F.coalesce("end_ns", "start_ns")),
        "received_ns": F.col("effect_start_ns"),
        "sent_in": F.col("trace"),
        "sent_by": F.col("span"),
        "received_in": F.col("effect_trace"),
        "received_by": F.col("effect_span"),
        "sent_span": F.col("span"),
        "received_span": F.col("effect_span"),
        "one_way": F.lit(True),
        "payload_bytes": F.lit(0),
    }
    return pairs.where(is_message).select(columns_of_copies(known))


def named_spans(records: DataFrame, processes: DataFrame) -> DataFrame:
    """What each span is called, for findings to lead back to it, and all else that is known of it.

    In:  part, ordinal, span; key, process.
    Out: the columns of STORED_SPANS.
    """
    spans = records.where(F.col("span").isNotNull()).select("part", "ordinal", "span.*")
    known = spans.withColumnsRenamed({"process": "key", **STORED_AS}).join(
        F.broadcast(processes), on="key", how="inner"
    )
    return known.withColumnRenamed("key", "process_key").select(*STORED_SPANS.names)


def key_of(trace: str, span: str) -> Column:
    """How links name the span in these columns."""
    return F.concat_ws("/", trace, span)


def columns_of_copies(known: dict[str, Column]) -> list[Column]:
    """The columns of COPIES: those that are known, and nulls."""
    return [
        known.get(field.name, F.lit(None)).cast(field.dataType).alias(field.name)
        for field in COPIES.fields
    ]


def first_receptions(one_way: DataFrame) -> DataFrame:
    """One-way messages without those that the same process received before.

    Consumers have spans for polling and for handling the same message.

    In, out: the columns of COPIES.
    """
    order = Window.partitionBy("message", "receiver").orderBy(*RECEPTIONS)
    return (
        one_way.withColumn("turn", F.row_number().over(order))
        .where(F.col("turn") == 1)
        .select(*COPIES.names)
    )


def copies_of_tables(records: DataFrame) -> DataFrame:
    """What message tables say, in the columns that spans have too.

    In:  source, copy.
    Out: the columns of COPIES.
    """
    rows = records.where(F.col("copy").isNotNull()).select("source", "copy.*")
    known = {name: F.col(name) for name in rows.columns}
    known["label"] = in_its_file(F.col("label"))
    known["causes"] = F.transform("causes", in_its_file)
    return rows.select(columns_of_copies({**known, "one_way": F.lit(True)}))


def in_its_file(label: Column) -> Column:
    """A label that no other file has too, if it is the number of a line."""
    return F.when(label.startswith(LINE), F.concat("source", label)).otherwise(label)
