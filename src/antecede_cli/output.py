"""What becomes of a command when what it prints can no longer be written.

Whoever reads it may leave early (`antecede simulate | head -1`), which is no error; or a disk is
full, which is one. What Python still holds back at the end it would write when nobody can answer
for it any more, and exit with 120; so everything is written, or given up, before that.
"""

import os
import signal
import sys
from contextlib import suppress
from typing import Final, TextIO

import click

INTERRUPTED: Final = 128 + signal.SIGINT
"""The exit status after Ctrl-C; 1 would mean that something was found."""

READER_GONE: Final = 128 + signal.SIGPIPE
"""The exit status when the reader left, as other commands have it."""

FAILED: Final = 2


class Failed(click.ClickException):
    """What was asked for did not end well, though it made sense: shown as `Error: ...`."""

    exit_code = 1


def status_of(ended: SystemExit) -> int:
    """The exit status that was asked for."""
    if ended.code is None:
        return 0
    return ended.code if isinstance(ended.code, int) else 1


def finish_output(status: int) -> int:
    """Write what is held back; the status to exit with instead of `status` if that fails."""
    failure = flushed(sys.stdout)
    if failure is not None and status == 0:
        if isinstance(failure, BrokenPipeError):
            status = READER_GONE
        else:
            status = FAILED
            with suppress(OSError):
                print(f"Error: the output cannot be written: {failure.strerror}", file=sys.stderr)
    flushed(sys.stderr)
    return status


def flushed(stream: TextIO | None) -> OSError | None:
    """Write what `stream` holds back; if that fails the error, and what is left goes nowhere."""
    if stream is None or stream.closed:
        return None
    try:
        stream.flush()
    except OSError as error:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
        return error
    return None
