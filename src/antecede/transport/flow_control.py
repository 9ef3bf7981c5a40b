"""Flow control between this node and one peer, both directions in one place.

Both sides count the same: what the messages sent so far cost in all, repeats not counted. A
receiver grants a total, and raises it when its application has taken enough; a sender may go on
while what it has spent is below that total, so its last message may cost more than was left.
The receiver does not trust that: what a correct peer would not have sent is refused before the core
sees it.
"""

from typing import Final, final

from mypy_extensions import i64

from antecede.core.errors import RemoteError

MESSAGE_COST: Final = 64
"""A message costs 64 bytes of a receiver's window beside its payload: the memory around it."""

OVERDRAFT: Final = MESSAGE_COST + (1 << 16)
"""No message costs more, so no correct peer is further beyond what it was granted."""


@final
class FlowControl:
    """What we may send to one peer, and what it may send to us."""

    __slots__ = (
        "_early",
        "_early_cost",
        "delivered",
        "due",
        "granted",
        "last_delivered",
        "limit",
        "spent",
        "unread",
        "window",
    )

    def __init__(
        self, window: i64, limit: i64 = 0, last_delivered: i64 = 0, unread: i64 = 0
    ) -> None:
        # Towards the peer: what it has granted, and what was spent of that.
        self.limit: i64 = limit
        self.spent: i64 = 0
        # From the peer: what we have granted, what of its messages was delivered and the id of the
        # last, what of that the application has not taken, and what has come before its turn, by
        # id.
        self.window: Final[i64] = window
        self.granted: i64 = window
        self.delivered: i64 = 0
        self.last_delivered: i64 = last_delivered
        self.unread: i64 = unread
        self._early: dict[int, int] = {}
        self._early_cost: i64 = 0
        # Whether a grant waits to be written.
        self.due = False

    def resume(self, last_delivered: i64) -> None:
        """This is the last message of the peer's that was delivered before a crash of ours."""
        self.last_delivered = last_delivered

    def is_overdrawn(self) -> bool:
        """Whether what the application has not taken fills the window alone."""
        return self.unread > self.window

    # Towards the peer.

    def extend(self, limit: i64) -> None:
        """The peer grants this much in all; it never takes any back."""
        if self.limit < limit:
            self.limit = limit

    def can_send(self) -> bool:
        """Whether another message may leave."""
        return self.spent < self.limit

    def spend(self, payload_size: i64) -> None:
        """A message leaves for the first time."""
        self.spent += MESSAGE_COST + payload_size

    # From the peer.

    def check(self, previous: i64) -> None:
        """`RemoteError` if the peer has sent more than any that keeps to its credit.

        What waits for the message after `previous` counts, unless that is the one that comes: it
        would let them go.
        """
        held = self.delivered
        if previous != self.last_delivered:
            held += self._early_cost
        if held >= self.granted + OVERDRAFT:
            raise RemoteError(f"a message beyond the credit of {self.granted}")

    def came_early(self, sequence: i64, payload_size: i64) -> None:
        """A message has come and was not delivered: it waits for one before it, or came again."""
        if sequence > self.last_delivered and sequence not in self._early:
            self._early[sequence] = MESSAGE_COST + payload_size
            self._early_cost += MESSAGE_COST + payload_size

    def was_delivered(self, sequence: i64, payload_size: i64) -> None:
        """A message of the peer's has been delivered."""
        if sequence > self.last_delivered:
            self.last_delivered = sequence
        self.delivered += MESSAGE_COST + payload_size
        if self._early:
            self._early_cost -= self._early.pop(sequence, 0)

    def add_unread(self, payload_size: i64) -> bool:
        """A payload waits for the application; True if it is the only one of this peer."""
        first = self.unread == 0
        self.unread += MESSAGE_COST + payload_size
        return first

    def take_unread(self, payload_size: i64) -> bool:
        """The application has taken one payload ahead of others; True if none is left."""
        cost = MESSAGE_COST + payload_size
        self.unread = self.unread - cost if self.unread > cost else 0
        return self.unread == 0

    def clear_unread(self) -> None:
        """The application has taken everything of this peer's."""
        self.unread = 0

    def blocks_peer(self) -> bool:
        """Whether the peer may have to wait until the application takes something.

        It may from half a window on, since credit is granted in large steps.
        """
        return 2 * self.unread > self.window

    def grant(self) -> None:
        """Give the peer more, if enough of what came has been taken."""
        limit = self.delivered - self.unread + self.window
        if limit - self.granted >= self.window >> 2:
            self.granted = limit
            self.due = True

    def take_grant(self) -> i64:
        """The grant is written: the total."""
        self.due = False
        return self.granted

    def repeat_grant(self) -> None:
        """The grant may be lost: say it again."""
        self.due = True
