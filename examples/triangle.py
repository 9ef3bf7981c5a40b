"""The triangle: Alice writes to Carol, then to Bob, whose answer to Carol must not come first.

Three processes of one protocol, no network: packets are carried by hand, and Alice's first one is
kept back until everything else has been tried. Run it with `hybrid` (the default) and Carol reads
the question first; run it with `none`, which does not order, and she reads the answer first.
"""

import sys

from antecede.core import Deliver, Effect
from antecede_lab.catalogue import find_protocol

ALICE, BOB, CAROL = range(3)
NAMES = ("Alice", "Bob", "Carol")


def triangle(protocol: str) -> list[str]:
    """Who read what, in order."""
    people = [find_protocol(protocol).create(me, range(3)) for me in range(3)]
    read: list[str] = []

    def carry(source: int, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Deliver):
                read.append(f"{NAMES[source]} reads: {effect.message.payload.decode()}")
            else:
                answer = people[effect.target].arrive(source, effect.packet, now_ns=0)
                carry(effect.target, answer)

    late = people[ALICE].submit([CAROL], b"Lunch at noon?", now_ns=0)
    carry(ALICE, people[ALICE].submit([BOB], b"I asked Carol about lunch.", now_ns=0))
    carry(BOB, people[BOB].submit([CAROL], b"I am coming too!", now_ns=0))
    carry(ALICE, late)
    return read


if __name__ == "__main__":
    print("\n".join(triangle(sys.argv[1] if len(sys.argv) > 1 else "hybrid")))
