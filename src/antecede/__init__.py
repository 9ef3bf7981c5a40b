"""Causal-order messaging: no process ever sees an effect before its cause.

    async with antecede.open_node("alice", peers={"bob": "10.0.0.2:9000"}) as node:
        await node.send("bob", b"hello")
        async for message in node:
            print(message.sender, message.payload)

The names below are all that most programs need; they are looked up when they are used, so that a
program which only simulates does not load the network, nor the other way round. Every error is in
`antecede.errors`, every event in `antecede.events`; `antecede.blocking` has the same nodes without
asyncio, and `antecede.testing` a network in memory.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

from antecede.build_mode import compiled
from antecede.version import __version__

if TYPE_CHECKING:
    from antecede import blocking, errors, events, shared, testing
    from antecede.core.errors import AntecedeError, BufferFull, LocalError
    from antecede.durability.unconfirmed import InboundMessage as Message
    from antecede.runtime.config.addresses import Address
    from antecede.runtime.config.peers import Peer
    from antecede.runtime.config.settings import Settings
    from antecede.runtime.node import Node
    from antecede.runtime.opening import open_node
    from antecede.runtime.room import Room

__all__ = [
    "Address",
    "AntecedeError",
    "BufferFull",
    "LocalError",
    "Message",
    "Node",
    "Peer",
    "Room",
    "Settings",
    "__version__",
    "blocking",
    "compiled",
    "errors",
    "events",
    "open_node",
    "shared",
    "testing",
]

HOMES: Final = {
    "Address": ("antecede.runtime.config.addresses", "Address"),
    "AntecedeError": ("antecede.core.errors", "AntecedeError"),
    "BufferFull": ("antecede.core.errors", "BufferFull"),
    "LocalError": ("antecede.core.errors", "LocalError"),
    "Message": ("antecede.endpoint.inbox", "InboundMessage"),
    "Node": ("antecede.runtime.node", "Node"),
    "Peer": ("antecede.runtime.config.peers", "Peer"),
    "Room": ("antecede.runtime.room", "Room"),
    "Settings": ("antecede.runtime.config.settings", "Settings"),
    "open_node": ("antecede.runtime.opening", "open_node"),
}
"""Where the public names live."""

MODULES: Final = ("blocking", "errors", "events", "shared", "testing")


def __getattr__(name: str) -> object:
    if name in MODULES:
        return import_module(f"antecede.{name}")
    if name not in HOMES:
        raise AttributeError(f"module 'antecede' has no attribute {name!r}")
    module, attribute = HOMES[name]
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted(__all__)
