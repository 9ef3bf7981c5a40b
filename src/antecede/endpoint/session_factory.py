"""Making sessions: with a peer that is new, or that was known before a crash."""

from typing import Final, final

from mypy_extensions import i64

from antecede.durability.node_state import PeerRecord
from antecede.durability.recorder import Recorder
from antecede.membership.sessions import SessionTable
from antecede.transport.event_rows import EventSink, SessionRows
from antecede.transport.session import Session


@final
class SessionFactory:
    """Makes the sessions of one node, which share its limits and its event log."""

    __slots__ = ("_cumulative", "_payload_limit", "_recorder", "_rows", "_table", "_window")

    def __init__(
        self,
        table: SessionTable,
        recorder: Recorder,
        rows: EventSink | None,
        window: i64,
        payload_limit: i64,
        cumulative: bool,
    ) -> None:
        self._table: Final = table
        self._recorder: Final = recorder
        self._rows: Final = rows
        self._window: Final[i64] = window
        self._payload_limit: Final[i64] = payload_limit
        self._cumulative: Final = cumulative

    def new(self, name: str, datagram_size: i64, process: i64) -> Session:
        """A session with an incarnation that nobody has met."""
        return self._make(self._table.new_id(), name, datagram_size, process)

    def recovered(self, known: PeerRecord, datagram_size: i64, process: i64) -> Session:
        """A session with an incarnation that was known before a crash."""
        session = self._make(known.id, known.name, datagram_size, process)
        for piece in self._recorder.state.fragments_of(known.id):
            session.payload_assembler.add(piece, self._payload_limit)
        if known.incarnation > 0:
            session.restore(known.incarnation)
        if known.over:
            session.end()
        self.name_in_event_log(session, known.process)
        return session

    def name_in_event_log(self, session: Session, process: i64) -> None:
        """The event log can say to whom a peer's messages are."""
        if self._rows is not None and session.rows is not None:
            if process > 0:
                session.rows.known_as(process)
            self._rows.introduced(session.id, session.rows.process)

    def _make(self, local_id: i64, name: str, datagram_size: i64, process: i64) -> Session:
        return Session(
            local_id,
            name,
            datagram_size,
            self._window,
            self._payload_limit,
            self._cumulative,
            None if self._rows is None else SessionRows(self._rows, process),
        )
