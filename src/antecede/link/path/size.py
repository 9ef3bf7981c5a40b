"""How large a datagram to one peer may be: as large as was said, until the way proves narrower.

Some ways drop what is too large and say nothing. So when large datagrams vanish and nothing large
is acknowledged, datagrams become as small as a hello, which has come through; then larger ones,
with nothing in them that would be missed, find out how large they may be (after RFC 8899).
"""

from typing import Final, final

from mypy_extensions import i64

from antecede.core.process import NEVER_NS

HELLO_BYTES: Final = 1200
"""A datagram of this size has come through: hellos are as large."""

NARROW: Final = HELLO_BYTES - 16
"""What datagrams have then: with the seal, where there are keys, they are as large as a hello."""

SUSPECT_LOSSES: Final = 6
SUSPECT_PROBES: Final = 2
"""So many large datagrams lost with none acknowledged between, or so many probes unanswered, and
datagrams become narrow."""

TRIAL_NS: Final = 1_000_000_000
TRIAL_NS_MAX: Final = 60_000_000_000
"""How long after that a larger one is tried, at first and at most."""

CLOSE: Final = 64
"""No size is looked for more closely than this."""


@final
class PathSize:
    """The size of datagrams on one path."""

    __slots__ = (
        "_failed",
        "_losses",
        "_most",
        "_patience_ns",
        "_proved",
        "_proved_ns",
        "_smallest_lost",
        "_trial",
        "_trial_at_ns",
        "size",
    )

    def __init__(self, most: i64) -> None:
        self._most: Final[i64] = most
        self.size: i64 = most
        self._losses: i64 = 0
        self._smallest_lost: i64 = 0
        # The last large one that has come, and when it was sent: what was sent before, and was no
        # larger, was not lost because of its size.
        self._proved: i64 = 0
        self._proved_ns: i64 = -1
        # While it is narrow: the smallest size that has failed, and the trial under way.
        self._failed: i64 = most + 1
        self._trial: i64 = 0
        self._trial_at_ns: i64 = NEVER_NS
        self._patience_ns: i64 = TRIAL_NS

    def came(self, size: i64, trial: bool, sent_ns: i64, now_ns: i64) -> None:
        """A datagram of this size, sent then, has been acknowledged."""
        if size > HELLO_BYTES:
            self._proved = size
            self._proved_ns = sent_ns
            if size >= self._smallest_lost:
                self._losses = 0
        if trial and self._trial > self.size:
            self.size = self._trial
            self._patience_ns = TRIAL_NS
            self._plan(now_ns)

    def was_lost(self, size: i64, trial: bool, sent_ns: i64, now_ns: i64) -> None:
        """A datagram of this size, sent then, was taken for lost."""
        if trial:
            if self._trial > self.size:
                self._failed = self._trial
            self._plan(now_ns)
        elif size > HELLO_BYTES and (size > self._proved or sent_ns > self._proved_ns):
            if self._losses == 0 or size < self._smallest_lost:
                self._smallest_lost = size
            self._losses += 1
            if self._losses >= SUSPECT_LOSSES:
                self.narrow(now_ns)

    def suspect(self, probes: i64, largest: i64, now_ns: i64) -> None:
        """Nothing is answered, the oldest not even if it was this large: perhaps because it was."""
        if probes >= SUSPECT_PROBES and largest > HELLO_BYTES:
            self.narrow(now_ns)

    def narrow(self, now_ns: i64) -> None:
        """Datagrams are as small as a hello from now on, until larger ones come through."""
        self._losses = 0
        if self.size <= NARROW:
            return
        self._failed = self._most + 1
        self.size = NARROW
        self._trial = 0
        self._trial_at_ns = now_ns + self._patience_ns

    def trial(self, now_ns: i64) -> i64:
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
        if self.size >= self._most:
            self._trial_at_ns = NEVER_NS
            self._failed = self._most + 1
        elif self._failed - self.size > CLOSE:
            self._trial_at_ns = now_ns
        else:
            self._failed = self._most + 1
            if self._patience_ns < TRIAL_NS_MAX:
                self._patience_ns *= 2
            self._trial_at_ns = now_ns + self._patience_ns
