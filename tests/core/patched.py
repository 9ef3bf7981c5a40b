"""A protocol's source with some lines changed, run as it then is: wrong on purpose."""

import sys
from pathlib import Path
from types import ModuleType

PROTOCOLS_FOLDER = Path(__file__).parents[2] / "src/antecede/core/protocols"


def patched(file: str, *changes: tuple[str, str], as_module: str) -> ModuleType:
    """The module that `file` would be; each text to change must stand in it exactly once.

    It can be imported as `as_module` from then on.
    """
    source = (PROTOCOLS_FOLDER / file).read_text(encoding="utf-8")
    for sound, changed in changes:
        assert source.count(sound) == 1, f"this is not in {file} any more: {sound}"
        source = source.replace(sound, changed)
    module = ModuleType(as_module)
    exec(compile(source, f"{file}, changed", "exec"), module.__dict__)
    sys.modules[as_module] = module
    return module
