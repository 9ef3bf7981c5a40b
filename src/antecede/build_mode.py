"""Which build is running: the hot layers compiled to machine code, or interpreted?

Both behave alike, effect by effect; the compiled one is several times faster. All compiled modules
come from one build, so one of them speaks for all.
"""

from antecede.core import values


def compiled() -> bool:
    """Whether the hot layers run as machine code."""
    return not str(values.__file__).endswith(".py")
