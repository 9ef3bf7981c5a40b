"""The version of all packages here: they are released together."""

from typing import Final

__version__: Final = "0.3.0"
