"""The peers of a node: which it knows, the keys that they may have, and where the carrier looks.

Peers come from the settings, from calls, from the journal, and from strangers who are let in. The
carrier looks up the address of a silent peer again until the peer answers.
"""

import logging
from collections.abc import Sequence
from typing import Final

from antecede.core.errors import LocalError
from antecede.durability.node_state import PeerRecord
from antecede.endpoint.endpoint import Endpoint
from antecede.events import (
    PeerBack,
    PeerExpelled,
    PeerLeft,
    PeerMet,
    PeerRestarted,
    PeerSilent,
    Report,
    StrangerSeen,
)
from antecede.runtime.carriers.carrier import Carrier
from antecede.runtime.config.names import checked_name, process_id
from antecede.runtime.config.settings import Settings
from antecede.runtime.errors import BadConfiguration, UnknownPeer
from antecede.runtime.key_settings import make_key_ring
from antecede.runtime.observe.event_recorder import EventRecorderOwner
from antecede.runtime.security.keys import PublicKey
from antecede.runtime.security.noise_handshake import NoiseCrypto

log = logging.getLogger(__name__)


class KnownPeers:
    """Introduces and forgets the peers of one node, and gives them keys."""

    def __init__(
        self,
        settings: Settings,
        endpoint: Endpoint,
        carrier: Carrier,
        crypto: NoiseCrypto | None,
        trace: EventRecorderOwner,
    ) -> None:
        # Whose peers and keys are in use: those the node was opened with, or loaded since.
        self._settings = settings
        self._endpoint: Final = endpoint
        self._contacts: Final = endpoint.directory.by_name
        self._carrier: Final = carrier
        self._crypto: Final = crypto
        self._trace: Final = trace

    def introduce_configured(self) -> None:
        """Introduce the peers of the settings."""
        for name in self._settings.peers:
            self._introduce(name, self._settings.address_of(name))

    def introduce_recalled(self, peers: Sequence[PeerRecord]) -> None:
        """Introduce those of a journal that were added later, or let in: they will say hello."""
        for known in peers:
            if known.name not in self._contacts:
                seen_at = (self._carrier.address.host, 0) if known.stranger else None
                self._introduce(known.name, None, seen_at)
                self._contacts[known.name].mark_from_journal()

    def add(self, name: str, address: object, keys: tuple[PublicKey, ...]) -> None:
        """Introduce a peer; without an address it has to say hello first."""
        ring = None if self._crypto is None else self._crypto.ring
        before = () if ring is None else ring.known_keys(checked_name(name))
        self._give_keys(name, keys)
        try:
            self._introduce(name, address)
        except Exception:
            if ring is not None:
                ring.set_keys(name, before)
            raise

    def own_key(self) -> bytes:
        """The public key of this node, where nodes have keys of their own; else nothing."""
        if self._crypto is None or self._settings.key is None:
            return b""
        return self._crypto.ring.secret.public.raw

    def locate(self, name: str, address: object) -> None:
        """A peer of which no address was known is to be found at this one."""
        resolved = self._carrier.locate(name, address)
        size = self._carrier.datagram_size(resolved)
        self._endpoint.locate_peer(name, resolved, size, self._carrier.now_ns())
        self._carrier.relookup(resolved)

    def remove(self, name: str) -> None:
        """Forget a peer; if it has not left, it is expelled first."""
        self.check_known(name)
        address = self._contacts[name].address
        self._endpoint.remove_peer(name, self._carrier.now_ns())
        if all(contact.address != address for contact in self._contacts.values()):
            self._carrier.forget(address)

    def set_keys(self, name: str, keys: tuple[PublicKey, ...]) -> None:
        """Replace the keys of a peer; if it uses another one, it is expelled."""
        self.check_known(name)
        self._give_keys(name, keys)
        self._endpoint.expel_revoked_keys(self._carrier.now_ns())

    def reload(self, settings: Settings) -> None:
        """Take over the peers and keys of these settings; nothing changes if it raises."""
        before = self._settings
        check_reload(before, settings)
        for name in settings.peers:
            self._carrier.resolve(settings.address_of(name))
        if self._crypto is not None:
            ring = make_key_ring(settings)
            assert ring is not None, "a node with keys is reloaded with keys"
            added = [name for name in self._contacts if name not in before.peers]
            ring.adopt(self._crypto.ring, added)
            self._crypto.use(ring)
            self._endpoint.expel_revoked_keys(self._carrier.now_ns())
        self._settings = settings
        for name in before.peers:
            if name not in settings.peers and name in self._contacts:
                self.remove(name)
        for name in settings.peers:
            if name not in self._contacts:
                self._introduce(name, settings.address_of(name))

    def check_known(self, name: str) -> None:
        """`UnknownPeer` if this is the name of none."""
        if name not in self._contacts:
            raise UnknownPeer(name, tuple(self._contacts))

    def lookup_errors(self, names: Sequence[str]) -> list[str]:
        """Which of these peers have addresses that lead nowhere, and why."""
        known = []
        for name in names:
            contact = self._contacts.get(name)
            if contact is not None and (reason := self._carrier.lookup_error(contact.address)):
                known.append(f"{name}: {reason}")
        return known

    def follow(self, report: Report) -> None:
        """Let the carrier look for a peer that is silent or away, until it is back."""
        contact = self._contacts.get(report.name)
        if contact is None or contact.address is None:
            return
        if isinstance(report, PeerSilent | PeerLeft | PeerExpelled):
            self._carrier.relookup(contact.address)
        elif isinstance(report, PeerMet | PeerBack | PeerRestarted):
            self._carrier.stop_lookup(contact.address)

    def try_admit(self, stranger: StrangerSeen) -> bool:
        """Introduce a stranger, whose next hello is answered; whether the application is told."""
        directory = self._endpoint.directory
        if stranger.name in self._contacts:
            return False  # It had said hello twice before it could be introduced.
        try:
            self._introduce(stranger.name, None, stranger.address)
        except LocalError as error:
            if directory.announces(stranger.name, self._carrier.now_ns()):
                log.info("%s: a stranger cannot be let in: %s", self._settings.name, error)
            return False
        return directory.announces(stranger.name, self._carrier.now_ns())

    def _introduce(self, name: str, address: object, seen_at: object = None) -> None:
        """Make a peer known; without an address it says hello first. A stranger was `seen_at`."""
        checked_name(name)
        carrier = self._carrier
        resolved = carrier.locate(name, address)
        size = carrier.datagram_size(resolved if seen_at is None else seen_at)
        process = process_id(name)
        self._trace.note_process(process, name)
        stranger = seen_at is not None
        self._endpoint.add_peer(name, resolved, process, size, carrier.now_ns(), stranger)
        carrier.relookup(resolved)

    def _give_keys(self, name: str, keys: tuple[PublicKey, ...]) -> None:
        """From now on a peer has these keys; `BadConfiguration` if this node has none.

        Where nodes have keys of their own, a peer without one could not speak at all.
        """
        if self._crypto is None and keys:
            raise BadConfiguration(
                f"there is a key of {name}, but none of this node's own: open it with key=FILE"
            )
        if self._crypto is not None:
            if self._settings.key is not None and not keys:
                raise BadConfiguration(f"there is no key of {name}: give it with keys=[...]")
            self._crypto.ring.set_keys(name, keys)


def check_reload(before: Settings, after: Settings) -> None:
    """Refuse what cannot change without a restart."""
    if before.name != after.name:
        raise BadConfiguration(
            f"{before.name} cannot become {after.name}: restart it under that name"
        )
    for way in ("key", "cluster_key", "insecure"):
        if bool(getattr(before, way)) != bool(getattr(after, way)):
            raise BadConfiguration(f"setting {way!r} cannot come or go without a restart")
    for name in after.peers:
        if name in before.peers and before.address_of(name) != after.address_of(name):
            raise BadConfiguration(
                f"{name} cannot get another address without a restart; remove it first, or use a "
                "host name, which is looked up again"
            )
