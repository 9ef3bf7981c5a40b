"""A node in its place in the simulation, and what its application wants to send."""

from dataclasses import dataclass
from typing import Final, final

from mypy_extensions import i64

from antecede.core.errors import LocalError
from antecede.core.process import NEVER_NS
from antecede.core.sliding import SlidingArray
from antecede.endpoint.endpoint import Endpoint
from antecede.membership.contact import ContactState
from antecede.membership.identity import TokenSource
from antecede.transport.peer_lifecycle import LEAVE_WHEN_RELEASED
from antecede.wire.frames import FRAME_OVERHEAD_MAX
from antecede_lab.simulator.nodes.adversary import InterceptedPacket
from antecede_lab.simulator.nodes.journals import MemoryJournal
from antecede_lab.simulator.nodes.making import SOCKET_BYTES
from antecede_lab.simulator.nodes.rows import ObservedNode
from antecede_lab.simulator.workloads.workload import Submission


@final
class WaitingSend:
    """A submission that waits; the calls of one node are numbered."""

    __slots__ = ("call", "submission")

    def __init__(self, submission: Submission, call: i64) -> None:
        self.submission: Final = submission
        self.call: Final[i64] = call


@final
class Backlog:
    """What an application wants to send and cannot yet.

    Who has a target that is new waits for that, and whoever shares a target with it waits behind
    it. All others wait for room, in the order of their calls.
    """

    __slots__ = ("calls", "for_peers", "for_room")

    def __init__(self) -> None:
        self.for_room: Final[SlidingArray[WaitingSend]] = SlidingArray()
        self.for_peers: list[WaitingSend] = []
        self.calls: i64 = 0

    def size(self) -> int:
        """How many calls wait."""
        return self.for_room.size + len(self.for_peers)

    def number(self, submission: Submission) -> WaitingSend:
        """The application calls `send`."""
        self.calls += 1
        return WaitingSend(submission, self.calls)

    def add(self, waiting: WaitingSend) -> None:
        """A call waits: behind an earlier one that waits for a peer, or for room."""
        if self.shares_a_target(waiting):
            self.wait_for_peers(waiting)
        else:
            self.for_room.add(waiting)

    def wait_for_peers(self, waiting: WaitingSend) -> None:
        """A call waits for a peer, or behind one that does; it may be older than others."""
        self.for_peers.append(waiting)
        self.for_peers.sort(key=call_of)

    def merge(self, ready: list[WaitingSend]) -> None:
        """These wait only for room from now on."""
        if not ready:
            return
        while self.for_room.size > 0:
            ready.append(self.for_room.remove())
        ready.sort(key=call_of)
        for waiting in ready:
            self.for_room.add(waiting)

    def shares_a_target(self, waiting: WaitingSend) -> bool:
        """Whether an earlier call for one of its targets waits for a peer."""
        for earlier in self.for_peers:
            if earlier.call >= waiting.call:
                return False
            for target in waiting.submission.targets:
                if target in earlier.submission.targets:
                    return True
        return False


@final
class NodeHost:
    """A node, and its place in the simulation: `process` is whom the workload takes it for."""

    __slots__ = (
        "address",
        "backlog",
        "endpoint",
        "index",
        "journal",
        "leaving",
        "log",
        "name",
        "paused",
        "process",
        "said_bye",
        "socket",
        "socket_bytes",
        "timer_ns",
        "touched",
    )

    def __init__(
        self,
        index: i64,
        process: i64,
        address: i64,
        log: ObservedNode,
        endpoint: Endpoint,
        journal: MemoryJournal | None,
    ) -> None:
        self.journal: Final = journal
        self.index: Final[i64] = index
        self.process: Final[i64] = process
        self.address: Final[i64] = address
        self.name: Final = name_of(process)
        self.log: Final = log
        self.endpoint: Final = endpoint
        self.timer_ns: i64 = NEVER_NS
        self.touched = False
        # While it is paused: what has come meanwhile.
        self.paused = False
        self.socket: list[InterceptedPacket] = []
        self.socket_bytes: i64 = 0
        self.backlog = Backlog()
        # Whether its application has closed the node, and whether that has said bye.
        self.leaving = False
        self.said_bye = False

    def take_over(self, former: "NodeHost") -> None:
        """The power is back: the application goes on where it was."""
        self.backlog = former.backlog
        self.leaving = former.leaving

    def touch(self) -> bool:
        """It has a turn to come; False if that was known."""
        known = self.touched
        self.touched = True
        return not known

    def untouch(self) -> None:
        """It has its turn."""
        self.touched = False

    def set_timer(self, time_ns: i64) -> None:
        """Its timer rings then."""
        self.timer_ns = time_ns

    def pause(self) -> None:
        """It does nothing from now on; what comes waits in its socket."""
        self.paused = True

    def put_into_socket(self, packet: InterceptedPacket) -> None:
        """Something comes while it is paused: it waits, if there is room."""
        if self.socket_bytes < SOCKET_BYTES:
            self.socket_bytes += len(packet.data)
            self.socket.append(packet)

    def resume(self) -> list[InterceptedPacket]:
        """It goes on, and first reads what has come meanwhile."""
        self.paused = False
        waiting = self.socket
        self.socket = []
        self.socket_bytes = 0
        return waiting

    def close(self) -> int:
        """The application leaves; how many of its calls wait, and are not sent."""
        dropped = self.backlog.size()
        self.backlog = Backlog()
        self.leaving = True
        return dropped

    def set_left(self) -> None:
        """It has left."""
        self.leaving = False

    def awaits_a_peer(self, submission: Submission) -> bool:
        """Whether a target is new, and so waited for."""
        contacts = self.endpoint.directory.by_name
        for target in submission.targets:
            if target != self.process and contacts[name_of(target)].state == ContactState.NEW:
                return True
        return False

    def sort_backlog(self) -> None:
        """Whose targets are here or away waits only for room from now on."""
        backlog = self.backlog
        if not backlog.for_peers:
            return
        waiting = backlog.for_peers
        backlog.for_peers = []
        ready: list[WaitingSend] = []
        for one in waiting:
            if backlog.shares_a_target(one) or self.awaits_a_peer(one.submission):
                backlog.for_peers.append(one)
            else:
                ready.append(one)
        backlog.merge(ready)

    def leave(self, now_ns: i64) -> bool:
        """Take the next step of leaving; whether the node has nothing more to wait for."""
        endpoint = self.endpoint
        sending = endpoint.sending
        if not self.said_bye:
            if sending.is_delivered(sending.last_sequence()):
                self.said_bye = True
                endpoint.say_bye(LEAVE_WHEN_RELEASED, now_ns)
            return False
        return not endpoint.awaited()


def call_of(waiting: WaitingSend) -> int:
    """Which call it was."""
    return waiting.call


def name_of(process: i64) -> str:
    """What a node is called."""
    return f"node {process}"


@final
class CountedTokens(TokenSource):
    """Tokens that are the same in every run."""

    def __init__(self) -> None:
        self._last = 0

    def fresh(self) -> int:
        self._last += 1
        return self._last


@final
@dataclass(frozen=True, slots=True)
class Stuck:
    """A node that waits, how many are here for it, and how many of those run; it is one of both."""

    process: int
    members: int
    running: int

    @property
    def has_majority(self) -> bool:
        """Whether enough of them run to go on without the others."""
        return 2 * self.running > self.members


def check_payload(payload_bytes: int, datagram_size: int) -> None:
    """`LocalError` if a payload would be cut into parts, which are messages of their own."""
    most = datagram_size - FRAME_OVERHEAD_MAX
    if payload_bytes > most:
        raise LocalError(f"{payload_bytes} bytes of payload: simulated nodes take up to {most}")
