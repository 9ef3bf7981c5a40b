"""Whether effects overtook causes, in logs of any size.

`from antecede.pipeline import audit` is a function for those who have DataFrames, and this package
to Python, whichever of the two is asked for first. So the package can be called.
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from antecede.pipeline.audit.library import Findings


class _CallableModule(ModuleType):
    """A module that is a function, too."""

    def __call__(self, *events: Any, **options: Any) -> "Findings":  # noqa: ANN401 - as `audit` has it
        from antecede.pipeline.audit.library import audit

        return audit(*events, **options)


sys.modules[__name__].__class__ = _CallableModule
