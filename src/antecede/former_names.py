"""Former names of packages, for one release: what they offered is elsewhere, with a warning."""

import warnings
from collections.abc import Mapping
from importlib import import_module
from typing import Any


def moved(package: str, homes: Mapping[str, str], name: str) -> Any:  # noqa: ANN401 - whatever is asked for
    """What a former package offered under this name, from where it is now: `module`, or
    `module:name` if it has another name there."""
    if name not in homes:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    home, _, present = homes[name].partition(":")
    present = present or name
    warnings.warn(f"{package}.{name} is {home}.{present} now", DeprecationWarning, stacklevel=3)
    return getattr(import_module(home), present)
