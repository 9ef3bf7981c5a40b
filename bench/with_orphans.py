"""Runs a command and waits for all that it leaves behind: `python -m bench.with_orphans WORD...`.

Spark's Java outlives the Python that started it by a moment, and nobody waits for it, so nobody
would know what processor time it took, nor that of the workers it had. Here they become children
of this process, which ends when they have ended, with the status of the command.
"""

import ctypes
import os
import subprocess
import sys
from contextlib import suppress
from typing import Final

SET_CHILD_SUBREAPER: Final = 36
"""Linux's `prctl`: whoever loses its parent becomes a child of this process."""


def main() -> int:
    """Run the command; its status, as a shell would have it."""
    with suppress(AttributeError, OSError):  # Elsewhere orphans are not counted.
        ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    status = subprocess.run(sys.argv[1:], check=False).returncode
    with suppress(ChildProcessError):
        while True:
            os.wait()
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())
