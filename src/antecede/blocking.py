"""Causal messaging without asyncio: the same nodes, the same calls, and no `await`.

with antecede.blocking.open_node("alice", peers={"bob": "10.0.0.2:9000"}) as node:
    node.send("bob", b"hello")
    for message in node:
        print(message.sender, message.payload)
"""

from antecede.runtime.blocking import BlockingNode, open_node

__all__ = ["BlockingNode", "open_node"]
