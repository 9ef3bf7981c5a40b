"""Keys as text with a checksum, in files, and the keys of the peers that a node knows.

    ante_pub_…       a public key: who somebody is; may be shown to everybody
    ante_sec_…       a secret key: whoever has it *is* that somebody

One secret key can also serve a whole cluster: each member's own key follows from it and its name.
The kind is part of the text and of the checksum, so a secret pasted where a public key belongs is
recognised, and a mistyped character is noticed.

To a node a name is its keys: nobody else can speak under it.
"""

import base64
import hashlib
import logging
import os
import secrets
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from antecede.core.errors import LocalError
from antecede.runtime.errors import BadConfiguration
from antecede.runtime.security.noise import keyed_hash, public_of
from antecede.transport.seals import KEY_BYTES

PUBLIC: Final = "ante_pub_"
SECRET: Final = "ante_sec_"

FIRST_USE: Final = "first-use"
"""In place of a public key: trust on first use, and no other key after that."""

CHECK_BYTES: Final = 4
"""A checksum of 4 bytes: one in 4 billion typing mistakes goes unnoticed."""

FILE_BYTES_MAX: Final = 4_096
"""A key file has at most 4,096 bytes: one line and perhaps a few comments."""


@dataclass(frozen=True, slots=True)
class PublicKey:
    """The identity of a peer; without any bytes it is trusted on first use."""

    raw: bytes

    def __str__(self) -> str:
        return key_text(PUBLIC, self.raw) if self.raw else FIRST_USE


@dataclass(frozen=True, slots=True)
class SecretKey:
    """The secret half of a node's identity; never shown by `repr`."""

    raw: bytes = field(repr=False)

    @property
    def public(self) -> PublicKey:
        """The half that others may know."""
        return PublicKey(public_of(self.raw))

    def text(self) -> str:
        """As it stands in a file."""
        return key_text(SECRET, self.raw)


@dataclass(frozen=True, slots=True)
class ClusterKey:
    """One secret that all members share: simple, but every member can act as every other."""

    raw: bytes = field(repr=False)

    def secret_of(self, name: str) -> SecretKey:
        """The key of the member called `name`: all members can compute all of them."""
        return SecretKey(keyed_hash("SHA256", self.raw, b"antecede member " + name.encode()))

    @property
    def shared(self) -> bytes:
        """The pre-shared key of every handshake in the cluster."""
        return keyed_hash("SHA256", self.raw, b"antecede shared")


def new_secret() -> SecretKey:
    """A new random key."""
    return SecretKey(secrets.token_bytes(KEY_BYTES))


def key_text(kind: str, raw: bytes) -> str:
    """A key of this kind, as text."""
    return kind + base64.urlsafe_b64encode(raw + checksum(kind, raw)).decode()


def checksum(kind: str, raw: bytes) -> bytes:
    """Differs between kinds, so that changing the prefix does not turn one kind into another."""
    return hashlib.blake2s(kind.encode() + raw).digest()[:CHECK_BYTES]


def parse_public(text: str) -> PublicKey:
    """A public key; `LocalError` says what is wrong with the text, without repeating a secret."""
    stripped = text.strip()
    if stripped == FIRST_USE:
        return PublicKey(b"")
    if stripped.startswith(SECRET):
        raise LocalError(
            "this is a SECRET key where a public one belongs: keep it to yourself; "
            "if anybody may have seen it, make a new one (antecede key new FILE); "
            "`antecede key public FILE` prints the public half"
        )
    return PublicKey(raw_of(PUBLIC, "public", stripped))


def parse_secret(text: str) -> SecretKey:
    """A secret key, from the text of its file."""
    stripped = text.strip()
    if stripped.startswith(PUBLIC):
        raise LocalError("this is a public key where the secret one belongs: name the file of that")
    return SecretKey(raw_of(SECRET, "secret", stripped))


def raw_of(kind: str, word: str, text: str) -> bytes:
    """The 32 bytes of a key of this kind; errors never show what may be a secret."""
    if not text.startswith(kind):
        raise LocalError(f"not a {word} key: those begin with {kind}")
    try:
        both = base64.b64decode(text[len(kind) :].encode("ascii"), altchars=b"-_", validate=True)
    except (ValueError, UnicodeEncodeError):
        raise LocalError(
            f"not a {word} key: it has letters that no key has; copy it again"
        ) from None
    raw, check = both[:KEY_BYTES], both[KEY_BYTES:]
    if len(both) != KEY_BYTES + CHECK_BYTES:
        raise LocalError(f"not a {word} key: it is too {'short' if len(both) < 36 else 'long'}")
    if check != checksum(kind, raw):
        raise LocalError(
            f"this {word} key has been changed or mistyped: its checksum is wrong; copy it again"
        )
    return raw


def read_secret_file(path: Path) -> SecretKey:
    """The secret key in a file; `BadConfiguration` says what is wrong with it."""
    try:
        return parse_secret(key_line(path))
    except LocalError as error:
        raise BadConfiguration(f"key file {path}: {error}") from None


def key_line(path: Path) -> str:
    """The one line of a key file that is neither empty nor a comment."""
    try:
        with path.open("rb") as file:
            content = file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise LocalError(f"{error.strerror}") from None
    if len(content) > FILE_BYTES_MAX:
        raise LocalError("too long for a key file: name one that antecede key new has written")
    lines = [line.strip() for line in content.decode("utf-8", "replace").splitlines()]
    keys = [line for line in lines if line and not line.startswith("#")]
    if len(keys) != 1:
        raise LocalError(f"{len(keys)} keys in it, where one is expected")
    return keys[0]


def write_key_file(path: Path, text: str) -> None:
    """A new file that only its owner can read; an existing one is never overwritten."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise BadConfiguration(
            f"{path} exists already; a key is never overwritten: choose another name"
        ) from None
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text + "\n")
        file.flush()
        os.fsync(file.fileno())


def readable_by_others(path: Path) -> bool:
    """Whether a key file's mode lets more than its owner read it."""
    return bool(path.stat().st_mode & 0o077)


log = logging.getLogger(__name__)

KEYS_MAX: Final = 4
"""A peer has at most 4 keys at a time: the present one, and those it may change to."""


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

    def on_key_used(self, name: str, key: bytes) -> None:  # noqa: B027 - where all keys are given
        """A node with this key was answered under that name."""

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
    """Every node has a key of its own, and is configured with those of its peers."""

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

    def on_key_used(self, name: str, key: bytes) -> None:
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
                    self.on_key_used(name, key)

    def _is_taken(self, key: bytes) -> bool:
        return key == self.secret.public.raw or any(key in known for known in self._keys.values())

    def set_keys(self, name: str, keys: Sequence[PublicKey]) -> None:
        raw = tuple(dict.fromkeys(key.raw for key in keys))
        first_use = b"" in raw
        if first_use:
            if len(raw) > 1:
                raise LocalError(f"{name} has a key, so it is not found out by first use")
            raw = ()
        if len(raw) > KEYS_MAX:
            raise LocalError(f"{name} has {len(raw)} keys; {KEYS_MAX} at a time are allowed")
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
