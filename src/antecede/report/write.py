"""Puts a report onto the disk, and before somebody's eyes."""

import webbrowser
from pathlib import Path

from antecede.report.page.document import Report, page_text
from antecede.trace.atomic import write_whole


def write_report(path: Path, report: Report) -> int:
    """Write the file, which appears when it is complete; how many bytes it has."""
    text = page_text(report).encode()
    write_whole(path, text)
    return len(text)


def open_report(path: Path) -> bool:
    """Open the file in a browser; False if there is none that would."""
    return webbrowser.open(path.absolute().as_uri())
