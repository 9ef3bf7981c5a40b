"""The contract between a protocol and whoever drives it.

A driver calls a protocol (`submit`, `arrive`, `expire`), which answers with effects. It has no
socket, no clock, no random numbers and no logger; time is an argument. Three kinds of methods:

- the public face: `submit`, `arrive`, `expire` return a list of effects; `deadline_ns` says when
  `expire` should be called. Check first, change state next, answer last: a method that raises
  `LocalError` or `RemoteError` has changed nothing.
- the same for drivers on a hot path: `submit_into`, `arrive_into`, `expire_into` put the same
  effects, in the same order, into an `Outbox`, and `wake_ns` is `deadline_ns` without a None.
- for the model checker: `clone` and `fingerprint`, which follow from `anew` and from the names of
  the fields that change (see `cloning.py`). A fingerprint leaves timers out, because when a timer
  fires is the driver's choice.

Determinism is part of the contract: same calls, same effects, interpreted or compiled.
"""

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Collection, Sequence
from typing import ClassVar, Final, Self, cast, final

from mypy_extensions import i64, mypyc_attr

from antecede.core.cloning import give_state, shown
from antecede.core.effects import Deliver, Effect, Report, Transmit
from antecede.core.errors import LocalError
from antecede.core.packets import Message, Packet
from antecede.core.records import join_records

NEVER_NS: Final = (1 << 62) - 1
"""What `wake_ns` answers when no timer is wanted: later than any time.

The highest integer that compiled code has a constant for: one more, and every use costs a call.
"""

OWNERS_NAMED: Final = 8
"""At most 8 processes are named as those whose permits the copies to one target wait for."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Outbox:
    """Takes effects one at a time, in order."""

    @abstractmethod
    def transmit(self, target: i64, packet: Packet) -> None:
        """Put `packet` on the network, towards `target`."""

    @abstractmethod
    def deliver(self, message: Message) -> None:
        """Put `message` into the application's inbox: it is its turn."""


@final
class EffectList(Outbox):
    """An outbox that remembers: the bridge from a hot path to the list-returning face."""

    def __init__(self) -> None:
        self.effects: list[Effect] = []

    def transmit(self, target: i64, packet: Packet) -> None:
        self.effects.append(Transmit(target, packet))

    def deliver(self, message: Message) -> None:
        self.effects.append(Deliver(message))


def perform_effects(effects: list[Effect], outbox: Outbox) -> None:
    """Perform a list of effects on an outbox."""
    for effect in effects:
        if isinstance(effect, Transmit):
            outbox.transmit(effect.target, effect.packet)
        else:
            outbox.deliver(effect.message)


@mypyc_attr(allow_interpreted_subclasses=True)
class CausalProcess(metaclass=ABCMeta):
    """One process's side of a protocol; single-threaded."""

    # Fields that `clone` copies; those of STATE are in the fingerprint, too.
    STATE: ClassVar[tuple[str, ...]] = ()
    ASIDE: ClassVar[tuple[str, ...]] = ()
    # Options of the constructor, each of which is kept as it was given: `limit` in `_limit`.
    OPTIONS: ClassVar[tuple[str, ...] | None] = None

    @abstractmethod
    def submit(self, targets: Sequence[int], payload: bytes, now_ns: int) -> list[Effect]:
        """Send `payload` to every one of `targets` (which may include oneself), as one message."""

    @abstractmethod
    def arrive(self, source: int, packet: Packet, now_ns: int) -> list[Effect]:
        """Take in a packet that `source` transmitted."""

    def clone(self) -> Self:
        """An independent copy in the same state."""
        twin = self.anew()
        give_state(self, twin, type(self).STATE + type(self).ASIDE)
        return twin

    def fingerprint(self) -> bytes:
        """Equal states, equal fingerprints; timers do not count."""
        return repr([shown(getattr(self, name)) for name in type(self).STATE]).encode()

    def anew(self) -> Self:
        """A process with the same options, to which nothing has happened."""
        names = type(self).OPTIONS
        if names is None:
            raise LocalError(f"{type(self).__name__} has neither `anew` nor a `clone`")
        me, processes = self._constructor_arguments()
        create = cast(Callable[..., Self], type(self))
        return create(me, processes, **{name: getattr(self, f"_{name}") for name in names})

    def _constructor_arguments(self) -> tuple[int, Collection[int]]:
        """Who we are, and all who take part."""
        return 0, ()

    def deadline_ns(self) -> int | None:
        """When to call `expire`; None: no timer wanted."""
        return None

    def expire(self, now_ns: int) -> list[Effect]:  # noqa: ARG002 - nothing is ever due by default
        """Do what is due by now; calling too early is harmless."""
        return []

    def buffered(self) -> int:
        """How many of our messages are unsent or not acknowledged by all, as far as is known."""
        return 0

    def submit_into(self, targets: list[int], payload: bytes, now_ns: i64, outbox: Outbox) -> None:
        """Like `submit`, into an outbox."""
        perform_effects(self.submit(targets, payload, now_ns), outbox)

    def arrive_into(self, source: i64, packet: Packet, now_ns: i64, outbox: Outbox) -> None:
        """Like `arrive`, into an outbox."""
        perform_effects(self.arrive(source, packet, now_ns), outbox)

    def expire_into(self, now_ns: i64, outbox: Outbox) -> None:
        """Like `expire`, into an outbox."""
        perform_effects(self.expire(now_ns), outbox)

    def wake_ns(self) -> i64:
        """Like `deadline_ns`, with `NEVER_NS` for None."""
        deadline = self.deadline_ns()
        return NEVER_NS if deadline is None else deadline


@final
class PermitsOwed:
    """The permits that one process owes, and how many of our messages wait for them."""

    __slots__ = ("first", "holds", "last", "owner", "since")

    def __init__(self, owner: i64, first: i64, last: i64, since: i64, holds: i64) -> None:
        self.owner: Final[i64] = owner
        # The ids of the first and the last of its messages whose permits are missing.
        self.first: Final[i64] = first
        self.last: Final[i64] = last
        # The id of our first message that waits for one of them, and how many wait at least.
        self.since: Final[i64] = since
        self.holds: Final[i64] = holds

    def __repr__(self) -> str:
        return f"{range_text(self.first, self.last)} of {self.owner}"


@final
class HeldBack:
    """The copies to one target that have been submitted but may not leave, and why."""

    __slots__ = ("count", "first", "last", "missing", "target")

    def __init__(
        self, target: i64, first: i64, last: i64, count: i64, missing: list[PermitsOwed]
    ) -> None:
        self.target: Final[i64] = target
        # The ids of the oldest and the youngest of them, and how many there are.
        self.first: Final[i64] = first
        self.last: Final[i64] = last
        self.count: Final[i64] = count
        # Who owes permits that the last of them waits for: `OWNERS_NAMED` of them at most.
        self.missing: Final = missing

    def __repr__(self) -> str:
        what = f"message {self.first} to {self.target} waits"
        if self.count > 1:
            ids = range_text(self.first, self.last)
            what = f"{self.count} messages, {ids}, to {self.target} wait"
        return f"{what} for the permits of {', '.join([repr(owed) for owed in self.missing])}"


def range_text(first: i64, last: i64) -> str:
    """Ids from one to another."""
    return f"{first}" if first == last else f"{first} to {last}"


@mypyc_attr(allow_interpreted_subclasses=True)
class NodeProcess(CausalProcess):
    """What a node of a real network needs besides.

    Peers join, fail and are expelled; a path below notices losses sooner than any timer; buffered
    messages are counted; and what must survive a crash is written down. A method with a default may
    be left as it is: the process then does without, and its own timers make up for losses.
    """

    # Who is there.

    @abstractmethod
    def add_process(self, process: int) -> None:
        """Make a further process known; nothing has been exchanged with it."""

    @abstractmethod
    def abandon_into(self, target: int, now_ns: i64, outbox: Outbox) -> list[int]:
        """`target` is gone for ever; which of our messages it may never have delivered.

        Nothing to it is waited for any more, which may permit others to go on: safe only if it
        delivers nothing more. Permits that it owes us stay missing.
        """

    def on_met_into(self, process: int, now_ns: i64, outbox: Outbox) -> None:
        """`process` is there: it will hear of expulsions, those before now included."""

    def can_expel(self) -> bool:
        """Whether `expel_into` is there; without it peers are only forgotten."""
        return False

    def expel_into(self, process: int, now_ns: i64, outbox: Outbox) -> None:  # noqa: ARG002 - refused
        """Go on without `process` for ever, whatever it does; `reports` says what that costs."""
        raise LocalError("processes of this protocol cannot be expelled")

    def unacked_notices(self, process: int) -> list[int]:  # noqa: ARG002 - without expulsion there are none
        """The expelled that `process` has still to acknowledge: no message or permit may leave for
        it before that."""
        return []

    def reports(self) -> list[Report]:
        """What happened since the last call that an application should hear of, in order."""
        return []

    # What is buffered.

    @abstractmethod
    def oldest_unacked(self) -> i64:
        """The id of our oldest message that is not acknowledged by all, or of the next one."""

    @abstractmethod
    def unacked_by(self, target: int) -> int:
        """How many of our messages `target` has not acknowledged."""

    def oldest_owed(self, target: int) -> int:  # noqa: ARG002 - a process need not know
        """The id of the oldest of them; 0 if there is none, or if that is not known.

        Where it is not known, messages of several parts are counted by their parts.
        """
        return 0

    @abstractmethod
    def buffered_bytes(self) -> int:
        """How many bytes of payload the messages have that `buffered` counts; nodes limit them."""

    def is_full(self) -> bool:
        """Whether `submit` would refuse a message now, whatever `buffered` says."""
        return False

    def waiting(self) -> list[HeldBack]:
        """What has been submitted and may not leave yet, by target, and what holds it back.

        This and `owed_permits` cost steps with the number of peers, not with that of messages.
        """
        return []

    def owed_permits(self) -> list[PermitsOwed]:
        """Who owes permits that our messages wait for, the longest awaited first."""
        return []

    def misses(self, process: int) -> bool:  # noqa: ARG002 - without permits nothing is missed
        """Whether permits of `process` are missing: nothing submitted later leaves before."""
        return False

    def receive_position(self, source: int) -> tuple[int, int]:  # noqa: ARG002 - nothing waits by default
        """The last id delivered from `source`, and how many wait there for a gap to close."""
        return 0, 0

    def acknowledged(self, target: int) -> int:  # noqa: ARG002 - nothing is known by default
        """The last of our ids that `target` has acknowledged."""
        return 0

    def submitted_to(self, target: int) -> int:  # noqa: ARG002 - nothing is known by default
        """The last of our ids that was submitted to `target`."""
        return 0

    def frontier(self, target: int) -> int:  # noqa: ARG002 - without permits there is none
        """Up to which of our ids `target` may be permitted everything; 0 without permits."""
        return 0

    def hindered_by(self, target: int, lowest: int) -> list[int]:  # noqa: ARG002 - nobody is known by default
        """Who, by an acknowledgement that is missing, keeps us from permitting `target` `lowest`.

        Never `target` itself, which is asking. Costs steps with the targets of one message.
        """
        return []

    # What was lost.

    def lost(self, target: int, sequence: int) -> list[Effect]:
        """The copy of `sequence` to `target` was lost on the way: transmit it again now.

        Nothing happens if that copy has been acknowledged, never left, or never existed. Timers run
        on, for copies whose loss nobody notices.
        """
        outbox = EffectList()
        if 0 < sequence < NEVER_NS:
            self.lost_into(target, sequence, sequence, outbox)
        return outbox.effects

    def lost_into(self, target: int, first: i64, last: i64, outbox: Outbox) -> None:
        """Like `lost`, for all copies to `target` from id `first` to id `last`."""

    # What survives a crash.

    def snapshot(self) -> list[bytes]:
        """Records from which `restore` makes a process that can go on for this one.

        From the first call on, `changes` says what has changed since.
        """
        raise LocalError("processes of this protocol cannot be written down")

    def changes(self) -> list[bytes]:
        """Records to be on disk before the packets and deliveries of the last steps leave."""
        return []

    def changes_bytes(self) -> bytes:
        """The same as `changes`, each behind its length in four bytes."""
        return join_records(self.changes())

    def changes_are_urgent(self) -> bool:
        """Whether one of them may not wait: if not, they only say that something is over."""
        return True

    def restore(self, records: Sequence[bytes], now_ns: int) -> list[Effect]:  # noqa: ARG002 - refused
        """Take the place of a process that crashed: its snapshot, and all changes in order.

        Only a fresh process can do that. The effects are what may leave now.
        """
        raise LocalError("processes of this protocol cannot be restored")
