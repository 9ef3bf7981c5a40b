"""Messaging libraries with something wrong, for the benchmark to notice."""

from collections.abc import Iterator
from itertools import islice

from bench.live.peer import Contestant, ContestRun, Multicaster, ReceiveTally, Volley
from bench.live.peers import antecede_node, tcp_streams
from bench.live.service import Service


class Leaky(tcp_streams.TcpStreams):
    """Loses one message of each volley."""

    async def source(self, stage: ContestRun, volley: Volley) -> None:
        await super().source(stage, Leaking(volley))  # type: ignore[arg-type]  # it iterates alike


class Leaking:
    """A volley without its tenth message that counts."""

    def __init__(self, volley: Volley) -> None:
        self._volley = volley

    def __iter__(self) -> Iterator[bytes]:
        payloads = iter(self._volley)
        yield from islice(payloads, 2_010)
        next(payloads)
        yield from payloads


class Crashing(tcp_streams.TcpStreams):
    """Does not survive its first message."""

    async def source(self, stage: ContestRun, volley: Volley) -> None:  # noqa: ARG002 it never gets to them
        raise ValueError("cannot send this")


class Absent(tcp_streams.TcpStreams):
    """Nobody has it."""

    package = "no_such_package"


class Miscounting(antecede_node.AntecedeNode):
    """Has counted a request more than there were."""

    async def serve(self, stage: ContestRun, tally: ReceiveTally) -> None:
        await super().serve(stage, tally)
        tally.received += 1


class AbsentService(antecede_node.AntecedeNode):
    """Nobody has it."""

    def __init__(self) -> None:
        super().__init__("iterate", "auto")
        self.package = "no_such_package"


class Forgetful(antecede_node.AntecedeNode):
    """Its second receiver has missed the last message."""

    async def listen(self, stage: ContestRun, tally: ReceiveTally, name: str) -> None:
        await super().listen(stage, tally, name)
        tally.received -= name == "r1"


LEAKY: Contestant = Leaky()
CRASHING: Contestant = Crashing()
ABSENT: Contestant = Absent()
FORGETFUL: Multicaster = Forgetful("iterate", "auto")
MISCOUNTING: Service = Miscounting("iterate", "auto")
ABSENT_SERVICE: Service = AbsentService()
