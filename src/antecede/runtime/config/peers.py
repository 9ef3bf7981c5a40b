"""A peer as it is given to a node: its address, and the public keys that it may have."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from antecede.core.errors import LocalError
from antecede.runtime.config.addresses import Address, parse_address
from antecede.runtime.config.names import checked_name
from antecede.runtime.security.keys import PublicKey, parse_public

LEARN: Final = "learn"
"""The address of a peer that is to say hello first, where a file needs a text."""

PeerState: TypeAlias = Literal["new", "here", "silent", "away"]
"""How a peer stands: added lately and not met, met, met and not heard for a while, or gone."""

FIELDS: Final = frozenset({"address", "keys"})


@dataclass(frozen=True, slots=True, init=False)
class Peer:
    """Where a peer is, and which public keys it may have: several, while it changes from one to
    the next. Without an address it says hello first."""

    address: Address | None
    keys: tuple[PublicKey, ...]

    def __init__(
        self,
        address: str | tuple[str, int] | None = None,
        keys: str | PublicKey | Sequence[str | PublicKey] = (),
    ) -> None:
        object.__setattr__(self, "address", read_place(address))
        object.__setattr__(self, "keys", read_keys(keys))


PeerLike: TypeAlias = Peer | str | tuple[str, int] | None
"""A peer, or no more than its address; None, or no address, lets it say hello first."""


def read_place(value: object) -> Address | None:
    """An address, or None for a peer that says hello first."""
    return None if value in (None, "", LEARN) else parse_address(value)


def read_keys(value: object) -> tuple[PublicKey, ...]:
    """Public keys: one of them, or several; each once."""
    if isinstance(value, str | PublicKey):
        value = [value]
    if not isinstance(value, Iterable):
        raise LocalError(f"{value!r} is not a list of public keys")
    return tuple(dict.fromkeys(read_key(part) for part in value))


def read_key(value: object) -> PublicKey:
    """A public key, perhaps as text."""
    if isinstance(value, PublicKey):
        return value
    if not isinstance(value, str):
        raise LocalError(f"{type(value).__name__} is not a public key")
    return parse_public(value)


def read_peer(value: object) -> Peer:
    """A peer: a `Peer`, an address, or a table with `address` and `keys`."""
    if isinstance(value, Peer):
        return value
    if isinstance(value, Mapping):
        if not set(value) <= FIELDS:
            raise LocalError(f"a peer has address and keys, not {sorted(set(value) - FIELDS)}")
        return Peer(value.get("address"), value.get("keys", ()))
    return Peer(read_place(value))


def read_peers(value: object) -> dict[str, Peer]:
    """Who the peers are, where, and with which keys.

    A mapping of names to peers, or a list (as text: with commas) of `name=address` or `name`.
    """
    peers: dict[str, Peer] = {}
    for given, peer in pairs_of(value, "a table of peers"):
        name = checked_name(given)
        if name in peers:
            raise LocalError(f"{name!r} is there twice")
        peers[name] = read_peer(peer)
    return peers


def read_peer_keys(value: object) -> dict[str, tuple[PublicKey, ...]]:
    """The keys of peers: a mapping of names to keys, or a list of `name=key`, some perhaps of one
    name."""
    keys: dict[str, tuple[PublicKey, ...]] = {}
    for given, some in pairs_of(value, "a table of names and public keys"):
        name = checked_name(given)
        if some is None:
            raise LocalError(f"no key follows {name!r}")
        keys[name] = tuple(dict.fromkeys(keys.get(name, ()) + read_keys(some)))
    return keys


def pairs_of(value: object, what: str) -> Iterable[tuple[object, object]]:
    """Names, each with what stands beside it."""
    if isinstance(value, str):
        value = [part for part in value.split(",") if part.strip()]
    if isinstance(value, Mapping):
        return value.items()
    if isinstance(value, Iterable):
        return [split_pair(part) for part in value]
    raise LocalError(f"{value!r} is not {what}")


def split_pair(part: object) -> tuple[str, str | None]:
    """Both halves of `name=…`, or a name alone."""
    if not isinstance(part, str):
        raise LocalError(f"{part!r} is not a peer")
    name, equals, rest = part.partition("=")
    return name.strip(), rest.strip() if equals else None
