"""The spacetime diagram in a notebook: the last value of a cell, drawn below it.

from antecede_audit.report.notebook import Spacetime
Spacetime("events")
"""

import os
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Final, final

from antecede.core.errors import LocalError
from antecede_audit.report import PARTS
from antecede_audit.report.assemble import ReportOptions, make_report
from antecede_audit.report.page.document import page_text
from antecede_audit.report.page.markup import Markup

SECTION: Final = "spacetime"


@final
class Spacetime:
    """The recorded runs below some paths, to be looked at: zoom, click, jump to violations."""

    def __init__(
        self, *paths: str | os.PathLike[str], runs: tuple[str, ...] = (), height: int = 640
    ) -> None:
        report = make_report([Path(path) for path in paths], ReportOptions(runs=runs), PARTS)
        shown = [section for section in report.sections if section.identity == SECTION]
        if not shown:
            raise LocalError(f"{paths[0]} has no event log that could be drawn")
        self._page: Final = page_text(replace(report, sections=shown, opening=Markup()))
        self._height: Final = height

    def _repr_html_(self) -> str:
        """What a notebook shows: a page in a page, so that neither can disturb the other."""
        return (
            f'<iframe srcdoc="{escape(self._page)}" width="100%" height="{self._height}" '
            'style="border: 0" sandbox="allow-scripts" title="Spacetime diagram"></iframe>'
        )
