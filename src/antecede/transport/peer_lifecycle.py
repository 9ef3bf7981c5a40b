"""Meeting and leaving: how it stands between this node and one incarnation of a peer.

Three things are kept apart. Each has named states, and goes only forward:

    the peer      UNMET ── it has shown that it is there ──▶ MET ── it is no more ──▶ OVER
                  RESUMING: met before this node crashed, and has still to answer again ──▶ MET
    our leaving   STAYING ── bye ──▶ BYE_SAID ── acknowledged ──▶ BYE_HEARD ── release ──▶ LET_GO
    its leaving   STAYING ── bye ──▶ ASKS_TO_GO or AWAITS_BYE ── we release it ──▶ LET_GO

Whoever says bye sends nothing new from then on. `ASKS_TO_GO` wants to be released, which happens
when everything for it has been delivered; `AWAITS_BYE` stays, and goes on receiving, until our own
bye. Silence alone never ends anything that still owes an acknowledgement: an incarnation is over
when a later one has taken its place, when it has said that it has stopped, when it has forgotten
us, or when the application vouches for it.
"""

from typing import Final, final

from mypy_extensions import i64

from antecede.core.errors import RemoteError

UNMET: Final = 0
MET: Final = 1
OVER: Final = 2
RESUMING: Final = 3

STAYING: Final = 0
BYE_SAID: Final = 1
BYE_HEARD: Final = 2
ASKS_TO_GO: Final = 1
AWAITS_BYE: Final = 2
LET_GO: Final = 3

LEAVE_WHEN_RELEASED: Final = 0
LEAVE_AFTER_BYE: Final = 1
"""How a node leaves: when its peers have nothing more for it, or when they have said bye too."""

GONE_PROBES: Final = 5
GONE_NS: Final = 3_000_000_000
"""A peer that has said bye and owes nothing has gone when it leaves 5 probes unanswered and, unless
it was released, has said nothing for 3 s."""


@final
class PeerLifecycle:
    """How it stands with one incarnation of a peer."""

    __slots__ = (
        "_bye_mode",
        "bye_due",
        "departed_then",
        "heard_ns",
        "its_members",
        "our_members",
        "ours",
        "phase",
        "release_due",
        "silent",
        "theirs",
    )

    def __init__(self) -> None:
        self.phase: i64 = UNMET
        self.ours: i64 = STAYING
        self.theirs: i64 = STAYING
        self._bye_mode: i64 = LEAVE_WHEN_RELEASED
        # Whether a bye, and a release, wait to be written.
        self.bye_due = False
        self.release_due = False
        # When it was heard last, and whether it was reported silent since.
        self.heard_ns: i64 = 0
        self.silent = False
        # How many members are here for it, itself included, and how many are here for this node,
        # as it is told; 0: not said.
        self.its_members: i64 = 0
        self.our_members: i64 = 0
        # How many members had gone from this node, in all, when the peer was heard last.
        self.departed_then: i64 = 0

    # The peer.

    def set_resuming(self) -> None:
        """It was met before this node crashed."""
        self.phase = RESUMING

    def begin_waiting(self, now_ns: i64) -> None:
        """It has still to answer after a crash of ours: its silence begins now."""
        self.heard_ns = now_ns

    def has_slept(self, slept_ns: i64, now_ns: i64) -> None:
        """This node did nothing for `slept_ns`: that is nobody's silence."""
        heard_ns = self.heard_ns + slept_ns
        self.heard_ns = heard_ns if heard_ns < now_ns else now_ns

    def meet(self, now_ns: i64) -> None:
        """It has shown that it is there."""
        self.phase = MET
        self.heard_ns = now_ns

    def end(self) -> None:
        """This incarnation is over: nothing passes any more."""
        self.phase = OVER
        self.bye_due = False
        self.release_due = False

    def on_heard(self, now_ns: i64) -> bool:
        """Something has come from it; True if it had been reported silent."""
        self.heard_ns = now_ns
        was_silent = self.silent
        self.silent = False
        return was_silent

    def detect_silence(self, now_ns: i64, allowed_ns: i64) -> bool:
        """An answer is due; True if it has now been waited for too long, once."""
        if self.silent or now_ns - self.heard_ns < allowed_ns:
            return False
        self.silent = True
        return True

    # Members.

    def on_members(self, members: i64) -> None:
        """The peer says how many members are here for it."""
        self.its_members = members

    def count_members(self, members: i64, departed: i64, since_ns: i64) -> None:
        """This many are here for us, and had gone if the peer was heard after `since_ns`."""
        self.our_members = members
        if self.heard_ns >= since_ns:
            self.departed_then = departed

    # Our leaving.

    def say_bye(self, mode: i64) -> None:
        """Nothing more will be sent from here."""
        self._bye_mode = mode
        if self.ours == STAYING:
            self.ours = BYE_SAID
        self.bye_due = True

    def take_bye(self) -> i64:
        """The bye is written: what it says."""
        self.bye_due = False
        return self._bye_mode

    def repeat_bye(self) -> None:
        """The bye may be lost: say it again, unless it has been heard."""
        if self.ours == BYE_SAID:
            self.bye_due = True

    def on_bye_acked(self) -> None:
        """The peer has acknowledged our bye."""
        if self.ours == BYE_SAID:
            self.ours = BYE_HEARD

    def on_released(self) -> None:
        """The peer has nothing more for us, if we have asked for that."""
        if self.ours != STAYING and self._bye_mode == LEAVE_WHEN_RELEASED:
            self.ours = LET_GO

    def is_free_to_go(self) -> bool:
        """Whether this peer has nothing against our leaving now."""
        if self.phase == OVER or self.ours == LET_GO:
            return True
        return self.ours == BYE_HEARD and self.theirs != STAYING

    # Its leaving.

    def on_bye(self, mode: i64) -> None:
        """The peer wants to leave: when we have nothing for it, or after our own bye."""
        if mode > LEAVE_AFTER_BYE:
            raise RemoteError(f"a good-bye of unknown kind {mode}")
        if self.theirs == STAYING:
            self.theirs = ASKS_TO_GO if mode == LEAVE_WHEN_RELEASED else AWAITS_BYE

    def release(self) -> None:
        """Let the peer go: nothing here is for it."""
        self.theirs = LET_GO
        self.release_due = True

    def take_release(self) -> None:
        """The release is written."""
        self.release_due = False

    def repeat_release(self) -> None:
        """The release may be lost: say it again."""
        self.release_due = self.theirs == LET_GO

    def seems_gone(self, probes: i64, now_ns: i64) -> bool:
        """Whether a peer that has said bye, and owes nothing, answers no more."""
        if self.theirs == STAYING or probes < GONE_PROBES:
            return False
        return self.theirs == LET_GO or now_ns - self.heard_ns >= GONE_NS
