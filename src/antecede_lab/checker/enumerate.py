"""Every program of a given size, up to the names of the processes.

A campaign over all of them needs no imagination: whatever a handful of messages can show, one of
them shows. Each message goes from any process to any others, spontaneously or after any one message
addressed to its sender.
"""

from itertools import permutations
from typing import Final, TypeAlias

from antecede.core.errors import LocalError
from antecede_lab.checker.programs import Program, Send

SIZE_MAX: Final = 5
"""There are too many programs with more messages than this to look at each."""

NAMES: Final = "abcdefghijklmnopqrstuvwxyz"
SPONTANEOUS: Final = (-1, -1)

# A message is known by its sender and its position there, so renaming processes renames it too.
MessageId: TypeAlias = tuple[int, int]
Sketch: TypeAlias = tuple[tuple[tuple[tuple[int, ...], MessageId], ...], ...]
"""For each process its sends: the targets, and the message it waits for, or SPONTANEOUS."""


def every_program(size: int, processes: int = 3, multicast: bool = False) -> list[Program]:
    """All programs of `size` messages between `processes` processes, one of each shape."""
    if not 1 <= size <= SIZE_MAX or not 2 <= processes <= 4:
        raise LocalError(f"every program: of 1 to {SIZE_MAX} messages, between 2 to 4 processes")
    shapes: list[Sketch] = []
    seen: set[Sketch] = set()
    for counts in distributions(size, processes):
        for sketch in sketches(counts, multicast):
            shape = canonical(sketch, processes)
            if shape not in seen:
                seen.add(shape)
                shapes.append(shape)
    programs: list[Program] = []
    for shape in shapes:
        program = realised(shape, f"every-{size}-{len(programs) + 1}")
        if program is not None:
            programs.append(program)
    return programs


def distributions(size: int, processes: int) -> list[tuple[int, ...]]:
    """How many messages each process sends; the busiest first, as names do not matter."""
    found: list[tuple[int, ...]] = [()]
    for _ in range(processes):
        found = [
            (*counts, count)
            for counts in found
            for count in range(size - sum(counts), -1, -1)
            if not counts or count <= counts[-1]
        ]
    return [counts for counts in found if sum(counts) == size]


def sketches(counts: tuple[int, ...], multicast: bool) -> list[Sketch]:
    """Every choice of targets and waits for processes that send `counts` messages each."""
    found: list[Sketch] = [()]
    for sender, count in enumerate(counts):
        choices = target_choices(sender, len(counts), multicast)
        lists: list[tuple[tuple[tuple[int, ...], MessageId], ...]] = [()]
        for _ in range(count):
            lists = [(*own, (targets, SPONTANEOUS)) for own in lists for targets in choices]
        found = [(*sketch, own) for sketch in found for own in lists]
    return [waiting for sketch in found for waiting in with_waits(sketch)]


def target_choices(sender: int, processes: int, multicast: bool) -> list[tuple[int, ...]]:
    """Each other process, or each set of them."""
    others = [process for process in range(processes) if process != sender]
    if not multicast:
        return [(process,) for process in others]
    return [
        tuple([others[i] for i in range(len(others)) if chosen >> i & 1])
        for chosen in range(1, 1 << len(others))
    ]


def with_waits(sketch: Sketch) -> list[Sketch]:
    """The sketch with every send spontaneous or after one message that its sender gets."""
    found: list[Sketch] = [()]
    for sender, own in enumerate(sketch):
        inbox = [
            (other, position)
            for other, sends in enumerate(sketch)
            for position, (targets, _) in enumerate(sends)
            if sender in targets
        ]
        lists: list[tuple[tuple[tuple[int, ...], MessageId], ...]] = [()]
        for targets, _ in own:
            lists = [
                (*sends, (targets, cause))
                for sends in lists
                for cause in [SPONTANEOUS, *inbox]
                # What an earlier send has waited for is there already.
                if cause == SPONTANEOUS or cause not in [earlier for _, earlier in sends]
            ]
        found = [(*partial, sends) for partial in found for sends in lists]
    return found


def canonical(sketch: Sketch, processes: int) -> Sketch:
    """The first of the sketches that differ only in the names of the processes: 0 sends most."""
    best = sketch
    for names in permutations(range(processes)):
        renamed = rename(sketch, names)
        if ([-len(own) for own in renamed], renamed) < ([-len(own) for own in best], best):
            best = renamed
    return best


def rename(sketch: Sketch, names: tuple[int, ...]) -> Sketch:
    """The sketch in which process p is called `names[p]`."""
    own: list[tuple[tuple[tuple[int, ...], MessageId], ...]] = [()] * len(names)
    for sender, sends in enumerate(sketch):
        own[names[sender]] = tuple(
            [
                (
                    tuple(sorted([names[target] for target in targets])),
                    SPONTANEOUS if cause == SPONTANEOUS else (names[cause[0]], cause[1]),
                )
                for targets, cause in sends
            ]
        )
    return tuple(own)


def realised(sketch: Sketch, name: str) -> Program | None:
    """The program, or None if its messages wait for each other in a circle."""
    letters = iter(NAMES)
    names = {
        (sender, position): next(letters)
        for sender, sends in enumerate(sketch)
        for position in range(len(sends))
    }
    sends = [
        [
            Send(
                names[sender, position],
                targets,
                () if cause == SPONTANEOUS else (names[cause],),
            )
            for position, (targets, cause) in enumerate(own)
        ]
        for sender, own in enumerate(sketch)
    ]
    reached = [target for sketched in sketch for targets, _ in sketched for target in targets]
    while len(sends) > 2 and not sends[-1] and len(sends) - 1 not in reached:
        sends.pop()
    try:
        return Program(name, sends)
    except LocalError:
        return None
