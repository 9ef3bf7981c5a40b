"""What an expelled incarnation is told when it speaks, and what it may say of us.

It lives, and may not know that it is expelled: every datagram of it is answered with that word, but
never with more bytes than it had, because anybody who has seen its token can send one. What is too
small for the word gets an `unknown`: its sender says hello, which is large enough.

Two incarnations may have expelled each other. Both go on, each without the other: that is a split,
which only people can mend, and so the application is told of it.
"""

from typing import Final, final

from mypy_extensions import i64

from antecede.core.errors import RemoteError
from antecede.events import Report, Split
from antecede.membership.directory import Directory
from antecede.membership.expulsions import Expulsions
from antecede.membership.handshake_crypto import SealedDatagram
from antecede.transport.datagram_writer import DatagramWriter, room_for_news
from antecede.transport.session import Session
from antecede.wire.expulsions import ExpulsionRecord, expulsion_records_size, read_expulsion_records
from antecede.wire.frames import EXPULSIONS, NO_KEY, NUMBER_AT
from antecede.wire.varint import WireReader


@final
class ExpulsionNews:
    """Answers what comes with tokens that are not in use."""

    __slots__ = ("_directory", "_expulsions", "_reports", "_writer")

    def __init__(
        self,
        directory: Directory,
        expulsions: Expulsions,
        writer: DatagramWriter,
        reports: list[Report],
    ) -> None:
        self._directory: Final = directory
        self._expulsions: Final = expulsions
        self._writer: Final = writer
        self._reports: Final = reports

    def on_stranger(self, address: object, token: i64, data: bytes, now_ns: i64) -> None:
        """A datagram with a token that is not in use: of an expelled peer, or of nobody."""
        directory = self._directory
        session = directory.expelled_speakers.by_token.get(token)
        if session is None or directory.may_be_successor(session.name):
            directory.answer_unknown(address, token, len(data), now_ns)
        elif self._says_that_we_are_expelled(session, data):
            self._note_split(session)
            if not session.told_of_expulsion:
                # Once: or the two would tell each other again and again.
                self.tell(session, address, len(data), now_ns)
        elif not self._has_room(session, len(data)):
            directory.answer_unknown(address, token, len(data), now_ns)
        elif directory.try_acquire_answer(now_ns):
            directory.count_stale()
            self.tell(session, address, len(data), now_ns)

    def tell(self, session: Session, address: object, size: i64, now_ns: i64) -> None:
        """Somebody who is expelled has said `size` bytes: tell it so, if that is enough."""
        record = self._expulsions.record_for(session)
        if record is not None and self._has_room(session, size):
            session.set_told_of_expulsion()
            self._writer.write_expulsion(session, record, address, size, now_ns)

    def _has_room(self, session: Session, size: i64) -> bool:
        """Whether a datagram of this size can say that an incarnation is expelled."""
        bare = ExpulsionRecord(session.name, session.incarnation, "", "")
        return expulsion_records_size([bare]) <= room_for_news(session, size)

    def _says_that_we_are_expelled(self, session: Session, data: bytes) -> bool:
        """Whether an expelled incarnation says that it has expelled this very node."""
        try:
            keys = session.channel.peer_keys or session.channel.keys
            if keys is not None:
                reader = WireReader(SealedDatagram(data).decrypt_with(keys))
            elif data[1] != NO_KEY:
                return False
            else:
                reader = WireReader(data, NUMBER_AT)
                reader.positive()
            reader.varint()
            if reader.byte() != EXPULSIONS:
                return False
            for record in read_expulsion_records(reader, True):
                if self._expulsions.is_me(record):
                    return True
        except RemoteError:
            pass  # It says nothing that can be understood.
        return False

    def _note_split(self, session: Session) -> None:
        if self._directory.expelled_speakers.notes_split(session.name, session.incarnation):
            self._reports.append(Split(name=session.name))
