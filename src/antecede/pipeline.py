"""The former name of `antecede_audit`: it goes with the next release."""

from typing import Any, Final

from antecede.former_names import moved

HOMES: Final = {
    "audit": "antecede_audit",
    "register_formats": "antecede_audit",
    "spans_in_values": "antecede_audit",
    "spans_to_events": "antecede_audit",
}
"""Where the names are now."""


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever is asked for
    """What the former package offered."""
    return moved(__name__, HOMES, name)
