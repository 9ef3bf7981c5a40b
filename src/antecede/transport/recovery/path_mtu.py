"""How large a datagram to one peer may be: as large as was said, until the way proves narrower.

Some ways drop what is too large and say nothing. So when large datagrams vanish and nothing large
is acknowledged, datagrams become as small as a hello, which has come through; then larger ones,
with nothing in them that would be missed, find out how large they may be (after RFC 8899).

A way may become narrower than a hello after two nodes have met on it. Then datagrams become as
small as every network has to carry. If even these vanish, they leave at longer and longer
intervals. Either is told: who restarts cannot be met on such a way.
"""

from typing import Final, final

from mypy_extensions import i64

from antecede.core.process import NEVER_NS

HELLO_BYTES: Final = 1200
"""A datagram of this size has come through: hellos are as large."""

SEALING: Final = 16
"""Sealing, where there are keys, adds 16 bytes."""

NARROW: Final = HELLO_BYTES - SEALING
"""What datagrams have then: with the seal, where there are keys, they are as large as a hello."""

SMALLEST_BYTES: Final = 508
"""What every network that speaks IPv4 has to carry: 576 bytes with the longest headers."""

SMALLEST: Final = SMALLEST_BYTES - SEALING
"""What datagrams have where hellos do not come through any more."""

TINY: Final = 128
"""Datagrams of up to 128 bytes say nothing about the MTU."""

SUSPECT_LOSSES: Final = 6
SUSPECT_PROBES: Final = 2
"""After 6 large datagrams lost with none acknowledged between, or 2 probes unanswered, datagrams
become narrow."""

SMALL_LOSSES: Final = 16
SMALL_PROBES: Final = 6
"""The same for datagrams no larger than a hello, 16 and 6: they are more likely lost by chance."""

SMALL_ROUNDS: Final = 2
"""What a way loses while it is interrupted is found out at once, when it carries again. So losses
of small datagrams count only if they go on: what was sent after some were known was lost, too."""

TRIAL_NS: Final = 1_000_000_000
TRIAL_NS_MAX: Final = 60_000_000_000
"""A larger one is tried after 1 s at first, and after 60 s at most."""

CLOSE: Final = 64
"""Sizes are looked for no more closely than 64 bytes."""


@final
class PathMtu:
    """The size of datagrams on one path."""

    __slots__ = (
        "_failed",
        "_losses",
        "_most",
        "_patience_ns",
        "_proved",
        "_proved_ns",
        "_round_ns",
        "_rounds",
        "_smallest_lost",
        "_told",
        "_trial",
        "_trial_at_ns",
        "is_narrow",
        "size",
        "vain",
    )

    def __init__(self, most: i64) -> None:
        self._most: Final[i64] = most
        self.size: i64 = most
        self._losses: i64 = 0
        self._smallest_lost: i64 = 0
        # How often losses were found out of what was sent since the time before, and when last.
        self._rounds: i64 = 0
        self._round_ns: i64 = -1
        # The last large one that has come, and when it was sent: what was sent before, and was no
        # larger, was not lost because of its size.
        self._proved: i64 = 0
        self._proved_ns: i64 = -1
        # While it is narrow: the smallest size that has failed, and the trial under way.
        self._failed: i64 = most + 1
        self._trial: i64 = 0
        self._trial_at_ns: i64 = NEVER_NS
        self._patience_ns: i64 = TRIAL_NS
        # Whether a hello does not come through, as far as was found out, and whether that was told.
        self.is_narrow = False
        self._told = False
        # How often in a row the smallest datagrams were all lost.
        self.vain: i64 = 0

    def on_acked(self, size: i64, trial: bool, sent_ns: i64, now_ns: i64) -> None:
        """A datagram of this size, sent then, has been acknowledged."""
        if size > TINY and size >= self._smallest_lost:
            self._forget_losses()
            self.vain = 0
        if size > SMALLEST_BYTES:
            self._proved = size
            self._proved_ns = sent_ns
        if trial and self._trial > self.size:
            self.size = self._trial
            self._patience_ns = TRIAL_NS
            self._plan(now_ns)

    def on_lost(self, size: i64, trial: bool, sent_ns: i64, now_ns: i64) -> None:
        """A datagram of this size, sent then, was taken for lost."""
        if trial:
            if self._trial > self.size:
                self._failed = self._trial
            self._plan(now_ns)
        elif size > self.size + SEALING:
            return  # It left before datagrams became smaller.
        elif size > TINY and (size > self._proved or sent_ns > self._proved_ns):
            if self._losses == 0 or size < self._smallest_lost:
                self._smallest_lost = size
            self._losses += 1
            if sent_ns >= self._round_ns:
                self._rounds += 1
                self._round_ns = now_ns
            if self._smallest_lost <= HELLO_BYTES:
                if self._losses >= SMALL_LOSSES and self._rounds >= SMALL_ROUNDS:
                    self._narrow_below_hello(now_ns)
            elif self._losses >= SUSPECT_LOSSES:
                self.shrink(now_ns)

    def on_probe_timeout(self, probes: i64, largest: i64, heard: bool, now_ns: i64) -> None:
        """Nothing is answered, the oldest not even if it was this large: perhaps because it was.

        That a hello would not come through is likely only if the peer was `heard` meanwhile.
        """
        if probes >= SUSPECT_PROBES and largest > HELLO_BYTES:
            self.shrink(now_ns)
        if heard and probes >= SMALL_PROBES and largest > SMALLEST_BYTES:
            self._shrink(SMALLEST, now_ns)

    def shrink(self, now_ns: i64) -> None:
        """Datagrams are as small as a hello from now on, until larger ones come through."""
        self._forget_losses()
        self._shrink(NARROW, now_ns)

    def take_news(self) -> bool:
        """Whether it has been found out that hellos do not come through, which is then told."""
        news = self.is_narrow and not self._told
        self._told = self.is_narrow
        return news

    def widest(self) -> i64:
        """The size of datagrams that come through, as far as is known; 0 if none does."""
        return 0 if self.vain > 0 else self.size

    def _forget_losses(self) -> None:
        self._losses = 0
        self._rounds = 0

    def _narrow_below_hello(self, now_ns: i64) -> None:
        self._forget_losses()
        if self.size > SMALLEST:
            self._shrink(SMALLEST, now_ns)
        else:
            self.vain += 1
            self.is_narrow = True

    def _shrink(self, size: i64, now_ns: i64) -> None:
        if self.size <= size:
            return
        self._failed = self._most + 1
        self.size = size
        self._trial = 0
        self._trial_at_ns = now_ns + self._patience_ns

    def next_probe_size(self, now_ns: i64) -> i64:
        """The size of a datagram that should be tried now, or 0."""
        if now_ns < self._trial_at_ns:
            return 0
        if self._failed > self._most:
            self._trial = self._most
        else:
            self._trial = (self.size + self._failed) >> 1
        self._trial_at_ns = NEVER_NS
        return self._trial

    def _plan(self, now_ns: i64) -> None:
        """What is tried next: half-way to what has failed, or everything again much later."""
        self._trial = 0
        if self.size >= NARROW or self.size >= self._most:
            self.is_narrow = False
        if self.size >= self._most:
            self._trial_at_ns = NEVER_NS
            self._failed = self._most + 1
        elif self._failed - self.size > CLOSE:
            self._trial_at_ns = now_ns
        else:
            self.is_narrow = self.size < NARROW
            self._failed = self._most + 1
            if self._patience_ns < TRIAL_NS_MAX:
                self._patience_ns *= 2
            self._trial_at_ns = now_ns + self._patience_ns
