"""Results as one HTML file that opens offline: tables, charts, and spacetime diagrams.

A report is a list of parts: `PARTS` are the audit's, `antecede_lab.report.PARTS` the laboratory's.
`*_results.py` turn files into plain values, `*_page.py` make sections of them, `assemble.py` puts
these in order. `spacetime` turns an event log into what a diagram needs, `charts` draws SVG, and
`page` writes the file. The browser draws the diagrams (`page/assets`); everything that can be
decided before is decided here, where it can be tested.
"""

from typing import Final

from antecede_audit.report.audit_page import audit_sections
from antecede_audit.report.audit_results import AUDIT
from antecede_audit.report.latency_page import recorded_latency_sections
from antecede_audit.report.parts import ReportPart as ReportPart
from antecede_audit.report.recordings_page import (
    buffers_sections,
    quality_sections,
    spacetime_sections,
)

PARTS: Final = (
    ReportPart(sections=spacetime_sections),
    ReportPart(sections=quality_sections),
    ReportPart(sections=audit_sections, kinds=(AUDIT,)),
    ReportPart(sections=recorded_latency_sections),
    ReportPart(sections=buffers_sections),
)
"""What the audit reports on: runs in space and time, traces, verdicts, latencies, buffers."""
