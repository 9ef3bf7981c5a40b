"""A web shop in eight services: who sends what to whom, and because of what.

Several ways lead from an order's creation to those who only look on (search, mail, the ledger),
some shorter than others. On a network that reorders, an effect that takes a short way overtakes
its cause on a long one: the ledger books a payment for an order that it has not heard of.
"""

from dataclasses import dataclass
from typing import Final

GATEWAY: Final = "gateway"
CREATED: Final = "order created"


@dataclass(frozen=True, slots=True)
class Step:
    """What a service does when it is told something: tell others."""

    service: str
    told: str
    says: str
    to: tuple[str, ...]


FIRST: Final = Step(GATEWAY, "", CREATED, ("orders", "stock", "ledger"))
"""What the gateway does of its own accord, for every order that comes in."""

STEPS: Final = (
    Step("orders", CREATED, "please charge", ("payments",)),
    Step("orders", CREATED, "please reserve", ("stock",)),
    Step("orders", CREATED, "order confirmed", ("search", "ledger")),
    Step("payments", "please charge", "paid", ("orders", "shipping", "ledger")),
    Step("stock", "please reserve", "reserved", ("shipping", "search")),
    Step("shipping", "paid", "shipped", ("mail", "search", "ledger")),
    Step("mail", "shipped", "customer told", (GATEWAY, "ledger")),
)

SERVICES: Final = (GATEWAY, "orders", "payments", "stock", "shipping", "mail", "search", "ledger")


def reactions(service: str, told: str) -> list[Step]:
    """What `service` does when it is told `told`."""
    return [step for step in STEPS if (step.service, step.told) == (service, told)]


def copies_per_order() -> int:
    """How many copies of messages one order causes."""
    copies = 0
    open_steps = [FIRST]
    while open_steps:
        step = open_steps.pop()
        for target in step.to:
            copies += 1
            open_steps += reactions(target, step.says)
    return copies
