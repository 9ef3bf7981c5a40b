"""`antecede mcp`: a node for an agent, as tools of the Model Context Protocol."""

import asyncio
from typing import Any

import click

from antecede.core.errors import Fenced
from antecede.durability.errors import JournalFailed, JournalFull
from antecede.runtime.errors import Stranded, TraceFailed
from antecede.runtime.opening import NodeOpening
from antecede_cli.agent_tools import serve_tools
from antecede_cli.node_options import read_settings, settings_options
from antecede_cli.output import Failed

EXAMPLES = """\b
Examples:
  antecede mcp --name ada --peer bob=127.0.0.1:9002
  antecede mcp --config ada.toml

\b
What a host of agents is configured with, in JSON:
  {"mcpServers": {"room": {"command": "antecede", "args": ["mcp", "--config", "ada.toml"]}}}

\b
Tools:
  join      be in a room, and get what was said there before
  leave     be in it no more
  say       to a room, or to some peers
  ask       one peer, and wait for its answer
  answer    what a peer has asked
  read      what has come: no effect comes before its cause
  who       is here, and in which rooms
"""


@click.command("mcp", epilog=EXAMPLES)
@settings_options
def command(**options: Any) -> None:  # noqa: ANN401 - as click has it
    """Run one node for an agent: a Model Context Protocol server on standard input and output.

    The agent gets tools to join rooms, to speak, to ask, to answer, to read and to see who is here.
    What it reads is in causal order over all rooms and direct messages. At the end of input the
    node leaves its rooms and says bye.
    """
    opening = NodeOpening(read_settings(**options), None)
    try:
        asyncio.run(serve_tools(opening))
    except (Stranded, TraceFailed, Fenced, JournalFailed, JournalFull) as error:
        raise Failed(str(error)) from None
