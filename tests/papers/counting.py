"""Counts steps instead of seconds: the same on every machine, at every load.

A step is an executed line of one of the named source files or, where that would take too long, an
access to a ring. Compiled code executes no lines and cannot be patched, so tests that count are
marked `interpreted_only`.
"""

import sys
from collections.abc import Callable, Mapping
from types import FrameType
from typing import TYPE_CHECKING

import pytest

import antecede
from antecede.core.sliding import SlidingArray

if TYPE_CHECKING:
    from _typeshed import TraceFunction

interpreted_only = pytest.mark.skipif(
    antecede.compiled(), reason="compiled code executes no lines that could be counted"
)


class LineCounter:
    """Counts executed lines in files whose names end with one of `files`."""

    def __init__(self, *files: str) -> None:
        self.steps = 0
        self._files = files

    def run(self, action: Callable[..., object], *arguments: object) -> int:
        """Execute `action`; how many lines that took."""
        before = self.steps
        previous = sys.gettrace()
        sys.settrace(self._on_call)
        try:
            action(*arguments)
        finally:
            sys.settrace(previous)
        return self.steps - before

    def _on_call(self, frame: FrameType, _event: str, _arg: object) -> "TraceFunction | None":
        if frame.f_code.co_filename.endswith(self._files):
            return self._on_line
        return None

    def _on_line(self, _frame: FrameType, event: str, _arg: object) -> "TraceFunction | None":
        if event == "line":
            self.steps += 1
        return self._on_line


class RingCounter:
    """Counts what happens to rings: elements read or removed, and the slots of every new ring.

    Cheaper than counting lines, and enough to see any loop of sliding.py.
    """

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.steps = 0
        at, remove, resize = SlidingArray.at, SlidingArray.remove, SlidingArray._resize

        def counted_at(array: SlidingArray[object], index: int) -> object:
            self.steps += 1
            return at(array, index)

        def counted_remove(array: SlidingArray[object]) -> object:
            self.steps += 1
            return remove(array)

        def counted_resize(array: SlidingArray[object], capacity: int) -> None:
            self.steps += capacity
            resize(array, capacity)

        patch.setattr(SlidingArray, "at", counted_at)
        patch.setattr(SlidingArray, "remove", counted_remove)
        patch.setattr(SlidingArray, "_resize", counted_resize)

    def run(self, action: Callable[..., object], *arguments: object) -> int:
        """Execute `action`; how many steps that took."""
        before = self.steps
        action(*arguments)
        return self.steps - before


def assert_constant(steps: Mapping[int, float], factor: float) -> None:
    """The largest number of steps is at most `factor` times the smallest."""
    assert max(steps.values()) <= factor * min(steps.values()), steps
