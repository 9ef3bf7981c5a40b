"""Whom a message is for: everything that can be wrong with a call of `send` is found here."""

from collections.abc import Iterable
from dataclasses import dataclass

from antecede.core.errors import LocalError
from antecede.membership.contact import Contact, ContactState
from antecede.membership.directory import Directory
from antecede.runtime.config.settings import Settings
from antecede.runtime.content import Content
from antecede.runtime.errors import PayloadTooLarge, PeerAway, UnknownPeer
from antecede.transport.peer_lifecycle import MET
from antecede.transport.session import Session
from antecede.wire.handshake import ENVELOPE_VERSION


@dataclass(frozen=True, slots=True)
class Targets:
    """Whom a message is for, as things stand."""

    contacts: list[Contact]
    to_self: bool
    left_out: list[str]
    """Those that are away, and do not get it."""
    awaited: list[str]
    """Those of `contacts` that have to be met first: they are new, or away and waited for."""
    data: bytes = b""
    """What is sent to them."""


def chosen_targets(
    directory: Directory, target: object, content: Content, settings: Settings
) -> Targets:
    """The peers among the targets, and whether this node is one; a `LocalError` if none can be."""
    found = directory.target_sets.find(target)
    if found is not None and found.payload_max() > 0:
        known = Targets(found.contacts, found.to_self, [], [])
        return with_data(known, found.to_self, content.sealed(found.names), settings)
    me = settings.name
    names = [target] if isinstance(target, str) else target
    if not isinstance(names, Iterable) or isinstance(names, bytes):
        raise LocalError(f"a target is a name or several names, not {target!r}")
    targets = Targets([], False, [], [])
    chosen: set[str] = set()
    told: list[str] = []
    takes_envelopes = True
    to_self = False
    for name in names:
        if name == me and not to_self:
            to_self = True
            told.append(name)
            continue
        contact = contact_called(name, directory, me, chosen)
        chosen.add(contact.name)
        if not contact.is_here:
            waits = settings.away == "wait" and not content.is_reply
            if contact.state == ContactState.AWAY and not waits:
                targets.left_out.append(contact.name)
                continue
            targets.awaited.append(contact.name)
        elif is_older(contact.session):
            takes_envelopes = False
            check_plain(content, contact.name)
        targets.contacts.append(contact)
        told.append(contact.name)
    left_out = targets.left_out
    if left_out and (settings.away == "refuse" or (not targets.contacts and not to_self)):
        raise PeerAway(left_out[0])
    if not targets.contacts and not to_self:
        raise LocalError("no targets: a message needs at least one")
    if len(told) == len(chosen) + to_self and not targets.awaited:
        directory.target_sets.remember(tuple(told), targets.contacts, to_self)
    data = content.sealed(told) if takes_envelopes else content.payload
    return with_data(targets, to_self, data, settings)


def with_data(targets: Targets, to_self: bool, data: bytes, settings: Settings) -> Targets:
    """The same with what is sent to them; `PayloadTooLarge` if one of them takes less."""
    limit = settings.payload_limit
    for contact in targets.contacts:
        limit = min(limit, int(contact.session.payload_limit))
    if len(data) > limit:
        raise PayloadTooLarge(len(data), limit)
    if settings.order == "none":
        for contact in targets.contacts:
            if len(data) > contact.session.payload_max:
                raise PayloadTooLarge(len(data), int(contact.session.payload_max), unordered=True)
    return Targets(targets.contacts, to_self, targets.left_out, targets.awaited, data)


def is_older(session: Session) -> bool:
    """Whether a peer runs a version that knows no envelopes."""
    return session.lifecycle.phase == MET and session.version < ENVELOPE_VERSION


def check_plain(content: Content, name: str) -> None:
    """`LocalError` if a peer of an earlier version would not understand this."""
    if content.needs_envelope:
        raise LocalError(
            f"{name!r} runs an earlier version of antecede, which knows no requests and no "
            "headers: upgrade it first"
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
