"""`python -m bench touched`: how many files and functions one message, one span, one event touch.

Counted are those of this repository that are entered while it happens (`sys.setprofile`); what
runs when something is opened or imported has run before. A message goes from one live node to
another, both in this process, after three hundred others: until it is delivered, and until nothing
follows from it any more. A span is half of a call in a document of Jaeger's that is ingested in
one process, an event is one of the log that comes of it and is audited.
`--list` shows the names.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, Final

from antecede import open_node
from antecede_audit.jobs.audit import audit_here
from antecede_audit.jobs.ingest import ingest_here

SOURCES: Final = f"{Path(__file__).parent.parent / 'src'}/"
BEFORE: Final = 300
MESSAGES: Final = 25
AFTERWARDS_S: Final = 0.1
"""Longer than an acknowledgement waits, and the permit that follows from it."""

START_US: Final = 1_700_000_000_000_000


@dataclass(slots=True)
class Touched:
    """The functions that were entered while the context was open."""

    functions: set[tuple[str, str]] = field(default_factory=set)

    def __enter__(self) -> "Touched":
        threading.setprofile(self._enter)
        sys.setprofile(self._enter)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def _enter(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        # Comprehensions have no name of their own, and belong to the function around them.
        if event == "call" and code.co_filename.startswith(SOURCES) and code.co_name[0] != "<":
            self.functions.add((code.co_filename.removeprefix(SOURCES), code.co_qualname))

    @property
    def files(self) -> set[str]:
        """The files that these functions are in."""
        return {file for file, _ in self.functions}


async def messages() -> dict[str, Touched]:
    """What most messages touch, of many that are sent one by one: the median."""
    delivered: list[Touched] = []
    settled: list[Touched] = []
    async with (
        open_node("listener", accept_unknown="anybody") as listener,
        open_node("speaker", peers={"listener": listener.address}) as speaker,
    ):
        for _ in range(BEFORE):
            await speaker.send("listener", bytes(64))
            await listener.receive()
        for _ in range(MESSAGES):
            await asyncio.sleep(AFTERWARDS_S)
            with Touched() as touched:
                await speaker.send("listener", bytes(64))
                await listener.receive()
                delivered.append(Touched(set(touched.functions)))
                await asyncio.sleep(AFTERWARDS_S)
            settled.append(touched)
    return {
        "a message, until it is delivered": median(delivered),
        "and until nothing follows from it": median(settled),
    }


def median(found: list[Touched]) -> Touched:
    """The one with as many functions as half of them have at most."""
    return sorted(found, key=lambda one: len(one.functions))[len(found) // 2]


def span(name: str, kind: str, parents: list[str], start_us: int, end_us: int) -> dict[str, Any]:
    """A span in Jaeger's JSON, in a process that is called like its kind."""
    above = [{"refType": "CHILD_OF", "traceID": "1", "spanID": parent} for parent in parents]
    return {
        "traceID": "1",
        "spanID": name,
        "operationName": "ask",
        "references": above,
        "startTime": START_US + start_us,
        "duration": end_us - start_us,
        "processID": kind,
        "tags": [{"key": "span.kind", "type": "string", "value": kind}],
    }


def call_of_jaeger() -> dict[str, Any]:
    """A document with one call: a client's span in one process, and a server's in another."""
    spans = [span("a", "client", [], 0, 9_000), span("b", "server", ["a"], 2_000, 7_000)]
    processes = {"client": {"serviceName": "front"}, "server": {"serviceName": "back"}}
    return {"data": [{"traceID": "1", "spans": spans, "processes": processes}]}


def span_and_event(folder: Path) -> dict[str, Touched]:
    """What the ingest of a call and the audit of its messages touch."""
    file = folder / "call.json"
    file.write_text(json.dumps(call_of_jaeger()), encoding="utf-8")
    out, found = f"{folder}/ingested", f"{folder}/found"
    return {
        "a span": second_time(lambda: ingest_here([str(file)], out)),
        "an event": second_time(lambda: audit_here([f"{out}/events"], found)),
    }


def second_time(work: Callable[[], object]) -> Touched:
    """What something touches when all that it imports has been imported."""
    work()
    with Touched() as touched:
        assert work() is not None, "so little fits into one process"
    return touched


def main() -> None:
    """Count, and show a table."""
    parser = argparse.ArgumentParser(prog="python -m bench touched", description=__doc__)
    parser.add_argument("--list", action="store_true", help="the names, too")
    chosen = parser.parse_args()
    found = asyncio.run(messages())
    with tempfile.TemporaryDirectory(prefix="antecede-bench-") as folder:
        found |= span_and_event(Path(folder))
    print("| | files | functions |\n|---|---|---|")
    for what, touched in found.items():
        print(f"| {what} | {len(touched.files)} | {len(touched.functions)} |")
    for what, touched in found.items() if chosen.list else ():
        print(f"\n{what}:")
        for file, function in sorted(touched.functions):
            print(f"    {file}: {function}")


if __name__ == "__main__":
    main()
