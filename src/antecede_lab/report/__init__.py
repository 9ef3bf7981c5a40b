"""The laboratory's parts of reports: comparisons, sweeps, growth, evaluations; scenario pages."""

from typing import Final

from antecede_audit.report.parts import ReportPart
from antecede_lab.report.comparison_page import COMPARISON, KS, comparison_sections
from antecede_lab.report.evaluation_page import EVALUATION, evaluation_sections
from antecede_lab.report.growth_page import growth_sections
from antecede_lab.report.sweep_page import SWEEP, sweep_sections, swept_series

PARTS: Final = (
    ReportPart(sections=comparison_sections, kinds=(COMPARISON,)),
    ReportPart(sections=sweep_sections, kinds=(SWEEP,), series=swept_series),
    ReportPart(sections=growth_sections, kinds=(KS,)),
    ReportPart(sections=evaluation_sections, kinds=(EVALUATION,)),
)
"""What the laboratory adds to reports, beside `antecede_audit.report.PARTS`."""
