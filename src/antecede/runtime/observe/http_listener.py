"""A small HTTP server in the running loop, for figures and pages that people and machines read.

One request to a connection, GET and HEAD alone, and every buffer has a limit: whoever may ask need
not be trusted.
"""

import asyncio
import json
import logging
import socket
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Self, TypeAlias
from urllib.parse import parse_qsl

from antecede.runtime.carriers.accepting import Callers, listen
from antecede.runtime.config.addresses import Address
from antecede.runtime.errors import CannotBind

REQUEST_BYTES_MAX: Final = 8192
"""The head of a request may have 8,192 bytes; its body is not read."""

REQUEST_SECONDS_MAX: Final = 10.0
"""A request that is not read and answered within 10 s is dropped."""

CONNECTIONS_MAX: Final = 64
"""64 connections may be open, so that idle ones do not use up the descriptors of the process; for
another one the oldest is closed."""

TEXT_TYPE: Final = "text/plain; charset=utf-8"
JSON_TYPE: Final = "application/json"

UNREADY_STATUS: Final = "503 Service Unavailable"
FAILED: Final = "500 Internal Server Error"
ALLOWED: Final = {"Allow": "GET, HEAD"}

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Request:
    """What somebody asks for."""

    path: str
    query: Mapping[str, str]
    """What follows the question mark; of a word that is there twice the last."""
    headers: Mapping[str, str]
    """By their names in small letters."""

    def wants_json(self) -> bool:
        """Whether JSON is wanted rather than text: by `?format=json`, or by what is accepted."""
        if "format" in self.query:
            return self.query["format"] == "json"
        return JSON_TYPE in self.headers.get("accept", "").lower()


@dataclass(frozen=True, slots=True)
class Response:
    """What is answered; the connection ends after it."""

    body: bytes
    content_type: str = TEXT_TYPE
    status: str = "200 OK"
    headers: Mapping[str, str] = field(default_factory=dict)

    def as_bytes(self, *, with_body: bool = True) -> bytes:
        """The response as HTTP/1.1 writes it."""
        headers = {
            "Content-Type": self.content_type,
            "Content-Length": str(len(self.body)),
            "Connection": "close",
            **self.headers,
        }
        lines = [f"HTTP/1.1 {self.status}", *(f"{name}: {headers[name]}" for name in headers)]
        return "\r\n".join([*lines, "", ""]).encode() + (self.body if with_body else b"")


UNREADY: Final = Response(b"not open yet\n", status=UNREADY_STATUS)

Answer: TypeAlias = Callable[[Request], Awaitable[Response]]


def json_response(content: object, status: str = "200 OK") -> Response:
    """A response in JSON, on one line."""
    return Response(json.dumps(content).encode() + b"\n", JSON_TYPE, status)


def read_request(head: str) -> tuple[str, Request]:
    """The method and the request that begin with this head."""
    request_line, *lines = head.split("\r\n")
    method, _, rest = request_line.partition(" ")
    path, _, query = rest.partition(" ")[0].partition("?")
    fields = [line.partition(":") for line in lines]
    headers = {name.strip().lower(): value.strip() for name, _, value in fields}
    return method, Request(path, dict(parse_qsl(query, keep_blank_values=True)), headers)


class HttpServer:
    """Answers requests over HTTP; as a context it stops at the end."""

    def __init__(self, answer: Answer | None = None) -> None:
        self._answer = answer
        self._callers: Callers | None = None
        # The oldest first.
        self._connections: dict[asyncio.Task[None], None] = {}
        # Whose tasks have not begun: one that is cancelled before never does.
        self._not_begun: set[socket.socket] = set()
        self._has_warned = False

    @property
    def address(self) -> Address:
        """Where it listens."""
        assert self._callers is not None, "it has been started"
        return self._callers.address

    async def start(self, host: str, port: int) -> None:
        """Begin to listen; `CannotBind` if that address cannot be had."""
        try:
            listening = await listen(Address(host, port))
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise CannotBind(str(Address(host, port)), reason) from error
        self._callers = Callers(listening, self._on_connection, lambda _: self._close_oldest())
        self._callers.start()

    def answer_with(self, answer: Answer) -> None:
        """From now on this answers; a server that listens and cannot answer yet says so (503)."""
        self._answer = answer

    def end(self) -> None:
        """Listen no more, and close all connections as soon as their tasks are run."""
        if self._callers is not None:
            self._callers.close()
            for task in self._connections:
                task.cancel()

    def leave_to_parent(self) -> None:
        """This is a forked process, which serves nothing."""
        if self._callers is not None:
            self._callers.leave_to_parent()

    async def close(self) -> None:
        """Listen no more, and close all connections; requests under way are not answered."""
        self.end()
        if self._connections:
            await asyncio.wait(list(self._connections))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _on_connection(self, connection: socket.socket, _: Address) -> None:
        if len(self._connections) >= CONNECTIONS_MAX:
            self._close_oldest()
        task = asyncio.get_running_loop().create_task(self._serve(connection))
        self._connections[task] = None
        self._not_begun.add(connection)
        task.add_done_callback(partial(self._on_served, connection))

    def _on_served(self, connection: socket.socket, task: asyncio.Task[None]) -> None:
        self._connections.pop(task, None)
        if connection in self._not_begun:
            self._not_begun.discard(connection)
            connection.close()

    def _close_oldest(self) -> bool:
        """Close the connection that has been open for longest; False if there is none."""
        if not self._connections:
            return False
        oldest = next(iter(self._connections))
        del self._connections[oldest]
        oldest.cancel()
        if not self._has_warned:
            self._has_warned = True
            log.warning(
                "more than %d connections ask at once: the oldest are closed", CONNECTIONS_MAX
            )
        return True

    async def _serve(self, connection: socket.socket) -> None:
        """Read one request, answer it, and close the connection."""
        self._not_begun.discard(connection)
        try:
            reader, writer = await asyncio.open_connection(sock=connection, limit=REQUEST_BYTES_MAX)
        except OSError:
            connection.close()
            return
        try:
            async with asyncio.timeout(REQUEST_SECONDS_MAX):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(await self._response(head.decode("latin-1")))
                await writer.drain()
            writer.close()
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError) as error:
            log.debug("a request made no sense: %s", error)
            writer.close()
        except asyncio.CancelledError:
            writer.transport.abort()
            raise

    async def _response(self, head: str) -> bytes:
        """The response to a request with this head."""
        method, request = read_request(head)
        if method not in ("GET", "HEAD"):
            refused = Response(b"only GET\n", status="405 Method Not Allowed", headers=ALLOWED)
            return refused.as_bytes()
        try:
            response = UNREADY if self._answer is None else await self._answer(request)
        except Exception:  # Or the client would wait, and its connection stay open.
            log.exception("%s cannot be answered", request.path)
            response = Response(b"see the log\n", status=FAILED)
        return response.as_bytes(with_body=method == "GET")
