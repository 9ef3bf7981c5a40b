"""A cluster of real nodes under real faults: processes that are killed, stopped and cut off.

Nodes are `antecede node`, datagrams are UDP through the proxy. What is drawn from the seed is the
schedule of faults and who writes to whom; what the machine does in between is its own.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from random import Random
from tempfile import TemporaryDirectory
from typing import Final, Self, TypeAlias, final

from antecede.units import counted
from antecede_audit.judging.departures import DepartureVerdict, judge_departures
from antecede_lab.chaos.node_lives import ClusterLog, Counts, NodeLife, start_node
from antecede_lab.chaos.proxy import Conditions, Proxy
from antecede_lab.child import Child, ChildFailed, interrupts_held

KILL: Final = "kill"
PAUSE: Final = "pause"
CUT: Final = "cut"
NETWORK: Final = "network"
EXPEL: Final = "expel"

KINDS: Final = (KILL, PAUSE, CUT, NETWORK, EXPEL)
WEIGHTS: Final = (6, 3, 3, 3, 2)

RESTART: Final = "restart"
"""How a killed node is got over: it comes back, or another one expels it first."""

HEALINGS: Final = (RESTART, RESTART, EXPEL)

PERIOD_S: Final = 0.6
"""So long after one fault the next one comes, on average."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing that happens: to `node`, or to the network."""

    at_s: float
    kind: str
    node: int = 0
    lasts_s: float = 0.0
    """How long a pause or a cut lasts, or until a killed node is got over."""
    other: int = 0
    """Who expels it, if anybody does."""
    healing: str = ""
    loss: float = 0.0
    delay_ms: int = 0

    def __str__(self) -> str:
        words = {
            KILL: f"SIGKILL node {self.node}; after {self.lasts_s:.2f} s {self.healing}",
            PAUSE: f"SIGSTOP node {self.node} for {self.lasts_s:.2f} s",
            CUT: f"cut node {self.node} off for {self.lasts_s:.2f} s",
            NETWORK: f"loss {self.loss:.0%}, delays of up to {self.delay_ms} ms",
            EXPEL: f"node {self.other} expels node {self.node}, which lives",
        }
        return f"{self.at_s:7.2f} s  {words[self.kind]}"


def schedule_of(seed: int, nodes: int, faults: int) -> list[Fault]:
    """A number of faults, one after the other, for a cluster of `nodes` nodes."""
    random = Random(seed)
    drawn: list[Fault] = []
    at_s = 0.0
    for _ in range(faults):
        at_s += random.uniform(0.5 * PERIOD_S, 1.5 * PERIOD_S)
        drawn.append(fault_of(random, nodes, at_s))
    return drawn


def fault_of(random: Random, nodes: int, at_s: float) -> Fault:
    """The next fault."""
    kind = random.choices(KINDS, WEIGHTS)[0]
    node, other = random.sample(range(nodes), 2)
    return Fault(
        at_s=round(at_s, 3),
        kind=kind,
        node=node,
        other=other,
        lasts_s=round(random.uniform(0.1, 1.2), 3),
        healing=random.choice(HEALINGS) if kind == KILL else "",
        loss=random.choice((0.0, 0.05, 0.2)) if kind == NETWORK else 0.0,
        delay_ms=random.choice((0, 5, 40)) if kind == NETWORK else 0,
    )


START_S: Final = 120.0
"""Processes that start at once may take long on a busy machine."""

TURN_S: Final = 0.005
SETTLE_S: Final = 30.0
"""When nothing has come for 30 s, nothing more will."""

REJOIN_S: Final = 0.5
"""So long after its expulsion one that was killed comes back as somebody new."""

REPLIES: Final = 0.35
"""The share of deliveries that are answered: chains of causes."""

Progress: TypeAlias = Callable[[int, int], None]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOutcome:
    """What came of it."""

    counts: Counts
    judgement: DepartureVerdict
    failures: list[str]
    """Processes that ended in a way that nobody asked for, with their last words."""

    def findings(self) -> dict[str, int]:
        """What was wrong, and how often."""
        found = self.judgement.findings()
        others = {
            "left out though here": self.counts.wrongly_left_out,
            "failures": len(self.failures),
        }
        return found | {kind: count for kind, count in others.items() if count}


@final
class Cluster:
    """The nodes, the proxy between them, and the witness; a context, after which nobody is left."""

    def __init__(self, nodes: int, seed: int, rate: float, journal: bool = False) -> None:
        self.witness: Final = ClusterLog()
        self.failures: Final[list[str]] = []
        self._names: Final = [f"n{number}" for number in range(nodes)]
        self._journal: Final = journal
        self._folder = ""
        # Those that were killed, and whose journals will let them go on.
        self._asleep: Final[dict[str, NodeLife]] = {}
        self._random: Final = Random(f"traffic {seed}")
        self._seed: Final = seed
        self._period_s: Final = 1.0 / rate
        self._stack: Final = ExitStack()
        self._at: Final[dict[str, NodeLife]] = {}
        self._doomed: Final[list[tuple[float, str, str]]] = []
        self._cut: Final[set[str]] = set()
        self._send_at_s = 0.0
        self._replying = True
        self._proxy = Proxy(dict.fromkeys(self._names), Conditions(), seed=seed)

    def __enter__(self) -> Self:
        try:
            self._folder = self._stack.enter_context(TemporaryDirectory(prefix="antecede-chaos-"))
            with interrupts_held():
                self._stack.enter_context(self._proxy)
            for name in self._names:
                self._start(name)
            self._await_ready()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def undergo(self, schedule: Sequence[Fault], progress: Progress | None) -> ClusterOutcome:
        """Let it all happen, then let the rest come to rest; what came of it."""
        began_s = time.monotonic()
        for done, fault in enumerate(schedule):
            self._go_on(began_s + fault.at_s)
            self._befall(fault)
            if progress is not None:
                progress(done + 1, len(schedule))
        self._heal()
        self._settle()
        return self._outcome(len(schedule), time.monotonic() - began_s)

    # Lives.

    def _start(self, name: str) -> None:
        """A new life begins, or one with a journal goes on."""
        life = self._asleep.pop(name, None)
        number = len(self.witness.lives) if life is None else life.number
        folder = f"{self._folder}/{name}-{number}" if life is None else life.folder
        options = ["--journal", folder] if self._journal else []
        born_us = time.time_ns() // 1_000
        with interrupts_held():
            child = start_node(name, self._proxy.peers_of(name), options)
            self._stack.callback(end_child, child)
        if life is None:
            life = NodeLife(name, number, born_us, child, folder)
            self.witness.lives.append(life)
        else:
            life.begin_again(child)
        self._at[name] = life

    def _await_ready(self) -> None:
        until_s = time.monotonic() + START_S
        while not all(life.ready for life in self._at.values()):
            self._listen()
            if time.monotonic() > until_s or self.failures:
                raise ChildFailed("; ".join(self.failures) or "the nodes do not get ready")
            time.sleep(TURN_S)

    def _there(self) -> list[NodeLife]:
        """The nodes that can receive commands."""
        gone = self.witness.departures.gone
        lives = self._at.values()
        return [x for x in lives if x.ready and not x.paused and x.number not in gone]

    # Time passes.

    def _go_on(self, until_s: float) -> None:
        """Messages are sent and delivered until then, and what was begun ends."""
        while time.monotonic() < until_s:
            self._listen()
            self._write()
            self._end_faults()
            time.sleep(TURN_S)

    def _listen(self) -> None:
        for life in list(self._at.values()):
            for line in life.child.lines():
                if life.incarnation and line.get("event") == "ready":
                    # As a rule it is the one that was killed.
                    incarnation = int(line["incarnation"])
                    if incarnation != life.incarnation:
                        life = self._at[life.name] = self.witness.renewed(life, incarnation)
                self.witness.hears(life, line)
                if "from" in line and self._replying and self._random.random() < REPLIES:
                    self._send(life)
            if life.child.status() is not None and not life.over:
                self._has_ended(life)

    def _has_ended(self, life: NodeLife) -> None:
        """A process has ended by itself: if it was expelled, that is how it should be."""
        for line in life.child.lines():
            self.witness.hears(life, line)
        life.end()
        if life.number not in self.witness.departures.gone:
            self.failures.append(f"{life.name} ended: {life.child.said()[-500:]}")
        self.witness.crashed(life)
        del self._at[life.name]
        self._doomed.append((time.monotonic() + 0.2, RESTART, life.name))

    def _write(self) -> None:
        now_s = time.monotonic()
        there = self._there()
        if now_s >= self._send_at_s and there:
            self._send_at_s = now_s + self._period_s * self._random.expovariate(1.0)
            self._send(self._random.choice(there))

    def _send(self, life: NodeLife) -> None:
        """A node writes to one other, or to several."""
        others = [other for other in self._at.values() if other is not life and other.ready]
        if not others or life.paused or life.over:
            return
        count = 1 if self._random.random() < 0.7 else self._random.randint(1, len(others))
        targets = self._random.sample(others, count)
        text = self.witness.asks(life, targets)
        request = {"to": [target.name for target in targets], "text": text, "id": life.asked}
        self._tell(life, request)

    def _tell(self, life: NodeLife, request: dict[str, object]) -> None:
        try:
            life.child.tell(request)
        except ChildFailed:
            return  # It is noticed as soon as its lines end.

    # Faults.

    def _befall(self, fault: Fault) -> None:
        name = self._names[fault.node]
        life = self._at.get(name)
        end_s = time.monotonic() + fault.lasts_s
        if fault.kind == NETWORK:
            delay_ns = fault.delay_ms * 1_000_000
            self._proxy.change(loss=fault.loss, latency_ns_max=delay_ns)
        elif fault.kind == CUT:
            self.witness.counts.on_cut()
            self._cut.add(name)
            self._proxy.isolate(name)
            self._doomed.append((end_s, CUT, name))
        elif life is None or life.paused or not life.ready:
            return
        elif fault.kind == KILL:
            self._kill(life)
            self._doomed.append((end_s, RESTART if self._journal else fault.healing, name))
        elif fault.kind == PAUSE:
            self.witness.counts.on_pause()
            life.pause()
            self._doomed.append((end_s, PAUSE, name))
        elif fault.kind == EXPEL:
            self._expel(self._names[fault.other], name)

    def _kill(self, life: NodeLife) -> None:
        self.witness.counts.on_kill()
        life.child.kill()
        for line in life.child.lines():
            self.witness.hears(life, line)
        del self._at[life.name]
        if self._journal and life.number not in self.witness.departures.gone:
            self.witness.falls_asleep(life)
            self._asleep[life.name] = life
        elif self._journal:
            self.witness.crashed(life)
        else:
            self.witness.killed(life)

    def _expel(self, by: str, name: str) -> None:
        life = self._at.get(by)
        if life is not None and life in self._there():
            self._tell(life, {"expel": name, "reason": "suspected"})

    def _end_faults(self, *, all_of_them: bool = False) -> None:
        now_s = time.monotonic()
        due = [entry for entry in self._doomed if all_of_them or entry[0] <= now_s]
        for entry in due:
            self._doomed.remove(entry)
            self._get_over(entry[1], entry[2])

    def _get_over(self, healing: str, name: str) -> None:
        life = self._at.get(name)
        if healing == CUT:
            self._cut.discard(name)
            self._proxy.heal()
            for other in self._cut:
                self._proxy.isolate(other)
        elif healing == PAUSE and life is not None and life.paused:
            life.go_on()
        elif healing == RESTART and life is None:
            self._start(name)
        elif healing == EXPEL and life is None:
            there = [other.name for other in self._there()]
            if there:
                self._expel(self._random.choice(there), name)
            self._doomed.append((time.monotonic() + REJOIN_S, RESTART, name))

    # The end.

    def _heal(self) -> None:
        """The trouble is over: nobody is paused or cut off, and the dead are expelled."""
        self._end_faults(all_of_them=True)
        self._proxy.change(loss=0.0, latency_ns_max=0)
        self._proxy.heal()
        self._await_ready()
        self._go_on(time.monotonic() + 0.5)
        for life in self._there():
            for name in self._names:
                if name not in self._at:
                    self._expel(life.name, name)

    def _settle(self) -> None:
        """Wait until nothing is missing, or nothing comes any more."""
        self._replying = False
        best = self.witness.counts.deliveries
        until_s = time.monotonic() + SETTLE_S
        while time.monotonic() < until_s and (self.witness.missing() or self._doomed):
            self._listen()
            self._end_faults()
            if self.witness.counts.deliveries > best:
                best = self.witness.counts.deliveries
                until_s = time.monotonic() + SETTLE_S
            time.sleep(4 * TURN_S)

    def _outcome(self, faults: int, seconds: float) -> ClusterOutcome:
        witness = self.witness
        counters = [c for targets in self._proxy.counters().values() for c in targets.values()]
        left_out, wrongly_left_out = witness.left_out()
        counts = replace(
            witness.counts,
            seconds=round(seconds, 1),
            faults=faults,
            lives=len(witness.lives),
            taken_along=witness.taken_along(),
            left_out=left_out,
            wrongly_left_out=wrongly_left_out,
            datagrams=sum(counter.received for counter in counters),
            lost=sum(counter.lost + counter.cut for counter in counters),
        )
        judgement = judge_departures(witness.log(), witness.departures)
        return ClusterOutcome(counts=counts, judgement=judgement, failures=self.failures)

    def _end(self) -> None:
        """Nobody is left: what was judged is over, so they need not say good-bye."""
        with interrupts_held():
            self._stack.close()


def end_child(child: Child) -> None:
    """End a process at once, whatever state it is in, and give its pipes back."""
    if child.status() is None:
        child.kill()
    child.stop()


SHOWN = 10


def outcome_text(outcome: ClusterOutcome, command: str) -> str:
    """The page; `command` shows the same schedule again."""
    counts = outcome.counts
    lines = [
        f"{counts.seconds:g} s, {counted(counts.faults, 'fault')}: "
        f"{counted(counts.kills, 'SIGKILL')}, {counted(counts.pauses, 'pause')}, "
        f"{counted(counts.cuts, 'cut')}; {counted(counts.lives, 'life', 'lives')} in all",
        f"{counted(counts.messages, 'message')} asked for, "
        f"{counted(counts.deliveries, 'delivery', 'deliveries')}; "
        f"{counted(counts.datagrams, 'datagram')}, {counts.lost:,} of them lost or cut off",
        f"{counted(counts.expulsions, 'expulsion')} reported, "
        f"{counted(counts.fenced, 'node')} stopped because they were expelled; "
        f"{counted(counts.refused, 'message')} refused, "
        f"{counted(counts.left_out, 'copy', 'copies')} left out, "
        f"{counted(counts.again, 'delivery', 'deliveries')} marked as perhaps repeated; "
        f"{counted(counts.taken_along, 'copy', 'copies')} perhaps delivered by a process that was "
        "killed before it had written them",
    ]
    found = outcome.findings()
    if found:
        lines.append("WRONG: " + ", ".join(f"{count} {kind}" for kind, count in found.items()))
        lines += details(outcome)
    else:
        lines.append(
            "All is well: causal order everywhere, nothing twice, nothing missing that may not be."
        )
    return "\n".join([*lines, f"The same faults again: {command}"])


def details(outcome: ClusterOutcome) -> list[str]:
    """The first findings of each kind."""
    judgement = outcome.judgement
    kinds = (
        judgement.verdict.violations,
        judgement.verdict.duplicates,
        judgement.verdict.inventions,
        judgement.lost,
        judgement.unreported,
        judgement.stale,
        outcome.failures,
    )
    return [f"  {finding}" for kind in kinds for finding in kind[:SHOWN]]


def outcome_object(
    outcome: ClusterOutcome, schedule: list[Fault], command: str
) -> dict[str, object]:
    """The same for programs."""
    return {
        "ok": not outcome.findings(),
        "findings": outcome.findings(),
        "counts": asdict(outcome.counts),
        "failures": outcome.failures,
        "schedule": [str(fault).strip() for fault in schedule],
        "command": command,
    }
