"""Whose keys a node knows: a name is its keys, and nobody else can speak under it."""

import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Final

from antecede.core.errors import LocalError
from antecede.live.security.keys import ClusterKey, PublicKey, SecretKey

log = logging.getLogger(__name__)

KEYS_MOST: Final = 4
"""Keys of one peer at a time: the present one, and those it may change to."""


class KeyRing(ABC):
    """The secret key of one node, and how to tell those of its peers."""

    secret: SecretKey
    shared: bytes | None = None
    """What all members of a cluster know, and nobody else."""

    @abstractmethod
    def keys_of(self, name: str) -> tuple[bytes, ...]:
        """The public keys that `name` may have; empty if it may not speak at all."""

    def is_key_of(self, name: str, key: bytes) -> bool:
        """Whether who has this key may speak under that name."""
        return key in self.keys_of(name)

    def is_used(self, name: str, key: bytes) -> None:  # noqa: B027 - where all keys are given
        """Who has this key has been answered under that name."""

    def known_keys(self, name: str) -> tuple[PublicKey, ...]:
        """The keys that `name` was given here, as `set_keys` takes them."""
        return tuple(PublicKey(raw) for raw in self.keys_of(name))

    @abstractmethod
    def set_keys(self, name: str, keys: Sequence[PublicKey]) -> None:
        """From now on `name` has these keys, and no others."""

    def adopt(self, before: "KeyRing", names: Sequence[str]) -> None:
        """Take over the keys of these names from the ring that this one takes the place of."""
        for name in names:
            self.set_keys(name, before.known_keys(name))


class PeerRing(KeyRing):
    """Every node has a key of its own, and is told those of its peers."""

    def __init__(self, secret: SecretKey, peers: Mapping[str, Sequence[PublicKey]]) -> None:
        self.secret = secret
        self._keys: dict[str, tuple[bytes, ...]] = {}
        # Names whose key will be the first that is used.
        self._first_use: set[str] = set()
        for name, keys in peers.items():
            self.set_keys(name, keys)

    def keys_of(self, name: str) -> tuple[bytes, ...]:
        return self._keys.get(name, ())

    def is_key_of(self, name: str, key: bytes) -> bool:
        if name in self._first_use:
            return not self._is_taken(key)
        return key in self.keys_of(name)

    def is_used(self, name: str, key: bytes) -> None:
        if name in self._first_use:
            self._first_use.remove(name)
            self._keys[name] = (key,)
            log.warning("the key of %s is from now on its first: %s", name, PublicKey(key))

    def known_keys(self, name: str) -> tuple[PublicKey, ...]:
        return (PublicKey(b""),) if name in self._first_use else super().known_keys(name)

    def adopt(self, before: KeyRing, names: Sequence[str]) -> None:
        super().adopt(before, names)
        # Whose first key has been used meanwhile keeps it.
        for name in list(self._first_use):
            for key in before.keys_of(name):
                if not self._is_taken(key):
                    self.is_used(name, key)

    def _is_taken(self, key: bytes) -> bool:
        return key == self.secret.public.raw or any(key in known for known in self._keys.values())

    def set_keys(self, name: str, keys: Sequence[PublicKey]) -> None:
        raw = tuple(dict.fromkeys(key.raw for key in keys))
        first_use = b"" in raw
        if first_use:
            if len(raw) > 1:
                raise LocalError(f"{name} has a key, so it is not found out by first use")
            raw = ()
        if len(raw) > KEYS_MOST:
            raise LocalError(f"{name} has {len(raw)} keys; {KEYS_MOST} at a time are allowed")
        if self.secret.public.raw in raw:
            raise LocalError(f"the key given for {name} is this node's own; every node has another")
        for other, known in self._keys.items():
            if other != name and set(known) & set(raw):
                raise LocalError(f"{name} and {other} have the same key; every node has its own")
        self._keys[name] = raw
        self._first_use.discard(name)
        if first_use:
            self._first_use.add(name)


class ClusterRing(KeyRing):
    """All members share one secret; each one's key follows from it and its name."""

    def __init__(self, cluster: ClusterKey, name: str) -> None:
        self._cluster = cluster
        self.secret = cluster.secret_of(name)
        self.shared = cluster.shared
        self._name = name
        self._known: dict[str, tuple[bytes, ...]] = {}

    def keys_of(self, name: str) -> tuple[bytes, ...]:
        if name == self._name:
            return ()
        known = self._known.get(name)
        if known is None:
            known = (self._cluster.secret_of(name).public.raw,)
        return known

    def set_keys(self, name: str, keys: Sequence[PublicKey]) -> None:
        if keys:
            raise LocalError(f"{name} needs no key of its own: the cluster key serves all")
        self._known[name] = self.keys_of(name)

    def known_keys(self, name: str) -> tuple[PublicKey, ...]:  # noqa: ARG002 - all follow
        return ()
