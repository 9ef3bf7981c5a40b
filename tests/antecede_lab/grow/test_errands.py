"""What processes did, as patterns."""

from dataclasses import replace

import pyarrow as pa
from pyspark.sql import DataFrame, Row, SparkSession

from antecede_audit.eventlog.workload import WorkloadRow, as_fields
from antecede_audit.measure.structure import structured
from antecede_audit.spark.measure import causal_structure
from antecede_lab.grow.requests import (
    OPENING,
    UNASKED,
    Pattern,
    RequestStep,
    patterns_of,
    sampled_parts,
)
from tests.antecede_audit.measure.profile.workloads import REVIEW, frame, row

CALLS = [
    row(0, 0, [1], delay_ns=70, payload_bytes=1),
    row(1, 1, [2], [0], 10, 2),
    row(2, 2, [1], [1], 20, 3),
    row(3, 1, [3], [2], 11, 4),
    row(4, 3, [1], [3], 30, 5),
    row(5, 1, [0], [4], 12, 6),
]
"""0 asks 1, which asks 2, then 3, then replies."""


def step(
    *waits_for: int, delay_ns: int, payload_bytes: int, reply: bool = False, answered: bool = False
) -> RequestStep:
    return RequestStep(
        waits_for=waits_for or (OPENING,),
        delay_ns=delay_ns,
        payload_bytes=payload_bytes,
        width=1,
        reply=reply,
        answered=answered,
    )


def parts_of(rows: list[WorkloadRow]) -> dict[int, tuple[int, list[Row]]]:
    """By errand: the process that runs it, and what `sampled_parts` should find, in order."""
    table = pa.Table.from_pylist([as_fields(one) for one in rows])
    found: dict[int, tuple[int, list[Row]]] = {}
    for one in sorted(structured("a", table).to_pylist(), key=lambda one: one["rank"]):
        common = {
            "rank": one["rank"],
            "sender": one["sender"],
            "targets": one["targets"],
            "causes": one["cause_ranks"],
            "delay_ns": one["delay_ns"],
            "payload_bytes": one["payload_bytes"],
        }
        sent = Row(answers=None, **common)
        found.setdefault(one["errand"], (one["sender"], []))[1].append(sent)
        for target, errand, answers in zip(
            one["targets"], one["target_errands"], one["target_answers"], strict=True
        ):
            heard = Row(answers=UNASKED if answers is None else answers, **common)
            found.setdefault(errand, (target, []))[1].append(heard)
    return found


def patterns(rows: list[WorkloadRow]) -> dict[int, list[Pattern]]:
    """By process: what it did."""
    found: dict[int, list[Pattern]] = {}
    for _, (process, parts) in sorted(parts_of(rows).items()):
        found.setdefault(process, []).extend(patterns_of([parts]))
    return found


def by_errand(parts: DataFrame) -> dict[int, list[Row]]:
    return {
        one.errand: sorted(one.parts, key=lambda part: (part.rank, part.answers is not None))
        for one in parts.collect()
    }


def test_a_service_that_asks_two_others_and_replies() -> None:
    found = patterns(CALLS)
    assert found[1] == [
        Pattern(
            steps=(
                step(delay_ns=10, payload_bytes=2, answered=True),
                step(1, delay_ns=11, payload_bytes=4, answered=True),
                step(2, delay_ns=12, payload_bytes=6, reply=True),
            )
        )
    ]
    assert found[2] == [Pattern(steps=(step(delay_ns=20, payload_bytes=3, reply=True),))]
    assert found[0] == [Pattern(steps=(step(delay_ns=0, payload_bytes=1, answered=True),))]
    assert (found[1][0].calls, found[1][0].replies) == (2, True)


def test_a_join_counts_to_the_last_that_came() -> None:
    found = patterns(REVIEW)
    nothing = Pattern(steps=())
    stores = tuple(step(delay_ns=1_000_000, payload_bytes=size, answered=True) for size in (30, 31))
    report = step(1, 2, delay_ns=1_000_000, payload_bytes=50)
    assert sorted(found[4], key=lambda pattern: len(pattern.steps)) == [
        nothing,
        nothing,
        Pattern(steps=(*stores, report)),
    ]
    assert found[0] == [
        Pattern(steps=(step(delay_ns=0, payload_bytes=size),)) for size in (10, 11, 12)
    ] + [nothing]


def test_answers_to_several_calls_are_waited_for_together() -> None:
    rows = [
        row(0, 0, [1]),
        row(1, 1, [2], [0]),
        row(2, 1, [3], [0]),
        row(3, 2, [1], [1]),
        row(4, 3, [1], [2]),
        row(5, 1, [0], [3, 4]),
    ]
    [pattern] = patterns(rows)[1]
    assert [one.waits_for for one in pattern.steps] == [(0,), (0,), (1, 2)]


def test_a_sample_is_of_whole_errands(spark: SparkSession) -> None:
    rows = [
        replace(
            one, message_id=one.message_id + 100 * n, causes=tuple(c + 100 * n for c in one.causes)
        )
        for n in range(40)
        for one in CALLS
    ]
    structure = causal_structure(frame(spark, {"a": rows}))
    whole = by_errand(sampled_parts(structure, 1, 1.0))
    assert whole == {errand: parts for errand, (_, parts) in parts_of(rows).items()}
    some = by_errand(sampled_parts(structure, 1, 0.5))
    others = by_errand(sampled_parts(structure, 2, 0.5))
    assert len(whole) == 40 * 4
    assert 50 < len(some) < 110
    assert some == {errand: whole[errand] for errand in some}
    assert some.keys() != others.keys()


def test_what_goes_to_others_as_well_is_no_reply() -> None:
    rows = [row(0, 0, [1]), row(1, 1, [0], [0]), row(2, 0, [3]), row(3, 3, [0, 2], [2])]
    found = patterns(rows)
    assert [(pattern.replies, pattern.calls) for pattern in found[1]] == [(True, 0)]
    assert [(pattern.replies, pattern.calls) for pattern in found[3]] == [(False, 2)]
