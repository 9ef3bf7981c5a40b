"""Peers that were just added: they are waited for, for a while, before they are away."""

from typing import Final, final

from mypy_extensions import i64

from antecede.core.process import NEVER_NS
from antecede.membership.contact import Contact


@final
class Newcomers:
    """The new peers of one node; all are waited for as long, so the first comes first."""

    __slots__ = ("_contacts", "_until", "_within_ns")

    def __init__(self, within_ns: i64) -> None:
        self._within_ns: Final[i64] = within_ns
        self._contacts: Final[dict[str, Contact]] = {}
        self._until: Final[dict[str, int]] = {}

    def add(self, contact: Contact, now_ns: i64) -> None:
        """A peer was added; nobody of its name was met."""
        self._contacts[contact.name] = contact
        self._until[contact.name] = int(now_ns + self._within_ns)

    def forget(self, name: str) -> None:
        """It was met, or removed."""
        self._contacts.pop(name, None)
        self._until.pop(name, None)

    def wake_ns(self) -> i64:
        """When to call `expire`."""
        for until_ns in self._until.values():
            return until_ns
        return NEVER_NS

    def expire(self, now_ns: i64) -> None:
        """Whoever was not met in time is not new any more."""
        overdue = [name for name, until_ns in self._until.items() if until_ns <= now_ns]
        for name in overdue:
            self._contacts[name].on_not_met()
            self.forget(name)
