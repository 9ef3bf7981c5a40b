"""`antecede demo`: real processes on a bad network, with and without causal order, judged.

The shop is recorded twice, protocols are compared, and it is measured what order cost. Whether
effects overtook causes is asked of Spark, or of the built-in oracle where there is none: both say
the same, message by message; Spark also does for logs that are larger than memory. What is being
done is said on standard error, so that standard output has the summary alone.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final, final

import click
from rich.markup import escape
from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from antecede.core.errors import AntecedeError, LocalError
from antecede.eventlog.atomic_files import claim, os_errors_as_local, settle
from antecede.installing import how_to_install
from antecede.units import duration_text, three_digits
from antecede_audit import report as audit_report
from antecede_audit.eventlog.reader import read_events
from antecede_audit.judging.oracle import check_log
from antecede_audit.report.assemble import ReportOptions, make_report
from antecede_audit.report.page.document import open_report, write_report
from antecede_audit.report.recordings_page import logged_runs
from antecede_audit.report.sources import find_sources
from antecede_audit.report.spacetime.recording import MISSING, Recording, build_run, rows_of_files
from antecede_audit.report.spacetime.times import latencies_ns
from antecede_audit.spark.java import find_java
from antecede_cli.console import Console, progress_bar
from antecede_cli.options import option_with_default
from antecede_cli.output import Failed
from antecede_cli.spark import SparkProgress, interrupted_in_silence
from antecede_lab import report as lab_report
from antecede_lab.catalogue import find_protocol
from antecede_lab.comparison import measurements as measured
from antecede_lab.comparison.campaign import (
    LATENCY,
    LIVENESS,
    NETWORK,
    SPACE,
    THROUGHPUT,
    Campaign,
    Show,
    entrants_of,
)
from antecede_lab.comparison.documents import write_comparison
from antecede_lab.comparison.effort import QUICK as LITTLE
from antecede_lab.comparison.effort import USUAL, Effort
from antecede_lab.comparison.traffic import UNIFORM
from antecede_lab.demo.shop import SERVICES, ShopOutcome, perform

if TYPE_CHECKING:
    from antecede_audit.spark.session import SparkSession


WITH: Final = "hybrid"
WITHOUT: Final = "none"
"""The two runs of the shop: the product's own protocol, and the control that orders nothing."""

RUNS: Final = (WITHOUT, WITH)

assert find_protocol(WITH).ordering == "causal"
assert find_protocol(WITHOUT).ordering == "none"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class DemoSize:
    """What a demonstration consists of."""

    orders: int
    """That customers place, in each run. The oracle can still judge what comes of 600."""
    per_second: float
    protocols: tuple[str, ...]
    """That are compared in the simulator."""
    families: tuple[str, ...]
    effort: Effort


FULL: Final = DemoSize(
    orders=600,
    per_second=30.0,
    protocols=("rst", "ks", "newtop", "mf", "cykas", "hybrid"),
    families=(NETWORK, SPACE, LATENCY, THROUGHPUT, LIVENESS),
    effort=USUAL,
)

QUICK: Final = DemoSize(
    orders=100,
    per_second=25.0,
    protocols=("rst", "ks", "mf", "cykas", "hybrid"),
    families=(SPACE, LATENCY, THROUGHPUT),
    effort=LITTLE,
)


@final
class DemoFolders:
    """Where a demonstration puts what."""

    def __init__(self, folder: Path) -> None:
        self.folder: Final = folder
        self.events: Final = folder / "events"
        """The event logs of both runs: a dataset."""
        self.audit: Final = folder / "audit"
        """What the audit on Spark found."""
        self.comparison: Final = folder / "comparison"
        """What `antecede lab compare` would have written."""
        self.report: Final = folder / "report.html"
        """The page that shows all of it."""
        self.figures: Final = folder / "demo.json"
        """The summary for programs; its content says that the folder is a demo's."""


WRITTEN: Final = ("events", "audit", "comparison", "report.html", "demo.json")


def make_room(places: DemoFolders) -> None:
    """An empty folder; what an earlier demonstration left in it is replaced.

    `LocalError` if there is anything else in it.
    """
    folder = places.folder
    ours = is_demo(places)
    if folder.is_dir() and any(folder.iterdir()) and not ours:
        raise LocalError(
            f"{folder} is not empty, and not from an earlier demo: choose another place with --out"
        )
    if folder.exists() and not folder.is_dir():
        raise LocalError(f"{folder} is a file: choose another place with --out")
    with os_errors_as_local(folder, "write"):
        folder.mkdir(parents=True, exist_ok=True)
        claim(folder, WRITTEN, known=ours)
        write_figures(places, {"finished": False})
        for made in (places.events, places.audit, places.comparison):
            shutil.rmtree(made, ignore_errors=True)
        places.report.unlink(missing_ok=True)


def is_demo(places: DemoFolders) -> bool:
    """Whether a folder is that of an earlier demonstration, by its summary."""
    try:
        return "finished" in json.loads(places.figures.read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError):
        return False


def write_figures(places: DemoFolders, figures: Mapping[str, object]) -> None:
    """The summary for programs."""
    places.figures.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


SPARK: Final = "Spark"
ORACLE: Final = "the built-in oracle"

THE_STEP: Final = how_to_install("lab")
"""Brings Spark, and a Java to run it."""

SHORT_JOB: Final = {
    # The log is small: more tasks would only add their start-up.
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.driver.memory": "1g",
    # Java compiles quickly instead of well: in a job of seconds that halves its processor time.
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
}

Tell = Callable[[str], None]
Watch = Callable[["SparkSession"], None]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class DemoVerdict:
    """What was found in one run."""

    deliveries: int
    early: int
    """Messages delivered before one that caused them."""
    losses: int
    duplicates: int


def why_no_spark() -> str | None:
    """Why Spark cannot be used here, and the one step that helps; None if it probably can."""
    forced = os.environ.get("ANTECEDE_JAVA", "") == "none"
    if find_spec("pyspark") is None or find_spec("pyarrow") is None:
        return f"Spark is not installed; to have it, {THE_STEP}"
    try:
        find_java()
    except LocalError:
        unset = " and leave ANTECEDE_JAVA unset" if forced else ""
        because = " (ANTECEDE_JAVA=none)" if forced else ""
        return f"There is no Java for Spark{because}; to have one, {THE_STEP}{unset}"
    return None


def judged_by_spark(places: DemoFolders, tell: Tell, watch: Watch) -> dict[str, DemoVerdict]:
    """By run; the tables go where the report looks for them."""
    from antecede_audit.report.audit_page import VIOLATIONS_FOLDER
    from antecede_audit.spark.audit import audit_logs
    from antecede_audit.spark.session import SPARK_ERRORS, first_line, open_session
    from antecede_lab.evaluate.evaluate import count_rows

    try:
        with (
            interrupted_in_silence() as restored,
            open_session("antecede demo", master="local[2]", settings=SHORT_JOB) as session,
        ):
            restored()
            watch(session)
            audit_logs(session, [str(places.events)], str(places.audit), tell=tell)
    except SPARK_ERRORS as error:
        raise LocalError(f"Spark gave up: {first_line(error)}") from error
    counts: dict[str, dict[str, int]] = {}
    for table in (VIOLATIONS_FOLDER, "losses", "duplicates"):
        rows = count_rows(places.audit / table).rows
        counts[table] = {
            run: sum(count for (of, _), count in rows.items() if of == run) for run in RUNS
        }
    return {
        run: DemoVerdict(
            deliveries=sum(e.kind == "delivered" for e in read_events(places.events, run)),
            early=counts[VIOLATIONS_FOLDER][run],
            losses=counts["losses"][run],
            duplicates=counts["duplicates"][run],
        )
        for run in RUNS
    }


def judged_by_oracle(places: DemoFolders, tell: Tell) -> dict[str, DemoVerdict]:
    """By run, straight from the definition."""
    shutil.rmtree(places.audit, ignore_errors=True)  # Spark may have begun something.
    found: dict[str, DemoVerdict] = {}
    for run in RUNS:
        tell(f"judging {run}")
        verdict = check_log(read_events(places.events, run), witnesses=False)
        found[run] = DemoVerdict(
            deliveries=verdict.deliveries,
            early=len(verdict.violations),
            losses=len(verdict.losses),
            duplicates=len(verdict.duplicates),
        )
    return found


Doing = Callable[[str], None]
Done = Callable[[int, int], None]


def record(plan: DemoSize, places: DemoFolders, doing: Doing, done: Done) -> dict[str, ShopOutcome]:
    """The shop on a bad network, without order and in causal order; the dataset has both logs."""
    trace_format = "jsonl" if find_spec("pyarrow") is None else "parquet"
    outcomes: dict[str, ShopOutcome] = {}
    for run in RUNS:
        doing("in causal order (hybrid)" if run == WITH else "without order (none)")
        outcomes[run] = perform(
            run,
            places.events,
            orders=plan.orders,
            per_second=plan.per_second,
            settings={"trace_format": trace_format},
            progress=done,
        )
    return outcomes


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """The one figure that the summary has room for."""

    processes: int
    metadata_bytes: dict[str, float]
    """By protocol: on one message, everybody talking to everybody."""


def compare(plan: DemoSize, places: DemoFolders, show: Show | None) -> Compared:
    """Run it, and write what the report reads."""
    campaign = Campaign(entrants_of(list(plan.protocols)), plan.effort, plan.families)
    campaign.run(show)
    options = f"--protocols {','.join(plan.protocols)} --only {','.join(plan.families)}"
    command = f"antecede lab compare {options}{plan.effort.option}"
    write_comparison(places.comparison, campaign, command)
    points = {
        protocol: campaign.readings.series(protocol, measured.BYTES, UNIFORM)
        for protocol in plan.protocols
    }
    largest = max(int(size) for series in points.values() for size, _ in series)
    return Compared(
        processes=largest,
        metadata_bytes={
            protocol: figure
            for protocol, series in points.items()
            for size, figure in series
            if size == largest
        },
    )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The figures of one run, as the report has them too."""

    latency_p50_ns: int
    latency_p99_ns: int
    metadata_bytes: float
    """For one message to all its targets: on it, and in the control packets it causes."""
    control_packets: float
    """For one message."""


def measure(places: DemoFolders) -> dict[str, Cost]:
    """By run."""
    logged = {run.run_id: run for run in logged_runs(find_sources([places.events], kinds=()))}
    return {
        run: cost_of(build_run(rows_of_files(logged[run].files), run, names={})) for run in RUNS
    }


def cost_of(run: Recording) -> Cost:
    """What a run cost."""
    latencies = latencies_ns(run)
    packets = run.packets
    return Cost(
        latency_p50_ns=latencies[len(latencies) // 2],
        latency_p99_ns=latencies[len(latencies) * 99 // 100],
        metadata_bytes=sum(packets.metadata_bytes) / run.messages,
        control_packets=sum(copy == MISSING for copy in packets.copy) / run.messages,
    )


STEPS: Final = 4


class DemoProgress(SparkProgress):
    """The bar of one step; without a terminal it does nothing."""

    def done(self, count: int, total: int) -> None:
        """Say how much of it is done."""
        self._bar.update(self._task, completed=count, total=total)

    def show(self, count: int, total: int, text: str) -> None:
        """Say what is being done, and how much."""
        self.tell(text)
        self.done(count, max(total, 1))


class Steps:
    """Numbers the steps."""

    def __init__(self) -> None:
        self._console: Final = Console(stderr=True, highlight=False)
        self._number = 0

    @contextmanager
    def step(self, text: str) -> Iterator[DemoProgress]:
        """Say which step begins; its bar is gone when it is over."""
        self._number += 1
        self._console.print(f"[bold]{self._number}/{STEPS}[/] {escape(text)}", soft_wrap=True)
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            TimeElapsedColumn(),
        )
        with progress_bar(*columns) as progress:
            bar = DemoProgress(progress, progress.add_task("", total=None))
            try:
                yield bar
            finally:
                bar.stop()

    def note(self, text: str) -> None:
        """Something worth knowing."""
        self._console.print(f"    {escape(text)}", soft_wrap=True)


COMPARED: Final = ("hybrid", "ks", "rst")
"""The protocols whose metadata the summary names, if they were compared."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class DemoSummary:
    """All figures; those by run have the name of the protocol as their key."""

    judge: str
    outcomes: dict[str, ShopOutcome]
    judgements: dict[str, DemoVerdict]
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


def summary_table(summary: DemoSummary) -> Table:
    """Without and with causal order, side by side: seven lines and a heading."""
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 3, 0, 0))
    table.add_column(f"{len(SERVICES)} processes, a bad network")
    table.add_column("no order", justify="right")
    table.add_column("causal order (hybrid)", justify="right")
    for name, left, right in lines_of(summary):
        table.add_row(name, left, right)
    return table


def lines_of(summary: DemoSummary) -> list[tuple[str, str, str]]:
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


def faults_text(outcome: ShopOutcome) -> str:
    """What the network did to datagrams."""
    return f"{outcome.lost:,}, {outcome.duplicated:,}, {outcome.overtaking:,}"


def latency_text(cost: Cost) -> str:
    """How long messages took, most and almost all of them."""
    return f"{duration_text(cost.latency_p50_ns)}, {duration_text(cost.latency_p99_ns)}"


def early_text(found: DemoVerdict) -> str:
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


EPILOG: Final = """
\b
Examples:
  antecede demo                        a few minutes; everything goes to antecede-demo
  antecede demo --quick --open         less than a minute, then the browser
  antecede demo --out runs/demo        somewhere else
  ANTECEDE_JAVA=none antecede demo     as on a machine without Java

\b
DIR gets
  report.html    the page to look at: spacetime diagrams of both runs, the audit, the comparison
  events/        what happened to every message, as `antecede audit` and `report` read it
  audit/         what the audit on Spark found
  comparison/    what `antecede lab compare` writes
  demo.json      the summary

What an earlier demo left there is replaced; a folder with anything else in it is refused.
"""


@click.command(epilog=EPILOG, short_help="See it all at work, on a bad network.")
@click.option("--quick", is_flag=True, help="Smaller, in less than a minute.")
@option_with_default(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    default=Path("antecede-demo"),
    help="Where everything goes.",
)
@click.option("--open", "opened", is_flag=True, help="Open the report in the browser.")
def command(quick: bool, out: Path, opened: bool) -> None:
    """See causal order at work: real processes, a bad network, with it and without.

    Eight services of a web shop, each a process of its own, talk over UDP through a proxy that
    loses, doubles and reorders what they send: first without order, then in causal order (hybrid).
    Both event logs are audited on Spark, some protocols are compared in the simulator, and
    everything ends up in one report.
    """
    places = DemoFolders(out)
    make_room(places)
    try:
        summary = performed(QUICK if quick else FULL, places)
    except LocalError:
        raise
    except AntecedeError as error:
        raise Failed(failure_text(error)) from error
    write_figures(places, summary.as_object())
    settle(places.folder, WRITTEN)
    console = Console(highlight=False)
    console.print(summary_table(summary))
    console.print(comparison_line(summary.compared), soft_wrap=True)
    ending = f"Judged by {summary.judge}. The report is in {escape(str(places.report))}"
    console.print(ending, soft_wrap=True)
    if opened and not open_report(places.report):
        click.echo("No browser could be opened.", err=True)
    if not summary.kept:
        raise Failed("causal order was promised and not kept: the report shows where")


def performed(plan: DemoSize, places: DemoFolders) -> DemoSummary:
    """All steps, one after the other."""
    steps = Steps()
    rate = f"{plan.orders} orders at {plan.per_second:g} a second"
    with steps.step(f"a shop of {len(SERVICES)} processes on a bad network, {rate}, twice") as bar:
        outcomes = record(plan, places, bar.tell, bar.done)
    judge, judgements = judged(steps, places)
    with steps.step("comparing protocols in the simulator") as bar:
        compared = compare(plan, places, bar.show)
    with steps.step("writing the report") as bar:
        bar.tell("measuring")
        summary = DemoSummary(
            judge=judge,
            outcomes=outcomes,
            judgements=judgements,
            costs=measure(places),
            compared=compared,
        )
        bar.tell("drawing")
        wanted = ReportOptions(title="antecede demo: a shop on a bad network")
        parts = (*audit_report.PARTS, *lab_report.PARTS)
        write_report(places.report, make_report([places.folder], wanted, parts))
    return summary


def judged(steps: Steps, places: DemoFolders) -> tuple[str, dict[str, DemoVerdict]]:
    """Who judged, and what was found by run; where Spark cannot, it is said how to get it."""
    reason = why_no_spark()
    with steps.step(f"auditing both runs with {SPARK if reason is None else ORACLE}") as bar:
        if reason is None:
            bar.tell("starting Spark")
            try:
                return SPARK, judged_by_spark(places, bar.tell, bar.watch)
            except LocalError as error:
                reason = f"Spark does not work here, so {ORACLE} has to do: {error}"
        steps.note(reason)
        return ORACLE, judged_by_oracle(places, bar.tell)


def failure_text(error: AntecedeError) -> str:
    """What went wrong, without the stack of a process that has failed."""
    lines = str(error).strip().splitlines()
    if len(lines) < 2:
        return str(error)
    return f"{lines[0]} {lines[-1]}"
