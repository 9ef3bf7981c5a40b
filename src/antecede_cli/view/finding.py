"""Where the nodes are: a list, a file that may be edited meanwhile, a DNS name, or all of them."""

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import click

from antecede.core.errors import LocalError
from antecede.runtime.config.addresses import Address, parse_text
from antecede.runtime.config.peers import read_peer
from antecede.runtime.discovery import Source as PeerSource
from antecede.runtime.discovery import dns_peers, toml_peers
from antecede.runtime.observe.http_server import PORT
from antecede_cli.view.collector import Collector, Places

TABLE: Final = "http"
"""The table of a file that has names and addresses."""

WHERE = """\b
Where the nodes are (each serves HTTP: antecede node --http HOST:PORT, or open_node(http=...)):
  HOST:PORT ...            these, and their peers as far as those have told where (http=)
  NAME=HOST:PORT ...       the same; NAME is shown until the node says what it is called
  --nodes FILE             a TOML file: [http]  alice = "10.0.0.2:9464"; it may be edited meanwhile
  --dns HOST:PORT          every address of a DNS name
"""


def finding_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The argument and the options that say where the nodes are."""
    for decorate in (
        click.option(
            "--follow/--no-follow",
            default=True,
            show_default=True,
            help="Ask also the peers of the nodes, where those have told their address (http=).",
        ),
        click.option("--dns", metavar="HOST:PORT", help="Ask every address of this DNS name."),
        click.option(
            "--nodes",
            "file",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help=f"Ask the nodes in the table [{TABLE}] of this TOML file.",
        ),
        click.argument("places", metavar="[HOST:PORT]...", nargs=-1),
    ):
        command = decorate(command)
    return command


def make_collector(
    places: Sequence[str], file: Path | None, dns: str | None, follow: bool
) -> Collector:
    """What asks these nodes; without any, one at the usual port of this machine."""
    if not (places or file or dns):
        places = (f"127.0.0.1:{PORT}",)
    listed = [read_place(text) for text in places]
    sources: list[PeerSource] = []
    if file is not None:
        sources.append(toml_peers(file, TABLE))
    if dns is not None:
        sources.append(dns_peers(dns))

    async def find() -> Places:
        found = list(listed)
        for source in sources:
            answer = source()
            told = await answer if inspect.isawaitable(answer) else answer
            for name, value in told.items():
                address = read_peer(value).address
                if address is not None:
                    found.append((name, Address(*address)))
        return found

    return Collector(find, follow=follow)


def read_place(text: str) -> tuple[str, Address]:
    """`HOST:PORT` or `NAME=HOST:PORT`."""
    name, equals, place = text.rpartition("=")
    try:
        address = parse_text(place)
    except LocalError as error:
        raise LocalError(f"{error}; write HOST:PORT, where a node serves HTTP") from None
    return name if equals else "", address
