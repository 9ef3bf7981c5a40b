"""Rooms with one rule left out, and nodes that drive them wrong: for those who must notice."""

from typing import Final

from antecede.groups import Room
from tests.antecede.core.patched import SOURCES, patched_together
from tests.antecede.groups.world import Driver

FILES: Final = ["antecede/groups/attempt", "antecede/groups/room"]
"""What has the rule, in the order in which they import each other."""

Change = tuple[str, str]

TAKES_IN_ORDER = (
    "        if publication.number == self.cnt.get(member, 0) + 1:\n            self.cnt"
)
SHOWS_IN_ORDER = "            if publication.number == self.cnt.get(publication.sender, 0) + 1:\n"
NEW_ATTEMPT = (
    "        self.attempt += 1\n        self.sponsor = sponsor\n        self.joining = Attempt()\n"
)
SNAPSHOT_IS_FIRST = (
    "        if joining.snapshot is not None or snapshot.sender.name != self.sponsor:\n"
)

RULES: Final[dict[str, list[Change]]] = {
    "publications are taken whatever their number": [
        (TAKES_IN_ORDER, TAKES_IN_ORDER.replace("publication.number ==", "0 <")),
        (SHOWS_IN_ORDER, SHOWS_IN_ORDER.replace("publication.number ==", "0 <")),
    ],
    "what was held stays good": [
        (TAKES_IN_ORDER, TAKES_IN_ORDER.replace("publication.number ==", "0 <")),
        (SHOWS_IN_ORDER, SHOWS_IN_ORDER.replace("publication.number ==", "0 <")),
        (
            NEW_ATTEMPT,
            NEW_ATTEMPT + "        self.joining.held = held\n",
        ),
        (
            "    def _try(self, sponsor: str, effects: list[Effect]) -> None:\n",
            "    def _try(self, sponsor: str, effects: list[Effect]) -> None:\n"
            "        held = [] if self.joining is None else self.joining.held\n",
        ),
    ],
    "a hole is no matter": [
        (TAKES_IN_ORDER, TAKES_IN_ORDER.replace("publication.number ==", "0 <")),
        (SHOWS_IN_ORDER, SHOWS_IN_ORDER.replace("publication.number ==", "0 <")),
        ("            joining.drop(item.sender)\n", ""),
    ],
    "an expulsion is no mark": [
        (
            "            self._tell(Left(member, EXPELLED), effects)\n"
            "            self._on_gone(member, effects)\n",
            "            self._tell(Left(member, EXPELLED), effects)\n",
        )
    ],
    "only the first join of somebody is marked": [
        (
            "        self._pass_on(join, effects)\n",
            "        self._pass_on(join, effects)\n"
            "        if self.att.get(joiner, 0):\n            return\n",
        )
    ],
    "attempts are not told apart": [
        ("        return joiner == self.me and attempt == self.attempt\n", "        return True\n")
    ],
    "the first state is kept": [
        (
            NEW_ATTEMPT,
            NEW_ATTEMPT.replace(
                "        self.joining = Attempt()\n",
                "        self.joining = self.joining or Attempt()\n",
            ),
        )
    ],
    "snapshots are merged": [
        (
            NEW_ATTEMPT,
            NEW_ATTEMPT.replace(
                "        self.joining = Attempt()\n",
                "        self.joining = self.joining or Attempt()\n",
            ),
        ),
        (
            SNAPSHOT_IS_FIRST,
            "        if snapshot.sender.name != self.sponsor:\n",
        ),
    ],
    "what is known is replaced": [
        (
            "        joining.begin(snapshot)\n",
            "        joining.begin(snapshot)\n"
            "        me = self.known[self.me]\n"
            "        self.known.clear()\n        self.known[self.me] = me\n"
            "        self.left.clear()\n        self._latest.clear()\n"
            "        self._on_view_changed()\n",
        )
    ],
    "there is no second attempt": [
        (
            "        self._try(self._next_sponsor(), effects)\n",
            "        effects.clear()\n",
        )
    ],
    "things are passed on after the mark": [
        ("            if item.sender in job.missing:\n", "            if item.sender != joiner:\n")
    ],
    "no publications are passed on": [
        ("        self._pass_on(shown, effects)\n", ""),
    ],
    "no joins are passed on": [
        ("        self._pass_on(join, effects)\n", ""),
    ],
    "no ends are passed on": [
        ("        self._pass_on(Gone(self.room, member), effects)\n", ""),
    ],
    "only leaves are passed on, not expulsions": [
        (
            "        self._pass_on(Gone(self.room, member), effects)\n",
            "        if member in self.left:\n"
            "            self._pass_on(Gone(self.room, member), effects)\n",
        )
    ],
    "only expulsions are passed on, not leaves": [
        (
            "        self._pass_on(Gone(self.room, member), effects)\n",
            "        if member not in self.left:\n"
            "            self._pass_on(Gone(self.room, member), effects)\n",
        )
    ],
    "what is held of those that are gone stays": [
        ("            joining.drop(item.sender)\n", ""),
    ],
    "nothing is held": [
        ("                joining.hold(publication)\n", "                pass\n"),
    ],
    "the snapshot does not say who has left": [
        (
            "            {one: self.known[one] for one in self.known if one not in self.left},\n"
            "            list(self.left),\n",
            "            dict(self.known),\n            [],\n",
        ),
    ],
    "what is held of those that are out stays": [
        (
            "        self.held = [one for one in self.held if not self.has_out(one.sender)]\n"
            "\n    def drop(",
            "\n    def drop(",
        ),
        (
            "            if not joining.has_out(member):\n",
            "            if True:\n",
        ),
    ],
    "out is applied once": [
        (
            "            if not joining.has_out(member):\n",
            "            if True:\n",
        ),
    ],
    "complete at once": [
        (
            "        missing = {member: None for member in view if member != joiner}\n",
            "        missing = {member: None for member in view if member == joiner}\n"
            "        missing.clear()\n",
        )
    ],
    "joiners do not mark": [
        (
            "        mark = Mark(self.room, self.me, joiner, join.attempt)\n",
            "        if self.joining is not None:\n            return\n"
            "        mark = Mark(self.room, self.me, joiner, join.attempt)\n",
        )
    ],
    "the mark of any attempt counts": [
        (
            "        if job is not None and job.attempt == mark.attempt:\n",
            "        if job is not None:\n",
        )
    ],
    "joiners are sponsors": [
        ("            why = NOT_COMPLETE\n", '            why = ""\n'),
        (
            "        elif ask.attempt > self.att",
            "        if not why and ask.attempt > self.att",
        ),
    ],
    "who cannot sponsor says nothing": [
        ("            effects.append(self._refuse(ask, why))\n", "            return\n"),
    ],
    "restarted members tell nobody": [
        (
            "            if attempt:\n                refuse = Refuse(",
            "            if attempt < 0:\n                refuse = Refuse(",
        )
    ],
    "a joiner leaves at once": [
        (
            "        if not self.is_leaving or self.is_over or self.joining is not None:\n",
            "        if not self.is_leaving or self.is_over:\n",
        )
    ],
    "what is passed on or held is dropped if its publisher has left": [
        (
            "        for publication in joining.held:\n            joining.take(publication)\n",
            "        for publication in joining.held:\n"
            "            if publication.sender not in self.left:\n"
            "                joining.take(publication)\n",
        ),
        (
            "            joining.take(item)\n",
            "            if item.sender not in self.left:\n                joining.take(item)\n",
        ),
    ],
    "publishing goes on while the state is copied": [
        ("        return is_member and self._asked is None\n", "        return is_member\n")
    ],
    "a later attempt does not end the job": [
        (
            "        if job is not None and job.attempt < join.attempt:\n",
            "        if job is not None and job.attempt > join.attempt:\n",
        ),
    ],
    "complete does not wait for the bytes": [
        (
            "        if not (joining.has_bytes or self.is_leaving):\n            return\n",
            "",
        ),
    ],
}
"""Rules of the room itself."""

DRIVERS: Final[dict[str, Driver]] = {
    "reports of expulsions overtake the queue": Driver(expulsions_overtake=True),
    "the queue is lost in a restart": Driver(loses_queue=True),
    "the backlog is lost in a restart": Driver(loses_backlog=True),
    "the attempt is not on disk when the ask leaves": Driver(forgets_attempt=True),
    "what is known is not on disk when the mark leaves": Driver(forgets_known=True),
    "who joins again is the same member": Driver(keeps_joins=True),
    "marks are sent at delivery": Driver(marks_at_delivery=True),
    "publications are passed on at delivery": Driver(passes_at_delivery=True),
    "publications are counted at delivery": Driver(counts_at_delivery=True),
    "the view is read before the publication is submitted": Driver(submits_later=True),
    "somebody of the view is skipped": Driver(skips=True),
}
"""What nodes must keep to."""

UNNEEDED: Final[dict[str, list[Change]]] = {
    "who joins again has not left": [
        (
            "            self._on_left(latest, effects)\n            self._forget(latest)\n",
            "            self._forget(latest)\n",
        ),
    ],
    "an earlier attempt is served": [
        (
            "        elif ask.attempt > self.att.get(ask.sender, 0) and",
            "        elif ask.attempt > 0 and",
        ),
    ],
    "refusals of former attempts are heeded": [
        (
            " or not self._is_mine(refuse.joiner, refuse.attempt):\n",
            ":\n",
        ),
    ],
}
"""What can be left out, as far as 8,000 worlds tell; the rule has it because it is plainer so."""

OF_TWO_ROOMS: Final[dict[str, list[Change]]] = {
    "who is counted in elsewhere does not say so": [
        (
            "            effects.append(Send(Leave(word.room, self.me), (word.sender.name,)))\n"
            "            is_ours",
            "            is_ours",
        ),
    ],
    "rooms mix": [
        (
            "        if word.room == self.room:\n            return True\n",
            "        if word.room.name == self.room.name:\n            return True\n",
        ),
    ],
}
"""What matters where two rooms have the same name."""

BEGINS_AGAIN: Final = "who joins again begins its attempts again"
"""Not needed either: words name the member id of the joiner, with its count of joins."""

MUTANTS: Final = [*RULES, *DRIVERS]


def mutant(name: str) -> Driver:
    """Nodes for which this does not hold."""
    if name in DRIVERS:
        return DRIVERS[name]
    if name == BEGINS_AGAIN:
        return Driver(begins_attempts_again=True)
    changes = {**RULES, **UNNEEDED, **OF_TWO_ROOMS}[name]
    placed = [(place_of(sound), sound, changed) for sound, changed in changes]
    room = patched_together(FILES, placed, "changed").Room
    assert room is not Room
    return Driver(room=room, restored=room.restored)


def place_of(sound: str) -> str:
    """In which of the files this stands."""
    for file in FILES:
        if sound in (SOURCES / f"{file}.py").read_text(encoding="utf-8"):
            return file
    raise AssertionError(f"this stands nowhere: {sound}")
