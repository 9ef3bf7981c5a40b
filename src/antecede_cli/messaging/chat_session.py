"""A group chat that shows what causal order means to people.

Every message says after which other one it was written: the last that its writer could see. So
whoever shows it can tell whether it comes too early, before what it answers. In causal order it
never does. A chat is a keyboard, a screen, and a node between them; or three people with a script
and a network in memory, the same on every machine, that takes no time since its time is its own.
"""

import asyncio
import codecs
import json
import os
import re
import signal
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias

from antecede import events as reports
from antecede.core.errors import LocalError, RemoteError
from antecede.durability.unconfirmed import InboundMessage
from antecede.events import Report
from antecede.network_model.faults import Faults, FaultyNetwork, SlowLink
from antecede.network_model.latency import Uniform
from antecede.runtime.carriers.udp import UdpCarrier
from antecede.runtime.config.addresses import Address
from antecede.runtime.config.settings import Settings
from antecede.runtime.errors import Stranded
from antecede.runtime.node import Node
from antecede.runtime.opening import SecretTokens, start_node
from antecede.runtime.test_network import TestNetwork
from antecede.transport.datagram import Datagram
from antecede.units import messages_text

BACKSPACE: Final = "\x7f\x08"
ALL: Final = "\x15"
WORD: Final = "\x17"
END: Final = "\x04"
ESCAPE: Final = re.compile("\x1b(?:\\[[0-9;?]*[ -/]*[@-~]|O.|.)?")


class LineEditor:
    """Takes what comes from a keyboard, or from a pipe."""

    def __init__(self) -> None:
        self.text = ""
        """The line as far as it has been typed."""
        self.ended = False
        """Whether no more will come."""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, data: bytes) -> list[str]:
        """The lines that these bytes finish; no bytes mean the end."""
        if not data:
            self.ended = True
            rest, self.text = self.text, ""
            return [rest] if rest else []
        lines: list[str] = []
        for letter in ESCAPE.sub("", self._decoder.decode(data)):
            if self.ended:
                break
            if letter in "\r\n":
                lines.append(self.text)
                self.text = ""
            else:
                self._press(letter)
        return lines

    def _press(self, letter: str) -> None:
        if letter in BACKSPACE:
            self.text = self.text[:-1]
        elif letter == ALL:
            self.text = ""
        elif letter == WORD:
            self.text = re.sub(r"\S*\s*\Z", "", self.text)
        elif letter == END:
            self.ended = not self.text
        elif letter == "\t" or letter.isprintable():
            self.text += " " if letter == "\t" else letter


Key: TypeAlias = tuple[str, int]
"""A message: who wrote it, and its number among theirs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line on the screen."""

    sender: str
    sequence: int
    text: str
    missing: Key | None = None
    """What it was written after, and is not on this screen although it was meant for it."""


@dataclass(frozen=True, slots=True)
class SeenLine:
    """The last line on a screen, as a message speaks of it."""

    key: Key
    readers: tuple[str, ...]
    """Everybody it was meant for."""


class ChatRoom:
    """The chat as one person sees it."""

    def __init__(self, me: str) -> None:
        self._me = me
        self._shown: set[Key] = set()
        self._last: SeenLine | None = None

    def write(self, text: str, targets: Sequence[str]) -> bytes:
        """The payload for what this person says now to `targets`."""
        record: dict[str, object] = {"text": text, "to": list(targets)}
        if self._last is not None:
            sender, sequence = self._last.key
            record["after"] = [sender, sequence, list(self._last.readers)]
        return json.dumps(record, ensure_ascii=False).encode()

    def said(self, text: str, sequence: int, targets: Sequence[str]) -> Line:
        """What this person has just said stands on the screen at once."""
        self._show(SeenLine((self._me, sequence), tuple(targets)))
        return Line(sender=self._me, sequence=sequence, text=text)

    def heard(self, sender: str, sequence: int, payload: bytes) -> Line:
        """Show what has been delivered; `RemoteError` if it is not a message of a chat."""
        text, targets, after = parsed(payload)
        missing = None
        if after is not None and self._me in after.readers and after.key not in self._shown:
            missing = after.key
        self._show(SeenLine((sender, sequence), targets))
        return Line(sender=sender, sequence=sequence, text=text, missing=missing)

    def _show(self, seen: SeenLine) -> None:
        self._shown.add(seen.key)
        self._last = seen


def parsed(payload: bytes) -> tuple[str, tuple[str, ...], SeenLine | None]:
    """Text, targets, and what it was written after."""
    try:
        record: dict[str, Any] = json.loads(payload)
        text, targets, after = record["text"], tuple(record["to"]), record.get("after")
        if not isinstance(text, str) or not all(isinstance(name, str) for name in targets):
            raise TypeError
        if after is None:
            return text, targets, None
        sender, sequence, readers = after
        return text, targets, SeenLine((str(sender), int(sequence)), tuple(readers))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise RemoteError("something that is not a message of a chat") from None


ME: Final = 0


class FaultyTransport(UdpCarrier):
    """A socket, apart from what the faults do to what leaves."""

    def __init__(
        self,
        bind: Address,
        mtu: int | str,
        loop: asyncio.AbstractEventLoop,
        gso: str = "auto",
        *,
        faults: Faults,
        seed: int,
    ) -> None:
        super().__init__(bind, mtu, loop, gso)
        self._network = FaultyNetwork(faults, seed)
        self._places: dict[object, int] = {}
        self._count = 0
        self._under_way = 0
        self._closing = False
        self._empty = asyncio.Event()

    def send(self, datagrams: list[Datagram]) -> None:
        now_ns = self.now_ns()
        for datagram in datagrams:
            place = self._places.setdefault(datagram.address, len(self._places) + 1)
            self._count += 1
            self._network.route(ME, place, 0, self._count, now_ns)
            for arrival_ns in (int(self._network.first_ns), int(self._network.second_ns)):
                if arrival_ns >= 0:
                    self._under_way += 1
                    self._loop.call_later((arrival_ns - now_ns) / 1e9, self._pass_on, datagram)
        datagrams.clear()

    def close(self) -> None:
        """Send nothing more; what is under way still arrives, so wait for `wait_closed`."""
        self._closing = True
        self._close_if_empty()

    async def wait_closed(self) -> None:
        """Until a closed transport has nothing under way any more."""
        await self._empty.wait()

    def _pass_on(self, datagram: Datagram) -> None:
        self._under_way -= 1
        super().send([datagram])
        self._close_if_empty()

    def _close_if_empty(self) -> None:
        if self._closing and self._under_way == 0:
            super().close()
            self._empty.set()


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
        self._room = ChatRoom(node.name)
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
        if (
            self._node.closed and self._node._endpoint.stranded()
        ):  # There was no time for good-byes.
            raise Stranded(self._node._endpoint.stranded(), 0)
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
        try:
            if not self._node.online:  # Whoever was just added may still come.
                await self._node.meet()
            # Who has said bye is online until everybody has everything, but reads no more.
            targets = [name for name in self._node.online if name not in self._left]
            if not targets:
                self._screen.note("nobody is here to read that")
                return
            sequence = await self._node.send(targets, self._room.write(text, targets))
        except LocalError as error:
            self._screen.note(str(error))
        else:
            self._screen.line(self._room.said(text, sequence, targets))

    def _who(self) -> str:
        words = []
        for peer in self._node.stats().peers:
            state = "not met yet" if peer.state == "new" else peer.state
            if peer.name in self._left:
                state = "gone"
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
        lost = messages_text(len(report.sequences))
        never = "perhaps never" if report.why == reports.GONE else "never"
        return f"{lost} {never} reached {report.name}"
    if isinstance(report, reports.TooLarge):
        return f"a message of {report.name} was too large: {report.size:,} bytes"
    if isinstance(report, reports.PeerRefused):
        return f"{report.name} cannot take part: {report.reason}"
    said = {
        reports.PeerMet: "is here",
        reports.PeerRestarted: "is back, and remembers nothing",
        reports.PeerSilent: "is silent",
        reports.PeerBack: "is back",
        reports.PeerLeft: "has left",
        reports.StrangerSeen: "wants to come in",
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
        transport = UdpCarrier(*place)
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
    await transport.wait_closed()
    return stranded


def run_chat(
    settings: Settings, screen: Screen, descriptor: int, faults: Faults | None, seed: int
) -> list[str]:
    """`converse`, for those without a loop."""
    return asyncio.run(converse(settings, screen, descriptor, faults, seed))


MS: Final = 1_000_000

BAD_FAULTS: Final = Faults(latency=Uniform(20 * MS, 900 * MS), loss=0.1, duplication=0.05)
"""Like a bad mobile connection: up to a second late, one datagram in ten lost."""

DEMO_FAULTS: Final = Faults(
    latency=Uniform(20 * MS, 300 * MS),
    loss=0.1,
    duplication=0.05,
    slow_links=(SlowLink(source=0, target=2, extra_ns=1200 * MS),),
)
"""One datagram in ten is lost, and what alice sends takes particularly long to carol."""

PEOPLE: Final = ("alice", "bob", "carol")


@dataclass(frozen=True, slots=True)
class Utterance:
    """Something to be said to everybody else."""

    who: str
    text: str
    answers: int | None = None
    """Which utterance it answers: it is said when that one stands on the speaker's screen."""


SCRIPT: Final = (
    Utterance("alice", "Has anybody seen my cat?"),
    Utterance("bob", "No. What does she look like?", 0),
    Utterance("alice", "Black, with one white paw.", 1),
    Utterance("carol", "Oh! She is on my roof.", 2),
    Utterance("bob", "Then everything is fine.", 3),
    Utterance("carol", "Not quite. She cannot get down.", 4),
    Utterance("alice", "I am on my way!", 5),
    Utterance("bob", "Shall I bring the ladder?", 6),
    Utterance("carol", "Yes, please.", 7),
    Utterance("alice", "She came down by herself.", 8),
    Utterance("bob", "Cats.", 9),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A line has come onto somebody's screen."""

    time_ns: int
    """Since the conversation began."""
    screen: str
    line: Line


class Actor:
    """Somebody who says what the script says when its time has come."""

    def __init__(self, node: Node, network: TestNetwork) -> None:
        self._node = node
        self._network = network
        self._room = ChatRoom(node.name)
        self._others = [name for name in PEOPLE if name != node.name]
        self._begun_ns = network.now_ns
        self.shown: list[Shown] = []

    async def speak(self, answered: int | None) -> None:
        """Say whatever answers that utterance; None: whatever begins a conversation."""
        for index, utterance in enumerate(SCRIPT):
            if utterance.who == self._node.name and utterance.answers == answered:
                payload = self._room.write(utterance.text, self._others)
                sequence = await self._node.send(self._others, payload)
                self._show(self._room.said(utterance.text, sequence, self._others))
                await self.speak(index)

    async def listen(self) -> None:
        """Read, and answer, until the node is closed."""
        async for message in self._node:
            line = self._room.heard(message.sender, int(message.sequence), message.payload)
            self._show(line)
            for index, utterance in enumerate(SCRIPT):
                if (utterance.who, utterance.text) == (line.sender, line.text):
                    await self.speak(index)

    def _show(self, line: Line) -> None:
        time_ns = self._network.now_ns - self._begun_ns
        self.shown.append(Shown(time_ns=time_ns, screen=self._node.name, line=line))


async def perform(order: str, faults: Faults, seed: int) -> list[Shown]:
    """The conversation over this network, in this order: what came onto which screen, when."""
    async with TestNetwork(faults, seed=seed) as network:
        nodes = [await network.open_node(name, settings={"order": order}) for name in PEOPLE]
        await network.settle()
        actors = [Actor(node, network) for node in nodes]
        loop = asyncio.get_running_loop()
        tasks = [loop.create_task(actor.listen()) for actor in actors]
        for actor in actors:
            await actor.speak(None)
        copies = len(SCRIPT) * len(PEOPLE)
        while sum(len(actor.shown) for actor in actors) < copies:
            await network.settle()
            await asyncio.sleep(0)
    await asyncio.gather(*tasks)
    shown = [event for actor in actors for event in actor.shown]
    return sorted(shown, key=lambda event: event.time_ns)


def run_demo(order: str, faults: Faults = DEMO_FAULTS, seed: int = 1) -> list[Shown]:
    """`perform`, for those without a loop."""
    return asyncio.run(perform(order, faults, seed))
