"""The oracle against brute force on random logs, and against violations planted in good ones."""

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from antecede.audit import MessageId, Violation, check_log, explain, find_violations
from antecede.trace import Event, EventLog
from tests.audit.brute_force import BruteForce
from tests.audit.random_logs import causal_runs, chaos, runs, swappable

often = settings(max_examples=10 * settings().max_examples)


def agree(events: Sequence[Event]) -> None:
    """The oracle says what brute force says, and every witness is a path."""
    brute = BruteForce(events)
    verdict = check_log(events)
    assert [violation.row() for violation in verdict.violations] == by_position(
        events, brute.violations()
    )
    assert sorted(violation.row() for violation in verdict.fifo_breaks) == brute.fifo_breaks()
    assert sorted((d.process, d.message, d.deliveries) for d in verdict.duplicates) == (
        brute.duplicates()
    )
    assert sorted((loss.target, loss.message) for loss in verdict.losses) == brute.losses()
    assert sorted((i.process, i.message) for i in verdict.inventions) == brute.inventions()
    assert [found.message for found in verdict.self_causes] == brute.self_causes()
    for violation in [*verdict.violations, *verdict.fifo_breaks]:
        check_witness(events, brute, violation)
    assert verdict.ok == (not any(explain(finding) for finding in verdict.findings))
