"""Causal separators: a matrix for each domain, and gateways that pass on in the order they deliver.

Processes are divided into domains, and one process of each is its gateway. The gateways form a
domain of their own, the backbone. Inside a domain messages are ordered by `rst` among its members
alone. What goes elsewhere is addressed to the gateway, which passes it on to the gateway of the
other domain, and that one to its targets, each inside the very step in which it takes it out of
the order of one domain and puts it into that of the next. Whatever leaves a domain and has effects
in it again must come back through the same gateway: it separates the two sides, and no knowledge
about one side is needed on the other.

Paper: L. Rodrigues, P. Veríssimo, "Causal Separators for Large-Scale Multicast Communication",
ICDCS 1995, which says what a separator is and that timestamps need not cross it. Which clock a
domain uses is left open there; here it is the matrix of Raynal, Schiper and Toueg, and the domains
form a star of two levels.
Cost: d*d integers per message and process, d being the size of the largest domain, which is about
the square root of n by default; a gateway keeps two matrices. A message to another domain takes up
to three hops, and all of them cross two gateways: they carry that load, and one gone cuts its
domain off.
"""

from collections.abc import Sequence
from math import isqrt
from typing import ClassVar, Final, final

from mypy_extensions import i64, mypyc_attr

from antecede.core.checks import PAYLOAD_LIMIT, checked_targets
from antecede.core.cloning import shown
from antecede.core.effects import Deliver, Effect, Transmit
from antecede.core.errors import LocalError, RemoteError
from antecede.core.packets import Message, MessagePacket, Packet
from antecede_lab.protocols.group_process import GroupProcess
from antecede_lab.protocols.members import Members
from antecede_lab.protocols.receive_buffer import RECEIVE_LIMIT
from antecede_lab.protocols.rst import RstPacket, RstProcess


@final
@mypyc_attr(acyclic=True)
class SeparatorPacket(MessagePacket):
    """A message on one hop: whom it is for at or beyond the receiver, and its order in the domain.

    `hop` is an empty `rst` message among the members of the domain that the packet crosses.
    """

    __slots__ = ("hop", "targets")

    FIELDS: ClassVar = ("carried", "targets", "hop")

    def __init__(self, carried: Message, targets: tuple[int, ...], hop: RstPacket) -> None:
        super().__init__(carried)
        self.targets: Final = targets
        self.hop: Final = hop

    @property
    def metadata_integers(self) -> int:
        """Origin, id, targets, and the matrix of the domain."""
        return 2 + len(self.targets) + self.hop.metadata_integers


@final
class Domains:
    """Which process is in which domain; the first of a domain is its gateway."""

    __slots__ = ("_gateway_of", "gateways", "lists")

    def __init__(self, lists: list[list[int]]) -> None:
        self.lists: Final = lists
        self.gateways: Final = [members[0] for members in lists]
        self._gateway_of: Final[dict[int, int]] = {}
        for members in lists:
            for process in members:
                self._gateway_of[process] = members[0]

    def gateway_of(self, process: int) -> int:
        """The gateway of its domain."""
        return self._gateway_of[process]

    def home_of(self, process: int) -> list[int]:
        """Everybody in its domain."""
        return self.lists[self.gateways.index(self._gateway_of[process])]


@final
class Domain:
    """One process's part in one domain: its place in the order, and what waits for its turn."""

    MADE_OF: ClassVar = ("order",)

    __slots__ = ("_waiting", "order")

    def __init__(self, order: RstProcess) -> None:
        self.order: Final = order
        # What came on a hop, by its sender and number in this domain, until it is its turn.
        self._waiting: dict[tuple[int, int], SeparatorPacket] = {}

    def send(self, message: Message, parts: dict[int, list[int]], now_ns: int) -> list[Effect]:
        """Put `message` into the order, to the keys of `parts`, each with the targets it serves."""
        effects: list[Effect] = []
        for effect in self.order.submit(list(parts), b"", now_ns):
            assert isinstance(effect, Transmit), "a hop is never to oneself"
            hop = effect.packet
            assert isinstance(hop, RstPacket), "the order of a domain is rst"
            targets = tuple(sorted(parts[effect.target]))
            effects.append(Transmit(effect.target, SeparatorPacket(message, targets, hop)))
        return effects

    def take(self, source: int, packet: SeparatorPacket, now_ns: int) -> list[SeparatorPacket]:
        """Everything whose turn has come, in order; `RemoteError` if the hop makes no sense."""
        turns = self.order.arrive(source, packet.hop, now_ns)
        self._waiting[source, packet.hop.carried.sequence] = packet
        ready: list[SeparatorPacket] = []
        for turn in turns:
            assert isinstance(turn, Deliver), "rst answers an arrival with deliveries only"
            hop = turn.message
            ready.append(self._waiting.pop((hop.sender, hop.sequence)))
        return ready

    def state(self) -> str:
        """Equal states, equal strings."""
        return repr((self.order.fingerprint().decode(), shown(self._waiting)))


@final
class SeparatorsProcess(GroupProcess):
    """One process; messages to it arrive exactly once, in any order.

    `domains` is their number (the ids in order are cut into parts of nearly equal length), or
    the domains themselves, as lists of processes that each begin with their gateway. By default
    there are about as many as each has members.
    """

    STATE: ClassVar[tuple[str, ...]] = ("_members", "_sequence", "_home", "_backbone")
    OPTIONS: ClassVar[tuple[str, ...]] = ("domains", "receive_limit", "payload_limit")

    def __init__(
        self,
        me: int,
        processes: Sequence[int],
        *,
        domains: object = None,
        receive_limit: int = RECEIVE_LIMIT,
        payload_limit: int = PAYLOAD_LIMIT,
    ) -> None:
        super().__init__(me, processes, payload_limit)
        self._domains: Final = checked_domains(self._members, domains)
        self._receive_limit: Final = receive_limit
        self._gateway: Final = self._domains.gateway_of(me)
        home = self._domains.home_of(me)
        self._home: Domain = Domain(RstProcess(me, home, receive_limit=receive_limit))
        self._backbone: Domain | None = None
        if self._gateway == me:
            order = RstProcess(me, self._domains.gateways, receive_limit=receive_limit)
            self._backbone = Domain(order)

    def arrive(self, source: int, packet: Packet, now_ns: int) -> list[Effect]:
        if not isinstance(packet, SeparatorPacket):
            raise RemoteError(f"a {packet.kind} from {source} has no meaning here")
        domain = self._check(source, packet)
        effects: list[Effect] = []
        for ready in domain.take(source, packet, now_ns):
            remote = [target for target in ready.targets if target != self._members.me]
            # Passed on before it is delivered: an answer must not leave ahead of it.
            effects.extend(self._send(ready.carried, remote, now_ns))
            if len(remote) < len(ready.targets):
                effects.append(Deliver(ready.carried))
        return effects

    def _send(self, message: Message, remote: list[int], now_ns: i64) -> list[Effect]:
        """One hop towards all targets: those at home, and those of other domains."""
        at_home: dict[int, list[int]] = {}
        abroad: dict[int, list[int]] = {}
        for target in remote:
            gateway = self._domains.gateway_of(target)
            if gateway == self._gateway:
                at_home.setdefault(target, []).append(target)
            elif self._backbone is None:
                at_home.setdefault(self._gateway, []).append(target)
            else:
                abroad.setdefault(gateway, []).append(target)
        effects: list[Effect] = []
        if at_home:
            effects.extend(self._home.send(message, at_home, now_ns))
        if abroad:
            assert self._backbone is not None, "only a gateway has targets abroad"
            effects.extend(self._backbone.send(message, abroad, now_ns))
        return effects

    def _check(self, source: int, packet: SeparatorPacket) -> Domain:
        """The domain it crosses; `RemoteError` if no correct process sends it this way."""
        me = self._members.me
        origin = packet.carried.sender
        if source == me or not self._members.knows(source) or not self._members.knows(origin):
            raise RemoteError(f"a message of {origin} from {source}: one of them is nobody here")
        if packet.carried.sequence < 1 or packet.hop.carried.payload:
            raise RemoteError(f"{source} sent message {packet.carried.sequence}, or a hop with it")
        self._check_ways(source, packet.targets)
        if self._domains.gateway_of(source) != self._gateway:
            return self._check_from_abroad(source, packet)
        if self._backbone is None and packet.targets != (me,):
            raise RemoteError(f"{source} sent {me} a message for {packet.targets}")
        passed_on = source == self._gateway and self._domains.gateway_of(origin) != source
        if origin != source and not passed_on:
            raise RemoteError(f"a message of {origin} does not come to {me} from {source}")
        return self._home

    def _check_from_abroad(self, source: int, packet: SeparatorPacket) -> Domain:
        """The backbone, if this is between two gateways, from one domain to the other."""
        origin = packet.carried.sender
        if self._backbone is None or self._domains.gateway_of(source) != source:
            raise RemoteError(f"{source} is in another domain, and not both ends are gateways")
        if self._domains.gateway_of(origin) != source:
            raise RemoteError(f"a message of {origin} does not come from the domain of {source}")
        for target in packet.targets:
            if self._domains.gateway_of(target) != self._gateway:
                raise RemoteError(f"the way from {source} to {target} does not lead through here")
        return self._backbone

    def _check_ways(self, source: int, targets: tuple[int, ...]) -> None:
        before = -1
        for target in targets:
            if target <= before or not self._members.knows(target):
                raise RemoteError(f"{source} sent a message for {targets}: unknown or out of order")
            if target == source or (
                target != self._members.me
                and self._domains.gateway_of(target) == self._domains.gateway_of(source)
            ):
                raise RemoteError(f"the way from {source} to {target} does not lead through here")
            before = target
        if before < 0:
            raise RemoteError(f"{source} sent a message without targets")


# Who is in which domain.


def checked_domains(members: Members, wanted: object) -> Domains:
    """The domains that an option asks for, or `LocalError` if they make no sense."""
    if isinstance(wanted, Domains):
        return wanted
    ids = members.ids()
    if wanted is None:
        return Domains(cut(ids, usual_count(len(ids))))
    if isinstance(wanted, int) and not isinstance(wanted, bool):
        if not 1 <= wanted <= len(ids):
            raise LocalError(f"{len(ids)} processes cannot be in {wanted} domains")
        return Domains(cut(ids, wanted))
    if not isinstance(wanted, Sequence) or isinstance(wanted, (str, bytes)):
        raise LocalError(f"domains are a number or lists of processes, not {wanted!r}")
    lists = [checked_targets(domain) for domain in wanted]
    named = [process for domain in lists for process in domain]
    if sorted(named) != ids or [] in lists:
        raise LocalError(f"every process must be in one domain, and none empty: {lists}")
    return Domains(lists)


def usual_count(size: int) -> int:
    """About the square root, rounded up: then a domain, and the backbone, have about as many."""
    root = isqrt(size)
    return root if root * root == size else root + 1


def cut(ids: list[int], count: int) -> list[list[int]]:
    """The ids in order, in `count` parts whose lengths differ by one at most."""
    size = len(ids)
    return [ids[size * part // count : size * (part + 1) // count] for part in range(count)]
