"""A real Chromium that opens a report, and notes whatever goes wrong or leaves the page."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from antecede_audit.report.page.document import Report, page_text

pytest.importorskip("playwright.sync_api", reason="the Python package playwright is not installed")

from playwright.sync_api import Browser, ConsoleMessage, Page, Request, sync_playwright

NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "chrome")
EXECUTABLE: Final = next(filter(None, map(shutil.which, NAMES)), None)

PANEL: Final = "document.getElementById('viewer').viewer.panels[%d]"


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser without a window; the test is skipped where there is none."""
    if EXECUTABLE is None:
        pytest.skip("there is no Chromium on this machine")
    with sync_playwright() as playwright:
        # A container often has neither the privileges for a sandbox nor much shared memory.
        options = ["--no-sandbox", "--disable-dev-shm-usage"]
        browser = playwright.chromium.launch(executable_path=EXECUTABLE, args=options)
        try:
            yield browser
        finally:
            browser.close()


class Opened:
    """A report in a browser."""

    def __init__(self, page: Page, file: Path) -> None:
        self.page: Final = page
        self.complaints: Final[list[str]] = []
        self.requests: Final[list[str]] = []
        page.on("console", self._note_console)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", self._note_request)
        page.goto(file.absolute().as_uri())

    def ready(self) -> "Opened":
        """Wait until the diagram is drawn."""
        self.page.wait_for_selector("#viewer[data-ready]")
        return self.drawn()

    def drawn(self) -> "Opened":
        """Wait until what was asked for is on the screen."""
        self.page.evaluate(
            "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )
        return self

    def panel(self, expression: str, number: int = 0) -> object:
        """What an expression about a panel comes to; `panel` is its name."""
        return self.page.evaluate(
            f"() => {{ const panel = {PANEL % number}; return {expression}; }}"
        )

    def number(self, expression: str, number: int = 0) -> float:
        """The same, if it is a number."""
        value = self.panel(expression, number)
        assert isinstance(value, int | float)
        return value

    def place(self, x: float, y: float, number: int = 0) -> tuple[float, float]:
        """Where a point of a diagram is on the screen."""
        canvas = self.page.locator("canvas.spacetime").nth(number)
        canvas.scroll_into_view_if_needed()
        box = canvas.bounding_box()
        assert box is not None
        return box["x"] + x, box["y"] + y

    def _note_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def _note_request(self, request: Request) -> None:
        self.requests.append(request.url)


def write_page(folder: Path, report: Report) -> Path:
    """The report as a file."""
    file = folder / "report.html"
    file.write_text(page_text(report), encoding="utf-8")
    return file
