"""Results as one HTML file that opens offline: tables, charts, and spacetime diagrams.

A report is a list of parts: `PARTS` are the audit's, `antecede_lab.report.PARTS` the laboratory's.
`*_page.py` turn files into plain values and these into sections, `assemble.py` puts sections in
order. `spacetime` turns an event log into what a diagram needs, `charts` draws SVG, and `page`
writes the file. The browser draws the diagrams (`page/assets`); everything that can be decided
before is decided here, where it can be tested.
"""

from typing import Final

from antecede_audit.report.audit_page import AUDIT, audit_section
from antecede_audit.report.ingest_page import quality_section, read_ingested
from antecede_audit.report.page.section import Section
from antecede_audit.report.parts import ReportContents
from antecede_audit.report.parts import ReportPart as ReportPart
from antecede_audit.report.recordings_page import (
    buffers_section,
    latency_section,
    pair_of,
    recorded_latencies,
    spacetime_section,
)


def spacetime_sections(contents: ReportContents) -> list[Section | None]:
    """The diagrams of recorded runs; of these, the one without violations beside the worst."""
    counts = [one.violation_count for one in contents.diagrams]
    return [spacetime_section(contents.diagrams, pair_of(counts))]


def quality_sections(contents: ReportContents) -> list[Section | None]:
    """How far traces that were ingested can be believed."""
    return [quality_section(read_ingested(contents.results.sources))]


def audit_sections(contents: ReportContents) -> list[Section]:
    """What audits found in the runs, if anything was judged."""
    if not contents.audits:
        return []
    people = {one.run.name: one.run.people for one in contents.recordings}
    return [audit_section(contents.audits, people, contents.diagrams, contents.trace_url)]


def recorded_latency_sections(contents: ReportContents) -> list[Section | None]:
    """The latencies of recorded runs."""
    return [latency_section(recorded_latencies(contents.recordings))]


def buffers_sections(contents: ReportContents) -> list[Section | None]:
    """How full the buffers of recorded runs were."""
    return [buffers_section(contents.recordings)]


PARTS: Final = (
    ReportPart(sections=spacetime_sections),
    ReportPart(sections=quality_sections),
    ReportPart(sections=audit_sections, kinds=(AUDIT,)),
    ReportPart(sections=recorded_latency_sections),
    ReportPart(sections=buffers_sections),
)
"""What the audit reports on: runs in space and time, traces, verdicts, latencies, buffers."""
