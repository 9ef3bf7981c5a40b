"""The contract between protocols and their drivers, and the product's protocols, without I/O."""

from antecede.core.effects import (
    Deliver,
    DeliveryUnknown,
    Effect,
    Expelled,
    NotSentTo,
    Report,
    SelfExpelled,
    Transmit,
)
from antecede.core.errors import AntecedeError, BufferFull, Fenced, LocalError, RemoteError
from antecede.core.packets import Message, Packet
from antecede.core.process import (
    NEVER_NS,
    CausalProcess,
    EffectList,
    HeldBack,
    NodeProcess,
    Outbox,
    PermitsOwed,
)

__all__ = [
    "NEVER_NS",
    "AntecedeError",
    "BufferFull",
    "CausalProcess",
    "Deliver",
    "DeliveryUnknown",
    "Effect",
    "EffectList",
    "Expelled",
    "Fenced",
    "HeldBack",
    "LocalError",
    "Message",
    "NodeProcess",
    "NotSentTo",
    "Outbox",
    "Packet",
    "PermitsOwed",
    "RemoteError",
    "Report",
    "SelfExpelled",
    "Transmit",
]
