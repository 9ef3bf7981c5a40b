"""What all tests share: how hard hypothesis tries, and the certainty of testing the build meant.

`ANTECEDE_EXPECT=compiled|interpreted` states which build must be under test, and the run stops at
once if another one is, or if the compiled one was made from other sources than those that stand
here. `ANTECEDE_CAMPAIGN=long` makes every property search longer, with fresh seeds; a failure
prints what repeats it. `ANTECEDE_MUST_RUN` lists words, separated by commas: a test that skips for
a reason with one of them in it fails, so that a machine with everything cannot miss anything.
`ANTECEDE_SEEDS=few` tries every fifth seed, and a quarter of the examples of every property.
"""

import gc
import os
import signal
import threading
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import antecede
from tests.expected_build import stale_build, wrong_build
from tests.seeds import FEW, beyond_a_few
from tests.spark_session import spark as spark

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
settings.register_profile("few", settings.get_profile("short"), max_examples=10)
IS_LONG = os.environ.get("ANTECEDE_CAMPAIGN") == "long"
settings.load_profile("long" if IS_LONG else "few" if FEW else "short")


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
    """Leave out seeds if few are asked for, and run the files that use Spark first: these take
    longest, and one worker runs them all on one Java while others take its short tests."""
    if FEW:
        left_out = set(beyond_a_few(items))
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = [item for item in items if item not in left_out]
    on_spark = {item.path for item in items if "spark" in getattr(item, "fixturenames", ())}
    items.sort(key=lambda item: item.path not in on_spark)


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
