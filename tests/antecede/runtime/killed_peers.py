"""Peers that were met and then killed: what is sent to them is never delivered."""

from typing import Final

import antecede
from antecede.runtime.node import Node

SECONDS: Final = 60.0


async def meet_and_kill(node: Node, name: str) -> None:
    """Let a node meet a peer that is killed right after that, without a word."""
    peer = await antecede.open_node(name, peers={node.name: node.address})
    if name not in node.peers:
        node.add_peer(name, peer.address)
    await node.meet(name, timeout=SECONDS)
    assert node.peers[name] == "here"
    peer.abandon()
