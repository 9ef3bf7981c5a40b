"""Rooms of `antecede node` processes: joins under load, and members that are killed or paused.

Every text says how much its sender had read of each member when it was told to say it. An oracle
goes through what each member has read, its snapshot first: nothing twice, nothing left out, and
nothing before what it says to know.
"""

import json
import signal
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from antecede_lab.child import Child, Line
from tests.antecede.runtime.processes.groups import free_address

WAIT_S = 60.0


class Member:
    """One `antecede node`, and what it has written."""

    def __init__(self, name: str, address: str, knows: dict[str, str], *options: str) -> None:
        peers = [f"--peer={one}={where}" for one, where in knows.items()]
        command = ["node", "--name", name, "--bind", address, *peers, *options]
        self.name = name
        self.address = address
        self.child = Child.python("antecede", *command, name=name)
        self.lines: list[Line] = []
        self.said = 0
        self.sent = 0
        self.seen: dict[str, int] = defaultdict(int)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while (line := self._next()) is not None:
            for message in line.get("messages", [line]):
                if "text" in message:
                    self.seen[message["from"]] = json.loads(message["text"])["n"]
            self.lines.append(line)
            self.sent += "sent" in line

    def _next(self) -> Line | None:
        try:
            return self.child.hear_or_end(WAIT_S)
        except Exception:
            return None

    def say(self, room: str = "lobby") -> None:
        """Say what it has read so far."""
        self.said += 1
        text = json.dumps({"n": self.said, "knows": {**self.seen, self.name: self.said - 1}})
        self.child.tell({"room": room, "text": text, "id": self.said})

    def join(self, via: str | None = None, room: str = "lobby") -> None:
        self.child.tell({"join": room, "via": via, "history": True})

    def events(self, name: str) -> list[str]:
        return [line["peer"] for line in list(self.lines) if line.get("event") == name]

    def joined(self) -> bool:
        return self.name in self.events("joined")

    def history(self) -> list[Line]:
        """What it has of the room: its last snapshot, and what it has read since."""
        history: list[Line] = []
        for line in list(self.lines):
            if line.get("event") == "snapshot":
                history = list(line["messages"])
            elif "room" in line and "text" in line:
                history.append(line)
        return history


def until(condition: Callable[[], bool], what: Callable[[], str] = str) -> None:
    """Wait for it."""
    end = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < end, what()
        time.sleep(0.01)


def judge(member: Member, *, dead: frozenset[str] = frozenset()) -> dict[str, int]:
    """How much of each other member this one has; it fails if that is not a causal history."""
    seen: dict[str, int] = defaultdict(int)
    own = 0
    for message in member.history():
        said = json.loads(message["text"])
        sender = message["from"]
        assert said["n"] == seen[sender] + 1, f"{member.name}: {said} after {seen[sender]}"
        for other, count in said["knows"].items():
            if other not in (member.name, *dead):
                assert seen[other] >= count, f"{member.name}: {sender} {said} before {other}"
        seen[sender] = said["n"]
        own += sender == member.name
    return seen


OPTIONS = ("--expel=majority:1s", "--set=heartbeat=200ms", "--set=accept_unknown=anybody")


@contextmanager
def members(names: str, *options: str) -> Iterator[list[Member]]:
    """Processes that all know the first of them, which has founded the room."""
    with ExitStack() as stack:
        where = {name: free_address() for name in names.split()}
        first = names.split()[0]
        group = []
        for name, address in where.items():
            knows = {} if name == first else {first: where[first]}
            member = Member(name, address, knows, *(options or OPTIONS))
            stack.enter_context(member.child)
            group.append(member)
        group[0].join()
        until(group[0].joined)
        yield group


def enter(member: Member, via: str = "alice") -> None:
    member.join(via)
    until(member.joined, lambda: f"{member.name}: {member.lines[-5:]}")


def talk(speakers: list[Member], rounds: int, during: Callable[[int], None] | None = None) -> None:
    for number in range(rounds):
        for member in speakers:
            member.say()
        if during is not None:
            during(number)
        time.sleep(0.002)


def settled(group: list[Member], *, dead: frozenset[str] = frozenset()) -> bool:
    """Whether everybody has everything of those that live, by its own snapshot or read."""
    for member in group:
        if member.sent < member.said:
            return False
        has: dict[str, int] = defaultdict(int)
        for message in member.history():
            has[message["from"]] = json.loads(message["text"])["n"]
        for other in group:
            if other is not member and other.name not in dead and has[other.name] < other.said:
                return False
    return True


def end(group: list[Member]) -> None:
    for member in group:
        member.child.end_input()
    for member in group:
        assert member.child.wait() == 0, member.name


def test_a_late_joiner_under_load_has_the_whole_history_once_and_in_causal_order() -> None:
    with members("alice bob carol dave") as group:
        alice, bob, carol, dave = group
        enter(bob)

        def during(number: int) -> None:
            if number == 30:
                carol.join("alice")
            if number == 60:
                dave.join("alice")

        talk([alice, bob], 150, during)
        until(lambda: carol.joined() and dave.joined())
        talk(group, 20)
        until(lambda: settled(group), lambda: str([(m.name, m.lines[-3:]) for m in group]))
        for member in group:
            judge(member)
        assert any(line.get("event") == "snapshot" for line in carol.lines)
        end(group)


def test_leaving_and_joining_again_under_load() -> None:
    with members("alice bob carol") as group:
        alice, bob, carol = group
        enter(bob)
        enter(carol)
        talk(group, 20)
        carol.child.tell({"leave": "lobby"})
        talk([alice, bob], 20)
        until(lambda: "carol" in carol.events("left") and "carol" in alice.events("left"))
        carol.join("alice")
        until(lambda: carol.events("joined").count("carol") == 2)
        talk(group, 20)
        until(lambda: settled(group))
        for member in group:
            judge(member)
        end(group)


def test_a_member_is_killed_and_the_room_goes_on() -> None:
    with members("alice bob carol dave erin") as group:
        alice, bob, carol, dave, erin = group
        for member in (bob, carol, dave):
            enter(member)
        talk(group[:4], 20)
        dave.child.signal(signal.SIGKILL)
        talk([alice, bob, carol], 50)
        until(lambda: all("dave" in one.events("left") for one in (alice, bob, carol)))
        enter(erin)
        left = [alice, bob, carol, erin]
        talk(left, 20)
        until(lambda: settled(left))
        for member in left:
            judge(member, dead=frozenset({"dave"}))
        end(left)


def test_the_sponsor_is_killed_while_somebody_joins() -> None:
    with members("alice bob carol dave erin") as group:
        alice, bob, carol, dave, erin = group
        for member in (bob, carol, dave):
            enter(member)

        def during(number: int) -> None:
            if number == 10:
                # It knows nobody but alice, who dies in the middle of it, or just before or after.
                erin.join("alice")
            if number == 12:
                alice.child.signal(signal.SIGKILL)

        talk([bob, carol, dave], 100, during)
        until(lambda: all("alice" in one.events("left") for one in (bob, carol, dave)))
        left = [bob, carol, dave]
        if erin.joined():
            left.append(erin)
        talk(left, 10)
        until(lambda: settled(left), lambda: str([(m.name, m.lines[-3:]) for m in left]))
        for member in left:
            judge(member, dead=frozenset({"alice"}))
        erin.child.signal(signal.SIGTERM)
        end([bob, carol, dave])


def test_the_joiner_is_killed() -> None:
    with members("alice bob carol dave") as group:
        alice, bob, carol, dave = group
        enter(bob)
        enter(carol)

        def during(number: int) -> None:
            if number == 10:
                dave.join("alice")
            if number == 12:
                dave.child.signal(signal.SIGKILL)

        talk([alice, bob, carol], 100, during)
        left = [alice, bob, carol]
        until(lambda: settled(left))
        for member in left:
            judge(member)
        end(left)


def test_a_paused_member_that_was_expelled_is_fenced_and_the_others_go_on() -> None:
    with members("alice bob carol dave") as group:
        alice, bob, carol, dave = group
        for member in (bob, carol, dave):
            enter(member)
        talk(group, 10)
        dave.child.signal(signal.SIGSTOP)
        talk([alice, bob, carol], 50)
        until(lambda: all("dave" in one.events("left") for one in (alice, bob, carol)))
        dave.child.signal(signal.SIGCONT)
        until(lambda: bool(dave.events("fenced")))
        talk([alice, bob, carol], 10)
        left = [alice, bob, carol]
        until(lambda: settled(left))
        for member in left:
            judge(member, dead=frozenset({"dave"}))
        end(left)


def test_lines_about_rooms_that_make_no_sense_are_answered_with_errors() -> None:
    with members("alice") as group:
        (alice,) = group
        for line, error in (
            ({"room": "nowhere", "text": "x", "id": 1}, "not in the room"),
            ({"leave": "nowhere", "id": 2}, "not in the room"),
            ({"join": 7, "id": 3}, "the name of a room"),
            ({"join": "lobby", "id": 4}, "already"),
            ({"join": "other", "via": "nobody", "id": 5}, "no peer is called"),
            ({"room": "lobby", "id": 6}, 'needs "text"'),
        ):
            before = len(alice.lines)
            alice.child.tell(line)
            until(lambda before=before: len(alice.lines) > before)  # type: ignore[misc]
            answer = alice.lines[before]
            assert answer["id"] == line["id"]
            assert error in answer["error"]
        end(group)


def test_a_member_with_a_journal_that_is_killed_comes_back_with_all_it_has_missed(
    tmp_path: Path,
) -> None:
    # However long a process takes to start on a busy machine, it is not expelled meanwhile.
    patient = ("--expel=majority:50s", *OPTIONS[1:])
    with members("alice bob carol", *patient) as group:
        alice, bob, carol = group
        enter(bob)
        where = free_address()
        journaled = (*patient, f"--journal={tmp_path / 'dave'}")
        dave = Member("dave", where, {"alice": alice.address}, *journaled)
        with dave.child:
            enter(dave)
            enter(carol)
            talk([*group, dave], 10)
            until(lambda: dave.sent == dave.said)
            dave.child.kill()
        talk(group, 20)
        again = Member("dave", where, {"alice": alice.address}, *journaled)
        again.said = again.sent = dave.said
        with again.child:
            enter(again)
            talk([*group, again], 10)
            everybody = [*group, again]
            until(lambda: settled(everybody), lambda: str([(m.name, m.lines[-3:]) for m in group]))
            for member in everybody:
                judge(member)
            end(everybody)
