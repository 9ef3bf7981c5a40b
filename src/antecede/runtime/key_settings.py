"""Which keys a node uses, by its settings."""

import logging
import time
from collections.abc import Callable
from pathlib import Path

from antecede.core.errors import LocalError
from antecede.runtime.config.addresses import is_loopback
from antecede.runtime.config.settings import Settings
from antecede.runtime.errors import BadConfiguration
from antecede.runtime.security.keys import (
    ClusterKey,
    ClusterRing,
    KeyRing,
    PeerRing,
    SecretKey,
    read_secret_file,
    readable_by_others,
)
from antecede.runtime.security.noise_handshake import NoiseCrypto

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
    """Log once that a node talks beyond this machine without a key."""
    if settings.insecure and not is_loopback(host):
        log.warning(
            "%s has no key and listens at %s: whoever can send to it can read, forge and stop its "
            "messages",
            settings.name,
            host,
        )
