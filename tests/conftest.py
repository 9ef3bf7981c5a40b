"""What all tests share: how hard hypothesis tries, and the certainty of testing the build meant.

`ANTECEDE_EXPECT=compiled|interpreted` states which build must be under test, and the run stops at
once if another one is, or if the compiled one was made from other sources than those that stand
here. `ANTECEDE_CAMPAIGN=long` makes every property search longer, with fresh seeds; a failure
prints what repeats it. `ANTECEDE_MUST_RUN` lists words, separated by commas: a test that skips for
a reason with one of them in it fails, so that a machine with everything cannot miss anything.
`ANTECEDE_BUDGET` names a table of `tests/budget.toml`: the run ends with a warning for each folder
that took far more of the suite's time than it says there. `ANTECEDE_SHARE=half` is for somebody in
a hurry: half of the seeds, and of the examples of every property; `ANTECEDE_SHARE=fifth` is for the
second of two builds: every fifth seed, and a quarter of the examples.
"""

import gc
import os
import signal
import threading
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import antecede
from tests.expected_build import stale_build, wrong_build
from tests.running_order import in_running_order
from tests.share import IS_SHARED, SHARE, left_out
from tests.spark_session import spark as spark
from tests.time_budget import folder_of, overruns, read_budget, table

SECONDS: defaultdict[str, float] = defaultdict(float)
"""What the tests of each folder have taken so far."""

SOURCE = Path(__file__).parent.parent / "src"
PACKAGES = ("antecede", "antecede_audit", "antecede_cli", "antecede_lab")

settings.register_profile(
    "short",
    derandomize=True,
    deadline=None,
    max_examples=40,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "long",
    deadline=None,
    max_examples=1000,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("half", settings.get_profile("short"), max_examples=20)
settings.register_profile("fifth", settings.get_profile("short"), max_examples=10)
IS_LONG = os.environ.get("ANTECEDE_CAMPAIGN") == "long"
settings.load_profile("long" if IS_LONG else SHARE if IS_SHARED else "short")


def pytest_report_header() -> str:
    """Say which build is under test."""
    build = "compiled" if antecede.compiled() else "interpreted"
    return f"antecede {antecede.__version__} ({build}) from {Path(antecede.__file__).parent}"


def pytest_configure() -> None:
    """Refuse to test a build other than the one meant."""
    heed_interrupts()
    expected = os.environ.get("ANTECEDE_EXPECT")
    if expected is None:
        return
    built = Path(antecede.__file__).parents[1]
    stale = [stale_build(SOURCE / name, built / name) for name in PACKAGES]
    for complaint in filter(None, [wrong_build(expected), *stale]):
        raise pytest.UsageError(complaint)


def heed_interrupts() -> None:
    """A job in the background may have been told to ignore Ctrl-C, and processes inherit that; the
    ones that tests start and interrupt should not."""
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    if ignored and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for no garbage while modules are imported: next to nothing of it is, and it took two
    fifths of the time. What has been collected stays to the end, so later searches pass over it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What takes long comes first, of what runs at all; every worker has the same list."""
    if IS_SHARED:
        left = left_out(items, SHARE)
        config.hook.pytest_deselected(items=left)
        gone = set(left)
        items[:] = [item for item in items if item not in gone]
    items[:] = in_running_order(items, read_budget("compiled"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skip into a failure if what it misses should be here."""
    report = yield
    words = [word for word in os.environ.get("ANTECEDE_MUST_RUN", "").split(",") if word]
    if report.skipped and isinstance(report.longrepr, tuple):
        reason = str(report.longrepr[2])
        if any(word in reason for word in words):
            report.outcome = "failed"
            report.longrepr = f"{reason}: but ANTECEDE_MUST_RUN says that it is here"
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Count what every folder takes; the process that hands out tests sees all of them."""
    SECONDS[folder_of(report.nodeid)] += report.duration


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show where the time went."""
    if name := os.environ.get("ANTECEDE_BUDGET"):
        terminalreporter.section("seconds of tests, by folder")
        for line in table(SECONDS, read_budget(name)):
            terminalreporter.write_line(line)
        for line in overruns(SECONDS, read_budget(name)):
            terminalreporter.write_line(f"OVER BUDGET: {line}", yellow=True)
