"""All interleavings of small worlds, on real rooms: every order of deliveries, and every moment for
a death, a suspicion, a leave or a change of sponsor."""

from dataclasses import dataclass
from typing import Final

from antecede.groups import Room
from tests.antecede.groups.judge import is_member, judge
from tests.antecede.groups.world import DEAD, TOLD, UP, Action, Driver, Node, World

INSIDE: Final = ("take", "finish", "made", "read", "ask", "bytes")
"""What a node does by itself: at once, where a scope has no queues."""


@dataclass(frozen=True, slots=True)
class Scope:
    """How many of what there are at most."""

    founders: int = 2
    joiners: int = 1
    messages: int = 0
    crashes: int = 0
    expulsions: int = 0
    leaves: int = 0
    sponsors: int = 0
    restarts: int = 0
    has_queues: bool = False
    """Whether what is delivered is taken some time later, and the bytes of a state come later."""


Left = tuple[int, ...]
"""Messages, crashes, expulsions, leaves, changes of sponsor and restarts that may still come."""


class Search:
    """All states of a scope that can be reached."""

    def __init__(self, scope: Scope, driver: Driver = Driver()) -> None:  # noqa: B008 - frozen
        self.scope = scope
        self.driver = driver
        self.states = 0
        self.ends = 0
        self.wrong: list[str] = []

    def run(self, states_max: int) -> bool:
        """Whether all of them were seen."""
        scope = self.scope
        world = World(scope.founders, scope.joiners, self.driver)
        for joiner in range(scope.joiners):
            world.do(("join", scope.founders + joiner, joiner % scope.founders))
        left: Left = (
            scope.messages,
            scope.crashes,
            scope.expulsions,
            scope.leaves,
            scope.sponsors,
            scope.restarts,
        )
        stack = [(world, left)]
        seen = {fingerprint(world, left)}
        while stack:
            world, left = stack.pop()
            self.states += 1
            if self.states > states_max or self.wrong:
                return False
            following = self._following(world, left)
            if not following:
                self.ends += 1
                self.wrong += judge(world)
            for action, rest in following:
                after = world.clone()
                after.do(action)
                if not scope.has_queues:
                    self._inside(after)
                mark = fingerprint(after, rest)
                if mark not in seen:
                    seen.add(mark)
                    stack.append((after, rest))
        return True

    def _inside(self, world: World) -> None:
        """All that nodes do by themselves."""
        while actions := [action for action in self._progress(world) if action[0] in INSIDE]:
            world.do(actions[0])

    def _progress(self, world: World) -> list[Action]:
        """What happens by itself; who asks asks the first member, so that there is an end."""
        found: list[Action] = []
        for kind, index, what in world.progress():
            if kind == "ask":
                found += [
                    (kind, index, 1 + one.index)
                    for one in world.nodes
                    if one.status == UP
                    and is_member(one)
                    and not world.nodes[index].has_fenced(one)
                ][:1]
            else:
                found.append((kind, index, what))
        return found

    def _following(self, world: World, left: Left) -> list[tuple[Action, Left]]:
        """Everything that may come next."""
        up = [one for one in world.nodes if one.status == UP]
        if not any(is_member(one) for one in up):
            return []
        found = [(action, left) for action in self._progress(world)]
        for gone in world.nodes:
            if gone.status in (DEAD, TOLD):
                found += [
                    (("expel", one.index, gone.index), left)
                    for one in up
                    if not one.has_fenced(gone)
                ]
        for number, kind in enumerate(("publish", "crash", "expel", "leave", "ask", "down")):
            if left[number]:
                rest = one_less(left, number)
                found += [(action, rest) for action in self._happenings(kind, up)]
        return found

    def _happenings(self, kind: str, up: list[Node]) -> list[Action]:
        if kind == "expel":
            return [
                ("expel", one.index, other.index)
                for one in up
                for other in up
                if one is not other and not one.has_fenced(other)
            ]
        found: list[Action] = []
        for node in up:
            room = node.room
            assert room is not None
            if kind == "publish" and room.may_publish():
                found.append(("publish", node.index, 0))
            if kind == "crash" and len(up) > 1:
                found.append(("crash", node.index, 0))
            if kind == "leave" and not room.is_leaving and sum(map(is_member, up)) > 1:
                found.append(("leave", node.index, 0))
            if kind == "ask" and not room.is_complete:
                found += [
                    ("ask", node.index, 1 + other.index)
                    for other in up
                    if is_member(other) and other.name != room.sponsor
                ]
            if kind == "down":
                found.append(("down", node.index, 0))
        return found


def one_less(left: Left, number: int) -> Left:
    """The same, after one of these."""
    return (*left[:number], left[number] - 1, *left[number + 1 :])


def fingerprint(world: World, left: Left) -> int:
    """Equal states, equal numbers."""
    return hash(
        (
            left,
            tuple([of_node(one) for one in world.nodes]),
            tuple(
                [
                    frozenset([world.messages[one].label for one in under_way])
                    for under_way in world.under_way
                ]
            ),
            frozenset(world.notices.items()),
            frozenset(world.answers),
            frozenset(world.past.items()),
        )
    )


def of_node(node: Node) -> object:
    """All of a node that what follows depends on."""
    return (
        node.status,
        node.joins,
        tuple(node.peers.items()),
        tuple(node.expelled.items()),
        tuple(node.taken.items()),
        (node.sequence, node.seen, node.addressed, node.settled),
        tuple([getattr(item, "label", item) for item in node.queue]),
        node.shown,
        tuple(node.buffer),
        (node.making, node.state, node.fetching, node.fetched, node.wants_to_ask),
        frozenset(node.snapshots.items()),
        node.backlog,
        tuple(node.log),
        (node.knows, node.behind, node.published, node.has_left),
        None if node.room is None else of_room(node.room),
    )


def of_room(room: Room) -> object:
    """All of a room."""
    joining = room.joining
    return (
        room.room,
        (room.is_leaving, room.is_over, room.sponsor, room.attempt, room._turn, room._asked),
        tuple(room.known),
        tuple(room.left),
        tuple(room.expelled.items()),
        frozenset(room.att.items()),
        frozenset(room.cnt.items()),
        tuple([(one, job.attempt, tuple(job.missing)) for one, job in room.jobs.items()]),
        (room._shown, tuple(room._backlog)),
        None
        if joining is None
        else (
            joining.snapshot is None,
            joining.has_bytes,
            joining.is_marked,
            frozenset(joining.cnt.items()),
            frozenset(joining.gone),
            tuple(joining.passed),
            tuple(joining.held),
        ),
    )
