#!/usr/bin/env python3
"""Tries an installed antecede: three nodes, a simulation, a judged run, the command line.

    smoke.py compiled|interpreted

Run by a Python that has nothing but the package and what it needs. What goes wrong is raised.
"""

import asyncio
import subprocess
import sys
from pathlib import Path

import antecede
from antecede.build_mode import why_interpreted


async def lunch() -> list[bytes]:
    """The triangle of the README, on real sockets; what Carol reads."""
    alice, bob, carol = [await antecede.open_node(name) for name in ("alice", "bob", "carol")]
    for node in (alice, bob, carol):
        for peer in {alice, bob, carol} - {node}:
            node.add_peer(peer.name, peer.address)
    await alice.send("carol", b"question")
    await alice.send("bob", b"hint")
    await bob.receive(timeout=20)
    await bob.send("carol", b"answer")
    read = [(await carol.receive(timeout=20)).payload for _ in range(2)]
    await asyncio.gather(alice.close(), bob.close(), carol.close())
    return read


def command(*arguments: str) -> str:
    """What `antecede ARGUMENTS` prints."""
    program = Path(sys.executable).with_name("antecede")
    ran = subprocess.run([program, *arguments], capture_output=True, text=True, check=True)
    return ran.stdout


def main() -> None:
    """Everything once."""
    expected = sys.argv[1]
    actual = "compiled" if antecede.compiled() else "interpreted"
    assert actual == expected, f"this is {actual}, not {expected}: {why_interpreted()}"
    assert "site-packages" in antecede.__file__, antecede.__file__
    assert asyncio.run(lunch()) == [b"question", b"answer"]
    assert actual in command("--version")
    assert "hybrid" in command("simulate", "-p", "hybrid", "--loss", "20%")
    print(f"works: {command('--version').strip()}")


if __name__ == "__main__":
    main()
