"""`antecede watch`: event logs judged while they grow, on Spark."""

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import click

from antecede.core.errors import LocalError
from antecede.eventlog.atomic_files import write_atomically
from antecede.units import counted
from antecede_cli.console import Console
from antecede_cli.options import DURATION, option_with_default
from antecede_cli.spark import check_readable, check_writable, need_spark, spark_session

if TYPE_CHECKING:
    from antecede_audit.judging.definition import Order
    from antecede_audit.spark.watch.progress import BatchProgress, Channel
    from antecede_audit.spark.watch.watch import Format

NS_PER_S: Final = 1_000_000_000
PAGE: Final = "index.html"

EPILOG: Final = """
\b
Examples:
  antecede watch events --out watched               until Ctrl-C; look at watched/index.html
  antecede watch events --out watched --once        what is there now, and stop
  antecede watch events --out watched --once --finish    nothing more will come: judge it all
  antecede watch traces --format otlp --out watched      what a collector writes into a folder

\b
EVENTS is a folder into which files of an event log are put: by live nodes (trace=), by
`antecede ingest`, by anybody; those below a folder run_id=NAME are a run of their own. Or it
has spans, as collectors write them. DIR gets
  violations/ duplicates/ inventions/   as `antecede audit` has them, a folder for each batch
  losses/ retracted/                    what did not come in time, and what then came after all
  rejects/                              rows and spans that could not be used, and why
  progress/                             a row for each batch: what was judged and found
  index.html                            the same as a page, which reloads itself
  checkpoint/ state/                    where to go on: a watch that is killed and started again
                                        on the same DIR loses no finding and has none twice

A message may be found too early more than once, each time with a later one that it should
have awaited; the latest row counts.
"""


@click.command(epilog=EPILOG, short_help="Judge event logs while they grow.")
@click.argument("source", metavar="EVENTS")
@click.option("--out", required=True, metavar="DIR", help="Where findings go.")
@option_with_default(
    "--format",
    "format_name",
    type=click.Choice(["parquet", "json", "orc", "otlp", "jaeger", "zipkin"]),
    default="parquet",
    help="What the files are: events (json means JSON lines), or spans.",
)
@click.option(
    "--order",
    type=click.Choice(["process", "trace"]),
    help="What counts as a cause, as for `antecede audit`.",
)
@option_with_default(
    "--every", type=DURATION, default="10s", help="How often to look for new files."
)
@option_with_default(
    "--patience",
    type=DURATION,
    default="30s",
    help="Do not wait for a process that has reported nothing for this long.",
)
@option_with_default(
    "--lost-after",
    type=DURATION,
    default="60s",
    help="A message that is not delivered within this time is reported lost.",
)
@option_with_default(
    "--horizon",
    type=DURATION,
    default="600s",
    help="Keep events of this long in memory. Of a message that is under way for longer only its "
    "submission is kept.",
)
@option_with_default(
    "--longest",
    type=DURATION,
    default="60s",
    help="For spans: how long a span may take. One that takes longer may come too late to be "
    "judged.",
)
@click.option("--once", is_flag=True, help="Judge what is there now, and stop.")
@click.option(
    "--finish", is_flag=True, help="With --once: nothing more will come, so judge everything."
)
@click.option("--master", help="A Spark master URL.  [default: this machine]")
@click.pass_context
def command(
    context: click.Context,
    source: str,
    out: str,
    format_name: "Format",
    order: "Order | None",
    every: int,
    patience: int,
    lost_after: int,
    horizon: int,
    longest: int,
    once: bool,
    finish: bool,
    master: str | None,
) -> None:
    """Judge causal order while an event log grows, and show it on a page.

    The log is judged up to its mark: the time up to which every process has reported. A message
    that was delivered before its cause, or twice, is reported once the mark has passed its
    delivery. A message that is not delivered within --lost-after is reported lost; if it comes
    after all, the report is retracted.
    """
    need_spark()
    if finish and not once:
        raise click.UsageError("--finish goes with --once: nothing more will come")
    from antecede_audit.spark.watch.state import WatchSettings
    from antecede_audit.spark.watch.watch import WRITTEN, is_watch, wait_for, watch
    from antecede_audit.spark.watch.watch import finish as judge_the_rest

    check_readable(source)
    check_writable(out, names=() if is_watch(out) else WRITTEN)
    settings = WatchSettings(
        order=order,
        patience_ns=patience,
        lost_after_ns=lost_after,
        horizon_ns=horizon,
        longest_ns=longest,
    )
    page = Page(source, out, every / NS_PER_S)
    with spark_session(context, master) as session:
        query = watch(
            session,
            source,
            out,
            settings,
            format_name=format_name,
            every_s=every / NS_PER_S,
            once=once,
            tell=page.tell,
        )
        try:
            if wait_for(query):
                return
            if finish:
                judge_the_rest(session, out, settings, format_name, page.tell)
        finally:
            query.stop()


class Page:
    """Says on the terminal and on the page what each batch came to."""

    def __init__(self, source: str, out: str, every_s: float) -> None:
        self._source: Final = source
        self._out: Final = out
        self._every_s: Final = every_s
        self._console: Final = Console(highlight=False)

    def tell(self, progress: "list[BatchProgress]", channels: "list[Channel]") -> None:
        """A batch is done."""
        from antecede_audit.report.watch_page import lag_text

        last = progress[-1]
        rejected = self._rejected(last.batch)
        self._console.print(
            f"batch {last.batch}: {counted(last.events, 'event')}, {last.violations:,} too early, "
            f"{last.duplicates:,} twice, {last.losses:,} lost, {last.retracted:,} came after all, "
            f"{last.open_copies:,} under way{rejected}; judged up to {lag_text(progress)}",
            soft_wrap=True,
        )
        self._write(progress, channels)

    def _rejected(self, batch: int) -> str:
        """How many rows of a batch could not be used, if there are any."""
        from antecede_audit.spark.watch.reading import rejected_in

        count = rejected_in(f"{self._out}/rejects/batch={batch}")
        return f", {count:,} rejected (rejects/ says why)" if count else ""

    def _write(self, progress: "list[BatchProgress]", channels: "list[Channel]") -> None:
        from antecede_audit.paths import local_path
        from antecede_audit.report.watch_page import watch_page
        from antecede_audit.spark.storage import is_local_path

        if not is_local_path(self._out):
            return
        text = watch_page(progress, channels, self._names(), self._source, self._every_s)
        with write_atomically(local_path(self._out) / PAGE) as partial:
            partial.write_text(text, encoding="utf-8")

    def _names(self) -> Mapping[int, str]:
        """What the processes are called, if the log says so."""
        from antecede.eventlog.processes import read_processes
        from antecede_audit.paths import local_path
        from antecede_audit.spark.storage import is_local_path

        for place in filter(is_local_path, (self._source, self._out)):
            with suppress(OSError, LocalError):
                if names := read_processes(local_path(place)):
                    return names
        return {}
