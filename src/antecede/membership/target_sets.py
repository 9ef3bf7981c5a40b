"""Several targets at once, as applications name them: looked up and checked once, then remembered.

Whoever sends to the same names again and again finds them here with all that does not depend on
the message. A set counts only while everybody in it is there as it was: that is asked for every
message, and who has left, is expelled or was replaced sends the call on its long way again.
"""

from typing import Final, final

from mypy_extensions import i64

from antecede.membership.contact import Contact
from antecede.transport.peer_lifecycle import MET
from antecede.transport.session import ME, Session
from antecede.wire.envelope import Envelope, envelope_bytes
from antecede.wire.handshake import ENVELOPE_VERSION

SETS_MAX: Final = 64
"""64 sets are remembered; the one that came first gives way."""

NAMES_MAX: Final = 256
"""Up to 256 names make a set: to look one up by more is hardly less than to look up the names."""

NOT_ALL_HERE: Final = 0
"""In place of a size: not everybody is there as it was."""


@final
class TargetSet:
    """Peers that all were here, and knew envelopes; this node may be one of the targets, too."""

    __slots__ = ("contacts", "ids", "listed", "names", "prefix", "sessions", "to_self")

    def __init__(self, names: tuple[str, ...], contacts: list[Contact], to_self: bool) -> None:
        self.names: Final = names
        self.listed: Final = list(names)
        self.contacts: Final = contacts
        self.to_self: Final = to_self
        self.sessions: Final[list[Session]] = [contact.session for contact in contacts]
        # Their ids in the core; nobody may change this list.
        self.ids: Final[list[int]] = [ME] if to_self else []
        self.ids.extend([int(session.id) for session in self.sessions])
        # What stands before every payload: for whom it is.
        self.prefix: Final = envelope_bytes(Envelope(targets=names))

    def payload_max(self) -> i64:
        """The largest message that goes to all of them; 0 if not all are there as they were."""
        largest: i64 = 1 << 62
        index: i64 = 0
        while index < len(self.sessions):
            contact, session = self.contacts[index], self.sessions[index]
            index += 1
            if not contact.is_here or contact.session is not session:
                return NOT_ALL_HERE
            if session.lifecycle.phase != MET or session.version < ENVELOPE_VERSION:
                return NOT_ALL_HERE
            size = session.payload_max
            if size < largest:
                largest = size
        return largest


@final
class TargetSets:
    """The sets of one node, by their names in the order of the call."""

    __slots__ = ("_last", "_sets")

    def __init__(self) -> None:
        # The set that was found last, which is most often the next one, too.
        self._last: TargetSet | None = None
        self._sets: Final[dict[tuple[object, ...], TargetSet]] = {}

    def find(self, names: object) -> TargetSet | None:
        """The set that was remembered for a list or tuple; ask it whether it still counts."""
        if not isinstance(names, (list, tuple)):
            return None
        last = self._last
        if last is not None and (names == last.listed or names == last.names):
            return last
        try:
            self._last = self._sets.get(tuple(names))
        except TypeError:
            return None  # A name that cannot be looked up is none: whoever looks closer says so.
        return self._last

    def remember(self, names: tuple[str, ...], contacts: list[Contact], to_self: bool) -> None:
        """These names, none of them twice, are these contacts."""
        if len(names) < 2 or len(names) > NAMES_MAX:
            return
        made = TargetSet(names, contacts, to_self)
        if made.payload_max() == NOT_ALL_HERE:
            return
        self._sets.pop(names, None)
        if len(self._sets) >= SETS_MAX:
            del self._sets[next(iter(self._sets))]
        self._sets[names] = made
        self._last = made

    def forget(self) -> None:
        """A name is no peer's any more."""
        self._sets.clear()
        self._last = None
