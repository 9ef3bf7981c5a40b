"""Which runs to draw when there are many: those that are worth being seen beside each other."""

from collections.abc import Mapping, Sequence

from antecede.report.readers.recordings import DRAWN, Logged
from antecede.report.readers.sweep import Sweep, rank

VIOLATING = 2
"""Of runs of which nothing else is known, so many with violations come to the front."""


def runs_worth_drawing(
    logged: Sequence[Logged], sweeps: Sequence[Sweep], early: Mapping[str, int]
) -> list[Logged]:
    """A few runs; `early` says how many messages came too early, by the id of the run.

    Of a sweep, the protocols on the same workload, network and seed: those of the setting with
    most protocols, and of several such the one with most violations.
    """
    swept = {run.run_id: run for sweep in sweeps for run in sweep.runs}
    known = [run for run in logged if run.run_id in swept]
    if len(known) < 2:
        return first_few(logged, early)
    groups: dict[tuple[object, ...], list[Logged]] = {}
    for run in known:
        one = swept[run.run_id]
        groups.setdefault((*one.setting, one.seed), []).append(run)

    def worth(group: list[Logged]) -> tuple[int, int]:
        return len(group), sum(early.get(run.run_id, 0) for run in group)

    best = max(groups.values(), key=worth)
    best.sort(key=lambda run: rank(swept[run.run_id].protocol))
    return best[:DRAWN]


def first_few(logged: Sequence[Logged], early: Mapping[str, int]) -> list[Logged]:
    """The first runs, and among them those with most violations."""
    worst = sorted(
        (run for run in logged if early.get(run.run_id)), key=lambda run: -early[run.run_id]
    )[:VIOLATING]
    others = [run for run in logged if run not in worst]
    chosen = [*worst, *others][:DRAWN]
    return [run for run in logged if run in chosen]


def pair_of(names: Sequence[str], early: Mapping[str, int]) -> list[int] | None:
    """The two runs to begin with: one without violations and the one with most, if there are."""
    counts = [early.get(name, 0) for name in names]
    if len(names) < 2 or max(counts) == 0 or min(counts) > 0:
        return None
    return [counts.index(0), counts.index(max(counts))]
