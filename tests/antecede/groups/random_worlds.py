"""A world of every seed: who joins, leaves, crashes, is suspected, publishes, and when.

In the end who is dead is expelled, who is down comes back, and the rest must come to rest with
nothing lost among them.
"""

from dataclasses import dataclass, replace
from random import Random

from tests.antecede.groups.judge import is_member, judge
from tests.antecede.groups.world import DEAD, DOWN, TOLD, UP, Action, Driver, Node, World

STEPS_MAX = 6_000


@dataclass(slots=True)
class Budget:
    """How often what happens."""

    messages: int = 0
    leaves: int = 0
    crashes: int = 0
    expulsions: int = 0
    sponsors: int = 0
    restarts: int = 0
    rejoins: int = 0
    failures: int = 0
    """States that an application does not give, or whose bytes are damaged."""

    def left(self) -> list[str]:
        """What may still happen, from outside."""
        return [name for name in Budget.__slots__[:-1] if getattr(self, name) > 0]


class Run:
    """The world of a seed, on its way."""

    def __init__(self, seed: int, driver: Driver, *, has_two_rooms: bool = False) -> None:
        random = self.random = Random(seed)
        founders = random.randint(2 if has_two_rooms else 1, 3)
        self.world = World(founders, random.randint(1, 3), driver, has_two_rooms=has_two_rooms)
        self.waiting = list(range(founders, len(self.world.nodes)))
        has_deaths = random.random() < 0.8
        self.budget = Budget(
            messages=random.randint(3, 20),
            leaves=random.choice([0, 0, 1, 2]),
            crashes=random.choice([0, 1, 2]) if has_deaths else 0,
            expulsions=random.choice([0, 0, 1, 2]) if has_deaths else 0,
            sponsors=random.choice([0, 1, 3]),
            restarts=random.choice([0, 0, 1, 2, 4]),
            rejoins=random.choice([0, 1, 2]),
            failures=random.choice([0, 0, 0, 2]),
        )
        self.rate = random.choice([0.08, 0.2, 0.4])

    def run(self) -> list[str]:
        """What is wrong in the end."""
        while self.waiting or self.budget.left():
            for action in self._happenings():
                self.world.do(action)
            for _ in range(self.random.randint(0, int(3 / self.rate))):
                self._go_on()
        if not self._come_to_rest():
            return ["endless: it does not come to rest"]
        return judge(self.world)

    def say_goodbye(self) -> list[str]:
        """Every member says one thing more; what is wrong then."""
        for node in self._up():
            if node.room is not None and node.room.may_publish():
                self.world.do(("publish", node.index, 0))
        if not self._come_to_rest():
            return ["endless: it does not come to rest"]
        return judge(self.world)

    def _go_on(self) -> bool:
        """Something that happens by itself; whether there was anything."""
        actions = self.world.progress()
        if not actions:
            return False
        action = self.random.choice(actions)
        if action[0] == "ask":
            action = self._ask(self.world.nodes[action[1]])
        elif action[0] in ("made", "bytes") and self.budget.failures:
            self.budget.failures -= 1
            action = ("fail" if action[0] == "made" else "lose", action[1], 0)
        self.world.do(action)
        return True

    def _ask(self, node: Node) -> Action:
        """The room chooses; if it knows nobody, somebody is found outside."""
        assert node.room is not None
        if node.room.names() and self.random.random() < 0.8:
            return ("ask", node.index, 0)
        others = [one for one in self._up() if one is not node]
        found = self._members() or others
        if node.room.room.creator:
            found = [one for one in found if one.room and one.room.room == node.room.room]
        if not found:
            # Perhaps nobody is left in the room that has taken it in once.
            is_over = all(one.status != DOWN for one in self.world.nodes)
            return ("despair" if is_over else "wait", node.index, 0)
        return ("ask", node.index, 1 + self.random.choice(found).index)

    def _up(self) -> list[Node]:
        return [one for one in self.world.nodes if one.status == UP]

    def _members(self) -> list[Node]:
        """Who could be found by somebody outside."""
        return [
            one
            for one in self._up()
            if is_member(one) and not any(other.has_fenced(one) for other in self._up())
        ]

    def _happenings(self) -> list[Action]:
        """Something from outside."""
        kinds = self.budget.left() + (["joins"] * 2 if self.waiting else [])
        if "messages" in kinds:
            kinds += ["messages"] * self.random.choice([2, 4])
        kind = self.random.choice(kinds)
        if kind == "joins":
            members = self._members()
            if not members:
                self.waiting.clear()
                return []
            index = self.waiting.pop(0)
            return [("join", index, self.random.choice(members).index)]
        setattr(self.budget, kind, getattr(self.budget, kind) - 1)
        return list(filter(None, [getattr(self, f"_{kind}")()]))

    def _pick(self, nodes: list[Node]) -> Node | None:
        return self.random.choice(nodes) if nodes else None

    def _messages(self) -> Action | None:
        node = self._pick(
            [one for one in self._up() if one.room is not None and one.room.may_publish()]
        )
        return ("publish", node.index, 0) if node else None

    def _leaves(self) -> Action | None:
        node = self._pick([one for one in self._up() if one.room and not one.has_left])
        at_once = int(self.random.random() < 0.3)
        return ("leave", node.index, at_once) if node and len(self._members()) > 1 else None

    def _crashes(self) -> Action | None:
        node = self._pick(self._up())
        return ("crash", node.index, 0) if node and len(self._members()) > 1 else None

    def _expulsions(self) -> Action | None:
        up = self._up()
        if len(up) < 3:
            return None
        one, other = self.random.sample(up, 2)
        return ("expel", one.index, other.index)

    def _sponsors(self) -> Action | None:
        node = self._pick(
            [one for one in self._up() if one.room is not None and not one.room.is_complete]
        )
        return None if node is None else self._ask(node)

    def _restarts(self) -> Action | None:
        node = self._pick([one for one in self._up() if not one.has_published])
        return ("down", node.index, 0) if node else None

    def _rejoins(self) -> Action | None:
        again = self._pick([one for one in self._up() if one.has_left or is_former(one)])
        told = self._pick(
            [
                one
                for one in self.world.nodes
                if one.status == TOLD and one is self.world.latest(one.name)
            ]
        )
        sponsors = [one for one in self._members() if one is not again]
        if not sponsors or not (again or told):
            return None
        sponsor = self.random.choice(sponsors).index
        if again and (not told or self.random.random() < 0.5):
            return ("join", again.index, sponsor)
        assert told is not None
        return ("return", told.index, sponsor)

    def _expel_for_good(self, node: Node) -> None:
        """Somebody decides that who is dead is out; who stops the wait of all others."""
        for one in self._up():
            if not one.has_fenced(node):
                self.world.do(("expel", one.index, node.index))

    def _come_to_rest(self) -> bool:
        for _ in range(STEPS_MAX):
            if not self._members():
                # Who joins waits for ever, in turn asking everybody: the state is lost.
                return True
            for node in self.world.nodes:
                if node.status in (DEAD, TOLD):
                    self._expel_for_good(node)
            if not self._go_on() and not self._ask_again():
                return True
        return False

    def _ask_again(self) -> bool:
        """Where sponsors forget, a joiner that hears nothing for long asks again, or another."""
        if not self.world.driver.forgets_rooms:
            return False
        for node in self._up():
            if node.room is not None and node.room.sponsor and not node.room.is_complete:
                self.world.do(self._ask(node))
                return True
        return False


def findings(seed: int, driver: Driver) -> list[str]:
    """What is wrong in the world of this seed."""
    return Run(seed, driver).run()


def findings_of_two_rooms(seed: int, driver: Driver) -> list[str]:
    """What is wrong where two rooms have the same name, and joiners ask in either.

    Who asked in both is told to have left the one when it gets the next word from there.
    """
    run = Run(seed, driver, has_two_rooms=True)
    run.budget.crashes = run.budget.expulsions = 0
    run.run()
    return run.say_goodbye()


def is_former(node: Node) -> bool:
    """Whether it was in the room before it restarted."""
    return node.room is None and node.joins > 0


def findings_with_forgetful_nodes(seed: int, driver: Driver) -> list[str]:
    """What is wrong where nodes that restart are in no room any more, and joiners lose patience.

    Whoever counts such a node in is told when it says something to it.
    """
    run = Run(seed, replace(driver, forgets_rooms=True))
    run.budget.restarts += 2
    run.run()
    return run.say_goodbye()


def driver_of(seed: int) -> Driver:
    """Every second one has a buffer behind its rooms, every third one sends bytes."""
    return Driver(is_eager=seed % 2 == 1, has_bytes=seed % 3 == 0)
