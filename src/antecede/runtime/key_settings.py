"""Which keys a node uses, by its settings; and what a reload of peers and keys changes."""

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from antecede.core.errors import LocalError
from antecede.runtime.config.addresses import is_loopback
from antecede.runtime.config.settings import Settings
from antecede.runtime.errors import BadConfiguration
from antecede.runtime.security.keys import (
    ClusterKey,
    ClusterRing,
    KeyRing,
    PeerRing,
    PublicKey,
    SecretKey,
    read_secret_file,
    readable_by_others,
)
from antecede.runtime.security.noise_handshake import NoiseCrypto

if TYPE_CHECKING:
    from antecede.runtime.node import Node

log = logging.getLogger(__name__)


def make_handshake_crypto(
    settings: Settings, clock: Callable[[], int] = time.time_ns
) -> NoiseCrypto | None:
    """What keeps strangers out, if there are keys; `BadConfiguration` says what is wrong."""
    ring = make_key_ring(settings)
    return None if ring is None else NoiseCrypto(ring, clock)


def make_key_ring(settings: Settings) -> KeyRing | None:
    """The keys that the settings name, read from their files; None without any."""
    try:
        if settings.cluster_key is not None:
            secret = secret_of(settings.cluster_key)
            return ClusterRing(ClusterKey(secret.raw), settings.name)
        if settings.key is not None:
            secret = secret_of(settings.key)
            return PeerRing(secret, {name: settings.keys_of(name) for name in settings.peers})
    except BadConfiguration:
        raise
    except LocalError as error:
        raise BadConfiguration(str(error)) from None
    return None


def check_reload(before: Settings, after: Settings) -> None:
    """Refuse what cannot change without a restart."""
    if before.name != after.name:
        raise BadConfiguration(f"{before.name} cannot become {after.name}: restart it")
    for way in ("key", "cluster_key", "insecure"):
        if bool(getattr(before, way)) != bool(getattr(after, way)):
            raise BadConfiguration(f"setting {way!r} cannot come or go without a restart")
    for name in after.peers:
        if name in before.peers and before.address_of(name) != after.address_of(name):
            raise BadConfiguration(
                f"{name} cannot get another address without a restart; remove it first, or use a "
                "host name, which is looked up again"
            )


def give_keys(
    crypto: NoiseCrypto | None, settings: Settings, name: str, keys: tuple[PublicKey, ...]
) -> None:
    """From now on a peer has these keys; `BadConfiguration` if a node of these settings has none.

    Where nodes have keys of their own, a peer without one could not speak at all.
    """
    if crypto is None and keys:
        raise BadConfiguration(f"there is a key of {name}, but none of this node's own")
    if crypto is not None:
        if settings.key is not None and not keys:
            raise BadConfiguration(f"there is no key of {name}: give it with keys=[...]")
        crypto.ring.set_keys(name, keys)


def secret_of(key: Path | SecretKey) -> SecretKey:
    """The secret key, read from its file if it is in one."""
    if isinstance(key, SecretKey):
        return key
    secret = read_secret_file(key)
    if readable_by_others(key):
        log.warning("%s can be read by others than its owner: chmod 600 %s", key, key)
    return secret


def stays_local(settings: Settings) -> bool:
    """Whether the node may talk with nobody but on this machine, for want of a key."""
    return settings.key is None and settings.cluster_key is None and not settings.insecure


def warn_if_insecure(settings: Settings, host: str) -> None:
    """Somebody asked for it; still, it is said once."""
    if settings.insecure and not is_loopback(host):
        log.warning(
            "%s has no key and listens at %s: whoever can send to it can read, forge and stop its "
            "messages",
            settings.name,
            host,
        )


def reload(node: "Node", settings: Settings) -> None:
    """Take over the peers and the keys that these settings name; nothing changes if it raises."""
    check_reload(node._configured, settings)
    for name in settings.peers:
        node._carrier.resolve(settings.address_of(name))
    if node._crypto is not None:
        ring = make_key_ring(settings)
        assert ring is not None, "a node with keys is reloaded with keys"
        ring.adopt(node._crypto.ring, [p for p in node.peers if p not in node._configured.peers])
        node._crypto.use(ring)
        node._endpoint.expel_revoked_keys(node._now())
    for name in node._configured.peers:
        if name not in settings.peers and name in node.peers:
            node.remove_peer(name)
    for name in settings.peers:
        if name not in node.peers:
            node._introductions.introduce(name, settings.address_of(name))
    node._turn.changed()
