"""An outbox: from a SQLite table to three services, whoever crashes meanwhile.

The shop writes an order and the news of it in one transaction, sends the news to three services and
forgets it when each has confirmed that it is in its own table. A node that crashes forgets what it
had sent; a table does not. So news is sent again, by a shop that came back and to a service that
did, and a service knows by the number what it has seen. antecede adds the order of causes.

    python examples/outbox.py
"""

import asyncio
import json
import sqlite3
from pathlib import Path
from tempfile import TemporaryDirectory

from antecede import Message
from antecede.events import PeerRestarted
from antecede.testing import Faults, TestNetwork, Uniform

SERVICES = ("billing", "stock", "mail")
BAD = Faults(latency=Uniform(1_000_000, 30_000_000), loss=0.2, duplication=0.1)
CRASHES = {5: "stock", 8: "shop", 11: "mail", 14: "shop"}  # Who, after how many orders.


class Shop:
    """Takes orders; its outbox is a table."""

    def __init__(self, folder: Path) -> None:
        self.table = sqlite3.connect(folder / "shop.db")
        self.table.execute("create table orders (item)")
        self.table.execute("create table outbox (id integer primary key autoincrement, news)")
        self.table.execute("create table confirmed (id, service, primary key (id, service))")

    async def open(self, network: TestNetwork) -> None:
        """Start, or start again: whatever is not confirmed is sent once more."""
        self.node = await network.open_node("shop", on_event=self.notice)
        self.node.on_message(self.confirm)
        await self.node.meet(*SERVICES)
        for service in SERVICES:
            self.resend(service)

    def order(self, item: str) -> None:
        """An order and the news of it, or neither; then tell everybody."""
        with self.table:
            self.table.execute("insert into orders values (?)", [item])
            added = self.table.execute("insert into outbox (news) values (?)", [item])
        self.node.try_send(SERVICES, json.dumps([added.lastrowid, item]).encode())

    def notice(self, event: object) -> None:
        """A service that has come back may have missed something."""
        if isinstance(event, PeerRestarted):
            self.resend(event.name)

    def resend(self, service: str) -> None:
        """What this service has not confirmed, in order."""
        missing = "id not in (select id from confirmed where service = ?) order by id"
        for row in self.table.execute(f"select id, news from outbox where {missing}", [service]):
            self.node.try_send(service, json.dumps(row).encode())

    def confirm(self, message: Message) -> None:
        """A service has written it down; when all have, the news is history."""
        row = [json.loads(message.payload), message.sender]
        confirmed = "(select count(*) from confirmed c where c.id = outbox.id)"
        with self.table:
            self.table.execute("insert or ignore into confirmed values (?, ?)", row)
            self.table.execute(f"delete from outbox where {confirmed} = {len(SERVICES)}")


class Service:
    """Does something about every order, exactly once."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.table = name, sqlite3.connect(folder / f"{name}.db")
        self.table.execute("create table done (id primary key, news)")

    async def open(self, network: TestNetwork) -> None:
        """Start, or start again."""
        self.node = await network.open_node(self.name)
        self.node.on_message(self.take)

    async def take(self, message: Message) -> None:
        """Write it down unless it is there already, and confirm it in both cases."""
        with self.table:
            row = json.loads(message.payload)
            self.table.execute("insert or ignore into done values (?, ?)", row)
        await self.node.send("shop", json.dumps(row[0]).encode())


async def some_turns() -> None:
    """Let a little happen, the same every time."""
    for _ in range(30):
        await asyncio.sleep(0)


async def main(folder: Path) -> None:
    """Twenty orders and four crashes."""
    shop = Shop(folder)
    services = {name: Service(name, folder) for name in SERVICES}
    everybody: dict[str, Shop | Service] = {**services, "shop": shop}
    async with TestNetwork(BAD, seed=4) as network:
        for one in everybody.values():
            await one.open(network)
        for number in range(1, 21):
            shop.order(f"item {number}")
            await some_turns()
            if name := CRASHES.get(number):
                network.kill(name)
                await everybody[name].open(network)
        while shop.table.execute("select count(*) from outbox").fetchone()[0]:
            await network.settle()
    for name in SERVICES:
        done = [n for (n,) in services[name].table.execute("select id from done order by rowid")]
        print(f"{name} did {len(done)} orders, in order: {done == list(range(1, 21))}")


if __name__ == "__main__":
    with TemporaryDirectory() as place:
        asyncio.run(main(Path(place)))
