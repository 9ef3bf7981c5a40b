"""The records of a hybrid process: what happened to it, as far as it must survive a crash.

Needed are: ids given out; messages that are not acknowledged by all, with their targets, their
predecessors and their positions among the missing permits; what was delivered; and the missing
permits with their positions. What was flagged, settled or released follows from the rest.
"""

from collections.abc import Sequence
from typing import Final

from librt.vecs import vec
from mypy_extensions import i64

from antecede.core.effects import Effect
from antecede.core.errors import LocalError
from antecede.core.hybrid.rule import HybridRule
from antecede.core.hybrid.state import HybridPeer, SentEntry
from antecede.core.packets import Message
from antecede.core.process import EffectList, Outbox
from antecede.core.records import RecordReader, encode_record

NUMBERED: Final = 1
SUBMITTED: Final = 2
DELIVERED: Final = 3
ACKED: Final = 4
PERMITTED: Final = 5
EXPELLED: Final = 6
PEER: Final = 7
MISSING: Final = 8
POSITION: Final = 9
"""Kinds of records. The last three occur in snapshots only: they stand for what is long past."""


class HybridRecords(HybridRule):
    """The rule, written down: a snapshot, changes since, and a process that goes on from both."""

    # The state as a whole.

    def snapshot(self) -> list[bytes]:
        self._begin_change_log()
        records = [
            encode_record(PEER, [peer.id, peer.delivered, peer.acked, peer.last_submitted])
            for peer in self._peers.all
        ]
        for permit in self._missing.missing():
            records.append(
                encode_record(MISSING, [permit.sender, permit.sequence, permit.position])
            )
        records.append(encode_record(POSITION, [self._missing.next]))
        for entry in self._unacked:
            message = entry.message
            if message is not None:
                targets = [self._peers.all[place] for place in entry.targets]
                waited_for = [int(peer.id) for peer in targets if peer.acked < entry.sequence]
                records.append(submission_record(message, entry.permits_before, waited_for))
        records.append(encode_record(NUMBERED, [self._next_sequence - 1]))
        records += [encode_record(EXPELLED, [process]) for process in self._fence.expelled]
        return records

    # The changes; asked for only if there is a log of them.

    def _log_submission(self, message: Message, places: vec[i64]) -> None:
        log = self._change_log
        assert log is not None, "asked for only where there is one"
        sequence, payload = message.sequence, message.payload
        if len(places) == 1:
            target = self._peers.all[places[0]].id
            log.put_four(SUBMITTED, sequence, self._missing.next, 1, target, b"", payload)
        elif len(places) > 0:
            targets = [int(self._peers.all[place].id) for place in places]
            log.put_urgent(submission_record(message, self._missing.next, targets))
        else:
            log.put_urgent(encode_record(NUMBERED, [sequence]))

    def _log_delivery(self, peer: HybridPeer, sequence: i64, missing: bool) -> None:
        log = self._change_log
        assert log is not None, "asked for only where there is one"
        log.put_three(DELIVERED, peer.id, sequence, 1 if missing else 0)

    def _log_acks(self, peer: HybridPeer) -> None:
        log = self._change_log
        assert log is not None, "asked for only where there is one"
        log.put_deferrable(encode_record(ACKED, [peer.id, peer.acked]))

    def _log_permits(self, peer: HybridPeer) -> None:
        log = self._change_log
        assert log is not None, "asked for only where there is one"
        log.put_deferrable(encode_record(PERMITTED, [peer.id, peer.permitted]))

    def _log_expulsion(self, process: i64) -> None:
        log = self._change_log
        assert log is not None, "asked for only where there is one"
        log.put_urgent(encode_record(EXPELLED, [process]))

    # After a crash.

    def restore(self, records: Sequence[bytes], now_ns: int) -> list[Effect]:
        if self._next_sequence > 1 or self._peers.all or self._fence.expelled:
            raise LocalError("only a fresh process can be restored")
        for written in records:
            self._replay(RecordReader(written))
        outbox = EffectList()
        self._resume(now_ns, outbox)
        return outbox.effects

    def _replay(self, reader: RecordReader) -> None:
        """What happened before the crash happens again, but nothing leaves."""
        kind = reader.kind
        if kind == NUMBERED:
            self._count_from(reader.number())
        elif kind == SUBMITTED:
            self._replay_submission(reader)
        elif kind == DELIVERED:
            peer, sequence = self._peer_of_record(reader), reader.number()
            peer.restore(sequence, peer.acked, peer.last_submitted)
            if reader.number() == 1:
                self._missing.add(peer.permits_owed(), sequence)
        elif kind == ACKED:
            self._replay_ack(self._peer_of_record(reader), reader.number())
        elif kind == PERMITTED:
            self._missing.grant(self._peer_of_record(reader).permits_owed(), reader.number())
        elif kind == EXPELLED:
            self._fence.add([reader.number()])
        elif kind == PEER:
            peer, delivered = self._peer_of_record(reader), reader.number()
            peer.restore(delivered, reader.number(), reader.number())
        elif kind == MISSING:
            peer, sequence = self._peer_of_record(reader), reader.number()
            self._missing.restore(peer.permits_owed(), sequence, reader.number())
        elif kind == POSITION:
            self._missing.skip_to(reader.number())
        else:
            raise LocalError(f"a record of kind {kind}, which is none of ours")

    def _peer_of_record(self, reader: RecordReader) -> HybridPeer:
        process = reader.number()
        peer = self._peers.get(process)
        return self._meet(process) if peer is None else peer

    def _replay_submission(self, reader: RecordReader) -> None:
        sequence, permits_before = reader.number(), reader.number()
        peers = [self._peer_of_record(reader) for _ in range(reader.number())]
        places = vec[i64]([peer.place for peer in peers])
        payload = reader.rest()
        entry = SentEntry(Message(self._me, sequence, payload), permits_before, places)
        # In a snapshot the record of a peer, with its last message, comes before open messages.
        last = [int(peer.last_submitted) for peer in peers]
        self._append(entry, len(payload))
        for place, peer in enumerate(peers):
            peer.restore(peer.delivered, peer.acked, max(last[place], sequence))
        self._count_from(sequence)

    def _replay_ack(self, peer: HybridPeer, sequence: i64) -> None:
        self._take_acks(peer, peer.copies.next, sequence)
        peer.restore(peer.delivered, sequence, peer.last_submitted)

    def _resume(self, now_ns: i64, outbox: Outbox) -> None:
        """No copy counts as transmitted, and everybody is notified again of all expulsions."""
        expelled = list(self._fence.expelled)
        for peer in self._peers.all:
            peer.forget_transmissions()
            if expelled and peer.id not in self._fence.expelled:
                peer.add_notices(expelled)
        for entry in self._unacked:
            entry.forget_transmissions()
        for process in expelled:
            self._give_up_expelled(process)
            self._waive_permits(process)
        self._fence.take_reports()
        self._met.clear()
        for peer in self._peers.all:
            if peer.lowest_missing() > 0 or peer.unacked_notices is not None:
                peer.start_waiting(now_ns)
                self._alarms.start(peer, now_ns)
        self._advance(outbox)
        self._release(now_ns, outbox)
        self._forget_given_up()
        for peer in self._peers.all:
            peer.transmit_notice(outbox)


def submission_record(message: Message, permits_before: i64, targets: list[int]) -> bytes:
    """A message of our own that these have not acknowledged."""
    numbers = [int(message.sequence), int(permits_before), len(targets), *targets]
    return encode_record(SUBMITTED, numbers, message.payload)
