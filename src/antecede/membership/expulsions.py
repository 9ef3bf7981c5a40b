"""Who is expelled: incarnations without which this node goes on, whatever they do.

The core knows processes by their ids, which are this node's own; on the wire an incarnation is its
name and its number. Here one is turned into the other. Numbers of incarnations grow, so one number
per name is enough to refuse that incarnation and all before it, for ever.

The expelled may still speak: what they say does not count, but they are told. One that was talked
to is known by its token. One that has not heard that it was expelled, because it comes back from
its journal, has never met us or said too little for the news to be the answer, says hello and gets
a welcome, and the news. One that answers a hello of ours gets the news at once.
"""

from typing import Final, final

from mypy_extensions import i64

from antecede.core.errors import RemoteError
from antecede.core.expulsion import EXPELLED_LIMIT
from antecede.durability.recorder import Recorder
from antecede.events import NodeFenced
from antecede.membership.handshake_crypto import HandshakeMessage
from antecede.membership.identity import DerivedTokens, Identity
from antecede.membership.sessions import SessionTable
from antecede.transport.datagram import Datagram
from antecede.transport.session import ME, Session
from antecede.wire.expulsions import ExpulsionRecord
from antecede.wire.handshake import GREETING_SIZE, WELCOME, Greeting, write_greeting

RESTARTED: Final = "restarted"
"""Why the former incarnation of a peer that came back is expelled."""

KEY_WITHDRAWN: Final = "its key was withdrawn"
REMOVED: Final = "removed"
"""Why a peer is expelled that may not be one any more."""

LEFT_OWING: Final = "it has left, and owes permits"
"""Why one that has stopped is expelled: others would wait for it indefinitely."""

HEARSAY_MAX: Final = 1 << 14
"""One peer may say of 16,384 incarnations that nobody here has heard of that they are expelled. As
many as the peers of a node, so that who has lost them all can tell whoever comes after them."""


@final
class Expulsions:
    """The expelled incarnations that one node knows of."""

    __slots__ = (
        "_hearsay",
        "_ids",
        "_incarnation",
        "_met",
        "_name",
        "_newest",
        "_recorder",
        "_records",
        "_sessions",
        "_unreported",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        incarnation: i64,
        sessions: SessionTable,
        recorder: Recorder,
    ) -> None:
        self._name: Final = name
        self._incarnation: i64 = incarnation
        self._sessions: Final = sessions
        # What is told of each, by its id in the core; and the ids, by what is told: the name and
        # the incarnation, which also stands for ids of incarnations before it.
        self._records: Final[dict[int, ExpulsionRecord]] = {}
        self._ids: Final[dict[str, dict[int, list[int]]]] = {}
        # The newest expelled incarnation of each name.
        self._newest: Final[dict[str, int]] = {}
        # The ids of all that were met, by name and incarnation: also of those that are over, which
        # may owe permits.
        self._met: Final[dict[str, dict[int, int]]] = {}
        # How many that nobody here had heard of each peer has told of.
        self._hearsay: Final[dict[str, int]] = {}
        self._unreported: list[ExpulsionRecord] = []
        self._recorder: Final = recorder
        for process, record in recorder.state.expulsions.items():
            self._put(process, record)
            self._note_newest(process, record)

    def met(self, session: Session) -> None:
        """A peer is there, and it is known which incarnation it is."""
        self._met.setdefault(session.name, {})[int(session.incarnation)] = int(session.id)

    def is_expelled(self, name: str, incarnation: i64) -> bool:
        """Whether this incarnation is expelled, or one that came after it."""
        newest = self._newest.get(name)
        return newest is not None and incarnation <= newest

    def is_me(self, record: ExpulsionRecord) -> bool:
        """Whether this very node is meant; an earlier life of it is just another incarnation."""
        return record.name == self._name and record.incarnation == self._incarnation

    def newest_number(self, name: str) -> i64:
        """The number of the newest expelled incarnation of a name; 0 if there is none."""
        return self._newest.get(name, 0)

    def newest_of_all(self) -> dict[str, int]:
        """The number of the newest expelled incarnation of every name that has one."""
        return dict(self._newest)

    def renumber(self, incarnation: i64) -> None:
        """This node, which nobody has met, has another number."""
        self._incarnation = incarnation

    def is_full(self) -> bool:
        """Whether news of more is refused."""
        return len(self._records) >= EXPELLED_LIMIT

    def newest_of(self, name: str) -> int:
        """The id of the newest expelled incarnation of a name; `ME` if there is none."""
        expelled = self._ids.get(name)
        newest = None if expelled is None else expelled.get(self._newest.get(name, 0))
        return ME if newest is None else newest[0]

    def record_of(self, process: int) -> ExpulsionRecord | None:
        """What is known of an expelled process."""
        return self._records.get(process)

    def own_report(self, told_by: str) -> NodeFenced:
        """That this node is expelled itself, as somebody has said."""
        record = self._records.get(ME)
        if record is None:
            return NodeFenced(name=self._name, by="?", reason="", told_by=told_by)
        return NodeFenced(name=self._name, by=record.by, reason=record.reason, told_by=told_by)

    def record_for(self, session: Session) -> ExpulsionRecord | None:
        """What an expelled one is to be told of itself.

        The newest record of a name stands for all before it, but each knows only its own number.
        """
        found = self._records.get(session.id)
        if found is None:
            return None
        return ExpulsionRecord(found.name, session.incarnation, found.by, found.reason)

    def records_of(self, processes: list[int]) -> list[ExpulsionRecord]:
        """What is to be told of these, which are ids in the core."""
        return [self._records[process] for process in processes]

    def on_notices(self, told_by: str, records: list[ExpulsionRecord]) -> list[int]:
        """A peer says who is expelled; their ids in the core."""
        self._count_hearsay(told_by, records)
        processes: list[int] = []
        for record in records:
            for process in self._ids_up_to(record):
                processes.append(process)
                self.remember(process, record)
        return processes

    def on_own_notice(self, record: ExpulsionRecord) -> list[int]:
        """This node expels one that it may never have met; the ids in the core."""
        processes = self._ids_up_to(record)
        for process in processes:
            self.remember(process, record)
        return processes

    def ids_up_to(self, records: list[ExpulsionRecord]) -> list[int]:
        """The ids in the core of these expelled incarnations, and of all before them."""
        known: list[int] = []
        for record in records:
            for incarnation, processes in self._ids.get(record.name, {}).items():
                if incarnation <= record.incarnation:
                    known += processes
        return known

    def _count_hearsay(self, told_by: str, records: list[ExpulsionRecord]) -> None:
        """`RemoteError` if a peer tells of more that nobody here has heard of than may be true."""
        strange = 0
        for record in records:
            if self._known_id(record) < 0:
                strange += 1
        if strange > 0:
            strange += self._hearsay.get(told_by, 0)
            if strange > HEARSAY_MAX:
                raise RemoteError(f"news of {strange} that nobody has heard of")
            self._hearsay[told_by] = strange

    def remember(self, process: i64, record: ExpulsionRecord) -> None:
        """From now on this incarnation is expelled."""
        if process not in self._records:
            self._put(process, record)
            self._recorder.on_expelled(process, record)
            self._unreported.append(record)
        self._note_newest(process, record)

    def take_unreported(self) -> list[ExpulsionRecord]:
        """Who was expelled since the last call."""
        unreported = self._unreported
        self._unreported = []
        return unreported

    def _put(self, process: i64, record: ExpulsionRecord) -> None:
        self._records[process] = record
        # The first is that incarnation; it stands for those that follow.
        expelled = self._ids.setdefault(record.name, {})
        expelled.setdefault(int(record.incarnation), []).append(int(process))

    def _note_newest(self, process: i64, record: ExpulsionRecord) -> None:
        if process != ME and record.incarnation > self._newest.get(record.name, 0):
            self._newest[record.name] = record.incarnation

    def _ids_up_to(self, record: ExpulsionRecord) -> list[int]:
        """The core's ids of an incarnation, and of those before it that are talked to."""
        ids = [int(self._id_of(record))]
        for session in self._sessions.named(record.name):
            if 0 < session.incarnation < record.incarnation:
                ids.append(int(session.id))
        return ids

    def _id_of(self, record: ExpulsionRecord) -> i64:
        """The core's id of an incarnation; a new one if it was never heard of."""
        known = self._known_id(record)
        return self._sessions.new_id() if known < 0 else known

    def _known_id(self, record: ExpulsionRecord) -> i64:
        """The core's id of an incarnation; -1 if it was never heard of."""
        if self.is_me(record):
            return ME
        expelled = self._ids.get(record.name)
        if expelled is not None and record.incarnation in expelled:
            return expelled[record.incarnation][0]
        for session in self._sessions.named(record.name):
            if session.incarnation == record.incarnation:
                return session.id
        return self._met.get(record.name, {}).get(record.incarnation, -1)


EXPELLED_SPEAKERS_MAX: Final = 1024
"""1,024 expelled incarnations are told so if they speak; the oldest gives way."""


@final
class ExpelledSpeakers:
    """The expelled incarnations that one node may hear from."""

    __slots__ = (
        "_answered",
        "_expulsions",
        "_me",
        "_out",
        "_recalled",
        "by_token",
        "split",
        "to_tell",
    )

    def __init__(
        self, me: Identity, expulsions: Expulsions, recalled: DerivedTokens, out: list[Datagram]
    ) -> None:
        self._me: Final = me
        self._expulsions: Final = expulsions
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
        if len(self.by_token) > EXPELLED_SPEAKERS_MAX:
            del self.by_token[next(iter(self.by_token))]

    def welcome(
        self,
        greeting: Greeting,
        newest: i64,
        address: object,
        message: HandshakeMessage | None,
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
            self._expulsions.newest_of(greeting.name), greeting.incarnation, greeting.name
        )
        if self._expulsions.newest_of(greeting.name) == ME:
            return
        answer = self._me.greeting(greeting.name, token, greeting.token, newest, 0, True)
        data = write_greeting(WELCOME, answer)
        if message is not None:
            data = message.reply(data)
        session = self._session(greeting, token, address, message, now_ns)
        self.add(session)
        self._out.append(Datagram(address, data))
        self.to_tell.append((session, GREETING_SIZE - len(data)))

    def on_answer(
        self, greeting: Greeting, address: object, message: HandshakeMessage | None, now_ns: i64
    ) -> None:
        """One that is expelled has answered a hello of ours: it is there, and is to be told.

        What it says to that comes with the token of the hello.
        """
        if self._expulsions.newest_of(greeting.name) == ME:
            return
        session = self._session(greeting, greeting.echo, address, message, now_ns)
        self.by_token.pop(self._answered.get(greeting.name, 0), None)
        self._answered[greeting.name] = greeting.echo
        if len(self._answered) > EXPELLED_SPEAKERS_MAX:
            del self._answered[next(iter(self._answered))]
        self.add(session)
        self.to_tell.append((session, GREETING_SIZE))

    def notes_split(self, name: str, incarnation: i64) -> bool:
        """An expelled incarnation says that it has expelled this node; False if that was known."""
        if self.split.get(name) == incarnation:
            return False
        self.split.pop(name, None)
        self.split[name] = incarnation
        if len(self.split) > EXPELLED_SPEAKERS_MAX:
            del self.split[next(iter(self.split))]
        return True

    def take_to_tell(self) -> list[tuple[Session, int]]:
        """Those that have to be told now, and in how many bytes at most."""
        to_tell = self.to_tell
        self.to_tell = []
        return to_tell

    def _session(
        self,
        greeting: Greeting,
        token: i64,
        address: object,
        message: HandshakeMessage | None,
        now_ns: i64,
    ) -> Session:
        """A session that leads nowhere."""
        keys = None if message is None else message.session_keys(now_ns)
        process = self._expulsions.newest_of(greeting.name)
        session = Session(process, greeting.name, GREETING_SIZE, 0, 0, True, None)
        session.establish(greeting, token, address, False, keys, now_ns)
        return session


def is_of(session: Session, greeting: Greeting) -> bool:
    """Whether a greeting is from the incarnation that a session was with."""
    return session.name == greeting.name and session.incarnation == greeting.incarnation
