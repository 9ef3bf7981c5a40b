"""Which runs are measured, and under which names."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from antecede.core.errors import LocalError
from antecede.eventlog import write_events
from antecede_audit.spark.measure import measure_logs
from antecede_cli.audit.measure import sample_lines
from tests.antecede_audit.judging.stories import ALICE, BOB, Story


def chat(messages: int) -> Story:
    story = Story()
    for _ in range(messages):
        story.deliver(BOB, story.send(ALICE, BOB))
    return story


def test_runs_of_one_name_are_told_apart_by_the_number_of_their_path(
    spark: SparkSession, tmp_path: Path
) -> None:
    for folder, messages in (("a", 1), ("b", 2)):
        (tmp_path / folder).mkdir()
        write_events(tmp_path / folder / "log.jsonl", chat(messages).log)
    write_events(tmp_path / "other.parquet", chat(3).log)
    paths = [str(tmp_path / name) for name in ("a/log.jsonl", "b/log.jsonl", "other.parquet")]

    rows = measure_logs(spark, paths)
    assert [(row["run_id"], row["messages"]) for row in rows] == [
        ("0:log", 1),
        ("1:log", 2),
        ("other", 3),
    ]


def test_of_a_run_that_no_task_takes_a_sample_is_looked_at(
    spark: SparkSession, tmp_path: Path
) -> None:
    """On either side of the limit, in one call; every other figure is of all copies."""
    for name, messages in (("fits", 320), ("large", 321)):
        write_events(tmp_path / f"{name}.parquet", chat(messages).log)
    paths = [str(tmp_path / name) for name in ("fits.parquet", "large.parquet")]

    fits, large = measure_logs(spark, paths, copies_max=320)
    assert (fits["delivered"], fits["non_causal_copies"]) == (320, 320)
    assert large["delivered"] == 321
    assert 100 < large["non_causal_copies"] < 220, "half of each stretch is its past"
    assert large["non_causal_max_ns"] == fits["non_causal_max_ns"] == 0
    assert large["latency_mean_ns"] == fits["latency_mean_ns"]
    assert [line.partition(":")[0] for line in sample_lines([fits, large])] == ["large"]


def test_several_runs_in_one_folder_are_not_taken_for_one(
    spark: SparkSession, tmp_path: Path
) -> None:
    write_events(tmp_path / "one.jsonl", chat(1).log)
    write_events(tmp_path / "two.jsonl", chat(2).log)

    with pytest.raises(LocalError, match="a process has several events at one position"):
        measure_logs(spark, [str(tmp_path)])
