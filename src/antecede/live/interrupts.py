"""Ctrl-C held back for a moment, so that a process being started is never forgotten."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Let an interrupt that comes within the block take effect at its end.

    Between the start of a process and the moment when somebody is charged with ending it, an
    exception would leave the process without an owner. Not done by blocking the signal: the new
    process would inherit that, and ignore Ctrl-C for good.
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield  # Interrupts are raised in the main thread only; or they are ignored anyway.
        return
    came: list[FrameType | None] = []
    signal.signal(signal.SIGINT, lambda _, frame: came.append(frame))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if came:
        handler(signal.SIGINT, came[0])
