"""Lines in and out of a process, with limits: of what is read ahead, and of what waits to leave."""

import asyncio
import json
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import BinaryIO, Final, TextIO

from antecede.core.errors import AntecedeError

LINES_AHEAD: Final = 1024
"""Lines read before the ones before them have been sent."""

LINE_LIMIT: Final = 1 << 20
"""The longest line, in bytes, unless somebody expects longer ones."""

READ_BYTES: Final = 1 << 16

OUTPUT_LIMIT: Final = 8192
"""Lines that wait for whoever reads our output; beyond that nothing more is received."""


class OutputFailed(AntecedeError):  # noqa: N818 - reads as what it is
    """Nobody can be told any more what is delivered, so the node has left."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return (
            f"the output cannot be written: {self.reason}; the node has left, and what came since "
            "then is lost. Whoever reads it must do so to the end"
        )


class InputLines:
    """The lines of a file or pipe, read by a thread: not everything readable can be polled.

    Of a line that is longer than the limit no more is kept than shows that it is.
    """

    def __init__(self, source: BinaryIO, line_limit: int = LINE_LIMIT) -> None:
        self.ended = asyncio.Event()
        """Whether no more will be read; what has been read may still wait here."""
        self._source = source
        self._limit = line_limit
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[bytes] = asyncio.Queue()
        self._room = threading.Semaphore(LINES_AHEAD)
        threading.Thread(target=self._read, name="antecede-input", daemon=True).start()

    async def next_line(self) -> bytes:
        """The next line; empty at the end."""
        line = await self._lines.get()
        self._room.release()
        return line

    def end(self) -> None:
        """Let no more come than has been read."""
        self.ended.set()
        self._lines.put_nowait(b"")

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
        self._loop.call_soon_threadsafe(self._lines.put_nowait, line)


class OutputLines:
    """Lines to a file or pipe, written by a thread so that a slow reader does not stop the loop.

    `on_failure` is called when they can no longer be written; what else is put is dropped.
    """

    def __init__(self, sink: TextIO, on_failure: Callable[[], None]) -> None:
        self._sink = sink
        self._on_failure = on_failure
        self.failure: str | None = None
        """Why nothing more is written, or None."""
        self._waiting: list[str] = []
        # To be called when the lines before are written.
        self._then: list[Callable[[], None]] = []
        self.dropped = 0
        """Records that were not written since the last one that was."""
        self._wanted = asyncio.Event()
        self._written = asyncio.Event()
        self._ended = False
        self._task = asyncio.get_running_loop().create_task(self._write())

    def put_if_read(self, record: dict[str, object]) -> None:
        """Write a record that strangers can cause, soon; count it if too much is unwritten."""
        if len(self._waiting) >= OUTPUT_LIMIT:
            self.dropped += 1
            return
        if self.dropped:
            self.put({"event": "dropped", "events": self.dropped})
            self.dropped = 0
        self.put(record)

    def put(self, record: dict[str, object], then: Callable[[], None] | None = None) -> None:
        """Write a record, soon; do `then` once it is written."""
        if self.failure is None:
            self._waiting.append(json.dumps(record, ensure_ascii=False))
            if then is not None:
                self._then.append(then)
            self._wanted.set()

    def after(self, action: Callable[[], None]) -> None:
        """Do this once everything put so far is written."""
        if self.failure is None:
            self._then.append(action)
            self._wanted.set()

    async def room(self) -> None:
        """Wait while too much is unwritten."""
        while len(self._waiting) > OUTPUT_LIMIT and not self._task.done():
            self._written.clear()
            await self._written.wait()

    async def end(self) -> None:
        """Write everything."""
        self._ended = True
        self._wanted.set()
        await self._task

    async def _write(self) -> None:
        try:
            while self._waiting or not self._ended:
                await self._wanted.wait()
                self._wanted.clear()
                chunk, self._waiting = self._waiting, []
                then, self._then = self._then, []
                if chunk:
                    await asyncio.to_thread(self._write_chunk, "\n".join(chunk) + "\n")
                for action in then:
                    action()
                self._written.set()
        except (OSError, ValueError) as error:
            self.failure = getattr(error, "strerror", None) or str(error)
            self._waiting.clear()
            self._on_failure()
        finally:
            self._written.set()

    def _write_chunk(self, text: str) -> None:
        self._sink.write(text)
        self._sink.flush()
