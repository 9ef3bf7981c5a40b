"""Protocols that do not survive a run."""

import os
from collections.abc import Sequence

from antecede.core.catalogue import Create, ProtocolInfo
from antecede.core.process import CausalProcess


def raising(me: int, processes: Sequence[int], **options: object) -> CausalProcess:  # noqa: ARG001 every protocol takes them
    raise ZeroDivisionError("on purpose")


def dying(me: int, processes: Sequence[int], **options: object) -> CausalProcess:  # noqa: ARG001 every protocol takes them
    """Like a worker that the operating system kills because it takes too much memory."""
    os._exit(1)


def broken(name: str, create: Create) -> ProtocolInfo:
    return ProtocolInfo(
        name, create, ordering="none", multicast=True, network="lossy", paper="none"
    )


RAISING = broken("raising", raising)
DYING = broken("dying", dying)
