"""Traffic that tries to reach an upper bound: everybody tells everybody, and one hears it first.

An O(n²) is a bound for the worst case, which average traffic is far from. Here all processes but
one, the hub, multicast to all others at the same time, and only the copies to the hub have arrived
when it sends a message of its own. Its past then has a message of everybody to everybody, none of
them known to be delivered: nothing can be left out. So its message carries what the protocol can be
made to carry. The receiver has what the others sent by then; its work is to merge the message with
what it knows. All packets go through bytes: no process shares memory with another.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, final

from antecede.core.catalogue import ProtocolInfo
from antecede.core.effects import Effect, Transmit
from antecede.core.packets import Packet
from antecede.core.process import CausalProcess
from antecede_lab.comparison.space import integers_in
from antecede_lab.wire.codec import codec_of, metadata_size_with

HUB: Final = "everybody at once"
"""The situation."""

MADE_TO_CARRY: Final = ("rst", "ks")
"""Whose cells of the paper's table are bounds that average traffic stays below."""

HUB_SIZES: Final = (10, 20, 40, 80)
"""Where steps are counted, whatever the effort: two messages are all that is traced."""

THE_HUB: Final = 0
RECEIVER: Final = 1


@final
@dataclass(frozen=True, kw_only=True)
class HubFigures:
    """What one message of the hub carries, what the hub keeps, and the work at both ends."""

    integers: int
    bytes: int
    state: int
    sender: int
    receiver: int


CountLines = Callable[[Callable[[], list[Effect]]], tuple[list[Effect], int]]
"""Performs a step of a protocol; its effects, and how many lines it took."""


def uncounted(step: Callable[[], list[Effect]]) -> tuple[list[Effect], int]:
    """Nobody counts."""
    return step(), 0


def hub_figures(info: ProtocolInfo, processes: int, count: CountLines = uncounted) -> HubFigures:
    """Let everybody multicast, bring it to the hub, and look at what that sends."""
    codec = codec_of(info)
    everyone = range(processes)
    members: list[CausalProcess] = [info.create(me, everyone) for me in everyone]
    for_receiver: list[tuple[int, Packet]] = []
    for me in everyone[1:]:
        others = [process for process in everyone if process != me]
        for target, packet in transmitted(members[me].submit(others, b"", 0)):
            copy = codec.decode(codec.encode(packet), me) if target <= RECEIVER else packet
            if target == THE_HUB:
                members[THE_HUB].arrive(me, copy, 0)
            elif target == RECEIVER:
                for_receiver.append((me, copy))
    state = integers_in(members[THE_HUB].fingerprint())
    effects, sender = count(lambda: members[THE_HUB].submit([RECEIVER], b"", 0))
    [(_, message)] = transmitted(effects)
    for source, packet in for_receiver:
        members[RECEIVER].arrive(source, packet, 0)
    copy = codec.decode(codec.encode(message), THE_HUB)
    _, receiver = count(lambda: members[RECEIVER].arrive(THE_HUB, copy, 0))
    return HubFigures(
        integers=message.metadata_integers,
        bytes=metadata_size_with(codec, message),
        state=state,
        sender=sender,
        receiver=receiver,
    )


def transmitted(effects: list[Effect]) -> list[tuple[int, Packet]]:
    """Where packets go."""
    return [(effect.target, effect.packet) for effect in effects if isinstance(effect, Transmit)]
