"""The audit: traces of other systems in; a verdict on causal order, and a page, out.

The steps work on Arrow tables. `jobs` runs them on one machine, `spark` on any number; nothing here
imports pyspark before it is used.

    from antecede_audit import audit, judge, register_formats, spans_in_values, spans_to_events
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from antecede_audit.judging.verdict import judge as judge
    from antecede_audit.spark.audit import audit as audit
    from antecede_audit.spark.ingest_library import spans_to_events as spans_to_events
    from antecede_audit.spark.readers import register_formats as register_formats
    from antecede_audit.spark.readers import spans_in_values as spans_in_values

LIBRARY: Final = {
    "judge": "antecede_audit.judging.verdict",
    "audit": "antecede_audit.spark.audit",
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
