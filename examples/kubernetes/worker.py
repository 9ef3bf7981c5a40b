"""One pod of a service whose pods find each other by a headless service, and leave properly.

The pod's address is its name (`shop-10-0-0-7`), so that whoever asks DNS for the addresses of the
service knows the names, too. Everybody tells everybody that it is there.
"""

import asyncio
import logging
import os

from antecede import open_node
from antecede.runtime.discovery import Discovery, dns_peers, peer_name
from antecede.runtime.observe.http_server import serve_metrics

log = logging.getLogger("worker")


async def main() -> None:
    """Until the pod is told to stop."""
    address, service = os.environ["POD_IP"], os.environ["SERVICE"]
    host, _, port = service.rpartition(":")
    name = peer_name(host.partition(".")[0], address)
    async with (
        open_node(name, bind=f"{address}:{port}", cluster_key="/etc/antecede/team.key") as node,
        Discovery(node, dns_peers(service), every=5, expel_after=60),
        await serve_metrics(node, "0.0.0.0", 9464),
    ):
        node.leave_on_signals()
        await node.meet()
        if node.online:
            await node.send(node.online, f"{name} is here".encode())
        async for message in node:
            log.info("%s: %s", message.sender, message.payload.decode())


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    asyncio.run(main())
