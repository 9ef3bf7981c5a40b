"""docs/COMPARISON.md says who else stops when one receiver stops; here each protocol is asked.

a sends a message to b and c, and c has stopped: nothing reaches it, nothing comes from it. Then one
of the others sends something that has nothing to do with c. Timers run for twenty seconds.
"""

from pathlib import Path

import pytest

from antecede.core.catalogue import ProtocolInfo
from antecede.core.effects import Deliver, Effect, Transmit
from antecede.core.errors import BufferFull
from antecede.core.packets import Packet
from antecede_lab.catalogue import PROTOCOLS

ROOT = Path(__file__).parent.parent.parent.parent
DOCUMENT = (ROOT / "docs" / "COMPARISON.md").read_text(encoding="utf-8")
HEAD = "| protocol | a → d | b → d | d → e |"

SECOND_NS = 1_000_000_000
PATIENCE_NS = 20 * SECOND_NS

PLACES = {
    "": (0, 1, 2, 3, 4),
    "c a leaf": (0, 1, 2, 3, 4),
    "c on the way to d and e": (0, 2, 1, 3, 4),
    "c no gateway": (0, 1, 2, 3, 4),
    "c the gateway of d": (0, 1, 3, 4, 2),
}
"""Which processes are a, b, c, d and e: a tree has its root at 0, whose children are 1 and 2;
separators have the domains 0 to 2 and 3 to 4, each with its first one as gateway."""

CASES = ((0, 3), (1, 3), (3, 4))
"""Who sends to whom, as places among a, b, c, d and e."""


class World:
    """Five processes, of which one has stopped."""

    def __init__(self, info: ProtocolInfo, stopped: int) -> None:
        self._info = info
        self._processes = [info.create(number, range(5)) for number in range(5)]
        self._stopped = stopped
        self._wire: list[tuple[int, int, Packet]] = []
        self._now_ns = 0
        self.delivered: list[tuple[int, bytes]] = []

    def send(self, sender: int, targets: list[int], payload: bytes) -> None:
        """As the protocol can: to everybody, as one message, or as one to each; c's goes first.

        Where a full buffer makes the caller wait, nothing more is sent.
        """
        if self._info.broadcast_only:
            groups = [list(range(5))]
        elif self._info.multicast:
            groups = [targets]
        else:
            groups = [[target] for target in sorted(targets, key=lambda x: x != self._stopped)]
        for group in groups:
            try:
                effects = self._processes[sender].submit(group, payload, self._now_ns)
            except BufferFull:
                return
            self._do(sender, effects)

    def settle(self) -> None:
        """Until nothing is under way, and no timer rings any more in the time that is given."""
        until_ns = self._now_ns + PATIENCE_NS
        while True:
            while self._wire:
                self._carry(*self._wire.pop(0))
            due = [
                (wake_ns, number)
                for number, process in enumerate(self._processes)
                if number != self._stopped and (wake_ns := process.deadline_ns()) is not None
            ]
            if not due or min(due)[0] > until_ns:
                return
            wake_ns, number = min(due)
            self._now_ns = max(self._now_ns, wake_ns)
            self._do(number, self._processes[number].expire(self._now_ns))

    def _carry(self, source: int, target: int, packet: Packet) -> None:
        if self._stopped not in (source, target):
            self._now_ns += 1_000
            self._do(target, self._processes[target].arrive(source, packet, self._now_ns))

    def _do(self, process: int, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Transmit):
                self._wire.append((process, effect.target, effect.packet))
            elif isinstance(effect, Deliver):
                self.delivered.append((process, effect.message.payload))


def answer(info: ProtocolInfo, places: tuple[int, ...], case: tuple[int, int]) -> str:
    """Whether that message is delivered although c has stopped."""
    a, b, c, _, _ = places
    world = World(info, c)
    sender, target = places[case[0]], places[case[1]]
    world.send(a, [b, c], b"to b and c")
    world.settle()
    world.send(sender, [target], b"something else")
    world.settle()
    return "goes on" if (target, b"something else") in world.delivered else "waits"


def documented() -> dict[tuple[str, str], tuple[str, ...]]:
    """By protocol and place of c: what the document says."""
    found = {}
    for line in DOCUMENT.partition(HEAD)[2].partition("\n\n")[0].splitlines()[2:]:
        names, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        listed, _, place = names.partition("; ")
        for name in listed.split(", "):
            found[name, place] = tuple(cells[:3])
    return found


SAID = documented()


def test_every_protocol_is_in_the_table() -> None:
    assert {name for name, _ in SAID} == set(PROTOCOLS)


@pytest.mark.parametrize(("name", "place"), sorted(SAID))
def test_who_else_stops_is_as_documented(name: str, place: str) -> None:
    info = PROTOCOLS[name]
    assert tuple(answer(info, PLACES[place], case) for case in CASES) == SAID[name, place]


def test_under_mf_the_rest_goes_on_except_whom_the_message_itself_is_for() -> None:
    """Its sender waits for c's acknowledgement, so b never gets its copy."""
    for name, gets_it in {"mf": False, "hybrid": True}.items():
        world = World(PROTOCOLS[name], 2)
        world.send(0, [1, 2], b"to b and c")
        world.settle()
        assert ((1, b"to b and c") in world.delivered) == gets_it
