"""Ports that are still free when a program that is told of them gets there.

Between being told of a port and taking it, a program starts, which takes a while. So no port is
given twice, and those who run tests at the same time on one machine give ports of different blocks.
Who has claimed a block shows in a socket with its name, which ends with the process.
"""

import atexit
import socket
from collections.abc import Iterator
from random import SystemRandom
from typing import Final

BELOW_EPHEMERAL: Final = range(10_000, 30_000)
"""The system gives none of these to a socket that takes what it gets, as most in the tests do."""

BLOCK: Final = 500

CLAIMS: Final[list[socket.socket]] = []


def claimed() -> Iterator[int]:
    """All ports of blocks that nobody else has claimed, in no particular order of blocks."""
    firsts = range(BELOW_EPHEMERAL.start, BELOW_EPHEMERAL.stop, BLOCK)
    for first in SystemRandom().sample(firsts, len(firsts)):
        claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            claim.bind(f"\0antecede-test-ports-{first}")
        except OSError:
            claim.close()
            continue
        CLAIMS.append(claim)
        atexit.register(claim.close)
        yield from range(first, first + BLOCK)


PORTS: Final = claimed()


def free_port() -> int:
    """A UDP port that nobody listens on yet, and that nobody else is told of."""
    for port in PORTS:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError("no port is free")
