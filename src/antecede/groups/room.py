"""The rule of rooms, as one room at one node: no pause when members come and go.

The idea: a sponsor S adds a joiner X, tells its view, and gives X a snapshot. Until a member has
*marked* the join, S passes on to X what that member publishes; afterwards it sends to X itself. X
*holds* what comes directly until S says that all have marked. All of it are causal messages, and
causal order alone is enough.

The names are those of the rule in `docs/protocols/rooms.md`:

    known, left    grow only;   view = known - left - E - me
    E              who is expelled, as far as taken from the queue: `expelled`
    cnt[M]         how many of M's publications are in the state of the application
    att[X]         the highest attempt of X that was heard of
    job[X]         (attempt, missing): whom X still waits for, at its sponsor
    held           what came to a joiner directly

Words are taken one after the other from the queue of the room, in the order in which the core
delivered them, and so are the reports of expulsions. A method that raises has changed nothing.
"""

from typing import Final, final

from mypy_extensions import i64

from antecede.core.errors import LocalError
from antecede.groups.attempt import HELD_BYTES_MAX, Attempt, Job
from antecede.groups.effects import (
    AskLater,
    Completed,
    Dropped,
    Effect,
    FetchSnapshot,
    ForgetSnapshot,
    Joined,
    Left,
    MakeSnapshot,
    NobodyToAsk,
    Over,
    Refused,
    RestoreSnapshot,
    Send,
    Show,
    SplitSeen,
)
from antecede.groups.names import Contact, MemberId, RoomId, cut_reason
from antecede.groups.state import CATCHING_UP, IS_OVER, JOINING, MEMBER, RoomState
from antecede.groups.words import (
    Ask,
    Complete,
    Gone,
    Item,
    Join,
    Leave,
    Mark,
    Pass,
    Publication,
    Refuse,
    Snapshot,
    Word,
    is_expelled,
)

SPLITS_MAX: Final = 64
"""So many other rooms of the same name are told of."""

NOT_COMPLETE: Final = "it has not joined itself yet"
ABOUT_TO_LEAVE: Final = "it is about to leave"
HAS_LEFT: Final = "it has left"
NO_SUCH_ROOM: Final = "it is not in this room"
ANOTHER_ROOM: Final = "it is in another room of this name"
RESTARTED: Final = "it has restarted"
TOO_MUCH: Final = "more has come in the meantime than may be kept"
"""Why an attempt is refused, or ended."""

LEFT: Final = "left"
EXPELLED: Final = "expelled"
"""Why somebody is in the view no more."""


@final
class Room:
    """One room at one node: told what is taken from the room's queue, answers with effects."""

    def __init__(
        self,
        room: RoomId,
        me: MemberId,
        contact: Contact,
        expelled: dict[str, int],
        attempt: int = 0,
    ) -> None:
        """A room that `me` is about to join: call `ask`.

        `expelled` has, by name, the highest incarnation of all expulsions taken so far. `attempt`
        is the last one of this incarnation in a join before this one.
        """
        self.room = room
        self.me: Final = me
        self.known: Final[dict[MemberId, Contact]] = {me: contact}
        self.left: Final[dict[MemberId, None]] = {}
        self.expelled: Final = dict(expelled)
        self.cnt: dict[MemberId, int] = {}
        self.att: Final[dict[MemberId, int]] = {}
        self.jobs: Final[dict[MemberId, Job]] = {}
        # Our own join; None: this is a member, which has a complete state.
        self.joining: Attempt | None = Attempt()
        self.attempt: i64 = attempt
        self.sponsor = ""
        self.is_leaving = False
        self.is_over = False
        # Publications that came directly from somebody who is no member here.
        self.dropped: i64 = 0
        # Rises with every change of what must survive a crash, but for `cnt`.
        self.revision: i64 = 0
        self._asked: Ask | None = None
        self._shown: Publication | None = None
        # What is shown before all else, as of `Completed`; and whether some of it is left.
        self._backlog: list[Publication] = []
        self._is_catching_up = False
        self._refusals: i64 = 0
        self._turn: i64 = 0
        # The latest join of each incarnation that is known.
        self._latest: Final[dict[tuple[str, int], MemberId]] = {(me.name, int(me.incarnation)): me}
        self._strangers: Final[dict[MemberId, None]] = {}
        self._others: Final[dict[RoomId, None]] = {}
        self._view: tuple[MemberId, ...] | None = None
        self._names: tuple[str, ...] | None = None

    @staticmethod
    def found(room: RoomId, me: MemberId, contact: Contact, expelled: dict[str, int]) -> "Room":
        """A new room, with nobody but `me`."""
        founded = Room(room, me, contact, expelled)
        founded.joining = None
        return founded

    # What the application wants.

    def publish(self, payload: bytes) -> list[Effect]:
        """publish: number it, to the view, in one step; `LocalError` if not `may_publish`."""
        if not self.may_publish():
            raise LocalError("this is not the time to publish: see may_publish")
        number = self.cnt.get(self.me, 0) + 1
        self.cnt[self.me] = number
        names = self.names()
        if not names:
            return []
        return [Send(Publication(self.room, self.me, number, payload), names)]

    def may_publish(self) -> bool:
        """A complete member may that is not leaving, unless its state is just being copied."""
        is_member = self.joining is None and not self.is_leaving and not self.is_over
        return is_member and self._asked is None

    def finished(self) -> list[Effect]:
        """The application has finished with what it was shown: it is in the state now."""
        shown = self._shown
        if self.is_over:
            return []
        if shown is None:
            raise LocalError("nothing was shown")
        self._shown = None
        self.cnt[shown.sender] = int(shown.number)
        effects: list[Effect] = []
        self._pass_on(shown, effects)
        self._show_next(effects)
        return effects

    def leave(self, at_once: bool = False) -> list[Effect]:
        """Leave: as soon as nobody waits for us as its sponsor, or at once.

        A joiner goes on in the background, and leaves when it is complete.
        """
        effects: list[Effect] = []
        if self.is_over:
            return effects
        self.is_leaving = True
        self.revision += 1
        if at_once:
            for joiner in list(self.jobs):
                self._drop_job(joiner, effects)
        self._leave_if_free(effects)
        return effects

    # Joining.

    def ask(self, name: str = "") -> list[Effect]:
        """try(S): the next attempt, with this sponsor, or with the next member in turn.

        A joiner may do so at any time. All of the attempt before that is not a fact about
        membership is thrown away.
        """
        if self.joining is None or self.is_over:
            raise LocalError("who is complete asks nobody")
        effects: list[Effect] = []
        self._try(name or self._next_sponsor(), effects)
        return effects

    def _try(self, sponsor: str, effects: list[Effect]) -> None:
        self.attempt += 1
        self.sponsor = sponsor
        self.joining = Attempt()
        self.revision += 1
        if sponsor:
            ask = Ask(self.room, self.me, self.known[self.me], self.attempt)
            effects.append(Send(ask, (sponsor,)))
        else:
            effects.append(NobodyToAsk())

    def _next_sponsor(self) -> str:
        """Everybody in the view in turn, so that everybody is asked again; "" if it is empty."""
        names = self.names()
        if not names:
            return ""
        self._turn += 1
        chosen = names[self._turn % len(names)]
        if chosen == self.sponsor:
            self._turn += 1
            chosen = names[self._turn % len(names)]
        return chosen

    def _on_sponsor_gone(self, effects: list[Effect]) -> None:
        """try(another)."""
        self._try(self._next_sponsor(), effects)

    def _on_refuse(self, refuse: Refuse, effects: list[Effect]) -> None:
        """Heeded only from the sponsor, for the present attempt, while not complete."""
        if self.joining is None or not self._is_mine(refuse.joiner, refuse.attempt):
            return
        if refuse.sender.name != self.sponsor:
            return
        attempt = self.attempt
        effects.append(Refused(self.sponsor, refuse.why))
        if refuse.why in (HAS_LEFT, NO_SUCH_ROOM):
            # Its leave did not go to us, who were not in its view.
            self._on_left(refuse.sender, effects)
        if self.attempt == attempt:
            self._end_attempt(effects)

    def _end_attempt(self, effects: list[Effect]) -> None:
        """This attempt comes to nothing; the next one begins after a back-off."""
        self._refusals += 1
        self.sponsor = ""
        self.joining = Attempt()
        self.revision += 1
        effects.append(AskLater(self._refusals))

    def _is_mine(self, joiner: MemberId, attempt: i64) -> bool:
        return joiner == self.me and attempt == self.attempt

    def _on_snapshot(self, snapshot: Snapshot, effects: list[Effect]) -> None:
        """It replaces state and counts; what it knows of members is united with mine."""
        joining = self.joining
        if joining is None or not self._is_mine(snapshot.joiner, snapshot.attempt):
            return
        if joining.snapshot is not None or snapshot.sender.name != self.sponsor:
            return
        joining.begin(snapshot)
        for member, contact in snapshot.known.items():
            self._know(member, contact, effects)
        for member in snapshot.left:
            self._on_left(member, effects)
        if self.joining is joining:
            effects.append(
                FetchSnapshot(snapshot.sender, self.attempt, snapshot.length, snapshot.digest)
            )

    def _on_pass(self, word: Pass, effects: list[Effect]) -> None:
        joining = self.joining
        if joining is None or joining.snapshot is None:
            return
        if not self._is_mine(word.joiner, word.attempt):
            return
        item = word.item
        if isinstance(item, Publication):
            joining.take(item)
            self._check_kept(joining, effects)
        elif isinstance(item, Join):
            self._know(item.joiner, item.contact, effects)
        else:
            self._on_left(item.sender, effects)
            joining.drop(item.sender)

    def _on_complete(self, word: Complete, effects: list[Effect]) -> None:
        joining = self.joining
        if joining is None or joining.snapshot is None:
            return
        if self._is_mine(word.joiner, word.attempt):
            joining.on_all_marked()
            self._complete_if_here(joining, effects)

    def snapshot_fetched(self, attempt: int) -> list[Effect]:
        """The bytes of this attempt's state are here."""
        effects: list[Effect] = []
        joining = self.joining
        if joining is not None and joining.snapshot is not None and attempt == self.attempt:
            joining.on_bytes()
            self._complete_if_here(joining, effects)
            self._leave_if_free(effects)
        return effects

    def snapshot_lost(self, attempt: int, why: str) -> list[Effect]:
        """The bytes of this attempt's state cannot be had: another one begins."""
        effects: list[Effect] = []
        joining = self.joining
        if joining is not None and joining.snapshot is not None and attempt == self.attempt:
            effects.append(Refused(self.sponsor, why))
            self._end_attempt(effects)
        return effects

    def _complete_if_here(self, joining: Attempt, effects: list[Effect]) -> None:
        """complete: take what is held, in the order of its delivery; from now on a member.

        Who only wants to leave does not wait for the bytes.
        """
        snapshot = joining.snapshot
        if snapshot is None or not joining.is_marked:
            return
        if not (joining.has_bytes or self.is_leaving):
            return
        for publication in joining.held:
            joining.take(publication)
        self.joining = None
        self.cnt = dict(snapshot.cnt)
        self.sponsor = ""
        self.revision += 1
        if self.is_leaving:
            return
        self._backlog = joining.passed
        self._is_catching_up = True
        effects.append(RestoreSnapshot(self.attempt))
        effects.append(Completed(self.members(), tuple(self._backlog)))
        self._show_next(effects)

    def _check_kept(self, joining: Attempt, effects: list[Effect]) -> None:
        if joining.kept_bytes > HELD_BYTES_MAX:
            effects.append(Refused(self.sponsor, TOO_MUCH))
            self._end_attempt(effects)

    # The queue: words.

    def on_word(self, word: Word) -> list[Effect]:
        """The next of the queue is this word, said by `word.sender`."""
        if self._shown is not None or self._asked is not None:
            raise LocalError("the room has not finished what it took before")
        effects: list[Effect] = []
        if isinstance(word, Refuse):
            self._on_refuse(word, effects)
        elif not self._is_of_this_room(word):
            self._on_foreign(word, effects)
        elif isinstance(word, Ask):
            self._on_ask(word, effects)
        elif not self.is_over:
            self._on_member_word(word, effects)
        self._leave_if_free(effects)
        return effects

    def _on_member_word(self, word: Word, effects: list[Effect]) -> None:
        if isinstance(word, Publication):
            self._on_publication(word, effects)
        elif isinstance(word, Join):
            self._on_join(word, effects)
        elif isinstance(word, Mark):
            self._on_mark(word, effects)
        elif isinstance(word, Pass):
            self._on_pass(word, effects)
        elif isinstance(word, Snapshot):
            self._on_snapshot(word, effects)
        elif isinstance(word, Complete):
            self._on_complete(word, effects)
        else:
            self._on_left(word.sender, effects)

    def _on_publication(self, publication: Publication, effects: list[Effect]) -> None:
        """A direct one: a joiner holds it; a member takes it, if it is from a member."""
        joining = self.joining
        member = publication.sender
        if joining is not None:
            if not joining.has_out(member):
                joining.hold(publication)
                self._check_kept(joining, effects)
        elif member not in self.known or member in self.left:
            self.dropped += 1
            if member not in self._strangers:
                self._strangers[member] = None
                effects.append(Dropped(member))
        elif publication.number == self.cnt.get(member, 0) + 1:
            self._shown = publication
            effects.append(Show(publication))

    def _show_next(self, effects: list[Effect]) -> None:
        """What was passed on and held comes before all else; it is from members, whatever became
        of them."""
        while self._backlog:
            publication = self._backlog.pop(0)
            if publication.number == self.cnt.get(publication.sender, 0) + 1:
                self._shown = publication
                effects.append(Show(publication))
                return
        if self._is_catching_up:
            self._is_catching_up = False
            self.revision += 1

    # The queue: a sponsor.

    def _on_ask(self, ask: Ask, effects: list[Effect]) -> None:
        why = ""
        if self.is_over:
            why = HAS_LEFT
        elif self.is_leaving:
            why = ABOUT_TO_LEAVE
        elif self.joining is not None:
            why = NOT_COMPLETE
        if why:
            effects.append(self._refuse(ask, why))
        elif ask.attempt > self.att.get(ask.sender, 0) and not self._is_out(ask.sender):
            self._asked = ask
            effects.append(MakeSnapshot(ask.sender, ask.attempt))

    def _refuse(self, ask: Ask, why: str) -> Send:
        refuse = Refuse(ask.room, self.me, ask.sender, ask.attempt, cut_reason(why))
        return Send(refuse, (ask.sender.name,))

    def snapshot_failed(self, why: str) -> list[Effect]:
        """The application gives no state: who asked asks another."""
        ask = self._take_asked()
        effects: list[Effect] = [self._refuse(ask, why)]
        self._leave_if_free(effects)
        return effects

    def snapshot_made(self, length: int, digest: bytes) -> list[Effect]:
        """The state is copied: take in who asked, tell the view, and it, in one step."""
        ask = self._take_asked()
        joiner, attempt = ask.sender, ask.attempt
        effects: list[Effect] = []
        self.att[joiner] = int(attempt)
        self._drop_job(joiner, effects)
        self._know(joiner, ask.contact, effects)
        view = self.view()
        effects.append(Send(Join(self.room, self.me, joiner, ask.contact, attempt), self.names()))
        effects.append(Send(self._snapshot(joiner, attempt, length, digest), (joiner.name,)))
        missing = {member: None for member in view if member != joiner}
        self.jobs[joiner] = Job(attempt, missing)
        self.revision += 1
        self._complete_if_marked(joiner, effects)
        self._leave_if_free(effects)
        return effects

    def _take_asked(self) -> Ask:
        ask = self._asked
        if ask is None:
            raise LocalError("nobody's snapshot is being made")
        self._asked = None
        return ask

    def _snapshot(self, joiner: MemberId, attempt: i64, length: int, digest: bytes) -> Snapshot:
        """What stands before the bytes: counts of view and me, known and me, left, E."""
        counted = {one: self.cnt[one] for one in self.members() if one in self.cnt}
        return Snapshot(
            self.room,
            self.me,
            joiner,
            attempt,
            counted,
            {one: self.known[one] for one in self.known if one not in self.left},
            list(self.left),
            dict(self.expelled),
            length,
            digest,
        )

    def _pass_on(self, item: Item, effects: list[Effect]) -> None:
        """To every joiner for whom the sender of this has not marked yet."""
        for joiner, job in self.jobs.items():
            if item.sender in job.missing:
                word = Pass(self.room, self.me, joiner, job.attempt, item)
                effects.append(Send(word, (joiner.name,)))

    def _on_mark(self, mark: Mark, effects: list[Effect]) -> None:
        """For this attempt only."""
        job = self.jobs.get(mark.joiner)
        if job is not None and job.attempt == mark.attempt:
            job.missing.pop(mark.sender, None)
            self._complete_if_marked(mark.joiner, effects)

    def _on_gone(self, member: MemberId, effects: list[Effect]) -> None:
        """A leave or an expulsion is a mark, and who joined or waits for it is told."""
        self._drop_job(member, effects)
        self._pass_on(Gone(self.room, member), effects)
        for joiner in list(self.jobs):
            self.jobs[joiner].missing.pop(member, None)
            self._complete_if_marked(joiner, effects)

    def _complete_if_marked(self, joiner: MemberId, effects: list[Effect]) -> None:
        job = self.jobs[joiner]
        if not job.missing:
            del self.jobs[joiner]
            word = Complete(self.room, self.me, joiner, job.attempt)
            effects.append(Send(word, (joiner.name,)))

    def _drop_job(self, joiner: MemberId, effects: list[Effect]) -> None:
        job = self.jobs.pop(joiner, None)
        if job is not None:
            effects.append(ForgetSnapshot(joiner, job.attempt))

    # The queue: members come and go.

    def _on_join(self, join: Join, effects: list[Effect]) -> None:
        """Whether complete or still joining: know it, and mark it, for every attempt."""
        joiner = join.joiner
        if joiner == self.me:
            return
        self._pass_on(join, effects)
        self._know(joiner, join.contact, effects)
        if join.attempt > self.att.get(joiner, 0):
            self.att[joiner] = int(join.attempt)
            self.revision += 1
        job = self.jobs.get(joiner)
        if job is not None and job.attempt < join.attempt:
            self._drop_job(joiner, effects)
        mark = Mark(self.room, self.me, joiner, join.attempt)
        effects.append(Send(mark, (join.sender.name,)))

    def on_expelled(self, name: str, incarnation: int) -> list[Effect]:
        """The next of the queue is the report that these incarnations are expelled."""
        if self._shown is not None or self._asked is not None:
            raise LocalError("the room has not finished what it took before")
        effects: list[Effect] = []
        if self.is_over or self.expelled.get(name, 0) >= incarnation:
            return effects
        gone = [one for one in self.view() if one.name == name and one.incarnation <= incarnation]
        self.expelled[name] = incarnation
        self._on_view_changed()
        for member in gone:
            self._tell(Left(member, EXPELLED), effects)
            self._on_gone(member, effects)
        for member in list(self._latest.values()):
            if is_expelled(self.expelled, member) and member != self.me:
                self._forget(member)
                del self._latest[member.name, int(member.incarnation)]
        if self.joining is not None and self.sponsor == name:
            self._on_sponsor_gone(effects)
        self._leave_if_free(effects)
        return effects

    def _know(self, member: MemberId, contact: Contact, effects: list[Effect]) -> None:
        """known += member. Who is expelled is in no view, known or not."""
        if member in self.known or is_expelled(self.expelled, member):
            return
        if not self._is_latest(member, effects):
            return
        self.known[member] = contact
        self._on_view_changed()
        if self._is_in_view(member):
            self._tell(Joined(member), effects)

    def _on_left(self, member: MemberId, effects: list[Effect]) -> None:
        """left += member. Who is expelled was gone already."""
        if member in self.left or member == self.me or is_expelled(self.expelled, member):
            return
        if not self._is_latest(member, effects):
            return
        was_there = self._is_in_view(member)
        self.left[member] = None
        self._on_view_changed()
        if was_there:
            self._tell(Left(member, LEFT), effects)
        self._on_gone(member, effects)
        joining = self.joining
        if joining is not None and self._is_sponsor(joining, member):
            self._on_sponsor_gone(effects)

    def _is_sponsor(self, joining: Attempt, member: MemberId) -> bool:
        """Whether we joined through this one, or, before its snapshot, one of its name."""
        if joining.snapshot is not None:
            return joining.snapshot.sender == member
        return member.name == self.sponsor

    def _is_latest(self, member: MemberId, effects: list[Effect]) -> bool:
        """Whoever is named in a word has left as whoever it was before, and that is forgotten."""
        life = (member.name, int(member.incarnation))
        latest = self._latest.get(life)
        if latest is None:
            self._latest[life] = member
        elif member.is_later_than(latest):
            self._on_left(latest, effects)
            self._forget(latest)
            self._latest[life] = member
        return not self._latest[life].is_later_than(member)

    def _forget(self, member: MemberId) -> None:
        """It is out, and what says so stays: a later join of its own, or its expulsion."""
        self.known.pop(member, None)
        self.left.pop(member, None)
        self.att.pop(member, None)
        self.cnt.pop(member, None)
        self._strangers.pop(member, None)
        self._on_view_changed()

    def _tell(self, news: Effect, effects: list[Effect]) -> None:
        """The application sees nothing of a room before it is complete."""
        if self.joining is None and not self.is_leaving:
            effects.append(news)

    def _leave_if_free(self, effects: list[Effect]) -> None:
        """leave to view; nothing more is said then."""
        if not self.is_leaving or self.is_over or self.joining is not None:
            return
        if self.jobs or self._asked is not None:
            return
        self.is_over = True
        self.revision += 1
        self._backlog = []
        self._shown = None
        names = self.names()
        if names:
            effects.append(Send(Leave(self.room, self.me), names))
        effects.append(Over())

    # Other rooms of the same name.

    def _is_of_this_room(self, word: Word) -> bool:
        """A joiner that knows only the name is in the room of the first word that reaches it."""
        if word.room == self.room:
            return True
        if word.room.name != self.room.name:
            return False
        if isinstance(word, Ask):
            return not word.room.creator
        if self.room.creator or not word.room.creator:
            return False
        self.room = word.room
        self.revision += 1
        return True

    def _on_foreign(self, word: Word, effects: list[Effect]) -> None:
        """Who asks is refused; who takes us for a member is told that we are none."""
        if word.room not in self._others and len(self._others) < SPLITS_MAX:
            self._others[word.room] = None
            effects.append(SplitSeen(word.sender.name, word.room))
        if isinstance(word, Ask):
            effects.append(self._refuse(word, ANOTHER_ROOM))
        elif isinstance(word, Join | Publication):
            effects.append(Send(Leave(word.room, self.me), (word.sender.name,)))
            is_ours = isinstance(word, Join) and self._is_mine(word.joiner, word.attempt)
            if is_ours and self.joining is not None:
                effects.append(Refused(self.sponsor, ANOTHER_ROOM))
                self._end_attempt(effects)

    def clone(self) -> "Room":
        """The same room, to go another way: for those who search through all interleavings."""
        copy = Room(self.room, self.me, self.known[self.me], self.expelled, int(self.attempt))
        copy._copy(self)
        return copy

    def _copy(self, other: "Room") -> None:
        self.known.update(other.known)
        self.left.update(other.left)
        self.cnt = dict(other.cnt)
        self.att.update(other.att)
        for joiner, job in other.jobs.items():
            self.jobs[joiner] = Job(job.attempt, dict(job.missing))
        self.joining = None if other.joining is None else other.joining.clone()
        self.sponsor = other.sponsor
        self.is_leaving = other.is_leaving
        self.is_over = other.is_over
        self.dropped = other.dropped
        self.revision = other.revision
        self._asked = other._asked
        self._shown = other._shown
        self._backlog = list(other._backlog)
        self._is_catching_up = other._is_catching_up
        self._refusals = other._refusals
        self._turn = other._turn
        self._latest.update(other._latest)
        self._strangers.update(other._strangers)
        self._others.update(other._others)

    # After a restart.

    def state(self) -> RoomState:
        """What must be on disk before anything that was answered here shows."""
        phase: i64 = CATCHING_UP if self._is_catching_up else MEMBER
        if self.is_over:
            phase = IS_OVER
        elif self.joining is not None:
            phase = JOINING
        return RoomState(
            self.room,
            self.me,
            phase,
            self.is_leaving,
            self.sponsor,
            self.attempt,
            dict(self.known),
            list(self.left),
            dict(self.expelled),
            dict(self.att),
            dict(self.cnt),
        )

    @staticmethod
    def restored(state: RoomState, backlog: tuple[Publication, ...]) -> "Room":
        """The room as it was; `backlog` is that of its `Completed`, of which some may have been
        shown. Call `restarted` first."""
        room = Room(state.room, state.me, state.known[state.me], state.expelled)
        room._restore(state, backlog)
        return room

    def _restore(self, state: RoomState, backlog: tuple[Publication, ...]) -> None:
        for member, contact in state.known.items():
            self._know(member, contact, [])
        for member in state.left:
            self._on_left(member, [])
        self.att.update(state.att)
        self.cnt = dict(state.cnt)
        self.attempt = state.attempt
        self.sponsor = state.sponsor
        self.is_leaving = state.is_leaving
        self.is_over = state.phase == IS_OVER
        if state.phase != JOINING:
            self.joining = None
        if state.phase == CATCHING_UP:
            self._is_catching_up = True
            self._backlog = list(backlog)

    def restarted(self) -> list[Effect]:
        """What to do before anything is read: a joiner asks anew, a member tells its joiners."""
        effects: list[Effect] = []
        if self.is_over:
            return effects
        if self.joining is not None:
            self._try(self.sponsor or self._next_sponsor(), effects)
            return effects
        for member in self.view():
            attempt = self.att.get(member, 0)
            if attempt:
                refuse = Refuse(self.room, self.me, member, attempt, RESTARTED)
                effects.append(Send(refuse, (member.name,)))
        self._leave_if_free(effects)
        if not self.is_over:
            self._show_next(effects)
        return effects

    # Queries.

    @property
    def is_complete(self) -> bool:
        """Whether this is a member, with a complete state."""
        return self.joining is None

    def view(self) -> tuple[MemberId, ...]:
        """known - left - E - me."""
        view = self._view
        if view is None:
            view = self._view = tuple([one for one in self.known if self._is_in_view(one)])
        return view

    def _is_in_view(self, member: MemberId) -> bool:
        # Our own former lives are over, whether anybody has said so or not.
        is_other = member.name != self.me.name
        return member in self.known and is_other and not self._is_out(member)

    def _is_out(self, member: MemberId) -> bool:
        """Whether it is in left or E, or its incarnation has joined again."""
        if member in self.left or is_expelled(self.expelled, member):
            return True
        latest = self._latest.get((member.name, int(member.incarnation)))
        return latest is not None and latest.is_later_than(member)

    def names(self) -> tuple[str, ...]:
        """The nodes of the view, each once."""
        names = self._names
        if names is None:
            names = tuple(dict.fromkeys([one.name for one in self.view()]))
            self._names = names
        return names

    def members(self) -> tuple[MemberId, ...]:
        """The view, and oneself."""
        return (self.me, *self.view())

    def waits_for(self) -> list[MemberId]:
        """Whose marks are missing to those whom we sponsor: they owe an answer."""
        waiting: dict[MemberId, None] = {}
        for job in self.jobs.values():
            waiting.update(job.missing)
        return list(waiting)

    def _on_view_changed(self) -> None:
        self._view = None
        self._names = None
        self.revision += 1


def answer_outside(word: Word, me: MemberId) -> list[Effect]:
    """What a node answers that is not in this room, under `me` of its last join (0: none)."""
    if isinstance(word, Ask):
        refuse = Refuse(word.room, me, word.sender, word.attempt, NO_SUCH_ROOM)
        return [Send(refuse, (word.sender.name,))]
    if isinstance(word, Join | Publication):
        return [Send(Leave(word.room, me), (word.sender.name,))]
    if isinstance(word, Mark):
        # We took this one in before a restart, and know nothing of it any more.
        refuse = Refuse(word.room, me, word.joiner, word.attempt, NO_SUCH_ROOM)
        return [Send(refuse, (word.joiner.name,))]
    return []
