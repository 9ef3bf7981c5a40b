"""pyzmq over TCP, with blocking sockets and under asyncio."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, Final

from bench.live.peer import (
    END,
    Contestant,
    ContestRun,
    Multicaster,
    ReceiveTally,
    Stopwatch,
    Volley,
    package,
)

LINGER_MS: Final = 10_000


@contextmanager
def sockets(*kinds: str, library: str = "zmq") -> Iterator[list[Any]]:
    """A socket of each kind in a context of its own; what they send last has some time to leave."""
    with ExitStack() as stack:
        context = stack.enter_context(package(library).Context())
        made = [stack.enter_context(context.socket(getattr(package("zmq"), x))) for x in kinds]
        for one in made:
            one.linger = LINGER_MS
        yield made


def bound(own: Any) -> str:  # noqa: ANN401 a socket of a package that may not be installed
    """Listen on some port of the loopback interface; the address for those who connect."""
    return f"tcp://127.0.0.1:{own.bind_to_random_port('tcp://127.0.0.1')}"


class ZmqSource(Contestant):
    """What the ways of using it have in common: sending as fast as the socket takes it."""

    package = "zmq"
    sender: str
    """The kind of socket that sends."""

    def protect(self, socket: Any, *, server: bool) -> None:  # noqa: ANN401 - pyzmq has no types here
        """Encrypt what goes through a socket, before it is bound (`server`) or connected."""

    def source(self, stage: ContestRun, volley: Volley) -> None:
        with sockets(self.sender) as (out,):
            self.protect(out, server=False)
            out.connect(stage.address)
            send = out.send
            for payload in volley:
                send(payload)
            stage.wait_for_release()


def count_received(own: Any, tally: ReceiveTally) -> None:  # noqa: ANN401 a socket of a package that may not be installed
    """Count a volley."""
    receive = own.recv
    count = 0
    while True:
        payload = receive()
        count += 1
        if payload[0] and tally.mark(payload[0], count):
            return


class ZmqPubSub(Multicaster):
    """PUB to SUB, with buffers that have no limit: with one, what does not fit is lost.

    The publisher is an XPUB, the same socket, which is told of subscriptions: what it sends before
    is lost, too.
    """

    name = "pyzmq PUB/SUB"
    package = "zmq"

    def listen(self, stage: ContestRun, tally: ReceiveTally, name: str) -> None:  # noqa: ARG002 - only others have names
        with sockets("SUB") as (sub,):
            sub.rcvhwm = 0
            sub.subscribe(b"")
            stage.announce(bound(sub))
            count_received(sub, tally)

    def spread(self, stage: ContestRun, volley: Volley, receivers: Mapping[str, str]) -> None:
        with sockets("XPUB") as (pub,):
            pub.sndhwm = 0
            pub.setsockopt(package("zmq").XPUB_VERBOSE, 1)
            for address in receivers.values():
                pub.connect(address)
            for _ in receivers:
                pub.recv()
            send = pub.send
            for payload in volley:
                send(payload)
            stage.wait_for_release()


class ZmqPushPull(ZmqSource):
    """PUSH to PULL: one way, one pair per direction."""

    name = "pyzmq PUSH/PULL"
    sender = "PUSH"

    def sink(self, stage: ContestRun, tally: ReceiveTally) -> None:
        with sockets("PULL") as (pull,):
            self.protect(pull, server=True)
            stage.announce(bound(pull))
            count_received(pull, tally)

    def echo(self, stage: ContestRun) -> None:
        with sockets("PULL", "PUSH") as (pull, push):
            push.linger = 0
            self.protect(pull, server=True)
            self.protect(push, server=True)
            stage.announce(f"{bound(pull)} {bound(push)}")
            while (payload := pull.recv())[0] != END:
                push.send(payload)

    def ping(self, stage: ContestRun, stopwatch: Stopwatch) -> None:
        there, back = stage.address.split()
        with sockets("PULL", "PUSH") as (pull, push):
            self.protect(pull, server=False)
            self.protect(push, server=False)
            push.connect(there)
            pull.connect(back)
            for _ in stopwatch.turns():
                push.send(stopwatch.ping)
                pull.recv()
            push.send(stopwatch.end)


class ZmqCurve(ZmqPushPull):
    """PUSH to PULL, encrypted with CURVE; both sides have the same key, which costs the same."""

    name = "pyzmq PUSH/PULL, CURVE"

    def protect(self, socket: Any, *, server: bool) -> None:  # noqa: ANN401 - pyzmq has no types here
        zmq = package("zmq")
        secret = package("zmq.utils.z85").encode(bytes(range(32)))
        socket.curve_secretkey = secret
        socket.curve_publickey = zmq.curve_public(secret)
        if server:
            socket.curve_server = True
        else:
            socket.curve_serverkey = zmq.curve_public(secret)


class ZmqDealerRouter(ZmqSource):
    """DEALER to ROUTER: the router knows who wrote, and can answer."""

    name = "pyzmq DEALER/ROUTER"
    sender = "DEALER"

    def sink(self, stage: ContestRun, tally: ReceiveTally) -> None:
        with sockets("ROUTER") as (router,):
            stage.announce(bound(router))
            receive = router.recv_multipart
            count = 0
            while True:
                _, payload = receive()
                count += 1
                if payload[0] and tally.mark(payload[0], count):
                    return

    def echo(self, stage: ContestRun) -> None:
        with sockets("ROUTER") as (router,):
            router.linger = 0
            stage.announce(bound(router))
            while (parts := router.recv_multipart())[1][0] != END:
                router.send_multipart(parts)

    def ping(self, stage: ContestRun, stopwatch: Stopwatch) -> None:
        with sockets("DEALER") as (dealer,):
            dealer.connect(stage.address)
            for _ in stopwatch.turns():
                dealer.send(stopwatch.ping)
                dealer.recv()
            dealer.send(stopwatch.end)


ASYNCIO: Final = "zmq.asyncio"
"""Whose sockets are awaited."""


class ZmqAsyncioSource(Contestant):
    """What the ways of using it have in common: sending, each call awaited."""

    package = "zmq"
    sender: str
    """The kind of socket that sends."""

    async def source(self, stage: ContestRun, volley: Volley) -> None:
        with sockets(self.sender, library=ASYNCIO) as (out,):
            out.connect(stage.address)
            for payload in volley:
                await out.send(payload)
            await stage.released()


class ZmqAsyncioPushPull(ZmqAsyncioSource):
    """PUSH to PULL."""

    name = "pyzmq asyncio PUSH/PULL"
    sender = "PUSH"

    async def sink(self, stage: ContestRun, tally: ReceiveTally) -> None:
        with sockets("PULL", library=ASYNCIO) as (pull,):
            stage.announce(bound(pull))
            count = 0
            while True:
                payload = await pull.recv()
                count += 1
                if payload[0] and tally.mark(payload[0], count):
                    return

    async def echo(self, stage: ContestRun) -> None:
        with sockets("PULL", "PUSH", library=ASYNCIO) as (pull, push):
            push.linger = 0
            stage.announce(f"{bound(pull)} {bound(push)}")
            while (payload := await pull.recv())[0] != END:
                await push.send(payload)

    async def ping(self, stage: ContestRun, stopwatch: Stopwatch) -> None:
        there, back = stage.address.split()
        with sockets("PULL", "PUSH", library=ASYNCIO) as (pull, push):
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

    async def sink(self, stage: ContestRun, tally: ReceiveTally) -> None:
        with sockets("ROUTER", library=ASYNCIO) as (router,):
            stage.announce(bound(router))
            count = 0
            while True:
                _, payload = await router.recv_multipart()
                count += 1
                if payload[0] and tally.mark(payload[0], count):
                    return

    async def echo(self, stage: ContestRun) -> None:
        with sockets("ROUTER", library=ASYNCIO) as (router,):
            router.linger = 0
            stage.announce(bound(router))
            while (parts := await router.recv_multipart())[1][0] != END:
                await router.send_multipart(parts)

    async def ping(self, stage: ContestRun, stopwatch: Stopwatch) -> None:
        with sockets("DEALER", library=ASYNCIO) as (dealer,):
            dealer.connect(stage.address)
            for _ in stopwatch.turns():
                await dealer.send(stopwatch.ping)
                await dealer.recv()
            await dealer.send(stopwatch.end)
