"""What may befall the nodes of a simulation, beside what the network does: each fault has a name.

They are written as on the command line: `crash:50ms:3`, `restart:50ms:100ms:3`,
`pause:10ms:60ms:2`, `duplicate-name:20ms:1`, `expel:30ms:0:3`, `expel-gone:90ms:0`,
`power:40:100ms:3`, `leave:20ms:1`, `late:80ms:2`, `never:4`. Times count from the beginning of the
traffic, writes from the first one on.
"""

from dataclasses import dataclass
from typing import Final, final

from antecede.core.errors import LocalError
from antecede.units import parse_count, parse_duration

CRASH: Final = "crash"
RESTART: Final = "restart"
PAUSE: Final = "pause"
DUPLICATE_NAME: Final = "duplicate-name"
EXPEL: Final = "expel"
EXPEL_GONE: Final = "expel-gone"
POWER: Final = "power"
LEAVE: Final = "leave"
LATE: Final = "late"
NEVER: Final = "never"

FORMS: Final = {
    CRASH: "crash:AT:NODE",
    RESTART: "restart:AT:AWAY:NODE",
    PAUSE: "pause:START:END:NODE",
    DUPLICATE_NAME: "duplicate-name:AT:NODE",
    EXPEL: "expel:AT:BY:NODE",
    EXPEL_GONE: "expel-gone:AT:BY",
    POWER: "power:WRITE:AWAY:NODE",
    LEAVE: "leave:AT:NODE",
    LATE: "late:AT:NODE",
    NEVER: "never:NODE",
}
"""The faults, and how each is written."""


@final
@dataclass(frozen=True, kw_only=True)
class NodeFault:
    """At `start_ns` something happens to a node, which is over at `end_ns` if it ever is.

    A node that crashes says nothing more. One that restarts crashes, or is gone already, and comes
    back at `end_ns` as a new incarnation. One that pauses does nothing until `end_ns`: what arrives
    waits. A duplicate name is a second node that calls itself like this one, at another address.
    One that is expelled is suspected `by` another, rightly or wrongly. `expel-gone` is the right
    suspicion: the node expels all that are not there at that moment. At the `write`-th write of a
    node's journal its `power` fails, and is back after `end_ns`, for the same incarnation: if one
    node of a simulation has such a fault, all have journals. One that leaves sends nothing more,
    says bye and stops when nobody has anything for it. One that is late begins at `start_ns`, and
    `never` says that a node does not run at all.
    """

    kind: str
    process: int
    start_ns: int
    end_ns: int
    by: int = 0
    write: int = 0

    def __str__(self) -> str:
        if self.kind == POWER:
            return f"{self.kind}:{self.write}:{self.end_ns}ns:{self.process}"
        if self.kind == EXPEL:
            return f"{self.kind}:{self.start_ns}ns:{self.by}:{self.process}"
        if self.kind == NEVER:
            return f"{self.kind}:{self.process}"
        if self.kind in (CRASH, DUPLICATE_NAME, EXPEL_GONE, LEAVE, LATE):
            return f"{self.kind}:{self.start_ns}ns:{self.process}"
        end_ns = self.end_ns - self.start_ns if self.kind == RESTART else self.end_ns
        return f"{self.kind}:{self.start_ns}ns:{end_ns}ns:{self.process}"


def parse_node_fault(text: str) -> NodeFault:
    """A fault as it is written; `LocalError` says how it should be."""
    kind, *rest = text.split(":")
    form = FORMS.get(kind)
    if form is None or len(rest) != form.count(":"):
        raise LocalError(f"{text!r} is not a fault of a node; write {', '.join(FORMS.values())}")
    process = parse_count(rest[-1])
    if kind == POWER:
        away_ns, write = parse_duration(rest[1]), parse_count(rest[0])
        return NodeFault(kind=kind, process=process, start_ns=0, end_ns=away_ns, write=write)
    if kind == NEVER:
        return NodeFault(kind=kind, process=process, start_ns=0, end_ns=0)
    start_ns = parse_duration(rest[0])
    if kind == EXPEL:
        by = parse_count(rest[1])
        return NodeFault(kind=kind, process=process, start_ns=start_ns, end_ns=start_ns, by=by)
    end_ns = start_ns if len(rest) == 2 else parse_duration(rest[1])
    if kind == RESTART:
        end_ns += start_ns
    if end_ns < start_ns:
        raise LocalError(f"{text!r} ends before it starts")
    return NodeFault(kind=kind, process=process, start_ns=start_ns, end_ns=end_ns)


def check_faults(node_faults: list[NodeFault], processes: int) -> None:
    """`LocalError` if a fault names a node that is not there."""
    for fault in node_faults:
        for process in (fault.process, fault.by):
            if process >= processes:
                raise LocalError(f"there is no node {process}: they are 0 to {processes - 1}")
