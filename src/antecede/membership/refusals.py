"""Telling who is refused, and why: once each, and at most 1,000 names a minute.

Anybody can make names up.
"""

from typing import Final, final

from mypy_extensions import i64

from antecede.events import PeerRefused, Report, seen_at
from antecede.membership.contact import Contact

REFUSED_MAX: Final = 1000
REFUSED_NS: Final = 60_000_000_000
REASONS_MAX: Final = 8
"""Names that are remembered because they were refused, for how long at least if there are more, and
reasons of one name. More are not reported in that time, only counted."""


@final
class RefusalReporter:
    """What has been told of those who are refused, which go on saying hello."""

    __slots__ = ("_contacts", "_reasons", "_reports", "_until_ns")

    def __init__(self, reports: list[Report], contacts: dict[str, Contact]) -> None:
        self._contacts: Final = contacts
        self._reports: Final = reports
        self._reasons: dict[str, list[str]] = {}
        self._until_ns: i64 = 0

    def forget(self, name: str) -> None:
        """It is a peer now: should it be refused again, that is news."""
        self._reasons.pop(name, None)

    def tell(self, name: str, address: object, reason: str, now_ns: i64) -> None:
        """Tell that somebody is refused: once, not every time. A peer's record keeps the reason."""
        contact = self._contacts.get(name)
        if contact is not None:
            contact.set_objection(reason)
        if self.is_news(name, reason, now_ns):
            self._reports.append(PeerRefused(name=name, address=seen_at(address), reason=reason))

    def is_news(self, name: str, reason: str, now_ns: i64) -> bool:
        """Whether to tell this of somebody; from now on it is known."""
        reasons = self._reasons.get(name)
        if reasons is None:
            if len(self._reasons) >= REFUSED_MAX and now_ns >= self._until_ns:
                self._reasons.clear()
            if len(self._reasons) >= REFUSED_MAX:
                return False
            if not self._reasons:
                self._until_ns = now_ns + REFUSED_NS
            reasons = []
            self._reasons[name] = reasons
        if reason in reasons or len(reasons) >= REASONS_MAX:
            return False
        reasons.append(reason)
        return True
