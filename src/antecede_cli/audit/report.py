"""`antecede report`: results of other commands as one HTML file."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import click

from antecede.core.errors import LocalError
from antecede_cli.options import DURATION, option_with_default
from antecede_cli.spark import is_local, need_spark, spark_session

EPILOG: Final = """
\b
Examples:
  antecede report runs --out report.html              whatever is in the folder `runs`
  antecede report table audit events                  several folders in one report
  antecede report events --run 'hybrid*' --open       only these runs; show it
  antecede report events --from 10s --to 12s          a part of a long run
  antecede simulate -p none --out none.parquet && antecede report none.parquet

\b
What is looked for, in the folders and below them:
  event logs       diagrams, latencies, buffers; short ones are audited on the spot
  compare          the comparison table, metadata and cost against n, throughput against distance
  sweep, evaluate  latencies and costs of every protocol and scenario
  audit            which channels, how long, the worst in words

The file needs no network, no server and no Java; nor does making it, unless DIR is a URL that only
Spark can read (s3a://…, hdfs://…).
"""


@click.command(epilog=EPILOG, short_help="Make one HTML file of results.")
@click.argument(
    "places",
    metavar="DIR...",
    nargs=-1,
    required=True,
)
@option_with_default(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("report.html"),
    help="The file to write.",
)
@click.option(
    "--run",
    "runs",
    multiple=True,
    metavar="ID",
    help="Draw this run, or those that a pattern such as 'hybrid*' fits.  [default: the first 6]",
)
@click.option("--from", "from_ns", type=DURATION, help="Leave out what comes earlier in a run.")
@click.option("--to", "to_ns", type=DURATION, help="Leave out what comes later in a run.")
@click.option(
    "--trace-url",
    metavar="URL",
    help="Link findings to their traces: an address with {trace_id} in it.",
)
@option_with_default("--title", default="antecede report")
@click.option("--open", "opened", is_flag=True, help="Open it in the browser.")
@click.option("--master", help="A Spark master URL, if DIR is not on this machine.")
@click.pass_context
def command(
    context: click.Context,
    places: tuple[str, ...],
    out: Path,
    runs: tuple[str, ...],
    from_ns: int | None,
    to_ns: int | None,
    trace_url: str | None,
    title: str,
    opened: bool,
    master: str | None,
) -> None:
    """Make one self-contained HTML file of what is in DIR: tables, charts, spacetime diagrams."""
    from antecede_audit import report as audit_report
    from antecede_audit.report.assemble import ReportOptions, make_report
    from antecede_audit.report.page.document import open_report, write_report
    from antecede_audit.report.spacetime.recording import TimeRange
    from antecede_lab import report as lab_report

    if from_ns is not None and to_ns is not None and from_ns >= to_ns:
        raise LocalError("--from must be earlier than --to")
    if trace_url is not None and "{trace_id}" not in trace_url:
        raise LocalError("--trace-url must have {trace_id} where the id of the trace belongs")
    if trace_url is not None and not trace_url.startswith(("https://", "http://")):
        raise LocalError("--trace-url must begin with https:// or http://")
    window = TimeRange(from_ns=from_ns, to_ns=to_ns)
    wanted = ReportOptions(runs=runs, window=window, title=title, trace_url=trace_url)
    with fetched(context, places, master) as folders:
        report = make_report(folders, wanted, (*audit_report.PARTS, *lab_report.PARTS))
    for what, where in report.sources:
        click.echo(f"Found {what} in {where}.", err=True)
    size = write_report(out, report)
    click.echo(f"The report is in {out} ({size / 1e6:.1f} MB).")
    if opened and not open_report(out):
        click.echo("No browser could be opened.", err=True)


@contextmanager
def fetched(
    context: click.Context, places: tuple[str, ...], master: str | None
) -> Iterator[list[Path]]:
    """What is to be reported, on this machine: Spark brings copies of what is elsewhere."""
    if all(is_here(place) for place in places):
        for missing in (place for place in places if not Path(place).exists()):
            raise LocalError(f"{missing} does not exist")
        yield [Path(place) for place in places]
        return
    need_spark()
    from antecede_audit.spark.storage import Storage

    with spark_session(context, master) as session, Storage(session) as elsewhere:
        yield [elsewhere.fetched(place) for place in places]


def is_here(place: str) -> bool:
    """Whether a path is one of this machine; asked without Spark where that will do."""
    if Path(place).exists():
        return True
    return "://" not in place and not (find_spec("pyspark") and not is_local(place))
