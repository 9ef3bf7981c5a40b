"""`antecede node`: one node for scripts and other languages, JSON lines in and out."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import click

from antecede.core.errors import Fenced, LocalError
from antecede.durability.errors import JournalFailed, JournalFull
from antecede.runtime.config.addresses import Address, CarriedAddress, parse_address
from antecede.runtime.config.settings import SETTING_NAMES, Settings, gather_settings
from antecede.runtime.errors import BadConfiguration, Stranded, TraceFailed
from antecede.runtime.observe.http_server import PATHS
from antecede.runtime.opening import NodeOpening
from antecede_cli.json_lines import OutputFailed, run_json_lines
from antecede_cli.output import Failed

LINGER: Final = "30s"
"""The scripts of a group end one after the other: longer than a node has by itself."""

CONFIRM: Final = "done"
"""A delivery is confirmed when its line is written."""

OPTIONS: Final = {"peers": "--peer", "peer_keys": "--peer-key"}
"""Options that are called otherwise than the settings that they give."""

WITH_OPTIONS: Final = (
    "name", "bind", "peers", "key", "peer_keys", "cluster_key", "insecure", "order", "journal",
    "trace", "linger", "expel", "http",
)  # fmt: skip
OTHER_SETTINGS: Final = [name for name in SETTING_NAMES if name not in (*WITH_OPTIONS, "confirm")]
"""Settings without an option of their own; deliveries are always confirmed by this command."""

JOURNAL_SETTINGS: Final = ("durable", "journal_limit")
TRACE_SETTINGS: Final = ("trace_format", "trace_run", "trace_rotate")
UDP_SETTINGS: Final = ("gso", "busy_poll", "stay_awake")
"""What is of use only with something else."""

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
@click.option("--name", help="What the node is called; unique among all that talk.")
@click.option("--bind", metavar="HOST:PORT", help="Where to listen.  [default: 127.0.0.1:0]")
@click.option(
    "--peer",
    "peers",
    multiple=True,
    metavar="NAME=HOST:PORT",
    help="A peer, and where it is; NAME alone lets it say hello first. May be repeated.",
)
@click.option("--key", metavar="FILE", help="This node's secret key (antecede key new FILE).")
@click.option(
    "--peer-key",
    "peer_keys",
    multiple=True,
    metavar="NAME=PUBLIC",
    help="The public key of a peer. May be repeated, also for one peer while it changes its key.",
)
@click.option(
    "--cluster-key",
    metavar="FILE",
    help="One secret key that all nodes share, instead of --key and --peer-key.",
)
@click.option(
    "--insecure",
    is_flag=True,
    help="Talk beyond this machine without any key: anybody can read and forge messages.",
)
@click.option(
    "--order",
    metavar="ORDER",
    help="causal, hybrid-sps, hybrid-csps, fifo or none; the same at all nodes.  [default: causal]",
)
@click.option("--config", type=click.Path(path_type=Path), help="A TOML file with a [node] table.")
@click.option(
    "--journal",
    metavar="DIR",
    help="Keep in this folder what a crash must not lose, and go on from it after a crash.",
)
@click.option("--trace", metavar="DIR", help="Write the event log there.")
@click.option(
    "--linger",
    metavar="DURATION",
    help="At the end of input, wait at most this long until everything is delivered and the "
    f"peers have said bye.  [default: {LINGER}]",
)
@click.option(
    "--expel",
    metavar="POLICY",
    help="When a silent peer is expelled while others wait for it. majority:10s: after 10 s, by a "
    "node that more than half of all members answer. after:30s: after 30 s, by any node; if the "
    "network splits, both halves go on apart. manual: never.  [default: majority:10s; manual with "
    "order fifo or none]",
)
@click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="KEY=VALUE",
    help=f"Any other setting: {', '.join(OTHER_SETTINGS)}.",
)
@click.option(
    "--metrics",
    metavar="HOST:PORT",
    help=f"Answer {PATHS} there, over HTTP.",
)
@click.option(
    "--http",
    metavar="HOST:PORT",
    help="As --metrics, and tell the peers where: antecede top and antecede dashboard find all "
    "nodes by asking one.",
)
def command(
    name: str | None,
    bind: str | None,
    peers: tuple[str, ...],
    key: str | None,
    peer_keys: tuple[str, ...],
    cluster_key: str | None,
    insecure: bool,
    order: str | None,
    config: Path | None,
    journal: str | None,
    trace: str | None,
    linger: str | None,
    expel: str | None,
    assignments: tuple[str, ...],
    metrics: str | None,
    http: str | None,
) -> None:
    """Run one node: read JSON lines, send them, and write what is delivered.

    Messages are delivered exactly once and in causal order. At the end of input the node waits
    until everything it sent is delivered, says bye, and goes on receiving until its peers have
    said bye, too. After SIGTERM or Ctrl-C it does not wait for their byes; a second signal ends it
    at once. After SIGHUP it reads its files again and takes over peers and keys. The exit status is
    1 if peers still miss something, whose names are printed, or if the node was expelled; else 0.
    """
    options: dict[str, object] = {"name": name, "bind": bind, "journal": journal, "trace": trace}
    options |= {"linger": linger, "expel": expel, "order": order, "http": http}
    options |= {"key": key, "cluster_key": cluster_key, "insecure": insecure or None}
    options |= {"peers": [checked_peer(peer) for peer in peers] or None}
    options |= {"peer_keys": list(peer_keys) or None}
    given = {option: value for option, value in options.items() if value is not None}
    set_ones = read_assignments(assignments, given)

    def read() -> Settings:
        settings = gather_settings(
            {**given, **set_ones, "confirm": CONFIRM},
            config=config,
            fallback={"linger": LINGER},
            how="with --name",
        )
        check_used(set_ones, settings)
        return settings

    at = None if metrics is None else metrics_at(metrics)
    try:
        run_json_lines(NodeOpening(read(), None), at, read)
    except (Stranded, OutputFailed, TraceFailed, Fenced, JournalFailed, JournalFull) as error:
        raise Failed(str(error)) from None


def checked_peer(text: str) -> str:
    """`bob=10.0.0.2:9000` or a name alone, if it is one of these."""
    name, equals, address = text.partition("=")
    if not name or (equals and not address):
        raise BadConfiguration(f"--peer {text!r} is not of the form NAME=HOST:PORT")
    return text


def metrics_at(text: str) -> Address:
    """Where to serve metrics."""
    try:
        return parse_address(text)
    except LocalError as error:
        raise BadConfiguration(f"--metrics: {error}; write HOST:PORT") from None


def read_assignments(assignments: Sequence[str], given: Mapping[str, object]) -> dict[str, str]:
    """What `--set` says; `BadConfiguration` if an option, or another `--set`, says it already."""
    found: dict[str, str] = {}
    for text in assignments:
        name, equals, value = text.partition("=")
        name = name.replace("-", "_")
        if not equals:
            raise BadConfiguration(f"--set {text!r} is not of the form KEY=VALUE")
        if name in given or name in found:
            other = OPTIONS.get(name, "--" + name.replace("_", "-")) if name in given else "--set"
            raise BadConfiguration(f"--set {text} and {other} say the same twice: give one of them")
        found[name] = value
    return found


def check_used(names: Iterable[str], settings: Settings) -> None:
    """Refuse settings that this node would make no use of: somebody expects that it does."""
    for name in names:
        if name == "confirm":
            why = "this command confirms a delivery when its line is written"
        elif name in JOURNAL_SETTINGS and settings.journal is None:
            why = "it is for nodes with a journal (--journal DIR)"
        elif name in TRACE_SETTINGS and settings.trace is None:
            why = "it is for nodes with a trace (--trace DIR)"
        elif name in UDP_SETTINGS and isinstance(settings.bind, CarriedAddress):
            why = f"it is for UDP, and this node listens at {settings.bind}"
        else:
            continue
        raise BadConfiguration(f"--set {name}: {why}; leave it out")
