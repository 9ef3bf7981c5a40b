"""The past of the message that is next to leave: reports, and an index of what they say.

Of every source the newest delivered report counts: it covers the older ones. Their facts that are
alive, and not covered by a later message of our own to the same destination, are indexed by sender
and destination. So how many facts a copy would need is known without counting, writing them costs
as many steps as there are facts, and news about one sender touch its facts alone.

The past stands where the head of the log stands: it moves on when a report or a message of our own
is passed, never because something was delivered meanwhile. What is *known* of it is up to date.
"""

from typing import ClassVar, Final, final

from mypy_extensions import i64

from antecede_lab.protocols.facts.delivered import ID_BITS, SENDER_MASK, KnownDeliveries, pair
from antecede_lab.protocols.facts.reports import PastReport


@final
class KnownSender:
    """A message of `sender` to `target` that may be undelivered, and which sources say which id."""

    MADE_OF: ClassVar = ("sender", "target")

    __slots__ = ("holders", "sender", "target")

    def __init__(self, sender: i64, target: i64) -> None:
        self.sender: Final[i64] = sender
        self.target: Final[i64] = target
        self.holders: dict[int, int] = {}

    def highest(self, without: i64) -> i64:
        """The highest id that a source other than `without` says, or 0."""
        best: i64 = 0
        for source, sequence in self.holders.items():
            if sequence > best and source != without:
                best = sequence
        return best


@final
class NeededDelivery:
    """Something that a copy's target must deliver before it, if it is not known to have done so."""

    MADE_OF: ClassVar = ("sender", "sequence", "sources")

    __slots__ = ("sender", "sequence", "sources")

    def __init__(self, sender: i64, sequence: i64, sources: list[PastReport]) -> None:
        self.sender: Final[i64] = sender
        self.sequence: Final[i64] = sequence
        self.sources: Final = sources

    def is_delivered(self, truths: KnownDeliveries, target: i64) -> bool:
        """Whether `target` is known to have delivered it."""
        if truths.is_delivered(self.sender, target, self.sequence):
            return True
        for report in self.sources:
            if truths.standing(report.source).permits(target, report.sequence):
                return True
        return False


@final
class Past:
    """R, idx, CW, cov, pend, and the index of live facts."""

    MADE_OF: ClassVar = ("_deep_from", "_cache_limit", "_covering")

    __slots__ = (
        "_by_sender",
        "_cache_limit",
        "_covered",
        "_covered_at",
        "_covering",
        "_deep_from",
        "_live",
        "_only",
        "by_target",
        "deep",
        "holding",
        "incomplete",
        "index",
        "pending",
        "reports",
    )

    def __init__(self, deep_from: i64, cache_limit: i64, covering: bool) -> None:
        self._deep_from: Final[i64] = deep_from
        # Whether our own message stands for what it covers when others are told of it. Not where
        # we may be expelled: nobody waits for it then, and what it stood for would be forgotten.
        self._covering: Final = covering
        self._cache_limit: Final[i64] = cache_limit
        self.reports: dict[int, PastReport] = {}
        self.index: i64 = 0
        # Of the reports: those with a filter or exceptions, those with live facts, and those
        # after which an incomplete packet may not leave.
        self.incomplete: dict[int, PastReport] = {}
        self.holding: dict[int, PastReport] = {}
        self.deep: dict[int, PastReport] = {}
        # Our own last message to each destination that has not acknowledged it.
        self.pending: dict[int, int] = {}
        self._covered_at: dict[int, int] = {}
        self._covered: dict[int, int] = {}
        self._live: dict[int, KnownSender] = {}
        self._by_sender: dict[int, dict[int, KnownSender]] = {}
        self.by_target: dict[int, dict[int, KnownSender]] = {}
        self._only: dict[int, int] = {}

    # Reports come, change and end.

    def absorb(self, report: PastReport, truths: KnownDeliveries) -> None:
        """A delivered report becomes part of the past, in place of its source's last one."""
        self._remove(report.source)
        self.index += 1
        report.set_index(self.index)
        source = report.source
        self.reports[source] = report
        report.forget_known(truths)
        if report.ended:
            return
        self._index(report, truths)
        if report.filter != 0 or report.exceptions:
            self.incomplete[source] = report
        if report.hops >= self._deep_from:
            self.deep[source] = report

    def _index(self, report: PastReport, truths: KnownDeliveries) -> None:
        for fact in report.alive:
            key = pair(fact.target, fact.sender)
            covered = self._covering and fact.sequence <= self._covered.get(key, 0)
            if not covered and not report.is_dead(fact, truths):
                self._hold(report, key, fact.sender, fact.target, fact.sequence)

    def risen(self, process: i64, truths: KnownDeliveries) -> None:
        """More has become known of the messages of `process`."""
        report = self.reports.get(process)
        if report is not None:
            self._judge(report, truths)
        known = self._by_sender.get(process)
        if known is not None:
            for fact in list(known.values()):
                for source, sequence in list(fact.holders.items()):
                    if truths.is_delivered(process, fact.target, sequence):
                        self._release(source, fact)

    def gone(self, process: i64, truths: KnownDeliveries) -> None:
        """Nothing more is delivered at `process`: facts and exceptions about it are dead."""
        for fact in list(self.by_target.get(process, {}).values()):
            for source in list(fact.holders):
                self._release(source, fact)
        self.pending.pop(process, None)
        for report in list(self.incomplete.values()):
            self._judge(report, truths)

    def permitted(self, source: i64, sequence: i64, truths: KnownDeliveries) -> None:
        """`source` permits its messages up to `sequence`: its report may end, all told is true."""
        report = self.reports.get(source)
        if report is None or report.sequence > sequence:
            return
        self._remove(source)
        for fact in report.told.facts:
            truths.deliver(fact.sender, fact.target, fact.sequence)

    def _judge(self, report: PastReport, truths: KnownDeliveries) -> None:
        changed = report.forget_known(truths)
        source = report.source
        if report.ended:
            if changed:
                self._drop(report)
            return
        if changed and report.filter == 0 and not report.exceptions:
            self.incomplete.pop(source, None)
        if truths.standing(source).by_permit is not None:
            for key in list(report.live):
                fact = self._live[key]
                if truths.standing(source).permits(fact.target, report.sequence):
                    self._release(source, fact)

    def _remove(self, source: i64) -> None:
        report = self.reports.pop(source, None)
        if report is not None:
            self._drop(report)

    def _drop(self, report: PastReport) -> None:
        """It says nothing any more."""
        for key in list(report.live):
            self._release(report.source, self._live[key])
        self.incomplete.pop(report.source, None)
        self.deep.pop(report.source, None)

    # The index of live facts.

    def _hold(self, report: PastReport, key: i64, sender: i64, target: i64, sequence: i64) -> None:
        fact = self._live.get(key)
        if fact is None:
            fact = KnownSender(sender, target)
            self._live[key] = fact
            self._by_sender.setdefault(sender, {})[target] = fact
            self.by_target.setdefault(target, {})[sender] = fact
        else:
            self._count_only(fact, -1)
        fact.holders[report.source] = sequence
        self._count_only(fact, 1)
        if not report.live:
            self.holding[report.source] = report
        report.live[key] = sequence

    def _release(self, source: i64, fact: KnownSender) -> None:
        """What `source` says of this message counts no longer."""
        key = pair(fact.target, fact.sender)
        self._count_only(fact, -1)
        del fact.holders[source]
        if fact.holders:
            self._count_only(fact, 1)
        else:
            del self._live[key]
            drop_from(self._by_sender, fact.sender, fact.target)
            drop_from(self.by_target, fact.target, fact.sender)
        report = self.holding[source]
        del report.live[key]
        if not report.live:
            del self.holding[source]

    def _count_only(self, fact: KnownSender, change: i64) -> None:
        """Count a fact that only one source holds, unless it is about or of that source anyway."""
        if len(fact.holders) != 1:
            return
        for source in fact.holders:
            if source not in (fact.sender, fact.target):
                count = self._only.get(source, 0) + change
                if count == 0:
                    del self._only[source]
                else:
                    self._only[source] = count

    # What a copy depends on.

    def wanted(self, target: i64) -> list[NeededDelivery]:
        """What `target` must have delivered before a message that is submitted here: man."""
        found: list[NeededDelivery] = []
        known = self.by_target.get(target)
        if known is None:
            return found
        for fact in known.values():
            sequence = fact.highest(target)
            if sequence > self._covered.get(pair(target, fact.sender), 0):
                sources = [
                    self.reports[source]
                    for source, told in fact.holders.items()
                    if told == sequence and source != target
                ]
                found.append(NeededDelivery(fact.sender, sequence, sources))
        return found

    def blocking(self, target: i64, truths: KnownDeliveries) -> list[PastReport]:
        """Reports that may be silent about something undelivered at `target`: blk."""
        found: list[PastReport] = []
        if not self.incomplete:
            return found
        covered_at = self._covered_at.get(target, 0)
        for source, report in self.incomplete.items():
            if source != target and report.index > covered_at and report.names(target, truths):
                found.append(report)
        return found

    def cover(self, target: i64, sequence: i64, wanted: list[NeededDelivery]) -> None:
        """Our message to `target` covers what it must have delivered first: cov, pend, CW."""
        self._covered_at[target] = self.index
        self.pending[target] = sequence
        for want in wanted:
            key = pair(target, want.sender)
            self._covered[key] = want.sequence
            fact = self._live.get(key)
            if fact is not None and self._covering:
                for source, told in list(fact.holders.items()):
                    if told <= want.sequence:
                        self._release(source, fact)
        while len(self._covered) > self._cache_limit:
            del self._covered[next(iter(self._covered))]

    def acknowledged(self, target: i64, sequence: i64) -> None:
        """`target` has delivered our messages to it up to `sequence`."""
        if self.pending.get(target, sequence + 1) <= sequence:
            del self.pending[target]

    def snapshot(self) -> list[PastReport]:
        """The reports that are not ended: what a parked copy keeps."""
        return [report for report in self.reports.values() if not report.ended]

    # Counts, and what a packet says.

    def facts_for(self, target: i64) -> i64:
        """How many facts a complete packet to `target` needs, without exceptions."""
        count: i64 = len(self._live) + len(self.pending)
        if target in self.pending:
            count -= 1
        senders = self._by_sender.get(target)
        if senders is not None:
            count -= len(senders)
        targets = self.by_target.get(target)
        if targets is not None:
            count -= len(targets)
        return count - self._only.get(target, 0)

    def filter_for(self, target: i64) -> i64:
        """The union of the filters in the past, but for that of `target` itself."""
        mask: i64 = 0
        for source, report in self.incomplete.items():
            if source != target:
                mask |= report.filter
        return mask

    def is_deep_for(self, target: i64) -> bool:
        """Whether an incomplete packet to `target` would rest on too many hops."""
        for source, report in self.deep.items():
            if source != target and (report.filter != 0 or tells_others(report, target)):
                return True
        return False

    def live_keys(self) -> list[int]:
        """The live facts, as pairs."""
        return list(self._live)

    def known(self, key: i64) -> KnownSender:
        """One of the live facts."""
        return self._live[key]

    # Clones.

    def state(self) -> str:
        """Equal pasts, equal strings."""
        reports = sorted([report.state() for report in self.reports.values()])
        live = sorted([(key, sorted(fact.holders.items())) for key, fact in self._live.items()])
        pending = sorted(self.pending.items())
        covered = (sorted(self._covered_at.items()), sorted(self._covered.items()))
        return repr((self.index, reports, live, pending, covered))


def tells_others(report: PastReport, target: i64) -> bool:
    """Whether a live fact of `report` is neither about `target` nor of it."""
    for key in report.live:  # noqa: SIM110 - a loop compiles well, a generator does not
        if key >> ID_BITS != target and key & SENDER_MASK != target:
            return True
    return False


def drop_from(index: dict[int, dict[int, KnownSender]], first: i64, second: i64) -> None:
    """Take an entry out of a table of tables; no table stays behind empty."""
    row = index[first]
    del row[second]
    if not row:
        del index[first]
