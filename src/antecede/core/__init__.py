"""The contract between protocols and their drivers, and the product's protocols, without I/O."""

from antecede.core.effects import Deliver, Effect, Transmit
from antecede.core.errors import AntecedeError, BufferFull, Fenced, LocalError, RemoteError
from antecede.core.process import (
    NEVER_NS,
    CausalProcess,
    EffectList,
    HeldBack,
    NodeProcess,
    Outbox,
    PermitsOwed,
)
from antecede.core.reports import DeliveryUnknown, Expelled, NotSentTo, Report, SelfExpelled
from antecede.core.values import Message, Packet

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
