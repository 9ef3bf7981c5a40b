"""Who is expelled, as one process knows it; and whether it is expelled itself.

An expelled process is gone for ever, whatever it does: nothing of it is taken, and nothing goes to
it but the word that it is expelled. Everybody who hears from us afterwards must have stopped
listening to it first, which is what notices are for: a peer is told until it has noted it.
"""

from typing import ClassVar, Final, final

from mypy_extensions import i64, mypyc_attr

from antecede.core.checks import check_ids
from antecede.core.errors import Fenced, LocalError, RemoteError
from antecede.core.packets import ExpulsionNotice, YouAreExpelled
from antecede.core.process import Outbox
from antecede.core.reports import DeliveryUnknown, Expelled, NotSentTo, Report, SelfExpelled
from antecede.core.retransmission import RetransmissionTimer
from antecede.core.values import Packet

EXPELLED_LIMIT: Final = 1 << 16
"""Processes that others may have us expel: news of more is refused. Our own decisions are not."""


@mypyc_attr(allow_interpreted_subclasses=True)
class NoticedPeer(RetransmissionTimer):
    """Another process, with an alarm, that must be told who is expelled."""

    MADE_OF: ClassVar[tuple[str, ...]] = ("id",)

    __slots__ = ("id", "notices_since_ns", "unnoted")

    def __init__(self, process: i64) -> None:
        super().__init__(process)
        self.id: Final[i64] = process
        # Expelled processes that it is not known to have expelled, and since when it was not heard
        # to have noted any of them.
        self.unnoted: dict[int, bool] | None = None
        self.notices_since_ns: i64 = 0

    def add_notices(self, processes: list[int]) -> None:
        """It must be told that these are expelled."""
        if self.unnoted is None:
            self.unnoted = {}
        for process in processes:
            self.unnoted[process] = True

    def on_notices_acked(self, processes: list[int], now_ns: i64) -> None:
        """It has expelled these, and need not be told any more."""
        if self.unnoted is None:
            return
        for process in processes:
            self.unnoted.pop(process, None)
        if not self.unnoted:
            self.unnoted = None
        self.doublings = 0
        self.notices_since_ns = now_ns

    def transmit(self, packet: Packet, outbox: Outbox) -> None:
        """A message or a permit, with what it must note first."""
        if self.unnoted is not None:
            packet = ExpulsionNotice(sorted(self.unnoted), packet)
        outbox.transmit(self.id, packet)

    def transmit_notice(self, outbox: Outbox) -> None:
        """Only what it must note, if anything."""
        if self.unnoted is not None:
            outbox.transmit(self.id, ExpulsionNotice(sorted(self.unnoted), None))


@final
class ExpelledSet:
    """The expelled ids, whether we are stopped, and what the application has not been told."""

    MADE_OF: ClassVar = ("_me",)

    __slots__ = ("_me", "_reports", "barring", "expelled", "stopped")

    def __init__(self, me: i64) -> None:
        self._me: Final[i64] = me
        self.expelled: dict[int, bool] = {}
        self.stopped = False
        # Whether arrivals must be looked at before they are taken.
        self.barring = False
        self._reports: list[Report] = []

    def check_running(self) -> None:
        """`Fenced` if we are expelled ourselves."""
        if self.stopped:
            raise Fenced("this process has been expelled; open a new one to rejoin")

    def check_may_expel(self, process: int) -> None:
        """`LocalError` unless we may decide to go on without `process`."""
        self.check_running()
        check_ids(process, process)
        if process == self._me:
            raise LocalError("a process cannot expel itself")

    def check_notice(self, processes: list[int], source: i64) -> None:
        """`RemoteError` if no correct `source` sends a notice about these."""
        fresh = 0
        for process in processes:
            if process not in self.expelled:
                fresh += 1
        if fresh > 0 and len(self.expelled) + fresh > EXPELLED_LIMIT:
            raise RemoteError(f"{source} would expel more than {EXPELLED_LIMIT} processes")
        try:
            check_ids(min(processes, default=0), max(processes, default=0))
        except LocalError as error:
            raise RemoteError(f"a notice of {source}: {error}") from error

    def turn_away(self, source: i64, packet: Packet, outbox: Outbox) -> bool:
        """Whether an arrival is none: we are stopped, or its source is expelled and told so."""
        if self.stopped:
            return True
        if source not in self.expelled:
            return False
        # Also if it says that we are: of two that expel each other both go on.
        if not isinstance(packet, YouAreExpelled):
            outbox.transmit(source, YouAreExpelled())
        return True

    def add(self, processes: list[int]) -> list[int]:
        """Expel these; those among them that were not expelled before."""
        fresh = [process for process in processes if process not in self.expelled]
        for process in fresh:
            self.expelled[process] = True
        self.barring = self.barring or bool(fresh)
        return fresh

    def stop_self(self, by: i64) -> None:
        """We are expelled ourselves, as `by` has told us."""
        self.stopped = True
        self.barring = True
        self._reports.append(SelfExpelled(by))

    # What the application is told.

    def report_expelled(self, process: i64, delivered: i64, unconfirmed: list[int]) -> None:
        """`process` is out; what it has delivered of these messages of ours nobody knows."""
        self._reports.append(Expelled(process, delivered))
        for sequence in unconfirmed:
            self._reports.append(DeliveryUnknown(sequence, process))

    def without_expelled(self, targets: list[int], sequence: i64) -> list[int]:
        """Those of our message's targets that it may go to; of the others it is reported."""
        for target in targets:
            if target in self.expelled:
                self._reports.append(NotSentTo(sequence, target))
        return [target for target in targets if target not in self.expelled]

    def take_reports(self) -> list[Report]:
        """What happened since the last call."""
        reports = self._reports
        self._reports = []
        return reports

    def state(self) -> str:
        """Equal fences, equal strings; empty if nobody is expelled."""
        return repr((sorted(self.expelled), self.stopped)) if self.barring else ""
