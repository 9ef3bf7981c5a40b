"""What the stages must find, told in plain Python, one message at a time."""

from antecede_audit.eventlog.workload import WorkloadRow


def known_causes(rows: list[WorkloadRow]) -> dict[int, set[int]]:
    """The causes of each message that are there and are delivered at its sender."""
    by_id = {row.message_id: row for row in rows}
    return {
        row.message_id: {
            cause for cause in row.causes if cause in by_id and row.sender in by_id[cause].targets
        }
        for row in rows
    }


def depths_and_times(rows: list[WorkloadRow]) -> dict[int, tuple[int, int]]:
    """Depth and time of every message that can ever leave."""
    known = known_causes(rows)
    placed: dict[int, tuple[int, int]] = {}
    news = True
    while news:
        news = False
        for row in rows:
            complete = set(row.causes) == known[row.message_id] and known[row.message_id] <= set(
                placed
            )
            if complete and row.message_id not in placed:
                before = [placed[cause] for cause in row.causes]
                depth = max((depth + 1 for depth, _ in before), default=0)
                time_ns = max((time_ns for _, time_ns in before), default=0)
                placed[row.message_id] = depth, time_ns + row.delay_ns
                news = True
    return placed


def groups(members: list[object], pairs: list[tuple[object, object]]) -> set[frozenset[object]]:
    """What the pairs connect."""
    group = {member: {member} for member in members}
    for one, other in pairs:
        if group[one] is not group[other]:
            group[one] |= group[other]
            for member in group[other]:
                group[member] = group[one]
    return {frozenset(members) for members in group.values()}


def conversations(rows: list[WorkloadRow]) -> set[frozenset[object]]:
    """Messages that causes connect."""
    known = known_causes(rows)
    pairs: list[tuple[object, object]] = [
        (message, cause) for message, causes in known.items() for cause in causes
    ]
    return groups([row.message_id for row in rows], pairs)


def ranks(rows: list[WorkloadRow]) -> dict[int, int]:
    """The place of each message by time, causes before effects; what never leaves comes last."""
    placed = depths_and_times(rows)
    never = (-1, 1 << 62)
    order = sorted((placed.get(row.message_id, never)[::-1], row.message_id) for row in rows)
    return {message: place for place, (_, message) in enumerate(order)}


def errands(rows: list[WorkloadRow]) -> set[frozenset[object]]:
    """What belongs together at one process: ("sent", message) and ("copy", message, target)."""
    return errands_and_answers(rows)[0]


def errands_and_answers(
    rows: list[WorkloadRow],
) -> tuple[set[frozenset[object]], dict[tuple[int, int], int]]:
    """The same, and which message each copy that is an answer answers."""
    known = known_causes(rows)
    rank = ranks(rows)
    by_id = {row.message_id: row for row in rows}
    home: dict[object, set[object]] = {}
    for row in rows:
        for member in [("sent", row.message_id)] + [
            ("copy", row.message_id, t) for t in row.targets
        ]:
            home[member] = {member}
    answers: dict[tuple[int, int], int] = {}
    processed: set[int] = set()
    for row in sorted(rows, key=lambda row: rank[row.message_id]):
        own = ("sent", row.message_id)
        for cause in known[row.message_id]:
            unite(home, own, ("copy", cause, row.sender))
        for target in row.targets:
            asked = [
                (rank[other], other)
                for other in processed | {row.message_id}
                if by_id[other].sender == target
                and ("copy", other, row.sender) in home[own]
                and (other, row.sender) not in answers
                and (other != row.message_id or delivered_before(row, row.sender, target))
            ]
            if asked:
                answers[row.message_id, target] = max(asked)[1]
                unite(home, ("sent", max(asked)[1]), ("copy", row.message_id, target))
        processed.add(row.message_id)
    return {frozenset(group) for group in home.values()}, answers


def delivered_before(row: WorkloadRow, one: int, other: int) -> bool:
    """Whether the copy to `one` comes before the copy to `other` among the targets."""
    return row.targets.index(one) < row.targets.index(other) if one in row.targets else False


def unite(home: dict[object, set[object]], one: object, other: object) -> None:
    """Make the groups of two members one."""
    if home[one] is not home[other]:
        home[one] |= home[other]
        for member in home[other]:
            home[member] = home[one]


def effects(rows: list[WorkloadRow]) -> dict[tuple[int, int], int]:
    """How many messages the target of each copy sends because of it."""
    known = known_causes(rows)
    return {
        (row.message_id, target): sum(
            other.sender == target and row.message_id in known[other.message_id] for other in rows
        )
        for row in rows
        for target in row.targets
    }
