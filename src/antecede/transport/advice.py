"""What a peer has said about whom it waits for."""

from typing import Final, final

from mypy_extensions import i64

from antecede.wire.advice import Advice

FRESH_NS: Final = 70_000_000_000
"""Advice older than 70 s is not believed. An ask is repeated at least every 32 s, by default."""

QUIET_FIFTHS: Final = 3
"""Who was heard lately when advice was given may have been heard since. Who had been quiet for
three fifths of the time after which a peer is silent is taken to be so still."""


@final
class TakenAdvice:
    """For whom a peer has said that it waits, and since when it has said so."""

    __slots__ = ("advice", "at_ns", "since_ns")

    def __init__(self, advice: Advice, at_ns: i64, former: "TakenAdvice | None") -> None:
        self.advice: Final = advice
        self.at_ns: Final[i64] = at_ns
        # When it first named this one, without naming another or falling silent since.
        self.since_ns: i64 = at_ns
        if former is not None and former.advice.name == advice.name and former.is_fresh(at_ns):
            self.since_ns = former.since_ns

    def is_fresh(self, now_ns: i64) -> bool:
        """Whether it is still to be believed."""
        return now_ns - self.at_ns < FRESH_NS

    def silence_ns(self, now_ns: i64, silent_ns: i64) -> i64:
        """For how long nothing was heard of who is named, as far as can be known from here.

        A peer is silent after `silent_ns`.
        """
        quiet_ns = self.advice.silent_ns
        if 5 * quiet_ns < QUIET_FIFTHS * silent_ns:
            return quiet_ns
        return quiet_ns + now_ns - self.at_ns


@final
class Waits:
    """What a peer and this node have said to each other about whom they wait for."""

    __slots__ = ("asked", "due", "taken")

    def __init__(self) -> None:
        # Whom the peer has said that it waits for.
        self.taken: TakenAdvice | None = None
        # The message of ours whose permit it has last asked for in vain, or 0, and whom that waits
        # for, if the peer is still to be told.
        self.asked: i64 = 0
        self.due: Advice | None = None

    def take(self, advice: Advice, now_ns: i64) -> None:
        """The peer says whom it waits for."""
        self.taken = TakenAdvice(advice, now_ns, self.taken)

    def on_asked(self, lowest: i64) -> None:
        """The peer has asked for the permit of our message `lowest`; 0: it has or gets it."""
        self.asked = lowest
        self.due = None

    def tell(self, advice: Advice | None) -> None:
        """Whom that permit waits for; the peer is to be told."""
        self.due = advice

    def on_told(self) -> None:
        """The peer is told."""
        self.due = None
