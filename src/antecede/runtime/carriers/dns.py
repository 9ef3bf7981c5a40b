"""Resolves the host names of peers, without blocking the loop, and again while a peer is missing.

Sessions send to a name and need not know more: it is turned into an address when a datagram leaves.
A peer is sought from the time it is introduced until it is met, and whenever it is silent: its name
is looked up, every address that comes of it is tried in turn, and all that again after a while. So
a peer may be started after its friends, be moved to another address, or have several of which one
works. What is sent while there is no address is lost, as on any network, and repeated by the path.
"""

import asyncio
import logging
import socket
from typing import Final, TypeAlias

from antecede.runtime.config.addresses import Address
from antecede.transport.datagram import Datagram

TRY_SECONDS: Final = 2.0
"""One address is tried for 2 s: hellos are repeated at least every 1.6 s."""

RETRY_SECONDS: Final = 1.0
"""After an unsuccessful round the name is looked up again after 1 s, then 2 s, … at most 30 s."""

RETRY_SECONDS_MAX: Final = 30.0

SocketAddress: TypeAlias = tuple[str | int | bytes, ...]
"""As `getaddrinfo` has it."""

log = logging.getLogger(__name__)


async def look_up(address: Address, family: int) -> list[SocketAddress]:
    """Every address of this family that a name resolves to; does not block the loop."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(
        address.host, address.port, family=family, type=socket.SOCK_DGRAM
    )
    return list(dict.fromkeys(entry[4] for entry in found))


class ResolvedName:
    """One name: its addresses, and which of them is in use."""

    def __init__(self, address: Address) -> None:
        self.address: Final = address
        self.known: list[SocketAddress] = []
        self.current: SocketAddress | None = None
        self.heard: SocketAddress | None = None
        """The addresses that something arrived from since the search began."""
        self.trouble = ""
        """Why the name cannot be looked up; empty if it can."""
        self.task: asyncio.Task[None] | None = None

    @property
    def sought(self) -> bool:
        """Whether the peer is being looked for."""
        return self.task is not None


class NameResolver:
    """All names that one node sends to."""

    def __init__(self, loop: asyncio.AbstractEventLoop, family: int) -> None:
        self._loop: Final = loop
        self._family: Final = family
        self.by_address: Final[dict[object, ResolvedName]] = {}
        self.sought = 0
        """How many names are being looked for."""

    def add(self, address: Address) -> None:
        """From now on datagrams may be sent to this name."""
        self.by_address.setdefault(address, ResolvedName(address))

    def seek(self, address: object) -> None:
        """The peer at this address does not answer: look for it."""
        lookup = self.by_address.get(address)
        if lookup is not None and not lookup.sought:
            lookup.heard = None
            self.sought += 1
            lookup.task = self._loop.create_task(self._search(lookup))

    def found(self, address: object) -> None:
        """The peer at this address has answered: keep the address that it answered from."""
        lookup = self.by_address.get(address)
        if lookup is not None and lookup.task is not None:
            lookup.task.cancel()
            lookup.task = None
            self.sought -= 1
            if lookup.heard is not None:
                lookup.current = lookup.heard

    def on_source(self, source: object) -> None:
        """Something has arrived from this address."""
        for lookup in self.by_address.values():
            if lookup.sought and source in lookup.known:
                lookup.heard = next(known for known in lookup.known if known == source)

    def trouble(self, address: object) -> str:
        """Why this name cannot be looked up; empty if it can, or is none."""
        lookup = self.by_address.get(address)
        return "" if lookup is None else lookup.trouble

    def directed(self, datagrams: list[Datagram]) -> list[Datagram]:
        """The datagrams with addresses for names; those to names without one are gone."""
        ready: list[Datagram] = []
        for datagram in datagrams:
            lookup = self.by_address.get(datagram.address)
            if lookup is None:
                ready.append(datagram)
            elif lookup.current is not None:
                ready.append(Datagram(lookup.current, datagram.data, datagram.answerable))
        return ready

    def close(self) -> None:
        """Stop looking for any peer."""
        for address in list(self.by_address):
            self.found(address)

    async def _search(self, lookup: ResolvedName) -> None:
        """Try again and again, until the peer is found."""
        pause = RETRY_SECONDS
        while True:
            await self._ask(lookup)
            for address in in_turn(lookup.known, lookup.current):
                if address != lookup.current:
                    log.info("%s is tried at %s", lookup.address, address[0])
                lookup.current = address
                await asyncio.sleep(TRY_SECONDS)
            await asyncio.sleep(pause)
            pause = min(2 * pause, RETRY_SECONDS_MAX)

    async def _ask(self, lookup: ResolvedName) -> None:
        """Look the name up; what was known before stays if that fails."""
        try:
            lookup.known = await look_up(lookup.address, self._family)
        except (OSError, UnicodeError) as error:
            kind = "IPv6" if self._family == socket.AF_INET6 else "IPv4"
            reason = getattr(error, "strerror", None) or str(error)
            trouble = (
                f"cannot look up {lookup.address.host}: {reason}; check the name, and that it has "
                f"an address of the kind that this node is bound to, {kind}"
            )
            if trouble != lookup.trouble:
                log.warning("%s; trying again", trouble)
            lookup.trouble = trouble
        else:
            lookup.trouble = ""


def in_turn(known: list[SocketAddress], current: SocketAddress | None) -> list[SocketAddress]:
    """In which order to try addresses: the one in use first, if it is still one of them."""
    if current in known:
        index = known.index(current)
        return known[index:] + known[:index]
    return list(known)
