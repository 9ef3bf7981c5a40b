"""Which laboratory is running: compiled, as by the repository's own build, or interpreted?

An install compiles messaging alone, so `antecede.compiled()` does not speak for the laboratory.
"""

from importlib.util import find_spec


def compiled() -> bool:
    """Whether protocols and simulator run as machine code."""
    found = find_spec("antecede_lab.catalogue")
    assert found is not None, "this package has it"
    return not str(found.origin).endswith(".py")
