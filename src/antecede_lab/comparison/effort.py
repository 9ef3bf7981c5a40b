"""How much to measure: three levels, and how far each protocol goes.

More effort means larger groups, longer runs and more of them, never another kind of run.
"""

from dataclasses import dataclass
from typing import Any, Final, final

from antecede.core.catalogue import ProtocolInfo


@final
@dataclass(frozen=True, kw_only=True)
class Effort:
    """The sizes of all runs."""

    name: str
    option: str
    """What asks for it on the command line."""
    seeds: int
    """Runs of everything that depends on chance."""
    sizes: tuple[int, ...]
    """Numbers of processes for metadata and state."""
    messages_each: int
    """Messages that each process sends there, on average."""
    messages_max: int
    copies_max: int
    """Limits of one such run: all messages, and all copies of broadcasts."""
    step_sizes: tuple[int, ...]
    """Numbers of processes where steps are counted: interpreted, and therefore small."""
    loads: tuple[float, ...]
    """Messages that each process sends in the time that one takes to arrive, on average."""
    latency_processes: int
    latency_messages_each: int
    group_messages: tuple[int, ...]
    """Lengths of the runs that show whether latency depends on it."""
    holdings: tuple[int, ...]
    """Messages of a sort that a process holds while its state is looked at."""
    distances_ms: tuple[int, ...]
    stream_messages: int
    dag_requests: int
    turns: tuple[int, ...]
    """Turns of the scripts whose waits may grow with their length."""
    patiences_ms: tuple[int, ...]
    """Patience of timers, where a protocol might depend on them."""
    trials: int
    """Runs on networks that do not suit a protocol, and on bad ones."""
    trial_processes: tuple[int, ...]
    trial_messages: int
    """For each process of such a run."""


LEVELS: Final[dict[str, tuple[Any, Any, Any]]] = {
    "name": ("quick", "usual", "full"),
    "option": (" --quick", "", " --full"),
    "seeds": (1, 3, 5),
    "sizes": (
        (4, 8, 16),
        (5, 10, 20, 50, 100),
        (5, 10, 20, 50, 100, 200, 500, 1_000, 10_000),
    ),
    "messages_each": (12, 20, 20),
    "messages_max": (512, 10_000, 40_000),
    "copies_max": (1_000, 40_000, 400_000),
    "step_sizes": ((4, 8, 16), (5, 10, 20, 40), (5, 10, 20, 40, 80, 160)),
    "loads": ((0.1, 1.0), (0.1, 0.5, 1.0, 2.0), (0.1, 0.5, 1.0, 2.0)),
    "latency_processes": (5, 10, 10),
    "latency_messages_each": (25, 100, 400),
    "group_messages": (
        (200, 400),
        (2_000, 4_000, 8_000, 16_000),
        (2_000, 4_000, 8_000, 16_000, 32_000),
    ),
    "holdings": ((5, 20, 80), (10, 100, 1_000), (10, 100, 1_000, 10_000)),
    "distances_ms": ((1, 8), (1, 4, 16), (1, 4, 16, 64)),
    "stream_messages": (120, 400, 1_600),
    "dag_requests": (30, 150, 400),
    "turns": ((10, 20), (25, 100), (100, 400)),
    "patiences_ms": ((20, 100), (20, 100), (20, 100)),
    "trials": (3, 10, 30),
    "trial_processes": ((4,), (4, 8), (4, 8, 16)),
    "trial_messages": (8, 15, 20),
}
"""Each field at the three levels."""

EFFORTS: Final = tuple(
    Effort(**{name: at_levels[level] for name, at_levels in LEVELS.items()}) for level in range(3)
)
QUICK, USUAL, FULL = EFFORTS


@final
@dataclass(frozen=True, kw_only=True)
class Reach:
    """The largest number of processes at which a protocol is measured, and why no larger."""

    processes: int
    reason: str


MATRIX: Final = Reach(
    processes=1_000,
    reason="every process keeps something about every other, or every pair: 10⁸ and more in all, "
    "which does not fit memory",
)
BROADCAST: Final = Reach(
    processes=1_000,
    reason="a broadcast to everybody, and what it costs each, is n² work: more than a run may take",
)

REACHES: Final[dict[str, Reach]] = {
    "rst": MATRIX,
    "ks": MATRIX,
    "prs": MATRIX,
    "ses": MATRIX,
    "topology": MATRIX,
    "bss": BROADCAST,
    "newtop": BROADCAST,
    "baldoni": BROADCAST,
}


def reach_of(info: ProtocolInfo) -> Reach | None:
    """How far a protocol goes; None: as far as anybody asks."""
    if info.name in REACHES:
        return REACHES[info.name]
    return BROADCAST if info.broadcast_only else None
