"""Telling the application what is given up; with a journal, once more after a crash."""

from typing import Final, final

from mypy_extensions import i64

from antecede.durability.node_state import DurableNodeState
from antecede.durability.recorder import Recorder
from antecede.events import GONE, LEFT_OUT, TOO_LARGE, PeerExpelled, Report, Undeliverable
from antecede.wire.expulsions import ExpulsionRecord


@final
class LossReporter:
    """What one node has given up."""

    __slots__ = ("_recorder", "_reports")

    def __init__(self, reports: list[Report], recorder: Recorder) -> None:
        self._reports: Final = reports
        self._recorder: Final = recorder

    def tell(self, name: str, sequences: list[int], reason: str | None = None) -> None:
        """These messages of ours may never be delivered to a peer; nothing if there are none."""
        if sequences:
            why = GONE if reason is None else TOO_LARGE
            numbers = tuple(sequences)
            report = Undeliverable(name=name, sequences=numbers, reason=reason, why=why)
            self._reports.append(report)
            self._recorder.on_loss(name, sequences)

    def leave_out(self, name: str, sequence: i64) -> None:
        """This message was not submitted to a target that is away: certainly not delivered."""
        report = Undeliverable(name=name, sequences=(int(sequence),), why=LEFT_OUT)
        self._reports.append(report)
        self._recorder.on_loss(name, [int(sequence)], left_out=True)

    def tell_too_large(self, name: str, payload_limit: i64, sequences: list[int]) -> None:
        """These are larger than a peer takes, as is known since it was met."""
        if sequences:
            self.tell(name, sequences, f"larger than {payload_limit:,} bytes, its payload_limit")

    def tell_expulsion(
        self,
        process: i64,
        incarnation: i64,
        record: ExpulsionRecord,
        sequences: list[int],
        unreceived: i64,
    ) -> None:
        """A peer, which is `process` in the core, is expelled, and what it may have missed."""
        name = record.name
        self._reports.append(expulsion(incarnation, record, sequences, unreceived))
        if sequences:
            self._reports.append(Undeliverable(name=name, sequences=tuple(sequences)))
        self._recorder.on_loss(name, sequences, process, unreceived)


def unreported_events(state: DurableNodeState) -> list[Report]:
    """What a process that crashed may not have told."""
    reports: list[Report] = []
    for loss in state.losses.by_number.values():
        record = state.expulsions.get(int(loss.expelled))
        if loss.expelled > 0 and record is not None:
            reports.append(expulsion(record.incarnation, record, loss.sequences, loss.unreceived))
        if loss.sequences:
            life = None if loss.life == 0 else int(loss.life)
            sequences, why = tuple(loss.sequences), LEFT_OUT if loss.left_out else GONE
            reports.append(Undeliverable(name=loss.name, sequences=sequences, life=life, why=why))
    return reports


def expulsion(
    incarnation: i64, record: ExpulsionRecord, sequences: list[int], unreceived: i64
) -> PeerExpelled:
    """That an incarnation is expelled."""
    return PeerExpelled(
        name=record.name,
        incarnation=int(incarnation),
        by=record.by,
        reason=record.reason,
        undelivered=tuple(sequences),
        unreceived=int(unreceived),
    )
