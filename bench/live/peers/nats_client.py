"""nats-py, through a nats-server that runs for the round.

Core NATS is at most once: a subscriber that is too slow loses messages. Limits are so large here
that none are lost in a round; the counts on both sides are compared, as for everybody.
"""

import asyncio
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from socket import create_connection
from typing import Any, Final

from antecede_lab.child import ChildFailed
from bench.live.peer import (
    END,
    Contestant,
    ContestRun,
    ReceiveTally,
    Stopwatch,
    Volley,
    free_port,
    package,
)
from bench.live.service import TIMEOUT_S, RequestLoad, Service

SUBJECT: Final = "bench"
BYTES_MAX: Final = 2_000_000_000
START_S: Final = 10.0


class Nats(Contestant, Service):
    """Publish and subscribe with a callback; requests to a subject."""

    name = "nats-py"
    package = "nats"

    def objection(self) -> str | None:
        if shutil.which("nats-server") is None:
            return "the program nats-server is not installed"
        return super().objection()

    @contextmanager
    def broker(self) -> Iterator[str]:
        port = free_port()
        with tempfile.TemporaryDirectory() as folder:
            settings = Path(folder) / "nats.conf"
            settings.write_text(f'listen: "127.0.0.1:{port}"\nmax_pending: {BYTES_MAX}\n')
            server = subprocess.Popen(
                ["nats-server", "-c", str(settings)],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            try:
                wait_until_open(port)
                yield f"nats://127.0.0.1:{port}"
            finally:
                server.kill()
                server.wait()

    async def sink(self, stage: ContestRun, tally: ReceiveTally) -> None:
        client = await connected(stage)
        done = asyncio.Event()
        count = 0

        async def take(message: Any) -> None:  # noqa: ANN401 of a package that may not be installed
            nonlocal count
            payload = message.data
            count += 1
            if payload[0] and tally.mark(payload[0], count):
                done.set()

        await subscribe(client, SUBJECT, take)
        stage.announce("")
        await done.wait()
        await client.close()

    async def source(self, stage: ContestRun, volley: Volley) -> None:
        client = await connected(stage)
        for payload in volley:
            await client.publish(SUBJECT, payload)
        await client.flush()
        await stage.released()
        await client.close()

    async def echo(self, stage: ContestRun) -> None:
        client = await connected(stage)
        done = asyncio.Event()

        async def answer(message: Any) -> None:  # noqa: ANN401 of a package that may not be installed
            if message.data[0] == END:
                done.set()
            else:
                await client.publish(message.reply, message.data)

        await subscribe(client, SUBJECT, answer)
        stage.announce("")
        await done.wait()
        await client.close()

    async def ping(self, stage: ContestRun, stopwatch: Stopwatch) -> None:
        client = await connected(stage)
        for _ in stopwatch.turns():
            await client.request(SUBJECT, stopwatch.ping, timeout=10)
        await client.publish(SUBJECT, stopwatch.end)
        await client.flush()
        await client.close()

    async def serve(self, stage: ContestRun, tally: ReceiveTally) -> None:
        client = await connected(stage)
        done = asyncio.Event()
        count = 0

        async def reply(message: Any) -> None:  # noqa: ANN401 of a package that may not be installed
            nonlocal count
            payload = message.data
            count += 1
            await message.respond(payload)
            if payload[0] and tally.mark(payload[0], count):
                done.set()

        await subscribe(client, SUBJECT, reply)
        stage.announce("")
        await done.wait()
        await stage.released()
        await client.close()

    async def ask(self, stage: ContestRun, load: RequestLoad) -> None:
        client = await connected(stage)
        await load.run(lambda payload: client.request(SUBJECT, payload, timeout=TIMEOUT_S))
        await client.close()


async def connected(stage: ContestRun) -> Any:  # noqa: ANN401 of a package that may not be installed
    """A client of the broker."""
    return await package("nats").connect(stage.broker, pending_size=BYTES_MAX)


async def subscribe(client: Any, subject: str, handler: Any) -> None:  # noqa: ANN401 of a package that may not be installed
    """Have a handler called for everything on a subject, and wait until the broker knows."""
    limits = {"pending_msgs_limit": BYTES_MAX, "pending_bytes_limit": BYTES_MAX}
    await client.subscribe(subject, cb=handler, **limits)
    await client.flush()


def wait_until_open(port: int) -> None:
    """Return when somebody listens on this port; `ChildFailed` if nobody does in time."""
    until = time.monotonic() + START_S
    while time.monotonic() < until:
        try:
            create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.02)
        else:
            return
    raise ChildFailed(f"nats-server did not listen on port {port} within {START_S:g} s")
