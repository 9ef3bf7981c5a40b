"""What is wrong with a world, judged from the logs of its applications alone.

Publications are bits; `past` says which ones happened before each, through publications and control
words. A log is the state of an application: every publication that is in it, in order.
"""

from tests.antecede.groups.world import SPAN, UP, Node, World


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
                if not is_out(world.nodes[world.publisher[cause]], node)
            ]
        if publication % SPAN and not (before >> (publication - 1)) & 1:
            found.append(f"hole at {name}: {publication} without the one before it, in {log}")
        before |= 1 << publication
    return found


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
    publishers = {one.index for one in correct}
    for node in members:
        found += [
            f"lost at {node.name}{node.incarnation}: {publication}"
            for publication, publisher in world.publisher.items()
            if publisher in publishers and publication not in node.log
        ]
    expected = {(one.name, one.incarnation, one.joins) for one in members}
    for node in members:
        assert node.room is not None
        view = {(one.name, int(one.incarnation), int(one.joins)) for one in node.room.members()}
        if view != expected:
            found.append(f"view at {node.name}{node.incarnation}: {view}, not {expected}")
    found += [
        f"{node.name}{node.incarnation} has not joined"
        for node in correct
        if node.room is not None and not node.room.is_complete
    ]
    return found


def is_member(node: Node) -> bool:
    """Whether it has joined, and not left."""
    return node.room is not None and node.room.is_complete and not node.has_left
