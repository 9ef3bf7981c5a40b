"""Whom a message is for: everything that can be wrong with a call of `send` is found here."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

from antecede.core.errors import LocalError
from antecede.membership.contact import Contact, ContactState
from antecede.membership.directory import Directory
from antecede.runtime.config.settings import Settings
from antecede.runtime.errors import PayloadTooLarge, PeerAway, UnknownPeer
from antecede.transport.peer_lifecycle import MET

Payload: TypeAlias = bytes | bytearray | memoryview


@dataclass(frozen=True, slots=True)
class Targets:
    """Whom a message is for, as things stand."""

    contacts: list[Contact]
    to_self: bool
    left_out: list[str]
    """Those that are away, and do not get it."""
    awaited: list[str]
    """Those of `contacts` that have to be met first: they are new, or away and waited for."""


def chosen_targets(
    directory: Directory, target: object, payload: bytes, settings: Settings
) -> Targets:
    """The peers among the targets, and whether this node is one; a `LocalError` if none can be."""
    me = settings.name
    names = [target] if isinstance(target, str) else target
    if not isinstance(names, Iterable) or isinstance(names, bytes):
        raise LocalError(f"a target is a name or several names, not {target!r}")
    targets = Targets([], False, [], [])
    chosen: set[str] = set()
    to_self = False
    limit = settings.payload_limit
    for name in names:
        if name == me and not to_self:
            to_self = True
            continue
        contact = contact_called(name, directory, me, chosen)
        chosen.add(contact.name)
        if not contact.is_here:
            if contact.state == ContactState.AWAY and settings.away != "wait":
                targets.left_out.append(contact.name)
                continue
            targets.awaited.append(contact.name)
        elif contact.session.lifecycle.phase == MET:
            limit = min(limit, contact.session.payload_limit)
        targets.contacts.append(contact)
    left_out = targets.left_out
    if left_out and (settings.away == "refuse" or (not targets.contacts and not to_self)):
        raise PeerAway(left_out[0])
    if not targets.contacts and not to_self:
        raise LocalError("no targets: a message needs at least one")
    if len(payload) > limit:
        raise PayloadTooLarge(len(payload), limit)
    if settings.order == "none":
        for contact in targets.contacts:
            if len(payload) > contact.session.payload_max:
                raise PayloadTooLarge(
                    len(payload), int(contact.session.payload_max), unordered=True
                )
    return replace(targets, to_self=to_self)


def payload_bytes(payload: object) -> bytes:
    """What is sent: bytes, or a copy of what is like them and may change afterwards."""
    if isinstance(payload, bytes):
        return payload
    if isinstance(payload, bytearray | memoryview):
        return bytes(payload)
    raise LocalError(
        f"the payload must be bytes, a bytearray or a memoryview, not {type(payload).__name__}; "
        "encode it"
    )


def contact_called(name: object, directory: Directory, me: str, before: set[str]) -> Contact:
    """The peer of that name, which is not one of those `before`."""
    if not isinstance(name, str):
        raise LocalError(f"a target is the name of a peer, not {name!r}")
    contact = directory.by_name.get(name)
    if contact is None:
        if name == me:
            raise LocalError(f"{name!r} stands twice among the targets: name it once")
        raise UnknownPeer(name, tuple(directory.by_name))
    if name in before:
        raise LocalError(f"{name!r} stands twice among the targets: name it once")
    return contact
