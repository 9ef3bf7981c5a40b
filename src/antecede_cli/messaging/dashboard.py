"""`antecede dashboard`: a cluster, or a recorded run, in a browser."""

import os
from pathlib import Path
from typing import Final
from urllib.parse import quote

import click

from antecede.core.errors import LocalError
from antecede.runtime.config.addresses import Address, parse_text
from antecede_cli.options import allow_only, option_with_default
from antecede_cli.view.dashboard import PORT, Dashboard, LiveViews, serve_dashboard, token_for
from antecede_cli.view.finding import WHERE, finding_options, make_collector
from antecede_cli.view.page import live_page

TOKEN_VARIABLE: Final = "ANTECEDE_DASHBOARD_TOKEN"

EXAMPLES = f"""\b
Examples:
  antecede dashboard                             the node at port 9464 of this machine and its peers
  antecede dashboard 10.0.0.2:9464               ask one, and the peers that it names
  antecede dashboard --bind 0.0.0.0:{PORT} ...     for others, who need the token that is printed
  antecede dashboard --events events/            replay what nodes have recorded (trace=)

{WHERE}
\b
Beyond loopback a token is needed: the one in ${TOKEN_VARIABLE}, or a new one, which is
printed. Who has it sees names and figures, never payloads. There is no encryption: put a proxy that
has TLS before it, or a tunnel.
"""


@click.command("dashboard", epilog=EXAMPLES)
@finding_options
@option_with_default(
    "--bind", metavar="HOST:PORT", default=f"127.0.0.1:{PORT}", help="Where to serve the page."
)
@click.option(
    "--events",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Replay this event log instead, with its spacetime diagram.",
)
@click.option("--run", "run_id", metavar="ID", help="With --events: which run, if there are more.")
@click.pass_context
def command(
    context: click.Context,
    places: tuple[str, ...],
    file: Path | None,
    dns: str | None,
    follow: bool,
    bind: str,
    events: Path | None,
    run_id: str | None,
) -> None:
    """Show the nodes of a cluster on a page: who waits for whom, and what has happened.

    The page is whole in itself, and made for a phone as well; all can be done by keys.
    """
    at = read_bind(bind)
    token = token_for(at, os.environ.get(TOKEN_VARIABLE, ""))
    if events is not None:
        allow_only(context, "--events", ("events", "run_id", "bind"))
        dashboard = replay_dashboard(events, run_id, token)
        serve_dashboard(dashboard, at, None, lambda address: tell(address, token))
        return
    if run_id is not None:
        raise click.UsageError("--run goes with --events")
    collector = make_collector(places, file, dns, follow)
    dashboard = Dashboard(LiveViews(collector), live_page(), token)
    serve_dashboard(dashboard, at, collector, lambda address: tell(address, token))


def replay_dashboard(events: Path, run_id: str | None, token: str) -> Dashboard:
    """What replays a run that was recorded."""
    from antecede_cli.view.replay import ReplayViews, read_run, replay_page

    recording = read_run(events, run_id)
    return Dashboard(ReplayViews(recording.run), replay_page(recording), token)


def read_bind(text: str) -> Address:
    """Where to serve."""
    try:
        return parse_text(text)
    except LocalError as error:
        raise LocalError(f"--bind: {error}; write HOST:PORT") from None


def tell(address: Address, token: str) -> None:
    """Say where to look."""
    secret = f"#token={quote(token)}" if token else ""
    click.echo(f"http://{address}/{secret}")
