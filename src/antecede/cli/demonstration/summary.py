"""What a demonstration came to: ten lines for people, and the same for programs."""

from dataclasses import asdict, dataclass
from typing import Final, final

from rich.table import Table

from antecede.cli.demonstration.acts import Compared, Cost
from antecede.cli.demonstration.judging import Judgement
from antecede.cli.demonstration.plan import WITH, WITHOUT
from antecede.link.notation import duration_text, three_digits
from antecede.tools.shop import SERVICES, Outcome

COMPARED: Final = ("hybrid", "ks", "rst")
"""The protocols whose metadata the summary names, if they were compared."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """All figures; those by run have the name of the protocol as their key."""

    judge: str
    outcomes: dict[str, Outcome]
    judgements: dict[str, Judgement]
    costs: dict[str, Cost]
    compared: Compared

    def as_object(self) -> dict[str, object]:
        """As JSON has it."""
        return {"finished": True, **asdict(self)}

    @property
    def kept(self) -> bool:
        """Whether causal order did what it promises: everything once, and nothing too early."""
        found = self.judgements[WITH]
        return found.early == found.losses == found.duplicates == 0


def summary_table(summary: Summary) -> Table:
    """Without and with causal order, side by side: seven lines and a heading."""
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 3, 0, 0))
    table.add_column(f"{len(SERVICES)} processes, a bad network")
    table.add_column("no order", justify="right")
    table.add_column("causal order (hybrid)", justify="right")
    for name, left, right in lines_of(summary):
        table.add_row(name, left, right)
    return table


def lines_of(summary: Summary) -> list[tuple[str, str, str]]:
    """A name, what it was without order, what it was with."""
    runs = (WITHOUT, WITH)
    outcomes = [summary.outcomes[run] for run in runs]
    found = [summary.judgements[run] for run in runs]
    costs = [summary.costs[run] for run in runs]
    pairs = list(zip(outcomes, found, strict=True))
    rows: list[tuple[str, list[str]]] = [
        ("messages, deliveries", [f"{o.messages:,}, {f.deliveries:,}" for o, f in pairs]),
        ("datagrams", [f"{one.datagrams:,}" for one in outcomes]),
        ("lost, doubled, overtaking", [faults_text(one) for one in outcomes]),
        ("effects delivered before causes", [early_text(one) for one in found]),
        ("never delivered, delivered twice", [f"{f.losses:,}, {f.duplicates:,}" for f in found]),
        ("latency: median, p99", [latency_text(cost) for cost in costs]),
        ("metadata per message", [f"{three_digits(c.metadata_bytes)} bytes" for c in costs]),
    ]
    return [(name, left, right) for name, (left, right) in rows]


def faults_text(outcome: Outcome) -> str:
    """What the network did to datagrams."""
    return f"{outcome.lost:,}, {outcome.duplicated:,}, {outcome.overtaking:,}"


def latency_text(cost: Cost) -> str:
    """How long messages took, most and almost all of them."""
    return f"{duration_text(cost.latency_p50_ns)}, {duration_text(cost.latency_p99_ns)}"


def early_text(found: Judgement) -> str:
    """How many came too early, so that it catches the eye."""
    if not found.early:
        return "[bold green]0[/]"
    share = found.early / max(found.deliveries, 1)
    return f"[bold red]{found.early:,} of {found.deliveries:,} ({share:.0%})[/]"


def comparison_line(compared: Compared) -> str:
    """What a message carries in the simulator, where there are more processes."""
    figures = [
        f"{name} {three_digits(compared.metadata_bytes[name])}"
        for name in COMPARED
        if name in compared.metadata_bytes
    ]
    return f"In the simulator, n = {compared.processes}, bytes per message: {', '.join(figures)}."
