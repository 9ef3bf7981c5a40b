"""What a report consists of: parts, each for some kind of results.

The audit has its parts (`antecede_audit.report.PARTS`), the laboratory adds its own
(`antecede_lab.report.PARTS`); whoever makes a report passes the parts that it is to have.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar, final

from antecede_audit.report.audit_page import AuditResults
from antecede_audit.report.page.section import Section
from antecede_audit.report.recordings_page import NamedRecording
from antecede_audit.report.sources import ReportSource, SourceKind
from antecede_audit.report.spacetime.diagram import Diagram

T = TypeVar("T")


@final
class Results:
    """The results that were found; each is read once, however many parts ask for it."""

    def __init__(self, sources: Sequence[ReportSource]) -> None:
        self.sources: Final = sources
        self._read: Final[dict[tuple[str, Path], Any]] = {}

    def of(self, kind: SourceKind, read: Callable[[Path], T]) -> dict[Path, T]:
        """All results of a kind, by folder. A kind has one way of being read."""
        found: dict[Path, T] = {}
        for source in self.sources:
            if source.kind == kind:
                key = (kind.name, source.path)
                if key not in self._read:
                    self._read[key] = read(source.path)
                found[source.path] = self._read[key]
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportContents:
    """What the parts of a report are told: results, the runs that are drawn, and verdicts."""

    results: Results
    recordings: Sequence[NamedRecording]
    audits: Sequence[AuditResults]
    diagrams: Sequence[Diagram]
    trace_url: str | None = None
    """Where a trace can be looked at, with {trace_id} for its id."""


def no_series(results: Results) -> Iterable[Sequence[str]]:
    """What most parts answer: no runs belong together."""
    del results
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportPart:
    """One part of reports: what it is made of, and its sections."""

    sections: Callable[[ReportContents], Iterable[Section | None]]
    """Sections of the same identity, of whichever parts, become one; None: nothing to say."""
    kinds: tuple[SourceKind, ...] = ()
    """The results that it looks for, beside event logs."""
    series: Callable[[Results], Iterable[Sequence[str]]] = no_series
    """Ids of runs that differ in one thing only, in order: worth drawing beside each other."""
