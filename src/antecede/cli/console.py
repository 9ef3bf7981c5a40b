"""Rich's console, for commands that print tables; those that do not need not load it."""

import errno
import os

import rich.console

__all__ = ["Console"]


class Console(rich.console.Console):
    """Rich's console, but a reader that has left is the command's to answer for."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
