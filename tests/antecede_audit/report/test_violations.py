"""Violations can be found in a diagram, with the path that is their reason."""

from dataclasses import replace

from antecede.eventlog.log import EventLog
from antecede_audit.judging.oracle import check_log
from antecede_audit.report.spacetime.recording import build_run, rows_of_log
from antecede_audit.report.spacetime.violations import JUDGED_MESSAGES, WitnessFinder, judged
from tests.antecede_audit.report.logs import Scribe, overtaken, simulated

MS = 1_000_000


def test_the_triangle_is_shown_with_its_path() -> None:
    scribe = overtaken()
    verdict = judged(scribe.rows().rows)
    assert verdict is not None
    [shown] = WitnessFinder(build_run(scribe.rows(), "triangle")).shown(verdict.violations)

    assert shown.text == (
        "P2 delivered message 1 of P1 at 4 ms, but message 1 of P0, which caused it, only at "
        "9 ms: P0 sent 1 to P2; then P0 sent 2 to P1; P1 delivered it at 2 ms and then sent "
        "1 to P2."
    )
    assert (shown.early, shown.late, shown.path) == (2, 0, (1,))
    assert shown.held_back_ns == 5 * MS


def test_times_count_from_the_start_of_the_run() -> None:
    later = Scribe()
    later.submit(1000, 0, 1, 1)
    later.submit(1001, 0, 2, 1)
    later.deliver(1002, 1, 0, 2)
    later.deliver(1004, 1, 0, 1)
    verdict = judged(later.rows().rows)
    assert verdict is not None
    finder = WitnessFinder(later.run())

    for violations in (
        verdict.violations,
        [replace(one, witness=()) for one in verdict.violations],
    ):
        [shown] = finder.shown(violations)
        assert shown.text.startswith("P1 delivered message 2 of P0 at 2 ms, but message 1 of P0,")


def test_witnesses_that_are_looked_up_are_those_of_the_oracle() -> None:
    log = simulated("none", messages=600)
    run = build_run(rows_of_log(log), "none")
    violations = check_log(log).violations
    finder = WitnessFinder(run)

    assert len(violations) > 20
    assert any(len(shown.path) > 1 for shown in finder.shown(violations))
    assert finder.shown([replace(one, witness=()) for one in violations]) == finder.shown(
        violations
    )


def test_a_violation_of_messages_that_are_not_in_the_run_is_left_out() -> None:
    verdict = judged(overtaken().rows().rows)
    assert verdict is not None
    other = Scribe()
    other.submit(0, 0, 1, 1)

    assert WitnessFinder(other.run()).shown(verdict.violations) == []


def test_without_a_path_in_the_log_the_violation_is_told_all_the_same() -> None:
    """Clocks may contradict the order of events; then the search between them finds nothing."""
    verdict = judged(overtaken().rows().rows)
    assert verdict is not None
    strange = Scribe()
    strange.submit(5, 0, 1, 2)
    strange.submit(3, 1, 1, 2)
    strange.deliver(6, 2, 1, 1)
    strange.deliver(9, 2, 0, 1)
    [shown] = WitnessFinder(strange.run()).shown(
        [replace(one, witness=()) for one in verdict.violations]
    )

    assert shown.path == ()
    assert "which caused it" in shown.text


def test_a_long_log_is_not_judged_here() -> None:
    log = EventLog()
    for sequence in range(1, JUDGED_MESSAGES + 2):
        log.append(0, 0, 0, sequence, 1, -1, -1, sequence, 0, 0)

    assert judged(rows_of_log(log).rows) is None
