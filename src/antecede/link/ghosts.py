"""Expelled incarnations that may still speak: what they say does not count, but they are told.

One that was talked to is known by its token. One that has not heard that it was expelled, because
it comes back from its journal or has never met us, says hello, gets a welcome, and with its first
datagram the news. One that answers a hello of ours gets the news at once.
"""

from typing import Final, final

from mypy_extensions import i64

from antecede.link.fences import Fences
from antecede.link.guard import Letter
from antecede.link.identity import Identity
from antecede.link.session import ME, Session
from antecede.link.tokens import RecalledTokens
from antecede.link.writer import Datagram
from antecede.wire.greeting import GREETING_SIZE, WELCOME, Greeting, write_greeting

GHOSTS_MOST: Final = 1024
"""Expelled incarnations that are told so if they speak; the oldest gives way."""


@final
class Ghosts:
    """The expelled incarnations that one node may hear from."""

    __slots__ = ("_fences", "_me", "_out", "_recalled", "by_token", "to_tell")

    def __init__(
        self, me: Identity, fences: Fences, recalled: RecalledTokens, out: list[Datagram]
    ) -> None:
        self._me: Final = me
        self._fences: Final = fences
        self._recalled: Final = recalled
        self._out: Final = out
        self.by_token: Final[dict[int, Session]] = {}
        # Those that have just answered a hello, and have to be told.
        self.to_tell: list[Session] = []

    def add(self, session: Session) -> None:
        """A session with somebody who is expelled now, if there ever was one."""
        if session.token_in == 0:
            return
        self.by_token[session.token_in] = session
        if len(self.by_token) > GHOSTS_MOST:
            del self.by_token[next(iter(self.by_token))]

    def welcome(
        self, greeting: Greeting, address: object, letter: Letter | None, now_ns: i64
    ) -> None:
        """Answer the hello of one who does not know yet that it is expelled."""
        if letter is not None and letter.is_late():
            return
        session = self._session(greeting, address, now_ns)
        if session is None:
            return
        answer = self._me.greeting(greeting.name, session.token_in, greeting.token, 0, 0)
        data = write_greeting(WELCOME, answer)
        if letter is not None:
            data = letter.answer(data)
            session.seal = letter.seal(now_ns)
        self.add(session)
        self._out.append(Datagram(address, data))

    def has_answered(
        self, greeting: Greeting, address: object, letter: Letter | None, now_ns: i64
    ) -> None:
        """One that is expelled has answered a hello of ours: it is there, and is to be told."""
        session = self._session(greeting, address, now_ns)
        if session is not None:
            if letter is not None:
                session.seal = letter.seal(now_ns)
            self.to_tell.append(session)

    def take_to_tell(self) -> list[Session]:
        """Those that have to be told now."""
        to_tell = self.to_tell
        self.to_tell = []
        return to_tell

    def _session(self, greeting: Greeting, address: object, now_ns: i64) -> Session | None:
        """A session that leads nowhere."""
        process = self._fences.newest_of(greeting.name)
        if process == ME:
            return None
        token = self._recalled.token(process, greeting.incarnation, greeting.name)
        session = Session(process, greeting.name, GREETING_SIZE, 0, 0, True, None)
        session.establish(greeting.incarnation, token, greeting.token, address, False, None, now_ns)
        return session
