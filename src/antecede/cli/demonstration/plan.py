"""How large a demonstration is, and what its folder looks like."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

from antecede.core.catalogue import find_protocol
from antecede.lab.comparison.effort import QUICK as LITTLE
from antecede.lab.comparison.effort import USUAL, Effort
from antecede.lab.comparison.plan import LATENCY, LIVENESS, NETWORK, SPACE, THROUGHPUT

WITH: Final = "hybrid"
WITHOUT: Final = "none"
"""The two runs of the shop: the product's own protocol, and the control that orders nothing."""

RUNS: Final = (WITHOUT, WITH)

assert find_protocol(WITH).ordering == "causal"
assert find_protocol(WITHOUT).ordering == "none"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a demonstration consists of."""

    orders: int
    """That customers place, in each run. The oracle can still judge what comes of 600."""
    per_second: float
    protocols: tuple[str, ...]
    """That are compared in the simulator."""
    families: tuple[str, ...]
    effort: Effort


FULL: Final = Plan(
    orders=600,
    per_second=30.0,
    protocols=("rst", "ks", "newtop", "mf", "cykas", "hybrid"),
    families=(NETWORK, SPACE, LATENCY, THROUGHPUT, LIVENESS),
    effort=USUAL,
)

QUICK: Final = Plan(
    orders=100,
    per_second=25.0,
    protocols=("rst", "ks", "mf", "cykas", "hybrid"),
    families=(SPACE, LATENCY, THROUGHPUT),
    effort=LITTLE,
)


@final
@dataclass(frozen=True, slots=True)
class Places:
    """Where a demonstration puts what."""

    folder: Path

    @property
    def events(self) -> Path:
        """The event logs of both runs: a dataset."""
        return self.folder / "events"

    @property
    def audit(self) -> Path:
        """What the audit on Spark found."""
        return self.folder / "audit"

    @property
    def comparison(self) -> Path:
        """What `antecede compare` would have written."""
        return self.folder / "comparison"

    @property
    def report(self) -> Path:
        """The page that shows all of it."""
        return self.folder / "report.html"

    @property
    def figures(self) -> Path:
        """The summary for programs; its presence says that the folder is ours."""
        return self.folder / "demo.json"
