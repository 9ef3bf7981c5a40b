"""What `hybrid-facts` knows to be delivered, now: it only ever grows.

Five sources say so. A permit of k: everything before its messages up to n, everywhere (pw), or
everywhere but at a few destinations (px). A watermark of s, told by anybody: all of s's messages up
to n, everywhere (OW) or with exceptions (OX). And an acknowledgement, or the end of a report: the
messages of s to e up to n (DW). The last three are caches: they may lose any entry at any time,
which costs a redundant fact or a later permit, never safety.
"""

from typing import ClassVar, Final, final

from mypy_extensions import i64

from antecede_lab.protocols.facts.filter import Filter
from antecede_lab.protocols.facts.packets import SENDER_ITSELF, Watermark

ID_BITS: Final = 31
"""Process ids are below 2 ** this; a pair of them is one integer."""

SENDER_MASK: Final = (1 << ID_BITS) - 1
"""The sender's part of such a pair."""

CACHE_LIMIT: Final = 1 << 16
"""Entries of each cache; beyond it the oldest one is lost."""


def pair(target: i64, sender: i64) -> i64:
    """A destination and a sender as one integer, in the order in which facts are written."""
    return (target << ID_BITS) | sender


@final
class ExceptMark:
    """An id up to which all is delivered everywhere, but only up to a lower one at a few places."""

    MADE_OF: ClassVar = ()

    __slots__ = ("but", "top")

    def __init__(self) -> None:
        self.top: i64 = 0
        self.but: dict[int, int] = {}

    def at(self, target: i64) -> i64:
        """Up to where all is delivered at `target`."""
        if not self.but:
            return self.top
        return self.but.get(target, self.top)

    def rise(self, sequence: i64, exceptions: tuple[int, ...]) -> bool:
        """All up to `sequence` is delivered but at `exceptions`; True if that says anything new."""
        if sequence > self.top:
            but: dict[int, int] = {}
            for target in exceptions:
                but[target] = self.at(target)
            self.but = but
            self.top = sequence
            return True
        risen = False
        for target in list(self.but):
            if target not in exceptions and self.but[target] < sequence:
                risen = True
                if sequence == self.top:
                    del self.but[target]
                else:
                    self.but[target] = sequence
        return risen

    def state(self) -> str:
        """Equal marks, equal strings."""
        return repr((self.top, sorted(self.but.items())))


@final
class PeerKnowledge:
    """What is known of the messages of one process: pw, px, OW, OX."""

    MADE_OF: ClassVar = ("process",)

    __slots__ = (
        "by_permit",
        "by_watermark",
        "expelled",
        "gone",
        "low",
        "permitted",
        "process",
        "watermark",
    )

    def __init__(self, process: i64) -> None:
        self.process: Final[i64] = process
        self.permitted: i64 = 0
        self.by_permit: ExceptMark | None = None
        self.low: i64 = 0
        self.by_watermark: ExceptMark | None = None
        # What to pass on, as long as it has not changed.
        self.watermark: Watermark | None = None
        # Gone for ever: it delivers nothing more, and nothing of it is waited for here. Expelled:
        # nor anywhere else, by those who hear from us.
        self.gone = False
        self.expelled = False

    def covers(self, target: i64, sequence: i64) -> bool:
        """Whether its message `sequence` to `target` is known to be delivered."""
        if self.permitted >= sequence or self.low >= sequence:
            return True
        if self.by_watermark is not None and self.by_watermark.at(target) >= sequence:
            return True
        return self.by_permit is not None and self.by_permit.at(target) >= sequence

    def permits(self, target: i64, sequence: i64) -> bool:
        """Whether all that came before its message `sequence` is delivered at `target`."""
        if self.permitted >= sequence:
            return True
        return self.by_permit is not None and self.by_permit.at(target) >= sequence

    def as_watermark(self) -> Watermark:
        """How far all of its messages are delivered, for others."""
        if self.watermark is None:
            low_except: i64 = 0
            exceptions: tuple[int, ...] = ()
            if self.by_watermark is not None and self.by_watermark.top > self.low:
                low_except = self.by_watermark.top
                exceptions = tuple(sorted(self.by_watermark.but))
            self.watermark = Watermark(self.process, self.low, low_except, exceptions)
        return self.watermark

    def state(self) -> str:
        """Equal standings, equal strings."""
        by_permit = "" if self.by_permit is None else self.by_permit.state()
        by_watermark = "" if self.by_watermark is None else self.by_watermark.state()
        marks = (self.permitted, self.low, self.gone, self.expelled)
        return repr((self.process, marks, by_permit, by_watermark))


@final
class KnownDeliveries:
    """All that one process knows to be delivered, and of whom it has learnt something lately."""

    MADE_OF: ClassVar = ("_me", "filter", "_gossip_limit", "_cache_limit")

    __slots__ = (
        "_cache_limit",
        "_delivered",
        "_gossip_limit",
        "_heard",
        "_me",
        "_of",
        "_recent",
        "anybody_gone",
        "excepting",
        "filter",
        "heard_exceptions",
        "risen",
    )

    def __init__(self, me: i64, filter_: Filter, gossip_limit: i64, cache_limit: i64) -> None:
        self.filter: Final = filter_
        self._me: Final[i64] = me
        self._gossip_limit: Final[i64] = gossip_limit
        self._cache_limit: Final[i64] = cache_limit
        self._of: dict[int, PeerKnowledge] = {}
        # Of whom there are watermarks, oldest first: what a full cache loses first.
        self._heard: dict[int, bool] = {}
        self._delivered: dict[int, int] = {}
        self._recent: list[PeerKnowledge] = []
        # Those whose newest permit has exceptions.
        self.excepting: dict[int, PeerKnowledge] = {}
        self.anybody_gone = False
        # Whether anybody ever named an exception to us: until then there is none to pass on.
        self.heard_exceptions = False
        # Of whom more has become known since this was last emptied; one may stand here twice.
        self.risen: list[int] = []

    def standing(self, process: i64) -> PeerKnowledge:
        """What is known of `process`."""
        found = self._of.get(process)
        if found is None:
            found = PeerKnowledge(process)
            self._of[process] = found
        return found

    def permitted(self, process: i64) -> i64:
        """The highest id permitted by `process`, or 0: pw."""
        found = self._of.get(process)
        return 0 if found is None else found.permitted

    def permitted_except(self, process: i64) -> i64:
        """The highest id that `process` permitted with exceptions, or 0: px."""
        found = self._of.get(process)
        return 0 if found is None or found.by_permit is None else found.by_permit.top

    def is_gone(self, process: i64) -> bool:
        """Whether `process` is gone for ever."""
        found = self._of.get(process)
        return found is not None and found.gone

    def is_delivered(self, sender: i64, target: i64, sequence: i64) -> bool:
        """Whether message `sequence` of `sender` is delivered at `target`, or never will be."""
        found = self._of.get(sender)
        if found is not None and (found.expelled or found.covers(target, sequence)):
            return True
        if not self._delivered and not self._of:
            return False
        if self._delivered.get(pair(target, sender), 0) >= sequence:
            return True
        return self.anybody_gone and self.is_gone(target)

    # News.

    def permit(self, process: i64, sequence: i64) -> bool:
        """`process` permits its messages up to `sequence`; True if that is news."""
        standing = self.standing(process)
        if sequence <= standing.permitted:
            return False
        standing.permitted = sequence
        if standing.by_permit is not None and standing.by_permit.top <= sequence:
            standing.by_permit = None
            self.excepting.pop(process, None)
        self.risen.append(process)
        return True

    def on_exceptions(self) -> None:
        """A report has exceptions: there are some to be minded."""
        self.heard_exceptions = True

    def permit_except(self, process: i64, sequence: i64, exceptions: tuple[int, ...]) -> bool:
        """The same, but for what goes to `exceptions`."""
        standing = self.standing(process)
        if sequence <= standing.permitted:
            return False
        self.heard_exceptions = True
        if standing.by_permit is None:
            standing.by_permit = ExceptMark()
            self.excepting[process] = standing
        if not standing.by_permit.rise(sequence, exceptions):
            return False
        self.risen.append(process)
        return True

    def learn(self, watermark: Watermark, source: i64) -> None:
        """`source` says how far the messages of a process, or its own, are delivered."""
        process = source if watermark.process == SENDER_ITSELF else watermark.process
        if process == self._me:
            return
        standing = self._of.get(process)
        low, low_except = watermark.low, watermark.low_except
        if standing is None:
            if low == 0 and low_except == 0:
                return
            standing = self.standing(process)
        raised = low > standing.low
        if raised:
            standing.low = low
        if low_except > 0:
            self.heard_exceptions = True
            if standing.by_watermark is None:
                standing.by_watermark = ExceptMark()
            before = standing.by_watermark.top
            if standing.by_watermark.rise(low_except, watermark.exceptions):
                standing.watermark = None
                self.risen.append(process)
                raised = raised or standing.by_watermark.top > before
        if raised:
            standing.watermark = None
            self.risen.append(process)
            self._remember(standing)

    def deliver(self, sender: i64, target: i64, sequence: i64) -> bool:
        """Message `sequence` of `sender` is delivered at `target`; True if that is news."""
        key = pair(target, sender)
        if self._delivered.get(key, 0) >= sequence:
            return False
        self._delivered[key] = sequence
        self.risen.append(sender)
        if len(self._delivered) > self._cache_limit:
            del self._delivered[next(iter(self._delivered))]
        return True

    def gone(self, process: i64) -> None:
        """`process` is gone for ever: it delivers nothing more."""
        self.standing(process).gone = True
        self.anybody_gone = True
        self.risen.append(process)

    def expel(self, process: i64) -> None:
        """`process` is gone, and everybody who hears from us has stopped listening to it."""
        self.standing(process).expelled = True
        self.gone(process)

    def _remember(self, standing: PeerKnowledge) -> None:
        """`standing` was raised by a watermark: it is the first to be passed on."""
        self._heard[standing.process] = True
        if len(self._heard) > self._cache_limit:
            self._lose(next(iter(self._heard)))
        if not self._recent or self._recent[0] is not standing:
            if standing in self._recent:
                self._recent.remove(standing)
            self._recent.insert(0, standing)
            # One more than are passed on: to itself nobody needs to be told.
            if len(self._recent) > self._gossip_limit + 1:
                self._recent.pop()

    def _lose(self, process: i64) -> None:
        """Forget the watermarks of a process."""
        del self._heard[process]
        standing = self._of[process]
        if standing in self._recent:
            self._recent.remove(standing)
        standing.low = 0
        standing.by_watermark = None
        standing.watermark = None
        if standing.permitted == 0 and standing.by_permit is None and not standing.gone:
            del self._of[process]

    # Queries.

    def gossip(self, target: i64, own: Watermark) -> list[Watermark]:
        """Our own watermark and those raised most recently, for a packet to `target`."""
        told = [own]
        for standing in self._recent:
            if standing.process != target:
                if len(told) > self._gossip_limit:
                    break
                told.append(standing.as_watermark())
        return told

    def state(self) -> str:
        """Equal truths, equal strings; the order in which a cache forgets counts, too."""
        standings = sorted([standing.state() for standing in self._of.values()])
        recent = [standing.process for standing in self._recent]
        return repr((standings, sorted(self._delivered.items()), recent))
