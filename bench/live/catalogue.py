"""Which libraries are measured, in which ways: the only list."""

from importlib import import_module
from typing import Final

from antecede.core.errors import LocalError, near_miss
from bench.live.peer import Contestant, Multicaster
from bench.live.peers.antecede_node import AntecedeNode, AntecedeOneByOne
from bench.live.peers.grpc_calls import Grpc
from bench.live.peers.nats_client import Nats
from bench.live.peers.tcp_streams import TcpStreams, TlsStreams
from bench.live.peers.zenoh_session import Zenoh
from bench.live.peers.zmq_sockets import (
    ZmqAsyncioDealerRouter,
    ZmqAsyncioPushPull,
    ZmqCurve,
    ZmqDealerRouter,
    ZmqPubSub,
    ZmqPushPull,
)
from bench.live.service import Service

PEERS: Final[dict[str, Contestant]] = {
    "antecede": AntecedeNode("iterate", "auto"),
    "antecede-handler": AntecedeNode("handler", "auto"),
    "antecede-1400": AntecedeNode("iterate", 1400),
    "antecede-handler-1400": AntecedeNode("handler", 1400),
    "antecede-uvloop": AntecedeNode("iterate", "auto", "uvloop"),
    "antecede-handler-uvloop": AntecedeNode("handler", "auto", "uvloop"),
    "zmq": ZmqPushPull(),
    "zmq-dealer": ZmqDealerRouter(),
    "zmq-asyncio": ZmqAsyncioPushPull(),
    "zmq-asyncio-dealer": ZmqAsyncioDealerRouter(),
    "tcp": TcpStreams(),
    "tcp-20": TcpStreams(per_write=20),
    "antecede-sealed": AntecedeNode("iterate", "auto", sealed=True),
    "antecede-handler-sealed": AntecedeNode("handler", "auto", sealed=True),
    "antecede-1400-sealed": AntecedeNode("iterate", 1400, sealed=True),
    "antecede-handler-1400-sealed": AntecedeNode("handler", 1400, sealed=True),
    "zmq-curve": ZmqCurve(),
    "tls": TlsStreams(),
    "tls-20": TlsStreams(per_write=20),
    "nats": Nats(),
    "zenoh": Zenoh(),
}

ENCRYPTED: Final = tuple(
    key for key in PEERS if key.endswith(("-sealed", "-curve")) or "tls" in key
)
"""Those that encrypt: measured beside those that do the same in plaintext, if that is asked for."""

PLAIN: Final = tuple(key for key in PEERS if key not in ENCRYPTED)


def find_peer(key: str) -> Contestant:
    """The peer that goes by this key, or one of somebody else's: `module:NAME`."""
    if key in PEERS:
        return PEERS[key]
    module, colon, name = key.partition(":")
    if not colon:
        raise LocalError(
            f"no peer is called {key!r}{near_miss(key, list(PEERS))}; "
            f"there are {', '.join(PEERS)}; module:NAME is your own"
        )
    try:
        peer = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise LocalError(f"there is no peer at {key!r}: {error}") from error
    if not isinstance(peer, Contestant):
        raise LocalError(f"{key!r} is no Peer")
    return peer


SERVICES: Final[dict[str, Service]] = {
    "antecede": AntecedeNode("iterate", "auto"),
    "antecede-handler": AntecedeNode("handler", "auto"),
    "nats": Nats(),
    "zenoh": Zenoh(),
    "grpc": Grpc(),
}
"""Those that have requests and replies."""


def find_service(key: str) -> Service:
    """The one with requests that goes by this key, or one of somebody else's: `module:NAME`."""
    if key in SERVICES:
        return SERVICES[key]
    found = find_peer(key)
    if not isinstance(found, Service):
        raise LocalError(f"{key!r} has no requests; there are {', '.join(SERVICES)}")
    return found


MULTICASTERS: Final[dict[str, Multicaster]] = {
    "antecede": AntecedeNode("iterate", "auto"),
    "antecede-handler": AntecedeNode("handler", "auto"),
    "antecede-one-by-one": AntecedeOneByOne(),
    "zmq-pub": ZmqPubSub(),
}
"""Those that send one message to many."""


def find_multicaster(key: str) -> Multicaster:
    """The one that goes by this key, or one of somebody else's: `module:NAME`."""
    found = MULTICASTERS[key] if key in MULTICASTERS else find_peer(key)
    if not isinstance(found, Multicaster):
        raise LocalError(f"{key!r} has no multicast; there are {', '.join(MULTICASTERS)}")
    return found
