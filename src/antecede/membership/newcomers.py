"""Peers that were just added: they are waited for, for a while, before they are away."""

from typing import Final, final

from mypy_extensions import i64

from antecede.core.process import NEVER_NS
from antecede.membership.contact import Contact


@final
class Newcomers:
    """The new peers of one node; all are waited for as long, so the first comes first."""

    __slots__ = ("_contacts", "_until", "_within_ns", "wake_ns")

    def __init__(self, within_ns: i64) -> None:
        self._within_ns: Final[i64] = within_ns
        self._contacts: Final[dict[str, Contact]] = {}
        self._until: Final[dict[str, int]] = {}
        self.wake_ns: i64 = NEVER_NS
        """When to call `expire`; asked for in every turn, so it is kept up to date."""

    def add(self, contact: Contact, now_ns: i64) -> None:
        """A peer was added; nobody of its name was met."""
        self._contacts[contact.name] = contact
        self._until[contact.name] = int(now_ns + self._within_ns)
        self._set_wake()

    def forget(self, name: str) -> None:
        """It was met, or removed."""
        self._contacts.pop(name, None)
        self._until.pop(name, None)
        self._set_wake()

    def expire(self, now_ns: i64) -> None:
        """Whoever was not met in time is not new any more."""
        if now_ns < self.wake_ns:
            return
        overdue = [name for name, until_ns in self._until.items() if until_ns <= now_ns]
        for name in overdue:
            self._contacts[name].on_not_met()
            self.forget(name)

    def _set_wake(self) -> None:
        self.wake_ns = NEVER_NS
        for until_ns in self._until.values():
            self.wake_ns = until_ns
            break
