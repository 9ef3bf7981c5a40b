"""How much memory something takes for good: what is counted is blocks and bytes, not entries."""

import gc
import sys
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Growth:
    """What is in use afterwards and was not before."""

    bytes: int
    blocks: int


def growth_of(attack: Callable[[int], None], warm: int, turns: int) -> Growth:
    """What `turns` of an attack leave behind, after so many that filled what has a limit."""
    tracemalloc.start()
    try:
        for turn in range(warm):
            attack(turn)
        before = in_use()
        for turn in range(warm, warm + turns):
            attack(turn)
        after = in_use()
    finally:
        tracemalloc.stop()
    return Growth(after.bytes - before.bytes, after.blocks - before.blocks)


def in_use() -> Growth:
    """Bytes that were allocated since tracing began and are not free, and blocks of all kinds."""
    gc.collect()
    return Growth(tracemalloc.get_traced_memory()[0], sys.getallocatedblocks())
