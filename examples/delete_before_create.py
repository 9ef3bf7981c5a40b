"""Delete before create: what a search index makes of it, with causal order and without.

A shop creates a product and tells the search index and a warehouse. The warehouse sees that there
is none of it and has it deleted from the index. The way from the shop to the index is slow, so the
deletion overtakes the creation: without order the index deletes nothing, then creates a product
that is gone, and keeps it for ever.

    python examples/delete_before_create.py            in causal order, then without
"""

import asyncio
import sys

from antecede.testing import Faults, SlowLink, TestNetwork

SHOP, INDEX = 0, 2
SLOW = Faults(slow_links=(SlowLink(source=SHOP, target=INDEX, extra_ns=50_000_000),))


async def story(order: str) -> list[str]:
    """What the index does, line by line, and what it holds in the end."""
    told: list[str] = []
    found: set[str] = set()
    async with TestNetwork(SLOW) as network:
        shop = await network.open_node("shop", settings={"order": order})
        warehouse = await network.open_node("warehouse", settings={"order": order})
        index = await network.open_node("index", settings={"order": order})

        await shop.send(["index", "warehouse"], b"create lamp")
        message = await warehouse.receive()
        if message.payload == b"create lamp":  # There is no lamp in stock.
            await warehouse.send("index", b"delete lamp")
        for _ in range(2):
            verb, product = (await index.receive()).payload.decode().split()
            known = product in found
            if verb == "create":
                found.add(product)
            else:
                found.discard(product)
            told.append(
                f"{verb} {product}" + (": unknown" if verb == "delete" and not known else "")
            )
    return [*told, f"the index holds: {', '.join(sorted(found)) or 'nothing'}"]


if __name__ == "__main__":
    for order in sys.argv[1:] or ["hybrid", "none"]:
        print(f"{order}:", *asyncio.run(story(order)), sep="\n  ")
