"""A failure of a protocol in words: step by step, in the order of time, up to the verdict.

The story is not copied from the search: it is acted out again by fresh processes that nobody
clones, and judged again with lists of names instead of bits. If the two do not agree, then equal
fingerprints hid different states, and that is the failure that is reported.
"""

from typing import Final, final

from antecede.core.catalogue import ProtocolInfo
from antecede.core.effects import Deliver, Effect
from antecede.core.errors import RemoteError
from antecede.core.packets import Message, Packet
from antecede_lab.checker.interleavings import ARRIVE, DUPLICATE, EXPIRE, LOSE, SUBMIT, Step
from antecede_lab.checker.moves import overdue_ns
from antecede_lab.checker.programs import Program, Send
from antecede_lab.checker.search import Budgets
from antecede_lab.checker.verdicts import (
    CRASHED,
    INVENTED,
    MISADDRESSED,
    ORDER,
    REFUSED,
    RESTLESS,
    STUCK,
    TWICE,
    UNFAITHFUL,
    CheckVerdict,
    in_words,
)

STEPS_SHOWN: Final = 60
"""A story of more than 60 steps is shown without its middle."""

ENDLESS_STEPS_SHOWN: Final = 12
"""12 steps are shown of a story without an end."""


@final
class Failure:
    """A program, the faults it met, the steps that led to something wrong, and what that was."""

    __slots__ = ("budgets", "info", "program", "steps", "verdict")

    def __init__(
        self,
        info: ProtocolInfo,
        program: Program,
        budgets: Budgets,
        steps: list[Step],
        verdict: CheckVerdict,
    ) -> None:
        self.info: Final = info
        self.program: Final = program
        self.budgets: Final = budgets
        self.steps: Final = steps
        self.verdict: Final = verdict

    def story(self) -> list[str]:
        """The failure in words, a line for each step, the verdict last."""
        stage = Reenactment(self.info, self.program)
        lines = [f"{n + 1}. {stage.perform(step)}" for n, step in enumerate(self.steps)]
        if self.verdict.kind == RESTLESS:
            lines[ENDLESS_STEPS_SHOWN:] = ["And so on."]
        elif len(lines) > STEPS_SHOWN:
            half = STEPS_SHOWN // 2
            lines[half:-half] = [f"... {len(lines) - 2 * half} more steps ..."]
        verdict = f"Verdict: {in_words(self.verdict)}{stage.reason(self.verdict)}."
        return [f"{self.info.name} runs: {self.program.text}", *lines, verdict]

    def __repr__(self) -> str:
        return f"Failure({self.info.name!r}, {self.program.text!r}, {self.verdict!r})"


def confirmed(failure: Failure) -> Failure:
    """The same failure if it happens again to fresh processes; else one that says it does not."""
    stage = Reenactment(failure.info, failure.program)
    for step in failure.steps:
        stage.perform(step)
    kind = failure.verdict.kind
    expected = None if kind in (STUCK, RESTLESS, UNFAITHFUL) else failure.verdict
    if stage.verdict == expected and not (kind == STUCK and stage.in_flight):
        return failure
    detail = f"equal fingerprints hide different states; it did not repeat {failure.verdict}"
    verdict = CheckVerdict(UNFAITHFUL, failure.verdict.process, detail=detail)
    return Failure(failure.info, failure.program, failure.budgets, failure.steps, verdict)


@final
class Reenactment:
    """Fresh processes, a scripted network, and a judge that records what happens."""

    def __init__(self, info: ProtocolInfo, program: Program) -> None:
        everyone = list(range(program.processes))
        self._ordering: Final = info.ordering
        self._program: Final = program
        self._processes: Final = [info.create(me, everyone) for me in everyone]
        self._now_ns: Final = [0] * program.processes
        self._send_of: Final = {send.name: send for _, send in program.messages}
        self._sender_of: Final = {send.name: sender for sender, send in program.messages}
        self.in_flight: list[tuple[int, int, Packet]] = []
        # What each process did ("submitted" or "delivered", and the name of a message), in order;
        # and what its sender had done before it submitted a message.
        self._done: Final[list[list[tuple[str, str]]]] = [[] for _ in everyone]
        self._before: Final[dict[str, list[tuple[str, str]]]] = {}
        self.verdict: CheckVerdict | None = None

    def perform(self, step: Step) -> str:
        """Let a step happen again, and say what happens."""
        process = int(step.process)
        if step.flight is not None:
            return self._network(int(step.kind), int(step.flight.source), process, step.flight.text)
        words = f"The timer of process {process} fires"
        name = ""
        if step.kind == SUBMIT:
            send = self._next_send(process)
            if send is None:
                return self._lost_track(process, "submit anything more")
            name = send.name
            words = f"Process {process} submits {send}"
            self._before[name] = self._done[process].copy()
            self._done[process].append(("submitted", name))
        return f"{words}, {self._act(int(step.kind), process, 0, None, name)}."

    def _network(self, kind: int, source: int, target: int, text: str) -> str:
        found = [
            place
            for place, (origin, goal, packet) in enumerate(self.in_flight)
            if origin == source and goal == target and repr(packet) == text
        ]
        if not found:
            return self._lost_track(target, f"receive {text} from {source}")
        packet = self.in_flight[found[0]][2]
        words = named(packet)
        if kind == DUPLICATE:
            self.in_flight.append((source, target, packet))
            return f"The network duplicates {words} on its way from {source} to {target}."
        self.in_flight.pop(found[0])
        if kind == LOSE:
            return f"The network loses {words} on its way from {source} to {target}."
        done = self._act(ARRIVE, target, source, packet, "")
        return f"{words} from {source} arrives at process {target}, {done}."

    def _act(self, kind: int, me: int, source: int, packet: Packet | None, name: str) -> str:
        """Tell the process, and say what it does."""
        process = self._processes[me]
        try:
            if packet is not None:
                effects = process.arrive(source, packet, self._now_ns[me])
            elif kind == EXPIRE:
                self._now_ns[me] = overdue_ns(process, self._now_ns[me])
                effects = process.expire(self._now_ns[me])
            else:
                targets = list(self._send_of[name].targets)
                effects = process.submit(targets, name.encode(), self._now_ns[me])
        except RemoteError as refusal:
            self._note(CheckVerdict(REFUSED, me, detail=str(refusal)))
            return "which refuses it"
        except Exception as error:  # whatever a protocol raises is a finding about it
            self._note(CheckVerdict(CRASHED, me, detail=repr(error)))
            return "and it breaks down"
        if not effects:
            return "and holds it back" if kind == SUBMIT else "and nothing follows"
        words = listed([self._take(me, effect) for effect in effects])
        if packet is not None:
            return f"which {words}"
        return f"and it {words}" if kind == EXPIRE else f"and {words}"

    def _take(self, me: int, effect: Effect) -> str:
        if isinstance(effect, Deliver):
            self._deliver(me, effect.message)
            return f"delivers {named_message(effect.message)}"
        self.in_flight.append((me, int(effect.target), effect.packet))
        return f"transmits {named(effect.packet)} to {effect.target}"

    # The judge.

    def _deliver(self, me: int, message: Message) -> None:
        name = message.payload.decode(errors="replace")
        if not self._is_genuine(message, name):
            self._note(CheckVerdict(INVENTED, me, detail=repr(message)))
            return
        if name not in self._before:
            self._note(CheckVerdict(INVENTED, me, detail=name))
        if ("delivered", name) in self._done[me]:
            self._note(CheckVerdict(TWICE, me, name))
        elif me not in self._send_of[name].targets:
            self._note(CheckVerdict(MISADDRESSED, me, name))
        else:
            for missing in self._required(name):
                mine = me in self._send_of[missing].targets
                if mine and ("delivered", missing) not in self._done[me]:
                    self._note(CheckVerdict(ORDER, me, name, missing))
        self._done[me].append(("delivered", name))

    def _is_genuine(self, message: Message, name: str) -> bool:
        if self._sender_of.get(name) != message.sender:
            return False
        names = [send.name for send in self._program.sends[message.sender]]
        return names.index(name) + 1 == message.sequence

    def _required(self, name: str) -> list[str]:
        """What must be delivered before `name` wherever both are due, in the program's order."""
        if self._ordering == "none":
            return []
        if self._ordering == "fifo":
            return [x for deed, x in self._before.get(name, []) if deed == "submitted"]
        return [x for x in self._send_of if x != name and self._chain(x, name)]

    def _chain(self, cause: str, effect: str) -> list[str]:
        """Why `cause` happened before `effect`, link by link; empty if it did not."""
        reached: dict[str, list[str]] = {effect: []}
        queue = [effect]
        for later in queue:
            for deed, earlier in self._before.get(later, []):
                if earlier in reached:
                    continue
                link = f"{self._sender_of[later]} {deed} {earlier} before it submitted {later}"
                reached[earlier] = [link, *reached[later]]
                queue.append(earlier)
        return reached.get(cause, [])

    def reason(self, verdict: CheckVerdict) -> str:
        """What to add to a verdict so that it can be believed."""
        if verdict.kind != ORDER:
            return ""
        cause, effect = verdict.missing, verdict.message
        links = listed(self._chain(cause, effect))
        return f", although {cause} happened before {effect}: {links}"

    def _note(self, verdict: CheckVerdict) -> None:
        """Only the first thing that is wrong counts."""
        if self.verdict is None:
            self.verdict = verdict

    def _lost_track(self, process: int, what: str) -> str:
        self._note(CheckVerdict(UNFAITHFUL, process, detail=f"it cannot {what}"))
        return f"Process {process} cannot {what}."

    def _next_send(self, process: int) -> Send | None:
        own = self._program.sends[process]
        position = len([deed for deed, _ in self._done[process] if deed == "submitted"])
        return own[position] if position < len(own) else None


def named(packet: Packet) -> str:
    """A packet by the message it carries, or else by what is in it."""
    message = packet.message
    return repr(packet) if message is None else named_message(message)


def named_message(message: Message) -> str:
    """A message by its name, which is its payload."""
    return message.payload.decode(errors="replace")


def listed(words: list[str]) -> str:
    """One, or one and another, or one, another and a third."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"
