"""The parts that the command line passes: the audit's and the laboratory's."""

from typing import Final

from antecede_audit import report as audit_report
from antecede_lab import report as lab_report

PARTS: Final = (*audit_report.PARTS, *lab_report.PARTS)
KINDS: Final = [kind for part in PARTS for kind in part.kinds]
