"""Members of rooms as peers: whoever a member names is introduced here, with its key.

So one address is enough to join, and members let newcomers in that nobody has configured. A room
never skips a member: whoever cannot be met within `meet_within` is expelled.
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping
from typing import Final

from antecede.core.errors import LocalError
from antecede.core.process import NEVER_NS
from antecede.endpoint.endpoint import Endpoint
from antecede.groups import Contact, Join, MemberId, Snapshot, Word
from antecede.membership.contact import Contact as PeerContact
from antecede.runtime.carriers.carrier import Carrier
from antecede.runtime.config.addresses import Address, CarriedAddress, is_name, parse_address
from antecede.runtime.config.settings import Settings
from antecede.runtime.errors import PeerAway, UnknownPeer
from antecede.runtime.known_peers import KnownPeers
from antecede.runtime.notifier import Notifier
from antecede.runtime.security.keys import PublicKey

NOT_MET: Final = "it could not be met by a member of its room"
"""Why somebody who joins is expelled whom this node cannot reach."""

JOINER_FACTOR: Final = 3
"""Who joins waits three times as long for a member as that waits for it."""

log = logging.getLogger(__name__)


class RoomContacts:
    """Where the members of all rooms of one node are."""

    def __init__(
        self, settings: Settings, endpoint: Endpoint, known: KnownPeers, carrier: Carrier
    ) -> None:
        self._settings: Final = settings
        self._endpoint: Final = endpoint
        self._contacts: Final = endpoint.directory.by_name
        self._known: Final = known
        self._carrier: Final = carrier
        # Those whose addresses are known from members.
        self._introduced: Final[set[str]] = set()
        # Until when those are waited for who were named and have not been met.
        self._until: Final[dict[tuple[str, int], int]] = {}

    # Who is where.

    def own(self) -> Contact:
        """Where this node is, as it knows."""
        return Contact((str(self._carrier.address),), self._known.own_key())

    def host_here(self) -> str:
        """Where this node takes connections; empty on carriers that know no hosts."""
        address = self._carrier.address
        is_broker = isinstance(address, CarriedAddress) and address.carrier == "nats"
        return "" if is_broker or is_name(address.host) else address.host

    def host_of(self, name: str) -> str:
        """Where a peer takes connections, if anywhere is known."""
        contact = self._contacts.get(name)
        if contact is None or not self.host_here():
            return ""
        place = contact.session.address.proven or contact.address
        return str(place[0]) if isinstance(place, tuple) else ""

    def name_at(self, address: Address) -> str | None:
        """The peer at this address, if one is known."""
        resolved = self._carrier.resolve(address)
        for contact in self._contacts.values():
            if resolved in (contact.address, contact.session.address.proven):
                return contact.name
        return None

    def with_addresses(self, word: Word) -> Word:
        """A word that names members, with their addresses as this node sees them."""
        if isinstance(word, Join):
            seen = self._seen(word.joiner, word.contact)
            return Join(word.room, word.sender, word.joiner, seen, word.attempt)
        if isinstance(word, Snapshot):
            word.known.update({one: self._seen(one, at) for one, at in word.known.items()})
        return word

    def _seen(self, member: MemberId, told: Contact) -> Contact:
        contact = self._contacts.get(member.name)
        if contact is None:
            return told
        place = contact.address if contact.address is not None else contact.session.address.proven
        if not isinstance(place, tuple):
            return told
        text = str(place if isinstance(place, CarriedAddress) else Address(*place[:2]))
        others = [one for one in told.addresses if one != text]
        return Contact((text, *others[:1]), told.key)

    # Meeting.

    def introduce(self, named: Mapping[MemberId, Contact]) -> None:
        """Make these known as peers, as far as they are not."""
        for member, contact in named.items():
            if member.name == self._settings.name or self.is_settled(member):
                continue
            try:
                self._introduce(member.name, contact)
            except LocalError as error:
                log.info("%s: %s cannot be introduced: %s", self._settings.name, member, error)

    def _introduce(self, name: str, told: Contact) -> None:
        address = first_address(told)
        known = self._contacts.get(name)
        if known is None:
            keys = (PublicKey(told.key),) if told.key and self._settings.key is not None else ()
            self._known.add(name, address, keys)
            self._introduced.add(name)
        elif address is not None and (known.address is None or self._has_moved(known, address)):
            self._known.locate(name, address)
            self._introduced.add(name)

    def _has_moved(self, known: PeerContact, told: Address) -> bool:
        """Whether a peer restarts elsewhere; where the application has said it is, it is."""
        return known.name in self._introduced and known.address != self._carrier.resolve(told)

    def is_settled(self, member: MemberId) -> bool:
        """Whether it is met in that life, or expelled: nobody waits for it any more."""
        if self._endpoint.is_expelled(member.name, member.incarnation):
            return True
        contact = self._contacts.get(member.name)
        if contact is None or not contact.is_here:
            return member.name == self._settings.name
        return contact.session.met and contact.session.incarnation == member.incarnation

    def unsettled(
        self, members: Iterable[MemberId], now_ns: int, *, joining: bool = False
    ) -> list[MemberId]:
        """Those of them who have still to be met; whoever was waited for too long is expelled.

        Who joins waits longer: if it and a member cannot meet, it is the newcomer that goes.
        """
        patience_ns = self._settings.meet_within_ns * (JOINER_FACTOR if joining else 1)
        waiting = []
        for member in members:
            key = (member.name, int(member.incarnation))
            if self.is_settled(member):
                self._until.pop(key, None)
                continue
            if now_ns < self._until.setdefault(key, now_ns + patience_ns):
                waiting.append(member)
                continue
            del self._until[key]
            self._endpoint.expel_incarnation(member.name, member.incarnation, NOT_MET, now_ns)
        return waiting

    def next_ns(self) -> int:
        """When somebody has been waited for long enough."""
        return min(self._until.values(), default=NEVER_NS)

    def is_waiting(self) -> bool:
        """Whether anybody is waited for."""
        return bool(self._until)

    async def meet(self, via: str, progress: Notifier) -> str:
        """The name of a member given by name or address, once it is here; `PeerAway` if it does
        not come within `meet_within`."""
        name = via if via in self._contacts else await self._find(via, progress)
        contact = self._contacts[name]
        try:
            async with asyncio.timeout(self._settings.meet_within):
                while not contact.is_here:
                    await progress.wait()
        except TimeoutError:
            raise PeerAway(name) from None
        return name

    async def _find(self, via: str, progress: Notifier) -> str:
        """The name of whoever is at an address, who is a peer from now on."""
        given, equals, place = via.rpartition("=")
        if not equals and ":" not in via:
            raise UnknownPeer(via, tuple(self._contacts))
        address = parse_address(place)
        name = given or self.name_at(address) or await self._ask_name(address, progress)
        if name not in self._contacts:
            self._known.add(name, address, ())
        return name

    async def _ask_name(self, address: Address, progress: Notifier) -> str:
        """Say hello to nobody at an address: whoever is there answers who it is instead."""
        resolved, directory = self._carrier.resolve(address), self._endpoint.directory
        nobody = f"?{address}"
        directory.ask_name(resolved)
        self._known.add(nobody, address, ())
        try:
            async with asyncio.timeout(self._settings.meet_within):
                while not (name := directory.name_answered(resolved)):
                    await progress.wait()
        except TimeoutError:
            raise PeerAway(str(address)) from None
        finally:
            directory.forget_name(resolved)
            self._known.remove(nobody)
        return name


def first_address(contact: Contact) -> Address | None:
    """The first of its addresses that makes sense."""
    for text in contact.addresses:
        try:
            return parse_address(text)
        except LocalError:
            continue
    return None
