"""Ways to get `hybrid-facts` wrong: its sources, in many files, with one small change each.

Each names the situation in which random runs catch it soonest: parameters, network, traffic. Those
that need a chain of four processes are rare: they name a seed, and the long campaign looks anew.
"""

from dataclasses import dataclass, replace
from typing import cast

from antecede_lab.protocols.facts.process import FactsProcess
from tests.antecede.core.patched import patched_together
from tests.antecede_lab.protocols.facts.campaign import Plan
from tests.antecede_lab.protocols.facts.reference import Parameters

FILES = (
    "antecede_lab/protocols/facts/filter",
    "antecede_lab/protocols/facts/delivered",
    "antecede_lab/protocols/facts/reports",
    "antecede_lab/protocols/facts/past",
    "antecede_lab/protocols/facts/window",
    "antecede_lab/protocols/facts/inbox",
    "antecede_lab/protocols/facts/stalls",
    "antecede_lab/protocols/facts/draft",
    "antecede_lab/protocols/facts/owed",
    "antecede_lab/protocols/facts/parking",
    "antecede_lab/protocols/facts/checks",
    "antecede_lab/protocols/facts/state",
    "antecede_lab/protocols/facts/process",
)
"""In the order in which they import each other."""

TIGHT = Plan(p=Parameters(B=2, W=0, H=2, G=4, E=0), processes=(4, 5), messages=(12, 50))
ROOMY = replace(TIGHT, p=Parameters(B=16, W=64, H=2, G=4, E=0))
LOSSY = replace(ROOMY, network="lossy")
FILTERED = replace(TIGHT, p=Parameters(B=1, W=3, H=3, G=1, E=0))
SILENT = replace(TIGHT, p=Parameters(B=0, W=64, H=1_000_000, G=0, E=0), network="lossy")
"""Nothing but filters, passed on for ever."""

STALLED = replace(TIGHT, p=Parameters(B=0, W=64, H=1_000_000, G=4, E=2), hints=0.15, silent=True)
"""The same with exceptions, a process that hardly hears anything, and many hints."""

STALLED_LOSSY = replace(STALLED, network="lossy")


@dataclass(frozen=True, slots=True, kw_only=True)
class FactsMutant:
    """`hybrid-facts` wrong in one way."""

    name: str
    why: str
    changes: tuple[tuple[str, str, str], ...]
    plan: Plan
    seeds: range = range(60)
    """Where to look; random runs find the rare ones once in a hundred or a thousand times."""
    finds: str = "order"
    """order, loss; or reference: the reading of the specification beside it answers otherwise."""


def load(mutant: FactsMutant) -> type[FactsProcess]:
    """The process with its change, from fresh copies of all its files."""
    page = patched_together(
        list(FILES),
        list(mutant.changes),
        f"broken_facts_{mutant.name.replace('-', '_')}",
    )
    return cast(type[FactsProcess], page.FactsProcess)


FACTS_MUTANTS = [
    FactsMutant(
        name="must-dropped",
        why="a message does not name what its receiver must deliver first",
        changes=(
            (
                "antecede_lab/protocols/facts/process",
                "return self._writer.draft(copy.target, must, stalled)",
                "return self._writer.draft(copy.target, [], stalled)",
            ),
        ),
        plan=ROOMY,
    ),
    FactsMutant(
        name="facts-forgotten",
        why="a receiver does not pass on the facts it was told",
        changes=(
            (
                "antecede_lab/protocols/facts/past",
                "for fact in report.alive:",
                "for fact in report.alive[:0]:",
            ),
        ),
        plan=ROOMY,
    ),
    FactsMutant(
        name="filter-forgotten",
        why="a receiver takes every report for complete",
        changes=(
            (
                "antecede_lab/protocols/facts/reports",
                "self.filter: i64 = told.filter",
                "self.filter: i64 = 0",
            ),
        ),
        plan=TIGHT,
    ),
    FactsMutant(
        name="exceptions-forgotten",
        why="a receiver does not heed that a destination was named",
        changes=(
            (
                "antecede_lab/protocols/facts/reports",
                "self.exceptions: tuple[int, ...] = told.exceptions",
                "self.exceptions: tuple[int, ...] = ()",
            ),
        ),
        plan=STALLED_LOSSY,
    ),
    FactsMutant(
        name="foreign-exceptions-dropped",
        why="exceptions of others are heeded, but not passed on",
        changes=(("antecede_lab/protocols/facts/draft", "return sorted(found)", "return []"),),
        plan=STALLED_LOSSY,
        seeds=range(224, 225),
    ),
    FactsMutant(
        name="foreign-filter-dropped",
        why="filters of others are heeded, but not passed on",
        changes=(("antecede_lab/protocols/facts/past", "mask |= report.filter", "mask |= 0"),),
        plan=SILENT,
        seeds=range(49, 50),
    ),
    FactsMutant(
        name="permit-ignores-reports",
        why="a permit waits for one's own messages only, not for what they rest on",
        changes=(
            (
                "antecede_lab/protocols/facts/owed",
                "if not self._is_resolved(owed, permit, truths):",
                "if False:",
            ),
        ),
        plan=SILENT,
        seeds=range(38, 39),
    ),
    FactsMutant(
        name="permit-ignores-own",
        why="a permit does not wait for one's own messages",
        changes=(
            (
                "antecede_lab/protocols/facts/owed",
                "if permit.sequence > window.plain.at(owed.target):",
                "if permit.sequence < 0:",
            ),
        ),
        plan=TIGHT,
    ),
    FactsMutant(
        name="covered-is-delivered",
        why="what a message of one's own covers is taken for delivered",
        changes=(
            (
                "antecede_lab/protocols/facts/process",
                "            self._past.cover(copy.target, copy.sequence, copy.wanted)\n",
                "            self._past.cover(copy.target, copy.sequence, copy.wanted)\n"
                "            for want in copy.wanted:\n"
                "                self._truths.deliver(want.sender, copy.target, want.sequence)\n",
            ),
        ),
        plan=ROOMY,
    ),
    FactsMutant(
        name="silence-ignored",
        why="a message leaves although a report may be silent about its target",
        changes=(
            (
                "antecede_lab/protocols/facts/process",
                "        while blocking:\n",
                "        while blocking and False:\n",
            ),
        ),
        plan=TIGHT,
    ),
    FactsMutant(
        name="permit-ends-all",
        why="a permit of one sender ends everybody's reports",
        changes=(
            (
                "antecede_lab/protocols/facts/process",
                "        self._past.permitted(peer.id, sequence, self._truths)\n",
                "        for source in list(self._past.reports):\n"
                "            self._past.permitted(source, 1 << 60, self._truths)\n",
            ),
        ),
        plan=TIGHT,
    ),
    FactsMutant(
        name="permit-n-plus-1",
        why="a permit covers one message more than is settled",
        changes=(
            (
                "antecede_lab/protocols/facts/process",
                "self._permit(self._peers[owed.target], owed.due, (), outbox)",
                "self._permit(self._peers[owed.target], owed.due + 1, (), outbox)",
            ),
        ),
        plan=TIGHT,
    ),
    FactsMutant(
        name="ack-on-arrival",
        why="what arrived is acknowledged before it is delivered",
        changes=(
            (
                "antecede_lab/protocols/facts/process",
                "        self._deliver(self._inbox.take(peer, packet), now_ns, outbox)\n",
                "        outbox.transmit(peer.id, FactsAck(sequence))\n"
                "        self._deliver(self._inbox.take(peer, packet), now_ns, outbox)\n",
            ),
        ),
        plan=TIGHT,
    ),
    FactsMutant(
        name="later-facts",
        why="reports become part of the past of messages that were submitted before them",
        changes=(
            (
                "antecede_lab/protocols/facts/process",
                "        self._log.append(PastReport(self._serial, peer.id, sequence, report))\n"
                "        self._logged_reports += 1\n",
                "        late = PastReport(self._serial, peer.id, sequence, report)\n"
                "        self._past.absorb(late, self._truths)\n"
                "        for item in self._log:\n"
                "            for copy in item.unsent:\n"
                "                if late.source != copy.target:\n"
                "                    copy.blocking.append(late)\n",
            ),
        ),
        plan=TIGHT,
        finds="loss",
        seeds=range(29, 30),
    ),
    FactsMutant(
        name="watermark-of-sent",
        why="a watermark counts messages as delivered that have only been submitted",
        changes=(
            (
                "antecede_lab/protocols/facts/window",
                "        low = self.plain.first - 1\n",
                "        low = self.next - 1\n",
            ),
        ),
        plan=ROOMY,
    ),
    FactsMutant(
        name="watermark-per-peer",
        why="what a peer may be permitted is passed on as true for everybody",
        changes=(
            (
                "antecede_lab/protocols/facts/process",
                "self._truths.gossip(target, self._window.watermark())",
                "self._truths.gossip(target, Watermark(-1, self._window.plain.at(target)))",
            ),
        ),
        plan=LOSSY,
    ),
    FactsMutant(
        name="exceptions-of-watermark-ignored",
        why="a watermark with exceptions is read as one without",
        changes=(
            (
                "antecede_lab/protocols/facts/delivered",
                "        raised = low > standing.low\n",
                "        low = max(low, low_except)\n        raised = low > standing.low\n",
            ),
        ),
        plan=STALLED_LOSSY,
    ),
    FactsMutant(
        name="exceptions-of-permit-ignored",
        why="a permit with exceptions is read as one without",
        changes=(
            (
                "antecede_lab/protocols/facts/process",
                "self._on_permit(peer, packet.sequence, packet.exceptions, now_ns)",
                "self._on_permit(peer, packet.sequence, (), now_ns)",
            ),
        ),
        plan=STALLED_LOSSY,
    ),
    FactsMutant(
        name="permit-without-foreign-exceptions",
        why="a permit names the destinations that are stalled here, not those that others named",
        changes=(
            (
                "antecede_lab/protocols/facts/owed",
                "            for exception in report.exceptions:\n"
                "                found[exception] = True\n",
                "",
            ),
        ),
        plan=STALLED_LOSSY,
        finds="reference",
    ),
    FactsMutant(
        name="always-one-hop",
        why="a report that rests on others looks as if it rested on its sender's messages only",
        changes=(
            (
                "antecede_lab/protocols/facts/draft",
                "PastReportField(mask, tuple(exceptions), facts, hops + 1)",
                "PastReportField(mask, tuple(exceptions), facts, 1)",
            ),
        ),
        plan=STALLED,
        seeds=range(12, 13),
    ),
    FactsMutant(
        name="covers-before-it-looks",
        why="a message counts as the last to its target before it is asked what came since",
        changes=(
            (
                "antecede_lab/protocols/facts/process",
                "        for copy in entry.unsent:\n            blocking = ",
                "        for copy in entry.unsent:\n"
                "            self._past.cover(copy.target, copy.sequence, [])\n"
                "            blocking = ",
            ),
        ),
        plan=TIGHT,
    ),
    FactsMutant(
        name="own-bit-cleared",
        why="a receiver clears its own bit, which may stand for another destination, too",
        changes=(
            (
                "antecede_lab/protocols/facts/process",
                "        self._serial += 1\n",
                "        self._serial += 1\n"
                "        own = self._truths.filter.bit(self._me)\n"
                "        report = PastReportField(\n"
                "            report.filter & ~own, report.exceptions, report.facts, report.hops\n"
                "        )\n",
            ),
        ),
        plan=FILTERED,
    ),
    FactsMutant(
        name="owed-permits-merged",
        why="a permit with exceptions makes earlier ones wait for what it rests on itself",
        changes=(
            (
                "antecede_lab/protocols/facts/owed",
                "                owed.given_exceptions = tuple(sorted(exceptions))\n",
                "                owed.given_exceptions = tuple(sorted(exceptions))\n"
                "                for _ in range(place):\n"
                "                    permit.reports.extend(owed.queue.popleft().reports)\n"
                "                    self.size -= 1\n",
            ),
        ),
        plan=STALLED,
        finds="loss",
        seeds=range(12, 13),
    ),
]
