"""How much later than causal order demands: the delays that a protocol adds of its own.

The yardstick is `ideal`: the same submissions over the same channels, delivered as early as causal
order allows. It has to see a run as a whole, in the order of time, so a run goes to one task, which
needs some 500 bytes for each of its copies. Of a run with more copies than a task takes, some
stretches of time are looked at instead, spread evenly over its messages. A stretch begins in the
middle of things, so what is submitted in its first half only makes up the past of the rest.
"""

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 what everybody calls it
from pyspark.sql.types import LongType, StringType, StructField, StructType

from antecede.pipeline.metrics.ideal import Copies, ideal_deliveries
from antecede.pipeline.metrics.instants import travelling
from antecede.trace.parquet import ArrowTable

COPIES_MAX: Final = 4_000_000
"""How many copies of one run are looked at, in one task or in all stretches: at most 2 GB."""

STRETCHES: Final = 16
"""So many stretches are looked at of a run that is too large."""

PAST_SHARE: Final = 0.5
"""This part of a stretch is only there to be the past of the rest."""

ACCURACY_MAX: Final = 200_000
"""Where stretches begin and end is known to one part in so many of all copies."""

NON_CAUSAL: Final = StructType(
    [StructField("run_id", StringType()), StructField("non_causal_ns", LongType())]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A part of a run that is looked at for the whole, by times of submission."""

    run_id: str
    number: int
    past_ns: int
    """Where it begins."""
    first_ns: int
    """From here on its copies count."""
    last_ns: int


def find_stretches(
    instants: DataFrame, sizes: Mapping[str, int], copies_max: int = COPIES_MAX
) -> list[Stretch]:
    """Which stretches to look at, of the runs with more copies than `copies_max`.

    In: the columns of `message_instants`; by run, how many copies it has, or somewhat more.
    """
    large = {run: copies for run, copies in sizes.items() if copies > copies_max}
    if not large:
        return []
    columns = []
    for place, (run, copies) in enumerate(large.items()):
        ours = F.when(F.col("run_id") == run, F.col("submitted_ns"))
        shares = [share for edges in edges_of(copies_max / copies) for share in edges]
        accuracy = min(ACCURACY_MAX, 20 * STRETCHES * -(-copies // copies_max))
        columns.append(F.percentile_approx(ours, shares, accuracy).alias(str(place)))
    row = delivered_copies(instants).agg(*columns).collect()[0]
    return [
        Stretch(
            run_id=run,
            number=number,
            past_ns=row[place][3 * number],
            first_ns=row[place][3 * number + 1],
            last_ns=row[place][3 * number + 2],
        )
        for place, run in enumerate(large)
        for number in range(STRETCHES if row[place] else 0)
    ]


def edges_of(share: float) -> list[tuple[float, float, float]]:
    """Which shares of all copies are submitted when each stretch begins, counts, and ends."""
    width = share / STRETCHES
    lows = [(number + 0.5) / STRETCHES - width / 2 for number in range(STRETCHES)]
    return [(low, low + PAST_SHARE * width, low + width) for low in lows]


def non_causal_delays(instants: DataFrame, stretches: Sequence[Stretch] = ()) -> DataFrame:
    """How much later than necessary each copy was delivered; negative: earlier than causal.

    A copy whose arrival is not in the log is taken to have arrived when it was delivered. Of a run
    that has stretches only these are looked at.

    In:  run_id, sender, sequence, target, and the four <kind>_ns.
    Out: run_id, non_causal_ns, a row for each delivered copy that is not to oneself.
    """
    known = F.col("arrived_ns").isNotNull() & F.col("transmitted_ns").isNotNull()
    travel_ns = F.when(known, F.col("arrived_ns") - F.col("transmitted_ns")).otherwise(
        F.col("delivered_ns") - F.col("submitted_ns")
    )
    copies = delivered_copies(instants).select(
        "run_id",
        "sender",
        "sequence",
        "target",
        "submitted_ns",
        travel_ns.alias("travel_ns"),
        "delivered_ns",
    )
    chosen = in_stretches(copies, stretches)
    return chosen.groupBy("run_id", "number").applyInArrow(lateness_of_stretch, NON_CAUSAL)


def delivered_copies(instants: DataFrame) -> DataFrame:
    """Those that were delivered, and not to oneself. In, out: what `message_instants` gives."""
    return travelling(instants).where(F.col("delivered_ns").isNotNull())


def in_stretches(copies: DataFrame, stretches: Sequence[Stretch]) -> DataFrame:
    """The copies that are looked at.

    In:  run_id, submitted_ns, and more.
    Out: the same, number (of the stretch, 0 for a whole run) and first_ns (null for a whole run).
    """
    whole = copies.select("*", F.lit(0).alias("number"), F.lit(None).cast("long").alias("first_ns"))
    if not stretches:
        return whole
    large = sorted({stretch.run_id for stretch in stretches})
    table = copies.sparkSession.createDataFrame(
        [astuple(stretch) for stretch in stretches],
        "run_id string, number int, past_ns long, first_ns long, last_ns long",
    )
    within = F.col("submitted_ns").between(F.col("past_ns"), F.col("last_ns"))
    parts = copies.join(F.broadcast(table), on="run_id", how="inner").where(within)
    return whole.where(~F.col("run_id").isin(large)).unionByName(parts.select(*whole.columns))


def lateness_of_stretch(copies: ArrowTable) -> ArrowTable:
    """The rows of one run or stretch, as Arrow: its copies in, how late each that counts was."""
    import pyarrow as pa
    import pyarrow.compute as pc

    late = pa.array(lateness_in(copies), pa.int64())
    table = pa.table({"run_id": copies["run_id"], "non_causal_ns": late})
    counts = pc.greater_equal(copies["submitted_ns"], copies["first_ns"])
    return table.filter(pc.fill_null(counts, fill_value=True))


def lateness_in(copies: ArrowTable) -> list[int]:
    """The same as `lateness`, of the columns of `Copies` and delivered_ns."""
    columns = {name: copies[name].to_pylist() for name in Copies.__dataclass_fields__}
    return lateness(Copies(**columns), copies["delivered_ns"].to_pylist())


def lateness(copies: Copies, delivered_ns: list[int]) -> list[int]:
    """For each copy, its delivery minus the earliest that causal order allows."""
    ideal_ns = ideal_deliveries(copies)
    return [actual - ideal for actual, ideal in zip(delivered_ns, ideal_ns, strict=True)]
