"""A scenario as a report: all its acts, two of them side by side."""

from collections.abc import Sequence
from typing import Final

from antecede_audit.report.audit_page import audit_section, audited
from antecede_audit.report.page.document import Report
from antecede_audit.report.page.markup import Markup, element, joined
from antecede_audit.report.page.section import Section, table
from antecede_audit.report.recordings_page import spacetime_section
from antecede_audit.report.spacetime.diagram import Diagram
from antecede_audit.report.spacetime.recording import build_run, rows_of_log
from antecede_audit.report.spacetime.violations import WitnessFinder
from antecede_lab.scenarios.catalogue import Act, Scenario
from antecede_lab.scenarios.player import UNIT_NS, Performance

PRODUCT: Final = "hybrid"
"""The protocol that stories are compared with, where it has a part."""

TIMES_SHOWN: Final = 3


def story_report(
    scenario: Scenario, acts: Sequence[Act], performances: Sequence[Performance]
) -> Report:
    """The acts that were played, with their diagrams and what the oracle thinks of them."""
    played = list(zip(acts, performances, strict=True))
    diagrams = [act_diagram(scenario, act, performance) for act, performance in played]
    audits = [
        audited({act.label: performance.verdict}, act.label)
        for act, performance in played
        if performance.verdict.findings
    ]
    people = {diagram.run.name: diagram.run.people for diagram in diagrams}
    sections: list[Section | None] = [
        spacetime_section(diagrams, pair_of(acts)),
        summary_section(scenario, played),
        audit_section(audits, people, diagrams) if audits else None,
    ]
    return Report(
        title=scenario.title,
        subtitle=scenario.lesson,
        opening=Markup(),
        sections=[section for section in sections if section is not None],
        sources=[("the acts of a scenario", f"antecede lab scenario {scenario.name}")],
    )


def act_diagram(scenario: Scenario, act: Act, performance: Performance) -> Diagram:
    """An act as a run whose messages have names."""
    script = performance.script
    run = build_run(
        rows_of_log(performance.log),
        act.label,
        names=dict(enumerate(script.processes)),
        labels=message_names(performance),
        order=range(len(script.processes)),
    )
    violations = WitnessFinder(run).shown(performance.verdict.violations)
    return Diagram(run=run, violations=violations, watched=scenario.watched)


def message_names(performance: Performance) -> dict[tuple[int, int], str]:
    """What the script calls each message: the lines of a sender in order are its messages."""
    place = {name: number for number, name in enumerate(performance.script.processes)}
    names: dict[tuple[int, int], str] = {}
    counts: dict[int, int] = {}
    for line in sorted(performance.script.sends, key=lambda line: line.at):
        sender = place[line.sender]
        counts[sender] = counts.get(sender, 0) + 1
        names[sender, counts[sender]] = line.name
    return names


def pair_of(acts: Sequence[Act]) -> list[int]:
    """The acts to begin with: the first, and the product's own protocol or else the last."""
    if len(acts) == 1:
        return [0]
    own = [
        number
        for number, act in enumerate(acts)
        if act.info.name == PRODUCT and number and act.script == acts[0].script
    ]
    return [0, own[0] if own else len(acts) - 1]


def summary_section(scenario: Scenario, played: Sequence[tuple[Act, Performance]]) -> Section:
    """When the messages that the story is about left and were delivered."""
    rows: list[list[Markup | str]] = []
    for act, performance in played:
        for message in scenario.watched:
            wanted = performance.when("submitted", message)
            if wanted:
                later = [performance.when(what, message) for what in ("transmitted", "delivered")]
                kept = "no" if performance.verdict.violations else "yes"
                rows.append([act.label, message, *map(moments, [wanted[:1], *later]), kept])
    head = ["act", "message", "wanted", "left", "delivered", "causal"]
    note = element(
        "p", f"Times are in units of the usual delay, {UNIT_NS / 1e6:g} ms.", class_="quiet"
    )
    return Section(
        identity="summary",
        title="What became of it",
        lead="When the messages that the story is about were to be sent, left, and were delivered.",
        body=joined([table(head, rows, texts=2), note]),
    )


def moments(times: Sequence[float]) -> str:
    """A few times, or that there was none."""
    distinct = list(dict.fromkeys(times))
    shown = ", ".join(f"{time:.2f}" for time in distinct[:TIMES_SHOWN])
    return (shown or "never") + (", …" if len(distinct) > TIMES_SHOWN else "")
