"""A protocol's source with some lines changed, run as it then is: wrong on purpose.

Where it takes several files they only work on the interpreted build: their classes inherit from
others that, compiled, do not allow that.
"""

import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType

SOURCES = Path(__file__).parents[3] / "src"

RULE = "antecede/core/hybrid/rule"
ABOVE_RULE = ("antecede/core/hybrid/records", "antecede/core/hybrid/node")
"""The rule of `hybrid`, and what makes a process of it, in the order in which they import it."""


def patched(file: str, *changes: tuple[str, str], as_module: str) -> ModuleType:
    """The module that `file` would be; each text to change must stand in it exactly once.

    It can be imported as `as_module` from then on.
    """
    source = (SOURCES / file).read_text(encoding="utf-8")
    for sound, changed in changes:
        assert source.count(sound) == 1, f"this is not in {file} any more: {sound}"
        source = source.replace(sound, changed)
    module = ModuleType(as_module)
    exec(compile(source, f"{file}, changed", "exec"), module.__dict__)
    sys.modules[as_module] = module
    return module


def patched_hybrid(*changes: tuple[str, str], as_package: str) -> ModuleType:
    """A module with the `HybridProcess` whose rule has these lines changed."""
    in_rule = [(RULE, sound, changed) for sound, changed in changes]
    return patched_together([RULE, *ABOVE_RULE], in_rule, as_package)


def patched_together(
    files: Sequence[str], changes: Iterable[tuple[str, str, str]], as_package: str
) -> ModuleType:
    """The last of these files of the core, with fresh copies of the others, which it imports.

    Files are named as in `antecede/core/hybrid/rule`, each behind those that it imports. A change
    names its file, and what stands there exactly once.
    """
    changes = list(changes)
    names = {dotted(file): f"{as_package}_{file.replace('/', '_')}" for file in files}
    imported = re.compile(f"from ({'|'.join(re.escape(name) for name in names)}) import")
    modules: dict[str, ModuleType] = {}
    try:
        for file in files:
            source = (SOURCES / f"{file}.py").read_text(encoding="utf-8")
            for where, sound, changed in changes:
                if where == file:
                    count = source.count(sound)
                    assert count == 1, f"this stands {count} times in {file}: {sound}"
                    source = source.replace(sound, changed)
            source = imported.sub(lambda found: f"from {names[found[1]]} import", source)
            name = names[dotted(file)]
            module = sys.modules[name] = modules[name] = ModuleType(name)
            exec(compile(source, f"{file} of {as_package}", "exec"), module.__dict__)
    finally:
        for name in modules:
            sys.modules.pop(name, None)
    assert {where for where, _, _ in changes} <= set(files)
    return module


def dotted(file: str) -> str:
    return file.replace("/", ".")
