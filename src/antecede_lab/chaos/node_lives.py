"""The nodes of a cluster as processes, one life after the other, and what was seen of them.

All that counts is what an application sees: what it has asked a node to send, and what the node has
handed over, in the order in which that passed through the pipes. A message belongs to the past of
what is asked for after it was read. To the judge each life is a process of its own; with a journal
a process that is killed goes on with the same life when it is back.
"""

import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, final

from antecede.core.errors import AntecedeError
from antecede.eventlog.log import DELIVERED, NULL, SUBMITTED, EventLog
from antecede.events import LEFT_OUT, TOO_LARGE
from antecede_audit.judging.departures import Departures, ExpulsionRow
from antecede_lab.child import Child, Line

SETTINGS: Final = (
    "patience=200ms",
    "heartbeat=300ms",
    "silent_after=20s",
    "meet_within=3s",
    "expel=manual",
)
"""Short times, because a run is short. Who is expelled follows from the seed, never from a policy:
on a busy machine that would be whoever gets no processor."""

CERTAIN: Final = (LEFT_OUT, TOO_LARGE)
"""Why a message was certainly not sent to somebody: should it come there, it was invented."""


@final
@dataclass(slots=True)
class Counts:
    """What a run consisted of."""

    seconds: float = 0.0
    faults: int = 0
    kills: int = 0
    pauses: int = 0
    cuts: int = 0
    lives: int = 0
    messages: int = 0
    deliveries: int = 0
    again: int = 0
    """Deliveries that came again after a crash, and said so."""
    refused: int = 0
    left_out: int = 0
    """Copies that were not sent, because their target was away."""
    wrongly_left_out: int = 0
    """Those of them whose target was met and lived, and was never expelled."""
    taken_along: int = 0
    """Copies that killed processes without a journal had delivered, and not yet written."""
    expulsions: int = 0
    """How often a node said that it goes on without another one."""
    fenced: int = 0
    """Nodes that learned that they are expelled, and stopped."""
    datagrams: int = 0
    lost: int = 0

    def on_kill(self) -> None:
        """A node was killed."""
        self.kills += 1

    def on_pause(self) -> None:
        """A node was stopped for a while."""
        self.pauses += 1

    def on_cut(self) -> None:
        """A node was cut off."""
        self.cuts += 1


@final
@dataclass(slots=True)
class NodeLife:
    """One process, from its start to its end."""

    name: str
    number: int
    """Its id for the judge."""
    born_us: int
    """Its incarnation is a time: it is after this, and before the next life of that name."""
    child: Child
    folder: str = ""
    """Where its journal is, if it has one."""
    incarnation: int = 0
    """What it says that it is, once it is ready."""
    ready: bool = False
    paused: bool = False
    over: bool = False
    asked: int = 0
    sequences: dict[int, int] = field(default_factory=dict)
    """Which message it has called by a sequence number."""
    unanswered: set[int] = field(default_factory=set)
    """Messages of which it has not said yet whether they are sent."""
    interrupted: set[int] = field(default_factory=set)
    """Those that it never will: it was killed before it could, and perhaps never took them."""
    given_up: dict[tuple[int, str], bool] = field(default_factory=dict)
    """Of which sequence numbers it has said that who is called so may never get them, or that it
    certainly does not."""
    here: dict[str, int] = field(default_factory=dict)
    """Whom it has met and not let go of, as far as it has said, and which life that is."""

    def begin_again(self, child: Child) -> None:
        """With a journal: it goes on in another process, which has still to get ready."""
        self.child = child
        self.ready = self.over = False

    def end(self) -> None:
        """Its process has ended."""
        self.over = True

    def pause(self) -> None:
        """Stop its process."""
        self.paused = True
        self.child.signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Let its process go on."""
        self.paused = False
        self.child.signal(signal.SIGCONT)


def start_node(name: str, peers: dict[str, str], options: Sequence[str]) -> Child:
    """Start `antecede node`; its peers are where the proxy says."""
    arguments = ["node", "--name", name, "--bind", "127.0.0.1:0", *options]
    for setting in SETTINGS:
        arguments += ["--set", setting]
    for peer, address in peers.items():
        arguments += ["--peer", f"{peer}={address}"]
    return Child([sys.executable, "-m", "antecede", *arguments], name=name)


@final
@dataclass(frozen=True, slots=True)
class SendRequest:
    """That a node was asked to send message `asked` to whoever is called `name`."""

    life: int
    asked: int
    name: str
    expected: int
    """The life of that name that ran then; its sender may know an earlier or a later one."""
    time_ns: int
    met: int | None = None
    """The life of that name that the sender had said that it has met, if any."""


@final
@dataclass(frozen=True, slots=True)
class Delivered:
    """That a life has handed over a message."""

    life: int
    sender: int
    asked: int
    time_ns: int


@final
class ClusterLog:
    """Writes down what passed through the pipes, for the judge."""

    def __init__(self) -> None:
        # Events and deliveries have pipes of their own inside a node.
        self.departures: Final = Departures(reports_in_place=False)
        self.lives: Final[list[NodeLife]] = []
        self.counts: Final = Counts()
        self._seen: Final[list[SendRequest | Delivered]] = []
        # Copies by sender, message and name: those that came, and where; those given up.
        self._came: Final[dict[tuple[int, int, str], int]] = {}
        self._given_up: Final[set[tuple[int, int, str]]] = set()
        # Of those given up: what was never sent to whoever is called so.
        self._not_sent: Final[set[tuple[int, int, str]]] = set()
        # The last message of each sender that each life has written, by sender and life.
        self._last_came: Final[dict[tuple[int, int], int]] = {}
        # When lives without a journal were killed, and which lives have said that they go on
        # without them.
        self._killed_ns: Final[dict[int, int]] = {}
        self._goes_on: Final[set[tuple[int, int]]] = set()

    def asks(self, life: NodeLife, targets: Sequence[NodeLife]) -> str:
        """A node is asked to send something; the text by which that is known."""
        life.asked += 1
        life.unanswered.add(life.asked)
        self.counts.messages += 1
        now_ns = time.monotonic_ns()
        for target in targets:
            name = target.name
            met = life.here.get(name)
            self._seen.append(
                SendRequest(life.number, life.asked, name, target.number, now_ns, met)
            )
        return f"{life.number} {life.asked}"

    def hears(self, life: NodeLife, line: Line) -> None:
        """A node has written a line."""
        event = line.get("event")
        if "from" in line:
            self._delivered(life, line)
        elif "sent" in line:
            life.unanswered.discard(int(line["sent"]))
            life.sequences[int(line["sequence"])] = int(line["sent"])
            for name in line.get("left_out", ()):
                self._gives_up(life, str(name), [int(line["sequence"])], certain=True)
            self._match(life)
        elif "error" in line:
            self._refuses(life, line)
        elif event == "ready":
            life.ready = True
            life.incarnation = int(line["incarnation"])
        elif event == "fenced":
            self.counts.fenced += 1
            self.departures.gone.add(life.number)
        elif event == "met":
            self._meets(life, str(line["peer"]))
        elif event == "restarted":
            self._meets(life, str(line["peer"]))
            killed = [x for x in self._killed_ns if self.lives[x].name == str(line["peer"])]
            self._goes_on.update((life.number, number) for number in killed)
        elif event == "left":
            life.here.pop(str(line["peer"]), None)
        elif event == "expelled":
            life.here.pop(str(line["peer"]), None)
            self._goes_on_without(life, self.life_of(str(line["peer"]), int(line["incarnation"])))
            self._gives_up(life, str(line["peer"]), line["undelivered"])
        elif event == "undeliverable":
            # The next life reports what an earlier one had sent, if that one had not reported it.
            sender = self.life_of(life.name, int(line["life"])) if "life" in line else life
            certain = line.get("why") in CERTAIN
            self._gives_up(sender, str(line["peer"]), line["sequences"], certain=certain)

    def crashed(self, life: NodeLife) -> None:
        """A life has ended without a bye."""
        life.over = True
        self.departures.gone.add(life.number)

    def killed(self, life: NodeLife) -> None:
        """A life without a journal was killed: what it had delivered and not written is lost."""
        self.crashed(life)
        self._killed_ns[life.number] = time.monotonic_ns()

    def renewed(self, life: NodeLife, incarnation: int) -> NodeLife:
        """A killed process has restarted as a new incarnation: the old one had been expelled."""
        self.crashed(life)
        born = NodeLife(life.name, len(self.lives), incarnation, life.child, life.folder)
        self.lives.append(born)
        return born

    def falls_asleep(self, life: NodeLife) -> None:
        """A process was killed, and its journal will let it go on."""
        life.over = True
        life.interrupted |= life.unanswered
        life.unanswered.clear()

    def missing(self) -> int:
        """Copies of which nobody has said yet what became of them, of senders that are not gone.

        To a life that is gone, too: its sender may be the last to read that.
        """
        gone = self.departures.gone
        count = 0
        for seen in self._seen:
            if isinstance(seen, SendRequest) and seen.life not in gone:
                copy = (seen.life, seen.asked, seen.name)
                if seen.asked in self.lives[seen.life].interrupted:
                    continue
                settled = copy in self._came or copy in self._given_up
                count += not settled and not self._was_taken_along(seen)
        return count

    def taken_along(self) -> int:
        """Copies that a killed process may have delivered, and had not written when it died.

        Their senders have reported what it may have missed, and these were not among it.
        """
        return sum(
            isinstance(seen, SendRequest) and self._was_taken_along(seen) for seen in self._seen
        )

    def left_out(self) -> tuple[int, int]:
        """Copies that were not sent because their target was away; and those of them that should
        have been: their sender had met a life of that name which nobody has expelled since.
        """
        out = [x for x in self._seen if isinstance(x, SendRequest) and self._was_left_out(x)]
        gone = self.departures.gone
        return len(out), sum(x.met is not None and x.met not in gone for x in out)

    def log(self) -> EventLog:
        """The event log of all lives; what was given up was for a life that is gone."""
        log = EventLog()
        for seen in self._seen:
            if isinstance(seen, SendRequest):
                copy = (seen.life, seen.asked, seen.name)
                if self._was_never_taken(seen) or self._was_left_out(seen):
                    continue
                target = self._target(seen)
                if copy in self._given_up or self._was_taken_along(seen):
                    self.departures.undelivered.add((seen.life, seen.asked, target))
                process, kind, sender = seen.life, SUBMITTED, seen.life
            else:
                process, kind, sender, target = seen.life, DELIVERED, seen.sender, seen.life
            log.append(process, kind, sender, seen.asked, target, NULL, NULL, seen.time_ns, 0, 0)
        return log

    def life_of(self, name: str, incarnation: int) -> NodeLife:
        """The life that an incarnation is."""
        born = [x for x in self.lives if x.name == name and x.born_us <= incarnation]
        if not born:
            raise AntecedeError(f"nobody started incarnation {incarnation} of {name}")
        return born[-1]

    def _was_left_out(self, asked: SendRequest) -> bool:
        """Whether its sender says that it was not sent to this target."""
        return (asked.life, asked.asked, asked.name) in self._not_sent

    def _meets(self, life: NodeLife, name: str) -> None:
        """It has met the last life of that name, or one that is already over."""
        life.here[name] = [x.number for x in self.lives if x.name == name][-1]

    def _was_never_taken(self, asked: SendRequest) -> bool:
        """Whether a node was killed before it had taken a message, as far as anybody knows."""
        if asked.asked not in self.lives[asked.life].interrupted:
            return False
        return not any(copy[:2] == (asked.life, asked.asked) for copy in self._came)

    def _was_taken_along(self, asked: SendRequest) -> bool:
        """Whether a process was killed that may have delivered it, and its sender goes on.

        It writes in the order of its deliveries, which is that of sending: nothing that is missing
        before a message that it has written was delivered.
        """
        copy = (asked.life, asked.asked, asked.name)
        if copy in self._came or copy in self._given_up or asked.life in self.departures.gone:
            return False
        if asked.asked < self._last_came.get((asked.life, asked.expected), 0):
            return False
        killed_ns = self._killed_ns.get(asked.expected, 0)
        return asked.time_ns < killed_ns and (asked.life, asked.expected) in self._goes_on

    def _target(self, asked: SendRequest) -> int:
        """Which life a copy was for, as far as can be known."""
        copy = (asked.life, asked.asked, asked.name)
        if copy in self._came:
            return self._came[copy]
        if copy in self._given_up and asked.expected not in self.departures.gone:
            earlier = [x.number for x in self.lives if x.name == asked.name]
            gone = [number for number in earlier if number in self.departures.gone]
            return gone[-1] if gone else asked.expected
        return asked.expected

    def _delivered(self, life: NodeLife, line: Line) -> None:
        sender, asked = (int(word) for word in str(line["text"]).split())
        if line.get("again") and self._came.get((sender, asked, life.name)) == life.number:
            self.counts.again += 1
            return
        self.counts.deliveries += 1
        self._came.setdefault((sender, asked, life.name), life.number)
        pair = (sender, life.number)
        self._last_came[pair] = max(asked, self._last_came.get(pair, 0))
        self._seen.append(Delivered(life.number, sender, asked, time.monotonic_ns()))

    def _refuses(self, life: NodeLife, line: Line) -> None:
        """What it was asked to send, it has not: its application knows that nobody gets it."""
        self.counts.refused += 1
        if "id" in line:
            life.unanswered.discard(int(line["id"]))
            for name in {other.name for other in self.lives}:
                self._given_up.add((life.number, int(line["id"]), name))

    def _goes_on_without(self, life: NodeLife, gone: NodeLife) -> None:
        self.counts.expulsions += 1
        self.departures.gone.add(gone.number)
        self._goes_on.add((life.number, gone.number))
        now_ns = time.monotonic_ns()
        self.departures.fences.append(
            ExpulsionRow(at=life.number, gone=gone.number, time_ns=now_ns)
        )

    def _gives_up(
        self, life: NodeLife, name: str, sequences: Sequence[int], *, certain: bool = False
    ) -> None:
        for sequence in sequences:
            life.given_up[int(sequence), name] = certain
        self._match(life)

    def _match(self, life: NodeLife) -> None:
        """That a copy is given up may be said before it is said what the message is called."""
        for (sequence, name), certain in list(life.given_up.items()):
            asked = life.sequences.get(sequence)
            if asked is not None:
                self._given_up.add((life.number, asked, name))
                if certain:
                    self._not_sent.add((life.number, asked, name))
                del life.given_up[sequence, name]
