"""The runs that simpler rules of rooms fail, step by step: C1 to C6, N1 to N12, and the split.

`a`, `b` and `c` are founders as far as there are some, whoever comes after them joins. A story says
what happens; what is not said happens at its end, in a fixed order, until all is quiet.
"""

from collections.abc import Callable
from typing import Final

from antecede.groups import (
    Ask,
    Complete,
    Join,
    Leave,
    Mark,
    Pass,
    Publication,
    Snapshot,
    Word,
)
from tests.antecede.groups.judge import is_member, judge
from tests.antecede.groups.world import DEAD, TOLD, UP, Driver, Node, World

Kind = type[Word]
QUIET: Final = 2_000


class Story:
    """A world, told by names."""

    def __init__(self, founders: int, joiners: int, driver: Driver) -> None:
        self.world = World(founders, joiners, driver)

    def node(self, name: str) -> Node:
        """The present incarnation of this name."""
        return self.world.latest(name)

    def do(self, kind: str, name: str, what: int = 0) -> None:
        """Something happens at a node."""
        self.world.do((kind, self.node(name).index, what))

    def says(self, *names: str) -> list[int]:
        """These publish something, one after the other."""
        return [self.world.publish(self.node(name)) for name in names]

    def joins(self, name: str, sponsor: str) -> None:
        """Somebody asks for the first time."""
        self.do("join", name, self.node(sponsor).index)

    def asks(self, name: str, sponsor: str) -> None:
        """A joiner asks somebody else."""
        self.do("ask", name, self.node(sponsor).index + 1)

    def expels(self, name: str, other: str) -> None:
        """At the core; the report stands in the queue."""
        self.do("expel", name, self.node(other).index)

    def arrives(self, source: str, target: str, *kinds: Kind) -> None:
        """The next words of these kinds, and what must come before, stand in the target's queue."""
        for kind in kinds:
            here = self.node(target)
            found = [
                message
                for message in self.world.under_way[here.index]
                if self.world.messages[message].source == self.node(source).index
                and isinstance(self.world.messages[message].word, kind)
            ]
            assert found, f"no {kind.__name__} from {source} to {target}"
            self._deliver(here, found[0])

    def _deliver(self, here: Node, message: int) -> None:
        past = self.world.messages[message].past
        for earlier in sorted(self.world.under_way[here.index]):
            if (past >> earlier) & 1 and earlier in self.world.under_way[here.index]:
                self._deliver(here, earlier)
        self.world.do(("deliver", here.index, message))

    def takes(self, *names: str) -> None:
        """These take everything that stands in their queues, and finish it."""
        for name in names:
            while self.steps(name):
                pass

    def steps(self, name: str) -> bool:
        """A node goes on with its queue; whether there was anything."""
        index = self.node(name).index
        for action in self.world.progress():
            if action[1] == index and action[0] in ("take", "finish", "made"):
                self.world.do(action)
                return True
        return False

    def hears(self, source: str, target: str, *kinds: Kind) -> None:
        """They arrive and are taken."""
        self.arrives(source, target, *kinds)
        self.takes(target)

    def rests(self) -> None:
        """What was not told happens, until all is quiet; the dead are expelled."""
        for step in range(QUIET):
            for node in self.world.nodes:
                self._expel(node)
            actions = self.world.progress()
            if not actions:
                return
            kind, index, what = actions[step % len(actions)]
            room = self.world.nodes[index].room
            if kind == "ask" and room is not None and not room.names():
                what = 1 + self._member().index
            self.world.do((kind, index, what))
        raise AssertionError("it does not come to rest")

    def _member(self) -> Node:
        """Who can be found by somebody outside."""
        return next(one for one in self.world.nodes if one.status == UP and is_member(one))

    def _expel(self, gone: Node) -> None:
        if gone.status in (DEAD, TOLD):
            for node in self.world.nodes:
                if node.status not in (DEAD, TOLD) and not node.has_fenced(gone):
                    self.world.do(("expel", node.index, gone.index))

    def log(self, name: str) -> list[int]:
        """The state of an application."""
        return self.node(name).log

    def members(self, name: str) -> str:
        """Whom a node takes for the members, itself included."""
        room = self.node(name).room
        assert room is not None
        return "".join(sorted(one.name for one in room.members()))


Telling = Callable[[Driver], list[str]]
"""What is wrong in the end."""


def in_the_end(story: Story, *has: tuple[str, int]) -> list[str]:
    """What the judge finds, and what is not in the states where it should be."""
    story.rests()
    missing = [f"{name} has not got {one}" for name, one in has if one not in story.log(name)]
    return judge(story.world) + missing


def held_in_two_attempts(driver: Driver, asks_first: bool) -> list[str]:
    """C1, C2: what a joiner holds is in the second sponsor's snapshot, too."""
    story = Story(2, 1, driver)
    story.joins("c", "a")
    story.hears("c", "a", Ask)
    story.hears("a", "b", Join)
    (d,) = story.says("b")
    story.hears("a", "c", Join)
    if asks_first:
        story.asks("c", "b")
    story.hears("b", "c", Publication)
    story.do("crash", "a")
    if not asks_first:
        story.asks("c", "b")
    story.expels("b", "a")
    story.expels("c", "a")
    return in_the_end(story, ("c", d))


def early_by_passing_on(driver: Driver) -> list[str]:
    """C3: X holds d of A; f, said by N after d, is passed on, since B expelled A without d."""
    story = Story(3, 1, driver)
    story.joins("d", "a")
    story.hears("d", "a", Ask)
    for name in "bcd":
        story.hears("a", name, Join)
    story.asks("d", "b")
    story.hears("d", "b", Ask)
    story.hears("b", "d", Join, Snapshot)
    story.do("bytes", "d")
    story.says("a")
    story.hears("a", "d", Publication)
    story.hears("a", "c", Publication)
    story.says("c")
    story.do("crash", "a")
    story.expels("b", "a")
    story.takes("b")
    story.hears("c", "b", Publication)
    return in_the_end(story)


def early_by_snapshot(driver: Driver) -> list[str]:
    """C4: the same, but B expelled A and had f before the ask of X arrived."""
    story = Story(3, 1, driver)
    story.joins("d", "a")
    story.hears("d", "a", Ask)
    for name in "bcd":
        story.hears("a", name, Join)
    story.asks("d", "b")
    story.says("a")
    story.hears("a", "d", Publication)
    story.hears("a", "c", Publication)
    (f,) = story.says("c")
    story.do("crash", "a")
    story.expels("b", "a")
    story.takes("b")
    story.hears("c", "b", Publication)
    return in_the_end(story, ("d", f))


def hole(driver: Driver) -> list[str]:
    """C5: M's f is nowhere, M's d is held; M is expelled before it marked."""
    story = Story(2, 1, driver)
    story.joins("c", "a")
    story.hears("c", "a", Ask)
    story.says("b")
    story.hears("a", "b", Join)
    story.says("b")
    story.hears("a", "c", Join)
    story.hears("b", "c", Publication)
    story.do("crash", "b")
    story.expels("a", "b")
    return in_the_end(story)


def second_join(driver: Driver) -> list[str]:
    """C6: the second join of X must be marked as well."""
    story = Story(3, 1, driver)
    story.joins("d", "a")
    story.hears("d", "a", Ask)
    for name in "bcd":
        story.hears("a", name, Join)
    story.asks("d", "b")
    return in_the_end(story)


def holds_what_a_leaver_said(driver: Driver) -> list[str]:
    """N1: M marks, publishes d, which X holds, and leaves. X must keep d."""
    story = Story(2, 1, driver)
    story.joins("c", "a")
    story.hears("c", "a", Ask)
    story.hears("a", "b", Join)
    (d,) = story.says("b")
    story.do("leave", "b")
    story.hears("a", "c", Join)
    story.hears("b", "c", Publication, Leave)
    return in_the_end(story, ("c", d))


def leave_before_what_is_passed_on(driver: Driver) -> list[str]:
    """N2: M publishes f, marks, leaves; the leave reaches X before f is passed on."""
    story = Story(2, 1, driver)
    story.joins("c", "a")
    story.hears("c", "a", Ask)
    (f,) = story.says("b")
    story.hears("a", "b", Join)
    story.do("leave", "b")
    story.hears("a", "c", Join)
    story.hears("b", "c", Leave)
    return in_the_end(story, ("c", f))


def expelled_before_it_is_taken(driver: Driver) -> list[str]:
    """N3: f of M is delivered at S, but not taken, when S expels M. It must reach X all the same:
    the report stands behind it."""
    story = Story(2, 1, driver)
    story.joins("c", "a")
    story.hears("c", "a", Ask)
    (f,) = story.says("b")
    story.arrives("b", "a", Publication)
    story.expels("a", "b")
    story.do("crash", "b")
    return in_the_end(story, ("a", f), ("c", f))


def two_steps(driver: Driver) -> list[str]:
    """N5: d has its view when M marks, and is not submitted yet."""
    story = Story(2, 1, driver)
    story.joins("c", "a")
    story.hears("c", "a", Ask)
    (d,) = story.says("b")
    story.hears("a", "b", Join)
    story.hears("b", "a", Mark)
    return in_the_end(story, ("a", d), ("c", d))


def sponsor_restarts(driver: Driver) -> list[str]:
    """N6: S restarts before all have marked; it knows nothing of its joiner any more."""
    story = Story(2, 1, driver)
    story.joins("c", "a")
    story.hears("c", "a", Ask)
    story.hears("a", "c", Join, Snapshot)
    story.do("bytes", "c")
    story.do("down", "a")
    story.do("restart", "a")
    return in_the_end(story)


def known_is_lost(driver: Driver) -> list[str]:
    """N7: M has marked, and crashes. It must know X when it is back."""
    story = Story(2, 1, driver)
    story.joins("c", "a")
    story.hears("c", "a", Ask)
    story.hears("a", "b", Join)
    story.do("down", "b")
    story.do("restart", "b")
    (d,) = story.says("b")
    return in_the_end(story, ("a", d), ("c", d))


def restarts_when_complete(driver: Driver) -> list[str]:
    """N8: X restarts just after it is complete: what was passed on is in no other queue."""
    story = Story(2, 1, driver)
    story.joins("c", "a")
    story.hears("c", "a", Ask)
    first, second = story.says("b", "b")
    story.hears("a", "b", Join)
    story.hears("b", "a", Publication, Publication, Mark)
    story.hears("a", "c", Join, Snapshot)
    story.do("bytes", "c")
    story.arrives("a", "c", Pass, Pass, Complete)
    for _ in range(3):
        story.do("take", "c")
    story.do("down", "c")
    story.do("restart", "c")
    return in_the_end(story, ("c", first), ("c", second))


def reports_come_again(driver: Driver) -> list[str]:
    """N9: f of M and the report that M is expelled are in the queue of S, in this order, when S
    restarts; they come again in this order."""
    story = Story(3, 1, driver)
    (f,) = story.says("b")
    story.arrives("b", "a", Publication)
    story.expels("a", "b")
    story.do("crash", "b")
    story.do("down", "a")
    story.do("restart", "a")
    story.joins("d", "a")
    return in_the_end(story, ("a", f), ("d", f))


def old_attempt_after_a_restart(driver: Driver) -> list[str]:
    """N11: X holds d, and restarts. Snapshot and complete of the old attempt come before it asks
    again, or after: d is lost, so they must not be heeded."""
    story = Story(2, 1, driver)
    story.joins("c", "a")
    story.hears("c", "a", Ask)
    story.hears("a", "b", Join)
    (d,) = story.says("b")
    story.hears("a", "c", Join)
    story.hears("b", "c", Publication)
    story.hears("b", "a", Mark)
    story.do("down", "c")
    story.do("restart", "c")
    story.hears("a", "c", Snapshot, Complete)
    return in_the_end(story, ("c", d))


def publishes_while_copied(driver: Driver) -> list[str]:
    """N12: S publishes e while its state is copied: e is counted, and not in the copy."""
    story = Story(1, 1, driver)
    story.joins("b", "a")
    story.arrives("b", "a", Ask)
    story.do("take", "a")
    room = story.node("a").room
    assert room is not None
    if room.may_publish():
        story.says("a")
    return in_the_end(story)


def leaves_and_comes_back(driver: Driver) -> list[str]:
    """Who leaves and joins again is another member: the leave is under way to some."""
    story = Story(2, 1, driver)
    story.joins("c", "a")
    story.rests()
    story.do("leave", "c")
    story.hears("c", "a", Leave)
    story.joins("c", "a")
    story.hears("c", "a", Ask)
    (d,) = story.says("b")
    return in_the_end(story, ("c", d))


def two_joiners_refuse(driver: Driver) -> list[str]:
    """Each asks the other: both are refused, and ask on."""
    story = Story(1, 2, driver)
    story.joins("b", "a")
    story.hears("b", "a", Ask)
    story.joins("c", "b")
    story.hears("c", "b", Ask)
    story.asks("b", "c")
    story.hears("b", "c", Ask)
    return in_the_end(story)


STORIES: Final[dict[str, Telling]] = {
    "C1": lambda driver: held_in_two_attempts(driver, asks_first=False),
    "C2": lambda driver: held_in_two_attempts(driver, asks_first=True),
    "C3": early_by_passing_on,
    "C4": early_by_snapshot,
    "C5": hole,
    "C6": second_join,
    "N1": holds_what_a_leaver_said,
    "N2": leave_before_what_is_passed_on,
    "N3": expelled_before_it_is_taken,
    "N5": two_steps,
    "N6": sponsor_restarts,
    "N7": known_is_lost,
    "N8": restarts_when_complete,
    "N9": reports_come_again,
    "N11": old_attempt_after_a_restart,
    "N12": publishes_while_copied,
    "rejoin": leaves_and_comes_back,
    "refusals": two_joiners_refuse,
}
