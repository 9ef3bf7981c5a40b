"""Rooms on an ideal network: causal multicast with expulsions, a queue per node, journals, bytes.

A world is a state; `actions` says what may happen next, and `do` lets it happen. Whoever drives it
chooses: a seed, a fixed story, or a search through all choices. Nothing here decides anything that
`Room` decides.

Messages carry what their sender had expelled when it submitted them. A node takes one item of its
queue after the other; an item that was being taken when the node went down comes again. A node
that goes `down` has a journal and comes back with what `Room.state` says; one that is `dead` has
none. Whoever hears that it is expelled stops (`told`).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from antecede.groups import (
    Ask,
    AskLater,
    Completed,
    Contact,
    FetchSnapshot,
    ForgetSnapshot,
    Join,
    MakeSnapshot,
    Mark,
    MemberId,
    NobodyToAsk,
    Over,
    Pass,
    Publication,
    RestoreSnapshot,
    Room,
    RoomId,
    RoomState,
    Send,
    Show,
    Snapshot,
    Word,
    answer_outside,
    decode_word,
    encode_word,
)
from antecede.groups.effects import Effect
from antecede.groups.state import MEMBER, room_state
from antecede.groups.words import named_in

SPAN: Final = 512
"""At most so many messages, and publications, of one node: the bits of their sets."""

ROOM: Final = RoomId("room", "a", 7)
OTHER_ROOM: Final = RoomId("room", "b", 7)

UP: Final = "up"
DOWN: Final = "down"
DEAD: Final = "dead"
TOLD: Final = "told"

Action: TypeAlias = tuple[str, int, int]
"""What happens, to which node, and to or with what: a message, a node, or nothing (0)."""


@dataclass(frozen=True, slots=True)
class Message:
    """One causal multicast."""

    id: int
    source: int
    word: Word
    past: int
    """The messages that happened before it, as bits."""
    knows: int
    """The publications that happened before it, as bits, also through control words."""
    expelled: tuple[tuple[str, int], ...]
    label: bytes
    """Equal messages, equal labels."""


@dataclass(frozen=True, slots=True)
class Report:
    """An expulsion, in the queue."""

    name: str
    incarnation: int


Item: TypeAlias = Message | Report


@dataclass(frozen=True, slots=True)
class Driver:
    """How nodes drive their rooms; from `expulsions_overtake` on, all ways of doing it wrong."""

    room: Callable[..., Room] = Room
    restored: Callable[..., Room] = Room.restored
    is_eager: bool = False
    """Whether publications go into a buffer behind the room, and only an ask waits for it."""
    has_bytes: bool = False
    """Whether words travel as bytes."""
    expulsions_overtake: bool = False
    forgets_rooms: bool = False
    """Whether a node that restarts is in no room, and joins again or not: that is allowed, too."""
    loses_queue: bool = False
    loses_backlog: bool = False
    forgets_attempt: bool = False
    forgets_known: bool = False
    carries: bool = True
    keeps_joins: bool = False
    """Whether who joins again is the same member."""
    begins_attempts_again: bool = False
    marks_at_delivery: bool = False
    passes_at_delivery: bool = False
    counts_at_delivery: bool = False
    submits_later: bool = False
    """Whether a publication has its view and its number some time before it is submitted."""
    skips: bool = False
    """Whether every fourth publication leaves out one of the view."""


@dataclass(slots=True, eq=False)
class Node:
    """One incarnation of a node, and its application."""

    index: int
    name: str
    incarnation: int
    status: str = UP
    room: Room | None = None
    joins: int = 0
    attempts: int = 0
    peers: dict[str, int] = field(default_factory=dict)
    """By name, the incarnation that was met."""
    expelled: dict[str, int] = field(default_factory=dict)
    taken: dict[str, int] = field(default_factory=dict)
    """Expulsions of the core, and those of them that were taken from the queue."""
    sequence: int = 0
    seen: int = 0
    addressed: int = 0
    settled: int = 0
    """Messages, as bits: in its causal past; with a copy for it; delivered, or never to come."""
    queue: list[Item] = field(default_factory=list)
    taking: Item | None = None
    shown: Publication | None = None
    has_published: bool = False
    """Whether the application has published while it was shown something."""
    buffer: list[Publication] = field(default_factory=list)
    waiting: list[Send] = field(default_factory=list)
    """Publications that are not submitted yet."""
    making: tuple[MemberId, int] | None = None
    state: tuple[int, ...] = ()
    """The application's, when its snapshot began."""
    snapshots: dict[tuple[MemberId, int], tuple[int, ...]] = field(default_factory=dict)
    fetching: tuple[MemberId, int] | None = None
    fetched: tuple[int, ...] = ()
    wants_to_ask: bool = False
    backlog: tuple[Publication, ...] = ()
    log: list[int] = field(default_factory=list)
    """The application's state: the publications in it, in order."""
    knows: int = 0
    behind: int = 0
    """What control words brought to a joiner: its application knows it behind the backlog."""
    knew: int = 0
    """What its application knows, and what it knew when its node took the present item."""
    published: int = 0
    has_left: bool = False
    former_logs: list[tuple[int, ...]] = field(default_factory=list)
    durable: RoomState | None = None
    """An earlier state of the room, for drivers that forget."""

    @property
    def member(self) -> MemberId:
        """Under which id it is in the room, or was."""
        return MemberId(self.name, self.incarnation, self.joins)

    def has_fenced(self, other: "Node") -> bool:
        """Whether its core has expelled that incarnation."""
        return self.expelled.get(other.name, 0) >= other.incarnation

    def clone(self) -> "Node":
        """The same, to go another way."""
        copy = Node(self.index, self.name, self.incarnation)
        for name in Node.__slots__:
            value = getattr(self, name)
            if isinstance(value, dict | list):
                value = value.copy()
            setattr(copy, name, value)
        if self.room is not None:
            copy.room = self.room.clone()
        return copy


class World:
    """Nodes, and what is under way between them."""

    def __init__(
        self,
        founders: int,
        joiners: int,
        driver: Driver = Driver(),  # noqa: B008 - frozen
        *,
        has_two_rooms: bool = False,
    ) -> None:
        self.driver = driver
        self.nodes: list[Node] = []
        self.messages: dict[int, Message] = {}
        self.under_way: list[dict[int, None]] = []
        """Messages on their way to each node."""
        self.notices: dict[tuple[int, int], tuple[tuple[str, int], ...]] = {}
        """From, to: what was expelled there."""
        self.answers: dict[tuple[int, int], None] = {}
        """From, to: you are expelled."""
        self.past: dict[int, int] = {}
        """What happened before each publication."""
        self.publisher: dict[int, int] = {}
        self.said_in: dict[int, RoomId] = {}
        """In which room each publication was said."""
        for index in range(founders + joiners):
            self._add(chr(ord("a") + index), 1)
        first = 1 if has_two_rooms else founders
        for one in self.nodes[:first]:
            self._found(one, ROOM, self.nodes[:first])
        for one in self.nodes[first:founders]:
            self._found(one, OTHER_ROOM, self.nodes[first:founders])

    def clone(self) -> "World":
        """The same, to go another way."""
        copy = World(0, 0, self.driver)
        copy.nodes = [one.clone() for one in self.nodes]
        copy.messages = self.messages.copy()
        copy.under_way = [one.copy() for one in self.under_way]
        copy.notices = self.notices.copy()
        copy.answers = self.answers.copy()
        copy.past = self.past.copy()
        copy.publisher = self.publisher.copy()
        copy.said_in = self.said_in.copy()
        return copy

    def _add(self, name: str, incarnation: int) -> Node:
        node = Node(len(self.nodes), name, incarnation)
        self.nodes.append(node)
        self.under_way.append({})
        return node

    def _found(self, node: Node, room: RoomId, founders: list[Node]) -> None:
        node.joins = 1
        known = {MemberId(one.name, one.incarnation, 1): Contact() for one in founders}
        known = {node.member: Contact(), **known}
        state = RoomState(room, node.member, MEMBER, False, "", 0, known, [], {}, {}, {})
        node.room = self.driver.restored(state, ())
        node.peers = {one.name: one.incarnation for one in founders if one is not node}

    # What may happen.

    def is_deliverable(self, target: int, message: int) -> bool:
        """Whether all that happened before it, and is for this node, is there."""
        node = self.nodes[target]
        return not self.messages[message].past & node.addressed & ~node.settled

    def progress(self) -> list[Action]:
        """What happens by itself, sooner or later."""
        found: list[Action] = []
        for node in self.nodes:
            if node.status != UP:
                if node.status == DOWN:
                    found.append(("restart", node.index, 0))
                continue
            found += [
                ("deliver", node.index, message)
                for message in self.under_way[node.index]
                if self.is_deliverable(node.index, message)
            ]
            found += self._progress_inside(node)
        for kind, sent in (("notice", list(self.notices)), ("answer", list(self.answers))):
            found += [
                (kind, target, source)
                for source, target in sent
                if self.nodes[target].status != DOWN
            ]
        return found

    def _progress_inside(self, node: Node) -> list[Action]:
        found: list[Action] = []
        if node.shown is not None:
            found.append(("finish", node.index, 0))
        elif node.making is not None:
            found.append(("made", node.index, 0))
        elif node.queue and self._may_take(node):
            found.append(("take", node.index, 0))
        if node.buffer:
            found.append(("read", node.index, 0))
        if node.waiting:
            found.append(("submit", node.index, 0))
        if node.fetching is not None and (sponsor := self._sponsor_of(node)) is not None:
            has_them = (node.member, node.fetching[1]) in sponsor.snapshots
            found.append(("bytes" if has_them else "lose", node.index, 0))
        if node.wants_to_ask:
            found.append(("ask", node.index, 0))
        return found

    def _may_take(self, node: Node) -> bool:
        """A driver with a buffer takes an ask when the application has read what is before it."""
        first = node.queue[0]
        is_ask = isinstance(first, Message) and isinstance(first.word, Ask)
        return not (is_ask and node.buffer)

    def _sponsor_of(self, node: Node) -> Node | None:
        """Who should have the bytes that this node fetches, and is there."""
        assert node.fetching is not None
        sponsor, _ = node.fetching
        for other in self.nodes:
            is_it = (other.name, other.incarnation) == (sponsor.name, sponsor.incarnation)
            if is_it and other.status == UP and not node.has_fenced(other):
                return other
        return None

    # What happens.

    def do(self, action: Action) -> None:
        """Let it happen."""
        kind, index, what = action
        node = self.nodes[index]
        match kind:
            case "deliver":
                self._deliver(node, what)
            case "notice":
                self._on_notice(node, what)
            case "answer":
                self._on_answer(node, what)
            case "take":
                self._take(node)
            case "finish":
                self._finish(node)
            case "made":
                self._made(node)
            case "fail":
                node.making = None
                self._perform(node, room_of(node).snapshot_failed("it has raised"))
                self._end_item(node)
            case "lose":
                assert node.fetching is not None
                attempt, node.fetching = node.fetching[1], None
                self._perform(node, room_of(node).snapshot_lost(attempt, "it is damaged"))
            case "submit":
                send = node.waiting.pop(0)
                self._submit(node, send.word, send.to)
            case "read":
                self._read(node)
            case "bytes":
                self._bytes(node)
            case "ask":
                self._ask(node, what)
            case "despair":
                node.wants_to_ask = False
            case "wait":
                pass
            case "publish":
                self.publish(node)
            case "join":
                self.join(node, what)
            case "leave":
                self._perform(node, room_of(node).leave(at_once=bool(what)))
            case "crash":
                node.status = DEAD
            case "expel":
                target = self.nodes[what]
                self._fence(node, [(target.name, target.incarnation)])
            case "down":
                self._go_down(node)
            case "restart":
                self._restart(node)
            case "return":
                self.come_back(node, what)
            case _:
                raise AssertionError(kind)

    def _deliver(self, node: Node, message_id: int) -> None:
        message = self.messages[message_id]
        source = self.nodes[message.source]
        del self.under_way[node.index][message_id]
        assert not node.has_fenced(source)
        self._meet(node, source.name, source.incarnation)
        if self._hears(node, message.expelled):
            return
        node.seen |= message.past | (1 << message_id)
        node.settled |= 1 << message_id
        node.queue.append(message)
        self._too_early(node, message.word)

    def _too_early(self, node: Node, word: Word) -> None:
        """What wrong drivers do at delivery."""
        room = node.room
        if room is None:
            return
        if self.driver.marks_at_delivery and isinstance(word, Join) and word.joiner != room.me:
            mark = Mark(room.room, room.me, word.joiner, word.attempt)
            self._submit(node, mark, (word.sender.name,))
        if self.driver.passes_at_delivery and isinstance(word, Publication):
            for joiner, job in room.jobs.items():
                if word.sender in job.missing:
                    item = Pass(room.room, room.me, joiner, job.attempt, word)
                    self._submit(node, item, (joiner.name,))

    def _is_too_late(self, word: Word) -> bool:
        """Whether a wrong driver has sent this at delivery."""
        if self.driver.passes_at_delivery and isinstance(word, Pass):
            return isinstance(word.item, Publication)
        return self.driver.marks_at_delivery and isinstance(word, Mark)

    def _counted(self, node: Node, word: Snapshot) -> Snapshot:
        """As if what is delivered were in the state."""
        cnt = dict(word.cnt)
        for item in node.queue:
            if isinstance(item, Message) and isinstance(item.word, Publication):
                cnt[item.word.sender] = max(cnt.get(item.word.sender, 0), item.word.number)
        return Snapshot(
            word.room,
            word.sender,
            word.joiner,
            word.attempt,
            cnt,
            word.known,
            word.left,
            word.expelled,
            word.length,
            word.digest,
        )

    def _hears(self, node: Node, expelled: Iterable[tuple[str, int]]) -> bool:
        """Follow a notice; whether that was the end."""
        for name, incarnation in expelled:
            if name == node.name and incarnation >= node.incarnation:
                node.status = TOLD
                return True
        self._fence(node, expelled)
        return False

    def _on_notice(self, node: Node, source: int) -> None:
        expelled = self.notices.pop((source, node.index))
        if node.status == UP and not node.has_fenced(self.nodes[source]):
            self._hears(node, expelled)

    def _on_answer(self, node: Node, source: int) -> None:
        del self.answers[source, node.index]
        if node.status == UP and not node.has_fenced(self.nodes[source]):
            node.status = TOLD

    def _meet(self, node: Node, name: str, incarnation: int) -> None:
        """A higher incarnation is a reason to expel the lower ones."""
        if node.peers.get(name, 0) < incarnation:
            node.peers[name] = incarnation
            if incarnation > 1 and name != node.name:
                self._fence(node, [(name, incarnation - 1)])

    def _fence(self, node: Node, expelled: Iterable[tuple[str, int]]) -> None:
        is_news = False
        for name, incarnation in expelled:
            if node.expelled.get(name, 0) >= incarnation or name == node.name:
                continue
            is_news = True
            node.expelled[name] = incarnation
            report = Report(name, incarnation)
            if self.driver.expulsions_overtake:
                node.queue.insert(0, report)
            else:
                node.queue.append(report)
            for other in self.nodes:
                if other.name == name and other.incarnation <= incarnation:
                    self._cut_off(node, other)
        if is_news and self.driver.carries:
            for name, incarnation in node.peers.items():
                peer = self.find(name, incarnation)
                if peer is not None and not node.has_fenced(peer) and peer.status in (UP, DOWN):
                    self.notices[node.index, peer.index] = tuple(sorted(node.expelled.items()))

    def _cut_off(self, node: Node, other: Node) -> None:
        node.settled |= ((1 << SPAN) - 1) << (other.index * SPAN)
        mine = self.under_way[node.index]
        for message in [one for one in mine if self.messages[one].source == other.index]:
            del mine[message]
        self.notices.pop((other.index, node.index), None)
        self.answers.pop((other.index, node.index), None)
        if other.status in (UP, DOWN):
            self.answers[node.index, other.index] = None

    def find(self, name: str, incarnation: int) -> Node | None:
        """The node of this incarnation."""
        for node in self.nodes:
            if node.name == name and node.incarnation == incarnation:
                return node
        return None

    def latest(self, name: str) -> Node:
        """The last incarnation of a name."""
        return max((one for one in self.nodes if one.name == name), key=lambda one: one.incarnation)

    def _submit(self, node: Node, word: Word, names: tuple[str, ...]) -> None:
        if self.driver.has_bytes:
            word = decode_word(encode_word(word), node.name)
        message_id = node.index * SPAN + node.sequence
        node.sequence += 1
        assert node.sequence < SPAN
        expelled = tuple(sorted(node.expelled.items())) if self.driver.carries else ()
        knows = node.knows
        if not isinstance(word, Publication):
            knows = 0 if self.driver.is_eager else knows | node.behind
        label = b"%d %x %x %r %b" % (message_id, node.seen, knows, expelled, encode_word(word))
        message = Message(message_id, node.index, word, node.seen, knows, expelled, label)
        self.messages[message_id] = message
        node.seen |= 1 << message_id
        for name in names:
            incarnation = node.peers.get(name)
            if incarnation is None:
                incarnation = node.peers[name] = self.latest(name).incarnation
            target = self.find(name, incarnation)
            assert target is not None
            if node.has_fenced(target):
                # There is no news to wait for: its driver tries again.
                node.wants_to_ask = node.wants_to_ask or isinstance(word, Ask)
                continue
            if target.status in (DEAD, TOLD):
                continue
            if target.has_fenced(node):
                self.answers[target.index, node.index] = None
                continue
            target.addressed |= 1 << message_id
            self.under_way[target.index][message_id] = None

    # A node's room.

    def _take(self, node: Node) -> None:
        item = node.taking = node.queue.pop(0)
        node.knew = node.knows
        room = node.room
        if isinstance(item, Report):
            node.taken[item.name] = item.incarnation
            effects = [] if room is None else room.on_expelled(item.name, item.incarnation)
        else:
            for member in named_in(item.word):
                self._meet(node, member.name, member.incarnation)
            self._learn(node, item)
            if self.driver.forgets_known and room is not None:
                node.durable = room.state()
            if room is None:
                effects = answer_outside(item.word, node.member)
            else:
                effects = room.on_word(item.word)
        self._perform(node, effects)
        self._end_item(node)

    def _learn(self, node: Node, message: Message) -> None:
        """What happened before this item has happened before what its taker does from now on."""
        if node.room is not None and not node.room.is_complete:
            node.behind |= message.knows
        elif not (self.driver.is_eager and isinstance(message.word, Publication)):
            node.knows |= message.knows

    def _end_item(self, node: Node) -> None:
        if node.shown is None and node.making is None:
            node.taking = None
            if node.room is not None and node.room.is_complete and not self.driver.is_eager:
                node.knows |= node.behind

    def _perform(self, node: Node, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Send):
                self._send(node, effect)
            elif isinstance(effect, Show):
                self._show(node, effect.publication)
            elif isinstance(effect, MakeSnapshot):
                node.making = (effect.joiner, effect.attempt)
                node.state = tuple(node.log)
            elif isinstance(effect, ForgetSnapshot):
                node.snapshots.pop((effect.joiner, effect.attempt), None)
            elif isinstance(effect, FetchSnapshot):
                node.fetching = (effect.sponsor, effect.attempt)
            elif isinstance(effect, RestoreSnapshot):
                node.former_logs.append(tuple(node.log))
                node.log = list(node.fetched)
                if self.driver.is_eager:
                    for publication in node.log:
                        node.knows |= 1 << publication | self.past[publication]
            elif isinstance(effect, Completed):
                node.backlog = effect.backlog
                node.wants_to_ask = False
            elif isinstance(effect, AskLater | NobodyToAsk):
                node.wants_to_ask = True
            elif isinstance(effect, Over):
                self._on_over(node)

    def _send(self, node: Node, effect: Send) -> None:
        word, names = effect.word, effect.to
        if isinstance(word, Publication) and self.driver.submits_later:
            node.waiting.append(effect)
            return
        if isinstance(word, Publication) and self.driver.skips and word.number % 4 == 2:
            names = names[1:]
        if isinstance(word, Snapshot) and self.driver.counts_at_delivery:
            word = self._counted(node, word)
        if not self._is_too_late(word):
            self._submit(node, word, names)

    def _on_over(self, node: Node) -> None:
        node.has_left = True
        node.wants_to_ask = False
        node.shown = None
        node.fetching = None
        node.buffer = []

    def _show(self, node: Node, publication: Publication) -> None:
        if self.driver.is_eager:
            node.buffer.append(publication)
            self._perform(node, room_of(node).finished())
        else:
            node.shown = publication
            self._into_log(node, publication)

    def _into_log(self, node: Node, publication: Publication) -> None:
        bit = int.from_bytes(publication.payload, "little")
        node.log.append(bit)
        node.knows |= self.past[bit] | 1 << bit

    def _read(self, node: Node) -> None:
        self._into_log(node, node.buffer.pop(0))

    def _finish(self, node: Node) -> None:
        node.shown = None
        node.has_published = False
        self._perform(node, room_of(node).finished())
        self._end_item(node)

    def _made(self, node: Node) -> None:
        assert node.making is not None
        node.snapshots[node.making] = node.state
        node.making = None
        self._perform(node, room_of(node).snapshot_made(len(node.state), b"digest"))
        self._end_item(node)

    def _bytes(self, node: Node) -> None:
        sponsor = self._sponsor_of(node)
        assert sponsor is not None
        assert node.fetching is not None
        attempt = node.fetching[1]
        node.fetched = sponsor.snapshots[node.member, attempt]
        node.fetching = None
        self._perform(node, room_of(node).snapshot_fetched(attempt))

    def _ask(self, node: Node, what: int) -> None:
        """With `what` the node before that one is asked; 0: the room chooses."""
        node.wants_to_ask = False
        node.fetching = None
        if what:
            sponsor = self.nodes[what - 1]
            self._meet(node, sponsor.name, sponsor.incarnation)
            self._perform(node, room_of(node).ask(sponsor.name))
        else:
            self._perform(node, room_of(node).ask())

    # What its application does.

    def publish(self, node: Node) -> int:
        """Publish; answers which publication that is."""
        bit = node.index * SPAN + node.published
        node.published += 1
        self.past[bit] = node.knows
        self.publisher[bit] = node.index
        self.said_in[bit] = room_of(node).room
        node.log.append(bit)
        node.knows |= 1 << bit
        node.has_published = node.shown is not None
        self._perform(node, room_of(node).publish(bit.to_bytes(4, "little")))
        return bit

    def join(self, node: Node, sponsor: int) -> None:
        """Join, for the first time or again, through this sponsor."""
        assert node.room is None or node.has_left
        if node.room is not None:
            node.attempts = 0 if self.driver.begins_attempts_again else node.room.attempt
        if not (self.driver.keeps_joins and node.joins):
            node.joins += 1
        node.has_left = False
        node.taking = None
        attempts = node.attempts
        node.room = self.driver.room(
            RoomId("room"), node.member, Contact(), dict(node.taken), attempts
        )
        found = self.nodes[sponsor]
        self._meet(node, found.name, found.incarnation)
        self._perform(node, node.room.ask(found.name))

    def come_back(self, node: Node, sponsor: int) -> Node:
        """Who was told that it is out joins again, as a new incarnation."""
        again = self._add(node.name, node.incarnation + 1)
        self.join(again, sponsor)
        return again

    def _go_down(self, node: Node) -> None:
        node.status = DOWN
        if node.shown is not None:
            # It was not confirmed: it comes again.
            node.log.pop()
        if node.taking is not None:
            node.knows = node.knew
            node.queue.insert(0, node.taking)
        node.shown = node.making = node.taking = node.fetching = None
        node.wants_to_ask = False
        node.snapshots.clear()
        if self.driver.loses_queue:
            node.queue.clear()

    def _restart(self, node: Node) -> None:
        node.status = UP
        room = node.room
        if room is None or node.has_left:
            return
        if self.driver.forgets_rooms:
            node.room = None
            node.former_logs.append(tuple(node.log))
            node.log, node.buffer, node.knows, node.behind = [], [], 0, 0
            return
        state = room.state()
        if self.driver.forgets_known and node.durable is not None:
            state = node.durable
        state = room_state(state.to_bytes())
        if self.driver.forgets_attempt:
            # Its record was not on disk when the ask left.
            state = with_attempt(state, max(0, state.attempt - 1))
        backlog = () if self.driver.loses_backlog else node.backlog
        node.room = self.driver.restored(state, backlog)
        self._perform(node, node.room.restarted())


def room_of(node: Node) -> Room:
    """The room of a node that has one."""
    assert node.room is not None
    return node.room


def with_attempt(state: RoomState, attempt: int) -> RoomState:
    """The same, as it was in an earlier attempt."""
    return RoomState(
        state.room,
        state.me,
        state.phase,
        state.is_leaving,
        state.sponsor,
        attempt,
        state.known,
        state.left,
        state.expelled,
        state.att,
        state.cnt,
    )
