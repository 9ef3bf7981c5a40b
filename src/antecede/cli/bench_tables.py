"""The results of `antecede bench` as tables."""

from rich.table import Table

from antecede.tools.bench.contest import P50, P99, Results, effort_of, throughput_of


def speed_table(results: Results) -> Table:
    """What each library reached, and the processor time a message took of both its ends."""
    plan = results.plan
    table = Table(title="Two processes, one way and there and back")
    table.add_column("library", no_wrap=True)
    for size in plan.sizes:
        table.add_column(f"{size} B, messages/s", justify="right", overflow="fold")
        table.add_column("processor", justify="right")
    table.add_column("round trip p50", justify="right")
    table.add_column("p99", justify="right")
    for readings in results.readings.values():
        cells: list[str] = []
        for size in plan.sizes:
            cells.append(cell(readings.median(throughput_of(size)), ",.0f"))
            cells.append(cell(readings.median(effort_of(size)), ".2f", " µs"))
        cells.extend(cell(readings.median(measure), ",.0f", " µs") for measure in (P50, P99))
        table.add_row(readings.name, *cells)
    for key, reason in results.skipped.items():
        table.add_row(f"[dim]{key}: {reason}[/]")
    return table


def cell(figure: float | None, form: str, unit: str = "") -> str:
    """One figure, or that there is none."""
    return "failed" if figure is None else f"{figure:{form}}{unit}"


def ratio_table(results: Results, own: str) -> Table:
    """How many times as fast one of ours is as each of the others."""
    plan = results.plan
    table = Table(title=f"{results.readings[own].name} against the others: times as fast")
    table.add_column("library", no_wrap=True)
    for size in plan.sizes:
        table.add_column(f"{size} B", justify="right")
        table.add_column("processor", justify="right")
    table.add_column("round trip p50", justify="right")
    for key, readings in results.readings.items():
        if key.startswith("antecede"):
            continue
        ratios: list[float | None] = []
        for size in plan.sizes:
            ratios.append(results.ratio(throughput_of(size), own, key))
            ratios.append(results.ratio(effort_of(size), key, own))
        ratios.append(results.ratio(P50, key, own))
        table.add_row(readings.name, *("" if ratio is None else f"{ratio:.2f}" for ratio in ratios))
    return table
