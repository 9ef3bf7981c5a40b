"""What one person in a chat has on the screen, and what is missing there.

Every message says after which other one it was written: the last that its writer could see. So
whoever shows it can tell whether it comes too early, before what it answers. In causal order it
never does. No network in here.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from antecede.core.errors import RemoteError

Key: TypeAlias = tuple[str, int]
"""A message: who wrote it, and its number among theirs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line on the screen."""

    sender: str
    sequence: int
    text: str
    missing: Key | None = None
    """What it was written after, and is not on this screen although it was meant for it."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The last line on a screen, as a message speaks of it."""

    key: Key
    readers: tuple[str, ...]
    """Everybody it was meant for."""


class Room:
    """The chat as one person sees it."""

    def __init__(self, me: str) -> None:
        self._me = me
        self._shown: set[Key] = set()
        self._last: Seen | None = None

    def write(self, text: str, targets: Sequence[str]) -> bytes:
        """The payload for what this person says now to `targets`."""
        record: dict[str, object] = {"text": text, "to": list(targets)}
        if self._last is not None:
            sender, sequence = self._last.key
            record["after"] = [sender, sequence, list(self._last.readers)]
        return json.dumps(record, ensure_ascii=False).encode()

    def said(self, text: str, sequence: int, targets: Sequence[str]) -> Line:
        """What this person has just said stands on the screen at once."""
        self._show(Seen((self._me, sequence), tuple(targets)))
        return Line(sender=self._me, sequence=sequence, text=text)

    def heard(self, sender: str, sequence: int, payload: bytes) -> Line:
        """Show what has been delivered; `RemoteError` if it is not a message of a chat."""
        text, targets, after = parsed(payload)
        missing = None
        if after is not None and self._me in after.readers and after.key not in self._shown:
            missing = after.key
        self._show(Seen((sender, sequence), targets))
        return Line(sender=sender, sequence=sequence, text=text, missing=missing)

    def _show(self, seen: Seen) -> None:
        self._shown.add(seen.key)
        self._last = seen


def parsed(payload: bytes) -> tuple[str, tuple[str, ...], Seen | None]:
    """Text, targets, and what it was written after."""
    try:
        record: dict[str, Any] = json.loads(payload)
        text, targets, after = record["text"], tuple(record["to"]), record.get("after")
        if not isinstance(text, str) or not all(isinstance(name, str) for name in targets):
            raise TypeError
        if after is None:
            return text, targets, None
        sender, sequence, readers = after
        return text, targets, Seen((str(sender), int(sequence)), tuple(readers))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise RemoteError("something that is not a message of a chat") from None
