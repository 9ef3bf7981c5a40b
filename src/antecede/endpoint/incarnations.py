"""Beginning above a former life, if the clock that numbers lives was set back.

Lives of one name are numbered by the clock, and a number below one that is known is taken for an
older life. A node whose clock was set back since learns from the first greeting of a peer which
number its last life had (`met`). If it has exchanged nothing with anybody, it takes a higher one
and greets anew. If it has, it cannot be another life any more, and the application is told.
"""

from typing import Final, final

from mypy_extensions import i64

from antecede.durability.recorder import Recorder
from antecede.events import NodeFenced
from antecede.membership.directory import Directory
from antecede.membership.expulsions import Expulsions
from antecede.membership.identity import Identity, TokenSource


@final
class Incarnations:
    """Which number this life has."""

    __slots__ = ("_directory", "_expulsions", "_me", "_recorder", "_tokens")

    def __init__(
        self,
        me: Identity,
        tokens: TokenSource,
        expulsions: Expulsions,
        directory: Directory,
        recorder: Recorder,
    ) -> None:
        self._me: Final = me
        self._tokens: Final = tokens
        self._expulsions: Final = expulsions
        self._directory: Final = directory
        self._recorder: Final = recorder

    def follow(self, now_ns: i64) -> NodeFenced | None:
        """A peer may have said that it has met a later life; why this one is over, if it is."""
        later = self._directory.take_later()
        if later is None or later.incarnation <= self._me.incarnation:
            return None
        name = self._me.name
        if self._recorder.resumed:
            reason = f"its journal is of a former life: {later.peer} has met a later {name}"
            return NodeFenced(name=name, by=name, reason=reason, told_by=later.peer)
        number = 0 if self._directory.has_met else self._tokens.above(later.incarnation)
        if number > later.incarnation:
            self._renumber(number, now_ns)
        else:
            self._directory.denials.report_later(later, now_ns)
        return None

    def _renumber(self, number: i64, now_ns: i64) -> None:
        self._me.renumber(number)
        self._expulsions.renumber(number)
        self._recorder.on_renumbered(number)
        self._directory.greet_all_afresh(now_ns)
