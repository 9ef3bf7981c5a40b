"""How far Spark is with what it is doing."""

from dataclasses import dataclass

from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True, kw_only=True)
class TasksDone:
    """Tasks of the stages that run now."""

    done: int
    total: int


def tasks_done(session: SparkSession) -> TasksDone | None:
    """How many tasks are done, of how many; None if nothing runs, or Spark does not say.

    A session on a Spark Connect server does not say. May be called from any thread.
    """
    try:
        tracker = session.sparkContext.statusTracker()
    except Exception:
        return None
    stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    running = [stage for stage in stages if stage is not None]
    if not running:
        return None
    return TasksDone(
        done=sum(stage.numCompletedTasks for stage in running),
        total=sum(stage.numTasks for stage in running),
    )
