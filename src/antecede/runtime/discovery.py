"""Peers that come and go: a node asks a source, again and again, who its peers are.

A source is any function, plain or async, that returns names and addresses, or names and `Peer`s,
which have keys, too. `dns_peers` asks a DNS name with several addresses, such as a headless service
of Kubernetes; `toml_peers` reads a file that somebody may edit meanwhile.

    async with open_node(...) as node, Discovery(node, dns_peers("shop.default.svc:9000")):
        ...

A peer that is listed is introduced. A peer that is not listed any more is forgotten if it has left
or was never met. If it is only silent, it stays a peer: to go on without it is an expulsion
(`node.expel`), which a list of addresses decides only with `expel_after`.
"""

import asyncio
import inspect
import logging
import os
import socket
import tomllib
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, Self, TypeAlias

from antecede.core.errors import LocalError
from antecede.runtime.callbacks import EXITS, is_ending
from antecede.runtime.config.addresses import parse_text
from antecede.runtime.config.peers import Peer, PeerLike, read_peer
from antecede.runtime.errors import BadConfiguration
from antecede.runtime.node import Node

Found: TypeAlias = Mapping[str, PeerLike | Mapping[str, object]]
"""Who there is: addresses, peers, or tables with `address` and `keys` as a file has them."""
Source: TypeAlias = Callable[[], Found | Awaitable[Found]]

EVERY_SECONDS: Final = 5.0
"""A source is asked every 5 s."""

log = logging.getLogger(__name__)


def peer_name(label: str, address: str) -> str:
    """What a node at an address is called where nobody gives names: `shop-10-0-0-7`.

    A node that is found this way opens itself under this name, too.
    """
    return f"{label}-{address.replace('.', '-').replace(':', '-').replace('%', '-')}"


def dns_peers(place: str, label: str = "") -> "DnsSource":
    """Everybody at the addresses of a DNS name, `host:port`; called by `peer_name`.

    The label is the first word of the host, if none is given. DNS tells no keys: the nodes that are
    found so share a cluster key, or are on a network that needs none.
    """
    host, port = parse_text(place)
    return DnsSource(host, port, label or host.partition(".")[0])


class DnsSource:
    """What `dns_peers` returns."""

    def __init__(self, host: str, port: int, label: str) -> None:
        self._host: Final = host
        self._port: Final = port
        self._label: Final = label

    async def __call__(self) -> Found:
        """Ask once."""
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(self._host, self._port, type=socket.SOCK_DGRAM)
        addresses = dict.fromkeys(str(entry[4][0]) for entry in found)
        return {peer_name(self._label, one): Peer((one, self._port)) for one in addresses}


def toml_peers(path: str | os.PathLike[str], table: str = "peers") -> Source:
    """The names and addresses in a table of a file, which is read again every time.

    With keys: `bob = { address = "10.0.0.2:9000", keys = ["…"] }`.
    """

    def read() -> Found:
        with Path(path).open("rb") as file:
            found = tomllib.load(file).get(table)
        if not isinstance(found, dict):
            raise LocalError(f"{path} has no table [{table}]; names and addresses belong there")
        return found

    return read


class Discovery:
    """Keeps the peers of one node in step with a source, while the context lasts."""

    def __init__(
        self,
        node: Node,
        source: Source,
        *,
        every: float = EVERY_SECONDS,
        expel_after: float | None = None,
    ) -> None:
        if isinstance(source, DnsSource) and node.settings.key is not None:
            raise BadConfiguration(
                "DNS tells no keys: nodes that are found by it share a cluster_key, or have a list "
                "of names, addresses and keys (toml_peers, or a function that returns Peers)"
            )
        self._node: Final = node
        self._source: Final = source
        self._known: Final[dict[str, Peer]] = {}
        self._every: Final = every
        self._expel_after: Final = expel_after
        self._followed: Final[set[str]] = set()
        self._missing_since: Final[dict[str, float]] = {}
        # The warnings of the last look, and of this one.
        self._warned_before: set[str] = set()
        self._warned: set[str] = set()
        self._task: asyncio.Task[None] | None = None
        self.failures = 0
        """How often the source has failed, or answered nonsense, since the beginning."""

    async def __aenter__(self) -> Self:
        await self.look()
        self._task = asyncio.get_running_loop().create_task(self._keep_looking())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def look(self) -> None:
        """Ask the source once, and follow it; one that fails is asked again later."""
        self._warned_before, self._warned = self._warned, set()
        asker = asyncio.current_task()
        try:
            answer = self._source()
            found = await answer if inspect.isawaitable(answer) else answer
            if not isinstance(found, Mapping):
                raise LocalError(f"the source has answered {found!r}; it must be a mapping")
        except EXITS:
            raise
        except BaseException as error:  # Whatever it raises: a source is other people's program.
            if not isinstance(error, Exception) and is_ending(asker):
                raise
            self._on_failure(error)
            return
        for name, value in found.items():
            try:
                self._follow_listed(name, read_peer(value))
            except LocalError as error:
                self._warn(f"{name} cannot be introduced: {error}")
        for name in [name for name in self._followed if name not in found]:
            try:
                await self._follow_unlisted(name)
            except LocalError as error:
                self._warn(f"{name} cannot be forgotten: {error}")

    def _on_failure(self, error: BaseException) -> None:
        """Warn of a source that fails; of what nobody expects to fail, with where it did."""
        self.failures += 1
        self._node._callbacks.count_failure()
        expected = isinstance(error, OSError | LocalError | ValueError) and str(error)
        reason = str(error) if expected else f"{type(error).__name__}: {error}".rstrip(": ")
        self._warn(f"cannot find out who there is: {reason}", None if expected else error)

    def _follow_listed(self, name: str, peer: Peer) -> None:
        self._missing_since.pop(name, None)
        if name == self._node.name:
            return
        if name in self._node.peers:
            self._update(name, peer)
            return
        self._node.add_peer(name, peer.address, peer.keys)
        self._followed.add(name)
        self._known[name] = peer
        log.info("%s: %s is there, at %s", self._node.name, name, peer.address)

    def _update(self, name: str, peer: Peer) -> None:
        """Take over what has changed about a peer; of one that others brought along nothing."""
        known = self._known.get(name, peer)
        if known.keys != peer.keys:
            try:
                self._node.set_keys(name, peer.keys)
            except LocalError as error:
                self._warn(f"the keys of {name} stay as they are: {error}")
            else:
                self._known[name] = Peer(known.address, peer.keys)
                log.info("%s: %s has other keys now", self._node.name, name)
        if known.address != peer.address:
            self._warn(
                f"{name} is listed at {peer.address}, but a peer cannot move from {known.address}; "
                "it is looked for there until it has left, or use a host name"
            )

    async def _follow_unlisted(self, name: str) -> None:
        """Forget somebody who is not listed any more, if nothing can be missed by it."""
        peers = {peer.name: peer for peer in self._node.stats().peers}
        peer = peers.get(name)
        if peer is None or peer.left or peer.state == "away" or not peer.met:
            self._forget(name, known=peer is not None)
            return
        now = asyncio.get_running_loop().time()
        since = self._missing_since.setdefault(name, now)
        if self._expel_after is not None and peer.silent and now - since >= self._expel_after:
            await self._node.expel(name, "silent, and not listed any more")
            self._forget(name, known=True)

    def _forget(self, name: str, *, known: bool) -> None:
        if known:
            self._node.remove_peer(name)
        self._followed.discard(name)
        self._known.pop(name, None)
        self._missing_since.pop(name, None)
        log.info("%s: %s is gone", self._node.name, name)

    async def _keep_looking(self) -> None:
        while not self._node.closed:
            await asyncio.sleep(self._every)
            if not self._node.closed:
                await self._look_whatever_happens()

    async def _look_whatever_happens(self) -> None:
        """One look that fails is not the last one."""
        try:
            await self.look()
        except Exception:
            if not self._node.closed:
                self._node._callbacks.on_failure("following the discovery source")

    def _warn(self, sentence: str, error: BaseException | None = None) -> None:
        """Warn once of what goes on being wrong."""
        if sentence not in self._warned_before:
            log.warning("%s: %s; trying again", self._node.name, sentence, exc_info=error)
        self._warned.add(sentence)
