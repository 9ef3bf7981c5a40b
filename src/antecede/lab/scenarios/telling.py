"""A performance in words: what happens, in order of time, and what came of it."""

from antecede.audit.explain import explain
from antecede.audit.findings import Finding
from antecede.lab.scenarios.script import UNIT_NS
from antecede.lab.scenarios.stage import Happening, Performance


def tell(performance: Performance, only: tuple[str, ...] = ()) -> list[str]:
    """One line per happening; `only` these messages if given (control is then left out)."""
    told = performance.happenings
    if only:
        told = [happening for happening in told if happening.name in only]
    return [f"{happening.time_ns / UNIT_NS:8.2f}  {in_words(happening)}" for happening in told]


def in_words(happening: Happening) -> str:
    """What happened, as a sentence."""
    process, peer, name = happening.process, happening.peer, happening.name
    thing = name or f"{article(happening.packet)} {happening.packet}"
    if happening.what == "submitted":
        return f"{process} wants to send {name} to {peer}"
    if happening.what == "transmitted":
        return f"{process} sends {thing} on its way to {peer}"
    if happening.what == "arrived":
        return f"{thing} from {peer} reaches {process}"
    if happening.what == "refused":
        return f"{process} refuses {thing} from {peer}: no correct peer sends that"
    return f"{process} delivers {name}"


def article(noun: str) -> str:
    """The indefinite article that goes with a packet kind."""
    return "an" if noun[0] in "aeio" else "a"


def verdict_lines(performance: Performance) -> list[str]:
    """What the oracle found, or that it found nothing."""
    names = dict(enumerate(performance.script.processes))
    findings: list[Finding] = performance.verdict.findings
    if not findings:
        return ["Causal order is kept; everything is delivered exactly once."]
    return [explain(finding, names) for finding in findings]
