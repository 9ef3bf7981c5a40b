"""Lines of a file or pipe, read by a thread: for programs that take commands line by line."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import BinaryIO, Final

LINES_AHEAD: Final = 1024
"""At most 1,024 lines are read ahead: before those that came earlier have been taken."""

LINE_LIMIT: Final = 1 << 20
"""A line has at most 1 MiB, unless somebody expects longer ones."""

READ_BYTES: Final = 1 << 16
"""64 KiB are read at a time."""


class UrgentLine:
    """A line that may be taken out before its turn."""

    def __init__(self, text: bytes) -> None:
        self.text: Final = text


class InputLines:
    """The lines of a file or pipe, read by a thread: not everything readable can be polled.

    Of a line that is longer than the limit only the beginning is kept, up to 64 KiB beyond it.
    Lines that are `urgent` can be taken out before their turn.
    """

    def __init__(
        self,
        source: BinaryIO,
        line_limit: int = LINE_LIMIT,
        urgent: Callable[[bytes], bool] | None = None,
    ) -> None:
        self.ended = asyncio.Event()
        """Whether no more will be read; what has been read may still wait here."""
        self._source = source
        self._limit = line_limit
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[bytes | UrgentLine] = asyncio.Queue()
        self._is_urgent = urgent
        self._notify: Callable[[], None] = do_nothing
        # Those that have not been taken, in their order; each stands in the queue as well.
        self._urgent: deque[UrgentLine] = deque()
        self._room = threading.Semaphore(LINES_AHEAD)
        threading.Thread(target=self._read, name="antecede-input", daemon=True).start()

    async def next_line(self) -> bytes:
        """The next line; empty at the end."""
        while True:
            line = await self._lines.get()
            self._room.release()
            if isinstance(line, bytes):
                return line
            if self._urgent and self._urgent[0] is line:
                return self._urgent.popleft().text

    def take_urgent(self) -> bytes | None:
        """The next urgent line, before its turn; None if there is none."""
        return self._urgent.popleft().text if self._urgent else None

    def on_urgent(self, notify: Callable[[], None]) -> None:
        """Call this, in the loop, whenever an urgent line has come."""
        self._notify = notify

    def end(self) -> None:
        """Let no more come than has been read."""
        self.ended.set()
        self._lines.put_nowait(b"")

    def _take(self, line: bytes) -> None:
        if self._is_urgent is None or not self._is_urgent(line):
            self._lines.put_nowait(line)
            return
        urgent = UrgentLine(line)
        self._urgent.append(urgent)
        self._lines.put_nowait(urgent)  # Its turn, if it has not been taken out before.
        self._notify()

    def _read(self) -> None:
        # Past the buffered reader: the interpreter, when it exits, would want the lock that a
        # thread holds which waits for input, and abort.
        source = getattr(self._source, "raw", self._source)
        pieces: list[bytes] = []
        held = 0
        try:
            while chunk := source.read(READ_BYTES):
                first, *others = chunk.split(b"\n")
                if held <= self._limit:
                    pieces.append(first)
                    held += len(first)
                for piece in others:
                    self._put(b"".join(pieces) + b"\n")
                    pieces = [piece]
                    held = len(piece)
            if pieces[-1:] != [b""]:
                self._put(b"".join(pieces))
            self._loop.call_soon_threadsafe(self.end)
        except RuntimeError:
            return  # The loop is closed: nobody wants the rest.
        except (OSError, ValueError):
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self.end)

    def _put(self, line: bytes) -> None:
        self._room.acquire()
        self._loop.call_soon_threadsafe(self._take, line)


def do_nothing() -> None:
    """Nobody wants to know."""
