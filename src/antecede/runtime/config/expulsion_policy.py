"""When a silent peer is expelled: policies, small enough to write one's own.

The default is `majority:10s`. A policy is asked about peers that are silent though an answer is
due. Whatever it says, causal order is kept: a wrong suspicion costs the suspected node its place,
which it can take again as a new node, and what was under way to it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isinf
from typing import Final

from antecede.core.errors import LocalError
from antecede.endpoint.endpoint import Endpoint
from antecede.membership.failure_detector import Suspect
from antecede.runtime.callbacks import EXITS, Callbacks
from antecede.runtime.config.rules import NS_PER_SECOND, Rule, seconds_of


@dataclass(frozen=True, slots=True, kw_only=True)
class SilentPeer:
    """A peer that is silent though an answer is due, as a policy sees it."""

    name: str
    silent_seconds: float
    """How long nothing has come from it."""
    owes: bool
    """Whether somebody waits: it owes an acknowledgement of a message, or a permit."""
    answered: int
    """How many members have answered a ping since it was suspected, this node among them."""
    members: int
    """How many are here for this node, itself and the silent ones included; strangers that were
    let in are none."""
    its_members: int
    """How many were here for the silent peer when it was heard last; 0 if it never said."""


class ExpulsionPolicy(ABC):
    """Decides whom a node goes on without; a subclass of your own can be given as `expel`."""

    silence: float
    """Seconds: how long a peer is silent before this node suspects it."""

    @abstractmethod
    def verdict(self, peer: SilentPeer) -> str:
        """Why a suspected peer is to be expelled now; empty if it is not."""


@dataclass(frozen=True, slots=True)
class Manual(ExpulsionPolicy):
    """Nobody is expelled except by a call of `expel`."""

    silence: float = float("inf")

    def verdict(self, peer: SilentPeer) -> str:  # noqa: ARG002 - whoever it is
        return ""

    def __str__(self) -> str:
        return "manual"


@dataclass(frozen=True, slots=True)
class After(ExpulsionPolicy):
    """Any node expels a peer that is silent for `silence` seconds.

    What that risks: a node that is only slow, paused or cut off is expelled. And when a network
    splits, each side expels the other: both go on, and stay apart.
    """

    silence: float

    def verdict(self, peer: SilentPeer) -> str:
        return f"silent for {peer.silent_seconds:.3g} s"

    def __str__(self) -> str:
        return f"after:{self.silence:g}s"


@dataclass(frozen=True, slots=True)
class Majority(ExpulsionPolicy):
    """A node expels a peer that is silent for `silence` seconds, if more than half of the members
    have answered the node meanwhile.

    When a network splits, only a side with more than half of the members goes on without the rest.
    A pair has no majority: nobody of the two is expelled. A node that reaches fewer members than
    the silent one did waits twice as long, and an idle peer is given 30 s, or three times as long.
    """

    silence: float

    def verdict(self, peer: SilentPeer) -> str:
        suspect = Suspect(
            peer.name,
            round(peer.silent_seconds * NS_PER_SECOND),
            peer.owes,
            peer.answered,
            peer.members,
            peer.its_members,
        )
        if not suspect.may_be_dead(round(self.silence * NS_PER_SECOND)):
            return ""
        if not suspect.is_outvoted():
            return ""
        return (
            f"silent for {peer.silent_seconds:.3g} s; {peer.answered} of {peer.members} have "
            "answered meanwhile"
        )

    def __str__(self) -> str:
        return f"majority:{self.silence:g}s"


MANUAL: Final = Manual()

USUAL: Final = Majority(10.0)
"""The default of orders that can expel: a majority, after 10 s."""

NAMES: Final[Mapping[str, Callable[[float], ExpulsionPolicy]]] = {
    "after": After,
    "majority": Majority,
    "quorum": Majority,
}
"""`quorum` is the former name of `majority`, for one release."""


def usual_policy(order: str, heartbeat: float) -> ExpulsionPolicy:
    """The policy of a node that was given none: never one that its other settings forbid."""
    if order in ("fifo", "none"):
        return MANUAL
    return Majority(max(USUAL.silence, 2 * heartbeat))


def read_policy(value: object) -> ExpulsionPolicy:
    """A policy, or its name: `manual`, `majority:10s` or `after:30s`."""
    if isinstance(value, ExpulsionPolicy):
        return value
    if value == "manual":
        return MANUAL
    if isinstance(value, str):
        kind, _, silence = value.partition(":")
        if kind in NAMES and silence:
            return NAMES[kind](checked_silence(silence))
    raise LocalError(f"{value!r} is none")


def checked_silence(text: str) -> float:
    """How long a peer may be silent."""
    seconds = seconds_of(text)
    if not 0 < seconds <= 7 * 24 * 3600:
        raise LocalError(f"a silence of {text} makes no sense")
    return seconds


POLICY: Final = Rule(read_policy, "manual, majority:10s, after:30s, or an ExpulsionPolicy")


class ExpulsionEnforcer:
    """Asks the policy of one node, now and then, and does what it says."""

    def __init__(
        self, policy: ExpulsionPolicy, endpoint: Endpoint, callbacks: Callbacks, now_ns: int
    ) -> None:
        self._policy: Final = policy
        self._endpoint: Final = endpoint
        self._callbacks: Final = callbacks
        self.failure = ""
        """What the policy raised when it was asked last; empty if it answered."""
        if not isinf(policy.silence):
            endpoint.detector.watch(round(policy.silence * NS_PER_SECOND), now_ns)

    def enforce(self, now_ns: int) -> None:
        """Expel whom the policy wants out; cheap if it is too early to ask again."""
        for suspect in self._endpoint.detector.suspects(now_ns):
            if reason := self._verdict(seen_by_policy(suspect)):
                self._endpoint.expel(suspect.name, reason, now_ns)

    def _verdict(self, peer: SilentPeer) -> str:
        """What the policy says; nothing if it fails: a peer is not expelled by mistake."""
        try:
            reason = self._policy.verdict(peer) or ""
            if not isinstance(reason, str):
                raise TypeError(f"a verdict is a text, not {reason!r}")
        except EXITS:
            raise
        except BaseException as error:
            self.failure = f"{type(error).__name__}: {error}"
            self._callbacks.on_failure(f"the expulsion policy, asked about {peer.name!r},")
            return ""
        self.failure = ""
        return reason


def seen_by_policy(suspect: Suspect) -> SilentPeer:
    """A suspect in the units of a policy."""
    return SilentPeer(
        name=suspect.name,
        silent_seconds=suspect.silent_ns / NS_PER_SECOND,
        owes=suspect.owes,
        answered=int(suspect.answered),
        members=int(suspect.members),
        its_members=int(suspect.its_members),
    )
