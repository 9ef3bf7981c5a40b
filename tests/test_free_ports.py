"""No port is given twice, in one process or in two."""

import socket
import subprocess
import sys

import pytest

from tests.free_ports import BELOW_EPHEMERAL, BLOCK, CLAIMS, free_port

GIVE_SOME = """
import sys
from tests.free_ports import free_port
print(*(free_port() for _ in range(600)), flush=True)
sys.stdin.read()
"""


def test_no_port_is_given_twice() -> None:
    ours = [free_port() for _ in range(BLOCK)]
    with subprocess.Popen(
        [sys.executable, "-c", GIVE_SOME], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        theirs = [int(word) for word in other.stdout.readline().split()]
        ours += [free_port() for _ in range(BLOCK)]
    assert len(theirs) == 600
    assert len({*ours, *theirs}) == len(ours) + len(theirs)
    assert {*ours, *theirs} <= {*BELOW_EPHEMERAL}


def test_what_is_claimed_nobody_else_can_claim() -> None:
    port = free_port()
    names = [claim.getsockname().decode() for claim in CLAIMS]
    assert any(port in range(first, first + BLOCK) for first in firsts_of(names))
    for name in names:
        with (
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other,
            pytest.raises(OSError, match="in use"),
        ):
            other.bind(name)


def firsts_of(names: list[str]) -> list[int]:
    """The first ports of blocks that are claimed under these names."""
    return [int(name.rpartition("-")[2]) for name in names]
