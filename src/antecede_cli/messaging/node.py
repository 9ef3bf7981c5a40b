"""`antecede node`: one node for scripts and other languages, JSON lines in and out."""

from functools import partial
from typing import Any

import click

from antecede.core.errors import Fenced, LocalError
from antecede.durability.errors import JournalFailed, JournalFull
from antecede.runtime.config.addresses import Address, parse_address
from antecede.runtime.errors import BadConfiguration, Stranded, TraceFailed
from antecede.runtime.observe.http_server import PATHS
from antecede.runtime.opening import NodeOpening
from antecede_cli.json_lines import OutputFailed, run_json_lines
from antecede_cli.node_options import read_settings, settings_options
from antecede_cli.output import Failed

EXAMPLES = """\b
Examples:
  antecede node --name alice --bind 127.0.0.1:9001 --peer bob=127.0.0.1:9002
  antecede node --config node.toml --trace events/
  printf '%s\\n' '{"to": ["bob"], "text": "hello", "id": "a1"}' | antecede node --name alice ...

\b
Lines in:   {"to": ["bob", "carol"], "text": "hello", "id": "a1"}     ("id" is optional)
            {"request": "bob", "text": "how many?", "id": "a2", "timeout": 5}     ("timeout" is
                                                    optional, in seconds)
            {"reply": 1, "text": "three"}           answer request 1 of this node
            {"join": "lobby", "via": "bob", "history": true}    join a room through bob; without
                                                    "via" it is new
            {"room": "lobby", "text": "hello, all", "id": "a3"}    say this to all who are there
            {"leave": "lobby"}
            {"expel": "bob", "reason": "disk died"}    go on without bob, for good; done at once,
                                                    even if an earlier line still waits
Lines out:  {"event": "ready", "name": "alice", "address": "127.0.0.1:9001"}   the first one
            {"sent": "a1", "sequence": 7}           the message is buffered; with a journal: on disk
            {"sent": "a1", "sequence": 7, "left_out": ["carol"]}    not sent to carol, who is away
            {"from": "bob", "sequence": 3, "text": "hi"}    a delivery, in causal order; with a
                                                    journal and after a crash perhaps "again": true
            {"request": 1, "from": "bob", "text": "how many?"}    to be answered with a line that
                                                    has this number
            {"reply": "a2", "from": "bob", "text": "three"}    the reply to a request of this node
            {"from": "bob", "room": "lobby", "text": "hi"}    what bob has said in a room
            {"event": "joined", "room": "lobby", "peer": "bob"}    or "left"
            {"error": "...", "id": "a1"}            that line failed; the node goes on
            {"event": "restarted", "peer": "bob"}   something to know about a peer
            {"event": "undeliverable", "peer": "bob", "sequences": [7], "why": "gone"}
                                                    perhaps not delivered; "why" may also be
                                                    "left out", "too large": certainly not
            {"event": "fenced", "by": "carol", ...} this node was expelled, and exits with 1
Bytes that are not text go as "base64" instead of "text".

\b
Peers that are not here: if a target has not been met yet, the line waits for it, at most
10 s from the start (--set meet_within=1min), and the lines after it wait, too. If a target has
left, was expelled or did not come, it is left out; if no target remains, the line is an error.
With --set away=wait the line waits until it is here, with --set away=refuse it is an error.
If a peer is silent for 10 s while others wait for it, it is expelled. If restarts take longer,
give --expel majority:2min at all nodes. To start a node again whenever it was expelled:
  while antecede node --name alice ...; [ $? -eq 1 ]; do sleep 1; done
"""


@click.command("node", epilog=EXAMPLES)
@settings_options
@click.option(
    "--metrics",
    metavar="HOST:PORT",
    help=f"Answer {PATHS} there, over HTTP.",
)
def command(metrics: str | None, **options: Any) -> None:  # noqa: ANN401 - as click has it
    """Run one node: read JSON lines, send them, and write what is delivered.

    Messages are delivered exactly once and in causal order. At the end of input the node waits
    until everything it sent is delivered, says bye, and goes on receiving until its peers have
    said bye, too. After SIGTERM or Ctrl-C it does not wait for their byes; a second signal ends it
    at once. After SIGHUP it reads its files again and takes over peers and keys. The exit status is
    1 if peers still miss something, whose names are printed, or if the node was expelled; else 0.
    """
    read = partial(read_settings, **options)
    at = None if metrics is None else metrics_at(metrics)
    try:
        run_json_lines(NodeOpening(read(), None), at, read)
    except (Stranded, OutputFailed, TraceFailed, Fenced, JournalFailed, JournalFull) as error:
        raise Failed(str(error)) from None


def metrics_at(text: str) -> Address:
    """Where to serve metrics."""
    try:
        return parse_address(text)
    except LocalError as error:
        raise BadConfiguration(f"--metrics: {error}; write HOST:PORT") from None
