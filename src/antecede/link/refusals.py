"""Telling who is refused, and why: once each, and only so much: anybody can make names up."""

from typing import Final, final

from mypy_extensions import i64

from antecede.link.reports import Refused, Report

REFUSED_MOST: Final = 1000
REFUSED_NS: Final = 60_000_000_000
REASONS_MOST: Final = 8
"""Names that are remembered because they were refused, for how long at least if there are more, and
reasons of one name. More are not reported in that time, only counted."""


@final
class Refusals:
    """What has been told of those who are refused, which go on saying hello."""

    __slots__ = ("_reasons", "_reports", "_until_ns")

    def __init__(self, reports: list[Report]) -> None:
        self._reports: Final = reports
        self._reasons: dict[str, list[str]] = {}
        self._until_ns: i64 = 0

    def forget(self, name: str) -> None:
        """It is a peer now: should it be refused again, that is news."""
        self._reasons.pop(name, None)

    def tell(self, name: str, address: object, reason: str, now_ns: i64) -> None:
        """Tell that somebody is refused: once, not every time."""
        reasons = self._reasons.get(name)
        if reasons is None:
            if len(self._reasons) >= REFUSED_MOST and now_ns >= self._until_ns:
                self._reasons.clear()
            if len(self._reasons) >= REFUSED_MOST:
                return
            if not self._reasons:
                self._until_ns = now_ns + REFUSED_NS
            reasons = []
            self._reasons[name] = reasons
        if reason not in reasons and len(reasons) < REASONS_MOST:
            reasons.append(reason)
            self._reports.append(Refused(name=name, address=address, reason=reason))
