"""pyzmq with blocking sockets over TCP."""

from typing import Any, Final

from antecede.tools.bench.load import END, Stopwatch, Tally, Volley
from antecede.tools.bench.peer import Peer, Stage, package

LINGER_MS: Final = 10_000


class ZmqSource(Peer):
    """What the ways of using it have in common: sending as fast as the socket takes it."""

    package = "zmq"
    sender: str
    """The kind of socket that sends."""

    def protect(self, socket: Any, *, server: bool) -> None:  # noqa: ANN401 - pyzmq has no types here
        """Encrypt what goes through a socket, before it is bound (`server`) or connected."""

    def source(self, stage: Stage, volley: Volley) -> None:
        zmq = package("zmq")
        with zmq.Context() as context, context.socket(getattr(zmq, self.sender)) as out:
            out.linger = LINGER_MS
            self.protect(out, server=False)
            out.connect(stage.address)
            send = out.send
            for payload in volley:
                send(payload)
            stage.wait_for_release()


class ZmqPushPull(ZmqSource):
    """PUSH to PULL: one way, one pair per direction."""

    name = "pyzmq PUSH/PULL"
    sender = "PUSH"

    def sink(self, stage: Stage, tally: Tally) -> None:
        zmq = package("zmq")
        with zmq.Context() as context, context.socket(zmq.PULL) as pull:
            self.protect(pull, server=True)
            stage.announce(bound(pull))
            receive = pull.recv
            count = 0
            while True:
                payload = receive()
                count += 1
                if payload[0] and tally.mark(payload[0], count):
                    return

    def echo(self, stage: Stage) -> None:
        zmq = package("zmq")
        with (
            zmq.Context() as context,
            context.socket(zmq.PULL) as pull,
            context.socket(zmq.PUSH) as push,
        ):
            push.linger = 0
            self.protect(pull, server=True)
            self.protect(push, server=True)
            stage.announce(f"{bound(pull)} {bound(push)}")
            while (payload := pull.recv())[0] != END:
                push.send(payload)

    def ping(self, stage: Stage, stopwatch: Stopwatch) -> None:
        zmq = package("zmq")
        there, back = stage.address.split()
        with (
            zmq.Context() as context,
            context.socket(zmq.PULL) as pull,
            context.socket(zmq.PUSH) as push,
        ):
            push.linger = LINGER_MS
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

    def sink(self, stage: Stage, tally: Tally) -> None:
        zmq = package("zmq")
        with zmq.Context() as context, context.socket(zmq.ROUTER) as router:
            stage.announce(bound(router))
            receive = router.recv_multipart
            count = 0
            while True:
                _, payload = receive()
                count += 1
                if payload[0] and tally.mark(payload[0], count):
                    return

    def echo(self, stage: Stage) -> None:
        zmq = package("zmq")
        with zmq.Context() as context, context.socket(zmq.ROUTER) as router:
            router.linger = 0
            stage.announce(bound(router))
            while (parts := router.recv_multipart())[1][0] != END:
                router.send_multipart(parts)

    def ping(self, stage: Stage, stopwatch: Stopwatch) -> None:
        zmq = package("zmq")
        with zmq.Context() as context, context.socket(zmq.DEALER) as dealer:
            dealer.linger = LINGER_MS
            dealer.connect(stage.address)
            for _ in stopwatch.turns():
                dealer.send(stopwatch.ping)
                dealer.recv()
            dealer.send(stopwatch.end)


def bound(own: Any) -> str:  # noqa: ANN401 a socket of a package that may not be installed
    """Listen on some port of the loopback interface; the address for those who connect."""
    return f"tcp://127.0.0.1:{own.bind_to_random_port('tcp://127.0.0.1')}"
