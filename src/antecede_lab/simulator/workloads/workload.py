"""What a workload is: it reacts to events with submissions and wake-ups.

Like a protocol, a workload has no clock and performs nothing itself: it writes into an `Agenda`,
which the simulation empties after every call. Chance is keyed by process and count, so the same
seed gives the same traffic whichever protocol carries it.
"""

from abc import ABCMeta, abstractmethod
from typing import Final, final

from mypy_extensions import i64, mypyc_attr

from antecede.core.checks import ID_LIMIT, PAYLOAD_LIMIT
from antecede.core.errors import LocalError
from antecede.core.packets import Message
from antecede_lab.simulator.calendar import WAKE, Calendar

MESSAGES_MAX: Final = 1 << 40
SEED_LIMIT: Final = 1 << 62

INTERVAL_NS_MAX: Final = 3_600_000_000_000
"""The longest mean time between two messages of one process: an hour."""

UNTAGGED: Final = -1
"""The tag of a message whose workload does not ask for it back."""


@final
@mypyc_attr(free_list_len=1)
class Submission:
    """Somebody wants to send `payload_bytes` bytes to `targets` now; they stay as they are."""

    __slots__ = ("following", "payload_bytes", "sender", "tag", "targets")

    def __init__(self, sender: i64, targets: list[int], payload_bytes: i64, tag: i64) -> None:
        self.sender: Final[i64] = sender
        self.targets: Final = targets
        self.payload_bytes: Final[i64] = payload_bytes
        self.tag: Final[i64] = tag
        self.following: Submission | None = None


@final
class Agenda:
    """What a workload wants done, in order."""

    __slots__ = ("_begin_ns", "_calendar", "_last", "first")

    def __init__(self, calendar: Calendar, begin_ns: i64 = 0) -> None:
        # The submissions not taken yet, chained; `_last` means nothing if there is none.
        self.first: Submission | None = None
        self._last: Submission | None = None
        self._calendar: Final = calendar
        # When the workload begins, in the time of the calendar.
        self._begin_ns: Final[i64] = begin_ns

    def submit(
        self, sender: i64, targets: list[int], payload_bytes: i64, tag: i64 = UNTAGGED
    ) -> None:
        """Send a message now; a `tag` of 0 or more comes back when it is delivered."""
        submission = Submission(sender, targets, payload_bytes, tag)
        if self.first is None or self._last is None:
            self.first = submission
        else:
            self._last.following = submission
        self._last = submission

    def take(self) -> Submission | None:
        """Remove and return the oldest submission."""
        submission = self.first
        if submission is not None:
            self.first = submission.following
            submission.following = None
        return submission

    def wake(self, time_ns: i64, token: i64) -> None:
        """Be called with `token` at `time_ns`."""
        self._calendar.add(self._begin_ns + time_ns, WAKE, 0, token)


@mypyc_attr(allow_interpreted_subclasses=True)
class Workload(metaclass=ABCMeta):
    """A pattern of traffic among `processes` processes, numbered from 0."""

    def __init__(self, processes: int) -> None:
        self.processes: Final[i64] = processes

    @property
    def reacts(self) -> bool:
        """Whether `delivered` does anything: if not, it is not called."""
        return False

    @property
    def multicasts(self) -> bool:
        """Whether a message may have several targets."""
        return False

    @property
    def broadcasts(self) -> bool:
        """Whether every message goes to all other processes."""
        return False

    def remaining(self) -> int:
        """How many messages it knows that it still wants to send; 0 when it is through."""
        return 0

    @abstractmethod
    def start(self, agenda: Agenda) -> None:
        """The run begins, at time 0."""

    @abstractmethod
    def woken(self, token: i64, now_ns: i64, agenda: Agenda) -> None:
        """A wake-up is due."""

    def delivered(  # noqa: B027 most workloads do not react
        self, process: i64, message: Message, tag: i64, now_ns: i64, agenda: Agenda
    ) -> None:
        """`process` has been handed a message (and has handled it, where handling takes time)."""


def check_traffic(processes: int, messages: int, interval_ns: int, payload_bytes: int) -> None:
    """`LocalError` if one of the parameters that all workloads share makes no sense."""
    if processes < 2:
        raise LocalError(f"traffic needs at least two processes, not {processes}")
    if processes >= ID_LIMIT:
        raise LocalError(f"{processes} processes are more than ids")
    if not 1 <= messages <= MESSAGES_MAX:
        raise LocalError(f"{messages} messages: there must be at least one message, at most 2**40")
    if not 1 <= interval_ns <= INTERVAL_NS_MAX:
        raise LocalError(f"the interval of {interval_ns} ns is outside 1 to {INTERVAL_NS_MAX} ns")
    if not 0 <= payload_bytes <= PAYLOAD_LIMIT:
        raise LocalError(f"a payload of {payload_bytes} bytes is outside 0 to {PAYLOAD_LIMIT}")


def check_seed(seed: int) -> None:
    """`LocalError` unless the seed is one that chance can start from."""
    if not 0 <= seed < SEED_LIMIT:
        raise LocalError(f"seed {seed} is outside 0 <= seed < 2**62")


def check_share(name: str, share: float) -> None:
    """`LocalError` unless the share is between 0 and 1."""
    if not 0 <= share <= 1:
        raise LocalError(f"{name} {share} is not between 0 and 1")
