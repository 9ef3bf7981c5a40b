"""Sans-I/O protocols: told things by method calls, answering with effects."""

from antecede.core.effects import Deliver, Effect, Transmit
from antecede.core.errors import AntecedeError, BufferFull, LocalError, RemoteError
from antecede.core.process import NEVER_NS, CausalProcess, EffectList, NodeProcess, Outbox
from antecede.core.values import Message, Packet

__all__ = [
    "NEVER_NS",
    "AntecedeError",
    "BufferFull",
    "CausalProcess",
    "Deliver",
    "Effect",
    "EffectList",
    "LocalError",
    "Message",
    "NodeProcess",
    "Outbox",
    "Packet",
    "RemoteError",
    "Transmit",
]
