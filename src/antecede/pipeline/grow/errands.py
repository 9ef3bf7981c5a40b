"""What processes of a recording did when a message reached them: patterns for grown requests.

A pattern keeps what belongs together: how many calls there were, which of them waited for which
answers, think times and sizes. The join of messages from several processes does not fit a pattern,
which has one opening; its effects are counted to the opening that came last.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 what everybody calls it

from antecede.pipeline.grow.drawn import SAMPLE, unit

PARTS_WANTED: Final = 100_000
"""About so many messages and copies are looked at, on errands chosen by chance."""

PARTS_MAX: Final = 20_000
"""Larger errands are left out: each has to fit a row."""

UNASKED: Final = -1
"""What a message answers that answers nothing."""

OPENING: Final = 0
"""What a step waits for: the opening, or the answers to the step of this number, from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A message that is sent on an errand."""

    waits_for: tuple[int, ...]
    delay_ns: int
    payload_bytes: int
    width: int
    """How many targets it has."""
    reply: bool
    """Whether it goes back to the sender of the opening."""
    answered: bool
    """Whether it is answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """What follows from one opening, at one process."""

    steps: tuple[Step, ...]

    @property
    def calls(self) -> int:
        """How many copies of calls it sends."""
        return sum(step.width for step in self.steps if not step.reply)

    @property
    def replies(self) -> bool:
        """Whether it answers the opening."""
        return any(step.reply for step in self.steps)


def sampled_parts(structure: DataFrame, seed: int, share: float) -> DataFrame:
    """The messages sent and the copies delivered on some errands.

    In:  what `causal_structure` gives, of one run; the share of errands to take.
    Out: errand, parts: a list of (answers, rank, sender, targets, causes, delay_ns, payload_bytes),
         where answers is null for a message sent, a rank for an answer, and -1 for what else is
         delivered.
    """
    sent = structure.select("errand", part(F.lit(None).cast("long")).alias("part"))
    received = structure.select(
        "*",
        F.explode(
            F.arrays_zip(
                F.col("target_errands").alias("errand"), F.col("target_answers").alias("answers")
            )
        ).alias("copy"),
    ).select(
        F.col("copy.errand").alias("errand"),
        part(F.coalesce("copy.answers", F.lit(UNASKED))).alias("part"),
    )
    chosen = unit(seed, SAMPLE, F.col("errand")) < share
    parts = sent.unionByName(received).where(chosen)
    small = (
        parts.groupBy("errand")
        .agg(F.count("*").alias("size"))
        .where(F.col("size") <= PARTS_MAX)
        .select("errand")
    )
    return (
        parts.join(small, on="errand", how="inner")
        .groupBy("errand")
        .agg(F.collect_list("part").alias("parts"))
        .select("errand", "parts")
    )


def part(answers: Column) -> Column:
    """A message as part of an errand."""
    return F.struct(
        answers.alias("answers"),
        "rank",
        "sender",
        "targets",
        F.col("cause_ranks").alias("causes"),
        "delay_ns",
        "payload_bytes",
    )


def patterns_of(errands: Iterable[Sequence[Row]]) -> list[Pattern]:
    """The patterns of these errands, in their order and in the order of their openings."""
    return [pattern for parts in errands for pattern in split_errand(parts)]


def split_errand(parts: Sequence[Row]) -> list[Pattern]:
    """An errand as one pattern for each of its openings; sent unasked, a message opens one too."""
    heard = {row.rank: row for row in parts if row.answers is not None}
    sent = sorted((row for row in parts if row.answers is None), key=lambda row: row.rank)
    owners: dict[int, int] = {}
    for row in sent:
        owners[row.rank] = owner_of(row, heard, owners)
    groups: dict[int, list[Row]] = {
        rank: [] for rank, row in sorted(heard.items()) if row.answers == UNASKED
    }
    for row in sent:
        groups.setdefault(owners[row.rank], []).append(row)
    return [
        Pattern(steps=steps_of(rows, heard.get(opening), heard)) for opening, rows in groups.items()
    ]


def owner_of(row: Row, heard: dict[int, Row], owners: dict[int, int]) -> int:
    """The opening to which a message sent belongs: the last one before it, or a number of its own.

    Numbers of one's own are negative.
    """
    openings = [
        cause if heard[cause].answers == UNASKED else owners[heard[cause].answers]
        for cause in row.causes
    ]
    return max(openings, default=-1 - row.rank)


def steps_of(rows: list[Row], opening: Row | None, heard: dict[int, Row]) -> tuple[Step, ...]:
    """The messages sent after one opening, as steps."""
    number = {row.rank: place for place, row in enumerate(rows, start=1)}
    answered = {row.answers for row in heard.values()}
    return tuple(
        Step(
            waits_for=tuple(
                sorted({number.get(heard[cause].answers, OPENING) for cause in row.causes})
            )
            or (OPENING,),
            # The delay of a message without causes counts from the start of the run.
            delay_ns=row.delay_ns if row.causes else 0,
            payload_bytes=row.payload_bytes,
            width=len(row.targets),
            reply=opening is not None and list(row.targets) == [opening.sender],
            answered=row.rank in answered,
        )
        for row in rows
    )
