"""Suspicions: whom the nodes of a group take for dead, told to each other before anybody decides.

A suspicion is an opinion and changes nothing. Each node tells its peers the whole list of those
that it suspects, with a number that grows, whenever it changes; a later list replaces an earlier
one. What is made of it is up to a policy.
"""

from typing import Final, final

from mypy_extensions import i64

from antecede.link.core_driver import CoreDriver
from antecede.link.session import Session
from antecede.wire.fence import Tombstone

TOLD_MOST: Final = 8
"""Suspicions in one list: the others are told when these are settled."""


@final
class Suspicions:
    """Whom one node suspects, and what it has told of it."""

    __slots__ = ("_core", "_held", "version")

    def __init__(self, core: CoreDriver) -> None:
        self._core: Final = core
        self._held: list[Tombstone] = []
        self.version: i64 = 0

    def hold(self, suspects: list[Session], peers: list[Session]) -> None:
        """From now on these are suspected, and nobody else; all peers are told if that is news."""
        held = [Tombstone(session.name, session.incarnation, "", "") for session in suspects]
        if held == self._held:
            return
        self._held = held
        self.version += 1
        for session in peers:
            self.tell(session)

    def tell(self, session: Session) -> None:
        """This peer is to be told, unless there never was anything to tell."""
        if self.version > 0 and session.met and not session.is_gone():
            session.suspicions_due = True
            self._core.mark(session)

    def told(self) -> list[Tombstone]:
        """What a peer is told now: the same first ones by everybody, so that they add up."""
        return self._held[:TOLD_MOST]


def suspecting(suspect: Session, peers: list[Session]) -> list[str]:
    """Which of the peers have said that they suspect this one, as it is now."""
    return [
        peer.name
        for peer in peers
        if peer is not suspect
        and not peer.is_gone()
        and any(
            stone.name == suspect.name and stone.incarnation == suspect.incarnation
            for stone in peer.suspects
        )
    ]
