"""Figure "unified buffer and missing permits": messages a to n and what the four indexes say.

Process i sends a to n. When it is drawn a and b are acknowledged and gone, c is the first that is
not. Everything before m1 has been transmitted, nothing from m2 on has, and of those between some
have, and one is acknowledged. Permits p and r are of one sender, s is the first of another; one
between them has been granted. Letters are the paper's where its caption names them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from antecede.core import CausalProcess, Deliver, Effect, Transmit
from antecede.core.hybrid.node import HybridProcess
from antecede.core.packets import Ack, DataPacket, Message, Permit
from antecede_lab.catalogue import PROTOCOLS
from antecede_lab.protocols.paper_sps import PaperSpsProcess

ROOT = Path(__file__).parent.parent.parent

I, P, S, Q, C, F, Z = range(7)  # noqa: E741 (the figure calls that process i)
"""The process; the senders of p and r, of s, of q; the receivers of c and e, of f; a third one."""

RECEIVERS = {"a": Z, "b": Z, "c": C, "d": Z, "e": C, "f": F, "g": F, "h": P, "i": P, "j": Z,
             "k": P, "l": P, "m": F, "n": P}  # fmt: skip


@dataclass
class Drawing:
    """Process i, carried through the run that the figure shows the end of."""

    process: CausalProcess
    sent: list[str] = field(default_factory=list)
    numbers: dict[int, int] = field(default_factory=dict)

    def submit(self, letters: str) -> None:
        """Causal-send messages."""
        for letter in letters:
            effects = self.process.submit([RECEIVERS[letter]], letter.encode(), 0)
            self.note(effects)

    def note(self, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Transmit) and effect.packet.message is not None:
                self.sent.append(effect.packet.message.payload.decode())

    def acknowledge(self, letter: str) -> None:
        """The receiver has delivered it."""
        number = "abcdefghijklmn".index(letter) + 1
        self.note(self.process.arrive(RECEIVERS[letter], Ack(number), 0))

    def deliver(self, sender: int) -> int:
        """A message that needs a permit comes from there; its id."""
        previous = self.numbers.get(sender, 0)
        self.numbers[sender] = previous + 1
        packet = DataPacket(Message(sender, previous + 1, b""), previous, True)
        effects = self.process.arrive(sender, packet, 0)
        assert any(isinstance(effect, Deliver) for effect in effects)
        return previous + 1

    def run(self) -> "Drawing":
        """Everything up to the moment that is drawn."""
        self.submit("abcdef")
        self.deliver(P)  # p
        self.submit("ghi")
        permitted = self.deliver(Q)  # q
        self.deliver(P)  # r
        self.submit("jk")
        self.deliver(S)  # s
        self.submit("lmn")
        for letter in ("a", "b", "d", "i"):
            self.acknowledge(letter)
        self.note(self.process.arrive(Q, Permit(permitted), 0))
        return self


def drawn(protocol: str) -> Drawing:
    return Drawing(PROTOCOLS[protocol].create(I, range(7))).run()


def cells(process: PaperSpsProcess) -> Iterator[tuple[str, str, int]]:
    """Of each message in the buffer: its letter, what is known of it, and what it waits for."""
    for index in range(process._u.first, process._u.next):
        entry = process._u[index]
        letter = "abcdefghijklmn"[index - 1]
        state = "acked" if entry.message is None else "sent" if entry.sent else "unsent"
        yield letter, state, entry.per


@pytest.mark.parametrize("protocol", ["paper-sps", "hybrid-sps"])
def test_what_has_been_transmitted(protocol: str) -> None:
    """All before g; h, i and k, whose receiver owes the only permits they miss; nothing from l."""
    assert sorted(drawn(protocol).sent) == list("abcdefhik")


def test_the_indexes_of_the_listing() -> None:
    """m1 is g, m2 is l, u2 is f, and p2 is s."""
    process = drawn("paper-sps").process
    assert isinstance(process, PaperSpsProcess)
    letters = " abcdefghijklmn"
    assert letters[process._u.first] == "c"
    assert letters[process._m1] == "g"
    assert letters[process._m2] == "l"
    assert letters[process._u2] == "f"
    assert process._p2 == 4
    assert [process._p[index] for index in range(1, 5)] == [(P, 1), None, (P, 2), (S, 1)]
    assert process._p.next == 5


def test_the_caption_holds() -> None:
    """f.rcv ≠ c.rcv = e.rcv; s.snd ≠ p.snd = r.snd; l.per > p2 and k.per ≤ p2."""
    process = drawn("paper-sps").process
    assert isinstance(process, PaperSpsProcess)
    known = {letter: (state, per) for letter, state, per in cells(process)}
    assert [letter for letter, (state, _) in known.items() if state == "acked"] == ["d", "i"]
    assert [letter for letter, (state, _) in known.items() if state == "unsent"] == list("gjlmn")
    assert RECEIVERS["f"] != RECEIVERS["c"] == RECEIVERS["e"]
    assert known["k"][1] <= process._p2 < known["l"][1]


def test_the_indexes_of_the_product_are_those_of_the_listing() -> None:
    """They are called released (m1) and settled (u2); every peer has a queue in place of m2."""
    process = drawn("hybrid-sps").process
    assert isinstance(process, HybridProcess)
    letters = " abcdefghijklmn"
    assert letters[process._unacked.first] == "c"
    assert letters[process._released] == "g"
    assert letters[process._settled] == "f"


def test_m2_of_the_listing_may_lag_behind_what_the_caption_says_of_it() -> None:
    """Only the permit at p2 moves it, so messages submitted since may have been transmitted.

    "No message starting from index m2 has been network-sent" holds when it has just been moved, as
    above; here h has left, and m2 is h. That costs nothing but steps: it never passes a message
    that must still be looked at.
    """
    drawing = Drawing(PROTOCOLS["paper-sps"].create(I, range(7)))
    drawing.submit("abcdef")
    drawing.deliver(P)
    permitted = drawing.deliver(Q)
    drawing.submit("g")
    drawing.note(drawing.process.arrive(Q, Permit(permitted), 0))
    drawing.submit("h")
    assert isinstance(drawing.process, PaperSpsProcess)
    assert drawing.sent[-1] == "h"
    assert " abcdefgh"[drawing.process._m2] == "h"


def test_when_the_permit_at_p2_comes_the_rest_for_the_first_sender_leaves() -> None:
    for protocol in ("paper-sps", "hybrid-sps"):
        drawing = drawn(protocol)
        drawing.sent.clear()
        drawing.note(drawing.process.arrive(S, Permit(1), 0))
        assert drawing.sent == ["l", "n"], protocol


def test_when_the_first_permits_come_those_up_to_the_next_sender_leave() -> None:
    for protocol in ("paper-sps", "hybrid-sps"):
        drawing = drawn(protocol)
        drawing.sent.clear()
        for number in (1, 2):
            drawing.note(drawing.process.arrive(P, Permit(number), 0))
        assert drawing.sent == ["g", "j"], protocol


def test_the_picture_in_the_documents_is_of_this_run() -> None:
    """Its letters stand in the order of the buffer, and its marks where the indexes are."""
    process = drawn("paper-sps").process
    assert isinstance(process, PaperSpsProcess)
    picture = (ROOT / "docs" / "images" / "unified-buffer.svg").read_text(encoding="utf-8")
    for letter, state, _ in cells(process):
        assert f'class="{state}" data-message="{letter}"' in picture
    letters = " abcdefghijklmn"
    marks = {"m1": process._m1, "m2": process._m2, "u2": process._u2}
    for name, index in marks.items():
        assert f'data-mark="{name}" data-at="{letters[index]}"' in picture
    assert 'data-mark="p2" data-at="s"' in picture
