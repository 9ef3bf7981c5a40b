"""What runs on Spark: ingesting traces, growing them, sweeps of simulations, the causal audit.

A stage is a function from DataFrames to DataFrames; jobs join stages and own all reading and
writing. Only this layer imports pyspark, and nothing here does so before it is used.

    from antecede_audit import audit, register_formats, spans_in_values, spans_to_events
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from antecede_audit.spark.audit_library import audit as audit
    from antecede_audit.spark.ingest_library import spans_to_events as spans_to_events
    from antecede_audit.spark.readers import register_formats as register_formats
    from antecede_audit.spark.readers import spans_in_values as spans_in_values

LIBRARY: Final = {
    "audit": "antecede_audit.spark.audit_library",
    "spans_to_events": "antecede_audit.spark.ingest_library",
    "register_formats": "antecede_audit.spark.readers",
    "spans_in_values": "antecede_audit.spark.readers",
}
"""Where the functions are that this package offers."""


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever is asked for
    """The functions of the library, imported when somebody wants them."""
    if name in LIBRARY:
        return getattr(import_module(LIBRARY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
