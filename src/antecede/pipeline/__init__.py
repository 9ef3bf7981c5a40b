"""What runs on Spark: ingesting traces, growing them, sweeps of simulations, the causal audit.

A stage is a function from DataFrames to DataFrames; jobs join stages and own all reading and
writing. Only this layer imports pyspark, and nothing here does so before it is used.

    from antecede.pipeline import audit, spans_to_events
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from antecede.pipeline.audit.library import audit as audit
    from antecede.pipeline.ingest.library import spans_to_events as spans_to_events


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever is asked for
    """The functions of the library, imported when somebody wants them."""
    if name == "spans_to_events":
        from antecede.pipeline.ingest.library import spans_to_events

        return spans_to_events
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
