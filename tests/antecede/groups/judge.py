"""What is wrong with a world, judged from the logs of its applications alone.

Publications are bits; `past` says which ones happened before each, through publications and control
words. A log is the state of an application: every publication that is in it, in order.
"""

from antecede.groups import RoomId
from tests.antecede.groups.world import SPAN, UP, Node, World

UNKNOWN = RoomId("room")


def judge(world: World) -> list[str]:
    """All findings of a world that has come to rest."""
    found = judge_order(world)
    if is_split(world):
        return found
    return found + judge_end(world)


def is_split(world: World) -> bool:
    """Whether two have expelled each other: each half is right for itself."""
    return any(
        one.has_fenced(other) and other.has_fenced(one)
        for one in world.nodes
        for other in world.nodes
        if one is not other
    )


def judge_order(world: World) -> list[str]:
    """What must hold everywhere and always: (a) and (b)."""
    found: list[str] = []
    split = is_split(world)
    for node in world.nodes:
        for log in [*node.former_logs, tuple(node.log)]:
            found += judge_log(world, node, log, split)
    return found


def judge_log(world: World, node: Node, log: tuple[int, ...], split: bool) -> list[str]:
    """Duplicates, order, holes, and gaps that no expulsion explains."""
    name = f"{node.name}{node.incarnation}"
    if len(set(log)) != len(log):
        return [f"duplicate at {name}: {log}"]
    found: list[str] = []
    everything = 0
    for publication in log:
        everything |= 1 << publication
    before = 0
    for publication in log:
        missing = world.past[publication] & ~before
        if missing & everything:
            found.append(f"order at {name}: {publication} before its cause, in {log}")
        if missing & ~everything and not split:
            found += [
                f"gap at {name}: {publication} without {cause}, of one that is not expelled here"
                for cause in bits(missing & ~everything)
                if world.said_in[cause] == world.said_in[publication]
                and not is_out(world.nodes[world.publisher[cause]], node)
            ]
        if not has_those_before(world, publication, before):
            found.append(f"hole at {name}: {publication} without the one before it, in {log}")
        before |= 1 << publication
    return found


def has_those_before(world: World, publication: int, before: int) -> bool:
    """Whether what the same publisher said last, in the same room, is there."""
    for earlier in range(publication - 1, publication - publication % SPAN - 1, -1):
        if world.said_in[earlier] == world.said_in[publication]:
            return bool((before >> earlier) & 1)
    return True


def is_out(publisher: Node, node: Node) -> bool:
    """Whether this one is expelled here, or is a former life of the node itself."""
    is_former = publisher.name == node.name and publisher.incarnation < node.incarnation
    return is_former or node.has_fenced(publisher)


def bits(numbers: int) -> list[int]:
    """Which bits are set."""
    return [bit for bit in range(numbers.bit_length()) if (numbers >> bit) & 1]


def judge_end(world: World) -> list[str]:
    """(c), (e) and (f): what holds when everything has come to rest."""
    survivors = [one for one in world.nodes if one.status == UP]
    correct = [one for one in survivors if not any(other.has_fenced(one) for other in survivors)]
    members = [one for one in survivors if is_member(one)]
    found: list[str] = []
    if not any(is_member(one) for one in correct):
        return found  # The state is lost.
    for room in {id_of(one) for one in members}:
        of_room = [one for one in members if id_of(one) == room]
        found += judge_room(world, of_room, {one.index for one in correct})
    found += [
        f"{node.name}{node.incarnation} has not joined"
        for node in correct
        if node.room is not None and not node.room.is_complete
        if any(is_member(one) and id_of(node) in (id_of(one), UNKNOWN) for one in correct)
    ]
    return found


def judge_room(world: World, members: list[Node], publishers: set[int]) -> list[str]:
    """(c) and (e), among those who are in one room."""
    found: list[str] = []
    expected = {(one.name, one.incarnation, one.joins) for one in members}
    for node in members:
        assert node.room is not None
        found += [
            f"lost at {node.name}{node.incarnation}: {publication}"
            for publication, publisher in world.publisher.items()
            if publisher in publishers
            and world.said_in[publication] == id_of(node)
            and publication not in node.log
        ]
        view = {(one.name, int(one.incarnation), int(one.joins)) for one in node.room.members()}
        if view != expected:
            found.append(f"view at {node.name}{node.incarnation}: {view}, not {expected}")
    return found


def id_of(node: Node) -> RoomId:
    """Which room a member is in."""
    assert node.room is not None
    return node.room.room


def is_member(node: Node) -> bool:
    """Whether it has joined, and not left."""
    return node.room is not None and node.room.is_complete and not node.has_left
