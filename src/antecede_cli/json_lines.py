"""A node for scripts: JSON lines in, JSON lines out.

Every line that comes in asks for one message to be sent, and is answered by one line; what is
delivered is a line too, and so is what a script should know about the peers. A line that makes no
sense is answered with an error, and the node goes on. There are limits to what is read ahead, and
to what waits to leave. Both ways it is JSON in UTF-8, whatever the locale: where that is another
encoding, what is not ASCII is escaped.
"""

import asyncio
import base64
import binascii
import codecs
import io
import json
import logging
import math
import signal
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import asdict
from functools import partial
from typing import BinaryIO, Final, TextIO

from antecede import events as reports
from antecede.core.errors import AntecedeError, Fenced, LocalError
from antecede.durability.errors import JournalFull
from antecede.durability.unconfirmed import InboundMessage
from antecede.events import Report
from antecede.runtime.config.addresses import Address
from antecede.runtime.config.settings import Settings
from antecede.runtime.content import Content
from antecede.runtime.errors import Stranded, fenced_sentence
from antecede.runtime.input_lines import InputLines
from antecede.runtime.leaving import Linger
from antecede.runtime.node import Node
from antecede.runtime.observe.http_server import serve_metrics
from antecede.runtime.observe.recent_events import KINDS
from antecede.runtime.opening import NodeOpening
from antecede.units import duration_text
from antecede_cli.request_lines import RequestLines, failure
from antecede_cli.room_lines import RoomLines, is_of_rooms

OUTPUT_LIMIT: Final = 8192
"""At most 8,192 lines wait to be written; beyond that nothing more is received."""


class OutputFailed(AntecedeError):  # noqa: N818 - reads as what it is
    """Standard output cannot be written any more, so the node has left."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return (
            f"the output cannot be written: {self.reason}; the node has left, and what came since "
            "then is lost. Whoever reads it must do so to the end"
        )


class OutputLines:
    """Lines to a file or pipe, written by a thread so that a slow reader does not stop the loop.

    `on_failure` is called when they can no longer be written; what else is put is dropped.
    """

    def __init__(self, sink: TextIO, on_failure: Callable[[], None]) -> None:
        self._sink = sink
        self._escapes = not is_utf8(sink)
        self._on_failure = on_failure
        self.failure: str | None = None
        """Why nothing more is written, or None."""
        self._waiting: list[str] = []
        # To be called when the lines before are written.
        self._then: list[Callable[[], object]] = []
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

    def put(self, record: dict[str, object], then: Callable[[], object] | None = None) -> None:
        """Write a record, soon; do `then` once it is written."""
        if self.failure is None:
            self._waiting.append(json_line(record, escape=self._escapes))
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


def is_utf8(sink: TextIO) -> bool:
    """Whether text leaves as UTF-8, which JSON is in."""
    encoding = getattr(sink, "encoding", None)
    return encoding is None or codecs.lookup(encoding).name == "utf-8"


def json_line(record: dict[str, object], *, escape: bool) -> str:
    """A record as JSON; half a surrogate pair, which no encoding has, is always escaped."""
    line = json.dumps(record, ensure_ascii=escape, allow_nan=False, default=str)
    if not line.isascii():
        try:
            line.encode()
        except UnicodeEncodeError:
            return json.dumps(record, allow_nan=False, default=str)
    return line


FURTHER_BYTES: Final = 1 << 16
"""A line may have 64 KiB besides its payload."""

TIMEOUT_SECONDS_MAX: Final = 10**9
TIMEOUT_RANGE: Final = f"from 0 to {TIMEOUT_SECONDS_MAX:,}"
"""A request may time out after 30 years."""

ID_DEPTH_MAX: Final = 64
"""An id may be nested 64 deep: it must be written again, from deeper in the program."""

NOTICE_SECONDS: Final = 1.0
"""If leaving takes longer than 1 s, a line in the log says for whom the node waits."""

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)

log = logging.getLogger(__name__)


class BadLine(LocalError):  # noqa: N818 - reads as what it is
    """A line of input that asks for nothing sensible."""

    def __init__(self, reason: str, identity: object = None) -> None:
        super().__init__(reason)
        self.identity = identity


def run_json_lines(
    opening: NodeOpening, metrics: Address | None, reread: Callable[[], Settings] | None = None
) -> None:
    """Run a node on standard input and output until the end; `Stranded` if it did not end well.

    After SIGHUP the peers and keys that `reread` answers with are taken over.
    """
    asyncio.run(open_and_serve(opening, metrics, reread))


async def open_and_serve(
    opening: NodeOpening, metrics: Address | None, reread: Callable[[], Settings] | None = None
) -> None:
    """The node, its lines and, if wanted, its metrics."""
    if sys.stdout is None:
        raise OutputFailed("there is none")
    source = io.BytesIO() if sys.stdin is None else sys.stdin.buffer
    async with AsyncExitStack() as stack:
        node = await stack.enter_async_context(opening)
        log.info("%s listens at %s", node.name, node.address)
        if metrics is not None:
            await stack.enter_async_context(await serve_metrics(node, *metrics))
        await serve_lines(node, source, sys.stdout, reread)


async def serve_lines(
    node: Node,
    source: BinaryIO,
    sink: TextIO,
    reread: Callable[[], Settings] | None = None,
) -> None:
    """Serve until the end of input or a signal; then drain and say bye.

    After the end of input others' byes are waited for; after a signal no more than that nobody
    misses anything. A second signal ends that at once; a third is not held back, should the output
    be stuck.
    """
    lines = InputLines(source, line_limit(node), asks_to_expel)
    output = OutputLines(sink, lines.end)
    loop = asyncio.get_running_loop()
    signalled: list[signal.Signals] = []
    for number in SIGNALS:
        loop.add_signal_handler(number, leave, node, lines, signalled, number)
    if reread is not None:
        loop.add_signal_handler(signal.SIGHUP, reload, node, reread, output)
    ready = {"event": "ready", "name": node.name, "address": str(node.address)}
    output.put(ready | {"incarnation": node.incarnation})
    if node.settings.journal is not None:
        node.journal.report_with(output.after)
    node.on_event(lambda report: tell(report, output, lines))
    answers = Answers(node, lines, output)
    answering = loop.create_task(answers.run())
    deliveries = loop.create_task(write_deliveries(node, answers, output))
    try:
        await lines.ended.wait()
        awaited: Linger = "released" if signalled or output.failure is not None else "bye"
        await drain(node, answers, answering, awaited)
    finally:
        if not node.closed:
            node.abandon()
            lines.end()
        await answering
        await deliveries
        await output.end()
    if output.failure is not None:
        raise OutputFailed(output.failure)
    node._check_journal()
    if node.fenced is not None:
        raise Fenced(fenced_sentence(node.name, node.fenced))


def reload(node: Node, reread: Callable[[], Settings], output: OutputLines) -> None:
    """Take over peers and keys; if they make no sense, go on with those in use."""
    try:
        node.reload(reread())
    except LocalError as error:
        log.warning("%s: not reloaded: %s", node.name, error)
        output.put({"error": f"not reloaded: {error}"})
    else:
        output.put({"event": "reloaded", "peers": list(node.peers)})


def tell(report: Report, output: OutputLines, lines: InputLines) -> None:
    """Write what a script should know; a node that is expelled reads no more."""
    write_event(report, output)
    if isinstance(report, reports.NodeFenced):
        lines.end()


def leave(
    node: Node, lines: InputLines, signalled: list[signal.Signals], number: signal.Signals
) -> None:
    """A signal has come."""
    signalled.append(number)
    if not lines.ended.is_set():
        lines.end()
        return
    for number in SIGNALS:
        asyncio.get_running_loop().remove_signal_handler(number)
    node.abandon()


async def drain(
    node: Node, answers: "Answers", answering: asyncio.Task[None], linger: Linger
) -> None:
    """Answer what has been read, then close the node in the time that it may linger.

    That time begins when the last line is answered, or when none was for as long.
    """
    loop = asyncio.get_running_loop()
    notice = loop.call_later(NOTICE_SECONDS, say_what_is_awaited, node)
    answered = -1
    while not answering.done() and answers.count != answered:
        answered = answers.count
        await asyncio.wait([answering], timeout=node.settings.linger)
    if node.closed and node._endpoint.stranded():  # There was a second signal meanwhile.
        names = node._endpoint.stranded()
        raise Stranded(names, node.settings.linger, node._obstacles(names))
    limit = node.settings.linger if answering.done() else 0.0
    try:
        await node.close(limit, linger)
    except Stranded as error:
        raise Stranded(error.names, node.settings.linger, error.reasons) from None
    finally:
        notice.cancel()


def say_what_is_awaited(node: Node) -> None:
    """Log for whom the node waits, and how to end that."""
    known = node._obstacles(tuple(node.peers)) or ["not everybody has said bye"]
    patience = duration_text(node.settings.linger * 1e9)
    log.warning(
        "%s leaves within %s: %s; a signal ends the wait", node.name, patience, "; ".join(known)
    )


class Answers:
    """Does what the lines of a node ask for, one after the other; answers when that is on disk.

    A line that expels somebody does not stand behind a message that waits, perhaps for that very
    peer.
    """

    def __init__(self, node: Node, lines: InputLines, output: OutputLines) -> None:
        self._node = node
        self._lines = lines
        self._output = output
        self._waits = False
        self._answered = 0
        self.requests: Final = RequestLines(node, output.put, payload_record)
        self.rooms: Final = RoomLines(node, output.put, text_record)
        lines.on_urgent(self._expel_ahead)

    @property
    def count(self) -> int:
        """How many lines were answered."""
        return self._answered + self.requests.count

    async def run(self) -> None:
        """Answer until the end of input."""
        while line := await self._lines.next_line():
            self._waits = True
            asyncio.get_running_loop().call_soon(self._expel_ahead)
            record = await answer(self._node, self.requests, self.rooms, line)
            self._waits = False
            self._put(record)
            await self._output.room()
        await self.requests.answered()

    def _expel_ahead(self) -> None:
        """Act on lines that expel, if a message before them waits."""
        while self._waits and (line := self._lines.take_urgent()) is not None:
            try:
                self._put(expel(self._node, read_object(line)))
            except BadLine as error:
                self._put(failure(error, error.identity))

    def _put(self, record: dict[str, object] | None) -> None:
        self._answered += 1
        if record is not None:
            when_on_disk(self._node, partial(self._output.put, record))


def asks_to_expel(line: bytes) -> bool:
    """Whether a line expels somebody; one that makes no sense waits for its turn."""
    if b'"expel"' not in line:
        return False
    try:
        return "expel" in read_object(line)
    except BadLine:
        return False


def when_on_disk(node: Node, action: Callable[[], None]) -> None:
    """Do this once everything done so far is on disk; at once without a journal."""
    node._committer.when_durable(action)
    node._turn.soon()


async def answer(
    node: Node, requests: RequestLines, rooms: RoomLines, line: bytes
) -> dict[str, object] | None:
    """Do what a line asks for; the record to answer with, if no event tells of it."""
    try:
        if len(line) > (limit := line_limit(node)):
            raise BadLine(f"a line has at most {limit} bytes, or its payload is too large")
        request = read_object(line)
        if "expel" in request:
            return expel(node, request)
        if "request" in request:
            return await ask(requests, request)
        if "reply" in request:
            identity = request.get("id")
            payload = read_payload(request, identity)
            return await requests.reply(request["reply"], payload, identity)
        if is_of_rooms(request):
            return await rooms.answer(request, read_payload)
        targets, payload, identity = read_request(request)
    except BadLine as error:
        return failure(error, error.identity)
    try:
        sequence, left_out = await node._send_naming(targets, Content(payload))
    except (LocalError, JournalFull) as error:
        return failure(error, identity)
    record: dict[str, object] = {"sent": identity, "sequence": sequence}
    if left_out:
        record["left_out"] = left_out
    return record


async def ask(requests: RequestLines, request: dict[str, object]) -> dict[str, object] | None:
    """Send the request that a line is; its reply, or why there is none, comes later."""
    name, identity = request["request"], request.get("id")
    if not isinstance(name, str):
        raise BadLine('"request" is the name of a peer', identity)
    timeout = read_timeout(request, identity)
    return await requests.ask(name, read_payload(request, identity), timeout, identity)


def read_timeout(request: dict[str, object], identity: object) -> float | None:
    """How long a request waits for its reply; None if it says nothing of that."""
    timeout = request.get("timeout")
    if timeout is None:
        return None
    is_switch = isinstance(timeout, bool)
    if isinstance(timeout, int | float) and not is_switch and 0 <= timeout <= TIMEOUT_SECONDS_MAX:
        return timeout
    raise BadLine(f'"timeout" is a number of seconds, {TIMEOUT_RANGE}', identity)


def expel(node: Node, request: dict[str, object]) -> dict[str, object] | None:
    """Expel the peer that a line names; the event `expelled` tells that it is done."""
    name, reason, identity = request["expel"], request.get("reason", ""), request.get("id")
    if not isinstance(name, str) or not isinstance(reason, str):
        raise BadLine('"expel" is the name of a peer, and "reason" a text', identity)
    try:
        reason.encode()
    except UnicodeEncodeError as error:
        raise BadLine(f'"reason" cannot be encoded: {error.reason}', identity) from None
    try:
        node._expel(name, reason)
    except LocalError as error:
        return failure(error, identity)
    return None


def line_limit(node: Node) -> int:
    """As long as a line may be: JSON may write six bytes for one, and names need some, too."""
    return 6 * node.settings.payload_limit + FURTHER_BYTES


def read_object(line: bytes) -> dict[str, object]:
    """The JSON object that a line is."""
    try:
        request = json.loads(
            line.decode().strip(), parse_constant=refuse_constant, parse_float=finite_number
        )
    except UnicodeDecodeError as error:
        raise BadLine(f"not a JSON line: it is not UTF-8 from byte {error.start + 1} on") from None
    except (ValueError, RecursionError) as error:
        raise BadLine(f"not a JSON line: {error}") from None
    if not isinstance(request, dict):
        raise BadLine('a line is an object such as {"to": ["bob"], "text": "hello"}')
    if depth_exceeds(request.get("id"), ID_DEPTH_MAX):
        raise BadLine(f'"id" is nested deeper than {ID_DEPTH_MAX}; it could not be answered')
    return request


def depth_exceeds(value: object, limit: int) -> bool:
    """Whether lists and objects are nested deeper than that."""
    layer = [value]
    for _ in range(limit + 1):
        within: list[object] = []
        for one in layer:
            if isinstance(one, dict):
                within += one.values()
            elif isinstance(one, list):
                within += one
        if not within:
            return False
        layer = within
    return True


def read_request(request: dict[str, object]) -> tuple[list[str], bytes, object]:
    """Targets, payload and id that a line asks for."""
    identity = request.get("id")
    targets = request.get("to")
    if isinstance(targets, str):
        targets = [targets]
    if not isinstance(targets, list) or not all(isinstance(name, str) for name in targets):
        raise BadLine('"to" must be a list of names', identity)
    if not targets:
        raise BadLine('"to" is empty: a message needs at least one target', identity)
    return targets, read_payload(request, identity), identity


def finite_number(text: str) -> float:
    """Python's `json` would read 1e999 as infinity, too."""
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text} is larger than any number here")
    return number


def refuse_constant(name: str) -> object:
    """Python's `json` would read NaN and infinities, and write them into our answers."""
    raise ValueError(f"{name} is not JSON")


def read_payload(request: dict[str, object], identity: object) -> bytes:
    """The payload of a request: text, or any bytes as base64."""
    text = request.get("text")
    encoded = request.get("base64")
    if isinstance(text, str) and encoded is None:
        try:
            return text.encode()
        except UnicodeEncodeError as error:
            raise BadLine(
                f'"text" cannot be encoded: {error.reason}; send "base64"', identity
            ) from None
    if isinstance(encoded, str) and text is None:
        try:
            return base64.b64decode(encoded, validate=True)
        except binascii.Error as error:
            raise BadLine(f'"base64" makes no sense: {error}', identity) from None
    raise BadLine('a line needs "text" (a string), or "base64" for other bytes', identity)


async def write_deliveries(node: Node, answers: Answers, output: OutputLines) -> None:
    """Write every message that is delivered, until the node is closed."""
    async for message in node:
        if message.is_request:
            output.put(answers.requests.on_request(message))
            await answers.requests.make_room()
        elif message.room:
            output.put(answers.rooms.delivered(message), message.done)
        else:
            output.put(delivery_record(message), message.done)
        await output.room()
        if output.failure is not None:
            return


def delivery_record(message: InboundMessage) -> dict[str, object]:
    """A delivered message as a record."""
    record: dict[str, object] = {"from": message.sender, "sequence": int(message.sequence)}
    record |= payload_record(message)
    if message.again:
        record["again"] = True
    return record


def payload_record(message: InboundMessage) -> dict[str, object]:
    """A payload as part of a record."""
    return text_record(message.payload)


def text_record(payload: bytes) -> dict[str, object]:
    """Bytes as part of a record: a text, or other bytes in base64."""
    try:
        return {"text": payload.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(payload).decode()}


def write_event(report: Report, output: OutputLines) -> None:
    """Write what happened to a peer; what strangers can cause only while somebody reads."""
    if isinstance(report, reports.PeerRefused | reports.StrangerSeen):
        output.put_if_read(event_record(report))
    else:
        output.put(event_record(report))


def event_record(report: Report) -> dict[str, object]:
    """What a script should know about a peer, as a record."""
    fields = asdict(report)
    if isinstance(report, reports.NodeFenced):
        # Every line has a peer: here the one that said so. The node itself is no peer of its own.
        fields["node"], fields["name"] = fields["name"], fields.pop("told_by")
    record: dict[str, object] = {"event": KINDS[type(report)], "peer": fields.pop("name")}
    record.update({key: value for key, value in fields.items() if value is not None})
    return record
