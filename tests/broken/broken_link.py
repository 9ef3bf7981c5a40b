"""The link with some lines changed, and the simulator that runs whole nodes on it.

Modules of the link import each other by name, so a changed one is imported afresh together with
everything above it, and all of it is forgotten again.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import antecede

SOURCE = Path(antecede.__file__).parents[1]
AFRESH = (
    *("antecede.durability", "antecede.endpoint", "antecede.membership", "antecede.network_model"),
    *("antecede.transport", "antecede_lab.simulator", "antecede_lab.chaos"),
    *("tests.antecede.endpoint.endpoints", "tests.broken.link_stories", "tests.members"),
)

Change = tuple[str, str, str]
"""A file of the link, a text that stands in it exactly once, and what to put there."""


class Changed(MetaPathFinder, Loader):
    """Loads one module of the link with some of its text changed."""

    def __init__(self, changes: Sequence[Change]) -> None:
        self._changes = changes
        self._files = {file.removesuffix(".py").replace("/", "."): file for file, _, _ in changes}

    def find_spec(self, name: str, path: object, target: object = None) -> ModuleSpec | None:  # noqa: ARG002 the protocol of finders
        return ModuleSpec(name, self) if name in self._files else None

    def exec_module(self, module: ModuleType) -> None:
        file = self._files[module.__name__]
        source = (SOURCE / file).read_text(encoding="utf-8")
        for changed, sound, broken in self._changes:
            if changed == file:
                assert source.count(sound) == 1, f"this is not in {file} any more: {sound}"
                source = source.replace(sound, broken)
        exec(compile(source, f"{file}, changed", "exec"), module.__dict__)


@contextmanager
def broken_link(*changes: Change) -> Iterator[ModuleType]:
    """`antecede_lab.chaos.simulated`, on a link with these changes."""
    for file, _, _ in changes:
        assert (SOURCE / file).is_file(), f"there is no {file}"
    before = {name: sys.modules.pop(name) for name in list(sys.modules) if name.startswith(AFRESH)}
    finder = Changed(changes)
    sys.meta_path.insert(0, finder)
    try:
        yield import_module("antecede_lab.chaos.simulated")
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if name.startswith(AFRESH)]:
            del sys.modules[name]
        sys.modules.update(before)
