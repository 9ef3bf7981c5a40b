"""What has happened in a cluster: the events of all nodes, those that many saw as one."""

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

from antecede.runtime.observe.recent_events import COUNTED

HAPPENINGS_MAX: Final = 1_000
"""The last 1,000 are remembered."""

TOGETHER_S: Final = 60.0
"""If several nodes say the same within 60 s, it has happened once."""

TOLD_MAX: Final = 100
"""The last 100 are shown."""


@dataclass(slots=True, kw_only=True)
class Happening:
    """One thing that has happened, and who has seen it."""

    at_s: float
    kind: str
    peer: str
    """Who it is about."""
    text: str
    nodes: list[str] = field(default_factory=list)
    """Who has said so."""


class Happenings:
    """The last of them."""

    def __init__(self) -> None:
        # The latest of each kind, peer and text; those that happened before it follow by number.
        self._known: Final[OrderedDict[tuple[str, str, str, int], Happening]] = OrderedDict()
        self._number = 0
        self._latest: Final[dict[tuple[str, str, str], tuple[str, str, str, int]]] = {}

    def add(self, node: str, at_s: float, kind: str, peer: str, text: str) -> None:
        """A node says that this has happened at this time."""
        # What counts on is the same with another number in its text, and each node counts.
        counts = kind in COUNTED
        what = (kind, peer, node if counts else text)
        latest = self._latest.get(what)
        known = None if latest is None else self._known.get(latest)
        if known is not None and abs(known.at_s - at_s) <= TOGETHER_S:
            if node not in known.nodes:
                known.nodes.append(node)
            known.at_s = max(known.at_s, at_s) if counts else min(known.at_s, at_s)
            known.text = text
            return
        self._number += 1
        key = (*what, self._number)
        self._latest[what] = key
        self._known[key] = Happening(at_s=at_s, kind=kind, peer=peer, text=text, nodes=[node])
        while len(self._known) > HAPPENINGS_MAX:
            gone, _ = self._known.popitem(last=False)
            if self._latest.get(gone[:3]) == gone:
                del self._latest[gone[:3]]

    def last(self, about: str = "") -> list[Happening]:
        """The last ones, the newest first; those that a name has to do with, if there is one."""
        found = [
            one
            for one in self._known.values()
            if not about or about == one.peer or about in one.nodes
        ]
        return sorted(found, key=lambda one: -one.at_s)[:TOLD_MAX]
