"""Causal-order messaging: no process ever sees an effect before its cause."""

from typing import Final

from antecede.build_mode import compiled

__version__: Final = "0.1.0"

__all__ = ["__version__", "compiled"]
