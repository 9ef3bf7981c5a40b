"""Payloads in parts that strangers have begun and not ended: how much memory they take together.

One payload of one peer takes no more than the largest payload. Strangers can have as many names as
they like, so all of theirs together have a limit, too. If it is reached, those go whose next part
has been missing for the longest.
"""

from typing import Final, final

from mypy_extensions import i64

from antecede.core.process import NEVER_NS
from antecede.membership.contact import Contact
from antecede.transport.message_fragments import PayloadAssembler

PAYLOADS_MAX: Final = 8
"""8 unfinished payloads of strangers, of the largest size, are kept at least."""

LOOKS_PER_PAYLOAD: Final = 2
"""Their size is looked at twice while as many bytes come as the largest payload has."""

CROWDED_OUT: Final = "strangers' unfinished payloads took too much room"


@final
class Unfinished:
    """The unfinished payloads at one node."""

    __slots__ = ("_come", "_look_at", "_most", "_step")

    def __init__(self, payload_limit: i64, open_to_strangers: bool) -> None:
        self._most: Final[i64] = PAYLOADS_MAX * payload_limit
        self._step: Final[i64] = 1 + payload_limit // LOOKS_PER_PAYLOAD
        # Bytes of parts that have ever come, and at how many of them to look at what they take.
        self._come: i64 = 0
        self._look_at: i64 = self._most if open_to_strangers else NEVER_NS

    def grew(self, assembler: PayloadAssembler, size: i64) -> None:
        """A part has come, and its payload goes on."""
        self._come += size
        assembler.on_grown(self._come)

    def is_due(self) -> bool:
        """Whether enough has come that it is time to look for whom to forget."""
        return self._come >= self._look_at

    def to_forget(self, contacts: list[Contact]) -> list[str]:
        """The strangers whose unfinished payloads are one too many."""
        self._look_at = self._come + self._step
        begun = [c for c in contacts if c.stranger and c.session.payload_assembler.size > 0]
        begun.sort(key=last_growth, reverse=True)
        left = self._most
        over: list[str] = []
        for contact in begun:
            left -= contact.session.payload_assembler.kept()
            if left < 0:
                over.append(contact.name)
        return over


def last_growth(contact: Contact) -> int:
    """When the unfinished payload of a peer last grew, in bytes that had come by then."""
    return int(contact.session.payload_assembler.grown_at)
