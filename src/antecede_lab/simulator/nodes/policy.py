"""When simulated nodes go on without who is silent: what live nodes do, in times of one's choice.

Written as there: `majority:200ms`, `after:1s`. All other times follow from the silence, as the
defaults of a live node follow from its ten seconds.
"""

from dataclasses import dataclass
from typing import Final, final

from mypy_extensions import i64

from antecede.core.errors import LocalError
from antecede.endpoint.limits import Limits
from antecede.membership.failure_detector import Suspect
from antecede.units import parse_duration

AFTER: Final = "after"
MAJORITY: Final = "majority"
LEAST_NS: Final = 1_000_000
HEARTBEATS: Final = 4
"""Heartbeats per silence."""
ASLEEP: Final = 10
"""A timer that rings a tenth of the silence too late has slept."""


@final
@dataclass(frozen=True, kw_only=True)
class SilencePolicy:
    """A node that is silent for too long is expelled, by one that most answer or by any."""

    kind: str
    silence_ns: int

    def limits(self) -> Limits:
        """The limits of nodes that follow it."""
        return Limits(
            heartbeat_ns=self.silence_ns // HEARTBEATS,
            silent_ns=self.silence_ns // 2,
            meet_within_ns=self.silence_ns,
        )

    @property
    def meeting_ns(self) -> int:
        """How long nodes have to meet before the traffic begins."""
        return 2 * self.silence_ns

    def has_slept(self, late_ns: i64) -> bool:
        """Whether a node was asleep whose timer has rung so late."""
        return ASLEEP * late_ns > self.silence_ns

    def expels(self, suspect: Suspect) -> bool:
        """Whether to go on without a peer."""
        if self.kind == AFTER:
            return True
        return suspect.may_be_dead(self.silence_ns) and suspect.is_outvoted()


def parse_policy(text: str) -> SilencePolicy:
    """A policy as it is written; `LocalError` says how it should be."""
    kind, _, silence = text.partition(":")
    if kind not in (AFTER, MAJORITY) or not silence:
        raise LocalError(f"{text!r} is no policy; write majority:200ms or after:200ms")
    silence_ns = parse_duration(silence)
    if silence_ns < LEAST_NS:
        raise LocalError(f"a silence of {silence} is too short: at least 1 ms")
    return SilencePolicy(kind=kind, silence_ns=silence_ns)
