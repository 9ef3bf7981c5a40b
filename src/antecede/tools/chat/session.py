"""A chat among real nodes: a keyboard, a screen, and a node between them."""

import asyncio
import os
import signal
import threading
from collections.abc import Callable
from typing import Final, Protocol

from antecede.core.errors import LocalError, RemoteError
from antecede.link import reports
from antecede.link.faults import Faults
from antecede.link.inbound import InboundMessage
from antecede.link.notation import messages_text
from antecede.link.reports import Report
from antecede.live.errors import Stranded
from antecede.live.node import Node
from antecede.live.opening import SecretTokens, start_node
from antecede.live.settings import Settings
from antecede.live.udp import UdpTransport
from antecede.tools.chat.editor import LineEditor
from antecede.tools.chat.faulty import FaultyTransport
from antecede.tools.chat.room import Line, Room

HELP: Final = "/who is here, /why is something waiting, /quit; anything else is said to all"


class Screen(Protocol):
    """Where a chat is shown."""

    def line(self, line: Line) -> None:
        """Show something that was said."""

    def note(self, text: str) -> None:
        """Show something about the chat itself."""

    def typing(self, text: str) -> None:
        """Show the line that is being typed."""


class ChatSession:
    """One person's part in a chat, from the opened node to the good-bye."""

    def __init__(self, node: Node, screen: Screen) -> None:
        self._node = node
        self._screen = screen
        self._room = Room(node.name)
        self._editor = LineEditor()
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._left: set[str] = set()
        self._leaving = False
        node.on_event(self._on_report)
        node.on_message(self._on_message)

    def type(self, data: bytes) -> None:
        """Keys were pressed; no bytes mean that no more will be."""
        for line in self._editor.feed(data):
            self._lines.put_nowait(line)
        if self._editor.ended:
            self.leave()
        self._screen.typing(self._editor.text)

    def leave(self) -> None:
        """Say good-bye after what has been typed."""
        self._leaving = True
        self._lines.put_nowait(None)

    def interrupt(self) -> None:
        """Leave; if that is under way already, without waiting for anybody."""
        if self._leaving:
            self._node.abandon()
        self.leave()

    async def run(self) -> None:
        """Chat until the input ends, then leave; `Stranded` if somebody is left without a word."""
        self._screen.note(f"{self._node.name} listens at {self._node.address}; {HELP}")
        while (line := await self._lines.get()) is not None and line.strip() != "/quit":
            await self._obey(line.strip())
        self._leaving = True
        self._screen.note("leaving, as soon as everybody has everything")
        if self._node.closed and self._node.stranded():  # There was no time for good-byes.
            raise Stranded(self._node.stranded(), 0)
        await self._node.close()

    async def _obey(self, line: str) -> None:
        if line == "/who":
            self._screen.note(self._who())
        elif line == "/why":
            self._screen.note(str(self._node.explain()))
        elif line.startswith("/"):
            self._screen.note(HELP)
        elif line:
            await self._say(line)

    async def _say(self, text: str) -> None:
        targets = [name for name in self._node.peers if name not in self._left]
        if not targets:
            self._screen.note("nobody is here to read that")
            return
        try:
            sequence = await self._node.send(targets, self._room.write(text, targets))
        except LocalError as error:
            self._screen.note(str(error))
        else:
            self._screen.line(self._room.said(text, sequence, targets))

    def _who(self) -> str:
        words = []
        stats = self._node.stats()
        for peer in stats.peers:
            state = "here" if peer.met else "not met yet"
            if peer.left:
                state = "gone"
            elif peer.silent:
                state = "silent"
            owed = messages_text(peer.undelivered)
            words.append(f"{peer.name} ({state}, {owed} on the way)")
        return ", ".join(words) or "nobody"

    def _on_message(self, message: InboundMessage) -> None:
        try:
            line = self._room.heard(message.sender, int(message.sequence), message.payload)
        except RemoteError as error:
            self._screen.note(f"{message.sender} sent {error}")
        else:
            self._screen.line(line)

    def _on_report(self, report: Report) -> None:
        if isinstance(report, reports.PeerLeft):
            self._left.add(report.name)
        elif isinstance(report, reports.PeerMet | reports.PeerRestarted):
            self._left.discard(report.name)
        words = words_of(report)
        if words:
            self._screen.note(words)


def words_of(report: Report) -> str:
    """What to tell a person about this; empty if nothing."""
    if isinstance(report, reports.Undeliverable):
        return f"{len(report.sequences)} messages never reached {report.name}"
    if isinstance(report, reports.TooLarge):
        return f"a message of {report.name} was too large: {report.size:,} bytes"
    if isinstance(report, reports.Refused):
        return f"{report.name} cannot take part: {report.reason}"
    said = {
        reports.PeerMet: "is here",
        reports.PeerRestarted: "is back, and remembers nothing",
        reports.PeerSilent: "is silent",
        reports.PeerBack: "is back",
        reports.PeerLeft: "has left",
        reports.Stranger: "wants to come in",
    }.get(type(report))
    return f"{report.name} {said}" if said else ""


def read_keys(descriptor: int, tell: Callable[[bytes], None]) -> None:
    """Tell the loop about every key, from a thread: not everything that can be read can be polled.

    Like a keyboard it never ends by itself: a daemon.
    """
    loop = asyncio.get_running_loop()

    def read() -> None:
        data = b"begin"
        while data:
            try:
                data = os.read(descriptor, 4096)
            except OSError:
                data = b""
            try:
                loop.call_soon_threadsafe(tell, data)
            except RuntimeError:
                return

    threading.Thread(target=read, name="antecede-keys", daemon=True).start()


async def converse(
    settings: Settings, screen: Screen, descriptor: int, faults: Faults | None, seed: int
) -> list[str]:
    """Open a node and chat, on a network with these faults; the names of those left stranded."""
    loop = asyncio.get_running_loop()
    place = (settings.bind, settings.mtu, loop, settings.gso)
    if faults is None:
        transport = UdpTransport(*place)
    else:
        transport = FaultyTransport(*place, faults=faults, seed=seed)
    try:
        node = start_node(settings, transport, SecretTokens(), None)
    except BaseException:
        transport.close()
        raise
    session = ChatSession(node, screen)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, session.interrupt)
    read_keys(descriptor, session.type)
    stranded: list[str] = []
    try:
        await session.run()
    except Stranded as error:
        stranded = list(error.names)
    await transport.gone()
    return stranded


def run_chat(
    settings: Settings, screen: Screen, descriptor: int, faults: Faults | None, seed: int
) -> list[str]:
    """`converse`, for those without a loop."""
    return asyncio.run(converse(settings, screen, descriptor, faults, seed))
