"""How a simulated node is made: with the limits and the protocol of one behind a socket."""

from typing import Final

from mypy_extensions import i64

from antecede.core.catalogue import ProtocolInfo
from antecede.core.process import NodeProcess
from antecede.durability.recorder import Recorder
from antecede.endpoint.endpoint import Endpoint
from antecede.endpoint.limits import Limits
from antecede.membership.handshake_crypto import HandshakeCrypto
from antecede.membership.identity import Identity, TokenSource
from antecede.transport.flow_control import MESSAGE_COST
from antecede.transport.session import ME
from antecede_lab.simulator.nodes.rows import ObservedNode

SOCKET_BYTES: Final = 4 << 20
PAYLOAD_LIMIT: Final = 1 << 16
NUMBERS: Final = range(1 << 31)


def identity_of(
    info: ProtocolInfo, limits: Limits, name: str, incarnation: i64, log_id: i64, has_journal: bool
) -> Identity:
    """Who a node is, as it says in its greetings."""
    return Identity(
        name,
        incarnation=incarnation,
        process=log_id,
        window=limits.window,
        payload_limit=PAYLOAD_LIMIT,
        socket_bytes=SOCKET_BYTES,
        order=info.name,
        has_journal=has_journal,
    )


def make_endpoint(
    info: ProtocolInfo,
    options: dict[str, object],
    limits: Limits,
    me: Identity,
    tokens: TokenSource,
    log: ObservedNode,
    guard: HandshakeCrypto | None,
    recorder: Recorder,
) -> Endpoint:
    """A node of a simulation."""
    bounds: dict[str, object] = {
        "send_limit": 2 * limits.send_limit,
        "receive_limit": max(1, limits.window // MESSAGE_COST),
    }
    process = info.create(ME, NUMBERS, **(bounds | options))
    assert isinstance(process, NodeProcess), "that was checked before"
    cumulative = info.ordering != "none"
    return Endpoint(me, process, tokens, limits, log, cumulative, guard, recorder)
