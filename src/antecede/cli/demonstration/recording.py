"""The shop, performed twice on the same bad network: without order, and in causal order."""

from collections.abc import Callable
from importlib.util import find_spec

from antecede.cli.demonstration.plan import RUNS, WITH, Places, Plan
from antecede.tools.demo.stage import Outcome, perform

Doing = Callable[[str], None]
Done = Callable[[int, int], None]


def record(plan: Plan, places: Places, doing: Doing, done: Done) -> dict[str, Outcome]:
    """Both performances; their event logs are in the dataset then."""
    outcomes: dict[str, Outcome] = {}
    for run in RUNS:
        doing("in causal order (hybrid)" if run == WITH else "without order (none)")
        outcomes[run] = perform(
            run,
            places.events,
            orders=plan.orders,
            per_second=plan.per_second,
            settings={"trace_format": trace_format()},
            progress=done,
        )
    return outcomes


def trace_format() -> str:
    """What the nodes can write here."""
    return "jsonl" if find_spec("pyarrow") is None else "parquet"
