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
from antecede.core.reports import Expelled, Refused, Report, Stopped, Unconfirmed
from antecede.core.values import Message, Packet

__all__ = [
    "NEVER_NS",
    "AntecedeError",
    "BufferFull",
    "CausalProcess",
    "Deliver",
    "Effect",
    "EffectList",
    "Expelled",
    "Fenced",
    "HeldBack",
    "LocalError",
    "Message",
    "NodeProcess",
    "Outbox",
    "Packet",
    "PermitsOwed",
    "Refused",
    "RemoteError",
    "Report",
    "Stopped",
    "Transmit",
    "Unconfirmed",
]
