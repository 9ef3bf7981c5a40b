"""What an agent can do with a node, as tools of the Model Context Protocol.

What is delivered waits in one mailbox, rooms and direct messages together, in causal order. It has
a limit: an agent that does not read holds back those who write to it, as any slow node does.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import wraps
from typing import Final, ParamSpec, TypeAlias, TypeVar

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from antecede import __version__
from antecede.core.errors import AntecedeError, LocalError
from antecede.durability.errors import JournalFull
from antecede.durability.unconfirmed import InboundMessage
from antecede.events import (
    Joined,
    Left,
    NodeFenced,
    PeerExpelled,
    PeerLeft,
    PeerRestarted,
    Report,
    Undeliverable,
)
from antecede.runtime.node import Node
from antecede.runtime.opening import NodeOpening
from antecede_cli.json_lines import delivery_record, event_record, payload_record, text_record
from antecede_cli.request_lines import RequestLines
from antecede_cli.room_lines import RoomLines

Record: TypeAlias = dict[str, object]
P = ParamSpec("P")
T = TypeVar("T")

MAIL_MAX: Final = 10_000
"""At most 10,000 records wait for the agent; then nothing more is taken from the node."""

READ_MAX: Final = 1_000
WAIT_MAX: Final = 600.0
"""`read` gives at most 1,000 records at once, and waits at most 10 minutes for the first."""

TOLD: Final = Joined | Left | NodeFenced | PeerExpelled | PeerLeft | PeerRestarted | Undeliverable
"""Events that an agent should know of."""

INSTRUCTIONS: Final = (
    "You are one of several processes that exchange messages. Use `join` to be in a room, `say` to "
    "speak in it or to single peers, `read` to get what has come. What you read is in causal "
    "order: an answer never comes before its question. Call `read` with some seconds to wait while "
    "you expect something."
)
"""What the host of the agent tells it about these tools."""


class Mailbox:
    """What the agent has not read."""

    def __init__(self) -> None:
        self._records: Final[deque[Record]] = deque()
        self._changed: Final = asyncio.Condition()

    def __len__(self) -> int:
        return len(self._records)

    async def put(self, record: Record) -> None:
        """One more; waits while there are too many."""
        async with self._changed:
            await self._changed.wait_for(lambda: len(self._records) < MAIL_MAX)
            self.put_now(record)
            self._changed.notify_all()

    def put_now(self, record: Record) -> None:
        """One more that cannot wait."""
        self._records.append(record)

    async def take(self, limit: int, seconds: float) -> list[Record]:
        """What has come; waits so long for the first."""
        async with self._changed:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._changed.wait_for(lambda: bool(self._records))
            taken = [self._records.popleft() for _ in range(min(limit, len(self._records)))]
            self._changed.notify_all()
        return taken


class AgentTools:
    """The tools; each is a method, whose docstring is what the agent reads about it."""

    def __init__(self, node: Node) -> None:
        self._node: Final = node
        self._mailbox: Final = Mailbox()
        self._rooms: Final = RoomLines(node, self._mailbox.put_now, text_record)
        self._requests: Final = RequestLines(node, self._mailbox.put_now, payload_record)
        node.on_event(self._on_event)

    async def deliver(self) -> None:
        """Put into the mailbox what is delivered, until the node is closed."""
        async for message in self._node:
            await self._mailbox.put(self._record(message))
            message.done()

    def _record(self, message: InboundMessage) -> Record:
        if message.is_request:
            return self._requests.on_request(message)
        return self._rooms.delivered(message) if message.room else delivery_record(message)

    def _on_event(self, report: Report) -> None:
        if isinstance(report, TOLD) and len(self._mailbox) < MAIL_MAX:
            self._mailbox.put_now(event_record(report))

    # Tools.

    async def join(self, room: str, via: str | None = None) -> Record:
        """Join a room through one of its members, a name or HOST:PORT.

        Without `via` a new room is founded. What was said before comes with the next `read`, as
        the event "snapshot", before anything else of the room.
        """
        await self._rooms.join(room, via, history=True)
        return await self.who()

    async def leave(self, room: str) -> Record:
        """Leave a room."""
        await self._rooms.leave(room)
        return await self.who()

    async def say(self, text: str, room: str | None = None, to: list[str] | None = None) -> Record:
        """Say something to all members of a room, or to the peers in the list `to`."""
        payload = text.encode()
        if room is not None and not to:
            return {"sequence": await self._rooms.send(room, payload)}
        if room is None and to:
            return {"sequence": await self._node.send(to, payload)}
        raise LocalError("say it to a room or to some peers: one of the two")

    async def ask(self, name: str, text: str, seconds: float = 30.0) -> Record:
        """Ask one peer something, and wait for its answer."""
        reply = await self._node.request(name, text.encode(), timeout=seconds)
        return {"from": reply.sender, **payload_record(reply)}

    async def answer(self, request: int, text: str) -> str:
        """Answer what a peer has asked: `request` is the number that `read` gave it."""
        failure = await self._requests.reply(request, text.encode(), None)
        if failure is not None:
            raise LocalError(str(failure["error"]))
        return "answered"

    async def read(self, seconds: float = 0.0, limit: int = 100) -> list[Record]:
        """What has come since the last `read`, in causal order.

        Waits up to that many seconds for something to come. A record with "request" is a question:
        use `answer`. Records with "event" tell who joined, left, failed or came back.
        """
        if limit < 1 or seconds < 0:
            raise LocalError("read at least one record, and wait at least 0 seconds")
        return await self._mailbox.take(min(limit, READ_MAX), min(seconds, WAIT_MAX))

    async def who(self) -> Record:
        """Who is here: your own name, the state of every peer, the members of your rooms."""
        return {
            "me": self._node.name,
            "address": str(self._node.address),
            "peers": dict(self._node.peers),
            "rooms": self._rooms.members(),
            "unread": len(self._mailbox),
        }


def with_reasons(tool: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
    """Let the agent read why something failed, if that is not a fault of ours."""

    @wraps(tool)
    async def called(*args: P.args, **named: P.kwargs) -> T:
        try:
            return await tool(*args, **named)
        except (AntecedeError, JournalFull) as error:
            raise ToolError(str(error)) from error

    return called


async def serve_tools(opening: NodeOpening) -> None:
    """Run a node for the agent at standard input and output, until that ends."""
    async with opening as node:
        tools = AgentTools(node)
        server = MCPServer("antecede", instructions=INSTRUCTIONS, version=__version__)
        for tool in (
            tools.join, tools.leave, tools.say, tools.ask, tools.answer, tools.read, tools.who,
        ):  # fmt: skip
            server.add_tool(with_reasons(tool), structured_output=False)
        delivering = asyncio.create_task(tools.deliver())
        try:
            await server.run_stdio_async()
        finally:
            delivering.cancel()
