"""Whom a message is for: everything that can be wrong with a call of `send` is found here."""

from collections.abc import Iterable
from typing import TypeAlias

from antecede.core.errors import LocalError
from antecede.link.contacts import Contact
from antecede.link.directory import Directory
from antecede.live.errors import PayloadTooLarge, PeerGone, UnknownPeer
from antecede.live.settings import Settings

Payload: TypeAlias = bytes | bytearray | memoryview


def chosen_targets(
    directory: Directory,
    target: object,
    payload: bytes,
    settings: Settings,
    skipped: list[str],
) -> tuple[list[Contact], bool]:
    """The peers among the targets, and whether this node is one; a `LocalError` if none can be.

    Of several targets those that are expelled, and those that are away if such are skipped, go to
    `skipped`; if all are, that is an error.
    """
    me = settings.name
    names = [target] if isinstance(target, str) else target
    if not isinstance(names, Iterable) or isinstance(names, bytes):
        raise LocalError(f"a target is a name or several names, not {target!r}")
    contacts: list[Contact] = []
    chosen: set[str] = set()
    to_self = False
    limit = settings.payload_limit
    for name in names:
        if name == me and not to_self:
            to_self = True
            continue
        contact = contact_called(name, directory, me, chosen)
        chosen.add(contact.name)
        if contact.expelled or (settings.away != "wait" and is_away(contact)):
            skipped.append(contact.name)
            continue
        contacts.append(contact)
        if contact.session.met and not contact.session.is_gone():
            limit = min(limit, contact.session.payload_limit)
    if skipped and (settings.away == "refuse" or (not contacts and not to_self)):
        raise PeerGone(skipped[0])
    if not contacts and not to_self:
        raise LocalError("no targets: a message needs at least one")
    if len(payload) > limit:
        raise PayloadTooLarge(len(payload), limit)
    if settings.order == "none":
        for contact in contacts:
            if len(payload) > contact.session.largest:
                raise PayloadTooLarge(len(payload), int(contact.session.largest), unordered=True)
    return contacts, to_self


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


def is_away(contact: Contact) -> bool:
    """Whether a peer has left, and no other of its name has come."""
    return contact.away or contact.session.is_gone()


def contact_called(name: object, directory: Directory, me: str, before: set[str]) -> Contact:
    """The peer of that name, which is not one of those `before`."""
    if not isinstance(name, str):
        raise LocalError(f"a target is the name of a peer, not {name!r}")
    contact = directory.by_name.get(name)
    if contact is None:
        if name == me:
            raise LocalError(f"{name!r} stands twice among the targets")
        raise UnknownPeer(name, tuple(directory.by_name))
    if name in before:
        raise LocalError(f"{name!r} stands twice among the targets")
    return contact
