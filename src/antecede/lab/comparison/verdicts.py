"""Confirmed, refuted or qualified: each claim of the table against what was observed.

A bound is confirmed if what was measured grows like it, qualified if it holds and the figure grew
less (here, in our implementation, on this traffic), and refuted if the figure grew more. A word is
confirmed by the same word. What counts as a qualification, and why, is listed by name.
"""

from dataclasses import dataclass
from typing import Final, final

from antecede.lab.comparison import claims
from antecede.lab.comparison.claims import Claim, claims_about
from antecede.lab.comparison.observations import Observation, observe
from antecede.lab.comparison.readings import Readings

CONFIRMED: Final = "confirmed"
QUALIFIED: Final = "qualified"
REFUTED: Final = "refuted"

TOLERANCE: Final = 0.35
"""How far a measured power of n may be from the claimed one and still be the same growth."""

BY_HOLDINGS: Final = "O(i+o+b+p+u)"
"""A bound by what a process holds, so that what it is done with must not count."""

GROWTH_ASPECTS: Final = (
    claims.MESSAGE_SPACE,
    claims.PROCESS_SPACE,
    claims.SENDER_STEPS,
    claims.RECEIVER_STEPS,
)

MAGNITUDES: Final = ("0", "O(r)", "O(b r)", "unbounded")
"""From best to worst."""

QUALIFYING: Final[dict[tuple[str, str, str], str]] = {
    (claims.LIVENESS, "no", "with timers"): "only as long as no null messages are sent",
    (claims.CONTROL, "no", "null"): "without null messages it would not be live",
    (claims.SIDE, "sender", "both"): "a part of it is at the receiver",
    (claims.SIDE, "receiver", "both"): "a part of it is at the sender",
    (claims.SCALABLE, "yes", "partly"): "it falls with distance, but not in proportion",
    (claims.SCALABLE, "no", "partly"): "it falls with distance, but not in proportion",
    (claims.ORDER, "FIFO", "any"): "no run without it failed; runs that did not fail are no proof",
    (
        claims.FAILURES,
        "reliable",
        "any",
    ): "no run without it failed; runs that did not fail are no proof",
}
"""By aspect, claim and observation: what the one has to be qualified by."""


@final
@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What became of a claim; `reason` says why it is not simply confirmed."""

    claim: Claim
    observation: Observation
    outcome: str
    reason: str


def verdicts_on(protocol: str, readings: Readings) -> list[Verdict]:
    """A verdict on every claim about this protocol that was measured."""
    return [
        judge(claim, observation)
        for claim in claims_about(protocol)
        if (observation := observe(claim.aspect, protocol, readings)) is not None
    ]


def judge(claim: Claim, observation: Observation) -> Verdict:
    """Compare one claim with what was seen."""
    if claim.aspect in GROWTH_ASPECTS:
        outcome, reason = judge_growth(claim, observation)
    elif claim.aspect == claims.MAGNITUDE:
        outcome, reason = judge_magnitude(claim.says, observation.word)
    elif claim.says == observation.word:
        outcome, reason = CONFIRMED, ""
    elif (claim.aspect, claim.says, observation.word) in QUALIFYING:
        reason = QUALIFYING[(claim.aspect, claim.says, observation.word)]
        outcome = QUALIFIED
    elif claim.aspect == claims.CONTROL:
        outcome, reason = judge_control(claim.says, observation.word)
    else:
        outcome, reason = REFUTED, f"seen here: {observation.word}"
    return Verdict(claim=claim, observation=observation, outcome=outcome, reason=reason)


def judge_growth(claim: Claim, observation: Observation) -> tuple[str, str]:
    """A claimed power of n against the measured one."""
    few_claimed, all_claimed = claims.GROWTH[claim.says]
    few, everybody = observation.powers
    assert everybody is not None, "growth is observed with all peers at least"
    if few is not None and few > few_claimed + TOLERANCE:
        return REFUTED, f"it grows like n^{few:.1f} although everybody has but a few peers"
    if everybody > all_claimed + TOLERANCE:
        if few is None:
            return REFUTED, f"it grows like n^{everybody:.1f}"
        return QUALIFIED, f"only if peers are few: with all as peers it is n^{everybody:.1f}"
    if claim.says == BY_HOLDINGS and observation.leak is not None and observation.leak > TOLERANCE:
        return QUALIFIED, "it also grows with what was acknowledged, behind a message that was not"
    if everybody < all_claimed - TOLERANCE:
        return QUALIFIED, f"the bound holds; here it grew like n^{everybody:.1f} only"
    return CONFIRMED, ""


def judge_magnitude(says: str, seen: str) -> tuple[str, str]:
    """A claimed order of waiting against the observed one."""
    word = "O(r)" if seen == "bounded" else seen
    claimed, observed = MAGNITUDES.index(says), MAGNITUDES.index(word)
    if observed > claimed:
        return REFUTED, f"seen here: {seen}"
    if observed < claimed:
        return QUALIFIED, f"no worse than {seen} was seen in these runs"
    return CONFIRMED, ""


def judge_control(says: str, seen: str) -> tuple[str, str]:
    """Claimed kinds of control packets against those that were sent."""
    claimed = says.split(", ") if says != "no" else []
    sent = seen.split(", ") if seen != "no" else []
    extra = [kind for kind in sent if kind not in claimed]
    missing = [kind for kind in claimed if kind not in sent]
    if extra:
        return REFUTED, f"there is also {', '.join(extra)}"
    if missing:
        return QUALIFIED, f"no {', '.join(missing)} was sent in these runs"
    return CONFIRMED, ""
