"""What Spark's web page calls jobs, and what its plans call the Python that runs in their stages.

Jobs are described by what is being done ("antecede ingest: messages of traces"). A stage that is a
`functools.partial` would be called "partial": it is called after the function in it instead.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, ParamSpec, TypeVar

from pyspark import SparkContext
from pyspark.sql import SparkSession

from antecede_audit.spark.settings import is_connect

Inputs = ParamSpec("Inputs")
Output = TypeVar("Output")

DESCRIPTION: Final = "spark.job.description"
OURS: Final = "antecede "
"""How all descriptions begin."""

WRAPPED: Final = "stage"
"""What a function that runs another one calls that."""


def silent(_doing: str) -> None:
    """Tell nobody."""


@contextmanager
def named_jobs(
    session: SparkSession, work: str, tell: Callable[[str], None] = silent
) -> Iterator[Callable[[str], None]]:
    """A `tell` by which this thread's jobs are described, too; at the end they are called what they
    were before.

    Work that is part of other work of ours is described after it: "antecede watch: batch 3, judging
    slices". Spark Connect has no descriptions: there it is `tell` itself.
    """
    context = context_of(session)
    if context is None:
        yield tell
        return
    before = context.getLocalProperty(DESCRIPTION)
    whole, link = f"{OURS}{work}", ":"
    if before is not None and before.startswith(OURS):
        whole, link = before, ","

    def describe(doing: str) -> None:
        context.setLocalProperty(DESCRIPTION, f"{whole}{link} {doing}")
        tell(doing)

    context.setLocalProperty(DESCRIPTION, whole)
    try:
        yield describe
    finally:
        context.setLocalProperty(DESCRIPTION, before)  # type: ignore[arg-type]  # None removes it


def context_of(session: SparkSession) -> SparkContext | None:
    """The context of a session; a session on a Spark Connect server has none."""
    return None if is_connect(session) else session.sparkContext


def named(stage: Callable[Inputs, Output]) -> Callable[Inputs, Output]:
    """The same function, which plans call after the one that does the work."""
    if not isinstance(stage, partial):
        return stage
    called = partial(stage)
    called.__dict__["__name__"] = name_of(stage)
    return called


def name_of(stage: Any) -> str:  # noqa: ANN401 any function
    """What a function is called, or the innermost one that it runs."""
    if isinstance(stage, partial):
        return name_of(stage.keywords.get(WRAPPED, stage.func))
    return str(getattr(stage, "__name__", type(stage).__name__))
