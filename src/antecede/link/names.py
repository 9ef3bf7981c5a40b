"""Who is meant by a number: for protocols whose packets name processes other than their two ends.

Inside a node processes are numbers of its own; elsewhere they are known by name and incarnation.
`Names` has both, for everybody whom this node has met or others have spoken of. `Speech` is what is
said between this node and one peer: which of our numbers it knows, and whom it means by its own. A
number is introduced in every datagram that uses it until one of those has come.

What is heard of somebody who is not a peer is passed on like everything else. If it turns out to be
a peer that had not been met, the core is told that the two are one.
"""

from hashlib import blake2b
from typing import Final, final

from mypy_extensions import i64

from antecede.core.errors import RemoteError
from antecede.core.fact_packets import (
    FactsAck,
    FactsAsk,
    FactsMessage,
    FactsPermit,
    named_ids,
    translated,
)
from antecede.core.values import Packet
from antecede.link.kept import Kept
from antecede.wire.naming import Named

SELF: Final = 0
"""The number of this node itself, and in what a peer says the peer."""

SPOKEN_OF_MOST: Final = 1 << 13
"""Processes that one peer may introduce."""

STRANGERS_MOST: Final = 1 << 16
"""Processes known by hearsay only, in all."""

KEY_MASK: Final = (1 << 62) - 1


def name_key(name: str) -> int:
    """What stands for a name wherever a filter has a bit for it: the same at every node.

    All incarnations of a name share it, so it may be used before it is known who will answer.
    """
    digest = blake2b(name.encode(), digest_size=8, person=b"antecede").digest()
    return int.from_bytes(digest, "little") & KEY_MASK


@final
class Names:
    """Everybody whom one node has a number for, by number, and by name and incarnation."""

    __slots__ = ("_kept", "_numbers", "_strangers", "_who")

    def __init__(self, name: str, incarnation: i64, kept: Kept | None = None) -> None:
        # Where numbers are written down, if they must survive a crash.
        self._kept: Kept | None = None
        self._who: Final[dict[int, Named]] = {}
        self._numbers: Final[dict[str, dict[int, int]]] = {}
        # Those of whom we know by hearsay only.
        self._strangers: Final[dict[int, bool]] = {}
        self._add(SELF, name, incarnation, False)
        if kept is not None:
            for number, known in kept.named.items():
                self._recall(number, known)
            self._kept = kept

    def number_of(self, name: str, incarnation: i64) -> i64:
        """Our number for an incarnation, or -1."""
        return self._numbers.get(name, {}).get(incarnation, -1)

    def strangers_up_to(self, name: str, incarnation: i64) -> list[int]:
        """Our numbers for incarnations up to this one that we know by hearsay only."""
        known = self._numbers.get(name, {})
        return [
            number
            for which, number in known.items()
            if which <= incarnation and number in self._strangers
        ]

    def renumber(self, name: str, incarnation: i64) -> None:
        """This node has another number, before anybody was told of it."""
        self._add(SELF, name, incarnation, False)

    def named(self, numbers: list[int]) -> list[Named]:
        """Who these are."""
        return [self._who[number] for number in numbers]

    def met(self, number: i64, name: str, incarnation: i64) -> i64:
        """`number` turns out to be this incarnation; the number it had by hearsay, or -1."""
        alias = self.number_of(name, incarnation)
        if alias != number:
            self._add(number, name, incarnation, False)
        if self._strangers.pop(alias, False):
            return alias
        return -1

    def heard_of(self, number: i64, name: str, incarnation: i64) -> None:
        """Others speak of this incarnation, which is `number` from now on."""
        if len(self._strangers) >= STRANGERS_MOST:
            raise RemoteError(f"more than {STRANGERS_MOST} processes that nobody has met")
        self._strangers[number] = True
        self._add(number, name, incarnation, True)

    def _recall(self, number: i64, known: tuple[str, int, bool]) -> None:
        """What was written down before a crash, in its order."""
        name, incarnation, is_stranger = known
        if is_stranger:
            self.heard_of(number, name, incarnation)
        else:
            self.met(number, name, incarnation)

    def _add(self, number: i64, name: str, incarnation: i64, is_stranger: bool) -> None:
        self._who[number] = Named(number, name, incarnation)
        self._numbers.setdefault(name, {})[incarnation] = number
        if self._kept is not None:
            self._kept.introduced(number, name, incarnation, is_stranger)


@final
class Speech:
    """Which of our numbers a peer knows, and whom it means by its own."""

    __slots__ = ("_known", "_meant", "_peer")

    def __init__(self, peer: i64) -> None:
        self._peer: Final[i64] = peer
        self._known: Final[dict[int, bool]] = {SELF: True}
        self._meant: Final[dict[int, int]] = {SELF: int(peer)}

    def begin_anew(self) -> None:
        """The peer has crashed and come back: it knows none of our numbers any more.

        Those that it uses have survived with it.
        """
        self._known.clear()
        self._known[SELF] = True

    # What we say.

    def unknown(self, packet: Packet) -> list[int]:
        """The numbers in a packet that the peer may not know."""
        return [number for number in named_ids(packet) if number not in self._known]

    def understood_by_peer(self, numbers: list[int]) -> None:
        """A datagram in which these were introduced has come."""
        for number in numbers:
            self._known[number] = True

    # What the peer says.

    def introduced(self, number: i64, process: i64) -> None:
        """By `number` the peer means our `process`."""
        known = self._meant.get(number, -1)
        if known not in (-1, process):
            raise RemoteError(f"{number} stands for two processes")
        if known < 0 and len(self._meant) > SPOKEN_OF_MOST:
            raise RemoteError(f"a peer that speaks of more than {SPOKEN_OF_MOST} others")
        self._meant[number] = process

    def renamed(self, alias: i64, process: i64) -> None:
        """One of our numbers is replaced."""
        for number, meant in self._meant.items():
            if meant == alias:
                self._meant[number] = process

    def translated(self, packet: Packet) -> Packet:
        """A packet of the peer in our numbers; `RemoteError` if it names somebody unknown."""
        if not isinstance(packet, (FactsMessage, FactsAck, FactsPermit, FactsAsk)):
            raise RemoteError(f"a {packet.kind} that has no meaning here")
        for number in named_ids(packet):
            if number not in self._meant:
                raise RemoteError(f"a {packet.kind} about {number}, who was not introduced")
        return translated(packet, self._meant, self._peer)

    def size(self) -> int:
        """How many numbers are kept."""
        return len(self._known) + len(self._meant)
