"""A group of real processes with a bad network between them, and what they saw put together."""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from antecede.eventlog import Event
from antecede.runtime.config.names import process_id
from antecede_audit.eventlog import read_events
from antecede_audit.judging import OracleVerdict, check_log, explain_verdict
from antecede_lab.chaos.proxy import Conditions, Proxy
from antecede_lab.child import Child, Json, Line
from tests.free_ports import free_port

NAMES = ("alice", "bob", "carol", "dave", "erin", "frank", "grace", "heidi")
ROOT = Path(__file__).parents[4]
SURROUNDINGS = {"PYTHONPATH": os.pathsep.join([os.environ.get("PYTHONPATH", ""), str(ROOT)])}
"""Workers find the tests, and the same build of the package, wherever pytest was started."""

SETTLE_S = 120.0
CLOSE_S = 60.0

SETTINGS: Mapping[str, Json] = {
    "patience": 0.2,
    "heartbeat": 0.5,
    "silent_after": 5.0,
    "trace_format": "jsonl",
}
"""A network as bad as ours would try the patience of the default settings, and of the tests."""


class Member:
    """One process of a group."""

    def __init__(
        self,
        name: str,
        peers: Mapping[str, str | None],
        *,
        bind: str = "127.0.0.1:0",
        seed: int = 1,
        within: Sequence[str] = (),
        **settings: Json,
    ) -> None:
        self.name = name
        plan = {"name": name, "bind": bind, "peers": dict(peers), "seed": seed}
        text = json.dumps({**plan, "settings": {**SETTINGS, **settings}}, default=str)
        program = [sys.executable, "-m", "tests.antecede.runtime.processes.worker", text]
        self.child = Child([*within, *program], name=name, environment=SURROUNDINGS)
        self._address = ""

    @property
    def address(self) -> str:
        """Where its node listens; waits until it does."""
        if not self._address:
            self._address = self.child.hear()["address"]
        return self._address

    def do(self, verb: str, argument: Json = True, timeout_s: float = 30.0) -> Line:
        """Tell it one thing, and hear how it went."""
        assert self.address
        return self.child.ask({verb: argument}, timeout_s)

    def state(self) -> Line:
        return self.do("state")

    def explain(self) -> str:
        """Why its node says it is waiting."""
        return str(self.do("explain")["explain"])

    def events(self, kind: str) -> list[Line]:
        """The events of this kind that its node has reported."""
        return [event for event in self.state()["events"] if event["event"] == kind]

    def wait_for(self, key: str, value: Json, timeout_s: float = SETTLE_S) -> None:
        """Wait until this part of its state has this value."""
        self.wait_until(lambda state: bool(state[key] == value), timeout_s)

    def wait_until(self, condition: Callable[[Line], bool], timeout_s: float = SETTLE_S) -> Line:
        """Wait until its state is like this; the state."""
        until = time.monotonic() + timeout_s
        while not condition(state := self.state()):
            assert time.monotonic() < until, f"{self.name}: {state}\n{self.explain()}"
            time.sleep(0.05)
        return state

    def wait_for_event(self, kind: str, timeout_s: float = SETTLE_S) -> Line:
        """Wait until its node has reported an event of this kind; the first one."""
        self.wait_until(lambda state: any(e["event"] == kind for e in state["events"]), timeout_s)
        return self.events(kind)[0]


class Group:
    """Some members, each of which knows all the others."""

    def __init__(self, members: Sequence[Member], folder: Path) -> None:
        self.members = {member.name: member for member in members}
        self.folder = folder

    def __getitem__(self, name: str) -> Member:
        return self.members[name]

    def do(self, verb: str, argument: Json = True, timeout_s: float = 30.0) -> list[Line]:
        """Tell all of them at once; what each has answered."""
        return tell_all(list(self.members.values()), verb, argument, timeout_s)

    def talk(self, **plan: Json) -> None:
        """Let everybody listen, answer and talk."""
        self.do("listen")
        self.do("talk", plan)

    def settle(self, timeout_s: float = SETTLE_S) -> None:
        """Wait until all has been said and everything sent has been taken."""
        settle(list(self.members.values()), timeout_s)

    def close(self) -> None:
        """Let everybody leave; nobody may be stranded."""
        answers = self.do("close", {"timeout": CLOSE_S}, CLOSE_S + 10)
        assert answers == [{"closed": True}] * len(answers)

    def check(self) -> OracleVerdict:
        """Judge both what the applications saw and what the nodes logged; all must be well."""
        seen = self.check_applications()
        logged = check_log(self.logged_events(), witnesses=False)
        assert logged.ok, explain_verdict(logged)
        assert (logged.messages, logged.deliveries) == (seen.messages, seen.deliveries)
        return logged

    def check_applications(self) -> OracleVerdict:
        """Judge what the applications saw."""
        for member in self.members.values():
            assert member.state()["problems"] == []
        seen = check_log(self.application_events(), witnesses=False)
        assert seen.ok, explain_verdict(seen)
        return seen

    def application_events(self) -> list[Event]:
        """What the applications saw, as an event log."""
        histories = {name: m.do("history")["history"] for name, m in self.members.items()}
        return [event for name in histories for event in history_events(name, histories[name])]

    def logged_events(self) -> list[Event]:
        """The event logs of all nodes, which share a folder."""
        return list(read_events(self.folder))


class ProxiedGroup(Group):
    """A group with a proxy between its members."""

    def __init__(self, members: Sequence[Member], folder: Path, proxy: Proxy) -> None:
        super().__init__(members, folder)
        self.proxy = proxy


def history_events(name: str, history: Sequence[Sequence[Json]]) -> Iterator[Event]:
    """What one application saw, as rows of an event log."""
    me = process_id(name)
    position = 0
    for what, first, second in in_order_of_submission(history):
        if what == "sent":
            rows = [("submitted", me, first, process_id(target)) for target in second]
        else:
            rows = [("delivered", process_id(first), second, me)]
        for kind, sender, sequence, target in rows:
            yield Event(
                process=me,
                position=position,
                kind=kind,
                sender=sender,
                sequence=sequence,
                target=target,
                time_ns=position,
            )
            position += 1


def in_order_of_submission(history: Sequence[Sequence[Json]]) -> list[Sequence[Json]]:
    """A history in which what was sent stands where its call began, had the call not waited.

    A send that waits for room is submitted after others that were called later, as the sequences
    tell; by then all had been taken that was taken before those calls.
    """
    placed = [((place, 0), entry) for place, entry in enumerate(history) if entry[0] != "sent"]
    sent = [(entry[1], place, entry) for place, entry in enumerate(history) if entry[0] == "sent"]
    latest = 0
    for sequence, place, entry in sorted(sent, key=lambda item: item[0]):
        latest = max(latest, place)
        placed.append(((latest, sequence), entry))
    return [entry for _, entry in sorted(placed, key=lambda item: item[0])]


def tell_all(
    members: Sequence[Member], verb: str, argument: Json = True, timeout_s: float = 30.0
) -> list[Line]:
    """Tell all of them at once; what each has answered."""
    for member in members:
        assert member.address
        member.child.tell({verb: argument})
    return [member.child.hear(timeout_s) for member in members]


def settle(members: Sequence[Member], timeout_s: float = SETTLE_S) -> None:
    """Wait until all has been said, and everything sent between these has been taken."""
    until = time.monotonic() + timeout_s
    states = tell_all(members, "state")
    while not settled(states):
        if time.monotonic() > until or any(state["problems"] for state in states):
            told = [member.explain() for member in members]
            raise AssertionError(f"not settled: {summary(states)}\n" + "\n".join(told))
        time.sleep(0.05)
        states = tell_all(members, "state")


def settled(states: Sequence[Line]) -> bool:
    """Whether nobody talks, as much was taken as was sent, and everybody knows of it."""
    if any(state["talking"] or state["stats"]["buffered"] for state in states):
        return False
    copies: int = sum(state["copies"] for state in states)
    taken: int = sum(state["taken"] for state in states)
    return copies == taken


def summary(states: Sequence[Line]) -> str:
    """The states in a few words, for a failure."""
    keys = ("copies", "taken", "talking", "problems", "stats")
    return "\n".join(str({key: state[key] for key in keys}) for state in states)


@contextmanager
def member(
    name: str, peers: Mapping[str, str | None], *, bind: str = "127.0.0.1:0", **settings: Json
) -> Iterator[Member]:
    """One process, without anything between it and its peers."""
    one = Member(name, peers, bind=bind, **settings)
    with one.child:
        yield one


@contextmanager
def pair(**settings: Json) -> Iterator[tuple[Member, Member]]:
    """Alice, who knows where Bob is, and Bob, who waits for her to say hello."""
    with (
        member("bob", {"alice": None}, **settings) as bob,
        member("alice", {"bob": bob.address}, **settings) as alice,
    ):
        yield alice, bob


def free_address() -> str:
    """A UDP port that nobody listens on yet."""
    return f"127.0.0.1:{free_port()}"


@contextmanager
def group_of(
    size: int,
    folder: Path,
    conditions: Conditions | None = None,
    *,
    seed: int = 1,
    **settings: Json,
) -> Iterator[ProxiedGroup]:
    """Processes that trust each other and a network that nobody should."""
    names = NAMES[:size]
    with ExitStack() as stack:
        proxy = stack.enter_context(Proxy(dict.fromkeys(names), conditions, seed=seed))
        members = []
        for name in names:
            member = Member(name, proxy.peers_of(name), seed=seed, trace=folder, **settings)
            stack.enter_context(member.child)
            members.append(member)
        yield ProxiedGroup(members, folder, proxy)
