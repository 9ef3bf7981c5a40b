"""No port is given twice, in one process or in two."""

import subprocess
import sys

from tests.free_ports import BELOW_EPHEMERAL, BLOCK, free_port

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
