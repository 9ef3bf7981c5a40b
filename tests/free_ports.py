"""Ports that are still free when a program that is told of them gets there."""

import socket
from random import SystemRandom
from typing import Final

BELOW_EPHEMERAL: Final = range(10_000, 30_000)
"""The system gives none of these to a socket that takes what it gets, as most in the tests do."""


def free_port() -> int:
    """A UDP port that nobody listens on yet."""
    random = SystemRandom()
    for _ in range(1000):
        port = random.choice(BELOW_EPHEMERAL)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError("no port is free")
