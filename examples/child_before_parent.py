"""Child before parent across two topics: over NATS alone, and over NATS with antecede.

A registry publishes customers on one topic. A shop reads them and publishes orders on another. An
index reads both topics; customers take it longer, so that topic lags behind. A broker keeps the
order of one publisher on one topic. Nobody keeps it across two: the index reads orders of customers
that it has not heard of. With antecede the same broker carries the same news, and every customer
comes before their orders, because the shop had read of them when it sent the orders.

    nats-server &
    python examples/child_before_parent.py nats://127.0.0.1:4222
"""

import asyncio
import sys
from typing import Any

import nats

from antecede import Message, open_node

CUSTOMERS = [f"customer-{number}".encode() for number in range(20)]


class Index:
    """Knows customers, and counts orders of customers that it does not know."""

    def __init__(self) -> None:
        self.known: set[bytes] = set()
        self.orders = self.orphans = 0
        self.finished = asyncio.Event()

    async def customer(self, name: bytes) -> None:
        """Indexing a customer takes a while."""
        await asyncio.sleep(0.005)
        self.known.add(name)

    async def order(self, name: bytes) -> None:
        """An order needs its customer."""
        self.orders += 1
        self.orphans += name not in self.known
        if self.orders == len(CUSTOMERS):
            self.finished.set()


async def forget(_: Exception) -> None:
    """That a broker does not answer is told once, at the end."""


async def two_topics(broker: str) -> int:
    """As it is usually done: each kind of news on a topic of its own."""
    options: Any = {"max_reconnect_attempts": 1, "error_cb": forget}
    registry, shop, reader = [await nats.connect(broker, **options) for _ in range(3)]
    index = Index()

    async def sell(news: Any) -> None:  # noqa: ANN401 - nats-py says what it is
        await shop.publish("orders", news.data)

    async def read(news: Any) -> None:  # noqa: ANN401 - nats-py says what it is
        await (index.customer if news.subject == "customers" else index.order)(news.data)

    await shop.subscribe("customers", cb=sell)
    await reader.subscribe("customers", cb=read)
    await reader.subscribe("orders", cb=read)
    await asyncio.gather(shop.flush(), reader.flush())
    for name in CUSTOMERS:
        await registry.publish("customers", name)
    await index.finished.wait()
    for client in (registry, shop, reader):
        await client.close()
    return index.orphans


async def in_causal_order(broker: str) -> int:
    """The same news through the same broker, sent by name."""
    index = Index()
    async with (
        open_node("registry", bind=broker, peers=["shop", "index"]) as registry,
        open_node("shop", bind=broker, peers=["registry", "index"]) as shop,
        open_node("index", bind=broker, peers=["registry", "shop"]) as reader,
    ):

        async def sell(message: Message) -> None:
            await shop.send("index", message.payload)

        async def read(message: Message) -> None:
            customer = message.sender == "registry"
            await (index.customer if customer else index.order)(message.payload)

        shop.on_message(sell)
        reader.on_message(read)
        for name in CUSTOMERS:
            await registry.send(["index", "shop"], name)
        await index.finished.wait()
    return index.orphans


if __name__ == "__main__":
    place = sys.argv[1] if len(sys.argv) > 1 else "nats://127.0.0.1:4222"
    try:
        print(f"two topics: {asyncio.run(two_topics(place))} orders before their customer")
    except (OSError, nats.errors.Error):
        sys.exit(f"no NATS broker answers at {place}: start one, with nats-server")
    print(f"in causal order: {asyncio.run(in_causal_order(place))} orders before their customer")
