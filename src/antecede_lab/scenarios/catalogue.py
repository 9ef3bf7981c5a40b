"""The stories, in plain sight: each has acts (who plays which script), and a lesson."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import ClassVar, Final, Self, final

from antecede.core.catalogue import ProtocolInfo
from antecede.core.checks import checked_payload, checked_targets, known_processes, split_targets
from antecede.core.effects import Deliver, Effect, Transmit
from antecede.core.errors import RemoteError, not_called
from antecede.core.packets import Ack, DataPacket, Message, Packet
from antecede.core.process import CausalProcess
from antecede_lab.catalogue import PROTOCOLS
from antecede_lab.scenarios.player import Performance, Script, ScriptedSend, perform, send

PAYLOAD_LIMIT: Final = 1 << 16


@final
class MfMulticastProcess(CausalProcess):
    """Not a causal multicast, though it looks like one: send to all, wait for all acks, go on.

    Mattern and Fünfrocken's rule makes point-to-point messages causal, because a process sends the
    next message only when the last one has been delivered. For several targets that is not enough:
    one target may deliver, and tell another target about it, while the copy to that other is still
    under way. The scenario `mf-multicast` shows it, on a reliable network; nothing else uses this.
    """

    STATE: ClassVar = ("_me", "_sequence", "_buffer", "_unacked")

    def __init__(self, me: int, processes: Sequence[int]) -> None:
        self._me: Final = me
        self._known: Final = known_processes(me, processes)
        self._sequence = 0
        self._buffer: deque[tuple[Message, list[int]]] = deque()
        self._unacked: list[int] = []

    def submit(self, targets: Sequence[int], payload: object, now_ns: int) -> list[Effect]:  # noqa: ARG002 - no timers
        remote, to_self = split_targets(checked_targets(targets), self._me, self._known)
        data = checked_payload(payload, PAYLOAD_LIMIT)
        self._sequence += 1
        message = Message(self._me, self._sequence, data)
        if remote:
            self._buffer.append((message, remote))
        effects = self._next()
        return [*effects, Deliver(message)] if to_self else effects

    def arrive(self, source: int, packet: Packet, now_ns: int) -> list[Effect]:  # noqa: ARG002 - no timers
        if isinstance(packet, DataPacket):
            return [Deliver(packet.carried), Transmit(source, Ack(packet.carried.sequence))]
        if not isinstance(packet, Ack) or source not in self._unacked:
            raise RemoteError(f"unexpected {packet.kind} from {source}")
        self._unacked.remove(source)
        return self._next()

    def _next(self) -> list[Effect]:
        if self._unacked or not self._buffer:
            return []
        message, targets = self._buffer.popleft()
        self._unacked = list(targets)
        return [Transmit(target, DataPacket(message, 0, False)) for target in targets]

    def anew(self) -> Self:
        return MfMulticastProcess(self._me, list(self._known))


MF_MULTICAST: Final = ProtocolInfo(
    "mf-multicast",
    MfMulticastProcess,
    ordering="none",
    multicast=True,
    network="reliable",
    paper="what Mattern and Fünfrocken's rule becomes if it is applied to several targets at once",
)


STARVATION_ROUNDS: Final = 1000
CONVERSATION_TURNS: Final = 25


@final
@dataclass(frozen=True, kw_only=True)
class Act:
    """One protocol, possibly with options, plays one script."""

    label: str
    script: Script
    info: ProtocolInfo
    options: dict[str, object] = field(default_factory=dict)

    def play(self) -> Performance:
        """What happens."""
        return perform(self.script, self.info, self.options)


@final
@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A story: `watched` are the messages that it is about."""

    name: str
    title: str
    lesson: str
    acts: tuple[Act, ...]
    watched: tuple[str, ...]


def acts(script: Script, *names: str) -> tuple[Act, ...]:
    """The same script played by several protocols."""
    return tuple([Act(label=name, script=script, info=PROTOCOLS[name]) for name in names])


SILENT_RECEIVER: Final = Script(
    processes=("alice", "bob", "carol", "zoe"),
    sends=(
        send(0.0, "alice", "zoe", "hello", 1000.0),
        send(0.1, "alice", "bob", "news"),
        ScriptedSend(at=0.1, sender="bob", targets=("carol",), name="word", after="news"),
        ScriptedSend(at=0.1, sender="carol", targets=("bob",), name="answer", after="word"),
    ),
)

FIGURE: Final = Script(
    processes=("x", "y", "j", "k", "i", "r"),
    sends=(
        send(0.0, "k", "x", "k0", 1.2),
        send(0.2, "k", "i", "b"),
        send(0.5, "j", "y", "j0", 3.0),
        send(0.7, "j", "i", "a"),
        send(2.2, "i", "r", "m"),
        send(3.2, "k", "y", "k1", 3.5),
        send(3.4, "k", "i", "c"),
    ),
)

TRIANGLE: Final = Script(
    processes=("alice", "bob", "carol"),
    sends=(
        send(0.0, "alice", "carol", "question", 5.0),
        send(0.1, "alice", "bob", "hint"),
        ScriptedSend(at=0.4, sender="bob", targets=("carol",), name="answer", after="hint"),
    ),
)

AS_MULTICAST: Final = Script(
    processes=("alice", "bob", "carol"),
    sends=(
        send(0.0, "alice", "bob carol", "news", bob=1.0, carol=5.0),
        ScriptedSend(at=0.5, sender="bob", targets=("carol",), name="comment", after="news"),
    ),
)

AS_UNICASTS: Final = Script(
    processes=("alice", "bob", "carol"),
    sends=(
        send(0.0, "alice", "bob", "news for bob"),
        send(0.0, "alice", "carol", "news for carol", 5.0),
        ScriptedSend(
            at=0.5, sender="bob", targets=("carol",), name="comment", after="news for bob"
        ),
    ),
)

MF_TO_TWO: Final = Script(
    processes=("0", "1", "2"),
    sends=(
        ScriptedSend(
            at=0.0, sender="0", targets=("1", "2"), name="m", delays={"1": 1.0, "2": 50.0}
        ),
        send(2.0, "1", "2", "x"),
    ),
)

PERMIT_OVERTAKES: Final = Script(
    processes=("j", "x", "i", "r"),
    sends=(
        send(0.0, "j", "x", "s"),
        send(0.1, "j", "i", "a", 9.9),
        send(12.0, "i", "r", "m"),
    ),
)

DUPLICATED: Final = Script(
    processes=("alice", "bob"),
    sends=(
        ScriptedSend(at=0.0, sender="alice", targets=("bob",), name="pay", again={"bob": 3.0}),
        send(1.0, "alice", "bob", "thanks", 4.0),
    ),
    until=50.0,
)

TO_ONESELF: Final = Script(
    processes=("alice", "bob"),
    sends=(
        send(0.0, "alice", "alice bob", "note"),
        send(1.5, "bob", "alice", "seen"),
        send(3.0, "alice", "alice", "reminder"),
        send(4.0, "bob", "alice", "more"),
    ),
)

YCT_OVERTAKES: Final = Script(
    processes=("j", "x", "i", "k", "y"),
    sends=(
        send(0.0, "j", "x", "s1", 0.5),
        send(0.1, "j", "i", "e1", 100.0),
        send(3.0, "k", "y", "s2", 50.0),
        send(3.1, "k", "i", "e2"),
        send(5.0, "i", "y", "m"),
    ),
    between={("x", "j"): 0.5},
)

SKIPPING: Final = Script(
    processes=("A", "B", "C", "D"),
    sends=(
        send(0.0, "A", "C", "a0", 5.0),
        send(0.0, "B", "D", "b0", 5.0),
        send(0.1, "A", "C", "a1"),
        send(0.1, "B", "D", "b1"),
        send(0.2, "A", "B", "a2"),
        send(0.2, "B", "A", "b2"),
    ),
    until=10_000.0,
)


WINDOW_OF_TWO: Final = Script(
    processes=("i", "j", "k"),
    sends=(
        send(0.0, "i", "j k", "m", j=20.0, k=1.0),
        send(0.0, "k", "i j", "k1", 1.0),
        send(0.1, "k", "i j", "k2", 1.0),
        send(3.5, "k", "i j", "k3", 1.0),
        send(30.0, "i", "j k", "more", 1.0),
    ),
)

EVERYBODY_SPEAKS: Final = Script(
    processes=("alice", "bob", "carol"),
    sends=(
        send(0.0, "alice", "bob carol", "a1"),
        send(0.0, "bob", "alice carol", "b1"),
        send(0.0, "carol", "alice bob", "c1"),
        send(5.0, "alice", "bob carol", "a2"),
        send(5.0, "bob", "alice carol", "b2"),
        send(5.0, "carol", "alice bob", "c2"),
    ),
)


def starvation(rounds: int, until: float) -> Script:
    """Two processes keep i in the dark in turns: there is never a moment without a secret."""
    sends: list[ScriptedSend] = []
    for turn in range(rounds):
        start = float(turn)
        sends.append(send(start, "k1", "p", f"s1.{turn}"))
        sends.append(send(start, "k1", "i", f"e1.{turn}"))
        sends.append(send(start + 0.5, "k2", "q", f"s2.{turn}"))
        sends.append(send(start + 0.5, "k2", "i", f"e2.{turn}"))
    sends.append(send(0.1, "i", "r", "m"))
    far = (("k1", "p"), ("p", "k1"), ("k2", "q"), ("q", "k2"))
    return Script(
        processes=("k1", "k2", "p", "q", "i", "r"),
        sends=tuple(sorted(sends, key=attrgetter("at"))),
        usual=0.05,
        between=dict.fromkeys(far, 0.4),
        until=until,
    )


def conversation(turns: int) -> Script:
    """Two answer each other; before each word its speaker reports to a third."""
    sends: list[ScriptedSend] = []
    for turn in range(1, turns + 1):
        speaker, listener = ("alice", "bob") if turn % 2 else ("bob", "alice")
        after = f"word {turn - 1}" if turn > 1 else ""
        for target, name in (("carol", f"report {turn}"), (listener, f"word {turn}")):
            line = ScriptedSend(at=0.0, sender=speaker, targets=(target,), name=name, after=after)
            sends.append(line)
    return Script(processes=("alice", "bob", "carol"), sends=tuple(sends))


def rtt_acts() -> tuple[Act, ...]:
    """Three protocols over three distances, all messages of a pipeline of two submitted at once."""
    lines = tuple([send(0.0, "here", "there", f"m{number}") for number in range(1, 101)])
    return tuple(
        option_act(
            f"{name}, one way {delay:g}",
            Script(processes=("here", "there"), sends=lines, usual=delay),
            name,
        )
        for delay in (0.1, 1.0, 10.0)
        for name in ("mf", "cykas", "hybrid")
    )


def option_act(label: str, script: Script, name: str, **options: object) -> Act:
    """An act with other options of a protocol."""
    return Act(label=label, script=script, info=PROTOCOLS[name], options=options)


SCENARIOS: Final[dict[str, Scenario]] = {
    scenario.name: scenario
    for scenario in (
        Scenario(
            name="triangle",
            title="An answer overtakes its question",
            lesson="FIFO channels are not enough: the answer comes another way. Causal order "
            "holds it back, at the receiver (rst) or at the sender (hybrid).",
            acts=acts(TRIANGLE, "none", "fifo", "rst", "hybrid"),
            watched=("question", "answer"),
        ),
        Scenario(
            name="figure",
            title="The paper's figure: when may i send m?",
            lesson="c has nothing to do with m, but Cykas counts secrets instead of naming them, "
            "so c keeps m waiting. Permits name what they permit (hybrid-csps); metadata (rst, ks) "
            "lets m leave at once.",
            acts=acts(
                FIGURE, "cykas", "paper-basic", "hybrid-csps", "hybrid-sps", "hybrid", "rst", "ks"
            ),
            watched=("m",),
        ),
        Scenario(
            name="starvation",
            title="Two talkers silence a third for ever",
            lesson="Under Cykas m waits as long as the traffic lasts: a thousand rounds here, and "
            "no end in sight. Once the traffic stops it leaves, so a finite search sees no fault. "
            "Under CSPS it waits only for what happened before it.",
            acts=(
                option_act(
                    "cykas, traffic goes on",
                    starvation(STARVATION_ROUNDS, float(STARVATION_ROUNDS)),
                    "cykas",
                ),
                option_act("cykas, traffic stops after 100", starvation(100, 1e6), "cykas"),
                option_act(
                    "hybrid-csps",
                    starvation(STARVATION_ROUNDS, float(STARVATION_ROUNDS)),
                    "hybrid-csps",
                ),
            ),
            watched=("m",),
        ),
        Scenario(
            name="conversation",
            title="Two talk and report to a third",
            lesson="Under the paper's optimal rule (hybrid-sps) a word may overtake the report "
            "before it, because its receiver owes the permit that is missing. So the next "
            "speaker depends on a report that has not left, and each report waits a round trip "
            "longer than the one before it. Released in order (hybrid) a word waits behind its "
            "report: the talk is slower, and nothing waits for more than a round trip.",
            acts=acts(conversation(CONVERSATION_TURNS), "hybrid-sps", "hybrid", "hybrid-csps"),
            watched=("report 2", f"report {CONVERSATION_TURNS}"),
        ),
        Scenario(
            name="silent-receiver",
            title="One who does not answer holds up those who never wrote to it",
            lesson="zoe is out of reach for a thousand units. Bob has heard from alice, who wrote "
            "to zoe, so under permits alone (hybrid) his word to carol waits for zoe, and "
            "carol's answer waits with it. Facts (hybrid-facts) say what is under way to whom, "
            "so that nobody but zoe's correspondents has to wait.",
            acts=acts(SILENT_RECEIVER, "hybrid-sps", "hybrid", "hybrid-facts", "rst"),
            watched=("word", "answer"),
        ),
        Scenario(
            name="yct-overtakes",
            title="A permission overtakes the secret it is about",
            lesson="Rule 7 of Cykas as printed asks for the acks of earlier messages only. On a "
            "network that reorders, the you-can-tell may come before its message and cancel "
            "another secret. Waiting for the ack of the message itself mends it.",
            acts=(
                option_act("cykas, rule 7 as printed", YCT_OVERTAKES, "cykas", literal_rule_7=True),
                option_act("cykas", YCT_OVERTAKES, "cykas"),
            ),
            watched=("s2", "m"),
        ),
        Scenario(
            name="cykas-skip",
            title="Letting messages skip ahead locks everybody up",
            lesson="Cykas sends from a FIFO buffer. If a later message to somebody else may skip "
            "ahead of one that waits for an ack, two processes can swap secrets that neither "
            "can ever give away.",
            acts=(
                option_act("cykas with skipping", SKIPPING, "cykas", skip=True),
                option_act("cykas", SKIPPING, "cykas"),
            ),
            watched=("a1", "a2", "b1", "b2"),
        ),
        Scenario(
            name="multicast-is-not-unicasts",
            title="One message to two is not two messages",
            lesson="Sent as two unicasts, the copies are different messages: bob's comment depends "
            "on his own copy only, so carol may read it first, and every protocol agrees. As one "
            "multicast the comment depends on the news itself.",
            acts=(
                option_act("hybrid, one multicast", AS_MULTICAST, "hybrid"),
                option_act("hybrid, two unicasts", AS_UNICASTS, "hybrid"),
                option_act("rst, one multicast", AS_MULTICAST, "rst"),
                option_act("rst, two unicasts", AS_UNICASTS, "rst"),
            ),
            watched=("news", "news for carol", "comment"),
        ),
        Scenario(
            name="mf-multicast",
            title="Send to all, wait for all acks: not causal",
            lesson="1 delivers m and writes x to 2 before m has got there. Waiting for acks orders "
            "what the sender does next, not what the receivers do.",
            acts=(
                Act(label="mf, applied to two targets", script=MF_TO_TWO, info=MF_MULTICAST),
                *acts(MF_TO_TWO, "hybrid"),
            ),
            watched=("m", "x"),
        ),
        Scenario(
            name="baldoni-window",
            title="A message of the past is taken for one of the future",
            lesson="Counters modulo three tell one below from one above: enough for one message "
            "under way. With two, m comes when j has delivered two messages of k that i did not "
            "know. Modulo three, two below looks like one above, so m waits for k3, which was "
            "sent after m and waits for it: nobody delivers anything again. Modulo five mends it.",
            acts=(
                option_act("baldoni", WINDOW_OF_TWO, "baldoni"),
                option_act(
                    "baldoni, two under way, modulo 3",
                    WINDOW_OF_TWO,
                    "baldoni",
                    window=2,
                    modulus=3,
                ),
                option_act(
                    "baldoni, two under way, modulo 5",
                    WINDOW_OF_TWO,
                    "baldoni",
                    window=2,
                    modulus=5,
                ),
            ),
            watched=("m", "k3", "more"),
        ),
        Scenario(
            name="baldoni-carried-acks",
            title="Acknowledgements that wait for a message to ride in",
            lesson="A message's vector says what its sender has delivered, so it can acknowledge "
            "that and save packets. But nobody may send before the last message is "
            "acknowledged. When all have sent one, all wait for somebody's next, and the second "
            "round never leaves.",
            acts=(
                option_act(
                    "baldoni, acks in messages only",
                    EVERYBODY_SPEAKS,
                    "baldoni",
                    carried_acks=True,
                ),
                option_act("baldoni", EVERYBODY_SPEAKS, "baldoni"),
            ),
            watched=("a1", "a2", "b2", "c2"),
        ),
        Scenario(
            name="permit-overtakes",
            title="A permit comes before its message",
            lesson="The paper's listing drops a permit that overtakes its message; m then waits "
            "until a timer asks for the permit again. Remembering the highest permit of every "
            "sender mends it.",
            acts=(
                option_act(
                    "paper-basic, as printed", PERMIT_OVERTAKES, "paper-basic", watermark=False
                ),
                *acts(PERMIT_OVERTAKES, "paper-basic", "hybrid-csps"),
            ),
            watched=("a", "m"),
        ),
        Scenario(
            name="duplicated-datagram",
            title="The network brings a message twice",
            lesson="The hybrid family takes any network: a duplicate is recognised and acked "
            "again. The classic algorithms assume that every packet comes exactly once, and "
            "refuse what they did not expect.",
            acts=acts(DUPLICATED, "hybrid", "paper-basic", "rst"),
            watched=("pay", "thanks"),
        ),
        Scenario(
            name="rst-self-send",
            title="A message to oneself",
            lesson="The 1991 text counts a message to oneself in the matrix although it never "
            "comes over the network, so everything after it waits for ever. Delivered inside "
            "the submission and left out of the matrix it blocks nobody.",
            acts=acts(TO_ONESELF, "rst", "hybrid"),
            watched=("note", "seen", "reminder", "more"),
        ),
        Scenario(
            name="rtt-limit",
            title="Throughput over distance",
            lesson="With one message under way at a time (mf), or one per receiver (cykas), a "
            "hundred messages take a hundred round trips. With a receive buffer (hybrid) they "
            "travel together, and distance costs one delay.",
            acts=rtt_acts(),
            watched=("m1", "m100"),
        ),
    )
}


def find_scenario(name: str) -> Scenario:
    """The scenario of that name, or `LocalError` that lists them."""
    if name not in SCENARIOS:
        raise not_called("no scenario", name, SCENARIOS)
    return SCENARIOS[name]
