"""What the protocols share whose processes know from the start who takes part.

Every submission is checked and numbered in the same way, and what is to oneself is delivered inside
it, after what leaves for the others. A protocol says what leaves.
"""

from abc import abstractmethod
from collections.abc import Collection, Sequence
from typing import ClassVar, Final

from mypy_extensions import i64, mypyc_attr

from antecede.core.checks import PAYLOAD_LIMIT, checked_payload
from antecede.core.effects import Deliver, Effect
from antecede.core.packets import Message
from antecede.core.process import CausalProcess
from antecede_lab.protocols.members import Members


@mypyc_attr(allow_interpreted_subclasses=True)
class GroupProcess(CausalProcess):
    """One member of a group that never changes."""

    OPTIONS: ClassVar[tuple[str, ...]] = ("payload_limit",)

    def __init__(
        self, me: int, processes: Sequence[int], payload_limit: int = PAYLOAD_LIMIT
    ) -> None:
        self._members: Final = Members(me, processes)
        self._payload_limit: Final[i64] = payload_limit
        # The sequence of our latest message.
        self._sequence: i64 = 0

    @abstractmethod
    def _send(self, message: Message, remote: list[int], now_ns: i64) -> list[Effect]:
        """What leaves for the others, who may be none, and what we remember of it."""

    def _check_targets(self, remote: list[int]) -> None:
        """`LocalError` if a message cannot go to these, or cannot go now."""

    def submit(self, targets: Sequence[int], payload: object, now_ns: int) -> list[Effect]:
        remote, to_self = self._members.split(targets)
        content = checked_payload(payload, self._payload_limit)
        self._check_targets(remote)
        self._sequence += 1
        message = Message(self._members.me, self._sequence, content)
        effects = self._send(message, remote, now_ns)
        if to_self:
            effects.append(Deliver(message))
        return effects

    def _constructor_arguments(self) -> tuple[int, Collection[int]]:
        return self._members.me, self._members.ids()
