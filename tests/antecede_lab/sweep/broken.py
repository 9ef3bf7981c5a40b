"""Protocols that do not survive a run."""

import errno
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from antecede.core.catalogue import Create, ProtocolInfo
from antecede.core.process import CausalProcess
from antecede_lab.catalogue import find_protocol

ENDS_SPARK: Final = "ANTECEDE_TEST_ENDS_SPARK"


def raising(me: int, processes: Sequence[int], **options: object) -> CausalProcess:  # noqa: ARG001 every protocol takes them
    raise ZeroDivisionError("on purpose")


def dying(me: int, processes: Sequence[int], **options: object) -> CausalProcess:  # noqa: ARG001 every protocol takes them
    """Like a worker that the operating system kills because it takes too much memory."""
    os._exit(1)


def without_disk(me: int, processes: Sequence[int], **options: object) -> CausalProcess:  # noqa: ARG001 every protocol takes them
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def ending_spark(me: int, processes: Sequence[int], **options: object) -> CausalProcess:
    """Like hybrid, but where the variable names a signal the run ends Spark with it."""
    if ENDS_SPARK in os.environ:
        daemon = os.getppid()
        java = int(Path(f"/proc/{daemon}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(java, signal.Signals[os.environ[ENDS_SPARK]])
        time.sleep(60)  # Spark ends this worker before.
    return find_protocol("hybrid").create(me, processes, **options)


def broken(name: str, create: Create) -> ProtocolInfo:
    return ProtocolInfo(
        name, create, ordering="none", multicast=True, network="lossy", paper="none"
    )


RAISING = broken("raising", raising)
DYING = broken("dying", dying)
WITHOUT_DISK = broken("without-disk", without_disk)
ENDING_SPARK = broken("ending-spark", ending_spark)
