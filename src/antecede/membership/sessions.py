"""The sessions of a node by their ids in the core, and which of them have to be written to."""

from typing import Final, final

from mypy_extensions import i64

from antecede.transport.session import Session

FORMER_MAX: Final = 1024
"""Names of at most 1,024 incarnations that are over are remembered: they may owe permits."""


@final
class SessionTable:
    """One session per incarnation that is not over; ids are this node's own, none for two."""

    __slots__ = ("_by_name", "_former", "_last_id", "by_id", "writable")

    def __init__(self, last_id: i64 = 0) -> None:
        self.by_id: Final[dict[int, Session]] = {}
        self._by_name: Final[dict[str, list[Session]]] = {}
        # The names of those that are over, by their id.
        self._former: Final[dict[int, str]] = {}
        # Ids up to this one were used, some of them before a crash.
        self._last_id: i64 = last_id
        # Those that have to be written to.
        self.writable: list[Session] = []

    def new_id(self) -> i64:
        """An id for an incarnation of a peer."""
        self._last_id += 1
        return self._last_id

    def add(self, session: Session) -> None:
        """There is a session with a peer."""
        self.by_id[session.id] = session
        self._by_name.setdefault(session.name, []).append(session)

    def remove(self, process: i64) -> Session | None:
        """There is none any more; the one that there was."""
        session = self.by_id.pop(process, None)
        if session is not None:
            left = [other for other in self._by_name[session.name] if other is not session]
            if left:
                self._by_name[session.name] = left
            else:
                del self._by_name[session.name]
        return session

    def forget(self, session: Session) -> None:
        """That incarnation is over; its name is remembered."""
        self.remove(session.id)
        self._former[session.id] = session.name
        if len(self._former) > FORMER_MAX:
            del self._former[next(iter(self._former))]

    def named(self, name: str) -> list[Session]:
        """Those with incarnations of this name: a few at most."""
        return self._by_name.get(name, [])

    def name_of(self, process: i64) -> str:
        """The name of the peer that has, or had, this id."""
        session = self.by_id.get(process)
        return self._former.get(process, "?") if session is None else session.name

    def request_write(self, session: Session) -> None:
        """A session has to be written to."""
        if session.request_write():
            self.writable.append(session)

    def take_writable(self, most: i64) -> list[Session]:
        """The sessions that have to be written to, which is now done, or so many of them."""
        writable, self.writable = self.writable[:most], self.writable[most:]
        return writable
