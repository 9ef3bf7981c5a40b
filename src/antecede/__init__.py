"""Causal-order messaging: no process ever sees an effect before its cause.

    async with antecede.open_node("alice", peers={"bob": "10.0.0.2:9000"}) as node:
        await node.send("bob", b"hello")
        async for message in node:
            print(message.sender, message.payload)

The names below are all that most programs need; they are looked up when they are used, so that a
program which only simulates does not load the network, nor the other way round.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

from antecede.build_mode import compiled

if TYPE_CHECKING:
    from antecede.core.errors import AntecedeError, BufferFull, LocalError
    from antecede.link.inbox import InboundMessage as Message
    from antecede.live.node import Node
    from antecede.live.opening import open_node

__version__: Final = "0.1.0"

__all__ = [
    "AntecedeError",
    "BufferFull",
    "LocalError",
    "Message",
    "Node",
    "__version__",
    "compiled",
    "open_node",
]

HOMES: Final = {
    "AntecedeError": ("antecede.core.errors", "AntecedeError"),
    "BufferFull": ("antecede.core.errors", "BufferFull"),
    "LocalError": ("antecede.core.errors", "LocalError"),
    "Message": ("antecede.link.inbox", "InboundMessage"),
    "Node": ("antecede.live.node", "Node"),
    "open_node": ("antecede.live.opening", "open_node"),
}
"""Where the public names live."""


def __getattr__(name: str) -> object:
    if name not in HOMES:
        raise AttributeError(f"module 'antecede' has no attribute {name!r}")
    module, attribute = HOMES[name]
    return getattr(import_module(module), attribute)
