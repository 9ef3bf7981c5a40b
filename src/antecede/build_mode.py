"""Which build is running: compiled to machine code as far as `setup.py` can, or interpreted?

Both behave alike, effect by effect; the compiled one is several times faster. All compiled modules
come from one build, so one of them speaks for all.
"""

import logging
import platform
from functools import cache
from pathlib import Path
from typing import Final

from antecede.core import packets
from antecede.installing import AGAIN

REASON: Final = Path(__file__).with_name("not_compiled.txt")
"""Written by setup.py where it could not, or should not, compile."""

DECLINED: Final = "ANTECEDE_COMPILE"
"""Such a reason begins with this if whoever installed it wanted it so."""

log = logging.getLogger(__name__)


def compiled() -> bool:
    """Whether the compiled modules run as machine code."""
    return not str(packets.__file__).endswith(".py")


def why_interpreted() -> str:
    """Why they are interpreted, in half a sentence; empty if they are not."""
    if compiled():
        return ""
    try:
        return REASON.read_text(encoding="utf-8").strip()
    except OSError:
        return "it runs from its sources"


@cache
def warn_if_fallen_back() -> None:
    """Say once that this install could be several times faster, if nobody asked for it to be so."""
    if not REASON.exists() or platform.python_implementation() != "CPython":
        return
    reason = why_interpreted()
    if reason and not reason.startswith(DECLINED):
        log.warning(
            "antecede runs interpreted, several times slower than it could, because it was not "
            "compiled when it was installed: %s. With a C compiler and Python's headers, %s",
            reason,
            AGAIN,
        )
