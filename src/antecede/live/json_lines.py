"""A node for scripts: JSON lines in, JSON lines out.

Every line that comes in asks for one message to be sent, and is answered by one line; what is
delivered is a line too, and so is what a script should know about the peers. A line that makes no
sense is answered with an error, and the node goes on.
"""

import asyncio
import base64
import binascii
import json
import logging
import signal
import sys
import threading
from contextlib import AsyncExitStack, suppress
from dataclasses import asdict
from typing import BinaryIO, Final, TextIO

from antecede.core.errors import LocalError
from antecede.link.inbox import InboundMessage
from antecede.link.reports import (
    PeerBack,
    PeerLeft,
    PeerMet,
    PeerMoved,
    PeerRestarted,
    PeerSilent,
    Refused,
    Report,
    Stranger,
    Undeliverable,
)
from antecede.live.addresses import Address
from antecede.live.metrics import serve_metrics
from antecede.live.node import Node
from antecede.live.opening import Opening

LINES_AHEAD: Final = 1024
"""Lines read before the ones before them have been sent."""

READ_BYTES: Final = 1 << 16

OUTPUT_LIMIT: Final = 8192
"""Lines that wait for whoever reads our output; beyond that nothing more is received."""

EVENTS: Final = {
    PeerMet: "met",
    PeerRestarted: "restarted",
    PeerMoved: "moved",
    PeerSilent: "silent",
    PeerBack: "back",
    PeerLeft: "left",
    Undeliverable: "undeliverable",
    Refused: "refused",
    Stranger: "stranger",
}
"""What the reports are called on standard output."""

log = logging.getLogger(__name__)


class BadLine(LocalError):  # noqa: N818 - reads as what it is
    """A line of input that asks for nothing sensible."""

    def __init__(self, reason: str, identity: object = None) -> None:
        super().__init__(reason)
        self.identity = identity


class InputLines:
    """The lines of a file or pipe, read by a thread: not everything readable can be polled."""

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
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
        self._lines.put_nowait(b"")

    def _read(self) -> None:
        # Past the buffered reader: the interpreter, when it exits, would want the lock that a
        # thread holds which waits for input, and abort.
        source = getattr(self._source, "raw", self._source)
        pieces: list[bytes] = []
        try:
            while chunk := source.read(READ_BYTES):
                first, *others = chunk.split(b"\n")
                pieces.append(first)
                for piece in others:
                    self._put(b"".join(pieces) + b"\n")
                    pieces = [piece]
            self._put(b"".join(pieces))
            self._put(b"")
        except RuntimeError:
            return  # The loop is closed: nobody wants the rest.
        except (OSError, ValueError):
            with suppress(RuntimeError):
                self._put(b"")

    def _put(self, line: bytes) -> None:
        self._room.acquire()
        self._loop.call_soon_threadsafe(self._lines.put_nowait, line)


class OutputLines:
    """Lines to a file or pipe, written by a thread so that a slow reader does not stop the loop."""

    def __init__(self, sink: TextIO) -> None:
        self._sink = sink
        self._waiting: list[str] = []
        self._wanted = asyncio.Event()
        self._written = asyncio.Event()
        self._ended = False
        self._task = asyncio.get_running_loop().create_task(self._write())

    def put(self, record: dict[str, object]) -> None:
        """Write a record, soon."""
        self._waiting.append(json.dumps(record, ensure_ascii=False))
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
                if chunk:
                    await asyncio.to_thread(self._write_chunk, "\n".join(chunk) + "\n")
                self._written.set()
        finally:
            self._written.set()

    def _write_chunk(self, text: str) -> None:
        self._sink.write(text)
        self._sink.flush()


def run_json_lines(opening: Opening, metrics: Address | None) -> None:
    """Run a node on standard input and output until the end; `Stranded` if it did not end well."""
    asyncio.run(open_and_serve(opening, metrics))


async def open_and_serve(opening: Opening, metrics: Address | None) -> None:
    """The node, its lines and, if wanted, its metrics."""
    node = await opening
    log.info("%s listens at %s", node.name, node.address)
    async with AsyncExitStack() as stack:
        if metrics is not None:
            await stack.enter_async_context(await serve_metrics(node, *metrics))
        await serve_lines(node, sys.stdin.buffer, sys.stdout)


async def serve_lines(node: Node, source: BinaryIO, sink: TextIO) -> None:
    """Serve until the end of input or SIGTERM; then drain, say bye, and wait for others' byes."""
    lines = InputLines(source)
    output = OutputLines(sink)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, lines.end)
    node.on_event(lambda report: output.put(event_record(report)))
    deliveries = loop.create_task(write_deliveries(node, output))
    try:
        while line := await lines.next_line():
            output.put(await answer(node, line))
            await output.room()
        await node.close(linger="bye")
    finally:
        if not node.closed:
            await node.close(timeout=0)
        await deliveries
        await output.end()


async def answer(node: Node, line: bytes) -> dict[str, object]:
    """Send what a line asks for; the record to answer with."""
    try:
        targets, payload, identity = read_request(line)
    except BadLine as error:
        return failure(error, error.identity)
    try:
        sequence = await node.send(targets, payload)
    except LocalError as error:
        return failure(error, identity)
    return {"sent": identity, "sequence": sequence}


def failure(error: LocalError, identity: object) -> dict[str, object]:
    """What is answered to a line that could not be done."""
    record: dict[str, object] = {"error": str(error)}
    if identity is not None:
        record["id"] = identity
    return record


def read_request(line: bytes) -> tuple[list[str], bytes, object]:
    """Targets, payload and id that a line asks for."""
    try:
        request = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadLine(f"not a JSON line: {error}") from None
    if not isinstance(request, dict):
        raise BadLine('a line is an object such as {"to": ["bob"], "text": "hello"}')
    identity = request.get("id")
    targets = request.get("to")
    if isinstance(targets, str):
        targets = [targets]
    if not isinstance(targets, list) or not all(isinstance(name, str) for name in targets):
        raise BadLine('"to" must be a list of names', identity)
    if not targets:
        raise BadLine('"to" is empty: a message needs at least one target', identity)
    return targets, read_payload(request, identity), identity


def read_payload(request: dict[str, object], identity: object) -> bytes:
    """The payload of a request: text, or any bytes as base64."""
    text = request.get("text")
    encoded = request.get("base64")
    if isinstance(text, str) and encoded is None:
        try:
            return text.encode()
        except UnicodeEncodeError as error:
            raise BadLine(f'"text" cannot be encoded: {error.reason}', identity) from None
    if isinstance(encoded, str) and text is None:
        try:
            return base64.b64decode(encoded, validate=True)
        except binascii.Error as error:
            raise BadLine(f'"base64" makes no sense: {error}', identity) from None
    raise BadLine('a line needs "text" (a string), or "base64" for other bytes', identity)


async def write_deliveries(node: Node, output: OutputLines) -> None:
    """Write every message that is delivered, until the node is closed."""
    async for message in node:
        output.put(delivery_record(message))
        await output.room()


def delivery_record(message: InboundMessage) -> dict[str, object]:
    """A delivered message as a record."""
    record: dict[str, object] = {"from": message.sender, "sequence": int(message.sequence)}
    try:
        record["text"] = message.payload.decode()
    except UnicodeDecodeError:
        record["base64"] = base64.b64encode(message.payload).decode()
    return record


def event_record(report: Report) -> dict[str, object]:
    """What a script should know about a peer, as a record."""
    fields = asdict(report)
    record: dict[str, object] = {"event": EVENTS[type(report)], "peer": fields.pop("name")}
    record.update({key: value for key, value in fields.items() if value is not None})
    return record
