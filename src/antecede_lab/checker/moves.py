"""What may happen to one process: every local state is kept once, every event happens to it once.

A *local* is a real protocol object that is never touched again. An event happens to a clone of it;
the outcome, a *move*, is remembered. Exploring all interleavings asks for the same few moves over
and over, so a search costs little more than looking them up. That leaves time for suspicion: clones
must be independent of their originals, and objects with equal fingerprints must answer alike.
"""

from typing import Final, final

from mypy_extensions import i64, mypyc_attr

from antecede.core.catalogue import ProtocolInfo
from antecede.core.effects import Deliver, Effect, SelfExpelled
from antecede.core.errors import BufferFull, LocalError, RemoteError
from antecede.core.packets import Message, Packet
from antecede.core.process import CausalProcess, EffectList, NodeProcess
from antecede_lab.checker.programs import Program
from antecede_lab.checker.verdicts import CRASHED, INVENTED, REFUSED, UNFAITHFUL, CheckVerdict

OVERDUE_NS: Final = 3_600_000_000_000
"""How far the clock of a process jumps when its timer fires: beyond the patience of any protocol.

Fingerprints leave timers out, so what a timer does must not depend on when it was set: when it
fires, everything is overdue."""

EXPIRY: Final = -1
"""The key of a move made by a timer. An arrival has its flight's id, a submission less than -1."""

EXPULSION: Final = -1_000_000
"""The key of a move that expels process 0; one less for each further process."""


@final
@mypyc_attr(acyclic=True)
class PacketInFlight:
    """A packet on its way; packets that look the same are the same. The network sorts by `rank`."""

    __slots__ = ("id", "packet", "rank", "source", "target", "text")

    def __init__(
        self, id: i64, rank: i64, source: i64, target: i64, packet: Packet, text: str
    ) -> None:
        self.id: Final[i64] = id
        self.rank: Final[i64] = rank
        self.source: Final[i64] = source
        self.target: Final[i64] = target
        self.packet: Final = packet
        self.text: Final = text


@final
class LocalState:
    """One process in one of its states, never touched again, and what may become of it.

    `double` is another object that came to the same state another way, once there is one.
    """

    __slots__ = ("double", "fingerprint", "id", "me", "moves", "now_ns", "process", "wants_timer")

    def __init__(
        self, id: i64, me: i64, process: CausalProcess, fingerprint: bytes, now_ns: i64
    ) -> None:
        self.id: Final[i64] = id
        self.me: Final[i64] = me
        self.process: Final = process
        self.fingerprint: Final = fingerprint
        self.now_ns: Final[i64] = now_ns
        self.wants_timer: Final = process.deadline_ns() is not None
        self.double: LocalState | None = None
        self.moves: dict[int, Move] = {}


@final
class Move:
    """What a local answers to an event, and what it is then; deliveries are message indices.

    `refused`: it has no room for the message it should submit, and nothing happens. `stopped`: it
    has heard that it is expelled.
    """

    __slots__ = ("deliveries", "idle", "local", "refused", "stopped", "transmissions", "verdict")

    def __init__(
        self,
        local: LocalState,
        transmissions: list[PacketInFlight],
        deliveries: list[int],
        idle: bool,
        verdict: CheckVerdict | None,
        refused: bool = False,
        stopped: bool = False,
    ) -> None:
        self.stopped: Final = stopped
        self.local: Final = local
        self.transmissions: Final = transmissions
        self.deliveries: Final = deliveries
        self.idle: Final = idle
        self.verdict: Final = verdict
        self.refused: Final = refused


@final
class Moves:
    """All moves of one program's processes on one protocol, made as they are asked for."""

    def __init__(self, info: ProtocolInfo, program: Program) -> None:
        self._info: Final = info
        self._program: Final = program
        self._sends: Final = [send for _, send in program.messages]
        self._fifo: Final = info.network == "fifo"
        self._index_of: Final = message_indices(program)
        self._locals: dict[bytes, LocalState] = {}
        self._flights: dict[str, PacketInFlight] = {}
        self._uncompared: list[LocalState] = []
        self.suspicion: CheckVerdict | None = None

    def beginning(self, me: int, acquainted: bool = False) -> LocalState:
        """Process `me` before anything has happened; if it is to tell the others of expulsions,
        it is `acquainted` with all of them."""
        process = self._info.create(me, list(range(self._program.processes)))
        if acquainted and isinstance(process, NodeProcess):
            for other in range(self._program.processes):
                if other != me:
                    process.on_met_into(other, 0, EffectList())
        return self._intern(me, process, process.fingerprint(), 0)

    def submission(self, local: LocalState, index: i64) -> Move:
        """Message `index` of the program is submitted."""
        move = local.moves.get(EXPIRY - 1 - index)
        return self._made(local, EXPIRY - 1 - index, None) if move is None else move

    def arrival(self, local: LocalState, flight: PacketInFlight) -> Move:
        """A packet arrives."""
        move = local.moves.get(flight.id)
        return self._made(local, flight.id, flight) if move is None else move

    def expiry(self, local: LocalState) -> Move:
        """The timer fires; a move that is `idle` if that changes nothing."""
        move = local.moves.get(EXPIRY)
        return self._made(local, EXPIRY, None) if move is None else move

    def expulsion(self, local: LocalState, other: i64) -> Move:
        """Another process is expelled."""
        move = local.moves.get(EXPULSION - other)
        return self._made(local, EXPULSION - other, None) if move is None else move

    def _made(self, local: LocalState, key: i64, flight: PacketInFlight | None) -> Move:
        """Let the event happen to a clone, and to one of the double; remember what came of it."""
        move = self._tried(local, key, flight)
        local.moves[key] = move
        if local.double is not None:
            self._expect(move, self._tried(local.double, key, flight))
        while self._uncompared:
            self._compare(self._uncompared.pop())
        return move

    def _tried(self, local: LocalState, key: i64, flight: PacketInFlight | None) -> Move:
        actor = local.process.clone()
        now_ns = overdue_ns(actor, local.now_ns) if key == EXPIRY else local.now_ns
        try:
            effects = self._told(actor, key, flight, now_ns)
        except RemoteError as refusal:
            return Move(local, [], [], False, CheckVerdict(REFUSED, local.me, detail=str(refusal)))
        except BufferFull as no_room:
            if key < EXPIRY and actor.fingerprint() == local.fingerprint:
                return Move(local, [], [], True, None, refused=True)
            return Move(local, [], [], False, CheckVerdict(CRASHED, local.me, detail=repr(no_room)))
        except Exception as error:  # whatever a protocol raises is a finding about it
            if key < EXPIRY and isinstance(error, LocalError):
                raise  # unless it says that this program makes no sense to it
            return Move(local, [], [], False, CheckVerdict(CRASHED, local.me, detail=repr(error)))
        return self._outcome(local, actor, now_ns, effects)

    def _told(
        self, actor: CausalProcess, key: i64, flight: PacketInFlight | None, now_ns: i64
    ) -> list[Effect]:
        if flight is not None:
            return actor.arrive(flight.source, flight.packet, now_ns)
        if key == EXPIRY:
            return actor.expire(now_ns)
        if key <= EXPULSION:
            assert isinstance(actor, NodeProcess), "no other can expel"
            outbox = EffectList()
            actor.expel_into(EXPULSION - key, now_ns, outbox)
            return outbox.effects
        send = self._sends[EXPIRY - 1 - key]
        return actor.submit(list(send.targets), send.name.encode(), now_ns)

    def _outcome(
        self, local: LocalState, actor: CausalProcess, now_ns: i64, effects: list[Effect]
    ) -> Move:
        transmissions: list[PacketInFlight] = []
        deliveries: list[int] = []
        verdict: CheckVerdict | None = None
        stopped = isinstance(actor, NodeProcess) and has_stopped(actor)
        for effect in effects:
            if isinstance(effect, Deliver):
                index = self._index_of.get(message_key(effect.message), -1)
                if index >= 0:
                    deliveries.append(index)
                elif verdict is None:
                    verdict = CheckVerdict(INVENTED, local.me, detail=repr(effect.message))
            else:
                transmissions.append(self._flight(local.me, effect.target, effect.packet))
        try:
            # What is kept is a clone of what acted: all clones of one state are alike.
            twin = actor.clone()
            fingerprint = twin.fingerprint()
            complaint = self._complaint(local, actor, fingerprint)
        except Exception as error:  # no better than a clone that is wrong
            complaint = f"cloning fails with {error!r}"
            return Move(local, [], [], False, CheckVerdict(UNFAITHFUL, local.me, detail=complaint))
        if complaint:
            verdict = CheckVerdict(UNFAITHFUL, local.me, detail=complaint)
        after = self._intern(local.me, twin, fingerprint, now_ns)
        idle = not effects and after.fingerprint == local.fingerprint
        return Move(after, transmissions, deliveries, idle, verdict, stopped=stopped)

    def _complaint(self, local: LocalState, actor: CausalProcess, fingerprint: bytes) -> str:
        """What is wrong with the clones of this protocol, if anything."""
        if actor.fingerprint() != fingerprint:
            return "a clone has another fingerprint"
        if local.process.fingerprint() != local.fingerprint:
            return "a clone shares state with its original"
        return ""

    def _flight(self, source: i64, target: i64, packet: Packet) -> PacketInFlight:
        text = repr(packet)
        if text.startswith("<") and " at 0x" in text:
            kind = type(packet).__name__
            raise LocalError(f"packets of type {kind} need a __repr__ that shows what is in them")
        key = f"{source}>{target} {text}"
        known = self._flights.get(key)
        if known is None:
            pair = source * self._program.processes + target
            rank = pair if self._fifo else len(self._flights)
            known = PacketInFlight(len(self._flights), rank, source, target, packet, text)
            self._flights[key] = known
        return known

    def _intern(
        self, me: i64, process: CausalProcess, fingerprint: bytes, now_ns: i64
    ) -> LocalState:
        local = LocalState(len(self._locals), me, process, fingerprint, now_ns)
        key = f"{me} {local.wants_timer} ".encode() + fingerprint
        known = self._locals.setdefault(key, local)
        if known is not local and known.double is None:
            known.double = local
            self._uncompared.append(known)
        return known

    def _compare(self, local: LocalState) -> None:
        """Let what happened to a local before it had a double happen to the double."""
        double = local.double
        assert double is not None, "only locals that have one are compared"
        flights = list(self._flights.values())
        for key, move in list(local.moves.items()):
            flight = flights[key] if key > EXPIRY else None
            self._expect(move, self._tried(double, key, flight))

    def _expect(self, one: Move, other: Move) -> None:
        """Two objects with equal fingerprints made these moves; they had better be the same."""
        if not same(one, other) and self.suspicion is None:
            detail = "two objects with equal fingerprints do different things"
            self.suspicion = CheckVerdict(UNFAITHFUL, one.local.me, detail=detail)


def same(one: Move, other: Move) -> bool:
    """Whether two moves have the same effects and lead to the same state."""
    return (
        one.local.fingerprint == other.local.fingerprint
        and one.transmissions == other.transmissions
        and one.deliveries == other.deliveries
        and one.verdict == other.verdict
        and one.refused == other.refused
        and one.stopped == other.stopped
    )


def has_stopped(process: NodeProcess) -> bool:
    """Whether a process has just heard that it is expelled; its reports are taken."""
    stopped = False
    for report in process.reports():
        stopped = stopped or isinstance(report, SelfExpelled)
    return stopped


def overdue_ns(process: CausalProcess, now_ns: int) -> int:
    """A time at which whatever timer `process` has set is due."""
    deadline_ns = process.deadline_ns()
    later_ns = now_ns + OVERDUE_NS
    return later_ns if deadline_ns is None or deadline_ns < later_ns else deadline_ns


def message_indices(program: Program) -> dict[tuple[int, int, bytes], int]:
    """The index of every message, by sender, sequence and payload."""
    indices: dict[tuple[int, int, bytes], int] = {}
    for sender, own in enumerate(program.sends):
        for position, send in enumerate(own):
            indices[sender, position + 1, send.name.encode()] = len(indices)
    return indices


def message_key(message: Message) -> tuple[int, int, bytes]:
    """What tells a message of a program from all others."""
    return int(message.sender), int(message.sequence), message.payload
