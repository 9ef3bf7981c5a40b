"""Small programs for the model checker: who sends what to whom, and after which delivery.

A program has a notation that reads aloud, and `parse` understands what `Program.text` writes:

    0 sends a to 2, b to 1; 1 sends c to 2 after b

Each process submits its messages in the order in which they stand, as soon or as late as it likes,
but one `after` another only when it has delivered that other. Several targets, or several messages
to be delivered first, are joined with a plus: `a to 1+2 after b+c`.
"""

from collections.abc import Sequence
from typing import Final, final

from antecede.core.catalogue import ProtocolInfo
from antecede.core.errors import LocalError

PROCESSES_MAX: Final = 8
"""More processes than this make no small program."""

MESSAGES_MAX: Final = 32
"""More messages than this make no small program; sets of them are kept as bits of one integer."""


@final
class Send:
    """One submission: message `name` to `targets`, when its sender has delivered all of `after`."""

    __slots__ = ("after", "name", "targets")

    def __init__(self, name: str, targets: tuple[int, ...], after: tuple[str, ...] = ()) -> None:
        self.name: Final = name
        self.targets: Final = targets
        self.after: Final = after

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Send) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash((self.name, self.targets, self.after))

    def __repr__(self) -> str:
        words = f"{self.name} to {'+'.join([str(target) for target in self.targets])}"
        return f"{words} after {'+'.join(self.after)}" if self.after else words


@final
class Program:
    """What every process submits; `sends[p]` are the submissions of process p, in order."""

    __slots__ = ("name", "sends")

    def __init__(self, name: str, sends: Sequence[Sequence[Send]]) -> None:
        self.name: Final = name
        self.sends: Final = tuple([tuple(own) for own in sends])
        check_sense(self)
        check_runnable(self)

    @property
    def processes(self) -> int:
        """How many processes take part; their ids are 0, 1, 2, and so on."""
        return len(self.sends)

    @property
    def messages(self) -> list[tuple[int, Send]]:
        """Every submission with its sender, process by process."""
        return [(sender, send) for sender, own in enumerate(self.sends) for send in own]

    @property
    def text(self) -> str:
        """The program in the notation that `parse` understands."""
        clauses = [
            f"{sender} sends {', '.join([str(send) for send in own])}"
            for sender, own in enumerate(self.sends)
            if own
        ]
        return "; ".join(clauses)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Program) and self.sends == other.sends

    def __hash__(self) -> int:
        return hash(self.sends)

    def __repr__(self) -> str:
        return f"Program({self.name!r}, {self.text!r})"


def check_sense(program: Program) -> None:
    """`LocalError` unless names differ, targets exist, and nobody waits for another's message."""
    messages = program.messages
    if not 2 <= program.processes <= PROCESSES_MAX or not 1 <= len(messages) <= MESSAGES_MAX:
        raise LocalError(
            f"a program has 2 to {PROCESSES_MAX} processes and 1 to {MESSAGES_MAX} messages, "
            f"not {program.processes} and {len(messages)}"
        )
    targets_of = {send.name: send.targets for _, send in messages}
    if len(targets_of) < len(messages):
        raise LocalError(f"two messages have the same name in: {program.text}")
    for sender, send in messages:
        if not send.targets or len(set(send.targets)) < len(send.targets):
            raise LocalError(f"{send.name!r} needs targets, each of them once")
        for target in send.targets:
            if not 0 <= target < program.processes:
                raise LocalError(f"{send.name!r} goes to {target}, which is not a process")
        for cause in send.after:
            if sender not in targets_of.get(cause, ()):
                raise LocalError(f"{send.name!r} waits for {cause!r}, not sent to {sender}")


def check_runnable(program: Program) -> None:
    """`LocalError` if some message waits for itself, in one step or in several."""
    done: list[str] = []
    positions = [0] * program.processes
    moved = True
    while moved:
        moved = False
        for sender, own in enumerate(program.sends):
            while positions[sender] < len(own) and is_subset(own[positions[sender]].after, done):
                done.append(own[positions[sender]].name)
                positions[sender] += 1
                moved = True
    for _, send in program.messages:
        if send.name not in done:
            raise LocalError(f"{send.name!r} can never be submitted in: {program.text}")


def is_subset(names: tuple[str, ...], of: list[str]) -> bool:
    """Whether each of `names` is among `of`."""
    return all(name in of for name in names)


def parse(text: str, name: str = "") -> Program:
    """The program that `text` describes; `LocalError` says which part cannot be understood."""
    clauses: dict[int, list[Send]] = {}
    highest = 1
    for clause in text.split(";"):
        sender_word, verb, rest = clause.strip().partition(" sends ")
        if not verb:
            raise LocalError(f"expected '0 sends a to 1, ...' in place of {clause.strip()!r}")
        sender = parse_process(sender_word)
        own = clauses.setdefault(sender, [])
        for part in rest.split(","):
            send = parse_send(part)
            own.append(send)
            highest = max(highest, sender, *send.targets)
    if highest >= PROCESSES_MAX:
        raise LocalError(f"process {highest} is one too many: ids are below {PROCESSES_MAX}")
    return Program(name or text, [clauses.get(sender, []) for sender in range(highest + 1)])


def parse_send(part: str) -> Send:
    """One submission, such as `a to 1+2 after b`."""
    words = part.split()
    if len(words) not in (3, 5) or words[1] != "to" or (len(words) == 5 and words[3] != "after"):
        raise LocalError(f"expected 'a to 1+2' or 'a to 1 after b' in place of {part.strip()!r}")
    if not words[0].isprintable():
        raise LocalError(f"a message cannot be called {words[0]!r}: that cannot be printed")
    targets = tuple([parse_process(word) for word in words[2].split("+")])
    return Send(words[0], targets, tuple(words[4].split("+")) if len(words) == 5 else ())


def parse_process(word: str) -> int:
    """A process id."""
    if not word.isascii() or not word.isdigit():
        raise LocalError(f"expected the number of a process in place of {word!r}")
    return int(word)


def objection(info: ProtocolInfo, program: Program) -> str:
    """Why `info` cannot run `program`, in a few words; empty if it can."""
    everyone = program.processes
    for sender, send in program.messages:
        if not info.multicast and len(send.targets) > 1:
            return f"{info.name} has no multicast"
        others = len(send.targets) - (1 if sender in send.targets else 0)
        if info.broadcast_only and others < everyone - 1:
            return f"{info.name} only broadcasts"
    return ""


def first_indices(program: Program) -> list[int]:
    """For each process, the index of its first message."""
    first: list[int] = []
    total = 0
    for own in program.sends:
        first.append(total)
        total += len(own)
    return first


def addressed_messages(program: Program) -> list[int]:
    """For each process, as bits, the messages addressed to it."""
    addressed = [0] * program.processes
    for index, (_, send) in enumerate(program.messages):
        for target in send.targets:
            addressed[target] |= 1 << index
    return addressed


def awaited_messages(program: Program) -> list[int]:
    """For each message, as bits, what its sender must have delivered before it submits it."""
    messages = program.messages
    index_of = {send.name: index for index, (_, send) in enumerate(messages)}
    return [sum([1 << index_of[cause] for cause in send.after]) for _, send in messages]


def earlier_messages(program: Program, fifo: bool) -> list[int]:
    """For each message, as bits, the messages its sender submits before it; none unless `fifo`."""
    first = first_indices(program)
    return [
        (1 << index) - (1 << first[sender]) if fifo else 0
        for index, (sender, _) in enumerate(program.messages)
    ]


PROGRAMS: Final[dict[str, Program]] = {
    name: parse(text, name)
    for name, text in (
        # An effect overtakes its cause: the smallest story there is, and longer ones.
        ("triangle", "0 sends a to 2, b to 1; 1 sends c to 2 after b"),
        ("triangle-back", "0 sends a to 2, b to 1; 1 sends c to 2 after b; 2 sends d to 0 after c"),
        ("relay", "0 sends a to 3, b to 1; 1 sends c to 2 after b; 2 sends d to 3 after c"),
        # Many to one, one to many, and there and back.
        ("fan", "0 sends a to 1, b to 2; 1 sends c to 0 after a; 2 sends d to 0 after b"),
        ("stream", "0 sends a to 1, b to 1, c to 1, d to 1"),
        ("ping-pong", "0 sends a to 1, c to 1 after b; 1 sends b to 0 after a, d to 0 after c"),
        ("two-senders", "0 sends a to 2, b to 2; 1 sends c to 2, d to 0"),
        ("crossing", "0 sends a to 1, b to 2; 1 sends c to 0, d to 2"),
        # Permits from two senders at once, and an answer to the one who owes a permit.
        ("two-permits", "0 sends a to 2, b to 1; 2 sends c to 0, d to 1; 1 sends e to 0 after b+d"),
        ("answer-first", "0 sends a to 2, b to 1; 1 sends c to 0 after b, d to 2"),
        ("self-send", "0 sends a to 0, b to 1; 1 sends c to 0 after b, d to 1"),
        # Multicast.
        ("multicast-triangle", "0 sends a to 1+2; 1 sends b to 2 after a"),
        ("multicast-mix", "0 sends a to 1+2, b to 2; 1 sends c to 2 after a, d to 0+2"),
        ("multicast-self", "0 sends a to 0+1+2; 1 sends b to 0+1 after a; 2 sends c to 1 after a"),
        # Broadcast: what broadcast-only protocols can run too.
        ("multicast-chain", "0 sends a to 1+2; 1 sends b to 0+2 after a; 2 sends c to 0+1 after b"),
        ("broadcast-race", "0 sends a to 1+2, b to 1+2; 1 sends c to 0+2 after a"),
        ("broadcast-four", "0 sends a to 1+2, d to 1+2 after c; 1 sends b to 0+2 after a; "
                           "2 sends c to 0+1"),
    )
}  # fmt: skip
"""The programs that have a name, in plain sight."""
