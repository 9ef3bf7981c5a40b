"""Expelled incarnations that may still speak: what they say does not count, but they are told.

One that was talked to is known by its token. One that has not heard that it was expelled, because
it comes back from its journal, has never met us or said too little for the news to be the answer,
says hello and gets a welcome, and the news. One that answers a hello of ours gets the news at once.
"""

from typing import Final, final

from mypy_extensions import i64

from antecede.membership.fences import Expulsions
from antecede.membership.handshake_crypto import HandshakeMessage
from antecede.membership.identity import Identity
from antecede.membership.tokens import DerivedTokens
from antecede.transport.datagram_writer import Datagram
from antecede.transport.session import ME, Session
from antecede.wire.handshake import FORMER_IS_OVER, GREETING_SIZE, WELCOME, Greeting, write_greeting

GHOSTS_MAX: Final = 1024
"""Expelled incarnations that are told so if they speak; the oldest gives way."""


@final
class ExpelledSpeakers:
    """The expelled incarnations that one node may hear from."""

    __slots__ = (
        "_answered",
        "_fences",
        "_me",
        "_out",
        "_recalled",
        "by_token",
        "split",
        "to_tell",
    )

    def __init__(
        self, me: Identity, fences: Expulsions, recalled: DerivedTokens, out: list[Datagram]
    ) -> None:
        self._me: Final = me
        self._fences: Final = fences
        self._recalled: Final = recalled
        self._out: Final = out
        self.by_token: Final[dict[int, Session]] = {}
        # Those that have just said hello, or answered one, and have to be told, in so many bytes
        # at most; and the tokens of the hellos that were answered, by name.
        self.to_tell: list[tuple[Session, int]] = []
        self._answered: Final[dict[str, int]] = {}
        # The incarnation of each name that has expelled this node as well.
        self.split: Final[dict[str, int]] = {}

    def add(self, session: Session) -> None:
        """A session with somebody who is expelled now, if there ever was one."""
        if session.token_in == 0:
            return
        self.by_token[session.token_in] = session
        if len(self.by_token) > GHOSTS_MAX:
            del self.by_token[next(iter(self.by_token))]

    def welcome(
        self,
        greeting: Greeting,
        newest: i64,
        address: object,
        letter: HandshakeMessage | None,
        now_ns: i64,
    ) -> None:
        """Answer the hello of one who does not know yet that it is expelled.

        It hears of the newest of its name: if it has just begun, it can begin above that.
        """
        known = self.by_token.get(greeting.echo)
        if known is not None and is_of(known, greeting):
            # It still has the session in which it was talked to, and understands what is said
            # there.
            self.to_tell.append((known, GREETING_SIZE))
            return
        token = self._recalled.token(
            self._fences.newest_of(greeting.name), greeting.incarnation, greeting.name
        )
        session = self._session(greeting, token, address, now_ns)
        if session is None:
            return
        answer = self._me.greeting(greeting.name, session.token_in, greeting.token, newest, 0)
        answer.keeps |= FORMER_IS_OVER
        data = write_greeting(WELCOME, answer)
        if letter is not None:
            data = letter.reply(data)
            session.seal = letter.seal(now_ns)
        self.add(session)
        self._out.append(Datagram(address, data))
        self.to_tell.append((session, GREETING_SIZE - len(data)))

    def on_answer(
        self, greeting: Greeting, address: object, letter: HandshakeMessage | None, now_ns: i64
    ) -> None:
        """One that is expelled has answered a hello of ours: it is there, and is to be told.

        What it says to that comes with the token of the hello.
        """
        session = self._session(greeting, greeting.echo, address, now_ns)
        if session is not None:
            if letter is not None:
                session.seal = letter.seal(now_ns)
            self.by_token.pop(self._answered.get(greeting.name, 0), None)
            self._answered[greeting.name] = greeting.echo
            if len(self._answered) > GHOSTS_MAX:
                del self._answered[next(iter(self._answered))]
            self.add(session)
            self.to_tell.append((session, GREETING_SIZE))

    def notes_split(self, name: str, incarnation: i64) -> bool:
        """An expelled incarnation says that it has expelled this node; False if that was known."""
        if self.split.get(name) == incarnation:
            return False
        self.split.pop(name, None)
        self.split[name] = incarnation
        if len(self.split) > GHOSTS_MAX:
            del self.split[next(iter(self.split))]
        return True

    def take_to_tell(self) -> list[tuple[Session, int]]:
        """Those that have to be told now, and in how many bytes at most."""
        to_tell = self.to_tell
        self.to_tell = []
        return to_tell

    def _session(
        self, greeting: Greeting, token: i64, address: object, now_ns: i64
    ) -> Session | None:
        """A session that leads nowhere."""
        process = self._fences.newest_of(greeting.name)
        if process == ME:
            return None
        session = Session(process, greeting.name, GREETING_SIZE, 0, 0, True, None)
        session.establish(greeting.incarnation, token, greeting.token, address, False, None, now_ns)
        return session


def is_of(session: Session, greeting: Greeting) -> bool:
    """Whether a greeting is from the incarnation that a session was with."""
    return session.name == greeting.name and session.incarnation == greeting.incarnation
