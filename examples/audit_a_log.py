"""Whether effects overtook causes in a log that somebody recorded, and how that came about.

`sample-log/services.jsonl.gz` is the event log of a simulated run of six services without any
order, made by the command in `sample-log/README.md`. A log of that size needs no Spark: the oracle
reads it and works straight from the definition. Larger ones are for `antecede audit`.

    python examples/audit_a_log.py [LOG]
"""

import sys
from pathlib import Path

from antecede.units import duration_text
from antecede_audit.eventlog import read_events
from antecede_audit.judging import check_log, explain

SAMPLE = Path(__file__).parent / "sample-log" / "services.jsonl.gz"


def main(path: Path) -> None:
    """Judge the log, and tell the three worst findings."""
    verdict = check_log(read_events(path))
    print(
        f"{verdict.messages:,} messages, {verdict.deliveries:,} deliveries "
        f"at {verdict.processes} processes"
    )
    early = sorted(verdict.violations, key=lambda one: -one.held_back_ns)
    print(f"delivered before something that caused them: {len(early)}")
    for violation in early[:3]:
        print(f"- {duration_text(violation.held_back_ns)} too early: {explain(violation)}")
    print(f"lost: {len(verdict.losses)}, delivered twice: {len(verdict.duplicates)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else SAMPLE)
