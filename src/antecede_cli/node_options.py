"""The options of commands that open a node, and the settings that they make."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import click

from antecede.runtime.config.addresses import CarriedAddress
from antecede.runtime.config.settings import SETTING_NAMES, Settings, gather_settings
from antecede.runtime.errors import BadConfiguration

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

OPTIONS_OF_SETTINGS: Final = (
    click.option("--name", help="What the node is called; unique among all that talk."),
    click.option("--bind", metavar="HOST:PORT", help="Where to listen.  [default: 127.0.0.1:0]"),
    click.option(
        "--peer",
        "peers",
        multiple=True,
        metavar="NAME=HOST:PORT",
        help="A peer, and where it is; NAME alone lets it say hello first. May be repeated.",
    ),
    click.option("--key", metavar="FILE", help="This node's secret key (antecede key new FILE)."),
    click.option(
        "--peer-key",
        "peer_keys",
        multiple=True,
        metavar="NAME=PUBLIC",
        help="The public key of a peer. May be repeated, also for one peer while it changes its "
        "key.",
    ),
    click.option(
        "--cluster-key",
        metavar="FILE",
        help="One secret key that all nodes share, instead of --key and --peer-key.",
    ),
    click.option(
        "--insecure",
        is_flag=True,
        help="Talk beyond this machine without any key: anybody can read and forge messages.",
    ),
    click.option(
        "--order",
        metavar="ORDER",
        help="causal, hybrid-sps, hybrid-csps, fifo or none; the same at all nodes.  "
        "[default: causal]",
    ),
    click.option(
        "--config", type=click.Path(path_type=Path), help="A TOML file with a [node] table."
    ),
    click.option(
        "--journal",
        metavar="DIR",
        help="Keep in this folder what a crash must not lose, and go on from it after a crash.",
    ),
    click.option("--trace", metavar="DIR", help="Write the event log there."),
    click.option(
        "--linger",
        metavar="DURATION",
        help="At the end of input, wait at most this long until everything is delivered and the "
        f"peers have said bye.  [default: {LINGER}]",
    ),
    click.option(
        "--expel",
        metavar="POLICY",
        help="When a silent peer is expelled while others wait for it. majority:10s: after 10 s, "
        "by a node that more than half of all members answer. after:30s: after 30 s, by any node; "
        "if the network splits, both halves go on apart. manual: never.  [default: majority:10s; "
        "manual with order fifo or none]",
    ),
    click.option(
        "--http",
        metavar="HOST:PORT",
        help="Serve what antecede top and antecede dashboard show there, and tell the peers where.",
    ),
    click.option(
        "--set",
        "assignments",
        multiple=True,
        metavar="KEY=VALUE",
        help=f"Any other setting: {', '.join(OTHER_SETTINGS)}.",
    ),
)
"""The options of every command that opens a node."""


def settings_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that `read_settings` takes."""
    for option in reversed(OPTIONS_OF_SETTINGS):
        command = option(command)
    return command


def read_settings(
    *,
    peers: Sequence[str],
    peer_keys: Sequence[str],
    insecure: bool,
    config: Path | None,
    assignments: Sequence[str],
    **others: str | None,
) -> Settings:
    """What the options, the environment and files say; `BadConfiguration` if that is no node."""
    options: dict[str, object] = {**others, "insecure": insecure or None}
    options |= {"peers": [checked_peer(peer) for peer in peers] or None}
    options |= {"peer_keys": list(peer_keys) or None}
    given = {option: value for option, value in options.items() if value is not None}
    set_ones = read_assignments(assignments, given)
    settings = gather_settings(
        {**given, **set_ones, "confirm": CONFIRM},
        config=config,
        fallback={"linger": LINGER},
        how="with --name",
    )
    check_used(set_ones, settings)
    return settings


def checked_peer(text: str) -> str:
    """`bob=10.0.0.2:9000` or a name alone, if it is one of these."""
    name, equals, address = text.partition("=")
    if not name or (equals and not address):
        raise BadConfiguration(f"--peer {text!r} is not of the form NAME=HOST:PORT")
    return text


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
