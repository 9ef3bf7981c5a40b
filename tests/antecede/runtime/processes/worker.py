"""A process with one node that does what it is told in JSON lines: `python -m ….worker JSON`.

Beside the event log of the node it keeps a history of its own, of what its application saw: each
message sent, with its targets, and each message taken. The order is judged from both.
"""

import asyncio
import dataclasses
import faulthandler
import json
import os
import sys
from collections.abc import Awaitable, Callable
from random import Random

import antecede
from antecede.core.errors import AntecedeError
from antecede_lab.child import Json, Line
from tests.antecede.runtime.processes.payloads import read, written

LIFE_S = 240


class Worker:
    """A node, its traffic, and its history."""

    def __init__(self, node: antecede.Node, plan: Line) -> None:
        self.node = node
        self.others = list(plan["peers"])
        self.random = Random(f"{plan['name']} {plan.get('seed', 1)}")
        self.number = 0
        self.copies = 0
        self.taken = 0
        self.reply = 0.0
        self.events: list[Line] = []
        self.history: list[list[Json]] = []
        self.problems: list[str] = []
        self.sizes: list[int] = []
        self.failures: dict[str, int] = {}
        self.sending: asyncio.Task[None] | None = None
        self.running = asyncio.Event()
        self.running.set()
        self.tasks: set[asyncio.Task[None]] = set()

    async def send(self, targets: list[str], hops: int, size: int) -> None:
        self.number += 1
        self.copies += len(targets)
        payload = written(self.number, hops, size)
        entry: list[Json] = ["sent", 0, targets]
        self.history.append(entry)
        entry[1] = await self.node.send(targets[0] if len(targets) == 1 else targets, payload)

    def some_targets(self) -> list[str]:
        """Mostly one other, sometimes several, then perhaps oneself among them."""
        if self.random.random() < 0.6:
            return [self.random.choice(self.others)]
        everybody = [*self.others, self.node.name]
        return self.random.sample(everybody, self.random.randint(1, len(everybody)))

    async def talk(self, plan: Line) -> None:
        """Send unprompted, to some or to several."""
        self.reply = plan["reply"]
        for _ in range(plan["messages"]):
            await self.send(self.some_targets(), plan["hops"], self.random.choice(plan["sizes"]))
            if plan["pause_s"]:
                await asyncio.sleep(self.random.random() * 2 * plan["pause_s"])

    async def listen(self) -> None:
        """Take what is delivered, and answer some of it at once."""
        async for message in self.node:
            self.note(message)
            content = read(message.payload)
            if content.hops > 0 and self.random.random() < self.reply:
                targets = self.some_targets()
                if message.sender not in targets and self.random.random() < 0.5:
                    targets = [message.sender]
                await self.send(targets, content.hops - 1, min(content.size, 300))
            # Counted last, so that whoever adds up sees no gap between a message and its answer.
            self.taken += 1
            await self.running.wait()

    def note(self, message: antecede.Message) -> None:
        self.history.append(["taken", message.sender, message.sequence])
        self.sizes.append(len(message.payload))

    def on_event(self, event: object) -> None:
        fields = vars_of(event).items()
        values = {name: str(value) for name, value in fields if value is not None}
        if hasattr(event, "sequences"):
            values["sequences"] = event.sequences
        self.events.append({"event": type(event).__name__, **values})

    # What it can be told.

    async def do_talk(self, plan: Line) -> Line:
        defaults = {"messages": 50, "reply": 0.5, "hops": 2, "pause_s": 0.0, "sizes": [20, 300]}
        self.sending = asyncio.create_task(self.talk({**defaults, **plan}))
        return {"talking": True}

    async def do_meet(self, _: Json) -> Line:
        await self.node.meet()
        return {"met": list(self.node.online)}

    async def do_listen(self, _: Json) -> Line:
        task = asyncio.create_task(self.guarded(self.listen()))
        self.tasks.add(task)
        return {"listening": True}

    async def do_send(self, plan: Line) -> Line:
        await self.send_several(plan)
        return {"sent": self.number}

    async def do_begin_to_send(self, plan: Line) -> Line:
        """Like `send`, which may have to wait; the answer does not."""
        self.sending = asyncio.create_task(self.send_several(plan))
        return {"talking": True}

    async def send_several(self, plan: Line) -> None:
        for _ in range(plan.get("count", 1)):
            await self.send(plan["to"], plan.get("hops", 0), plan.get("size", 20))

    async def do_fill(self, plan: Line) -> Line:
        """Send without waiting until there is no room, nor will be."""
        accepted, in_vain = 0, 0
        told = {}
        while in_vain < plan.get("patience", 10):
            try:
                payload = written(self.number + 1, 0, plan.get("size", 20))
                sequence = self.node.try_send(plan["to"], payload)
                self.number += 1
                self.copies += 1
                accepted += 1
                in_vain = 0
                self.history.append(["sent", sequence, [plan["to"]]])
            except AntecedeError as error:
                told = {"error": type(error).__name__, "text": str(error)}
                in_vain += 1
                await asyncio.sleep(0.05)
        return {"accepted": accepted, **told}

    async def do_retort(self, plan: Line) -> Line:
        """Answer every message, in the handler, with several; count what goes wrong."""
        failures: dict[str, int] = {}
        self.failures = failures

        async def retort(message: antecede.Message) -> None:
            self.taken += 1
            content = read(message.payload)
            for _ in range(plan["answers"] if content.hops else 0):
                payload = written(self.number + 1, content.hops - 1, plan["size"])
                try:
                    await self.node.send(message.sender, payload)
                except AntecedeError as error:
                    failures[type(error).__name__] = failures.get(type(error).__name__, 0) + 1
                    return
                self.number += 1
                self.copies += 1

        self.node.on_message(retort)
        return {"retorting": True}

    async def do_pause(self, pause: bool) -> Line:
        if pause:
            self.running.clear()
        else:
            self.running.set()
        return {"paused": pause}

    async def do_state(self, _: Json) -> Line:
        if self.sending is not None and self.sending.done() and self.sending.exception():
            self.problems.append(repr(self.sending.exception()))
            self.sending = None
        return {
            "copies": self.copies,
            "taken": self.taken,
            "talking": self.sending is not None and not self.sending.done(),
            "problems": self.problems,
            "events": self.events,
            "failures": self.failures,
            "stats": plain(self.node.stats()),
            "memory": resident_bytes(),
        }

    async def do_explain(self, _: Json) -> Line:
        return {"explain": str(self.node.explain())}

    async def do_history(self, _: Json) -> Line:
        return {"history": self.history, "sizes": self.sizes}

    async def do_taken_from(self, sender: str) -> Line:
        """Whether everything from one sender came, in order and without a gap; and how much."""
        taken = [entry[2] for entry in self.history if entry[0] == "taken" and entry[1] == sender]
        return {"count": len(taken), "gapless": taken == list(range(1, len(taken) + 1))}

    async def do_add_peer(self, plan: Line) -> Line:
        self.node.add_peer(plan["name"], plan.get("address"))
        return {"added": plan["name"]}

    async def do_flush(self, timeout: float) -> Line:
        await self.node.flush(timeout=timeout)
        return {"flushed": True}

    async def do_close(self, plan: Line) -> Line:
        await self.node.close(**plan)
        return {"closed": True}

    async def guarded(self, work: Awaitable[None]) -> None:
        try:
            await work
        except Exception as error:
            self.problems.append(repr(error))

    async def obey(self, line: Line) -> Line:
        """Do one thing; an error is an answer, too."""
        ((verb, argument),) = line.items()
        method: Callable[[Json], Awaitable[Line]] = getattr(self, f"do_{verb}")
        try:
            return await method(argument)
        except AntecedeError as error:
            return {"error": type(error).__name__, "text": str(error)}


def vars_of(value: object) -> Line:
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}  # type: ignore[arg-type]  # events are dataclasses


def plain(value: Json) -> Json:
    """A dataclass, and what is in it, as JSON."""
    return json.loads(json.dumps(dataclasses.asdict(value), default=str))


def resident_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def say(line: Line) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


async def run(plan: Line) -> None:
    loop = asyncio.get_running_loop()
    commands = asyncio.StreamReader(limit=1 << 20)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
    try:
        node = await antecede.open_node(
            plan["name"], bind=plan["bind"], peers=plan["peers"], **plan["settings"]
        )
    except AntecedeError as error:
        say({"error": type(error).__name__, "text": str(error)})
        return
    worker = Worker(node, plan)
    node.on_event(worker.on_event)
    say({"address": str(node.address)})
    while text := await commands.readline():
        say(await worker.obey(json.loads(text)))


if __name__ == "__main__":
    faulthandler.dump_traceback_later(LIFE_S, exit=True)
    asyncio.run(run(json.loads(sys.argv[1])))
