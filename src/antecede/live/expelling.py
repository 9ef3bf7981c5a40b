"""When to go on without a peer that is silent: policies, small enough to write one's own.

The default is `manual`: nobody is expelled unless somebody calls `expel`. A policy is asked about
peers that owe an answer. Whatever it says, causal order is kept: a wrong suspicion costs the
suspected node its place, which it can take again as a new node, and what was under way to it.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import isinf
from typing import Final

from antecede.core.errors import LocalError
from antecede.link.endpoint import Endpoint
from antecede.link.session import Session
from antecede.link.suspicions import suspecting
from antecede.live.callbacks import EXITS, Callbacks
from antecede.live.setting_rules import NS_PER_SECOND, Rule, seconds_of

LOOKS_PER_SILENCE: Final = 8
"""How often a policy is asked while a peer is silent for as long as it allows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SilentPeer:
    """A peer that owes an answer, as a policy sees it."""

    name: str
    silent_seconds: float
    """How long nothing has come from it."""
    suspected_by: tuple[str, ...]
    """The named members that suspect it, this node among them if it does."""
    members: int
    """How many named members there are, this node among them; strangers that were let in are none.
    Those that were expelled count as long as they are not removed."""


class ExpulsionPolicy(ABC):
    """Decides whom a node goes on without; a subclass of your own can be given as `expel`."""

    silence: float
    """Seconds: how long a peer is silent before this node suspects it."""

    @abstractmethod
    def verdict(self, peer: SilentPeer) -> str:
        """Why a suspected peer is to be expelled now; empty if it is not."""


@dataclass(frozen=True, slots=True)
class Manual(ExpulsionPolicy):
    """Nobody is expelled but by a call of `expel`."""

    silence: float = float("inf")

    def verdict(self, peer: SilentPeer) -> str:  # noqa: ARG002 - whoever it is
        return ""

    def __str__(self) -> str:
        return "manual"


@dataclass(frozen=True, slots=True)
class After(ExpulsionPolicy):
    """Whoever is silent for so long is expelled, by any one node that finds it so.

    What that risks: a node that is only slow, paused or cut off loses its place. And when a network
    splits, each side expels the other: both go on, and stay apart.
    """

    silence: float

    def verdict(self, peer: SilentPeer) -> str:
        return f"silent for {peer.silent_seconds:.3g} s"

    def __str__(self) -> str:
        return f"after:{self.silence:g}s"


@dataclass(frozen=True, slots=True)
class Quorum(ExpulsionPolicy):
    """Whoever is suspected by a majority of the named members, after so much silence, is expelled.

    When a network splits, only a side with more than half of the members can go on without the
    rest. A pair has no majority without both.
    """

    silence: float

    def verdict(self, peer: SilentPeer) -> str:
        if 2 * len(peer.suspected_by) <= peer.members:
            return ""
        names = ", ".join(peer.suspected_by)
        return f"{len(peer.suspected_by)} of {peer.members} suspect it: {names}"

    def __str__(self) -> str:
        return f"quorum:{self.silence:g}s"


MANUAL: Final = Manual()


def read_policy(value: object) -> ExpulsionPolicy:
    """A policy, or its name: `manual`, `after:30s` or `quorum:30s`."""
    if isinstance(value, ExpulsionPolicy):
        return value
    if value == "manual":
        return MANUAL
    if isinstance(value, str):
        kind, _, silence = value.partition(":")
        if kind == "after" and silence:
            return After(checked_silence(silence))
        if kind == "quorum" and silence:
            return Quorum(checked_silence(silence))
    raise LocalError(f"{value!r} is none")


def checked_silence(text: str) -> float:
    """How long a peer may be silent."""
    seconds = seconds_of(text)
    if not 0 < seconds <= 7 * 24 * 3600:
        raise LocalError(f"a silence of {text} makes no sense")
    return seconds


POLICY: Final = Rule(read_policy, "manual, after:30s, quorum:30s, or an ExpulsionPolicy")


class Expelling:
    """Asks the policy of one node, now and then, and does what it says."""

    def __init__(
        self, policy: ExpulsionPolicy, endpoint: Endpoint, name: str, callbacks: Callbacks
    ) -> None:
        self._policy: Final = policy
        self._endpoint: Final = endpoint
        self._name: Final = name
        self._callbacks: Final = callbacks
        self.failure = ""
        """What the policy raised when it was asked last; empty if it answered."""
        never = isinf(policy.silence)
        self._silence_ns: Final = 0 if never else round(policy.silence * NS_PER_SECOND)
        self._look_at_ns = 0

    def look(self, now_ns: int) -> None:
        """Expel whom the policy wants out; cheap if it is too early to ask again."""
        if self._silence_ns == 0 or now_ns < self._look_at_ns:
            return
        self._look_at_ns = now_ns + self._silence_ns // LOOKS_PER_SILENCE
        endpoint = self._endpoint
        named = [c.session for c in endpoint.directory.by_name.values() if not c.stranger]
        suspects = [s for s in endpoint.sessions() if self._silent_ns(s, now_ns) > 0]
        suspects.sort(key=lambda session: session.name)
        endpoint.suspicions.hold(suspects, named)
        for session in suspects:
            peer = SilentPeer(
                name=session.name,
                silent_seconds=self._silent_ns(session, now_ns) / NS_PER_SECOND,
                suspected_by=(self._name, *suspecting(session, named)),
                members=1 + len(named),
            )
            if reason := self._verdict(peer):
                endpoint.expel(session.name, reason, now_ns)

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
            self._callbacks.has_failed(f"the expulsion policy, asked about {peer.name!r},")
            return ""
        self.failure = ""
        return reason

    def _silent_ns(self, session: Session, now_ns: int) -> int:
        """How long a peer has owed an answer, if that is long enough to suspect it; or 0."""
        if not session.met or session.is_gone() or session.path.flight.eliciting == 0:
            return 0
        silent_ns = now_ns - int(session.standing.heard_ns)
        return silent_ns if silent_ns >= self._silence_ns else 0
