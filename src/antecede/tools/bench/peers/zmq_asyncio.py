"""pyzmq under asyncio, over TCP."""

from typing import Any

from antecede.tools.bench.load import END, Stopwatch, Tally, Volley
from antecede.tools.bench.peer import Peer, Stage, package
from antecede.tools.bench.peers.zmq_blocking import LINGER_MS, bound


class ZmqAsyncioSource(Peer):
    """What the ways of using it have in common: sending, each call awaited."""

    package = "zmq"
    sender: str
    """The kind of socket that sends."""

    async def source(self, stage: Stage, volley: Volley) -> None:
        kind = getattr(package("zmq"), self.sender)
        with asyncio_context() as context, context.socket(kind) as out:
            out.linger = LINGER_MS
            out.connect(stage.address)
            for payload in volley:
                await out.send(payload)
            await stage.released()


class ZmqAsyncioPushPull(ZmqAsyncioSource):
    """PUSH to PULL."""

    name = "pyzmq asyncio PUSH/PULL"
    sender = "PUSH"

    async def sink(self, stage: Stage, tally: Tally) -> None:
        zmq = package("zmq")
        with asyncio_context() as context, context.socket(zmq.PULL) as pull:
            stage.announce(bound(pull))
            count = 0
            while True:
                payload = await pull.recv()
                count += 1
                if payload[0] and tally.mark(payload[0], count):
                    return

    async def echo(self, stage: Stage) -> None:
        zmq = package("zmq")
        with (
            asyncio_context() as context,
            context.socket(zmq.PULL) as pull,
            context.socket(zmq.PUSH) as push,
        ):
            push.linger = 0
            stage.announce(f"{bound(pull)} {bound(push)}")
            while (payload := await pull.recv())[0] != END:
                await push.send(payload)

    async def ping(self, stage: Stage, stopwatch: Stopwatch) -> None:
        zmq = package("zmq")
        there, back = stage.address.split()
        with (
            asyncio_context() as context,
            context.socket(zmq.PULL) as pull,
            context.socket(zmq.PUSH) as push,
        ):
            push.linger = LINGER_MS
            push.connect(there)
            pull.connect(back)
            for _ in stopwatch.turns():
                await push.send(stopwatch.ping)
                await pull.recv()
            await push.send(stopwatch.end)


class ZmqAsyncioDealerRouter(ZmqAsyncioSource):
    """DEALER to ROUTER."""

    name = "pyzmq asyncio DEALER/ROUTER"
    sender = "DEALER"

    async def sink(self, stage: Stage, tally: Tally) -> None:
        zmq = package("zmq")
        with asyncio_context() as context, context.socket(zmq.ROUTER) as router:
            stage.announce(bound(router))
            count = 0
            while True:
                _, payload = await router.recv_multipart()
                count += 1
                if payload[0] and tally.mark(payload[0], count):
                    return

    async def echo(self, stage: Stage) -> None:
        zmq = package("zmq")
        with asyncio_context() as context, context.socket(zmq.ROUTER) as router:
            router.linger = 0
            stage.announce(bound(router))
            while (parts := await router.recv_multipart())[1][0] != END:
                await router.send_multipart(parts)

    async def ping(self, stage: Stage, stopwatch: Stopwatch) -> None:
        zmq = package("zmq")
        with asyncio_context() as context, context.socket(zmq.DEALER) as dealer:
            dealer.linger = LINGER_MS
            dealer.connect(stage.address)
            for _ in stopwatch.turns():
                await dealer.send(stopwatch.ping)
                await dealer.recv()
            await dealer.send(stopwatch.end)


def asyncio_context() -> Any:  # noqa: ANN401 of a package that may not be installed
    """A context whose sockets are awaited."""
    return package("zmq.asyncio").Context()
