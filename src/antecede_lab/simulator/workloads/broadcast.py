"""Everybody tells everybody: open-loop Poisson traffic in which every message goes to all others.

The traffic of replicated state and of chat rooms, and the only one that the classic causal
broadcasts (BSS, Newtop) can carry.
"""

from typing import final

from mypy_extensions import i64

from antecede_lab.simulator.workloads.open_loop import OpenLoop


@final
class Broadcast(OpenLoop):
    """`messages` in all, each process sending one to all others every `interval_ns` on average."""

    # Compiled, a constructor that is inherited from a class open to interpreted ones runs twice.
    def __init__(
        self,
        processes: int,
        *,
        messages: int,
        interval_ns: int,
        seed: int,
        payload_bytes: int = 64,
    ) -> None:
        super().__init__(
            processes,
            messages=messages,
            interval_ns=interval_ns,
            seed=seed,
            payload_bytes=payload_bytes,
        )

    @property
    def multicasts(self) -> bool:
        return self.processes > 2

    @property
    def broadcasts(self) -> bool:
        return True

    def targets(self, process: i64) -> list[int]:
        return [other for other in range(self.processes) if other != process]
