"""What a run under chaos came to: a page for people, an object for programs."""

from dataclasses import asdict

from antecede.tools.chaos.cluster import Outcome
from antecede.tools.chaos.schedule import Fault

SHOWN = 10


def outcome_text(outcome: Outcome, command: str) -> str:
    """The page; `command` shows the same schedule again."""
    counts = outcome.counts
    lines = [
        f"{counts.seconds:g} s, {counts.faults} faults: {counts.kills} SIGKILLs, {counts.pauses} "
        f"pauses, {counts.cuts} cuts; {counts.lives} lives in all",
        f"{counts.messages:,} messages asked for, {counts.deliveries:,} deliveries; "
        f"{counts.datagrams:,} datagrams, {counts.lost:,} of them lost or cut off",
        f"{counts.expulsions} expulsions told, {counts.fenced} nodes told that they are expelled; "
        f"{counts.refused} messages refused, {counts.again} deliveries marked as perhaps repeated",
    ]
    found = outcome.findings()
    if found:
        lines.append("WRONG: " + ", ".join(f"{count} {kind}" for kind, count in found.items()))
        lines += details(outcome)
    else:
        lines.append(
            "All is well: causal order everywhere, nothing twice, nothing missing that may not be."
        )
    return "\n".join([*lines, f"The same faults again: {command}"])


def details(outcome: Outcome) -> list[str]:
    """The first findings of each kind."""
    judgement = outcome.judgement
    kinds = (
        judgement.verdict.violations,
        judgement.verdict.duplicates,
        judgement.verdict.inventions,
        judgement.lost,
        judgement.unreported,
        judgement.stale,
        outcome.failures,
    )
    return [f"  {finding}" for kind in kinds for finding in kind[:SHOWN]]


def outcome_object(outcome: Outcome, schedule: list[Fault], command: str) -> dict[str, object]:
    """The same for programs."""
    return {
        "ok": not outcome.findings(),
        "findings": outcome.findings(),
        "counts": asdict(outcome.counts),
        "failures": outcome.failures,
        "schedule": [str(fault).strip() for fault in schedule],
        "command": command,
    }
